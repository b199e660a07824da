// A value of a path parameter leads to another deployment behind the same gateway, with the bearer of this one.
// Gateways decode and fold `..%2F` before they choose where to pass a request: CWE-22, RFC 3986 section 7.3, and
// CVE-2021-41773 and CVE-2021-42013 (Apache httpd, the latter by decoding twice); `..;` is Tomcat's.
import { expect, onTestFinished, test } from "vitest";
import { connect, type Service } from "../../src/index.js";
import { scriptedService } from "../client/scripted-service.js";
import { credentialOf, deployment } from "../support/deployment.js";
import { describeWithNginx, freePort, startNginx } from "../support/nginx.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";

const paths = { A: "/api/v1/{tenantId}/devices/{deviceId}", B: "/v1/devices/{deviceId}" } as const;
const operation = (path: string) => ({ method: "GET", path, success: [200], failure: [] });
const api = {
  operations: { A: { getDevice: operation(paths.A) }, B: { getDevice: operation(paths.B) } },
} as never;

type Untyped = (name: string, init: object) => Promise<{ data?: unknown; status: number }>;
const ways = (service: Service) => {
  const { call, paths: client } = service as unknown as { call: Untyped; paths: { GET: Untyped } };
  return {
    call: (deviceId: unknown) => call.call(service, "getDevice", { params: { path: { deviceId } } }),
    paths: (deviceId: unknown) => client.GET(paths[service.variant], { params: { path: { deviceId } } }),
  };
};
const refusal = {
  name: "ConfigurationError",
  code: "path_parameter_invalid",
  option: "params.path.deviceId",
  message: expect.stringMatching(/"deviceId".*Pass an id/),
};

const honest = ["d-1", "d.1", "...", "a..b", "sensor 4", "größe-日本", "50%", "a+b=c;d", "x@y:z", "~_-!*'()"];

describeWithNginx("two deployments behind one nginx,", () => {
  /** Deployments under /a and /b, each with its own emulator, and a service that is connected to /a. */
  async function gateway(variant: "A" | "B") {
    const port = await freePort();
    const routes = [{ operationId: "getDevice", method: "GET", path: paths[variant] }] as const;
    const started = await Promise.all(
      ["a", "b"].map(async (name) => {
        const publicUrl = `http://127.0.0.1:${port}/${name}`;
        const emulator = deployment({ publicUrl, variants: [variant], routes });
        const { url, close } = await emulator.listen();
        onTestFinished(close);
        // With a path here, nginx passes on the decoded and folded path. Without one, it only chooses by it.
        return { emulator, location: `location /${name}/ { proxy_pass ${new URL(url).origin}/${name}/; }` };
      }),
    );
    const [a, b] = started.map(({ emulator }) => emulator);
    await startNginx(port, started.map(({ location }) => location).join(" "));
    const baseUrl = `http://127.0.0.1:${port}/a`;
    const service = await connect({
      ...{ baseUrl, tenantId: "acme", variant, api },
      credentials: [credentialOf(variant)],
    });
    return { service, a, b, baseUrl };
  }

  test.each(["A", "B"] as const)("no path parameter of Variant %s reaches the other one", async (variant) => {
    const { service, a, b, baseUrl } = await gateway(variant);
    const up = variant === "A" ? "../../../../.." : "../../..";
    const target = `${up}/b${paths[variant].replace("{tenantId}", "acme").replace("/{deviceId}", "")}`;
    // The attack is real: nginx gives b whatever a client sends like this.
    await fetch(`${baseUrl}/v1/devices/${encodeURIComponent(`../../..${target.slice(up.length)}`)}`);
    expect(b?.journal.apiCalls()).toHaveLength(1);
    b?.journal.clear();
    for (const send of Object.values(ways(service))) {
      for (const deviceId of [target, encodeURIComponent(target), target.replaceAll("/", "\\")])
        expect(await rejectionOf(send(deviceId))).toMatchObject(refusal);
    }
    expect(b?.journal.entries()).toEqual([]);
    for (const deviceId of honest)
      expect(JSON.stringify((await ways(service).call(deviceId)).data)).toContain(JSON.stringify(deviceId));
    // nginx decodes the slash: the call stays in a, but arrives at a route of two segments, which a does not have.
    expect((await ways(service).call("site/d-1")).status).toBe(404);
    expect(a?.journal.last()).toMatchObject({ status: 404 });
    expect(b?.journal.entries()).toEqual([]);
  });
});

const dotSegments = [
  ...["..", ".", "../x", "x/..", "a/./b", "a/../../b", "..\\x", "/..", "..;/x", "..;x=1/y", "x/..;"],
  ...[
    "..?x",
    "..#x",
    "..\0",
    "%2e%2e",
    "%2E./x",
    "..%2fx",
    "..%5cx",
    "%2e%2e%2fx",
    "%252e%252e%252fx",
    "..%3b/x",
  ],
  ...["%25%32%65%25%32%65/x", ["../x"], ["..", "/../b"], { "/../../b": "x" }, { "x/y": "z" }, { x: "/../b" }],
];

test.each(["A", "B"] as const)(
  "a path parameter of Variant %s that a server may fold is refused by call, and by service.fetch",
  async (variant) => {
    const { service, fetch } = scriptedService(variant, undefined, { api });
    for (const deviceId of dotSegments) {
      for (const send of Object.values(ways(service)))
        expect(await rejectionOf(send(deviceId)), shown(deviceId)).toMatchObject({
          ...refusal,
          message: /./,
        });
      // URL parsers fold a plain `..` themselves, and then the URL is judged as it is sent.
      if (typeof deviceId !== "string" || /^\.{1,2}$/.test(deviceId)) continue;
      const path = `x/${encodeURIComponent(deviceId)}`;
      expect(await rejectionOf(service.fetch(path)), path).toMatchObject({ code: "option_invalid" });
    }
    expect(fetch.calls).toEqual([]);
  },
);

test.each(["A", "B"] as const)(
  "an honest id is sent as one segment in Variant %s, and service.fetch accepts the same path",
  async (variant) => {
    const { service, fetch } = scriptedService(variant, undefined, { api });
    for (const deviceId of [...honest, "site/d-1", "site\\d.1", "a/...", "/x", "..x", "x.."]) {
      for (const send of Object.values(ways(service))) await send(deviceId);
      const { pathname } = new URL(fetch.calls.at(-1)?.url ?? "");
      expect(decodeURIComponent(pathname.split("/").at(-1) ?? "")).toBe(deviceId);
      await service.fetch(`v1/devices/${encodeURIComponent(deviceId)}`);
    }
    expect(fetch.calls).toHaveLength(48);
  },
);
