// Variant B's refresh token: one request for all callers, stored before use, and never sent again
// after a lost response.
import { inspect } from "node:util";
import { describe, expect, test, vi } from "vitest";
import {
  apiClient,
  memoryStore,
  resumeAuth,
  StoreError,
  type StoreErrorCode,
  type TokenStore,
} from "../../src/index.js";
import { rejectionOf, settle } from "../support/wait.js";
import { client, type LoginServer, latch, loggedIn } from "./person.js";

const hourMs = 3_600_000;
const sentTokens = ({ refreshes }: LoginServer) => refreshes.map((body) => body.refresh_token);

/** A login whose token has expired. */
async function expiredLogin(given?: Parameters<typeof loggedIn>[0]): ReturnType<typeof loggedIn> {
  const login = await loggedIn(given);
  login.clock.advance(hourMs);
  return login;
}

describe("a refresh", () => {
  test("is sent again after a 429, although what other processes met cannot be read after it", async () => {
    const inner = memoryStore();
    let isDown = false;
    const get = async (key: string) => {
      const fails = isDown && key.startsWith('["endpoint"');
      if (fails) isDown = false;
      return fails ? Promise.reject(new Error("down")) : inner.get(key);
    };
    const { auth, server, clock } = await expiredLogin({ store: { ...inner, get } });
    clock.skipSleeps();
    server.before = () => {
      server.before = undefined;
      isDown = true;
      return new Response("", { status: 429 });
    };
    expect((await auth.getAccessToken()).value).toBe("access-token-2");
    expect([isDown, server.refreshes.length]).toEqual([false, 2]);
  });

  test("is not sent again because the client of the store repeats the write of the login later", async () => {
    const inner = memoryStore();
    const writes: Parameters<TokenStore["set"]>[] = [];
    const set: TokenStore["set"] = (...write) => {
      if (write[0].startsWith('["grant"')) writes.push(write);
      return inner.set(...write);
    };
    const { auth, clock, options, server } = await loggedIn({ store: { ...inner, set } });
    clock.advance(hourMs);
    await auth.getAccessToken();
    await inner.set(...(writes[0] ?? ["", ""])).catch(() => {});
    clock.advance(hourMs);
    await (await resumeAuth(options))?.getAccessToken();
    expect(sentTokens(server)).toEqual(["refresh-token-1", "refresh-token-2"]);
  });

  test("keeps the old refresh token if the response has no new one", async () => {
    const { auth, server, clock } = await loggedIn();
    server.rotates = false;
    for (const _round of [1, 2]) {
      clock.advance(hourMs);
      await auth.getAccessToken();
    }
    expect(sentTokens(server)).toEqual(["refresh-token-1", "refresh-token-1"]);
  });

  test("uses refreshPath, and sends the client secret if one is configured", async () => {
    const settings = { clientSecret: "s3cret-of-the-portal", refreshPath: "/v1/auth/refresh" };
    const { auth, server } = await expiredLogin({ settings });
    await auth.getAccessToken();
    expect(server.fetch.calls[1]?.url).toBe("https://service.example/v1/auth/refresh");
    const secret = { client_secret: settings.clientSecret };
    expect([server.codes[0], server.refreshes[0]]).toMatchObject([secret, secret]);
  });

  test("is retried after 429s until the deadline, which rejects with retryAt", async () => {
    const { auth, server, clock } = await expiredLogin();
    const waits = clock.skipSleeps();
    const headers = { "retry-after": "1" };
    server.before = () => Response.json({}, { status: 429, headers });
    const error = await rejectionOf(auth.getAccessToken());
    expect(error).toMatchObject({ code: "rate_limited", retryAt: expect.any(Number) });
    expect(server.refreshes).toHaveLength(waits.length + 1);
    expect(waits.length).toBeGreaterThan(50);
  });

  test("runs to its end, is passed to waitUntil and is stored when all 100 callers abort", async () => {
    const waitUntil = vi.fn();
    const { auth, server, options } = await expiredLogin({ options: { waitUntil } });
    const answer = latch();
    server.after = async () => void (await answer.promise);
    const controllers = Array.from({ length: 100 }, () => new AbortController());
    const waits = controllers.map(({ signal }) => rejectionOf(auth.getAccessToken({ signal })));
    await settle();
    expect(server.refreshes).toHaveLength(1);
    for (const controller of controllers) controller.abort(new Error("gone"));
    for (const reason of await Promise.all(waits))
      expect(reason).toMatchObject({ message: "gone" });
    expect(server.fetch.calls.at(-1)?.init.signal?.aborted).toBe(false);
    answer.release();
    expect(await Promise.all(waitUntil.mock.calls.flat())).toMatchObject([
      { value: "access-token-2" },
    ]);
    expect((await auth.getAccessToken()).value).toBe("access-token-2");
    expect((await (await resumeAuth(options))?.getAccessToken())?.value).toBe("access-token-2");
    expect(server.refreshes).toHaveLength(1);
  });

  test("is not sent if all callers abort before", async () => {
    const { auth, server, store, options } = await expiredLogin();
    const controller = new AbortController();
    const original = store.lock.bind(store);
    const [entered, opened] = [latch(), latch()];
    store.lock = async (key, task, limits) => {
      expect(key.startsWith('["refresh"')).toBe(true);
      entered.release();
      await opened.promise;
      return original(key, task, limits);
    };
    const wait = rejectionOf(auth.getAccessToken({ signal: controller.signal }));
    await entered.promise;
    controller.abort(new Error("gone"));
    expect(await wait).toMatchObject({ message: "gone" });
    opened.release();
    await new Promise((resolve) => setImmediate(resolve));
    expect(server.refreshes).toHaveLength(0);
    expect(await resumeAuth(options)).toBeDefined();
  });

  test("that a worker has stopped does not keep callers waiting for ever, and its token is not sent again", async () => {
    const { auth, server, clock } = await expiredLogin({ options: { retryDeadlineMs: 0 } });
    server.after = () => new Promise(() => {});
    auth.getAccessToken();
    await settle();
    clock.killTimers();
    for (const _next of [1, 2]) {
      const locked = rejectionOf(clock.through(auth.getAccessToken()));
      expect(await locked).toMatchObject({ code: "store_locked" });
    }
    expect(sentTokens(server)).toEqual(["refresh-token-1"]);
  });

  const never = () => new Promise<never>(() => {});
  const down = (code: StoreErrorCode) => () => Promise.reject(new StoreError(code, "down"));
  type Broken = Partial<Record<keyof TokenStore, () => Promise<never>>>;
  const broken = (name: string, methods: Broken, code: StoreErrorCode) => ({ name, methods, code });
  test.each([
    broken("that cannot be recorded", { set: down("store_unavailable") }, "store_unavailable"),
    broken("that does not get the lock", { lock: down("store_locked") }, "store_locked"),
    broken("whose store never locks", { lock: never }, "store_locked"),
    broken("whose store never reads", { get: never }, "store_unavailable"),
    broken("whose store never writes", { set: never }, "store_unavailable"),
    broken("whose write has no version", { set: async () => ({}) as never }, "store_corrupt"),
    broken("whose write has no result", { set: async () => undefined as never }, "store_corrupt"),
    broken("that lock does not run", { lock: async () => [] as never }, "store_unavailable"),
  ])("$name is not sent before the store works again", async ({ methods, code }) => {
    const { auth, server, clock, store } = await expiredLogin();
    const original = { ...store };
    Object.assign(store, methods);
    const refused = rejectionOf(clock.through(auth.getAccessToken()));
    expect(await refused).toMatchObject({ name: "StoreError", code });
    expect(server.refreshes).toHaveLength(0);
    Object.assign(store, original);
    expect((await auth.getAccessToken()).value).toBe("access-token-2");
  });

  test("whose lock is lost before it is a StoreError, whatever the lease was aborted with", async () => {
    const { auth, server, store } = await expiredLogin();
    const { lock } = store;
    store.lock = (_key, task) => task(AbortSignal.abort());
    const lost = { name: "StoreError", code: "store_locked" };
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject(lost);
    store.lock = lock;
    expect((await auth.getAccessToken()).value).toBe("access-token-2");
    expect(server.refreshes).toHaveLength(1);
  });

  const run: TokenStore["lock"] = (_key, task) => task();
  const early: TokenStore["lock"] = async (...args) => void run(...args) as never;
  test.each<{ name: string; lock: TokenStore["lock"] }>([
    { name: "never reports that it was released", lock: (...args) => run(...args).then(never) },
    { name: "cannot be released", lock: (...args) => run(...args).then(down("store_unavailable")) },
    { name: "runs its task twice", lock: (...args) => run(...args).then(() => run(...args)) },
    { name: "resolves before its task has ended", lock: early },
  ])("under a lock that $name is sent once, and its token is returned", async ({ lock }) => {
    const { auth, server, clock, store } = await expiredLogin();
    store.lock = lock;
    expect((await clock.through(auth.getAccessToken())).value).toBe("access-token-2");
    expect(server.refreshes).toHaveLength(1);
  });

  const unversioned = JSON.stringify({
    token: { value: "access-token-1", expiresAt: 1 },
    refreshToken: "refresh-token-1",
  });
  test.each([7, { value: "{", version: "1" }, { value: unversioned }])(
    "from a store that answers %j ends the login, because its refresh token may be spent",
    async (answer) => {
      const { auth, server, store } = await expiredLogin();
      store.get = async () => answer as never;
      expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "login_expired" });
      expect(server.refreshes).toHaveLength(0);
    },
  );

  test("whose token cannot be stored does not return it, and is not sent again once the store works", async () => {
    const { auth, server, store } = await expiredLogin();
    const original = store.set;
    server.after = async () => {
      store.set = () => Promise.reject(new StoreError("store_unavailable", "down"));
      return undefined;
    };
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "store_unavailable" });
    store.set = original;
    expect((await auth.getAccessToken()).value).toBe("access-token-2");
    expect(server.refreshes).toHaveLength(1);
  });
});

