// Only processes of the same identity share tokens through a store, and a failing store fails no
// caller.
import { describe, expect, test } from "vitest";
import {
  type AccessToken,
  type Auth,
  createAuth,
  createConnector,
  createService,
  type MachineCredential,
  memoryStore,
  StoreError,
  type TokenStore,
} from "../../src/index.js";
import { BASE_URL as baseUrl, recordedAuth } from "../support/auth.js";
import { steppedClock } from "../support/clock.js";
import { account, credentialOf, deployment, plugin } from "../support/deployment.js";
import { type FetchScript, scriptedFetch, tokenAnswer } from "../support/fetch.js";
import { rejectionOf, settle } from "../support/wait.js";

const tenantId = "acme";
const numbered = () => scriptedFetch((_call, index) => tokenAnswer(`token-${index + 1}`));

describe.each(["A", "B"] as const)("Variant %s", (variant) => {
  const credential = credentialOf(variant);
  const body = {
    revo: {
      tenant: "acme",
      user: { userId: "u", firstname: "Ada" },
      roles: [{ name: "admin", group: "g" }],
    },
  };

  test("two Auths with one store send one request, and the stored token keeps all its fields", async () => {
    const store = memoryStore();
    const fetch = scriptedFetch(() => Response.json({ access_token: "token-1", ...body }));
    const [one, other] = [0, 1].map(() =>
      createAuth({ baseUrl, tenantId, credential, fetch, store }),
    );
    const first = await one?.getAccessToken();
    await settle();
    const second = await other?.getAccessToken();
    expect(fetch.calls).toHaveLength(1);
    expect(second?.value).toBe("token-1");
    expect({ ...second }).toEqual({ ...first });
    expect(Object.keys(second ?? {})).not.toContain("value");
  });

  test("an Auth near expiry takes the token that another process renewed", async () => {
    const clock = steppedClock();
    const store = memoryStore({ clock });
    const fetch = numbered();
    const options = { baseUrl, tenantId, credential, fetch, store, clock };
    const [one, other] = [createAuth(options), createAuth(options)];
    await one.getAccessToken();
    await settle();
    await other.getAccessToken();
    clock.advance(3_600_000);
    await one.getAccessToken();
    await settle();
    expect((await other.getAccessToken()).value).toBe("token-2");
    expect(fetch.calls).toHaveLength(2);
  });

  test("a token that the API refused is not taken from the store again", async () => {
    const store = memoryStore();
    const fetch = numbered();
    const auth = createAuth({ baseUrl, tenantId, credential, fetch, store });
    auth.invalidate(await auth.getAccessToken());
    await settle();
    expect((await auth.getAccessToken()).value).toBe("token-2");
  });

  test("nor by a call that was waiting for the lock when the API refused it", async () => {
    const clock = steppedClock();
    const inner = memoryStore({ clock });
    let locks = 0;
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const lock: typeof inner.lock = async (...args) => {
      if (++locks === 2) await released;
      return inner.lock(...args);
    };
    const store = { ...inner, lock };
    let second: Promise<AccessToken> | undefined;
    const fetch = scriptedFetch((_call, index) => {
      second ??= auth.getAccessToken();
      return tokenAnswer(`token-${index + 1}`);
    });
    const options = { credential, fetch, store, clock, shareInFlight: false };
    const { auth } = recordedAuth(options);
    auth.invalidate(await auth.getAccessToken());
    release();
    expect((await second)?.value).toBe("token-2");
  });

  test("nor is it after its successor, which the store did not take, was refused too", async () => {
    const clock = steppedClock();
    let isDown = false;
    const store = new Proxy(memoryStore({ clock }), {
      get: (target, method: "get" | "set" | "delete" | "lock") =>
        isDown ? () => Promise.reject(new Error("connection refused")) : target[method],
    });
    const fetch = numbered();
    const auth = createAuth({ baseUrl, tenantId, credential, fetch, store, clock });
    const first = await auth.getAccessToken();
    await settle();
    isDown = true;
    auth.invalidate(first);
    auth.invalidate(await auth.getAccessToken());
    isDown = false;
    clock.advance(60_000);
    expect((await auth.getAccessToken()).value).toBe("token-3");
  });

  test("after a refusal the token that another process renewed is taken without a request", async () => {
    const store = memoryStore();
    const fetch = numbered();
    const options = { baseUrl, tenantId, credential, fetch, store };
    const [one, other] = [createAuth(options), createAuth(options)];
    const old = await one.getAccessToken();
    await settle();
    other.invalidate(await other.getAccessToken());
    await other.getAccessToken();
    await settle();
    one.invalidate(old);
    expect((await one.getAccessToken()).value).toBe("token-2");
    expect(fetch.calls).toHaveLength(2);
  });

  test("a fresh token in memory is served without a call to the store", async () => {
    const calls: string[] = [];
    const store = new Proxy(memoryStore(), {
      get(target, method: keyof TokenStore) {
        calls.push(method);
        return target[method];
      },
    });
    const auth = createAuth({ baseUrl, tenantId, credential, fetch: numbered(), store });
    await auth.getAccessToken();
    await settle();
    const before = calls.length;
    expect(before).toBeGreaterThan(0);
    for (let times = 0; times < 5; times++) await auth.getAccessToken();
    expect(calls).toHaveLength(before);
  });

  const failing = async (): Promise<never> => {
    throw new StoreError("store_unavailable", "The store is down.");
  };
  const throwing = (): never => {
    throw Object.assign(new Error("redis://user:password@host"), { code: "ECONNREFUSED" });
  };
  const silent = () => new Promise<never>(() => {});
  const answering = (found: unknown): TokenStore => ({
    ...memoryStore(),
    get: async () => found as never,
  });
  const holding = (value: string): TokenStore => ({
    ...memoryStore(),
    get: async (key) => (key.startsWith('["token"') ? { value, version: "1" } : undefined),
  });
  const all = (method: () => Promise<never>) => ({
    get: method,
    set: method,
    delete: method,
    lock: method,
  });
  const corrupt = { code: "store_corrupt" };
  const down = { code: "store_unavailable" };
  const stores: { name: string; store: TokenStore; told?: object }[] = [
    { name: "rejects", store: all(failing), told: down },
    { name: "throws", store: all(throwing), told: { ...down, reason: "ECONNREFUSED" } },
    { name: "never answers", store: all(silent), told: { ...down, reason: "TimeoutError" } },
    {
      name: "never answers a write",
      store: { ...memoryStore(), set: silent },
      told: { ...down, reason: "TimeoutError" },
    },
    { name: "answers null for a missing entry", store: answering(null) },
    { name: "answers with a number", store: answering(7), told: corrupt },
    { name: "answers with another object", store: answering({ token: "x" }), told: corrupt },
    { name: "holds no JSON", store: holding("{"), told: { ...corrupt, reason: "SyntaxError" } },
    { name: "holds JSON null", store: holding("null"), told: corrupt },
    { name: "holds another shape", store: holding('{"value":7,"expiresAt":"x"}'), told: corrupt },
    {
      name: "holds a token of an unknown age",
      store: holding('{"value":"old","expiresAt":9e15}'),
      told: corrupt,
    },
    {
      name: "holds an expired token",
      store: holding('{"value":"old","expiresAt":1,"issuedAt":0}'),
    },
  ];
  test.each(stores)("a store that $name fails no caller", async ({ store, told }) => {
    const fetch = numbered();
    const { auth, clock, events } = recordedAuth({ credential, fetch, store });
    expect((await clock.through(auth.getAccessToken())).value).toBe("token-1");
    expect((await auth.getAccessToken()).value).toBe("token-1");
    await clock.pass(10_000);
    const failure = events.find(({ type }) => type === "store_failed");
    expect(failure).toEqual(told && expect.objectContaining(told));
    expect(JSON.stringify(events)).not.toContain("password");
    expect(fetch.calls).toHaveLength(1);
  });
});

