// The sessions of browsers, as bearer tokens or in cookies, until their lifetime or idle time ends.
import { describe, expect, test } from "vitest";
import type { BackendEvent } from "../../src/backend/index.js";
import { apiClient, memoryStore } from "../../src/index.js";
import { encryptedStore } from "../../src/stores/encrypted.js";
import { steppedClock } from "../support/clock.js";
import { rejectionOf } from "../support/wait.js";
import {
  bearer,
  HOST,
  interrupted,
  launchCredential,
  launching,
  loginCredential,
  OWN,
  type RigOptions,
  rig,
  type SessionAnswer,
} from "./rig.js";
import { refusalOf, TestBrowser } from "./test-browser.js";

const minute = 60_000;
/** Longer than any session here. */
const longTokens = { tokenLifetimeSeconds: 30 * 24 * 3_600 };

/** Records the writes to a store and its entries. */
function watched() {
  const writes: string[] = [];
  const entries = new Map<string, string>();
  const wrapStore = interrupted((operation, key, value) => {
    if (operation === "set") writes.push(key);
    if (operation === "set") entries.set(key, value);
    if (operation === "delete") entries.delete(key);
  });
  const held = (kind: string) => [...entries.keys()].filter((key) => key.includes(kind));
  return { writes, entries, wrapStore, held };
}

describe("a session token", () => {
  const inCookie = { cookie: `__Host-bivariant-session=${"x".repeat(43)}` };
  test.each([
    { name: "missing", headers: {}, code: "session_missing" },
    { name: "of another scheme", headers: { authorization: "Basic x" }, code: "session_missing" },
    { name: "unknown", headers: bearer("x".repeat(43)), code: "session_unknown" },
    { name: "of another length", headers: bearer("x"), code: "session_unknown" },
    { name: "in a cookie", headers: inCookie, code: "session_missing" },
  ])("$name is refused with 401 $code by routes, connect and session", async (row) => {
    const { backend, browser } = rig();
    const headers = row.headers as Record<string, string>;
    const request = browser.request("GET", "/x", { headers });
    const answers = [
      await browser.get("/auth/me", headers),
      await browser.post("/auth/logout", {}, headers),
      backend.answer(await rejectionOf(backend.connect(request))),
      backend.answer(await rejectionOf(backend.session(request))),
    ];
    for (const answer of answers) {
      expect(await refusalOf(answer)).toBe(`401 ${row.code}`);
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    }
  });

  test("is in the store only as a hash, and so is a login cookie", async () => {
    const store = watched();
    const parts = rig({ wrapStore: store.wrapStore });
    const { session } = await parts.launch();
    await parts.login();
    const [cookie] = parts.browser.cookies.values();
    const text = JSON.stringify([store.writes, ...store.entries]);
    expect(text).toContain("bivariant:backend:session:");
    for (const secret of [session, cookie]) expect(text).not.toContain(secret);
  });

  test("of another plugin, or of a deployment that moved, is refused", async () => {
    const parts = rig();
    const { session: launched } = await parts.launch();
    const { session: loggedIn } = await parts.loggedIn();
    const redirectUris = [`${OWN}/auth/callback`];
    parts.emulator.registerApiClient({ clientId: "other-portal", redirectUris });
    for (const change of [
      { launch: launchCredential("other-plugin") },
      { baseUrl: "https://moved.example" },
      { tenantId: "umbrella" },
      { hostOrigin: "https://other.example" },
    ]) {
      const login = loginCredential({ clientId: "other-portal" });
      const other = parts.elsewhere({ deployments: [{ ...launching(), login, ...change }] });
      expect(await refusalOf(other.me(launched))).toBe("401 session_unknown");
      expect((await other.me(loggedIn)).status).toBe(401);
    }
    for (const session of [launched, loggedIn])
      expect((await parts.browser.me(session)).status).toBe(200);
  });

  test.each([
    { when: "once without a store, as with replicas that share nothing", times: 1 },
    { when: "never with a store", shared: memoryStore(), times: 0 },
  ])("that is unknown is an event $when, unless its form is wrong", async ({ shared, times }) => {
    const events: BackendEvent[] = [];
    const parts = rig({ onEvent: (event) => void events.push(event) });
    const unknown = () => events.filter(({ type }) => type === "session_unknown");
    const { session } = await parts.launch();
    const replica = parts.elsewhere({ store: shared });
    for (const malformed of ["x", "y".repeat(44), "=".repeat(43)]) await replica.me(malformed);
    expect(unknown()).toEqual([]);
    for (let requests = 0; requests < 3; requests++)
      expect(await refusalOf(replica.me(session))).toBe("401 session_unknown");
    const event = { type: "session_unknown", at: parts.clock.now() };
    expect(unknown()).toEqual(Array(times).fill(event));
  });

  test("is opened once other processes find its tokens, although the first write failed", async () => {
    let failures = 0;
    const wrapStore = interrupted((operation, key) => {
      if (operation === "set" && key.startsWith('["grant"') && failures-- > 0)
        throw new Error("down");
    });
    const { launch, loggedIn, elsewhere, browser, launchBody } = rig({ wrapStore });
    for (const signIn of [launch, loggedIn]) {
      failures = 1;
      const { session } = await signIn();
      expect((await elsewhere().me(session)).status).toBe(200);
    }
    failures = 2;
    const answer = browser.post("/auth/launch", launchBody());
    expect(await refusalOf(answer)).toBe("503 store_unavailable");
  });

  test("of a damaged entry, or one that cannot be decrypted, is refused", async () => {
    const { wrapStore, held } = watched();
    const { launch, browser, store, elsewhere, reports } = rig({ wrapStore });
    const { session } = await launch();
    const [key = ""] = held(":session:");
    const encrypted = elsewhere({ store: encryptedStore(store, new Uint8Array(32)) });
    for (const torn of ["", "{", "null", '{"person":1}']) {
      await store.set(key, torn);
      expect(await refusalOf(browser.me(session))).toBe("401 session_unknown");
      expect(await refusalOf(encrypted.me(session))).toBe("401 session_unknown");
    }
    expect(reports).toMatchObject(
      Array(4).fill({ code: "none", error: { code: "store_corrupt" } }),
    );
  });
});