describe("a lost response to a refresh", () => {
  test("is waited for while a suspended process may still store it", async () => {
    const inner = memoryStore();
    // Another process takes over the lock of a suspended one.
    const store: TokenStore = { ...inner, lock: (_key, task) => task() };
    const { auth, server, clock, options } = await loggedIn({ store });
    const other = await resumeAuth(options);
    clock.advance(hourMs);
    const answer = latch();
    server.after = async () => void (await answer.promise);
    const suspended = auth.getAccessToken();
    await settle();
    expect(server.refreshes).toHaveLength(1);
    const waiting = other?.getAccessToken();
    await clock.pass(300);
    answer.release();
    expect((await clock.through(Promise.resolve(waiting)))?.value).toBe("access-token-2");
    expect((await suspended).value).toBe("access-token-2");
    expect(server.refreshes).toHaveLength(1);
  });

  const none = () => Response.json({ error: "slow_down" }, { status: 429 });
  const failing = () => {
    throw new Error("the vault is closed: refresh-token-1");
  };
  test.each([
    { name: "throws", body: failing },
    { name: "returns a promise", body: async () => ({}) },
    { name: "returns what is not JSON", body: () => ({ when: 1n }) },
    { name: "returns form fields", body: () => new URLSearchParams("a=1") as never },
    { name: "returns a Map", body: () => new Map([["a", "1"]]) as never },
    { name: "returns a list", body: () => ["a"] as never },
  ])("is not assumed if refreshBody $name: the next call tries again", async ({ body }) => {
    let isBroken = true;
    const refreshBody = (refresh_token: string) =>
      isBroken ? body() : { grant_type: "refresh_token", refresh_token, client_id: "portal" };
    const { auth, server } = await expiredLogin({ settings: { refreshBody } });
    const error = await rejectionOf(auth.getAccessToken());
    expect(error).toMatchObject({ code: "credential_invalid", option: "refreshBody" });
    expect(inspect(error, { depth: 9 })).not.toContain("refresh-token-1");
    isBroken = false;
    expect((await auth.getAccessToken()).value).toBe("access-token-2");
    expect(server.refreshes).toHaveLength(1);
  });

  test("is not assumed after a wait for the rate limit, because the lock is held only while a request is sent", async () => {
    const { auth, server, clock, store } = await expiredLogin();
    const done: string[] = [];
    store.lock = async (_key, task) => {
      done.push("locked");
      return task().finally(() => done.push("unlocked"));
    };
    server.before = () => {
      done.push("sent");
      server.before = () => void done.push("sent");
      return none();
    };
    const waits = clock.skipSleeps();
    waits.push = () => done.push("waited");
    expect((await auth.getAccessToken()).value).toBe("access-token-2");
    expect(done).toEqual(["locked", "sent", "unlocked", "waited", "locked", "sent", "unlocked"]);
  });
});

