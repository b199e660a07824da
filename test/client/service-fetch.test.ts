// service.fetch: any request under the base URL; the bearer is sent nowhere else, also across
// redirects.
import { describe, expect, test } from "vitest";
import { createService } from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { noAnswer } from "../support/fetch.js";
import { numberedAuth } from "../support/numbered-auth.js";
import { type RecordingServer, recordingServer } from "../support/recording-server.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";
import { baseUrl as base, scriptedService as client } from "./scripted-service.js";

const planted = "planted-in-request";

describe.each(["A", "B"] as const)("the URL of service.fetch, Variant %s", (variant) => {
  const row = (name: string, input: string | URL, url: string) => ({ name, input, url });
  const inside = [
    row("a relative path", "v1/x", `${base}/v1/x`),
    row("a leading slash, which stays under the prefix", "/v1/x", `${base}/v1/x`),
    row("two leading slashes, no host", "//evil.example/x", `${base}/evil.example/x`),
    row("leading backslashes, no host", "\\\\evil.example", `${base}/evil.example`),
    row("a query", "v1/x?a=1&b=2", `${base}/v1/x?a=1&b=2`),
    row("dots that stay inside", "v1/../v2", `${base}/v2`),
    row("an absolute URL inside", `${base}/v1/x`, `${base}/v1/x`),
    row("a URL object inside", new URL(`${base}/v1/x`), `${base}/v1/x`),
    row("an encoded slash", "a%2fb", `${base}/a%2fb`),
    row("an at sign in a path", "v1/user@evil.example", `${base}/v1/user@evil.example`),
  ];
  test.each(inside)("may be $name", async ({ input, url }) => {
    const { service, fetch } = client(variant, () => new Response("x"));
    expect(await (await service.fetch(input)).text()).toBe("x");
    expect(fetch.calls[0]?.url).toBe(url);
    expect(fetch.calls[0]?.headers.get("authorization")).toBe("Bearer token-1");
  });

  const outside: { name: string; input: unknown }[] = [
    { name: "dots that lead out", input: "../admin" },
    { name: "encoded dots that lead out", input: "%2e%2e/admin" },
    { name: "backslashes that lead out", input: "..\\admin" },
    { name: "an encoded slash behind dots", input: "v1/..%2f..%2f..%2fadmin" },
    { name: "an absolute URL beside the prefix", input: "https://service.example/prefixed/x" },
    { name: "another origin", input: "https://evil.example/prefix/x" },
    { name: "plain http", input: "http://service.example/prefix/x" },
    { name: "user info on the right host", input: "https://user:pw@service.example/prefix/x" },
    { name: "a backslash after the host", input: "https:\\\\evil.example\\prefix" },
    { name: "another scheme", input: "file:///etc/hosts" },
    { name: "a number", input: 7 },
    { name: "a Request", input: new Request("https://service.example/prefix/x") },
  ];
  test.each(outside)("is rejected with $name, and nothing is sent", async ({ input }) => {
    const { service, fetch } = client(variant, () => new Response("x"));
    const error = await rejectionOf(service.fetch(input as string));
    const refused = { name: "ConfigurationError", code: "option_invalid", option: "input" };
    expect(error).toMatchObject(refused);
    expect((error as Error).message).not.toContain("pw");
    expect(fetch.calls).toHaveLength(0);
  });
});

