// The sessions of browsers, as bearer tokens or in cookies, until their lifetime or idle time ends.
import { describe, expect, test } from "vitest";
import type { Backend, BackendEvent } from "../../src/backend/index.js";
import { apiClient, memoryStore, type TokenStore } from "../../src/index.js";
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
  type Rig,
  type RigOptions,
  rig,
  type SessionAnswer,
} from "./rig.js";
import { errorOf, refusalOf, TestBrowser } from "./test-browser.js";

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
  const row = (name: string, headers: object, code: string) => ({ name, headers, code });
  test.each([
    row("missing", {}, "session_missing"),
    row("of another scheme", { authorization: "Basic eDp5" }, "session_missing"),
    row("an empty one", { authorization: "Bearer " }, "session_missing"),
    row("unknown", bearer("x".repeat(43)), "session_unknown"),
    row("of another length", bearer("x"), "session_unknown"),
    row("of 100 kB", bearer("x".repeat(100_000)), "session_unknown"),
    row("twice in one header", bearer(`${"x".repeat(43)}, Bearer y`), "session_unknown"),
    row("in a cookie", { cookie: "__Host-bivariant-session=" }, "session_missing"),
  ])(
    "$name is refused with 401 $code by every route, by connect and by session",
    async ({ headers, code }) => {
      const { backend, browser, launch } = rig();
      const { session } = await launch();
      const sent: Record<string, string> = { ...headers };
      if (sent.cookie !== undefined) sent.cookie += session;
      const answers = [
        await browser.get("/auth/me", sent),
        await browser.post("/auth/logout", {}, sent),
      ];
      for (const answer of answers) {
        expect(await refusalOf(answer)).toBe(`401 ${code}`);
        expect(answer.headers.get("www-authenticate")).toBe("Bearer");
      }
      for (const method of ["connect", "session"] as const) {
        const error = await rejectionOf(
          backend[method](browser.request("GET", "/x", { headers: sent })),
        );
        expect(error).toMatchObject({ name: "SessionError", code });
        expect(await refusalOf(backend.answer(error))).toBe(`401 ${code}`);
      }
    },
  );

  test("is accepted whatever the case of its scheme", async () => {
    const { browser, launch } = rig();
    const { session } = await launch();
    expect((await browser.get("/auth/me", { authorization: `bearer ${session}` })).status).toBe(
      200,
    );
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

  test("of another plugin in the same store is refused, for either variant", async () => {
    const parts = rig();
    const { session: launched } = await parts.launch();
    const { session: loggedInHere } = await parts.loggedIn();
    parts.emulator.registerApiClient({
      clientId: "other-portal",
      redirectUris: [`${OWN}/auth/callback`],
    });
    const login = loginCredential({ clientId: "other-portal" });
    const deployments = [{ ...launching(), launch: launchCredential("other-plugin"), login }];
    const other = new TestBrowser(parts.another({ deployments }), OWN);
    expect(await refusalOf(other.get("/auth/me", bearer(launched)))).toBe("401 session_unknown");
    expect((await other.get("/auth/me", bearer(loggedInHere))).status).toBe(401);
    for (const session of [launched, loggedInHere])
      expect((await parts.browser.get("/auth/me", bearer(session))).status).toBe(200);
  });

  test("of a deployment that moved or is not configured any more is refused", async () => {
    const parts = rig();
    const { session } = await parts.launch();
    for (const change of [
      { baseUrl: "https://moved.example" },
      { tenantId: "umbrella" },
      { hostOrigin: "https://other.example" },
    ]) {
      const other = new TestBrowser(
        parts.another({ deployments: [{ ...launching(), ...change }] }),
        OWN,
      );
      expect(await refusalOf(other.get("/auth/me", bearer(session)))).toBe("401 session_unknown");
    }
  });

  test.each([
    {
      when: "the backend has no store, as with replicas that share nothing",
      shared: undefined,
      times: 1,
    },
    { when: "never if the backend has a store", shared: memoryStore(), times: 0 },
  ])("of the right form that is unknown is one event: $when", async ({ shared: store, times }) => {
    const events: BackendEvent[] = [];
    const parts = rig({ onEvent: (event) => void events.push(event) });
    const unknown = () => events.filter(({ type }) => type === "session_unknown");
    const { session } = await parts.launch();
    const replica = new TestBrowser(parts.another({ store }), OWN);
    for (const malformed of ["", "x", "y".repeat(44), "Ω".repeat(43)])
      await replica.get("/auth/me", { authorization: `Bearer ${encodeURI(malformed)}` });
    expect(unknown()).toEqual([]);
    for (let requests = 0; requests < 3; requests++)
      expect(await refusalOf(replica.get("/auth/me", bearer(session)))).toBe("401 session_unknown");
    expect(unknown()).toEqual(
      Array(times).fill({ type: "session_unknown", at: parts.clock.now() }),
    );
  });

  test("of a damaged entry is refused", async () => {
    for (const torn of ["", "{", "null", '{"person":1}']) {
      const { wrapStore, held } = watched();
      const { launch, browser, store } = rig({ wrapStore });
      const { session } = await launch();
      const [key = ""] = held(":session:");
      await store.set(key, torn);
      expect(await errorOf(await browser.get("/auth/me", bearer(session)))).toBe("session_unknown");
    }
  });
});