describe("an identity does not get another's token from the store", () => {
  const base = { baseUrl, tenantId, credential: plugin() };
  const others = [
    { name: "another tenant", options: { ...base, tenantId: "globex" } },
    { name: "another base URL", options: { ...base, baseUrl: "https://other.example" } },
    { name: "another prefix", options: { ...base, baseUrl: `${baseUrl}/prefix` } },
    { name: "another client", options: { ...base, credential: plugin({ clientId: "other" }) } },
    {
      name: "the other variant",
      options: { ...base, credential: account({ clientId: "reporter-plugin" }) },
    },
  ];
  test.each(others)("$name", async ({ options }) => {
    const store = memoryStore();
    const fetch = numbered();
    await createAuth({ ...base, fetch, store }).getAccessToken();
    await settle();
    expect((await createAuth({ ...options, fetch, store }).getAccessToken()).value).toBe("token-2");
  });

  test("a base URL with a trailing slash is the same identity", async () => {
    const store = memoryStore();
    const fetch = numbered();
    await createAuth({ ...base, fetch, store }).getAccessToken();
    await settle();
    const token = await createAuth({
      ...base,
      baseUrl: `${baseUrl}/`,
      fetch,
      store,
    }).getAccessToken();
    expect(token.value).toBe("token-1");
  });
});