describe("a session", () => {
  test("ends after its lifetime, however much it is used", async () => {
    const { clock, browser, launch } = rig({
      session: { lifetimeMs: 30 * minute, idleMs: 10_000 },
    });
    const { session, expiresAt } = await launch();
    expect(expiresAt).toBe(clock.now() + 30 * minute);
    while (clock.now() < expiresAt) {
      expect((await browser.me(session)).status).toBe(200);
      clock.advance(5_000);
    }
    for (let again = 0; again < 2; again++)
      expect(await refusalOf(browser.me(session))).toBe("401 session_expired");
  });

  test("that is not used ends after its idle time, and its tokens are forgotten when it is presented", async () => {
    const store = watched();
    const parts = rig({ wrapStore: store.wrapStore });
    const { session } = await parts.loggedIn();
    parts.clock.advance(60 * minute - 1);
    expect((await parts.browser.me(session)).status).toBe(200);
    parts.clock.advance(60 * minute);
    expect(store.held("grant")).toHaveLength(1);
    expect(await refusalOf(parts.browser.me(session))).toBe("401 session_expired");
    expect(store.held("grant")).toEqual([]);
  });

  test("is written as used at most once a minute", async () => {
    const store = watched();
    const parts = rig({ wrapStore: store.wrapStore });
    const { session } = await parts.launch();
    const before = store.writes.length;
    for (let requests = 0; requests < 25; requests++) {
      parts.clock.advance(4_000);
      await parts.browser.me(session);
    }
    expect(store.writes.length - before).toBe(1);
  });

  test("continues when its use cannot be written, which is reported", async () => {
    let isDown = false;
    const wrapStore = interrupted((operation) => {
      if (isDown && operation === "set") throw new Error("disk full");
    });
    const parts = rig({ wrapStore });
    const { session } = await parts.launch();
    parts.clock.advance(2 * minute);
    isDown = true;
    expect((await parts.browser.me(session)).status).toBe(200);
    expect(parts.reports).toMatchObject([
      { route: "session", error: { code: "store_unavailable" } },
    ]);
  });

  test("that is ended while a request writes its use stays ended", async () => {
    let meanwhile: () => unknown = () => {};
    const wrapStore = interrupted((operation, key, _, options) => {
      if (operation === "set" && key.includes(":session:") && options?.ifVersion !== null)
        return meanwhile();
      return undefined;
    });
    const parts = rig({ wrapStore });
    const { session } = await parts.launch();
    parts.clock.advance(2 * minute);
    meanwhile = () => {
      meanwhile = () => {};
      return parts.browser.logOut(session);
    };
    await parts.browser.me(session);
    expect(await refusalOf(parts.browser.me(session))).toBe("401 session_unknown");
  });

  test.each([
    { name: "is not configured any more", settings: async () => undefined, me: 401 },
    { name: "cannot be read", settings: () => Promise.reject(new Error("vault")), me: 500 },
  ])("whose credential $name is answered $me, and can be logged out", async ({ settings, me }) => {
    const parts = rig();
    const { session } = await parts.loggedIn();
    const deployments = [{ ...launching(), login: apiClient(settings) }];
    const other = parts.elsewhere({ deployments });
    expect((await other.me(session)).status).toBe(me);
    expect((await other.logOut(session)).status).toBe(204);
    expect(await refusalOf(parts.browser.me(session))).toBe("401 session_unknown");
  });
});

