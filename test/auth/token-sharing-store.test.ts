// Only processes of the same identity share tokens through a store, and a failing store fails no
// caller.
import { describe, expect, test } from "vitest";
import {
  type AccessToken,
  createConnector,
  createService,
  type MachineCredential,
  memoryStore,
  type ServiceEvent,
  type TokenStore,
} from "../../src/index.js";
import { latch } from "../people/person.js";
import { BASE_URL, recordedAuth } from "../support/auth.js";
import { steppedClock } from "../support/clock.js";
import { account, credentialOf, deployment, plugin } from "../support/deployment.js";
import { type FetchScript, scriptedFetch, tokenAnswer } from "../support/fetch.js";
import { rejectionOf, settle } from "../support/wait.js";

const hourMs = 3_600_000;
const numbered: FetchScript = (_call, index) => tokenAnswer(`token-${index + 1}`);
const limited = (headers: HeadersInit = {}) => new Response("", { status: 429, headers });
const refusal = () =>
  Response.json({ error: "invalid_client", error_description: "no" }, { status: 401 });

/** `start` makes the Auth of another process, with a memory of its own, at one token endpoint. */
function fleet(script: FetchScript, credential: MachineCredential = account()) {
  const clock = steppedClock();
  const store = memoryStore({ clock });
  const fetch = scriptedFetch(script);
  const start = (options: object = {}) =>
    recordedAuth({ credential, fetch, store, clock, ...options }).auth;
  return { clock, store, fetch, start };
}

/** A store that rejects while `isDown()`. */
const failingWhile = (isDown: () => boolean, store: TokenStore) =>
  new Proxy(store, {
    get: (target, method: "get" | "set" | "delete" | "lock") =>
      isDown() ? () => Promise.reject(new Error("connection refused")) : target[method],
  });

describe.each(["A", "B"] as const)("a token of Variant %s", (variant) => {
  test("that is taken from the store has all its fields, and a value that is not enumerable", async () => {
    const user = { userId: "u", firstname: "Ada" };
    const revo = { tenant: "acme", user, roles: [{ name: "admin", group: "g" }] };
    const answer = () => Response.json({ access_token: "token-1", revo });
    const { fetch, start } = fleet(answer, credentialOf(variant));
    const first = await start().getAccessToken();
    const second = await start().getAccessToken();
    expect(fetch.calls).toHaveLength(1);
    expect(second.value).toBe("token-1");
    expect({ ...second }).toEqual({ ...first });
    expect(Object.keys(second)).not.toContain("value");
  });

  test("that the API refused is not taken by a call that was waiting for the lock meanwhile", async () => {
    const released = latch();
    let second: Promise<AccessToken> | undefined;
    let locks = 0;
    const script: FetchScript = (...call) => {
      second ??= auth.getAccessToken();
      return numbered(...call);
    };
    const { store, start } = fleet(script, credentialOf(variant));
    const lock: TokenStore["lock"] = async (...args) => {
      if (++locks === 2) await released.promise;
      return store.lock(...args);
    };
    const auth = start({ store: { ...store, lock }, shareInFlight: false });
    auth.invalidate(await auth.getAccessToken());
    released.release();
    expect((await second)?.value).toBe("token-2");
  });

  test("is not requested after a refusal if another process has renewed it", async () => {
    const { fetch, start } = fleet(numbered, credentialOf(variant));
    const [one, other] = [start(), start()];
    const old = await one.getAccessToken();
    other.invalidate(await other.getAccessToken());
    await other.getAccessToken();
    one.invalidate(old);
    expect((await one.getAccessToken()).value).toBe("token-2");
    expect(fetch.calls).toHaveLength(2);
  });
});