const grantKeyOf = ({ person }: { person: string }) =>
  JSON.stringify(["grant", "B", "https://service.example", "acme", "portal", person]);

describe("with a store that a crash may set back, a refresh token", () => {
  const lossWindowMs = 200;
  const forgetful = async (options: object = {}) => {
    const inner = memoryStore();
    const store: TokenStore = { ...inner, lossWindowMs };
    const login = await expiredLogin({ store, options });
    const key = grantKeyOf(login.options);
    const before = await inner.get(key);
    /** The record that the token is about to be sent must be in the store. */
    const noted = async () => {
      await settle();
      expect((await inner.get(key))?.value).toContain('"sentAt"');
    };
    const crash = () => inner.set(key, before?.value ?? "");
    return { ...login, store, noted, crash };
  };

  test("is sent only after the store has held the record for the whole time", async () => {
    const { auth, server, clock, noted } = await forgetful();
    const renewed = auth.getAccessToken();
    await noted();
    await clock.pass(lossWindowMs - 1);
    expect(server.refreshes).toEqual([]);
    await clock.pass(1);
    await renewed;
    expect(server.refreshes).toHaveLength(1);
  });

  test("is sent once if a crash loses the record and another process is faster then", async () => {
    const { auth, server, clock, options, noted, crash } = await forgetful();
    const renewed = auth.getAccessToken();
    await noted();
    await crash();
    const other = await resumeAuth({
      ...options,
      store: { ...options.store, lock: (_key, task) => task() },
    });
    const tokens = await clock.through(Promise.all([renewed, other?.getAccessToken()]));
    expect(new Set(tokens.map((token) => token?.value))).toEqual(new Set(["access-token-2"]));
    expect(sentTokens(server)).toEqual(["refresh-token-1"]);
  });

  test.each([
    { name: "as soon as a store that failed meanwhile answers", timeoutMs: 5_000, fails: false },
    { name: "later if the record could not be checked", timeoutMs: 400, fails: true },
  ])("is sent $name, as it was not sent before", async ({ timeoutMs, fails }) => {
    const { auth, server, clock, store, noted } = await forgetful({ timeoutMs });
    const { get } = store;
    const renewed = auth.getAccessToken();
    const failed = renewed.then(
      () => undefined,
      ({ code }) => code,
    );
    await noted();
    store.get = async () => Promise.reject(new Error("down"));
    if (fails) expect(await clock.through(failed)).toBe("store_unavailable");
    else await clock.pass(2 * lossWindowMs);
    expect(server.refreshes).toEqual([]);
    store.get = get;
    if (!fails) expect((await clock.through(renewed)).value).toBe("access-token-2");
    expect((await clock.through(auth.getAccessToken())).value).toBe("access-token-2");
    expect(sentTokens(server)).toEqual(["refresh-token-1"]);
  });

  test("is sent by the process whose record was written although the store said that it failed", async () => {
    const { auth, server, clock, store } = await forgetful();
    const { set } = store;
    store.set = async (...write) => {
      store.set = set;
      await set(...write);
      throw new Error("no answer");
    };
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "store_unavailable" });
    expect((await clock.through(auth.getAccessToken())).value).toBe("access-token-2");
    expect(sentTokens(server)).toEqual(["refresh-token-1"]);
  });

  test("is not sent after the lease of its lock was lost", async () => {
    const { auth, server, store } = await forgetful();
    const lost = new AbortController();
    lost.abort(new StoreError("store_locked", "The lease was lost."));
    store.lock = (_key, task) => task(lost.signal);
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "store_locked" });
    expect(server.refreshes).toEqual([]);
  });
});

