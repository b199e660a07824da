// A value of a path parameter leads to another deployment behind the same gateway, with the bearer
// of this one. Gateways decode and fold `..%2F` before they choose where to pass a request: CWE-22,
// RFC 3986 section 7.3, and CVE-2021-41773 and CVE-2021-42013 (Apache httpd, the latter by decoding
// twice); `..;` is Tomcat's.
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createAuth, createService } from "../../src/index.js";
import { hasDotSegment } from "../../src/variants/target.js";
import { type ScriptedService, scriptedService } from "../client/scripted-service.js";
import { account, deployment } from "../support/deployment.js";
import { describeWithNginx, startNginx } from "../support/nginx.js";
import { freePort } from "../support/recording-server.js";
import { rejectionOf } from "../support/wait.js";

const paths = { A: "/api/v1/{tenantId}/devices/{deviceId}", B: "/v1/devices/{deviceId}" } as const;
const operation = (path: string) => ({ method: "GET", path, success: [200], failure: [] });
const operations = { A: { getDevice: operation(paths.A) }, B: { getDevice: operation(paths.B) } };
const options = { api: { operations } as never };
const deviceOf = (deviceId: unknown) => ({ params: { path: { deviceId } } });
const refusal = {
  name: "ConfigurationError",
  code: "path_parameter_invalid",
  option: "params.path.deviceId",
  message: expect.stringContaining('"deviceId"'),
};
const honest = [
  ...["d-1", "d.1", "...", "a..b", "sensor 4", "größe-日本", "50%"],
  ...["a+b=c;d", "x@y:z", "~_-!*'()"],
];

describeWithNginx("two deployments behind one nginx:", () => {
  test("no path parameter leads from one to the other, and honest ids arrive", async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const routes = [{ operationId: "getDevice", method: "GET", path: paths.B }] as const;
    const start = async (name: string) => {
      const emulator = deployment({ publicUrl: `${url}/${name}`, variants: ["B"], routes });
      const listening = await emulator.listen();
      onTestFinished(listening.close);
      // With a path in proxy_pass, nginx passes on the decoded and folded path. Without one, it
      // only chooses by it.
      const upstream = `${new URL(listening.url).origin}/${name}/`;
      return {
        journal: emulator.journal,
        location: `location /${name}/ { proxy_pass ${upstream}; }`,
      };
    };
    const [a, b] = [await start("a"), await start("b")];
    await startNginx(port, a.location + b.location);
    const auth = createAuth({ baseUrl: `${url}/a`, tenantId: "acme", credential: account() });
    const { call } = createService(auth, options) as unknown as ScriptedService;
    const getDevice = async (deviceId: string) =>
      (await call("getDevice", deviceOf(deviceId))) as { data: unknown; status: number };

    const attack = "../../../b/v1/devices";
    await fetch(`${url}/a/v1/devices/${encodeURIComponent(attack)}`);
    expect(b.journal.apiCalls()).toHaveLength(1); // nginx does what the attack needs
    b.journal.clear();
    for (const deviceId of [attack, encodeURIComponent(attack), attack.replaceAll("/", "\\")])
      expect(await rejectionOf(getDevice(deviceId))).toMatchObject(refusal);
    for (const deviceId of honest)
      expect(JSON.stringify((await getDevice(deviceId)).data)).toContain(JSON.stringify(deviceId));
    // nginx decodes the slash: the call stays in a, but arrives at a path of one more segment,
    // which a does not have.
    expect((await getDevice("site/d-1")).status).toBe(404);
    expect(a.journal.last()).toMatchObject({ status: 404 });
    expect(b.journal.entries()).toEqual([]);
  });
});

const folded = [
  ..."..|.|../x|x/..|a/./b|a/../../b|..\\x|/..|..;/x|..;x=1/y|x/..;|..?x|..#x|..\0".split("|"),
  ..."%2e%2e|%2E./x|..%2fx|..%5cx|%2e%2e%2fx|%252e%252e%252fx|..%3b/x|%25%32%65%25%32%65/x".split(
    "|",
  ),
];
const objects = [["../x"], ["..", "/../b"], { "/../../b": "x" }, { x: "/../b" }];

test("an id that is encoded thousands of times is refused without decoding it thousands of times", () => {
  const decode = vi.spyOn(String.prototype, "replace");
  onTestFinished(() => decode.mockRestore());
  expect(hasDotSegment(`/%${"25".repeat(5_000)}`)).toBe(true);
  expect(decode.mock.calls.length).toBeLessThan(20);
});

describe.each(["A", "B"] as const)("Variant %s", (variant) => {
  const { service, call, get, fetch } = scriptedService(variant, undefined, options);

  test("a path parameter that a server may fold is refused by call, paths and service.fetch", async () => {
    for (const deviceId of [...folded, ...objects])
      for (const send of [
        call("getDevice", deviceOf(deviceId)),
        get(paths[variant], deviceOf(deviceId)),
      ])
        expect(await rejectionOf(send), JSON.stringify(deviceId)).toMatchObject(refusal);
    // URL parsers fold a segment of dots alone, and then the URL is judged as it is sent.
    for (const path of folded.filter((one) => !/^\.+$/.test(one)).map(encodeURIComponent))
      expect(await rejectionOf(service.fetch(path)), path).toMatchObject({
        code: "option_invalid",
      });
    expect(fetch.calls).toEqual([]);
  });

  test("an honest id is sent as one segment, and service.fetch accepts the same path", async () => {
    for (const deviceId of [...honest, "site/d-1", "site\\d.1", "a/...", "/x", "..x", "x.."]) {
      await call("getDevice", deviceOf(deviceId));
      const sent = fetch.calls.at(-1)?.url.split("/").at(-1) ?? "";
      expect(decodeURIComponent(sent)).toBe(deviceId);
      await service.fetch(`v1/devices/${sent}`);
    }
  });
});
