// The store for Redis on a real server, through both libraries.
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { createClient, createClientPool, createSentinel } from "redis";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { encryptedStore } from "../../src/stores/encrypted.js";
import { type RedisClient, redisStore } from "../../src/stores/redis.js";
import { describeWithRedis, type RedisServer, startRedis } from "../support/redis.js";
import { rejectionOf } from "../support/wait.js";
import { describeRefusals, describeStore } from "./own-store.js";
import { closeClients, connectClient } from "./redis-clients.js";

afterAll(closeClients);

const libraries = ["redis", "ioredis"] as const;
/**
 * The libraries and the server have the machine's time, and no event says that a library has
 * noticed a lost connection.
 */
const elapsed = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** Leases expire by the server's time: the shortest that a busy machine keeps. */
const leaseMs = 300;

/** Ends when the lease of a lock is lost. */
const lossOf = (lease?: AbortSignal) =>
  new Promise((resolve) => {
    if (lease?.aborted) resolve(lease.reason);
    lease?.addEventListener("abort", () => resolve(lease.reason));
  });

describeWithRedis("redisStore", () => {
  let server: RedisServer;
  let clients: Record<(typeof libraries)[number], RedisClient>;
  let raw: ReturnType<typeof createClient>;
  beforeAll(async () => {
    server = await startRedis();
    const { url } = server;
    clients = { redis: connectClient.redis(url), ioredis: connectClient.ioredis(url) };
    raw = createClient({ url });
    await raw.connect();
    return async () => {
      raw.destroy();
      await server.stop();
    };
  });
  let prefix: string;
  beforeEach(() => {
    prefix = `test ${crypto.randomUUID()}`;
  });
  const create = () => redisStore(clients.redis, { prefix });
  /** Another handle on the same data, with the other library and a short lease. */
  const short = (client = clients.ioredis) => redisStore(client, { prefix }, leaseMs);

  describeStore({
    name: "with a client of each library",
    create,
    make: () => ({ store: redisStore(clients.redis), second: redisStore(clients.ioredis) }),
    expiresByServer: true,
  });
  describeRefusals({ name: "redisStore", create });

  test("stores with different prefixes share neither entries nor locks", async () => {
    const names = ["a", "a:entry", "a:entry:{", "{a}", ""];
    const stores = names.map((prefix) => redisStore(clients.ioredis, { prefix }));
    for (const [index, store] of stores.entries()) await store.set("key", names[index] ?? "");
    const found = await Promise.all(stores.map((store) => store.get("key")));
    expect(found.map((entry) => entry?.value)).toEqual(names);
    const lockAll = ([store, ...others]: typeof stores): Promise<unknown> =>
      store?.lock("key", () => lockAll(others), { timeoutMs: 0 }) ?? Promise.resolve();
    await lockAll(stores);
  });

  test("an entry and the lock of its key have the same hash tag, also for a key with braces", async () => {
    const store = create();
    await store.set("}a{b}%", "value");
    const names = await store.lock("}a{b}%", () => raw.keys(`${prefix}*`));
    expect(names.sort()).toEqual(
      ["entry", "lock"].map((kind) => `${prefix}:${kind}:{%7da%7bb%7d%25}`),
    );
  });

  test("in a database of encrypted values, only key names can be read", async () => {
    const store = encryptedStore(redisStore(clients.redis), randomBytes(32));
    const { version } = await store.set('["token","https://a.example"]', "secret-value");
    const last = await store.set('["token","https://a.example"]', "secret-value-2", {
      ifVersion: version,
    });
    const folder = join(server.folder, "appendonlydir");
    const read = () =>
      readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
    // While the disk is slow, Redis writes up to two seconds later.
    await expect.poll(() => read().join()).toContain(last.version);
    const all = read().join();
    expect(all).toContain('bivariant:entry:{["token","https://a.example"]}');
    expect(all).not.toContain("secret-value");
  });

  test.each(libraries)(
    "works on after a restart of Redis, with the same client of %s",
    async (library) => {
      const own = await startRedis();
      const store = redisStore(connectClient[library](own.url));
      const written = await store.set("key", "kept");
      await own.restart();
      await expect.poll(() => store.get("key").catch(() => {})).toEqual(written);
      expect(await store.lock("key", async () => "taken")).toBe("taken");
    },
  );

  test("keeps an entry for as long as its writer meant, although the writer's clock is an hour behind", async () => {
    const now = () => Date.now() - 3_600_000;
    const store = redisStore(clients.redis, { prefix, clock: { now } });
    await store.set("key", "value", { expiresAt: now() + 60_000 });
    expect(await store.get("key")).toMatchObject({ value: "value" });
    await store.set("key", "value", { expiresAt: now() + 1 });
    await expect.poll(() => store.get("key")).toBeUndefined();
  });

  // Both libraries send a command again when the connection was lost before its answer.
  test("a command that is executed twice counts once", async () => {
    const sendCommand = async (command: string[]) => {
      await raw.sendCommand(command);
      return raw.sendCommand(command);
    };
    const store = redisStore({ sendCommand }, { prefix });
    const { version } = await store.set("twice", "1", { ifVersion: null });
    await store.set("twice", "2", { ifVersion: version });
    expect(await store.lock("twice", async () => "taken", { timeoutMs: 0 })).toBe("taken");
  });

  test("a write whose caller gave up before it was sent is dropped", async () => {
    const own = await startRedis();
    const store = redisStore(connectClient.redis(own.url));
    const early = rejectionOf(store.set("early", "1", { signal: AbortSignal.abort() }));
    expect(await early).toMatchObject({ name: "AbortError" });
    expect(await store.get("early")).toBeUndefined();
    await own.kill();
    await elapsed(50);
    const gaveUp = new AbortController();
    // The library holds it until the client is connected again.
    const queued = rejectionOf(store.set("queued", "1", { signal: gaveUp.signal }));
    await elapsed(50);
    gaveUp.abort();
    await own.restart();
    await expect.poll(() => store.set("later", "1").catch(() => {})).toMatchObject({ value: "1" });
    expect(await store.get("queued")).toBeUndefined();
    expect(await queued).toMatchObject({ code: "store_unavailable" });
  });

  test.each([
    ["a text", (name: string) => raw.set(name, "secret of another program")],
    ["a list", (name: string) => raw.lPush(name, "secret of another program")],
  ])("a key that holds %s of another program is store_corrupt, and stays", async (_what, plant) => {
    const name = `${prefix}:entry:{key}`;
    await plant(name);
    const before = await raw.dump(name);
    const store = short();
    const error = await rejectionOf(store.get("key"));
    expect(error).toMatchObject({ name: "StoreError", code: "store_corrupt" });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain("secret of another");
    await rejectionOf(store.set("key", "value", { ifVersion: null }));
    expect(await raw.dump(name)).toEqual(before);
    await store.delete("key");
    await store.set("key", "value", { ifVersion: null });
  });

  const refusedAs = (message: string, code?: string) =>
    Object.assign(new Error(message), code && { code });
  test.each([
    ["an answer that quotes the command", "(ERR)", refusedAs("ERR unknown, args: 'secret-1'")],
    ["a refused login", "(NOAUTH)", refusedAs("NOAUTH secret-1")],
    ["a lost connection", "ECONNREFUSED", refusedAs("secret-1", "ECONNREFUSED")],
  ])(
    "%s is store_unavailable, with its code %s and without a secret",
    async (_what, shows, error) => {
      const fault = Object.assign(error, { command: { name: "eval", args: ["secret-1"] } });
      const store = redisStore({ sendCommand: () => Promise.reject(fault) });
      for (const use of [() => store.set("key", "secret-1"), () => store.lock("key", never)]) {
        const refusal = await rejectionOf(use());
        expect(refusal).toMatchObject({ name: "StoreError", code: "store_unavailable" });
        const shown = inspect(refusal, { depth: 9, showHidden: true });
        expect(shown).toContain(shows);
        expect(shown).not.toContain("secret-1");
      }
    },
  );

  test.each([undefined, "redis://127.0.0.1", {}, { sendCommand: "x" }])(
    "refuses %j as a client, and says what to pass",
    (client) => {
      const refusal = {
        code: "option_invalid",
        option: "client",
        message: expect.stringMatching(/ioredis/),
      };
      expect(() => redisStore(client as never)).toThrow(expect.objectContaining(refusal));
    },
  );
  test.each([{ prefix: 5 }, { lossWindowMs: -1 }, { lossWindowMs: "1" }, null])(
    "refuses the options %j",
    (options) => {
      const refusal = expect.objectContaining({ code: "option_invalid" });
      expect(() => redisStore(clients.redis, options as never)).toThrow(refusal);
    },
  );

  test("accepts pools and clients of Sentinel", async () => {
    const pool = createClientPool({ url: server.url });
    await pool.connect();
    onTestFinished(() => pool.destroy());
    await redisStore(pool).set("by the pool", "value");
    expect((await redisStore(clients.redis).get("by the pool"))?.value).toBe("value");
    const sentinel = createSentinel({ name: "main", sentinelRootNodes: [] });
    const sent: unknown[][] = [];
    sentinel.sendCommand = async (...args: unknown[]) => void sent.push(args) as never;
    await redisStore(sentinel).get("key");
    expect(sent).toEqual([[false, expect.arrayContaining(["bivariant:entry:{key}"]), undefined]]);
  });

  test("declares that a crash may lose two seconds of writes, unless it is set", () => {
    const encrypted = encryptedStore(redisStore(clients.redis), randomBytes(32));
    const stores = [
      redisStore(clients.redis, { lossWindowMs: 0 }),
      redisStore(clients.redis),
      encrypted,
    ];
    expect(stores.map(({ lossWindowMs }) => lossWindowMs)).toEqual([0, 2_000, 2_000]);
  });

  describe("a lock", () => {
    test.each([
      ["is gone", (name: string) => raw.del(name), null],
      ["has another holder", (name: string) => raw.set(name, "another"), "another"],
    ] as const)(
      "that %s aborts the signal of its task, and is left so",
      async (_state, change, left) => {
        const name = `${prefix}:lock:{key}`;
        const loss = await short().lock("key", async (lease) => {
          await change(name);
          return lossOf(lease);
        });
        expect(loss).toMatchObject({
          code: "store_locked",
          message: expect.stringMatching(/another process/),
        });
        expect(await raw.get(name)).toBe(left);
      },
    );

    test("aborts the signal of its task when Redis does not answer for a whole lease", async () => {
      const own = await startRedis();
      const store = redisStore(connectClient.redis(own.url), {}, leaseMs);
      const loss = await store.lock("key", async (lease) => {
        own.suspend();
        return lossOf(lease);
      });
      expect(loss).toMatchObject({ code: "store_locked" });
      own.resume();
      expect(await store.lock("key", async () => "free")).toBe("free");
    });

    test("of a holder that disappeared is free after its lease", async () => {
      const holder = createClient({ url: server.url });
      await holder.connect();
      const began = performance.now();
      await new Promise<void>((resolve) => {
        const hang = () => new Promise<never>(() => resolve());
        short(holder).lock("key", hang).catch(never);
      });
      holder.destroy();
      await short().lock("key", async () => {});
      expect(performance.now() - began).toBeGreaterThan(leaseMs - 1);
    });

    test("that was acquired without an answer is released", async () => {
      const sendCommand = async (command: string[]) => {
        await raw.sendCommand(command);
        throw new Error("Socket closed unexpectedly");
      };
      // The scripts are known after this.
      await create().lock("key", async () => {});
      const lost = redisStore({ sendCommand }, { prefix }).lock("key", never);
      expect(await rejectionOf(lost)).toMatchObject({ code: "store_unavailable" });
      expect(await create().lock("key", async () => "free", { timeoutMs: 5_000 })).toBe("free");
    });

    test("asks Redis for one waiter of this process at a time", async () => {
      let asked = 0;
      let ran = 0;
      const sendCommand = (command: string[]) => {
        asked++;
        return raw.sendCommand(command);
      };
      const store = redisStore({ sendCommand }, { prefix });
      const locks = Array.from({ length: 200 }, () => store.lock("key", async () => void ran++));
      await Promise.all(locks);
      expect(ran).toBe(200);
      // Each acquires and releases, and the first of both may also send the text of its script.
      expect(asked).toBeLessThanOrEqual(402);
    });
  });
});

function never(): Promise<never> {
  return new Promise(() => {});
}