describe("a refresh that is refused", () => {
  test("with invalid_grant ends the login", async () => {
    const { auth, server, store, options } = await expiredLogin();
    server.before = () => Response.json({ error: "invalid_grant" }, { status: 400 });
    const error = await rejectionOf(auth.getAccessToken());
    expect(error).toMatchObject({ name: "LoginRequiredError", code: "login_refused" });
    expect(await rejectionOf(auth.getAccessToken())).toBe(error);
    expect(server.refreshes).toHaveLength(1);
    expect(await store.get(grantKeyOf(options))).toBeUndefined();
    expect(await resumeAuth(options)).toBeUndefined();
  });

  test("deletes nothing if another process refreshed first without holding the lock", async () => {
    const { auth, server, clock, store, options } = await expiredLogin();
    const key = grantKeyOf(options);
    server.before = async () => {
      const entry = JSON.parse((await store.get(key))?.value ?? "");
      const lifetime = { issuedAt: clock.now(), expiresAt: clock.now() + hourMs };
      const token = { ...entry.token, value: "access-of-the-winner", ...lifetime };
      await store.set(
        key,
        JSON.stringify({ ...entry, token, refreshToken: "refresh-of-the-winner" }),
      );
      return Response.json({ error: "invalid_grant" }, { status: 400 });
    };
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "store_conflict" });
    clock.advance(2_000);
    expect((await auth.getAccessToken()).value).toBe("access-of-the-winner");
    expect(server.refreshes).toHaveLength(1);
  });

  test("with invalid_client keeps the login, and is repeated after the backoff or with another secret", async () => {
    let clientSecret = "old-secret";
    const credential = apiClient(() => ({ ...client, clientSecret }));
    const { auth, server, clock } = await expiredLogin({ options: { credential } });
    server.before = () => Response.json({ error: "invalid_client" }, { status: 401 });
    const refused = { code: "token_refused", causes: [{ id: "client_secret_mismatch" }] };
    for (const sent of [1, 2]) {
      for (const _time of [1, 2])
        expect(await rejectionOf(auth.getAccessToken())).toMatchObject(refused);
      expect(server.refreshes).toHaveLength(sent);
      clock.advance(1_000);
    }
    server.before = undefined;
    clientSecret = "new-secret";
    expect((await auth.getAccessToken()).value).toBe("access-token-2");
  });
});

