// No refresh token of logins that processes share is sent twice, whatever is killed, paused or
// restarted. A store with a planted fault shows that the rig would notice. Crashes in the middle of
// a refresh, and more planted faults, are in test/simulation.
import { expect, test } from "vitest";
import { describeWithRedis } from "../support/redis.js";
import { LoginFleet } from "./rig.js";

/** The refreshes of the run with all faults. */
const rounds = Number(process.env.FLEET_ROUNDS ?? 2_000);
const timeout = 120_000 + 60 * rounds;
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

  // With a window, the note of the refresh would be read again before the token is sent.
  test("and the rig notices a store without locks whose writes compare nothing", async () => {
    const without = ["lock", "compare-and-set"] as const;
    const sizes = { processes: 4, logins: 5, callers: 5 };
    const fleet = await LoginFleet.start({ store: "redis", ...sizes, without, lossWindowMs: 0 });
    await fleet.run(20);
    const { broken } = await fleet.verdict();
    const twice = ["a refresh token was sent twice", "the deployment refused: refresh.reuse"];
    expect(broken).toEqual(expect.arrayContaining(twice));
  });
});

test("of logins in a file store no refresh token is sent twice by 8 processes that are killed and paused", async () => {
  const fleet = await LoginFleet.start({ store: "file", logins: 40, callers: 5 });
  const kill = () => fleet.kill();
  // A lock counts as free after five seconds without a sign of life.
  await fleet.run(300, [kill, kill, () => fleet.pause(7_000), kill]);
  const { counts, broken } = await fleet.verdict();
  console.info("logins in a file store:", JSON.stringify(counts));
  expect(broken).toEqual([]);
});
