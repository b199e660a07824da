// The routes refuse a wrong method, type, origin, size or shape with a stable code and nothing
// else.
import { describe, expect, test } from "vitest";
import { rejectionOf } from "../support/wait.js";
import { HOST, OWN, rig } from "./rig.js";
import { errorOf, refusalOf } from "./test-browser.js";

const json = { "content-type": "application/json" };
const posts = ["launch", "session", "logout"];
const gets = ["login", "callback", "me"];

describe("a route", () => {
  test.each([...posts, ...gets])(
    "%s answers other methods with 405 and names its own",
    async (route) => {
      const { browser } = rig();
      const own = posts.includes(route) ? "POST" : "GET";
      for (const method of ["GET", "POST", "HEAD", "PUT", "DELETE"].filter((one) => one !== own)) {
        const answer = await browser.send(method, `/auth/${route}`, { headers: { origin: OWN } });
        expect([answer.status, answer.headers.get("allow")]).toEqual([405, own]);
        expect(await errorOf(answer)).toBe("method_not_allowed");
      }
      expect(browser.setCookies).toEqual([]);
    },
  );

  test.each([
    ...["/", "/auth", "/auth/launch/", "/authlaunch", "/x/auth/launch", "/auth/Launch"],
    ...["//auth/launch", "/auth/callbackx", "/auth/constructor"],
  ])("%s does not exist and is a 404, which names the option path", async (path) => {
    const answer = await rig().browser.post(`${OWN}${path}`);
    expect(await refusalOf(answer)).toBe("404 route_unknown");
    expect(await answer.text()).toContain("The option path");
  });

  test.each([
    ...[undefined, "text/plain", "multipart/form-data; boundary=x", "application/jsonp"],
    "text/plain; application/json",
  ])("with a body refuses the type %s with 415", async (type) => {
    const { browser, launchBody, tokenRequests } = rig();
    const body = new TextEncoder().encode(JSON.stringify(launchBody()));
    const headers = { origin: OWN, ...(type !== undefined && { "content-type": type }) };
    for (const route of posts) {
      const answer = browser.send("POST", `/auth/${route}`, { headers, body });
      expect(await refusalOf(answer), route).toBe("415 type_not_supported");
    }
    expect(tokenRequests()).toBe(0);
  });

  test.each([
    ...[undefined, "null", HOST, "http://planner.example", `${OWN}:8443`],
    ...[`${OWN}.evil.example`, `${OWN}/`, `${OWN}, ${OWN}`],
  ])("with a body refuses the origin %s", async (origin) => {
    const { browser, launchBody, tokenRequests, reports } = rig();
    const headers = { ...json, ...(origin !== undefined && { origin }) };
    const body = JSON.stringify(launchBody());
    for (const route of posts) {
      const answer = await browser.send("POST", `/auth/${route}`, { headers, body });
      expect(await refusalOf(answer), route).toBe("403 origin_refused");
      expect(answer.headers.get("access-control-allow-origin")).toBeNull();
      expect(await answer.text()).toContain("publicUrl");
    }
    expect(tokenRequests()).toBe(0);
    const error = { message: expect.stringContaining(`A page of ${origin} was refused`) };
    const reported = posts.map((route) => ({ status: 403, route, error }));
    expect(reports).toMatchObject(origin ? reported : []);
  });

  test("accepts JSON whatever the case and the parameters of its content type, and with unknown fields", async () => {
    const { browser, launchBody } = rig();
    const headers = { "content-type": "Application/JSON; charset=utf-8" };
    // A newer page may send more.
    const body = { ...launchBody(), later: 1 };
    expect((await browser.post("/auth/launch", body, headers)).status).toBe(200);
  });

  test("forbids caching and type sniffing with every answer", async () => {
    const { browser, launchBody } = rig();
    for (const answer of [
      await browser.post("/auth/launch", launchBody()),
      await browser.post("/auth/launch", {}),
      await browser.me(),
      await browser.get("/auth/login"),
      await browser.get("/auth/callback"),
      await browser.get("/nothing"),
    ]) {
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    }
  });
});