describe.each(["fails", "does not answer"])("while the store %s", (fault) => {
  function breakable(options: RigOptions = {}) {
    let isDown = false;
    let attempts = 0;
    const clock = steppedClock();
    const wrapStore = interrupted(() => {
      attempts++;
      if (isDown && fault === "fails") throw new Error("canary: redis://user:secret@host");
      return isDown ? new Promise(() => setImmediate(() => clock.expire())) : undefined;
    });
    const emulator = { now: clock.now };
    const parts = rig({ ...options, wrapStore, timeoutMs: 50, clock, emulator });
    /**
     * Checks that each request takes one attempt, which lasts up to `timeoutMs`, and keeps all
     * cookies.
     */
    const whileDown = async (...sends: (() => Promise<Response>)[]) => {
      const cookies = [...parts.browser.cookies];
      for (const send of sends) {
        [isDown, attempts] = [true, 0];
        const answer = await send();
        isDown = false;
        const seen = [await refusalOf(answer), attempts];
        expect(seen, String(send)).toEqual(["503 store_unavailable", 1]);
        expect(await answer.text()).not.toContain("canary");
        expect([...parts.browser.cookies]).toEqual(cookies);
      }
    };
    return { ...parts, whileDown };
  }

  test("every route, connect and session answer 503, and the session continues afterwards", async () => {
    const { whileDown, backend, browser, launch, launchBody } = breakable({
      session: { cookie: true },
    });
    const own = { "x-bivariant-csrf": (await launch()).csrf ?? "" };
    const request = browser.request("GET", "/x", { headers: own });
    const failed = (error: unknown) => backend.answer(error);
    const body = launchBody();
    await whileDown(
      () => browser.get("/auth/me", own),
      () => browser.post("/auth/session", { hostOrigin: HOST }),
      () => browser.post("/auth/logout", {}, own),
      () => browser.post("/auth/logout", { everywhere: true }, own),
      () => browser.get("/auth/login"),
      () => browser.post("/auth/launch", body),
      () => backend.connect(request).then(() => new Response(), failed),
      () => backend.session(request).then(() => new Response(), failed),
    );
    expect((await browser.get("/auth/me", own)).status).toBe(200);
    // The code of the launch was not spent.
    expect((await browser.post("/auth/launch", body)).status).toBe(200);
  });

  test("a login keeps its cookie and its code, and completes afterwards", async () => {
    const { whileDown, elsewhere, browser, emulator } = breakable();
    const begun = await browser.get("/auth/login?return_to=/page");
    const login = { url: begun.headers.get("location") ?? "", userId: "ada" };
    const { callbackUrl } = emulator.login(login);
    const other = elsewhere({}, browser.cookies);
    await whileDown(
      () => other.get(callbackUrl),
      async () => {
        const { hash } = new URL((await browser.get(callbackUrl)).headers.get("location") ?? "");
        return Response.json({ error: hash.replace("#login_error=", "") }, { status: 503 });
      },
    );
    expect((await browser.get(callbackUrl)).headers.get("location")).toBe(`${OWN}/page`);
    await whileDown(() => browser.post("/auth/session"));
    expect((await browser.post("/auth/session")).status).toBe(200);
  });
});

