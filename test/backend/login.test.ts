// GET login, GET callback and POST session make a session from a login, and refuse everything else.
import { describe, expect, test } from "vitest";
import type { BackendEvent } from "../../src/backend/index.js";
import {
  apiClient,
  isConfigurationError,
  memoryStore,
  type TokenStore,
  unwrap,
} from "../../src/index.js";
import { latch } from "../people/person.js";
import { steppedClock } from "../support/clock.js";
import { rejectionOf } from "../support/wait.js";
import {
  bearer,
  CALLBACK,
  interrupted,
  launching,
  loginCredential,
  OWN,
  type Rig,
  rig,
  SERVICE,
  type SessionAnswer,
} from "./rig.js";
import { refusalOf, TestBrowser } from "./test-browser.js";

/**
 * Starts a login, and returns the address that the authorization endpoint sends the browser back
 * to.
 */
async function started(
  { browser, emulator }: Rig,
  { by = browser, returnTo = "/page", decision = "allow", userId = "ada" } = {},
): Promise<URL> {
  const answer = await by.get(`/auth/login?return_to=${encodeURIComponent(returnTo)}`);
  const url = answer.headers.get("location") ?? "";
  return new URL(emulator.login({ url, userId, decision: decision as "allow" }).callbackUrl);
}

function changed(url: URL, change: (parameters: URLSearchParams) => void): string {
  const other = new URL(url);
  change(other.searchParams);
  return other.href;
}

/** The name and value of each login cookie of a browser. */
const loginCookies = (browser: TestBrowser) =>
  [...browser.cookies].filter(([name]) => name.startsWith("__Host-bivariant-login-"));

