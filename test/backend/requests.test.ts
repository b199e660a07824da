// The routes refuse a wrong method, type, origin, size or shape with a stable code and nothing
// else.
import { describe, expect, test } from "vitest";
import { rejectionOf } from "../support/wait.js";
import { HOST, OWN, rig } from "./rig.js";
import { errorOf, refusalOf } from "./test-browser.js";

const posts = ["launch", "session", "logout"];
const gets = ["login", "callback", "me"];

describe("a route", () => {
  test.each([
    ...posts.flatMap((route) =>
      ["GET", "HEAD", "PUT", "DELETE", "PATCH"].map((method) => ({ route, method })),
    ),
    ...gets.flatMap((route) =>
      ["POST", "HEAD", "PUT", "DELETE"].map((method) => ({ route, method })),
    ),
  ])("$route answers $method with 405 and names its own method", async ({ route, method }) => {
    const { browser } = rig();
    const answer = await browser.send(method, `/auth/${route}`, { headers: { origin: OWN } });
    expect([answer.status, answer.headers.get("allow")]).toEqual([
      405,
      posts.includes(route) ? "POST" : "GET",
    ]);
    expect(await errorOf(answer)).toBe("method_not_allowed");
    expect(browser.setCookies).toEqual([]);
  });

  test.each([
    "/",
    "/auth",
    "/auth/",
    "/auth/launch/",
    "/auth/launches",
    "/authlaunch",
    "/auth/../launch",
    "/x/auth/launch",
    "/auth/Launch",
    "/auth/constructor",
    "//auth/launch",
    "/auth/callbackx",
  ])("%s does not exist and is a 404", async (path) => {
    const { browser } = rig();
    expect(await refusalOf(browser.post(`${OWN}${path}`))).toBe("404 route_unknown");
  });

  test("the answer to an unknown route names the option that says where the routes are", async () => {
    const { browser } = rig({ path: "/plugin/auth" });
    const answer = await browser.post(`${OWN}/auth/launch`);
    expect(await answer.json()).toMatchObject({
      message: expect.stringContaining("The option path"),
    });
  });

  const forms = ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"];
  const types = [
    undefined,
    "text/plain",
    ...forms,
    "application/jsonp",
    "text/plain; application/json",
    "",
  ];
  test.each(types)("with a body refuses the type %s with 415", async (type) => {
    const { browser, launchBody, tokenRequests } = rig();
    const body = new TextEncoder().encode(JSON.stringify(launchBody()));
    const headers = { origin: OWN, ...(type !== undefined && { "content-type": type }) };
    for (const route of posts) {
      const refusal = await refusalOf(browser.send("POST", `/auth/${route}`, { headers, body }));
      expect(refusal, String(route)).toBe("415 type_not_supported");
    }
    expect(tokenRequests()).toBe(0);
  });

  const others = ["https://evil.example", "https://host.example", "http://planner.example"];
  const alike = [
    `${OWN}:8443`,
    `${OWN}.evil.example`,
    `${OWN}/`,
    OWN.toUpperCase(),
    `${OWN}, ${OWN}`,
  ];
  test.each([undefined, "null", ...others, ...alike])(
    "with a body refuses the origin %s",
    async (origin) => {
      const { browser, launchBody, tokenRequests, told } = rig();
      const headers = {
        "content-type": "application/json",
        ...(origin !== undefined && { origin }),
      };
      const body = JSON.stringify(launchBody());
      for (const route of posts) {
        const answer = await browser.send("POST", `/auth/${route}`, { headers, body });
        expect([route, answer.status, await errorOf(answer)]).toEqual([
          route,
          403,
          "origin_refused",
        ]);
        expect(answer.headers.get("access-control-allow-origin")).toBeNull();
        expect(((await answer.json()) as { message: string }).message).toContain("publicUrl");
      }
      expect(tokenRequests()).toBe(0);
      const error = { message: expect.stringContaining(`A page of ${origin} was refused`) };
      expect(told).toMatchObject(
        origin ? posts.map((route) => ({ status: 403, route, error })) : [],
      );
    },
  );

  test("accepts JSON whatever the case and the parameters of its content type", async () => {
    const { browser, launchBody } = rig();
    const headers = { "content-type": "Application/JSON; charset=utf-8" };
    expect((await browser.post("/auth/launch", launchBody(), headers)).status).toBe(200);
  });

  test("forbids caching and type sniffing with every answer", async () => {
    const { browser, launchBody } = rig();
    for (const answer of [
      await browser.post("/auth/launch", launchBody()),
      await browser.post("/auth/launch", {}),
      await browser.get("/auth/me"),
      await browser.get("/auth/login"),
      await browser.get("/auth/callback"),
      await browser.get("/nothing"),
    ])
      expect([
        answer.headers.get("cache-control"),
        answer.headers.get("x-content-type-options"),
      ]).toEqual(["no-store", "nosniff"]);
  });
});

