// The command of the README, with kills of both kinds.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { describeWithRedis } from "../../support/redis.js";
import { describeWithSentinel } from "../../support/sentinel.js";

const command = fileURLToPath(new URL("fleet.ts", import.meta.url));

describeWithRedis("the fleet", () => {
  test("goes on through kills of replicas and of Redis, and asks for far fewer tokens than without a store", async () => {
    // With this seed Redis is killed after the first renewals, and back before the second ones.
    const args = ["--import", "tsx", command, "--seconds", "16", "--seed", "500", "--compare"];
    // It exits with 1 if a refresh token was reused, a session was answered as another's, or a
    // request hung.
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 200_000 });
    const [fleet, alone] = stdout.split("without a store");
    const count = (what: string, table = fleet) =>
      Number(table?.match(new RegExp(`^${what} +(\\d+)$`, "m"))?.[1] ?? 0);
    for (const what of ["kills of a replica", "kills of Redis", "sessions that outlived a kill"])
      expect(count(what), what).toBeGreaterThan(0);
    for (const what of ["login", "launch", "machine", "person"])
      expect(count(`${what}: 200`), what).toBeGreaterThan(0);
    const machines = "token request: client_credentials 200";
    expect(count(machines)).toBeLessThan(0.6 * count(machines, alone));
  });
});

describeWithSentinel("the fleet with Redis Sentinel", () => {
  test("goes on when the primary is killed, with no failed call later than 3 s after the failover and no refresh token sent twice", async () => {
    const args = ["--import", "tsx", command, "--seconds", "24", "--seed", "1", "--sentinel"];
    // It exits with 1 for a refresh token that was reused, and a call that failed once the new
    // primary was there for 3 s.
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 200_000 });
    const count = (what: string) =>
      Number(stdout.match(new RegExp(`^${what} +(\\d+)$`, "m"))?.[1] ?? Number.NaN);
    expect(count("failovers of Redis")).toBe(1);
    expect(count("sessions that outlived a kill")).toBeGreaterThan(0);
    expect(count("refresh tokens refused or reused")).toBe(0);
    expect(count("failover: ms until the replica was the primary")).toBeLessThan(30_000);
    expect(count("token request: refresh_token 200")).toBeGreaterThan(0);
  });
});