describe("processes with one store", () => {
  const hourMs = 3_600_000;

  /** As many Auths as processes, each with its own memory, at one token endpoint. */
  function fleet(size: number, script: FetchScript, credential: MachineCredential = account()) {
    const clock = steppedClock();
    const store = memoryStore({ clock });
    const fetch = scriptedFetch(script);
    const start = (options: object = {}) =>
      recordedAuth({ credential, fetch, store, clock, ...options });
    const auths = Array.from({ length: size }, () => start().auth);
    const tokens = () =>
      Promise.all(auths.map(async (auth: Auth) => (await auth.getAccessToken()).value));
    return { clock, store, fetch, start, auths, tokens };
  }

  test("send one token request for each lifetime, also when all of them ask at once", async () => {
    const { clock, fetch, tokens } = fleet(32, (_call, index) => tokenAnswer(`token-${index + 1}`));
    for (const lifetime of [1, 2, 3]) {
      expect(new Set(await tokens())).toEqual(new Set([`token-${lifetime}`]));
      clock.advance(hourMs);
    }
    expect(fetch.calls).toHaveLength(3);
  });

  test("send one token request when all of them renew in the background", async () => {
    const { clock, fetch, tokens } = fleet(8, (_call, index) => tokenAnswer(`token-${index + 1}`));
    await tokens();
    clock.advance(hourMs - 1_000);
    expect(new Set(await tokens())).toEqual(new Set(["token-1"]));
    await settle();
    expect(new Set(await tokens())).toEqual(new Set(["token-2"]));
    expect(fetch.calls).toHaveLength(2);
  });

  test("ask once which variant is served", async () => {
    const clock = steppedClock();
    const { fetch } = deployment({ now: clock.now });
    const counted = scriptedFetch(({ url, init }) => fetch(url, init));
    const store = memoryStore({ clock });
    const options = { credentials: [plugin(), account()], store, fetch: counted, clock };
    const connectors = Array.from({ length: 8 }, () => createConnector(options));
    const target = { baseUrl: "http://service.localhost", tenantId: "acme" };
    const services = await Promise.all(connectors.map((connector) => connector.connect(target)));
    expect(new Set(services.map(({ variant }) => variant))).toEqual(new Set(["A"]));
    expect(counted.calls).toHaveLength(1);
  });

  test.each([
    { name: "found before the store went down", downFrom: 1 },
    { name: "found while the store is down", downFrom: 0 },
    { name: "read from the store before it went down", downFrom: 1, found: true },
  ])("keep a variant that was $name", async ({ downFrom, found = false }) => {
    const clock = steppedClock();
    const { fetch } = deployment({ now: clock.now });
    const counted = scriptedFetch(({ url, init }) => fetch(url, init));
    const inner = memoryStore({ clock });
    let isDown = false;
    const store = new Proxy(inner, {
      get: (target, method: "get" | "set" | "delete" | "lock") =>
        isDown ? () => Promise.reject(new Error("connection refused")) : target[method],
    });
    const options = { credentials: [plugin(), account()], fetch: counted, clock };
    const target = { baseUrl: "http://service.localhost", tenantId: "acme" };
    if (found) await createConnector({ ...options, store: inner }).connect(target);
    const connector = createConnector({ ...options, store });
    for (const round of [0, 1, 2, 3]) {
      isDown = round >= downFrom;
      expect((await connector.connect(target)).variant).toBe("A");
    }
    expect(counted.calls).toHaveLength(1);
  });

  test("all stop after one of them met a 429, and the next refusal is the next step of the schedule", async () => {
    const limited = () => new Response("", { status: 429 });
    const { clock, fetch, start } = fleet(0, (_call, index) =>
      index < 2 ? limited() : tokenAnswer(),
    );
    const wait = async () => {
      const error = await rejectionOf(start({ retryDeadlineMs: 0 }).auth.getAccessToken());
      expect(error).toMatchObject({ code: "rate_limited" });
      return (error as { retryAt: number }).retryAt - clock.now();
    };
    const first = await wait();
    expect(await wait()).toBe(first);
    expect(fetch.calls).toHaveLength(1);
    clock.advance(first);
    const second = await wait();
    expect(second).toBeGreaterThanOrEqual(4_000);
    expect(fetch.calls).toHaveLength(2);
    clock.advance(second);
    expect((await start().auth.getAccessToken()).value).toBeTruthy();
    expect(fetch.calls).toHaveLength(3);
  });

  test("all stop after a 429 although an older request of another process is answered after it", async () => {
    const limited = (seconds: number) =>
      new Response("", { status: 429, headers: { "retry-after": String(seconds) } });
    let answer = (_response: Response) => {};
    const older = new Promise<Response>((resolve) => {
      answer = resolve;
    });
    const answers = [limited(2), older, limited(60)];
    const { clock, fetch, start } = fleet(0, () => answers.shift() ?? tokenAnswer());
    const of = (clientId: string) =>
      start({ retryDeadlineMs: 0, credential: account({ clientId }) }).auth;
    const [one, other] = [of("one"), of("other")];
    await rejectionOf(one.getAccessToken());
    clock.advance(3_000);
    const token = other.getAccessToken();
    await settle();
    await rejectionOf(one.getAccessToken());
    answer(tokenAnswer());
    await token;
    await rejectionOf(of("third").getAccessToken());
    expect(fetch.calls).toHaveLength(3);
  });

  test.each([
    { name: "is limited", answer: () => new Response("", { status: 429 }) },
    { name: "answers 503", answer: () => new Response("", { status: 503 }) },
    { name: "is not reached", answer: () => new TypeError("fetch failed") },
  ])(
    "that start while the endpoint $name use the stored token as long as it lives, without a wait",
    async ({ answer }) => {
      const { clock, fetch, start } = fleet(0, (_call, index) => {
        const given = index === 0 ? tokenAnswer("old") : answer();
        if (given instanceof Error) throw given;
        return given;
      });
      await start().auth.getAccessToken();
      clock.advance(hourMs - 1_000);
      const waits = clock.skipSleeps();
      expect((await start().auth.getAccessToken()).value).toBe("old");
      expect(waits).toEqual([]);
      expect(fetch.calls).toHaveLength(2);
    },
  );

  test("that find a stored token which expires during a failing attempt get the retries", async () => {
    const { clock, start } = fleet(0, (_call, index) => {
      if (index === 1) clock.advance(2_000);
      return index === 1 ? new Response("", { status: 503 }) : tokenAnswer(`token-${index}`);
    });
    await start().auth.getAccessToken();
    clock.advance(hourMs - 1_000);
    expect((await start().auth.getAccessToken()).value).toBe("token-2");
  });

  const refusal = () =>
    Response.json({ error: "invalid_client", error_description: "no" }, { status: 401 });

  test("all stop after a wrong secret was refused to one of them, until the secret is another", async () => {
    const { clock, fetch, start } = fleet(0, (_call, index) =>
      index < 2 ? refusal() : tokenAnswer(),
    );
    const refused = async () => {
      const error = await rejectionOf(start().auth.getAccessToken());
      expect(error).toMatchObject({
        name: "TokenRequestError",
        code: "token_refused",
        error: "invalid_client",
      });
      const { retryAt } = error as { retryAt: number };
      return { waitMs: retryAt - clock.now(), text: String(error) };
    };
    const first = await refused();
    expect(first.waitMs).toBe(1_000);
    expect(await refused()).toEqual(first);
    expect(fetch.calls).toHaveLength(1);
    clock.advance(1_000);
    expect((await refused()).waitMs).toBe(2_000);
    expect(fetch.calls).toHaveLength(2);
    const corrected = start({ credential: account({ clientSecret: "the-corrected-secret" }) });
    expect((await corrected.auth.getAccessToken()).value).toBeTruthy();
  });

  test.each([
    {
      name: "a page of a gateway",
      variant: "B" as const,
      answer: () => new Response("<html>", { status: 403 }),
    },
    {
      name: "an assertion, by a server whose clock is not known",
      variant: "A" as const,
      answer: refusal,
    },
  ])(
    "do not stop for what may be meant for one of them alone: $name",
    async ({ variant, answer }) => {
      const good = () => tokenAnswer();
      const { fetch, start } = fleet(
        0,
        (_call, index) => (index < 1 ? answer() : good()),
        credentialOf(variant),
      );
      await rejectionOf(start().auth.getAccessToken());
      expect((await start().auth.getAccessToken()).value).toBeTruthy();
      expect(fetch.calls).toHaveLength(2);
    },
  );

  test("with two wrong secrets stop for each of them", async () => {
    const { fetch, start } = fleet(0, refusal);
    const wrong = ["one", "other"].map((clientSecret) => account({ clientSecret }));
    for (const credential of [...wrong, ...wrong])
      await rejectionOf(start({ credential }).auth.getAccessToken());
    expect(fetch.calls).toHaveLength(2);
  });

  test.each([-60_000, 60_000])(
    "wait no longer for a 429 with clocks that are %d ms apart",
    async (apartMs) => {
      const { clock, start } = fleet(0, (_call, index) =>
        index < 1 ? new Response("", { status: 429 }) : tokenAnswer(),
      );
      await rejectionOf(start({ retryDeadlineMs: 0 }).auth.getAccessToken());
      clock.advance(2_500);
      const other = start({
        clock: { ...clock, now: () => clock.now() - apartMs },
        retryDeadlineMs: 0,
      });
      const error = await other.auth.getAccessToken().catch((reason) => reason);
      const waitMs = error.retryAt === undefined ? 0 : error.retryAt - (clock.now() - apartMs);
      expect(waitMs).toBeLessThanOrEqual(2_500);
      clock.advance(2_500);
      expect((await other.auth.getAccessToken()).value).toBeTruthy();
    },
  );

  test.each([
    { opensAt: 1e300, waitMs: 1e300, refusals: 1 },
    { opensAt: 9e15, waitMs: 9e15, refusals: 1e9 },
    { opensAt: "soon" },
  ])("are not stopped by a planted record of a 429: %j", async (record) => {
    const { clock, store, start } = fleet(0, () => tokenAnswer());
    const key = JSON.stringify(["endpoint", "B", baseUrl, tenantId]);
    await store.set(key, JSON.stringify({ id: "planted", ...record }));
    const { auth } = start({ retryDeadlineMs: 0 });
    const error = await auth.getAccessToken().catch((reason) => reason);
    expect(["rate_limited", undefined]).toContain(error.code);
    await store.delete(key);
    clock.advance(hourMs);
    expect((await auth.getAccessToken()).value).toBeTruthy();
  });

  test("serve no stored token for longer because the clock of the process that stored it is ahead", async () => {
    const { clock, start } = fleet(0, () => tokenAnswer());
    await start({ clock: { ...clock, now: () => clock.now() + 60_000 } }).auth.getAccessToken();
    const { expiresAt } = await start().auth.getAccessToken();
    expect(expiresAt).toBe(clock.now() + hourMs);
  });

  test("replace a refused token of a process whose clock is ahead at once, since its age is unknown", async () => {
    const { clock, fetch, start } = fleet(0, ({ url }, index) =>
      url.endsWith("/token")
        ? tokenAnswer(`token-${index}`)
        : new Response(null, { status: index === 1 ? 401 : 200 }),
    );
    await start({ clock: { ...clock, now: () => clock.now() + 120_000 } }).auth.getAccessToken();
    clock.advance(90_000);
    expect((await createService(start().auth).fetch("v1/devices")).status).toBe(200);
    const bearers = fetch.calls.map(({ init }) => new Headers(init?.headers).get("authorization"));
    expect(bearers).toEqual([null, "Bearer token-0", null, "Bearer token-2"]);
  });

  test("serve no token that expired while it was stored, but ask once more", async () => {
    const { clock, store, fetch, start } = fleet(0, (_call, index) =>
      tokenAnswer(`token-${index + 1}`, 60),
    );
    /** The process is suspended in its first two writes. */
    let writes = 0;
    const slow: TokenStore = {
      ...store,
      set: async (key, value, options) => {
        if (writes++ < 2) clock.advance(89_000);
        return store.set(key, value, options);
      },
    };
    const { auth } = start({ store: slow });
    expect((await auth.getAccessToken()).value).toBe("token-2");
    expect((await auth.getAccessToken()).value).toBe("token-3");
    expect(fetch.calls).toHaveLength(3);
  });

  test("store too little of a refused secret to guess it by", async () => {
    const { store, start } = fleet(0, refusal);
    const written: string[] = [];
    const recording: TokenStore = {
      ...store,
      set: (key, value, options) => {
        written.push(key, value);
        return store.set(key, value, options);
      },
    };
    await rejectionOf(start({ store: recording }).auth.getAccessToken());
    expect(written.find((text) => text.startsWith('["refusal"'))).toMatch(/,"[0-9a-f]{4}"\]$/);
    expect(written.join()).not.toMatch(/[0-9a-f]{20}/);
  });

  test.each([
    { name: "a clock that is as wrong as the first one's", aheadSeconds: 0, requests: 1 },
    { name: "another clock, after one refused assertion,", aheadSeconds: 600, requests: 2 },
  ])("with $name start with an accepted assertion", async ({ aheadSeconds, requests }) => {
    const clock = steppedClock();
    const emulator = deployment({ now: () => clock.now() + 600_000 });
    const store = memoryStore({ clock });
    const start = async (ownSeconds: number) => {
      const now = () => clock.now() + ownSeconds * 1_000;
      const fetch = scriptedFetch(({ url, init }) => emulator.fetch(url, init));
      const options = {
        baseUrl: "http://service.localhost",
        tenantId: "acme",
        credential: plugin(),
      };
      const auth = createAuth({ ...options, fetch, store, clock: { ...clock, now } });
      await auth.getAccessToken();
      return fetch.calls.length;
    };
    expect(await start(0)).toBe(2);
    clock.advance(hourMs - 1_000);
    expect(await start(aheadSeconds)).toBe(requests);
  });

  test("each go on alone while the store is down, with one event, and share again when it is back", async () => {
    let isDown = true;
    const { clock, store, fetch } = fleet(0, (_call, index) => tokenAnswer(`token-${index + 1}`));
    const flaky = new Proxy(store, {
      get: (target, method: "get" | "set" | "delete" | "lock") =>
        isDown ? () => Promise.reject(new Error("connection refused")) : target[method],
    });
    const tenants = ["acme", "globex"];
    const processes = [1, 2].map(() => {
      const events: string[] = [];
      const onEvent = ({ type }: { type: string }) =>
        type.startsWith("store_") && events.push(type);
      const connector = createConnector({
        credentials: [account()],
        fetch,
        store: flaky,
        clock,
        onEvent,
      });
      const tokens = async () => {
        const found = [];
        for (const tenantId of tenants) {
          const { auth } = await connector.connect({ baseUrl, tenantId });
          found.push((await auth.getAccessToken()).value);
        }
        return found.join();
      };
      return { events, tokens };
    });
    for (const { tokens, events } of processes) {
      await tokens();
      expect(events).toEqual(["store_failed"]);
    }
    expect(fetch.calls).toHaveLength(4);
    isDown = false;
    clock.advance(hourMs);
    const [first, second] = [await processes[0]?.tokens(), await processes[1]?.tokens()];
    expect(second).toBe(first);
    expect(fetch.calls).toHaveLength(6);
    for (const { events } of processes) expect(events).toEqual(["store_failed", "store_recovered"]);
  });
});