describe("a logout", () => {
  test.each(["A", "B"])(
    "ends the session and forgets the tokens of Variant %s",
    async (variant) => {
      const store = watched();
      const parts = rig({ wrapStore: store.wrapStore });
      const { session } = variant === "A" ? await parts.launch() : await parts.loggedIn();
      const [key = ""] = store.held("grant");
      expect(JSON.parse(store.entries.get(key) ?? "").token.value).toEqual(expect.any(String));
      const answer = await parts.browser.logOut(session);
      expect([answer.status, await answer.text()]).toEqual([204, ""]);
      expect([...store.held("grant"), ...store.held(":session:")]).toEqual([]);
      for (const browser of [parts.browser, parts.elsewhere()])
        expect(await refusalOf(browser.logOut(session))).toBe("401 session_unknown");
    },
  );

  test.each([
    { name: "forget the tokens", fails: "delete", kind: "", body: {} },
    { name: "end all sessions", fails: "set", kind: ":person:", body: { everywhere: true } },
  ])("that cannot $name is answered 503, and can be repeated", async ({ fails, kind, body }) => {
    let isDown = false;
    const wrapStore = interrupted((operation, key) => {
      if (isDown && operation === fails && key.includes(kind)) throw new Error("down");
    });
    const parts = rig({ wrapStore });
    const { session } = await parts.launch();
    isDown = true;
    expect((await parts.browser.logOut(session, body)).status).toBe(503);
    isDown = false;
    const request = parts.browser.request("GET", "/x", { headers: bearer(session) });
    const called = (await parts.backend.connect(request)).call("listDevices");
    if (fails === "set") expect((await called).status).toBe(200);
    else expect(await rejectionOf(called)).toMatchObject({ code: "launch_expired" });
    expect((await parts.browser.logOut(session, body)).status).toBe(204);
  });
});