describe("a store", () => {
  const throwing = (): never => {
    throw Object.assign(new Error("redis://user:password@host"), { code: "ECONNREFUSED" });
  };
  const silent = () => new Promise<never>(() => {});
  const all = (method: () => Promise<never>) => {
    return { get: method, set: method, delete: method, lock: method };
  };
  const answering = (found: unknown) => ({ ...memoryStore(), get: async () => found as never });
  const holding = (value: string): TokenStore => ({
    ...memoryStore(),
    get: async (key) => (key.startsWith('["token"') ? { value, version: "1" } : undefined),
  });
  const corrupt = { code: "store_corrupt" };
  const down = (reason: string) => ({ code: "store_unavailable", reason });
  const late = down("TimeoutError");
  test.each<{ name: string; store: TokenStore; reported?: object }>([
    { name: "throws", store: all(throwing), reported: down("ECONNREFUSED") },
    { name: "never answers", store: all(silent), reported: late },
    { name: "never answers a write", store: { ...memoryStore(), set: silent }, reported: late },
    { name: "answers null for a missing entry", store: answering(null) },
    { name: "answers with a number", store: answering(7), reported: corrupt },
    { name: "answers with another object", store: answering({ token: "x" }), reported: corrupt },
    { name: "holds no JSON", store: holding("{"), reported: { ...corrupt, reason: "SyntaxError" } },
    { name: "holds JSON null", store: holding("null"), reported: corrupt },
    {
      name: "holds a number as token",
      store: holding('{"value":7,"expiresAt":1}'),
      reported: corrupt,
    },
    { name: "holds no age", store: holding('{"value":"old","expiresAt":9e15}'), reported: corrupt },
    { name: "holds an old token", store: holding('{"value":"o","expiresAt":1,"issuedAt":0}') },
  ])("that $name fails no caller", async ({ store, reported }) => {
    const fetch = scriptedFetch(numbered);
    const { auth, clock, events } = recordedAuth({ credential: account(), fetch, store });
    expect((await clock.through(auth.getAccessToken())).value).toBe("token-1");
    expect((await auth.getAccessToken()).value).toBe("token-1");
    await clock.pass(10_000);
    const failure = events.find(({ type }) => type === "store_failed");
    expect(failure).toEqual(reported && expect.objectContaining(reported));
    expect(JSON.stringify(events)).not.toContain("password");
    expect(fetch.calls).toHaveLength(1);
  });
});

const otherClient = { credential: plugin({ clientId: "other" }) };
const otherVariant = { credential: account({ clientId: "reporter-plugin" }) };
test.each([
  { name: "another tenant", options: { tenantId: "globex" }, token: "token-2" },
  { name: "another base URL", options: { baseUrl: "https://other.example" }, token: "token-2" },
  { name: "another prefix", options: { baseUrl: `${BASE_URL}/prefix` }, token: "token-2" },
  { name: "another client", options: otherClient, token: "token-2" },
  { name: "the other variant", options: otherVariant, token: "token-2" },
  { name: "a trailing slash", options: { baseUrl: `${BASE_URL}/` }, token: "token-1" },
])("after token-1 was stored, an Auth with $name gets $token", async ({ options, token }) => {
  const { start } = fleet(numbered, plugin());
  await start().getAccessToken();
  expect((await start(options).getAccessToken()).value).toBe(token);
});

describe("the variant of a deployment", () => {
  const target = { baseUrl: "http://service.localhost", tenantId: "acme" };
  function served() {
    const clock = steppedClock();
    const emulator = deployment({ now: clock.now });
    const fetch = scriptedFetch(({ url, init }) => emulator.fetch(url, init));
    const options = { credentials: [plugin(), account()], fetch, clock };
    return { options, fetch, store: memoryStore({ clock }) };
  }

  test("is asked for once by eight processes that begin at once", async () => {
    const { options, fetch, store } = served();
    const connectors = Array.from({ length: 8 }, () => createConnector({ ...options, store }));
    const services = await Promise.all(connectors.map((connector) => connector.connect(target)));
    expect(new Set(services.map(({ variant }) => variant))).toEqual(new Set(["A"]));
    expect(fetch.calls).toHaveLength(1);
  });

  test.each([
    { name: "was found before the store went down", downFrom: 1 },
    { name: "was found while the store is down", downFrom: 0 },
    { name: "was read from the store before it went down", downFrom: 1, found: true },
  ])("is kept if it $name", async ({ downFrom, found = false }) => {
    const { options, fetch, store: inner } = served();
    let isDown = false;
    const store = failingWhile(() => isDown, inner);
    if (found) await createConnector({ ...options, store: inner }).connect(target);
    const connector = createConnector({ ...options, store });
    for (const round of [0, 1, 2, 3]) {
      isDown = round >= downFrom;
      expect((await connector.connect(target)).variant).toBe("A");
    }
    expect(fetch.calls).toHaveLength(1);
  });
});