describe("a login", () => {
  test("sends the person to the authorization endpoint with PKCE S256 and a state, and sets a cookie", async () => {
    const { browser } = rig();
    const answer = await browser.get("/auth/login?tenant=acme&return_to=/page");
    expect(answer.status).toBe(302);
    const url = new URL(answer.headers.get("location") ?? "");
    expect(url.origin + url.pathname).toBe(`${SERVICE}/v1/auth/authorize`);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      ...{ response_type: "code", client_id: "portal", redirect_uri: CALLBACK },
      ...{ code_challenge_method: "S256", code_challenge: expect.stringMatching(/^[\w-]{43}$/) },
      state: expect.stringMatching(/^[\w-]{20,}$/),
    });
    expect(browser.setCookies).toEqual([
      expect.stringMatching(
        /^__Host-bivariant-login-[\w-]{8}=[\w-]+\.[\w.-]+; Max-Age=1200; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
      ),
    ]);
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  test("comes back to its page, which fetches the session once and makes calls as that person", async () => {
    const { login, browser, backend, clock } = rig();
    const back = await login();
    expect([back.status, back.headers.get("location")]).toEqual([303, `${OWN}/page`]);
    // The address that the browser leaves holds the code (RFC 9700 section 4.2.4).
    expect(back.headers.get("referrer-policy")).toBe("no-referrer");
    const answer = await browser.post("/auth/session");
    const told = (await answer.json()) as SessionAnswer;
    expect([answer.status, told]).toEqual([
      200,
      {
        session: expect.stringMatching(/^[\w-]{43}$/),
        ...{ variant: "B", tenantId: "acme", expiresAt: clock.now() + 8 * 3_600_000 },
      },
    ]);
    expect((await browser.post("/auth/session")).status).toBe(204);
    const headers = bearer(told.session);
    const service = await backend.connect(browser.request("GET", "/devices", { headers }));
    expect(service.variant).toBe("B");
    expect(unwrap(await service.call("listDevices"))).toHaveLength(3);
  });

  test("stays when its session could not be opened, or the client went away", async () => {
    let isDown = false;
    const wrapStore = interrupted((operation, key) => {
      if (isDown && operation === "set" && key.includes(":session:")) throw new Error("down");
    });
    const { login, browser, backend } = rig({ wrapStore });
    await login();
    isDown = true;
    expect((await browser.post("/auth/session")).status).toBe(503);
    isDown = false;
    const headers = { origin: OWN, "content-type": "application/json" };
    const request = browser.request("POST", "/auth/session", { headers, body: "{}" });
    const refusal = await refusalOf(backend(new Request(request, { signal: AbortSignal.abort() })));
    expect(refusal).toBe("499 client_gone");
    expect((await browser.post("/auth/session")).status).toBe(200);
  });

  const never = () => new Promise<never>(() => {});
  type Task = () => Promise<unknown>;
  test.each([
    { name: "is never free", lock: never, answer: [503, "store_unavailable"] },
    {
      name: "is never reported as released",
      lock: (task: Task) => task().then(never),
      answer: [200, "B"],
    },
    {
      name: "cannot be released",
      lock: (task: Task) => task().then(() => Promise.reject(new Error("down"))),
      answer: [200, "B"],
    },
  ])("is fetched or refused in time from a store whose lock $name", async ({ lock, answer }) => {
    const wrapStore = (inner: TokenStore): TokenStore => ({
      ...inner,
      lock: <T>(_key: string, task: () => Promise<T>) => lock(task) as Promise<T>,
    });
    const clock = steppedClock();
    const parts = rig({ wrapStore, clock });
    await parts.login();
    const answered = await clock.through(parts.browser.post("/auth/session"));
    const { error, variant } = (await answered.json()) as { error?: string; variant?: string };
    expect([answered.status, error ?? variant]).toEqual(answer);
  });

  test("is not handed over once the page was told that its lock was not free", async () => {
    const free = latch();
    let locked: Promise<unknown> | undefined;
    const wrapStore = (inner: TokenStore): TokenStore => ({
      ...inner,
      lock: (_key, task) => {
        const running = free.promise.then(() => task());
        locked = running;
        return running;
      },
    });
    const clock = steppedClock();
    const parts = rig({ wrapStore, clock });
    await parts.login();
    const answered = clock.through(parts.browser.post("/auth/session"));
    expect(await refusalOf(answered)).toBe("503 store_unavailable");
    free.release();
    expect(await rejectionOf(locked as Promise<unknown>)).toMatchObject({ code: "store_locked" });
  });

  test("expires when its page does not fetch the session within ten minutes", async () => {
    const { login, browser, clock } = rig();
    await login();
    clock.advance(600_000);
    expect((await browser.post("/auth/session")).status).toBe(204);
  });

  test("that two tabs start at the same time, without any cookie yet, ends well in both", async () => {
    const parts = rig();
    const { browser } = parts;
    const [first, second] = await Promise.all([
      started(parts, { returnTo: "/one?bivariant_login=1" }),
      started(parts, { returnTo: "/two?bivariant_login=2" }),
    ]);
    for (const [url, page] of [
      [second, "/two?bivariant_login=2"],
      [first, "/one?bivariant_login=1"],
    ] as const)
      expect((await browser.get(url.href)).headers.get("location")).toBe(OWN + page);
    for (const login of ["1", "2"])
      expect((await browser.post("/auth/session", { login })).status).toBe(200);
    expect(loginCookies(browser)).toEqual([]);
  });

  test("gives two sessions to two pages that ask at once and do not say which they mean", async () => {
    const parts = rig();
    for (const url of [await started(parts), await started(parts)])
      await parts.browser.get(url.href);
    const answers = await Promise.all([1, 2, 3].map(() => parts.browser.post("/auth/session")));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 204]);
  });

  test("that came back last is for a page that does not say which one it means", async () => {
    const parts = rig();
    const urls = [await started(parts), await started(parts)];
    const firsts: unknown[] = [];
    for (const url of urls) {
      parts.clock.advance(1_000);
      await parts.browser.get(url.href);
      firsts.push(loginCookies(parts.browser).find(([, value]) => !value.includes(".")));
    }
    expect((await parts.browser.post("/auth/session")).status).toBe(200);
    expect(loginCookies(parts.browser)).toEqual([firsts[0]]);
  });

  test("is remembered for five tabs of one browser, and the oldest tab has to start again", async () => {
    const parts = rig();
    const urls: URL[] = [];
    for (let tab = 0; tab < 6; tab++) urls.push(await started(parts, { returnTo: `/${tab}` }));
    expect(loginCookies(parts.browser)).toHaveLength(5);
    const locations: (string | null)[] = [];
    for (const url of urls)
      locations.push((await parts.browser.get(url.href)).headers.get("location"));
    expect(locations).toEqual([
      `${OWN}/5#login_error=state_mismatch`,
      ...[1, 2, 3, 4, 5].map((tab) => `${OWN}/${tab}`),
    ]);
  });

  describe("in several tabs at once:", () => {
    const tenants = ["acme", "umbrella"] as const;

    /** Completes one login per tenant in one browser before a page asks for its session. */
    async function both(): Promise<Rig> {
      const parts = rig({
        deployments: tenants.map((tenantId) => {
          const redirectUri = `${CALLBACK}/${tenantId}`;
          const login = loginCredential({ clientId: `portal-${tenantId}`, redirectUri });
          return { tenantId, baseUrl: SERVICE, login };
        }),
      });
      const { emulator, browser } = parts;
      const callbacks: string[] = [];
      for (const tenantId of tenants) {
        const redirectUris = [`${CALLBACK}/${tenantId}`];
        emulator.registerApiClient({ clientId: `portal-${tenantId}`, redirectUris });
        const page = encodeURIComponent(`/page?bivariant_login=of-${tenantId}`);
        const { headers } = await browser.get(`/auth/login?tenant=${tenantId}&return_to=${page}`);
        const url = headers.get("location") ?? "";
        callbacks.push(emulator.login({ url, userId: "ada" }).callbackUrl);
      }
      for (const url of callbacks)
        expect((await browser.get(url)).headers.get("location")).not.toContain("login_error");
      return parts;
    }

    const tenantOf = async (answer: Response) => ((await answer.json()) as SessionAnswer).tenantId;

    test.each([
      { name: "by its mark", body: (tenantId: string) => ({ login: `of-${tenantId}` }) },
      { name: "by its tenant", body: (tenantId: string) => ({ tenant: tenantId }) },
      { name: "by both", body: (tenant: string) => ({ login: `of-${tenant}`, tenant }) },
    ])("each page receives its own session $name", async ({ body }) => {
      const { browser } = await both();
      for (const tenantId of tenants)
        expect(await tenantOf(await browser.post("/auth/session", body(tenantId)))).toBe(tenantId);
      for (const tenantId of tenants)
        expect((await browser.post("/auth/session", body(tenantId))).status).toBe(204);
    });

    test.each([
      { name: "with an unknown mark", body: { login: "of-nothing" } },
      {
        name: "with the mark of another tenant's login",
        body: { login: "of-acme", tenant: "umbrella" },
      },
      { name: "without mark and tenant", body: {} },
      { name: "with an unknown tenant", body: { tenant: "evil" } },
    ])("a page $name receives no session, and the others stay", async ({ body }) => {
      const { browser } = await both();
      expect((await browser.post("/auth/session", body)).status).toBe(204);
      for (const tenant of tenants)
        expect((await browser.post("/auth/session", { tenant })).status).toBe(200);
    });
  });

  test("that one process starts can be completed by another", async () => {
    const parts = rig();
    const url = await started(parts);
    const other = new TestBrowser(parts.another(), OWN);
    for (const [name, value] of parts.browser.cookies) other.cookies.set(name, value);
    expect((await other.get(url.href)).headers.get("location")).toBe(`${OWN}/page`);
    expect((await other.post("/auth/session")).status).toBe(200);
  });

  test("needs a configured tenant where there are several", async () => {
    const of = (tenantId: string) => ({ tenantId, baseUrl: SERVICE, login: loginCredential() });
    const without = { ...of("without"), login: apiClient(() => undefined) };
    const { browser } = rig({ deployments: [of("acme"), of("umbrella"), without] });
    for (const query of ["?tenant=", "?tenant=evil", "?tenant=..%2Facme", "?tenant=without"]) {
      expect(await refusalOf(browser.get(`/auth/login${query}`)), query).toBe("404 tenant_unknown");
    }
    const unnamed = await browser.get("/auth/login");
    expect(unnamed.status).toBe(400);
    expect(await unnamed.json()).toMatchObject({
      error: "tenant_missing",
      message: expect.stringContaining("login?tenant=acme"),
    });
    expect((await browser.get("/auth/login?tenant=acme&tenant=umbrella")).status).toBe(400);
    expect((await browser.get("/auth/login?tenant=umbrella")).status).toBe(302);
    expect(browser.setCookies).toHaveLength(1);
  });

  test("names no customer and says what the page passes where the deployments have a launch only", async () => {
    const { browser } = rig({ deployments: [launching()] });
    const [first, ...others] = await Promise.all(
      ["", "?tenant=acme", "?tenant=unknown", "?return_to=/page"].map(async (query) => {
        const answer = await browser.get(`/auth/login${query}`);
        return { status: answer.status, text: await answer.text() };
      }),
    );
    expect(first?.status).toBe(404);
    expect(JSON.parse(first?.text ?? "")).toEqual({
      error: "login_not_configured",
      message: expect.stringContaining("login: false"),
    });
    expect(first?.text).not.toContain("acme");
    for (const other of others) expect(other).toEqual(first);
    const lookup = rig({ deployments: () => undefined });
    const unnamed = await (await lookup.browser.get("/auth/login")).json();
    expect(unnamed).toMatchObject({
      error: "tenant_missing",
      message: expect.stringContaining("login: false"),
    });
  });

  test("of a tenant named like an inherited property, or malformed, is refused by a lookup in a table", async () => {
    const asked: (string | undefined)[] = [];
    const login = loginCredential({ redirectUri: `${CALLBACK}/acme` });
    const acme = { tenantId: "acme", baseUrl: SERVICE, login };
    const table = { acme } as Record<string, typeof acme>;
    const { browser, told } = rig({
      deployments({ tenantId = "" }) {
        asked.push(tenantId);
        return table[tenantId];
      },
    });
    const inherited = ["__proto__", "constructor", "toString"];
    for (const tenant of [...inherited, "..", "a/b", "%00", "{tenantId}", " acme"]) {
      const refusal = await refusalOf(
        browser.get(`/auth/login?tenant=${encodeURIComponent(tenant)}`),
      );
      expect(refusal, String(tenant)).toBe("404 tenant_unknown");
    }
    expect((await browser.get("/auth/login?tenant=acme")).status).toBe(302);
    expect(asked).toEqual([...inherited, "acme"]);
    expect(told.map(({ status }) => status)).toEqual(Array(8).fill(404));
  });

  test("is refused where its cookie could never come back", async () => {
    for (const redirectUri of [
      "https://127.0.0.1/auth/callback",
      "http://planner.example/auth/callback",
    ]) {
      const login = loginCredential({ redirectUri });
      const { browser, told } = rig({
        deployments: [{ tenantId: "acme", baseUrl: SERVICE, login }],
      });
      expect(await refusalOf(browser.get("/auth/login"))).toBe("404 tenant_unknown");
      expect(isConfigurationError(told[0]?.error)).toBe(true);
      expect(browser.setCookies).toEqual([]);
    }
  });
});