describe("a logout everywhere", () => {
  const everywhere = { everywhere: true };
  const isOpen = async (browser: TestBrowser, { session }: SessionAnswer) => {
    const answer = await browser.me(session);
    if (answer.status !== 200) expect(await refusalOf(answer)).toBe("401 session_unknown");
    return answer.status === 200;
  };

  test("ends the sessions of this person on all replicas, but not of others, nor later ones", async () => {
    const { browser, elsewhere, launch, launchBody, loggedIn } = rig();
    const another = elsewhere();
    const [first, second, third] = [await launch(), await launch(another), await launch()];
    const grace = await (await another.post("/auth/launch", launchBody("grace"))).json();
    const login = await loggedIn();
    const answer = await browser.logOut(first.session, everywhere);
    expect([answer.status, await answer.text()]).toEqual([204, ""]);
    const later = await launch(another);
    for (const at of [browser, another]) {
      for (const over of [first, second, third]) expect(await isOpen(at, over)).toBe(false);
      for (const open of [grace, login, later]) expect(await isOpen(at, open)).toBe(true);
    }
    await browser.logOut(later.session, everywhere);
    expect(await isOpen(another, later)).toBe(false);
  });

  test("forgets the tokens of this session, and those of another when its browser comes back late", async () => {
    const { wrapStore, held } = watched();
    const session = { lifetimeMs: 180 * minute, idleMs: 180 * minute };
    const parts = rig({ wrapStore, session, emulator: longTokens });
    const [first, second] = [await parts.launch(), await parts.launch()];
    await parts.browser.logOut(first.session, everywhere);
    expect([held('["grant"'), held(":session:")]).toMatchObject([{ length: 1 }, { length: 1 }]);
    parts.clock.advance(180 * minute - 1);
    expect(await isOpen(parts.browser, second)).toBe(false);
    expect([...held('["grant"'), ...held(":session:")]).toEqual([]);
  });

  test.each([
    { when: "before the backend reads the person's record", hook: "get :person:", open: true },
    { when: "after that", hook: "set :session:", open: false },
  ])("while a session is opened, $when, leaves it open: $open", async ({ hook, open }) => {
    let meanwhile: () => unknown = () => {};
    const wrapStore = interrupted((operation, key) => {
      if (hook !== `${operation} ${/:(?:person|session):/.exec(key)}`) return undefined;
      const run = meanwhile;
      meanwhile = () => {};
      return run();
    });
    const { browser, launch } = rig({ wrapStore });
    const before = await launch();
    meanwhile = () => browser.logOut(before.session, everywhere);
    const during = await launch();
    expect([await isOpen(browser, before), await isOpen(browser, during)]).toEqual([false, open]);
  });

  test("of an unknown person, or asked for by anything but true, is refused, and the session continues", async () => {
    const { browser, loggedIn } = rig();
    const login = await loggedIn();
    expect(await refusalOf(browser.logOut(login.session, everywhere))).toBe("409 person_unknown");
    for (const value of ["true", 1, null])
      expect((await browser.logOut(login.session, { everywhere: value })).status).toBe(400);
    expect(await isOpen(browser, login)).toBe(true);
  });
});

test("everything that the backend stores expires, as the settings say", async () => {
  const [lifetimeMs, day] = [180 * minute, 1_440 * minute];
  const longestMs: Record<string, number> = {
    session: lifetimeMs + day,
    person: lifetimeMs + day,
    grant: lifetimeMs + 60 * minute,
    login: 20 * minute,
    code: 11 * minute,
    "login-key": 90 * day,
  };
  const writes: { kind: string; leftMs: number }[] = [];
  const wrapStore = interrupted((operation, key, _value, { expiresAt = Number.NaN } = {}) => {
    const kind = key.startsWith("[") ? JSON.parse(key)[0] : key.split(":")[2];
    if (operation === "set") writes.push({ kind, leftMs: expiresAt - parts.clock.now() });
  });
  const session = { lifetimeMs, idleMs: lifetimeMs };
  const parts = rig({ wrapStore, session, emulator: longTokens });
  const [launched, loggedIn] = [await parts.launch(), await parts.loggedIn()];
  parts.clock.advance(61 * minute);
  for (const { session } of [launched, loggedIn]) {
    const request = parts.browser.request("GET", "/x", { headers: bearer(session) });
    expect((await (await parts.backend.connect(request)).call("listDevices")).ok).toBe(true);
  }
  await parts.browser.logOut(launched.session, { everywhere: true });
  await parts.browser.logOut(loggedIn.session);
  expect(new Set(writes.map(({ kind }) => kind))).toEqual(new Set(Object.keys(longestMs)));
  const isDue = ({ kind, leftMs }: (typeof writes)[0]) =>
    leftMs > 0 && leftMs <= (longestMs[kind] ?? 0);
  expect(writes.filter((write) => !isDue(write))).toEqual([]);
});

