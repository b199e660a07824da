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
import { refusalOf, type TestBrowser } from "./test-browser.js";

/**
 * Starts a login, and returns the address that the authorization endpoint sends the browser back
 * to.
 */
async function started(
  { browser, emulator }: Rig,
  { by = browser, returnTo = "/page", query = "", decision = "allow" } = {},
): Promise<URL> {
  const to = encodeURIComponent(returnTo);
  const answer = await by.get(`/auth/login?return_to=${to}${query}`);
  const url = answer.headers.get("location") ?? "";
  const login = { url, userId: "ada", decision: decision as "allow" | "deny" };
  return new URL(emulator.login(login).callbackUrl);
}

async function locationOf(browser: TestBrowser, url: URL | string): Promise<string | null> {
  return (await browser.get(String(url))).headers.get("location");
}

type Change = (query: URLSearchParams) => void;

function changed(url: URL, change: Change): URL {
  const other = new URL(url);
  change(other.searchParams);
  return other;
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
      response_type: "code",
      client_id: "portal",
      redirect_uri: CALLBACK,
      code_challenge_method: "S256",
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{20,}$/),
    });
    expect(browser.setCookies).toEqual([
      expect.stringMatching(
        /^__Host-bivariant-login-[\w-]{8}=[\w-]+\.[\w.-]+; Max-Age=1200; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
      ),
    ]);
  });

  test("comes back to its page, which fetches the session once and makes calls as that person", async () => {
    const { login, browser, backend, clock } = rig();
    const back = await login();
    expect([back.status, back.headers.get("location")]).toEqual([303, `${OWN}/page`]);
    // The address that the browser leaves holds the code (RFC 9700 section 4.2.4).
    expect(back.headers.get("referrer-policy")).toBe("no-referrer");
    const answer = await browser.post("/auth/session");
    const body = (await answer.json()) as SessionAnswer;
    expect([answer.status, body]).toEqual([
      200,
      {
        session: expect.stringMatching(/^[\w-]{43}$/),
        variant: "B",
        tenantId: "acme",
        expiresAt: clock.now() + 8 * 3_600_000,
      },
    ]);
    expect((await browser.post("/auth/session")).status).toBe(204);
    const headers = bearer(body.session);
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
    const gone = new Request(request, { signal: AbortSignal.abort() });
    expect(await refusalOf(backend(gone))).toBe("499 client_gone");
    expect((await browser.post("/auth/session")).status).toBe(200);
  });

  test("is refused in time from a store whose lock is not free, and is not handed over later", async () => {
    const free = latch();
    let locked = Promise.resolve<unknown>(undefined);
    const wrapStore = (inner: TokenStore): TokenStore => ({
      ...inner,
      lock<T>(_key: string, task: () => Promise<T>) {
        const running = free.promise.then(task);
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
    expect(await rejectionOf(locked)).toMatchObject({ code: "store_locked" });
  });

  test("expires when its page does not fetch the session within ten minutes", async () => {
    const { login, browser, clock } = rig();
    await login();
    clock.advance(600_000);
    expect((await browser.post("/auth/session")).status).toBe(204);
  });

  test("started in two tabs at once opens one session for each tab, although neither names its login", async () => {
    const parts = rig();
    const urls = await Promise.all([started(parts, { returnTo: "/1" }), started(parts)]);
    expect(await locationOf(parts.browser, urls[1])).toBe(`${OWN}/page`);
    expect(await locationOf(parts.browser, urls[0])).toBe(`${OWN}/1`);
    const answers = await Promise.all([1, 2, 3].map(() => parts.browser.post("/auth/session")));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 204]);
    expect(loginCookies(parts.browser)).toEqual([]);
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
    for (const url of urls) locations.push(await locationOf(parts.browser, url));
    const completed = [1, 2, 3, 4, 5].map((tab) => `${OWN}/${tab}`);
    expect(locations).toEqual([`${OWN}/5#login_error=state_mismatch`, ...completed]);
  });

  describe("in two tabs for two tenants", () => {
    const tenants = ["acme", "umbrella"] as const;

    /** Completes one login per tenant in one browser before a page asks for its session. */
    async function both(): Promise<(body: object) => Promise<Response>> {
      const deployments = tenants.map((tenantId) => {
        const redirectUri = `${CALLBACK}/${tenantId}`;
        const login = loginCredential({ clientId: `portal-${tenantId}`, redirectUri });
        return { tenantId, baseUrl: SERVICE, login };
      });
      const parts = rig({ deployments });
      const urls: URL[] = [];
      for (const tenant of tenants) {
        const redirectUris = [`${CALLBACK}/${tenant}`];
        parts.emulator.registerApiClient({ clientId: `portal-${tenant}`, redirectUris });
        const returnTo = `/page?bivariant_login=of-${tenant}`;
        urls.push(await started(parts, { returnTo, query: `&tenant=${tenant}` }));
      }
      for (const url of urls)
        expect(await locationOf(parts.browser, url)).not.toContain("login_error");
      return (body) => parts.browser.post("/auth/session", body);
    }

    test.each([
      { name: "its mark", body: (tenant: string) => ({ login: `of-${tenant}` }) },
      { name: "its tenant", body: (tenant: string) => ({ tenant }) },
    ])("gives each page its own session once, by $name", async ({ body }) => {
      const ask = await both();
      for (const tenantId of tenants)
        expect(await (await ask(body(tenantId))).json()).toMatchObject({ tenantId });
      for (const tenantId of tenants) expect((await ask(body(tenantId))).status).toBe(204);
    });

    test("gives no session to a page with another mark or tenant, or without both", async () => {
      const ask = await both();
      for (const body of [
        { login: "of-nothing" },
        { login: "of-acme", tenant: "umbrella" },
        { tenant: "evil" },
        {},
      ])
        expect((await ask(body)).status, JSON.stringify(body)).toBe(204);
      for (const tenant of tenants) expect((await ask({ tenant })).status).toBe(200);
    });
  });

  test("needs a configured tenant where there are several", async () => {
    const of = (tenantId: string) => ({ tenantId, baseUrl: SERVICE, login: loginCredential() });
    const without = { ...of("without"), login: apiClient(() => undefined) };
    const { browser } = rig({ deployments: [of("acme"), of("umbrella"), without] });
    for (const tenant of ["", "evil", "..%2Facme", "without"])
      expect(await refusalOf(browser.get(`/auth/login?tenant=${tenant}`)), tenant).toBe(
        "404 tenant_unknown",
      );
    const unnamed = await browser.get("/auth/login");
    expect(await refusalOf(unnamed)).toBe("400 tenant_missing");
    expect(await unnamed.text()).toContain("login?tenant=acme");
    // `table["__proto__"]` and `table["constructor"]` find the last two.
    for (const none of [undefined, Object.prototype, Object]) {
      const lookup = rig({ deployments: () => none as undefined });
      expect(await refusalOf(lookup.browser.get("/auth/login"))).toBe("400 tenant_missing");
    }
    expect((await browser.get("/auth/login?tenant=acme&tenant=umbrella")).status).toBe(400);
    expect((await browser.get("/auth/login?tenant=umbrella")).status).toBe(302);
    expect(browser.setCookies).toHaveLength(1);
  });

  test("is refused in the same words for every tenant where the deployments have a launch only", async () => {
    const { browser } = rig({ deployments: [launching()] });
    const texts: string[] = [];
    for (const query of ["", "?tenant=acme", "?tenant=unknown", "?return_to=/page"]) {
      const answer = await browser.get(`/auth/login${query}`);
      expect(await refusalOf(answer)).toBe("404 login_not_configured");
      texts.push(await answer.text());
    }
    expect(texts).toEqual(Array(4).fill(texts[0]));
    expect(texts[0]).toContain("login: false");
    expect(texts[0]).not.toContain("acme");
  });

  test("is refused where its cookie could never come back", async () => {
    for (const origin of ["https://127.0.0.1", "http://planner.example"]) {
      const login = loginCredential({ redirectUri: `${origin}/auth/callback` });
      const deployments = [{ tenantId: "acme", baseUrl: SERVICE, login }];
      const { browser, reports } = rig({ deployments });
      expect(await refusalOf(browser.get("/auth/login"))).toBe("404 tenant_unknown");
      expect(isConfigurationError(reports[0]?.error)).toBe(true);
      expect(browser.setCookies).toEqual([]);
    }
  });
});

