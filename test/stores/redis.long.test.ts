// The store for Redis with each library alone, in a cluster, encrypted, and with a server that
// hangs.
import { randomBytes } from "node:crypto";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { encryptedStore } from "../../src/stores/encrypted.js";
import { type RedisClient, redisStore } from "../../src/stores/redis.js";
import { testStore } from "../../src/stores/testing.js";
import { read } from "../readme/pages.js";
import { describeWithRedis, type RedisServer, startRedis } from "../support/redis.js";
import { rejectionOf } from "../support/wait.js";
import { closeClients, connectClient, connectCluster } from "./redis-clients.js";

afterAll(closeClients);

describeWithRedis("redisStore", () => {
  describe.each(["redis", "ioredis"] as const)("with clients of %s", (library) => {
    let server: RedisServer;
    let one: RedisClient;
    let two: RedisClient;
    beforeAll(async () => {
      server = await startRedis();
      one = connectClient[library](server.url);
      two = connectClient[library](server.url);
      return () => server.stop();
    });
    const key = randomBytes(32);
    const encrypted = (client: RedisClient) =>
      encryptedStore(redisStore(client, { prefix: "encrypted" }), key);
    testStore({ describe, test }, () => ({ store: redisStore(one), second: redisStore(two) }));
    describe("encrypted", () =>
      testStore({ describe, test }, () => ({ store: encrypted(one), second: encrypted(two) })));

    test("a lock is renewed while its task runs longer than the lease", async () => {
      const isLost = await redisStore(one, {}, 3_000).lock("long task", async (lease) => {
        await new Promise((resolve) => setTimeout(resolve, 4_500));
        const refusal = await rejectionOf(
          redisStore(two).lock("long task", async () => {}, { timeoutMs: 0 }),
        );
        expect(refusal).toMatchObject({ code: "store_locked" });
        return lease?.aborted;
      });
      expect(isLost).toBe(false);
    });

    test("needs no rights but those that the page on stores names", async () => {
      const [, rights = ""] = read("src/stores/redis.md").match(/ACL needs `(.*?)`/) ?? [];
      const user = ["--user", "app", "on", ">pw", "~bivariant:*", ...rights.split(" ")];
      const own = await startRedis({ args: user });
      vi.spyOn(console, "warn").mockReturnValue();
      const store = redisStore(
        connectClient[library](own.url.replace("//", "//app:pw@")),
        {},
        3_000,
      );
      const { version } = await store.set("key", "1", { expiresAt: Date.now() + 60_000 });
      const outcome = await store.lock("key", async (lease) => {
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        await store.set("key", "2", { ifVersion: version });
        return lease?.aborted;
      });
      expect([outcome, (await store.get("key"))?.value]).toEqual([false, "2"]);
      await store.delete("key");
    });

    test("a lock that Redis does not answer is store_unavailable soon after its limit, and free later", async () => {
      const own = await startRedis();
      const store = redisStore(connectClient[library](own.url));
      await store.set("key", "value");
      own.suspend();
      let hasRun = false;
      const task = async () => {
        hasRun = true;
      };
      const error = await rejectionOf(store.lock("key", task, { timeoutMs: 100 }));
      expect(error).toMatchObject({
        code: "store_unavailable",
        message: expect.stringMatching(/in time/),
      });
      own.resume();
      expect((await store.get("key"))?.value).toBe("value");
      expect(hasRun).toBe(false);
      // The late lock was released, so this does not wait for its lease of 15 s.
      expect(await store.lock("key", async () => "free", { timeoutMs: 5_000 })).toBe("free");
    });
  });

  describe.each(["redis", "ioredis"] as const)("in a cluster, with clients of %s", (library) => {
    let server: RedisServer;
    let cluster: RedisClient;
    beforeAll(async () => {
      server = await startRedis({
        args: ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"],
      });
      const raw = createClient({ url: server.url });
      await raw.connect();
      await raw.sendCommand(["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
      const info = () => raw.sendCommand(["CLUSTER", "INFO"]);
      await vi.waitFor(
        async () => expect(String(await info())).toContain("cluster_state:ok"),
        20_000,
      );
      raw.destroy();
      cluster = await connectCluster(library, server.url);
      return () => server.stop();
    });
    testStore({ describe, test }, () => redisStore(cluster));
  });
});