describe("a session in a cookie", () => {
  const cookie = { session: { cookie: true } };
  const name = "__Host-bivariant-session";
  const withCsrf = ({ csrf = "" }: Partial<SessionAnswer>) => ({ "x-bivariant-csrf": csrf });

  test.each([
    { variant: "A", code: "session_unknown", page: { hostOrigin: HOST } },
    { variant: "B", code: "login_required", page: {} },
  ])(
    "whose tokens of Variant $variant cannot be read asks for new ones, and can be logged out",
    async ({ variant, code, page }) => {
      const store = watched();
      const parts = rig({ ...cookie, wrapStore: store.wrapStore });
      const answer = variant === "A" ? await parts.launch() : await parts.loggedIn();
      const [key = ""] = store.held('["grant"');
      await parts.store.set(key, "torn");
      const restarted = parts.elsewhere({}, parts.browser.cookies);
      expect(await refusalOf(restarted.me())).toBe(`401 ${code}`);
      expect((await restarted.post("/auth/session", page)).status).toBe(204);
      expect(parts.reports[0]).toMatchObject({ error: { code: "store_corrupt" } });
      expect((await restarted.post("/auth/logout", {}, withCsrf(answer))).status).toBe(204);
      expect(restarted.setCookies.at(-1)).toContain("Max-Age=0");
      expect(store.held('["grant"')).toEqual([]);
    },
  );

  test("cannot be read by the page, which receives a CSRF token instead", async () => {
    const { browser, launch, clock } = rig(cookie);
    const answer = await launch();
    const members = ["csrf", "expiresAt", "operator", "tenantId", "variant"];
    expect(Object.keys(answer).sort()).toEqual(members);
    const attributes = "Max-Age=28800; Path=/; HttpOnly; SameSite=None; Secure; Partitioned";
    expect(browser.setCookies.map((line) => line.replace(/=[\w-]{43};/, "=;"))).toEqual([
      `${name}=; ${attributes}`,
    ]);
    expect(answer.csrf).not.toBe(browser.cookies.get(name));
    expect((await browser.me()).status).toBe(200);
    // This is what the page does after a reload.
    const again = await browser.post("/auth/session", { hostOrigin: HOST });
    expect([again.status, await again.json()]).toEqual([200, answer]);
    expect(answer.expiresAt).toBe(clock.now() + 3_600_000);
  });

  test("of one backend is not replaced by that of another at another path of its origin", async () => {
    const parts = rig({ ...cookie, path: "/planner/auth" });
    const reports = parts.another({ path: "/reports/auth" });
    const browser = new TestBrowser((request) => {
      const { pathname } = new URL(request.url);
      return pathname.startsWith("/planner/") ? parts.backend(request) : reports(request);
    }, OWN);
    const opened = await browser.post("/planner/auth/launch", parts.launchBody());
    const own = withCsrf((await opened.json()) as SessionAnswer);
    expect((await browser.post("/reports/auth/launch", parts.launchBody())).status).toBe(200);
    expect((await browser.get("/planner/auth/me", own)).status).toBe(200);
  });

  test("changes nothing without the CSRF token of this session, and is removed at logout", async () => {
    const { browser, launch, backend } = rig(cookie);
    const { csrf = "" } = await launch();
    const { csrf: another = "" } = await launch(new TestBrowser(backend, OWN));
    const session = browser.cookies.get(name) ?? "";
    for (const given of ["", another, session, `${csrf}x`, csrf.slice(0, -1)]) {
      const headers = { origin: OWN, ...(given && withCsrf({ csrf: given })) };
      const answer = browser.post("/auth/logout", {}, headers);
      expect(await refusalOf(answer), given).toBe("403 csrf_refused");
      for (const method of ["POST", "PUT", "DELETE", "PATCH"]) {
        const request = browser.request(method, "/devices", { headers });
        expect(await rejectionOf(backend.connect(request))).toMatchObject({ code: "csrf_refused" });
      }
    }
    const headers = { ...withCsrf({ csrf }), origin: OWN };
    const request = browser.request("POST", "/devices", { headers });
    expect((await backend.connect(request)).variant).toBe("A");
    expect((await browser.post("/auth/logout", {}, headers)).status).toBe(204);
    expect(browser.setCookies.at(-1)).toBe(
      `${name}=; Max-Age=0; Path=/; HttpOnly; SameSite=None; Secure; Partitioned`,
    );
    expect((await browser.post("/auth/session")).status).toBe(204);
  });

  test("that another tab replaced is over, and is not shown to the first tab", async () => {
    const { browser, launch, backend } = rig(cookie);
    const first = await launch();
    const old = new TestBrowser(backend, OWN, browser.cookies);
    const second = await launch();
    for (const method of ["GET", "HEAD"]) {
      const of = (answer: SessionAnswer) =>
        browser.request(method, "/auth/me", { headers: withCsrf(answer) });
      const unknown = { code: "session_unknown" };
      expect(await rejectionOf(backend.session(of(first)))).toMatchObject(unknown);
      expect(await rejectionOf(backend.connect(of(first)))).toMatchObject(unknown);
      expect(await backend.session(of(second))).toMatchObject({ tenantId: "acme" });
    }
    // A 401 with this code ends the session of that page, which then asks for a launch or a login.
    for (const replaced of [first, { csrf: "" }])
      expect(await refusalOf(browser.get("/auth/me", withCsrf(replaced)))).toBe(
        "401 session_unknown",
      );
    expect((await browser.get("/auth/me", withCsrf(second))).status).toBe(200);
    expect(await refusalOf(old.me())).toBe("401 session_unknown");
    expect((await old.post("/auth/session", { hostOrigin: HOST })).status).toBe(204);
  });

  test("is refused when a page of another site sends it", async () => {
    const { browser, launch, backend } = rig(cookie);
    const csrf = withCsrf(await launch());
    for (const origin of ["https://evil.example", "null", HOST, undefined])
      for (const method of origin === undefined ? ["POST"] : ["GET", "POST"]) {
        const headers = { ...csrf, ...(origin && { origin }) };
        const asked = backend.session(browser.request(method, "/x", { headers }));
        const answer = backend.answer(await rejectionOf(asked));
        expect(await refusalOf(answer)).toBe("403 origin_refused");
      }
  });

  test("is not read from a bearer header, nor from two cookies of its name, nor from another name", async () => {
    const { browser, launch, backend } = rig(cookie);
    await launch();
    const value = browser.cookies.get(name) ?? "";
    const stranger = new TestBrowser(backend, OWN);
    expect(await refusalOf(stranger.me(value))).toBe("401 session_missing");
    for (const header of [
      `${name}=${"x".repeat(43)}; ${name}=${value}`,
      `bivariant-session=${value}`,
      `${name.toLowerCase()}=${value}`,
      // Browsers allow these bytes in a name, and other languages treat them as white space.
      `a=b; \u00a0${name}=${value}`,
      `${name}\u0085=${value}`,
      name,
      `${name}=`,
    ]) {
      const answer = stranger.get("/auth/me", { cookie: header });
      expect(await refusalOf(answer), header).toBe("401 session_missing");
    }
    const among = { cookie: `a=b;${name}=${value};c=d` };
    expect((await stranger.get("/auth/me", among)).status).toBe(200);
  });

  test("of another tenant is refused for a page that names its tenant", async () => {
    const { browser, launch } = rig(cookie);
    await launch();
    const of = (tenant: string) => browser.post("/auth/session", { tenant, hostOrigin: HOST });
    expect((await of("umbrella")).status).toBe(204);
    expect((await of("acme")).status).toBe(200);
  });
});
