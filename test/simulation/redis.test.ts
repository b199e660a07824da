// The simulated Redis answers as a real one does, to the same random commands of the store.
import { afterAll, expect, test } from "vitest";
import { redisStore } from "../../src/stores/redis.js";
import { closeClients, connectClient } from "../stores/redis-clients.js";
import { describeWithRedis, startRedis } from "../support/redis.js";
import { randomOf } from "./random.js";
import { RedisData } from "./redis.js";

afterAll(closeClients);

describeWithRedis("the simulated Redis", () => {
  test("answers 1,500 random operations as a real one", async () => {
    const { url } = await startRedis();
    const real = connectClient.ioredis(url) as { call(...command: string[]): Promise<unknown> };
    const data = new RedisData(Date.now);
    const random = randomOf(7);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
    const answers: unknown[][] = [];
    const client = {
      async call(command: string, ...args: string[]) {
        const simulated = data.run(args);
        const answer = await real.call(command, ...args).catch(String);
        answers.push([simulated, answer, ...args.slice(2)]);
        return answer;
      },
    };
    const [store, other] = [redisStore(client), redisStore(client)];
    const versions: string[] = ["none"];
    const setOptions = () => ({
      ...pick([{}, { ifVersion: null }, { ifVersion: pick(versions) }]),
      // In the past, or in a future that does not come within this test.
      ...pick([{}, { expiresAt: 1 }, { expiresAt: Date.now() + 3_600_000 }]),
    });
    const step = async () => {
      const key = pick(["a", "b", "{c}", "\ud83d"]);
      const operation = pick(["get", "set", "set", "delete", "lock", "two locks"]);
      if (operation === "get") await store.get(key);
      if (operation === "set")
        versions.push((await store.set(key, `value ${random()}`, setOptions())).version);
      if (operation === "delete") await store.delete(key);
      if (operation === "lock") await store.lock(key, async () => {});
      if (operation === "two locks")
        await store.lock(key, () => other.lock(key, async () => {}, { timeoutMs: 1 }));
    };
    // Conflicts and locks that are not free reject.
    for (let number = 0; number < 1_500; number++) await step().catch(() => {});
    expect(answers.length).toBeGreaterThan(1_500);
    for (const [simulated, answer, ...args] of answers)
      expect({ args, answer: simulated }).toEqual({ args, answer });
    expect(new Set(answers.map(([answer]) => typeof answer)).size).toBeGreaterThan(1);
  });
});