describe("a callback", () => {
  const row = (name: string, code: string, change: Change) => ({ name, code, change });
  const only = (query: URLSearchParams, error: string) => {
    query.delete("code");
    query.set("error", error);
  };

  test.each([
    row("no state", "state_mismatch", (query) => query.delete("state")),
    row("a changed state", "state_mismatch", (query) => query.set("state", "x".repeat(43))),
    row("two states", "state_mismatch", (query) => query.append("state", `${query.get("state")}`)),
    row("access_denied", "login_denied", (query) => only(query, "access_denied")),
    row("server_error", "login_refused", (query) => only(query, "server_error")),
    row("code and error", "login_denied", (query) => query.set("error", "access_denied")),
    row("neither code nor error", "login_refused", (query) => query.delete("code")),
    row("two codes", "login_refused", (query) => query.append("code", "another")),
    row("a code of 5 kB", "login_refused", (query) => query.set("code", "c".repeat(5e3))),
  ])("with $name goes back to the page with $code, and sends no code", async ({ code, change }) => {
    const parts = rig();
    const url = await started(parts);
    const answer = await parts.browser.get(changed(url, change).href);
    const location = answer.headers.get("location");
    expect([answer.status, location]).toEqual([303, `${OWN}/page#login_error=${code}`]);
    expect((await parts.browser.post("/auth/session")).status).toBe(204);
    expect(parts.tokenRequests()).toBe(0);
    // A callback without the login's state does not end that login.
    const stays = code === "state_mismatch";
    expect(await locationOf(parts.browser, url)).toBe(
      stays ? `${OWN}/page` : `${OWN}/page#login_error=state_mismatch`,
    );
    expect(parts.tokenRequests()).toBe(stays ? 1 : 0);
  });

  test("that arrives ten times at once sends its code once", async () => {
    const parts = rig();
    const url = await started(parts);
    const asked = Array.from({ length: 10 }, () => locationOf(parts.browser, url));
    const ended = (await Promise.all(asked)).filter((location) => location === `${OWN}/page`);
    expect([ended.length, parts.tokenRequests()]).toEqual([1, 1]);
  });

  test("after ten minutes goes back to its page with login_expired", async () => {
    const parts = rig();
    const url = await started(parts, { returnTo: "/late" });
    parts.clock.advance(600_000);
    expect(await locationOf(parts.browser, url)).toBe(`${OWN}/late#login_error=login_expired`);
    expect(parts.tokenRequests()).toBe(0);
  });

  test.each([
    { when: "once without a store, as with replicas that share nothing", times: 1 },
    { when: "never with a store", store: memoryStore(), times: 0 },
  ])(
    "of a login that a replica does not know is answered 400, and is an event $when",
    async (row) => {
      const events: BackendEvent[] = [];
      const parts = rig({ onEvent: (event) => void events.push(event) });
      const unknown = () => events.filter(({ type }) => type === "login_unknown");
      const { href } = await started(parts);
      const changes = { store: row.store };
      expect(await refusalOf(parts.elsewhere(changes).get(href))).toBe("400 state_mismatch");
      expect(unknown()).toEqual([]);
      const replica = parts.elsewhere(changes, parts.browser.cookies);
      for (let requests = 0; requests < 3; requests++)
        expect(await refusalOf(replica.get(href))).toBe("400 state_mismatch");
      const event = { type: "login_unknown", at: parts.clock.now() };
      expect(unknown()).toEqual(Array(row.times).fill(event));
    },
  );

  test("in a browser without the login's cookie is answered 400, with a page for people", async () => {
    const parts = rig();
    const url = await started(parts);
    const stranger = parts.elsewhere();
    expect(await refusalOf(stranger.get(url.href))).toBe("400 state_mismatch");
    const page = await stranger.get(url.href, { accept: "text/html,*/*" });
    const { headers } = page;
    expect([page.status, headers.get("content-type")]).toEqual([400, "text/html; charset=utf-8"]);
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    const text = await page.text();
    for (const secret of url.searchParams.values()) expect(text).not.toContain(secret);
    expect(parts.tokenRequests()).toBe(0);
  });

  test("with a code that the deployment refuses reports login_refused", async () => {
    const parts = rig();
    const url = changed(await started(parts), (query) => query.set("code", "no-such-code"));
    expect(await locationOf(parts.browser, url)).toBe(`${OWN}/page#login_error=login_refused`);
    expect(parts.reports).toMatchObject([{ route: "callback", code: "login_refused" }]);
  });

  test.each([
    { redirectUri: `${CALLBACK}/acme`, paths: ["", "/evil", "/acme/x", "/acme/"] },
    { redirectUri: `${CALLBACK}/x/callback/y`, paths: ["", "/y", "/x", "/x/callback"] },
    { redirectUri: CALLBACK, paths: ["/callback", "/"] },
  ])(
    "at another path than $redirectUri is rejected, and its code is not sent (mix-up)",
    async (row) => {
      const { redirectUri, paths } = row;
      const login = loginCredential({ clientId: "portal-2", redirectUri });
      const parts = rig({ deployments: [{ tenantId: "acme", baseUrl: SERVICE, login }] });
      parts.emulator.registerApiClient({ clientId: "portal-2", redirectUris: [redirectUri] });
      const url = await started(parts);
      for (const path of paths) {
        const location = await locationOf(parts.browser, `${CALLBACK}${path}${url.search}`);
        expect([path, location]).toEqual([path, `${OWN}/page#login_error=state_mismatch`]);
      }
      expect(parts.tokenRequests()).toBe(0);
      expect(await locationOf(parts.browser, url)).toBe(`${OWN}/page`);
    },
  );
});

