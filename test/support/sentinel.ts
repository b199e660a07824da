// A primary, a replica and three sentinels, each a real process on loopback.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { describe } from "vitest";
import { freePort } from "./recording-server.js";
import { type RedisServer, startRedis } from "./redis.js";

const program = ["/usr/bin/redis-sentinel", "/usr/local/bin/redis-sentinel"].find((path) =>
  existsSync(path),
);
const needed = "needs Redis Sentinel (Debian: apt-get install redis-sentinel redis-server)";

export function describeWithSentinel(title: string, tests: () => void): void {
  if (program === undefined) console.warn(`skipped: "${title}" ${needed}`);
  describe.skipIf(program === undefined)(title, tests);
}

/** The name of the primary, for clients. */
export const SENTINEL_NAME = "fleet";
/**
 * How long a primary must be silent before the sentinels choose another. Redis' own default is 30
 * s.
 */
export const DOWN_AFTER_MS = 1_000;

export interface SentinelGroup {
  /** The ports of the sentinels. */
  readonly ports: readonly number[];
  /** Crashes the primary: SIGKILL. It can be killed once. */
  kill(): Promise<void>;
  /** Waits until the sentinels name the replica as the primary. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startSentinels(): Promise<SentinelGroup> {
  if (program === undefined) throw new Error(`This ${needed}.`);
  const sentinel = program;
  const servers: RedisServer[] = [];
  const sentinels: ChildProcess[] = [];
  const folder = mkdtempSync(join(tmpdir(), "bivariant-sentinel-"));
  const stop = async () => {
    for (const child of sentinels) child.kill("SIGKILL");
    await Promise.all(servers.map((server) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const primary = await startRedis();
    servers.push(primary);
    const replica = await startRedis({ args: ["--replicaof", "127.0.0.1", String(primary.port)] });
    servers.push(replica);
    const ports = await Promise.all([freePort(), freePort(), freePort()]);
    for (const port of ports) {
      const file = join(folder, `${port}.conf`);
      const lines = [
        ...[`port ${port}`, "bind 127.0.0.1", `dir ${folder}`],
        `sentinel monitor ${SENTINEL_NAME} 127.0.0.1 ${primary.port} 2`,
        `sentinel down-after-milliseconds ${SENTINEL_NAME} ${DOWN_AFTER_MS}`,
        `sentinel failover-timeout ${SENTINEL_NAME} 5000`,
      ];
      writeFileSync(file, `${lines.join("\n")}\n`);
      const child = spawn(sentinel, [file], { stdio: "ignore" });
      sentinels.push(child);
      process.once("exit", () => void child.kill("SIGKILL"));
      await once(child, "spawn");
    }
    const ask = async (port: number, ...command: [string, ...string[]]) => {
      const client = new Redis({
        port,
        host: "127.0.0.1",
        lazyConnect: true,
        retryStrategy: () => null,
      });
      client.on("error", () => {});
      try {
        await client.connect();
        return (await client.call(...command)) as string[];
      } catch {
        return [];
      } finally {
        client.disconnect();
      }
    };
    const until = async (what: string, holds: () => Promise<boolean>) => {
      const endsAt = Date.now() + 60_000;
      while (!(await holds())) {
        if (Date.now() > endsAt) throw new Error(`The sentinels did not ${what} within a minute.`);
        await sleep(50);
      }
    };
    // The sentinels learn of the replica and of each other from the primary.
    const knows = async (port: number) => {
      const replicas = await ask(port, "sentinel", "replicas", SENTINEL_NAME);
      const others = await ask(port, "sentinel", "sentinels", SENTINEL_NAME);
      return replicas.length === 1 && others.length === 2;
    };
    await until("find each other", async () =>
      (await Promise.all(ports.map(knows))).every(Boolean),
    );
    const isMoved = async (port: number) =>
      (await ask(port, "sentinel", "get-master-addr-by-name", SENTINEL_NAME))[1] ===
      String(replica.port);
    const isPrimary = async () => (await ask(replica.port, "role"))[0] === "master";
    return {
      ports,
      kill: () => primary.kill(),
      restart: () =>
        until(
          "fail over",
          async () => (await Promise.all(ports.map(isMoved))).every(Boolean) && isPrimary(),
        ),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