describe.each(["A", "B"] as const)("service.fetch, Variant %s", (variant) => {
  test("sends the method, the headers, the body and the other members of init", async () => {
    const { service, fetch } = client(variant, () => new Response("x"));
    const dispatcher = { name: "an undici proxy" };
    const headers = new Headers({ "X-One": "1", Authorization: "Bearer forged" });
    await service.fetch("v1/x", { method: "put", headers, body: "b", dispatcher } as RequestInit);
    const [sent] = fetch.calls;
    expect(sent).toMatchObject({ method: "PUT", body: "b", init: { dispatcher } });
    expect(sent?.headers.get("x-one")).toBe("1");
    expect(sent?.headers.get("authorization")).toBe("Bearer token-1");
  });

  test("rejects with the signal's reason, also while the body is read", async () => {
    const controller = new AbortController();
    const server = await recordingServer(() => (response) => {
      response.writeHead(200);
      response.write("half");
    });
    const auth = numberedAuth({ variant, baseUrl: server.url, now: Date.now });
    const response = await createService(auth).fetch("v1/x", { signal: controller.signal });
    const read = rejectionOf(response.text());
    setImmediate(() => controller.abort(new Error("the user left")));
    expect(await read).toMatchObject({ message: "the user left" });
  });

  test("rejects with timed_out if no head arrives within timeoutMs, and aborts the request", async () => {
    const { service, fetch, clock } = client(variant, noAnswer);
    const late = rejectionOf(clock.through(service.fetch("v1/x")));
    expect(await late).toMatchObject({ code: "timed_out" });
    expect(fetch.calls[0]?.init.signal?.reason).toMatchObject({ code: "timed_out" });
  });

  test("sets no time limit for the body", async () => {
    const clock = steppedClock();
    let finish = () => {};
    const server = await recordingServer(() => (response) => {
      response.writeHead(200);
      response.write("slow ");
      finish = () => response.end("body");
    });
    const auth = numberedAuth({ variant, baseUrl: server.url, now: Date.now });
    const response = await createService(auth, { clock }).fetch("v1/x");
    clock.advance(60_000);
    finish();
    expect(await response.text()).toBe("slow body");
  });

  test.each<{ name: string; init: object | null; option: string }>([
    { name: "a body with head", init: { method: "head", body: planted }, option: "body" },
    { name: "a method with a space", init: { method: `GET ${planted}` }, option: "method" },
    { name: "the method CONNECT", init: { method: "connect" }, option: "method" },
    { name: "an init that is null", init: null, option: "init" },
  ])("rejects $name before anything is sent", async ({ init, option }) => {
    const { service, fetch } = client(variant);
    const error = await rejectionOf(service.fetch("v1/notes", init as RequestInit));
    expect(error).toMatchObject({ name: "ConfigurationError", code: "option_invalid", option });
    expect(shown(error)).not.toContain(planted);
    expect(fetch.calls).toHaveLength(0);
  });

  test("sends a stream without the option duplex", async () => {
    const server = await recordingServer(() => ({ status: 200 }));
    const service = createService(numberedAuth({ variant, baseUrl: server.url, now: Date.now }));
    const { body } = new Response("streamed");
    expect((await service.fetch("v1/notes", { method: "POST", body })).status).toBe(200);
    expect(server.requests[0]?.body).toBe("streamed");
  });
});