describe("a callback", () => {
  const faults: { name: string; change: (query: URLSearchParams) => void }[] = [
    { name: "without a state", change: (query) => query.delete("state") },
    { name: "with a changed state", change: (query) => query.set("state", "x".repeat(43)) },
    { name: "with an empty state", change: (query) => query.set("state", "") },
    { name: "with two states", change: (query) => query.append("state", `${query.get("state")}`) },
    {
      name: "with a shorter state",
      change: (query) => query.set("state", `${query.get("state")}`.slice(1)),
    },
  ];
  test.each(faults)(
    "$name goes back to the page with an error, sends no code, and leaves the login intact",
    async ({ change }) => {
      const parts = rig();
      const url = await started(parts);
      const answer = await parts.browser.get(changed(url, change));
      expect([answer.status, answer.headers.get("location")]).toEqual([
        303,
        `${OWN}/page#login_error=state_mismatch`,
      ]);
      expect(parts.tokenRequests()).toBe(0);
      expect((await parts.browser.post("/auth/session")).status).toBe(204);
      // The honest callback of the same login.
      expect((await parts.browser.get(url.href)).headers.get("location")).toBe(`${OWN}/page`);
    },
  );

  test("that arrives ten times at once sends its code once", async () => {
    const parts = rig();
    const url = await started(parts);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => parts.browser.get(url.href)),
    );
    const ended = answers.filter(({ headers }) => headers.get("location") === `${OWN}/page`);
    expect([ended.length, parts.tokenRequests()]).toEqual([1, 1]);
  });

  type Change = (query: URLSearchParams) => void;
  const row = (name: string, code: string, change: Change) => ({ name, code, change });
  const answers: { name: string; code: string; change: (query: URLSearchParams) => void }[] = [
    row("access_denied", "login_denied", (query) => only(query, "access_denied")),
    row("server_error", "login_refused", (query) => only(query, "server_error")),
    row("code and error", "login_denied", (query) => query.set("error", "access_denied")),
    row("neither code nor error", "login_refused", (query) => query.delete("code")),
    row("two codes", "login_refused", (query) => query.append("code", "another")),
    row("a code of 5 kB", "login_refused", (query) => query.set("code", "c".repeat(5e3))),
  ];
  test.each(answers)(
    "with $name ends the login with $code, and sends no code",
    async ({ code, change }) => {
      const parts = rig();
      const url = await started(parts);
      const answer = await parts.browser.get(changed(url, change));
      expect(answer.headers.get("location")).toBe(`${OWN}/page#login_error=${code}`);
      expect(parts.tokenRequests()).toBe(0);
      expect((await parts.browser.post("/auth/session")).status).toBe(204);
      expect((await parts.browser.get(url.href)).headers.get("location")).toContain(
        "#login_error=state_mismatch",
      );
      expect(parts.tokenRequests()).toBe(0);
    },
  );

  test("after ten minutes goes back to its page with login_expired", async () => {
    const parts = rig();
    const url = await started(parts, { returnTo: "/late" });
    parts.clock.advance(600_000);
    const answer = await parts.browser.get(url.href);
    expect(answer.headers.get("location")).toBe(`${OWN}/late#login_error=login_expired`);
    expect(parts.tokenRequests()).toBe(0);
  });

  test.each([
    {
      when: "the backend has no store, as with replicas that share nothing",
      store: undefined,
      times: 1,
    },
    { when: "never if the backend has a store", store: memoryStore(), times: 0 },
  ])(
    "at a replica that does not know the login is answered 400, and is one event: $when",
    async (given) => {
      const events: BackendEvent[] = [];
      const parts = rig({ onEvent: (event) => void events.push(event) });
      const unknown = () => events.filter(({ type }) => type === "login_unknown");
      const url = await started(parts);
      const replica = parts.another({ store: given.store });
      expect(await refusalOf(new TestBrowser(replica, OWN).get(url.href))).toBe(
        "400 state_mismatch",
      );
      expect(unknown()).toEqual([]);
      for (let requests = 0; requests < 3; requests++)
        expect(await refusalOf(replica(parts.browser.request("GET", url.href)))).toBe(
          "400 state_mismatch",
        );
      expect(unknown()).toEqual(
        Array(given.times).fill({ type: "login_unknown", at: parts.clock.now() }),
      );
    },
  );

  test("in a browser without the login's cookie is answered 400, with a page for people", async () => {
    const parts = rig();
    const url = await started(parts);
    const stranger = new TestBrowser(parts.backend, OWN);
    expect(await refusalOf(stranger.get(url.href))).toBe("400 state_mismatch");
    const page = await stranger.get(url.href, { accept: "text/html,*/*" });
    expect([page.status, page.headers.get("content-type")]).toEqual([
      400,
      "text/html; charset=utf-8",
    ]);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    const text = await page.text();
    for (const secret of [...url.searchParams.values()]) expect(text).not.toContain(secret);
    expect(parts.tokenRequests()).toBe(0);
  });

  test("with a code that the deployment refuses reports login_refused", async () => {
    const parts = rig();
    const url = await started(parts);
    const answer = await parts.browser.get(
      changed(url, (query) => query.set("code", "no-such-code")),
    );
    expect(answer.headers.get("location")).toBe(`${OWN}/page#login_error=login_refused`);
    expect(parts.told).toMatchObject([{ route: "callback", code: "login_refused" }]);
  });

  test.each([
    { redirectUri: `${CALLBACK}/acme`, paths: ["", "/evil", "/acme/x", "/acme/"] },
    { redirectUri: `${CALLBACK}/x/callback/y`, paths: ["", "/y", "/x", "/x/callback"] },
    { redirectUri: `${CALLBACK}/callback`, paths: ["", "/callback/callback"] },
    { redirectUri: CALLBACK, paths: ["/callback", "/"] },
  ])(
    "at another path than the deployment's redirect URI $redirectUri is rejected, and its code is not sent (mix-up)",
    async ({ redirectUri, paths }) => {
      const login = loginCredential({ clientId: "portal-2", redirectUri });
      const parts = rig({ deployments: [{ tenantId: "acme", baseUrl: SERVICE, login }] });
      parts.emulator.registerApiClient({ clientId: "portal-2", redirectUris: [redirectUri] });
      for (const path of paths) {
        const url = await started(parts);
        const answer = await parts.browser.get(`${CALLBACK}${path}${url.search}`);
        expect([path, answer.headers.get("location")]).toEqual([
          path,
          `${OWN}/page#login_error=state_mismatch`,
        ]);
      }
      expect(parts.tokenRequests()).toBe(0);
      const honest = await started(parts);
      expect((await parts.browser.get(honest.href)).headers.get("location")).toBe(`${OWN}/page`);
    },
  );
});