describe("the end of a login", () => {
  test("by forget drops the tokens here and in the store, and a refresh in flight does not restore them", async () => {
    const { auth, server, store, options } = await expiredLogin();
    server.after = async () => {
      await auth.forget();
      return undefined;
    };
    const expired = { name: "LoginRequiredError", code: "login_expired" };
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject(expired);
    expect(await store.get(grantKeyOf(options))).toBeUndefined();
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject(expired);
    expect(server.refreshes).toHaveLength(1);
  });

  test("by forget is reported although the function of the credential fails now", async () => {
    let isDown = false;
    const credential = apiClient(async () => {
      if (isDown) throw new Error("the vault is down");
      return client;
    });
    const { auth } = await loggedIn({ options: { credential } });
    await auth.forget();
    isDown = true;
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "login_expired" });
  });

  test("by forget also wins against another process that is about to send the refresh token", async () => {
    const { auth, store, options } = await expiredLogin();
    const { get } = store;
    const key = grantKeyOf(options);
    store.get = async (name) => {
      const found = await get(name);
      store.get = get;
      await store.set(key, found?.value ?? "", { ifVersion: found?.version ?? null });
      return found;
    };
    await auth.forget();
    expect(await resumeAuth(options)).toBeUndefined();
  });

  test("by forget also wins against a refresh that is releasing its lock", async () => {
    const inner = memoryStore();
    let releasing: () => Promise<void> = async () => {};
    const store: TokenStore = {
      ...inner,
      async lock(key, task, options) {
        const result = await inner.lock(key, task, options);
        await releasing();
        return result;
      },
    };
    const { auth, options } = await expiredLogin({ store });
    releasing = () => auth.forget();
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "login_expired" });
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "login_expired" });
    expect(await resumeAuth(options)).toBeUndefined();
  });

  test("by forget also wins against the first write of a login that could not be stored", async () => {
    const inner = memoryStore();
    const [writing, written] = [latch(), latch()];
    let isDown = true;
    const set: TokenStore["set"] = async (...args) => {
      if (!args[0].startsWith('["grant"')) return inner.set(...args);
      if (isDown) throw new Error("down");
      writing.release();
      await written.promise;
      return inner.set(...args);
    };
    const { auth, server, options } = await expiredLogin({ store: { ...inner, set } });
    isDown = false;
    const renewing = rejectionOf(auth.getAccessToken());
    await writing.promise;
    await auth.forget();
    written.release();
    expect(await renewing).toMatchObject({ code: "login_expired" });
    expect(server.refreshes).toEqual([]);
    expect(await resumeAuth(options)).toBeUndefined();
  });
});