describe("a body", () => {
  const headers = { ...json, origin: OWN };
  const right = { code: "c", codeVerifier: "v".repeat(43), tenantId: "acme", hostOrigin: HOST };
  const body = (change: object) => JSON.stringify({ ...right, ...change });
  const changed = (name: string, change: object) => ({ name, body: body(change) });

  test.each<{ name: string; body: string | Uint8Array<ArrayBuffer> }>([
    { name: "empty", body: "" },
    { name: "broken JSON", body: "{" },
    { name: "JSON null", body: "null" },
    { name: "an array", body: JSON.stringify([right]) },
    { name: "invalid UTF-8", body: Buffer.from(body({ tenantId: "\u00ff" }), "latin1") },
    ...(["code", "codeVerifier", "tenantId", "hostOrigin"] as const).flatMap((field) => [
      changed(`no ${field}`, { [field]: undefined }),
      changed(`an empty ${field}`, { [field]: "" }),
      changed(`an array as ${field}`, { [field]: [right[field]] }),
      changed(`20 kB of ${field}`, { [field]: "x".repeat(20_000) }),
    ]),
    changed("a code with a line break", { code: "a\nb" }),
    changed("a verifier of 42 characters", { codeVerifier: "v".repeat(42) }),
    changed("a verifier with a plus", { codeVerifier: "+".repeat(43) }),
  ])("with $name is refused with 400, and nothing is sent", async ({ body }) => {
    const { browser, tokenRequests, reports } = rig();
    const answer = browser.send("POST", "/auth/launch", { headers, body });
    expect(await refusalOf(answer)).toBe("400 request_invalid");
    expect([tokenRequests(), reports]).toEqual([0, []]);
  });

  test("with wrong fields is refused by the names of these fields, without what was sent", async () => {
    const wrong = { ...right, code: "planted\n", hostOrigin: undefined };
    const { message } = await (await rig().browser.post("/auth/launch", wrong)).json();
    expect(message).toMatch(/Missing or invalid: code, hostOrigin\. The body must hold code, /);
    expect(message).not.toContain("planted");
  });

  test("that a middleware has read is reported with what to do, and no code is sent", async () => {
    const { backend, launchBody, reports, tokenRequests } = rig();
    const init = { method: "POST", headers, body: JSON.stringify(launchBody()) };
    const request = new Request(`${OWN}/auth/launch`, init);
    await request.text();
    expect(await refusalOf(backend(request))).toBe("500 backend_failed");
    const message = expect.stringContaining("before the middleware");
    expect(reports).toMatchObject([{ error: { code: "option_invalid", message } }]);
    expect(tokenRequests()).toBe(0);
  });

  test("over 64 KiB is refused with 413, by its declared or its real length", async () => {
    const { browser, launchBody, tokenRequests } = rig();
    const send = (init: RequestInit) => browser.send("POST", "/auth/launch", { headers, ...init });
    const declared = send({ body: body({ filler: "x".repeat(65_536) }) });
    expect(await refusalOf(declared)).toBe("413 body_too_large");
    let sent = 0;
    const endless = new ReadableStream({
      pull(controller) {
        sent += 16_384;
        controller.enqueue(new Uint8Array(16_384).fill(0x20));
      },
    });
    const streamed = send({ body: endless, duplex: "half" } as RequestInit);
    expect(await refusalOf(streamed)).toBe("413 body_too_large");
    expect(sent).toBeLessThan(10 * 16_384);
    expect(tokenRequests()).toBe(0);
    const largest = JSON.stringify(launchBody()).padEnd(65_536);
    expect((await send({ body: largest })).status).toBe(200);
  });

  test("that never ends does not hold the answer once the client is gone", async () => {
    const { backend, tokenRequests } = rig();
    const gone = new AbortController();
    const body = new ReadableStream({ start: (sink) => sink.enqueue(new Uint8Array([0x7b])) });
    const init = { method: "POST", headers, body, duplex: "half", signal: gone.signal };
    const answer = backend(new Request(`${OWN}/auth/launch`, init as RequestInit));
    await new Promise((resolve) => setImmediate(resolve));
    gone.abort();
    expect(await refusalOf(answer)).toBe("499 client_gone");
    expect(tokenRequests()).toBe(0);
  });
});

