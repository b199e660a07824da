// What the tests with a real Redis rely on.
import { createClient } from "redis";
import { expect, onTestFinished, test } from "vitest";
import { describeWithRedis, startRedis } from "./redis.js";

describeWithRedis("a Redis for tests", () => {
  test("loses its last writes only in a crash that is asked to lose them", async () => {
    const server = await startRedis();
    const client = await createClient({ url: server.url })
      .on("error", () => {})
      .connect();
    onTestFinished(() => client.destroy());
    await client.set("early", "1");
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await client.set("late", "2");
    const before = server.pid;
    await server.restart();
    expect(server.pid).not.toBe(before);
    expect(await client.mGet(["early", "late"])).toEqual(["1", "2"]);
    await client.set("middle", "3");
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await client.set("later", "4");
    await server.kill();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await server.restart({ loseLastMs: 1_000 });
    expect(await client.mGet(["early", "late", "middle", "later"])).toEqual(["1", "2", "3", null]);
  });
});