function only(query: URLSearchParams, error: string): void {
  query.delete("code");
  query.set("error", error);
}

describe("an attack", () => {
  test("by login CSRF fails: a callback of a login that another browser started logs no one in", async () => {
    const parts = rig();
    const evil = new TestBrowser(parts.backend, OWN);
    const forged = await started(parts, { by: evil, userId: "grace" });
    // The victim has a pending login too.
    const honest = await started(parts);
    const answer = await parts.browser.get(forged.href);
    expect(answer.headers.get("location")).toBe(`${OWN}/page#login_error=state_mismatch`);
    expect(parts.tokenRequests()).toBe(0);
    expect((await parts.browser.post("/auth/session")).status).toBe(204);
    await parts.browser.get(honest.href);
    expect((await parts.browser.post("/auth/session")).status).toBe(200);
  });

  test("by session fixation fails: an attacker who planted the login cookie cannot fetch the session", async () => {
    const parts = rig();
    const evil = new TestBrowser(parts.backend, OWN);
    // The victim logs in at the address of the attacker's login, with the attacker's cookie.
    const url = await started(parts, { by: evil });
    const [[name = "", planted = ""] = []] = loginCookies(evil);
    parts.browser.cookies.set(name, planted);
    expect((await parts.browser.get(url.href)).headers.get("location")).toBe(`${OWN}/page`);
    expect(loginCookies(parts.browser)).toEqual([
      [expect.not.stringMatching(name), expect.any(String)],
    ]);
    expect((await evil.post("/auth/session")).status).toBe(204);
    // The copy of the cookie that the attacker kept completes nothing.
    expect((await evil.get(url.href)).headers.get("location")).toContain(
      "#login_error=login_refused",
    );
    expect((await evil.post("/auth/session")).status).toBe(204);
    expect((await parts.browser.post("/auth/session")).status).toBe(200);
  });
});