test("a session of a store with another encryption key is unknown, which is reported", async () => {
  let inner = memoryStore();
  const wrapStore = (made: TokenStore) => {
    inner = made;
    return encryptedStore(made, new Uint8Array(32));
  };
  const parts = rig({ wrapStore });
  const { session } = await parts.launch();
  expect((await parts.browser.get("/auth/me", bearer(session))).status).toBe(200);
  const other = parts.another({ store: encryptedStore(inner, new Uint8Array(32).fill(1)) });
  const answer = new TestBrowser(other, OWN).get("/auth/me", bearer(session));
  expect(await refusalOf(answer)).toBe("401 session_unknown");
  expect(parts.told).toMatchObject([{ code: "none", error: { code: "store_corrupt" } }]);
});

describe("a session", () => {
  test("ends after its lifetime, however much it is used", async () => {
    const parts = rig({ session: { lifetimeMs: 30 * minute, idleMs: 10 * minute } });
    const { session, expiresAt } = await parts.launch();
    expect(expiresAt).toBe(parts.clock.now() + 30 * minute);
    for (let minutes = 1; minutes < 30; minutes++) {
      parts.clock.advance(minute);
      expect((await parts.browser.get("/auth/me", bearer(session))).status).toBe(200);
    }
    parts.clock.advance(minute);
    for (let again = 0; again < 2; again++) {
      expect(await refusalOf(parts.browser.get("/auth/me", bearer(session)))).toBe(
        "401 session_expired",
      );
    }
  });

  test("that is not used ends after its idle time, and its tokens are forgotten when it is presented", async () => {
    const store = watched();
    const parts = rig({ wrapStore: store.wrapStore });
    const { session } = await parts.loggedIn();
    parts.clock.advance(60 * minute - 1);
    expect((await parts.browser.get("/auth/me", bearer(session))).status).toBe(200);
    parts.clock.advance(60 * minute);
    expect(store.held("grant")).toHaveLength(1);
    expect(await errorOf(await parts.browser.get("/auth/me", bearer(session)))).toBe(
      "session_expired",
    );
    expect(store.held("grant")).toEqual([]);
  });

  test("with a short idle time continues while it is used", async () => {
    const parts = rig({ session: { idleMs: 10_000 } });
    const { session } = await parts.launch();
    for (let requests = 0; requests < 5; requests++) {
      parts.clock.advance(5_000);
      expect((await parts.browser.get("/auth/me", bearer(session))).status).toBe(200);
    }
  });

  test("is written as used at most once a minute", async () => {
    const store = watched();
    const parts = rig({ wrapStore: store.wrapStore });
    const { session } = await parts.launch();
    const before = store.writes.length;
    for (let requests = 0; requests < 100; requests++) {
      parts.clock.advance(1_000);
      await parts.browser.get("/auth/me", bearer(session));
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
    expect((await parts.browser.get("/auth/me", bearer(session))).status).toBe(200);
    expect(parts.told).toMatchObject([{ route: "session", error: { code: "store_unavailable" } }]);
  });

  test("that is ended while a request writes its use stays ended", async () => {
    let meanwhile = async () => {};
    const wrapStore = interrupted((operation, key, _, options) => {
      if (operation === "set" && key.includes(":session:") && options?.ifVersion !== null)
        return meanwhile();
      return undefined;
    });
    const parts = rig({ wrapStore });
    const { session } = await parts.launch();
    parts.clock.advance(2 * minute);
    meanwhile = async () => {
      meanwhile = async () => {};
      await parts.browser.post("/auth/logout", {}, bearer(session));
    };
    await parts.browser.get("/auth/me", bearer(session));
    expect(await errorOf(await parts.browser.get("/auth/me", bearer(session)))).toBe(
      "session_unknown",
    );
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
    const parts = { ...rig({ ...options, wrapStore, timeoutMs: 50, clock, emulator }), clock };
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
        expect([await refusalOf(answer), attempts], String(send)).toEqual([
          "503 store_unavailable",
          1,
        ]);
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
    const { whileDown, another, browser, emulator } = breakable();
    const begun = await browser.get("/auth/login?return_to=/page");
    const { callbackUrl } = emulator.login({
      url: begun.headers.get("location") ?? "",
      userId: "ada",
    });
    const elsewhere = new TestBrowser(another(), OWN);
    for (const [name, value] of browser.cookies) elsewhere.cookies.set(name, value);
    await whileDown(
      () => elsewhere.get(callbackUrl),
      async () => {
        const { hash } = new URL((await browser.get(callbackUrl)).headers.get("location") ?? "");
        return Response.json({ error: hash.replace("#login_error=", "") }, { status: 503 });
      },
    );
    expect((await browser.get(callbackUrl)).headers.get("location")).toBe(`${OWN}/page`);
    await whileDown(() => browser.post("/auth/session"));
    expect((await browser.post("/auth/session")).status).toBe(200);
  });

  test("a call whose token must be renewed is answered 503, and works afterwards", async () => {
    const { whileDown, backend, browser, loggedIn, clock } = breakable({
      session: { idleMs: 120 * minute },
    });
    const { session } = await loggedIn();
    const request = browser.request("GET", "/x", { headers: bearer(session) });
    const service = await backend.connect(request);
    clock.advance(61 * minute);
    await whileDown(async () => backend.answer(await rejectionOf(service.call("listDevices"))));
    expect((await (await backend.connect(request)).call("listDevices")).ok).toBe(true);
  });
});

describe("a logout", () => {
  test.each(["A", "B"])(
    "ends the session and forgets the tokens of Variant %s",
    async (variant) => {
      const store = watched();
      const parts = rig({ wrapStore: store.wrapStore });
      const { session } = variant === "A" ? await parts.launch() : await parts.loggedIn();
      const grant = [...store.entries].find(([key]) => key.includes("grant"))?.[1] ?? "{}";
      expect(JSON.parse(grant).token.value).toEqual(expect.any(String));
      const answer = await parts.browser.post("/auth/logout", {}, bearer(session));
      expect([answer.status, await answer.text()]).toEqual([204, ""]);
      expect([...store.held("grant"), ...store.held(":session:")]).toEqual([]);
      for (const backend of [parts.backend, parts.another()]) {
        const refusal = await refusalOf(
          new TestBrowser(backend, OWN).post("/auth/logout", {}, bearer(session)),
        );
        expect(refusal).toBe("401 session_unknown");
      }
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
    expect((await parts.browser.post("/auth/logout", body, bearer(session))).status).toBe(503);
    isDown = false;
    const request = parts.browser.request("GET", "/x", { headers: bearer(session) });
    const called = (await parts.backend.connect(request)).call("listDevices");
    if (fails === "set") expect((await called).status).toBe(200);
    else expect(await rejectionOf(called)).toMatchObject({ code: "launch_expired" });
    expect((await parts.browser.post("/auth/logout", body, bearer(session))).status).toBe(204);
  });
});

describe("a session whose credential", () => {
  test.each([
    { name: "is not configured any more", settings: async () => undefined, me: 401 },
    { name: "cannot be had", settings: () => Promise.reject(new Error("vault")), me: 500 },
  ])("$name is answered $me, and can be logged out", async ({ settings, me }) => {
    const parts = rig();
    const { session } = await parts.loggedIn();
    const deployments = [{ ...launching(), login: apiClient(settings) }];
    const browser = new TestBrowser(parts.another({ deployments }), OWN);
    expect((await browser.get("/auth/me", bearer(session))).status).toBe(me);
    expect((await browser.post("/auth/logout", {}, bearer(session))).status).toBe(204);
    const again = parts.browser.get("/auth/me", bearer(session));
    expect(await refusalOf(again)).toBe("401 session_unknown");
  });
});

describe("a logout everywhere", () => {
  const everywhere = { everywhere: true };
  const isOpen = async (backend: Backend, { session }: SessionAnswer) => {
    const answer = await new TestBrowser(backend, OWN).get("/auth/me", bearer(session));
    if (answer.status !== 200) expect(await refusalOf(answer)).toBe("401 session_unknown");
    return answer.status === 200;
  };
  const logOut = ({ backend }: Rig, { session }: SessionAnswer) =>
    new TestBrowser(backend, OWN).post("/auth/logout", everywhere, bearer(session));

  test("ends the sessions of this person on all replicas, but not of others, nor later ones", async () => {
    const parts = rig();
    const replica = parts.another();
    const another = new TestBrowser(replica, OWN);
    const [first, second, third] = [
      await parts.launch(),
      await parts.launch(another),
      await parts.launch(),
    ];
    const grace = await (await another.post("/auth/launch", parts.launchBody("grace"))).json();
    const login = await parts.loggedIn();
    const answer = await logOut(parts, first);
    expect([answer.status, await answer.text()]).toEqual([204, ""]);
    const later = await parts.launch(another);
    for (const backend of [parts.backend, replica]) {
      for (const over of [first, second, third]) expect(await isOpen(backend, over)).toBe(false);
      for (const open of [grace, login, later]) expect(await isOpen(backend, open)).toBe(true);
    }
    await logOut(parts, later);
    expect(await isOpen(replica, later)).toBe(false);
  });

  test("forgets the tokens of this session, and those of another when its browser comes back late", async () => {
    const { wrapStore, held } = watched();
    const session = { lifetimeMs: 180 * minute, idleMs: 180 * minute };
    const parts = rig({ wrapStore, session, emulator: longTokens });
    const [first, second] = [await parts.launch(), await parts.launch()];
    await logOut(parts, first);
    expect([held('["grant"'), held(":session:")]).toMatchObject([{ length: 1 }, { length: 1 }]);
    parts.clock.advance(180 * minute - 1);
    expect(await isOpen(parts.backend, second)).toBe(false);
    expect([...held('["grant"'), ...held(":session:")]).toEqual([]);
  });

  test.each([
    { when: "before the backend reads the person's record", hook: "get :person:", open: true },
    { when: "after that", hook: "set :session:", open: false },
  ])("while a session is opened, $when, leaves it open: $open", async ({ hook, open }) => {
    let meanwhile: () => Promise<unknown> = async () => undefined;
    const wrapStore = interrupted((operation, key) => {
      if (hook !== `${operation} ${/:(?:person|session):/.exec(key)}`) return undefined;
      const run = meanwhile;
      meanwhile = async () => {};
      return run();
    });
    const parts = rig({ wrapStore });
    const before = await parts.launch();
    meanwhile = () => logOut(parts, before);
    const during = await parts.launch();
    expect([await isOpen(parts.backend, before), await isOpen(parts.backend, during)]).toEqual([
      false,
      open,
    ]);
  });

  test("without a known person is refused with 409 person_unknown, and the session continues", async () => {
    const parts = rig();
    const login = await parts.loggedIn();
    expect(await refusalOf(logOut(parts, login))).toBe("409 person_unknown");
    expect(await isOpen(parts.backend, login)).toBe(true);
  });

  test("in a cookie removes the cookie, and is asked for only by the value true", async () => {
    const { browser, launch } = rig({ session: { cookie: true } });
    const own = { "x-bivariant-csrf": (await launch()).csrf ?? "" };
    for (const value of ["true", 1, null])
      expect((await browser.post("/auth/logout", { everywhere: value }, own)).status).toBe(400);
    expect((await browser.post("/auth/logout", everywhere, own)).status).toBe(204);
    expect(browser.setCookies.at(-1)).toContain("__Host-bivariant-session=; Max-Age=0");
  });
});

test("everything that the backend stores expires, as the settings say", async () => {
  const [lifetimeMs, day] = [180 * minute, 1_440 * minute];
  const longestMs: Record<string, number> = {
    ...{ session: lifetimeMs + day, person: lifetimeMs + day, grant: lifetimeMs + 60 * minute },
    ...{ login: 20 * minute, code: 11 * minute, "login-key": 90 * day },
  };
  const writes: { kind: string; leftMs: number }[] = [];
  const wrapStore = interrupted((operation, key, _value, { expiresAt = Number.NaN } = {}) => {
    const kind = key.startsWith("[") ? JSON.parse(key)[0] : key.split(":")[2];
    if (operation === "set") writes.push({ kind, leftMs: expiresAt - parts.clock.now() });
  });
  const parts = rig({
    wrapStore,
    session: { lifetimeMs, idleMs: lifetimeMs },
    emulator: longTokens,
  });
  const [launched, loggedIn] = [await parts.launch(), await parts.loggedIn()];
  parts.clock.advance(61 * minute);
  for (const { session } of [launched, loggedIn]) {
    const request = parts.browser.request("GET", "/x", { headers: bearer(session) });
    expect((await (await parts.backend.connect(request)).call("listDevices")).ok).toBe(true);
  }
  await parts.browser.post("/auth/logout", { everywhere: true }, bearer(launched.session));
  await parts.browser.post("/auth/logout", {}, bearer(loggedIn.session));
  expect(new Set(writes.map(({ kind }) => kind))).toEqual(new Set(Object.keys(longestMs)));
  expect(
    writes.filter(({ kind, leftMs }) => !(leftMs > 0 && leftMs <= (longestMs[kind] ?? 0))),
  ).toEqual([]);
});

describe("a session in a cookie", () => {
  const cookie = { session: { cookie: true } };

  test.each([
    { variant: "A", code: "session_unknown" },
    { variant: "B", code: "login_required" },
  ])(
    "whose tokens of Variant $variant cannot be read asks for new ones, and can be logged out",
    async ({ variant, code }) => {
      const store = watched();
      const parts = rig({ ...cookie, wrapStore: store.wrapStore });
      const { csrf = "" } = variant === "A" ? await parts.launch() : await parts.loggedIn();
      const [key = ""] = store.held('["grant"');
      await parts.store.set(key, "torn");
      const restarted = new TestBrowser(parts.another(), OWN);
      for (const [name, value] of parts.browser.cookies) restarted.cookies.set(name, value);
      const page = variant === "A" ? { hostOrigin: HOST } : {};
      expect(await refusalOf(restarted.get("/auth/me"))).toBe(`401 ${code}`);
      expect((await restarted.post("/auth/session", page)).status).toBe(204);
      expect(parts.told[0]).toMatchObject({ error: { code: "store_corrupt" } });
      const answer = await restarted.post("/auth/logout", {}, { "x-bivariant-csrf": csrf });
      expect(answer.status).toBe(204);
      expect(restarted.setCookies.at(-1)).toContain("Max-Age=0");
      expect(store.held('["grant"')).toEqual([]);
    },
  );

  test("cannot be read by the page, which receives a CSRF token instead", async () => {
    const { browser, launch, clock } = rig(cookie);
    const answer = await launch();
    expect(Object.keys(answer).sort()).toEqual([
      "csrf",
      "expiresAt",
      "operator",
      "tenantId",
      "variant",
    ]);
    expect(browser.setCookies).toEqual([
      expect.stringMatching(
        /^__Host-bivariant-session=[\w-]{43}; Max-Age=28800; Path=\/; HttpOnly; SameSite=None; Secure; Partitioned$/,
      ),
    ]);
    expect(answer.csrf).not.toBe(browser.cookies.get("__Host-bivariant-session"));
    expect((await browser.get("/auth/me")).status).toBe(200);
    // This is what the page does after a reload.
    const again = await browser.post("/auth/session", { hostOrigin: HOST });
    expect([again.status, await again.json()]).toEqual([200, answer]);
    expect(answer.expiresAt).toBe(clock.now() + 3_600_000);
  });

  test("changes nothing without the CSRF token of this session, and is removed at logout", async () => {
    const { browser, launch, backend } = rig(cookie);
    const { csrf } = await launch();
    const { csrf: another } = await launch(new TestBrowser(backend, OWN));
    const session = browser.cookies.get("__Host-bivariant-session") ?? "";
    const wrong = [undefined, "", another, session, `${csrf}x`, (csrf ?? "").slice(0, -1)];
    for (const given of wrong) {
      const headers: Record<string, string> =
        given === undefined ? {} : { "x-bivariant-csrf": given };
      expect(await refusalOf(browser.post("/auth/logout", {}, headers)), given).toBe(
        "403 csrf_refused",
      );
      for (const method of ["POST", "PUT", "DELETE", "PATCH"]) {
        const request = browser.request(method, "/devices", {
          headers: { origin: OWN, ...headers },
        });
        expect(await rejectionOf(backend.connect(request))).toMatchObject({ code: "csrf_refused" });
      }
    }
    const right = { "x-bivariant-csrf": csrf ?? "", origin: OWN };
    expect(
      (await backend.connect(browser.request("POST", "/devices", { headers: right }))).variant,
    ).toBe("A");
    expect((await browser.post("/auth/logout", {}, right)).status).toBe(204);
    expect(browser.setCookies.at(-1)).toBe(
      "__Host-bivariant-session=; Max-Age=0; Path=/; HttpOnly; SameSite=None; Secure; Partitioned",
    );
    expect((await browser.post("/auth/session")).status).toBe(204);
  });

  test("that another tab replaced is not shown to the first tab", async () => {
    const { browser, launch, backend } = rig(cookie);
    const [first, second] = [await launch(), await launch()];
    for (const method of ["GET", "HEAD"]) {
      const of = ({ csrf = "" }: SessionAnswer) =>
        browser.request(method, "/auth/me", { headers: { "x-bivariant-csrf": csrf } });
      expect(await rejectionOf(backend.session(of(first)))).toMatchObject({
        code: "session_unknown",
      });
      expect(await rejectionOf(backend.connect(of(first)))).toMatchObject({
        code: "session_unknown",
      });
      expect(await backend.session(of(second))).toMatchObject({ tenantId: "acme" });
    }
    const me = (csrf = "") => browser.get("/auth/me", { "x-bivariant-csrf": csrf });
    // A 401 with this code ends the session of that page, which then asks for a launch or a login.
    expect([
      (await me(first.csrf)).status,
      (await me()).status,
      (await me(second.csrf)).status,
    ]).toEqual([401, 401, 200]);
  });

  test("is refused when a page of another site sends it", async () => {
    const { browser, launch, backend } = rig(cookie);
    const { csrf } = await launch();
    for (const origin of ["https://evil.example", "null", HOST]) {
      for (const method of ["GET", "POST"]) {
        const headers = { origin, "x-bivariant-csrf": csrf ?? "" };
        const error = await rejectionOf(
          backend.session(browser.request(method, "/x", { headers })),
        );
        expect(error).toMatchObject({ name: "SessionError", code: "origin_refused" });
        expect(backend.answer(error).status).toBe(403);
      }
    }
    const without = browser.request("POST", "/x", { headers: { "x-bivariant-csrf": csrf ?? "" } });
    expect(await rejectionOf(backend.session(without))).toMatchObject({ code: "origin_refused" });
  });

  test("is not read from a bearer header, nor from two cookies of its name", async () => {
    const { browser, launch, backend } = rig(cookie);
    await launch();
    const value = browser.cookies.get("__Host-bivariant-session") ?? "";
    const name = "__Host-bivariant-session";
    const stranger = new TestBrowser(backend, OWN);
    const wrong: Record<string, string>[] = [
      bearer(value),
      { cookie: `${name}=${value}; ${name}=${value}` },
      { cookie: `${name}=${"x".repeat(43)}; ${name}=${value}` },
      { cookie: `bivariant-session=${value}` },
      { cookie: `${name.toLowerCase()}=${value}` },
      { cookie: `x${name}=${value}` },
      // Browsers allow these bytes in a name, and other languages treat them as white space.
      { cookie: `\u00a0${name}=${value}` },
      { cookie: `a=b; \u00a0${name}=${value}` },
      { cookie: `${name}\u00a0=${value}` },
      { cookie: `\u0085${name}=${value}` },
      { cookie: name },
      { cookie: `${name}=` },
      { cookie: "=;;; =" },
    ];
    for (const headers of wrong) {
      const answers = [
        stranger.get("/auth/me", headers),
        stranger.post("/auth/logout", {}, headers),
      ];
      for (const answer of answers)
        expect(await refusalOf(answer), JSON.stringify(headers)).toBe("401 session_missing");
    }
    expect((await stranger.get("/auth/me", { cookie: `a=b;${name}=${value};c=d` })).status).toBe(
      200,
    );
  });

  test("is replaced by the next launch, and the earlier session ends", async () => {
    const { browser, launch, backend } = rig(cookie);
    await launch();
    const before = browser.cookies.get("__Host-bivariant-session") ?? "";
    await launch();
    const stranger = new TestBrowser(backend, OWN);
    const headers = { cookie: `__Host-bivariant-session=${before}` };
    expect(await refusalOf(stranger.get("/auth/me", headers))).toBe("401 session_unknown");
    expect((await stranger.post("/auth/session", {}, headers)).status).toBe(204);
    expect((await browser.get("/auth/me")).status).toBe(200);
  });

  test("of another tenant is refused for a page that names its tenant", async () => {
    const { browser, launch } = rig(cookie);
    await launch();
    const of = (tenant: string) => browser.post("/auth/session", { tenant, hostOrigin: HOST });
    expect((await of("umbrella")).status).toBe(204);
    expect((await of("acme")).status).toBe(200);
  });
});