describe("processes with one store", () => {
  test("send one token request for each lifetime, also when all of them ask at once", async () => {
    const { clock, fetch, start } = fleet(numbered);
    const auths = Array.from({ length: 32 }, () => start());
    for (const lifetime of [1, 2, 3]) {
      const tokens = await Promise.all(auths.map((auth) => auth.getAccessToken()));
      expect(new Set(tokens.map(({ value }) => value))).toEqual(new Set([`token-${lifetime}`]));
      clock.advance(hourMs);
    }
    expect(fetch.calls).toHaveLength(3);
  });

  test("all stop after one of them met a 429, and the next refusal is the next step of the schedule", async () => {
    const { clock, fetch, start } = fleet((_call, index) =>
      index < 2 ? limited() : tokenAnswer(),
    );
    const wait = async () => {
      const error = await rejectionOf(start({ retryDeadlineMs: 0 }).getAccessToken());
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
    expect((await start().getAccessToken()).value).toBeTruthy();
    expect(fetch.calls).toHaveLength(3);
  });

  test("all stop after a 429 although an older request of another process is answered after it", async () => {
    const older = latch();
    const answers = [
      limited({ "retry-after": "2" }),
      older.promise.then(() => tokenAnswer()),
      limited({ "retry-after": "60" }),
    ];
    const { clock, fetch, start } = fleet(() => answers.shift() ?? tokenAnswer());
    const of = (clientId: string) =>
      start({ retryDeadlineMs: 0, credential: account({ clientId }) });
    const one = of("one");
    await rejectionOf(one.getAccessToken());
    clock.advance(3_000);
    const token = of("other").getAccessToken();
    await settle();
    await rejectionOf(one.getAccessToken());
    older.release();
    await token;
    await rejectionOf(of("third").getAccessToken());
    expect(fetch.calls).toHaveLength(3);
  });

  test.each([
    { name: "is limited", answer: () => limited() },
    { name: "is not reached", answer: () => Promise.reject(new TypeError("fetch failed")) },
    { name: "fails", answer: () => new Response("", { status: 503 }) },
    { name: "refuses", answer: refusal },
  ])(
    "that start while the endpoint $name use the stored token as long as it lives, without a wait, and report the failure",
    async ({ answer }) => {
      const { clock, fetch, start } = fleet((_call, index) =>
        index === 0 ? tokenAnswer("old") : answer(),
      );
      await start().getAccessToken();
      clock.advance(hourMs - 1_000);
      const waits = clock.skipSleeps();
      const types: string[] = [];
      const onEvent = ({ type }: ServiceEvent) => void types.push(type);
      expect((await start({ onEvent }).getAccessToken()).value).toBe("old");
      expect(waits).toEqual([]);
      expect(fetch.calls).toHaveLength(2);
      expect(types).toContain("token_failed");
      expect(types).not.toContain("token_renewed");
    },
  );

  test("that find a stored token which expires during a failing attempt get the retries", async () => {
    const { clock, start } = fleet((_call, index) => {
      if (index === 1) clock.advance(2_000);
      return index === 1 ? new Response("", { status: 503 }) : tokenAnswer(`token-${index}`);
    });
    await start().getAccessToken();
    clock.advance(hourMs - 1_000);
    expect((await start().getAccessToken()).value).toBe("token-2");
  });

  test("all stop after a wrong secret was refused to one of them, until the secret is another", async () => {
    const { clock, fetch, start } = fleet((_call, index) =>
      index < 2 ? refusal() : tokenAnswer(),
    );
    const refused = async () => {
      const error = await rejectionOf(start().getAccessToken());
      expect(error).toMatchObject({ code: "token_refused", error: "invalid_client" });
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
    expect((await corrected.getAccessToken()).value).toBeTruthy();
  });

  test("all stop after a refusal, also by a clock that has fractions of a millisecond", async () => {
    const { clock, fetch, start } = fleet(refusal);
    const exact = { clock: { ...clock, now: () => clock.now() + 0.25 } };
    await rejectionOf(start(exact).getAccessToken());
    await rejectionOf(start(exact).getAccessToken());
    expect(fetch.calls).toHaveLength(1);
  });

  const page = () => new Response("<html>", { status: 403 });
  test.each([
    { name: "a page of a gateway", credential: account(), answer: page },
    { name: "an assertion, by an unknown clock", credential: plugin(), answer: refusal },
  ])(
    "do not stop for a refusal that may be meant for one of them alone: $name",
    async ({ credential, answer }) => {
      const { fetch, start } = fleet(
        (_call, index) => (index < 1 ? answer() : tokenAnswer()),
        credential,
      );
      await rejectionOf(start().getAccessToken());
      expect((await start().getAccessToken()).value).toBeTruthy();
      expect(fetch.calls).toHaveLength(2);
    },
  );

  test.each([-60_000, 60_000])(
    "wait no longer for a 429 with clocks that are %d ms apart",
    async (apartMs) => {
      const { clock, start } = fleet((_call, index) => (index < 1 ? limited() : tokenAnswer()));
      await rejectionOf(start({ retryDeadlineMs: 0 }).getAccessToken());
      clock.advance(2_500);
      const now = () => clock.now() - apartMs;
      const other = start({ clock: { ...clock, now }, retryDeadlineMs: 0 });
      const { retryAt = now() } = await other.getAccessToken().catch((reason) => reason);
      expect(retryAt - now()).toBeLessThanOrEqual(2_500);
      clock.advance(2_500);
      expect((await other.getAccessToken()).value).toBeTruthy();
    },
  );

  test.each([
    { opensAt: 1e300, waitMs: 1e300, refusals: 1 },
    { opensAt: 9e15, waitMs: 9e15, refusals: 1e9 },
    { opensAt: "soon" },
  ])("are not stopped by a planted record of a 429: %j", async (record) => {
    const { clock, store, start } = fleet(() => tokenAnswer());
    const key = JSON.stringify(["endpoint", "B", BASE_URL, "acme"]);
    await store.set(key, JSON.stringify({ id: "planted", ...record }));
    const auth = start({ retryDeadlineMs: 0 });
    const error = await auth.getAccessToken().catch((reason) => reason);
    expect(["rate_limited", undefined]).toContain(error.code);
    await store.delete(key);
    clock.advance(hourMs);
    expect((await auth.getAccessToken()).value).toBeTruthy();
  });

  test("serve no stored token for longer because the clock of the process that stored it is ahead", async () => {
    const { clock, start } = fleet(() => tokenAnswer());
    await start({ clock: { ...clock, now: () => clock.now() + 60_000 } }).getAccessToken();
    const { expiresAt } = await start().getAccessToken();
    expect(expiresAt).toBe(clock.now() + hourMs);
  });

  test("replace a refused token of a process whose clock is ahead at once, since its age is unknown", async () => {
    const { clock, fetch, start } = fleet(({ url }, index) =>
      url.endsWith("/token")
        ? tokenAnswer(`token-${index}`)
        : new Response(null, { status: index === 1 ? 401 : 200 }),
    );
    await start({ clock: { ...clock, now: () => clock.now() + 120_000 } }).getAccessToken();
    clock.advance(90_000);
    expect((await createService(start()).fetch("v1/devices")).status).toBe(200);
    const bearers = fetch.calls.map(({ headers }) => headers.get("authorization"));
    expect(bearers).toEqual([null, "Bearer token-0", null, "Bearer token-2"]);
  });

  test("serve no token that expired while it was stored, but ask once more", async () => {
    const { clock, store, fetch, start } = fleet((_call, index) =>
      tokenAnswer(`token-${index + 1}`, 60),
    );
    /** The process is suspended in its first two writes. */
    let writes = 0;
    const set: TokenStore["set"] = async (...write) => {
      if (writes++ < 2) clock.advance(89_000);
      return store.set(...write);
    };
    const auth = start({ store: { ...store, set } });
    expect((await auth.getAccessToken()).value).toBe("token-2");
    expect((await auth.getAccessToken()).value).toBe("token-3");
    expect(fetch.calls).toHaveLength(3);
  });

  test("store too little of a refused secret to guess it by", async () => {
    const { store, start } = fleet(refusal);
    const written: string[] = [];
    const set: TokenStore["set"] = (...write) => {
      written.push(write[0], write[1]);
      return store.set(...write);
    };
    await rejectionOf(start({ store: { ...store, set } }).getAccessToken());
    expect(written.find((text) => text.startsWith('["refusal"'))).toMatch(/,"[0-9a-f]{4}"\]$/);
    expect(written.join()).not.toMatch(/[0-9a-f]{20}/);
  });

  test.each([
    { name: "a clock that is as wrong as the first one's", aheadMs: 0, requests: 1 },
    { name: "another clock, after one refused assertion,", aheadMs: 600_000, requests: 2 },
  ])("with $name start with an accepted assertion", async ({ aheadMs, requests }) => {
    const { clock, fetch, start } = fleet(({ url, init }) => emulator.fetch(url, init), plugin());
    const emulator = deployment({ now: () => clock.now() + 600_000 });
    const baseUrl = emulator.publicUrl;
    await start({ baseUrl }).getAccessToken();
    expect(fetch.calls).toHaveLength(2);
    clock.advance(hourMs - 1_000);
    const now = () => clock.now() + aheadMs;
    await start({ baseUrl, clock: { ...clock, now } }).getAccessToken();
    expect(fetch.calls).toHaveLength(2 + requests);
  });

  test("each go on alone while the store is down, with one event, and share again when it is back", async () => {
    let isDown = true;
    const { clock, store, fetch } = fleet(numbered);
    const processes = [1, 2].map(() => {
      const events: string[] = [];
      const connector = createConnector({
        credentials: [account()],
        fetch,
        clock,
        store: failingWhile(() => isDown, store),
        onEvent: ({ type }) => type.startsWith("store_") && events.push(type),
      });
      const tokens = async () => {
        const found: string[] = [];
        for (const tenantId of ["acme", "globex"]) {
          const { auth } = await connector.connect({ baseUrl: BASE_URL, tenantId });
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
    expect(await processes[0]?.tokens()).toBe(await processes[1]?.tokens());
    expect(fetch.calls).toHaveLength(6);
    for (const { events } of processes) expect(events).toEqual(["store_failed", "store_recovered"]);
  });
});