describe("a body", () => {
  const right = { code: "c", codeVerifier: "v".repeat(43), tenantId: "acme", hostOrigin: HOST };
  const changed = (name: string, change: object) => ({
    name,
    body: JSON.stringify({ ...right, ...change }),
  });
  const wrong: { name: string; body: string | Uint8Array }[] = [
    { name: "empty", body: "" },
    { name: "broken JSON", body: "{" },
    { name: "JSON null", body: "null" },
    { name: "an array", body: JSON.stringify([right]) },
    { name: "a text", body: '"x"' },
    { name: "invalid UTF-8", body: new Uint8Array([0x7b, 0xff, 0x7d]) },
    { name: "nested a thousand times", body: `${"[".repeat(1_000)}${"]".repeat(1_000)}` },
    ...(["code", "codeVerifier", "tenantId", "hostOrigin"] as const).flatMap((field) => [
      changed(`no ${field}`, { [field]: undefined }),
      changed(`an empty ${field}`, { [field]: "" }),
      changed(`a number as ${field}`, { [field]: 1 }),
      changed(`an array as ${field}`, { [field]: [right[field]] }),
      changed(`null as ${field}`, { [field]: null }),
      changed(`20 kB of ${field}`, { [field]: "x".repeat(20_000) }),
    ]),
    changed("a code with a line break", { code: "a\nb" }),
    changed("a verifier of 42 characters", { codeVerifier: "v".repeat(42) }),
    changed("a verifier of 129 characters", { codeVerifier: "v".repeat(129) }),
    changed("a verifier with a plus", { codeVerifier: "+".repeat(43) }),
  ];
  test.each(wrong)("with $name is refused with 400, and nothing is sent", async ({ body }) => {
    const { browser, tokenRequests, told } = rig();
    const headers = { "content-type": "application/json", origin: OWN };
    const refusal = await refusalOf(
      browser.send("POST", "/auth/launch", { headers, body: body as BodyInit }),
    );
    expect(refusal).toBe("400 request_invalid");
    expect([tokenRequests(), told]).toEqual([0, []]);
  });

  test("with wrong fields is refused by the names of these fields, without what was sent", async () => {
    const { browser } = rig();
    const answer = await browser.post("/auth/launch", {
      ...right,
      code: "planted\n",
      hostOrigin: undefined,
    });
    const { message } = await answer.json();
    expect(message).toContain("Missing or invalid: code, hostOrigin.");
    expect(message).toContain("The body must hold code, codeVerifier, tenantId, hostOrigin.");
    expect(message).not.toContain("planted");
  });

  test("over 64 KiB is refused with 413, by its declared or its real length", async () => {
    const { browser, launchBody, tokenRequests } = rig();
    const headers = { "content-type": "application/json", origin: OWN };
    const body = JSON.stringify({ ...right, filler: "x".repeat(65_536) });
    const refusal = await refusalOf(browser.send("POST", "/auth/launch", { headers, body }));
    expect(refusal).toBe("413 body_too_large");
    let sent = 0;
    const endless = new ReadableStream({
      pull(controller) {
        sent += 16_384;
        controller.enqueue(new Uint8Array(16_384).fill(0x20));
      },
    });
    const init = { headers, body: endless, duplex: "half" } as RequestInit;
    expect(await refusalOf(browser.send("POST", "/auth/launch", init))).toBe("413 body_too_large");
    expect(sent).toBeLessThan(10 * 16_384);
    expect(tokenRequests()).toBe(0);
    const largest = JSON.stringify(launchBody()).padEnd(65_536);
    expect((await browser.send("POST", "/auth/launch", { headers, body: largest })).status).toBe(
      200,
    );
  });

  test("may hold unknown fields, because a newer page may send them", async () => {
    const { browser, launchBody } = rig();
    expect((await browser.post("/auth/launch", { ...launchBody(), later: 1 })).status).toBe(200);
  });
});

