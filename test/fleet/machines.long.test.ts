// Processes that share a store need one token between them, and share what one of them has learnt.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { Emulator, EmulatorOptions } from "../../src/emulator/index.js";
import { temporaryFolder } from "../stores/temporary-folder.js";
import { ACCOUNT_ID, ACCOUNT_SECRET, deployment, PLUGIN_ID } from "../support/deployment.js";
import { otherRsaKey, pkcs8, rsaKey } from "../support/keys.js";
import { describeWithRedis, startRedis } from "../support/redis.js";
import type { Settings } from "./process.js";
import { type FleetProcess, startProcess } from "./rig.js";

async function listening(options: EmulatorOptions = {}): Promise<Emulator> {
  const emulator = deployment({ publicUrl: undefined, variants: ["A"], ...options });
  const { close } = await emulator.listen();
  onTestFinished(close);
  return emulator;
}

type SettingsOf = (index: number) => Partial<Settings>;

/** Starts processes, which wait for `begin`. */
function startProcesses(count: number, { url = "" }: Emulator, settingsOf: SettingsOf) {
  const usual = { baseUrl: url, timeoutMs: 10_000, plugin: pluginOf(PLUGIN_ID) };
  const start = (_: unknown, index: number) => startProcess({ ...usual, ...settingsOf(index) });
  return Promise.all(Array.from({ length: count }, start));
}

const pluginOf = (clientId: string) => ({ clientId, privateKey: pkcs8(rsaKey()) });

async function inRedis(): Promise<SettingsOf> {
  const { url } = await startRedis();
  return (index) => ({ store: { redis: { url, library: index % 2 === 0 ? "redis" : "ioredis" } } });
}

function begin(processes: readonly FleetProcess[]): void {
  for (const { order } of processes) order("begin");
}

/** Waits until each process has had so many tokens. */
async function expectTokens(processes: readonly FleetProcess[], count: number): Promise<void> {
  const least = () => Math.min(...processes.map(({ all }) => all("token").length));
  await expect.poll(least, { timeout: 60_000 }).toBeGreaterThanOrEqual(count);
}

const statuses = ({ journal }: Emulator) => journal.entries().map(({ status }) => status);

describeWithRedis("processes with one tenant", () => {
  test("32 that begin at once on an empty Redis send one request for each of three lifetimes of a token", async () => {
    const extras = { tokenResponseExtras: { expires_in: 8 } };
    const emulator = await listening({ variants: ["B"], tokenLifetimeSeconds: 8, ...extras });
    const account = { clientId: ACCOUNT_ID, clientSecret: ACCOUNT_SECRET };
    const settingsOf = await inRedis();
    const processes = await startProcesses(32, emulator, (index) => ({
      ...settingsOf(index),
      account,
    }));
    begin(processes);
    await expectTokens(processes, 1);
    // They have credentials of both variants: three questions for the variant, and the token
    // request.
    expect(statuses(emulator)).toEqual([404, 400, 404, 200]);
    await expectTokens(processes, 3);
    expect(statuses(emulator)).toEqual([404, 400, 404, 200, 200, 200]);
    expect(processes.flatMap(({ all }) => all("code"))).toEqual([]);
  });

  test("32 that begin at once on an empty file store send one token request", async () => {
    const emulator = await listening();
    const file = {
      path: join(temporaryFolder(), "store"),
      key: randomBytes(32).toString("base64"),
    };
    const processes = await startProcesses(32, emulator, () => ({ store: { file } }));
    begin(processes);
    await expectTokens(processes, 1);
    expect(statuses(emulator)).toEqual([200]);
  });

  test("16 with a wrong key send one request for each step of the backoff", async () => {
    const emulator = await listening();
    const wrong = { clientId: PLUGIN_ID, privateKey: pkcs8(otherRsaKey()) };
    const redis = await inRedis();
    const processes = await startProcesses(16, emulator, (index) => ({
      ...redis(index),
      plugin: wrong,
    }));
    begin(processes);
    await expect.poll(() => statuses(emulator)).toEqual([400, 400, 400, 400]);
    await sleep(1_000);
    const instants = emulator.journal.entries().map(({ at }) => at);
    const pauses = instants.slice(1).map((at, index) => at - (instants[index] ?? 0));
    // Each step lasts twice as long as the one before.
    expect(pauses.map((ms, step) => ms >= 1_000 * 2 ** step)).toEqual([true, true, true]);
    for (const { all } of processes)
      expect(new Set(all("code"))).toEqual(new Set(["token_refused"]));
  });

  test("8 get a token each while Redis hangs, and share the next one", async () => {
    const redis = await startRedis();
    const emulator = await listening({ tokenLifetimeSeconds: 15 });
    const store = { redis: { url: redis.url, library: "redis" } } as const;
    const processes = await startProcesses(8, emulator, () => ({ store }));
    redis.suspend();
    begin(processes);
    const startedAt = performance.now();
    await expectTokens(processes, 1);
    // Each gives Redis up after 1.9 s.
    expect(performance.now() - startedAt).toBeLessThan(12_000);
    redis.resume();
    await expectTokens(processes, 2);
    expect(statuses(emulator)).toEqual(Array(9).fill(200));
    for (const { all } of processes) {
      const ofStore = all("event").filter((type) => type.startsWith("store_"));
      expect(ofStore).toEqual(["store_failed", "store_recovered"]);
    }
  });
});