describe.each(["A", "B"] as const)("a redirect, Variant %s", (variant) => {
  /**
   * A server that redirects /prefix/from, and another origin; both answer everything else with 200.
   */
  async function servers(status: number, location: (url: string, elsewhere: string) => string) {
    const elsewhere = await recordingServer(() => ({ status: 200, body: "elsewhere" }));
    const server: RecordingServer = await recordingServer(({ path }) =>
      path === "/prefix/from"
        ? { status, headers: { location: location(server.url, elsewhere.url) } }
        : { status: 200, body: "arrived" },
    );
    const auth = numberedAuth({ variant, baseUrl: `${server.url}/prefix`, now: Date.now });
    return { service: createService(auth), server, elsewhere };
  }
  const statuses = [301, 302, 303, 307, 308];

  test.each(statuses)(
    "%i keeps the bearer under the base URL and drops it outside",
    async (status) => {
      for (const [path, authorization] of [["/prefix/to", "Bearer token-1"], ["/other"]] as const) {
        const { service, server } = await servers(status, () => path);
        expect(await (await service.fetch("from")).text()).toBe("arrived");
        expect(server.requests.at(-1)).toMatchObject({ path, method: "GET" });
        expect(server.requests.at(-1)?.headers.authorization).toBe(authorization);
      }
    },
  );

  test.each(statuses)(
    "%i to another origin drops the bearer and every header that may identify the caller",
    async (status) => {
      const { service, elsewhere } = await servers(status, (_url, other) => `${other}/prefix/x`);
      const headers = { cookie: "session=1", "x-api-key": "identifies", range: "bytes=0-9" };
      expect(await (await service.fetch("from", { headers })).text()).toBe("elsewhere");
      const [request] = elsewhere.requests;
      for (const secret of ["token-1", "session=1", "identifies"])
        expect(request?.raw).not.toContain(secret);
      expect(request?.headers.range).toBe("bytes=0-9");
    },
  );

  test.each([307, 308])(
    "%i sends a body again under the base URL, and nowhere else",
    async (status) => {
      const post = { method: "POST", body: "again" };
      const outside = await servers(status, (_url, other) => `${other}/x`);
      expect((await outside.service.fetch("from", post)).status).toBe(status);
      expect(outside.elsewhere.requests).toHaveLength(0);
      const { service, server } = await servers(status, () => "to");
      await service.fetch("from", post);
      expect(server.requests.at(-1)).toMatchObject({ ...post, path: "/prefix/to" });
      expect(server.requests.at(-1)?.headers.authorization).toBe("Bearer token-1");
    },
  );

  test.each([301, 302, 303])("%i after a POST becomes a GET without the body", async (status) => {
    const { service, server } = await servers(status, () => "to");
    const headers = { "content-type": "text/plain" };
    await service.fetch("from", { method: "POST", body: "once", headers });
    expect(server.requests.at(-1)).toMatchObject({ method: "GET", path: "/prefix/to", body: "" });
    expect(server.requests.at(-1)?.headers["content-type"]).toBeUndefined();
  });

  const redirect = (location?: string) =>
    new Response(null, { status: 302, headers: location === undefined ? {} : { location } });

  test("back to the base URL from another origin does not bring the bearer back", async () => {
    const answers = [redirect("https://evil.example/"), redirect(`${base}/v1/x`)];
    const { service, fetch } = client(variant, () => answers.shift() ?? new Response("x"));
    await service.fetch("from");
    const hasBearer = fetch.calls.map(({ headers }) => headers.has("authorization"));
    expect(hasBearer).toEqual([true, false, false]);
  });

  const unfollowed = [
    { name: "from https to http", location: "http://service.example/prefix/x" },
    { name: "to an invalid URL", location: "http://[" },
    { name: "to user info", location: "https://user:pw@evil.example/" },
    { name: "without a location", location: undefined },
  ];
  test.each(unfollowed)("$name is not followed", async ({ location }) => {
    const { service, fetch } = client(variant, () => redirect(location));
    expect((await service.fetch("from")).status).toBe(302);
    expect(fetch.calls).toHaveLength(1);
  });

  test("304 is not a redirect, and its GET is sent without duplex", async () => {
    const duplex = { duplex: "half", redirect: "error" } as RequestInit;
    const { service, fetch } = client(variant, () => new Response(null, { status: 304 }));
    expect((await service.fetch("from", duplex)).status).toBe(304);
    expect(fetch.calls[0]?.init).not.toHaveProperty("duplex");
  });

  test("in a circle is followed twenty times", async () => {
    const { service, fetch } = client(variant, () => redirect("/prefix/from"));
    expect((await service.fetch("from")).status).toBe(302);
    expect(fetch.calls).toHaveLength(21);
  });

  test.each([
    { mode: "manual", given: "options" },
    { mode: "error", given: "options" },
    { mode: "manual", given: "a Request" },
    { mode: "error", given: "a Request" },
  ] as const)('with redirect: "$mode" in $given is not followed', async ({ mode, given }) => {
    const { service, fetch } = client(variant, () => redirect("/prefix/to"));
    const options = { redirect: mode };
    const request = new Request(`${base}/from`, options);
    const outcome = service.fetch("from", given === "options" ? options : request);
    if (mode === "manual") expect((await outcome).status).toBe(302);
    else expect(await rejectionOf(outcome)).toMatchObject({ code: "response_redirected" });
    expect(fetch.calls).toHaveLength(1);
  });

  test("to another origin that answers 401 keeps the token, and nothing is sent again", async () => {
    const { service, auth, clock, fetch } = client(variant, (_call, index) =>
      index === 1 ? new Response("", { status: 401 }) : redirect("https://evil.example/"),
    );
    await auth.getAccessToken();
    clock.advance(60_000);
    expect((await service.fetch("from")).status).toBe(401);
    expect(auth.invalidated).toEqual([]);
    expect(fetch.calls).toHaveLength(2);
  });
});