describe("a page of another origin", () => {
  const page = "https://www.planner.example";
  test("that is listed in origins is answered with CORS headers", async () => {
    const { browser, launchBody } = rig({ origins: [page] });
    const preflight = await browser.send("OPTIONS", "/auth/launch", {
      headers: { origin: page, "access-control-request-method": "POST" },
    });
    expect([preflight.status, Object.fromEntries(preflight.headers)]).toEqual([
      204,
      expect.objectContaining({
        "access-control-allow-origin": page,
        "access-control-allow-credentials": "true",
        "access-control-allow-methods": "POST",
        "access-control-allow-headers": "authorization, content-type, x-bivariant-csrf",
        vary: "origin",
      }),
    ]);
    const answer = await browser.post("/auth/launch", launchBody(), { origin: page });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, page]);
    // Errors have them too, or the page could not know what went wrong.
    const refused = await browser.get("/auth/me", { origin: page });
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([
      401,
      page,
    ]);
  });

  test("that is not listed is answered without CORS headers", async () => {
    const { browser } = rig({ origins: [page] });
    for (const origin of ["https://evil.example", "null", undefined]) {
      const headers: Record<string, string> = origin === undefined ? {} : { origin };
      const preflight = await browser.send("OPTIONS", "/auth/launch", { headers });
      expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([
        405,
        null,
      ]);
      const answer = await browser.get("/auth/me", headers);
      expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    }
  });
});

describe("behind a proxy that ends TLS", () => {
  const inside = "http://10.0.0.7:3000";
  test("publicUrl is the backend's own origin, whatever the URL of the request", async () => {
    const { browser, launchBody } = rig({ publicUrl: OWN, session: { cookie: true } });
    expect((await browser.post(`${inside}/auth/launch`, launchBody())).status).toBe(200);
    expect(browser.setCookies[0]).toMatch(/^__Host-bivariant-session=/);
    const asItself = await browser.post(`${inside}/auth/launch`, launchBody(), { origin: inside });
    expect(await errorOf(asItself)).toBe("origin_refused");
    const login = await browser.get(`${inside}/auth/login`);
    expect([login.status, browser.setCookies.at(-1)]).toEqual([
      302,
      expect.stringContaining("__Host-bivariant-login-"),
    ]);
  });

  test("without publicUrl, plain http sets no cookie and spends no code", async () => {
    const { browser, launchBody, told, tokenRequests } = rig({ session: { cookie: true } });
    const launched = launchBody();
    const refusal = await refusalOf(
      browser.post(`${inside}/auth/launch`, launched, { origin: inside }),
    );
    expect(refusal).toBe("500 backend_failed");
    expect(String(told[0]?.error)).toContain("publicUrl");
    expect((await browser.get(`${inside}/auth/login`)).status).toBe(500);
    expect([browser.setCookies, tokenRequests()]).toEqual([[], 0]);
    expect((await browser.post("/auth/launch", launched)).status).toBe(200);
  });

  test("on loopback over plain http the cookies have no __Host- prefix", async () => {
    const own = "http://127.0.0.1:3000";
    const { browser, launchBody } = rig({ session: { cookie: true } });
    await browser.post(`${own}/auth/launch`, launchBody(), { origin: own });
    expect(browser.setCookies).toEqual([
      expect.stringMatching(
        /^bivariant-session=[\w-]{43}; Max-Age=28800; Path=\/; HttpOnly; SameSite=None; Secure; Partitioned$/,
      ),
    ]);
  });
});

test("a body that never ends does not hold the answer once the client is gone", async () => {
  const { backend, tokenRequests } = rig();
  const gone = new AbortController();
  const body = new ReadableStream({ start: (sink) => sink.enqueue(new TextEncoder().encode("{")) });
  const headers = { origin: OWN, "content-type": "application/json" };
  const init = { method: "POST", headers, body, duplex: "half", signal: gone.signal };
  const answer = backend(new Request(`${OWN}/auth/launch`, init as RequestInit));
  await new Promise((resolve) => setImmediate(resolve));
  gone.abort();
  expect(await refusalOf(answer)).toBe("499 client_gone");
  expect(tokenRequests()).toBe(0);
});

test.each([
  {
    name: "node:http's request",
    given: { url: "/auth/me", method: "GET", headers: { host: "a" } },
  },
  { name: "undefined", given: undefined },
  { name: "a URL", given: new URL(OWN) },
  { name: "a string", given: `${OWN}/auth/me` },
])(
  "$name instead of a web request is answered 500, and does not end the process",
  async ({ given }) => {
    const { backend, told } = rig();
    expect(await refusalOf(backend(given as never))).toBe("500 backend_failed");
    expect(told[0]?.error).toMatchObject({ name: "ConfigurationError", option: "request" });
    expect(String(told[0]?.error)).toContain("toNodeHandler");
    for (const method of ["connect", "session"] as const)
      expect(await rejectionOf(backend[method](given as never))).toMatchObject({
        option: "request",
      });
  },
);