describe("an attack", () => {
  test("by login CSRF fails: a callback of a login that another browser started logs no one in", async () => {
    const parts = rig();
    const forged = await started(parts, { by: parts.elsewhere() });
    // The victim has a pending login too.
    const honest = await started(parts);
    const location = await locationOf(parts.browser, forged);
    expect(location).toBe(`${OWN}/page#login_error=state_mismatch`);
    expect(parts.tokenRequests()).toBe(0);
    expect((await parts.browser.post("/auth/session")).status).toBe(204);
    await parts.browser.get(honest.href);
    expect((await parts.browser.post("/auth/session")).status).toBe(200);
  });

  test("by session fixation fails: an attacker who planted the login cookie cannot fetch the session", async () => {
    const parts = rig();
    const evil = parts.elsewhere();
    // The victim logs in at the address of the attacker's login, with the attacker's cookie.
    const url = await started(parts, { by: evil });
    const [[name = "", planted = ""] = []] = loginCookies(evil);
    parts.browser.cookies.set(name, planted);
    expect(await locationOf(parts.browser, url)).toBe(`${OWN}/page`);
    expect(loginCookies(parts.browser)).toEqual([
      [expect.not.stringMatching(name), expect.any(String)],
    ]);
    expect((await evil.post("/auth/session")).status).toBe(204);
    // The copy of the cookie that the attacker kept completes nothing.
    expect(await locationOf(evil, url)).toContain("#login_error=login_refused");
    expect((await evil.post("/auth/session")).status).toBe(204);
    expect((await parts.browser.post("/auth/session")).status).toBe(200);
  });
});