describe("return_to", () => {
  const refused = [
    { name: "another origin", value: "https://evil.example/" },
    { name: "another origin that begins alike", value: `${OWN}.evil.example/` },
    { name: "another scheme", value: "http://planner.example/" },
    { name: "another port", value: `${OWN}:8443/` },
    { name: "protocol-relative", value: "//evil.example/" },
    { name: "protocol-relative to itself", value: "//planner.example/" },
    { name: "a backslash", value: "/\\evil.example" },
    { name: "two backslashes", value: "\\\\evil.example" },
    { name: "a tab between slashes", value: "/\t/evil.example" },
    { name: "a newline", value: "/a\r\nset-cookie: a=b" },
    { name: "a leading space", value: " //evil.example" },
    { name: "javascript:", value: "javascript:alert(1)" },
    { name: "data:", value: "data:text/html,x" },
    { name: "blob: of the own origin", value: `blob:${OWN}/1` },
    { name: "credentials", value: "https://planner.example@evil.example/" },
    { name: "credentials of the own origin", value: "https://a:b@planner.example/" },
    { name: "a relative path", value: "page" },
    { name: "an empty text", value: "" },
    { name: "the backend's own routes", value: "/auth/login?return_to=/" },
    { name: "the backend's own routes by dots", value: "/x/../auth/callback" },
    { name: "an address of more than 2 kB", value: `/${"x".repeat(2_048 - OWN.length)}` },
    {
      name: "an address that is longer than 2 kB once it is encoded",
      value: `/?q=${"語".repeat(300)}`,
    },
  ];
  test.each(refused)("$name is refused with 400, and no login starts", async ({ value }) => {
    const { browser } = rig();
    const refusal = await refusalOf(
      browser.get(`/auth/login?return_to=${encodeURIComponent(value)}`),
    );
    expect(refusal).toBe("400 return_to_refused");
    expect(browser.setCookies).toEqual([]);
  });

  const other = "https://www.planner.example";
  const longest = `/${"x".repeat(2_047 - OWN.length)}`;
  const accepted = [
    { name: "left out", value: undefined, to: `${OWN}/` },
    { name: "a path", value: "/a/b?c=d&e=//f#g", to: `${OWN}/a/b?c=d&e=//f#g` },
    { name: "an address of the own origin", value: `${OWN}/page`, to: `${OWN}/page` },
    { name: "one of another allowed origin", value: `${other}/x`, to: `${other}/x` },
    {
      name: "a path that is like a host, but has a dot",
      value: "/.//evil.a",
      to: `${OWN}//evil.a`,
    },
    { name: "a path beside the routes", value: "/authors", to: `${OWN}/authors` },
    { name: "an address of exactly 2 kB", value: longest, to: OWN + longest },
  ];
  test.each(accepted)(
    "$name is accepted, and becomes an absolute address",
    async ({ value, to }) => {
      const { browser, emulator } = rig({ origins: [other] });
      const query = value === undefined ? "" : `?return_to=${encodeURIComponent(value)}`;
      const url = (await browser.get(`/auth/login${query}`)).headers.get("location") ?? "";
      const { callbackUrl } = emulator.login({ url, userId: "ada" });
      expect((await browser.get(callbackUrl)).headers.get("location")).toBe(to);
    },
  );

  test("with a fragment has the error in its place", async () => {
    const parts = rig();
    const url = await started(parts, { returnTo: "/page?x=1#part", decision: "deny" });
    expect((await parts.browser.get(url.href)).headers.get("location")).toBe(
      `${OWN}/page?x=1#login_error=login_denied`,
    );
  });
});
