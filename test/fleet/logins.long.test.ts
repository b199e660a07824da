// No refresh token of logins that processes share is sent twice, whatever is killed, paused or
// restarted. Stores with a planted fault show that the rig would notice.
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { describeWithRedis } from "../support/redis.js";
import { LoginFleet } from "./rig.js";

/** The refreshes of the run with all faults. */
const rounds = Number(process.env.FLEET_ROUNDS ?? 2_000);
const timeout = 120_000 + 60 * rounds;
const sentTwice = expect.arrayContaining([
  "a refresh token was sent twice",
  "the deployment refused: refresh.reuse",
]);

describeWithRedis("of logins in Redis no refresh token is sent twice", () => {
  test("by 8 processes that are killed and paused, while Redis crashes", { timeout }, async () => {
    const fleet = await LoginFleet.start({
      store: "redis",
      logins: 400,
      callers: 20,
      leaseMs: 1_000,
    });
    const kill = () => fleet.kill();
    const pause = () => fleet.pause(2_000);
    const restarts = [() => fleet.restart(), () => fleet.restart({ loseLastMs: 1_000 })];
    await fleet.run(rounds, [kill, pause, ...restarts, kill, pause, ...restarts]);
    const { counts, broken } = await fleet.verdict();
    console.info("logins in Redis:", JSON.stringify(counts));
    expect(broken).toEqual([]);
  });

  test.each([
    { name: "nothing in a sound store", broken: [] },
    {
      name: "a lock that does not exclude others",
      without: ["lock"] as const,
      broken: ["two tasks ran under one lock at once"],
    },
    {
      name: "no lock, and writes that compare nothing",
      without: ["lock", "compare-and-set"] as const,
      // With a window, the note of the refresh is read again before the token is sent.
      lossWindowMs: 0,
      broken: sentTwice,
    },
  ])("and the rig notices $name", async ({ broken, ...options }) => {
    const fleet = await LoginFleet.start({
      store: "redis",
      processes: 4,
      logins: 5,
      callers: 5,
      ...options,
    });
    await fleet.run(20);
    expect((await fleet.verdict()).broken).toEqual(broken);
  });

  test.each([
    { name: "nothing if the store says what a crash loses", lossWindowMs: 2_000, broken: [] },
    { name: "a store that says that a crash loses nothing", lossWindowMs: 0, broken: sentTwice },
  ])(
    "and after a crash during a refresh the rig notices $name",
    async ({ lossWindowMs, broken }) => {
      const options = {
        store: "redis",
        processes: 2,
        logins: 1,
        timeoutMs: 10_000,
        lossWindowMs,
      } as const;
      const fleet = await LoginFleet.start(options);
      const [one, other] = fleet.processes.map((process) => [process]);
      // The token has expired, and the login itself is not lost.
      await sleep(2_500);
      let second: Promise<unknown> | undefined;
      fleet.onRefresh = async () => {
        fleet.onRefresh = async () => {};
        await fleet.restart({ loseLastMs: 1_000 });
        second = fleet.check(other);
        await Promise.race([second, sleep(3_000)]);
      };
      await fleet.check(one);
      await second;
      expect((await fleet.verdict()).broken).toEqual(broken);
    },
  );
});

describe("of logins in a file store no refresh token is sent twice", () => {
  test("by 8 processes that are killed and paused", async () => {
    const fleet = await LoginFleet.start({ store: "file", logins: 40, callers: 5 });
    const kill = () => fleet.kill();
    // A lock counts as free after five seconds without a sign of life.
    await fleet.run(300, [kill, kill, () => fleet.pause(7_000), kill]);
    const { counts, broken } = await fleet.verdict();
    console.info("logins in a file store:", JSON.stringify(counts));
    expect(broken).toEqual([]);
  });
});