describe("return_to", () => {
  const other = "https://www.planner.example";
  const longest = `/${"x".repeat(2_047 - OWN.length)}`;

  test.each([
    { name: "another origin", value: "https://evil.example/" },
    { name: "another origin that begins alike", value: `${OWN}.evil.example/` },
    { name: "another port", value: `${OWN}:8443/` },
    { name: "protocol-relative", value: "//planner.example/" },
    { name: "a backslash", value: "/\\evil.example" },
    { name: "a tab between slashes", value: "/\t/evil.example" },
    { name: "javascript:", value: "javascript:alert(1)" },
    { name: "blob: of the own origin", value: `blob:${OWN}/1` },
    { name: "credentials", value: "https://planner.example@evil.example/" },
    { name: "an empty text", value: "" },
    { name: "the backend's own routes", value: "/auth/login?return_to=/" },
    { name: "the backend's own routes by dots", value: "/x/../auth/callback" },
    { name: "an address of more than 2 kB", value: `${longest}x` },
    { name: "an address of more than 2 kB once encoded", value: `/?q=${"語".repeat(300)}` },
  ])("$name is refused with 400, and no login starts", async ({ value }) => {
    const { browser } = rig();
    const answer = browser.get(`/auth/login?return_to=${encodeURIComponent(value)}`);
    expect(await refusalOf(answer)).toBe("400 return_to_refused");
    expect(browser.setCookies).toEqual([]);
  });

  test.each([
    { name: "a path", value: "/a/b?c=d&e=//f#g", to: `${OWN}/a/b?c=d&e=//f#g` },
    { name: "an address of the own origin", value: `${OWN}/page`, to: `${OWN}/page` },
    { name: "one of another allowed origin", value: `${other}/x`, to: `${other}/x` },
    { name: "a path like a host after a dot", value: "/.//evil.a", to: `${OWN}//evil.a` },
    { name: "a path beside the routes", value: "/authors", to: `${OWN}/authors` },
    { name: "an address of exactly 2 kB", value: longest, to: OWN + longest },
    { name: "one whose fragment is too long", value: `${longest}#x`, to: OWN + longest },
    { name: "a backslash in a fragment", value: "/#\\d", to: `${OWN}/#\\d` },
    {
      name: "the own origin with credentials",
      value: "https://a:b@planner.example/",
      to: `${OWN}/`,
    },
  ])("$name is accepted, and becomes an absolute address", async ({ value, to }) => {
    const parts = rig({ origins: [other] });
    const url = await started(parts, { returnTo: value });
    expect(await locationOf(parts.browser, url)).toBe(to);
  });

  test("with a fragment has the error in its place", async () => {
    const parts = rig();
    const url = await started(parts, { returnTo: "/page?x=1#part", decision: "deny" });
    expect(await locationOf(parts.browser, url)).toBe(`${OWN}/page?x=1#login_error=login_denied`);
  });
});