describe("a page of another origin", () => {
  const origin = "https://www.planner.example";
  const cors = ({ headers }: Response) => headers.get("access-control-allow-origin");

  test("that is listed in origins is answered with CORS headers", async () => {
    const { browser, launchBody } = rig({ origins: [origin] });
    const preflight = await browser.send("OPTIONS", "/auth/launch", {
      headers: { origin, "access-control-request-method": "POST" },
    });
    expect([preflight.status, Object.fromEntries(preflight.headers)]).toMatchObject([
      204,
      {
        "access-control-allow-origin": origin,
        "access-control-allow-credentials": "true",
        "access-control-allow-methods": "POST",
        "access-control-allow-headers": "authorization, content-type, x-bivariant-csrf",
        vary: "origin",
      },
    ]);
    const answer = await browser.post("/auth/launch", launchBody(), { origin });
    expect([answer.status, cors(answer)]).toEqual([200, origin]);
    // Errors have them too, or the page could not know what went wrong.
    const refused = await browser.get("/auth/me", { origin });
    expect([refused.status, cors(refused)]).toEqual([401, origin]);
  });

  test("that is not listed is answered without CORS headers", async () => {
    const { browser } = rig({ origins: [origin] });
    for (const headers of [{ origin: "https://evil.example" }, { origin: "null" }, undefined]) {
      const preflight = await browser.send("OPTIONS", "/auth/launch", { headers: headers ?? {} });
      expect([preflight.status, cors(preflight)]).toEqual([405, null]);
      expect(cors(await browser.get("/auth/me", headers))).toBeNull();
    }
  });
});

describe("behind a proxy that ends TLS", () => {
  const origin = "http://10.0.0.7:3000";

  test("publicUrl is the backend's own origin, whatever the URL of the request", async () => {
    const { browser, launchBody } = rig({ publicUrl: OWN, session: { cookie: true } });
    expect((await browser.post(`${origin}/auth/launch`, launchBody())).status).toBe(200);
    expect((await browser.get(`${origin}/auth/login`)).status).toBe(302);
    const names = browser.setCookies.map((line) => line.split("=")[0]);
    expect(names).toEqual([
      "__Host-bivariant-session",
      expect.stringContaining("__Host-bivariant-login-"),
    ]);
    const asItself = await browser.post(`${origin}/auth/launch`, launchBody(), { origin });
    expect(await errorOf(asItself)).toBe("origin_refused");
  });

  test("without publicUrl, plain http sets no cookie and spends no code", async () => {
    const { browser, launchBody, reports, tokenRequests } = rig({ session: { cookie: true } });
    const launched = launchBody();
    const refused = browser.post(`${origin}/auth/launch`, launched, { origin });
    expect(await refusalOf(refused)).toBe("500 backend_failed");
    expect(String(reports[0]?.error)).toContain("publicUrl");
    expect((await browser.get(`${origin}/auth/login`)).status).toBe(500);
    expect([browser.setCookies, tokenRequests()]).toEqual([[], 0]);
    expect((await browser.post("/auth/launch", launched)).status).toBe(200);
  });

  test("on loopback over plain http the cookies have no __Host- prefix", async () => {
    const origin = "http://127.0.0.1:3000";
    const { browser, launchBody } = rig({ session: { cookie: true } });
    await browser.post(`${origin}/auth/launch`, launchBody(), { origin });
    const cookie =
      /^bivariant-session=[\w-]{43}; Max-Age=28800; Path=\/; HttpOnly; SameSite=None; Secure; Partitioned$/;
    expect(browser.setCookies).toEqual([expect.stringMatching(cookie)]);
  });
});

test("a request of node:http, and what is not a request, are answered 500 and name toNodeHandler to onError", async () => {
  const incoming = { url: "/auth/me", method: "GET", headers: { host: "a" } };
  for (const given of [incoming, undefined, `${OWN}/auth/me`] as never[]) {
    const { backend, reports } = rig();
    expect(await refusalOf(backend(given))).toBe("500 backend_failed");
    expect(reports[0]?.error).toMatchObject({ name: "ConfigurationError", option: "request" });
    expect(String(reports[0]?.error)).toMatch(/context\.req\.raw.*toNodeHandler/);
    for (const method of ["connect", "session"] as const)
      expect(await rejectionOf(backend[method](given))).toMatchObject({ option: "request" });
  }
});
