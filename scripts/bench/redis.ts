// Starts a Redis or Valkey for the rows that need one.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createClient } from "redis";
import type { TokenStore } from "../../src/index.js";
import { type Build, NotMeasured } from "./measure.js";

/**
 * Runs a task with a store in a new server, and a function that counts the commands which the
 * server has executed, besides those that ask for this number.
 *
 * @throws NotMeasured without Redis
 */
export async function withRedisStore<T>(
  { folder }: Build,
  task: (store: TokenStore, commands: () => Promise<number>) => Promise<T>,
): Promise<T> {
  const programs = [process.env.REDIS_PROGRAM ?? "", "redis-server", "valkey-server"];
  const program = programs.find((name) => name && spawnSync(name, ["--version"]).status === 0);
  if (program === undefined)
    throw new NotMeasured("Redis is not installed (Debian: apt-get install redis-server)");
  const data = mkdtempSync(join(tmpdir(), "bivariant-bench-"));
  const path = join(data, "socket");
  const where = ["--port", "0", "--unixsocket", path, "--dir", data, "--save", ""];
  // With --save "" the server writes nothing to the disk, whose other users would be measured too.
  const server = spawn(program, where, { stdio: "ignore" });
  const ended = once(server, "exit");
  // The server needs a moment until it listens.
  const reconnectStrategy = (attempts: number) =>
    attempts < 100 ? 50 : new Error("Redis did not start");
  const client = createClient({ socket: { path, tls: false, reconnectStrategy } }).on(
    "error",
    () => {},
  );
  const commands = async (): Promise<number> => {
    const stats = await client.info("commandstats");
    const counts = [...stats.matchAll(/^cmdstat_(?!info:)\S+?:calls=(\d+)/gm)];
    return counts.reduce((sum, [, calls]) => sum + Number(calls), 0);
  };
  try {
    await client.connect();
    // The folder is removed already, because a row that takes too long is killed. The connection no
    // longer needs it.
    rmSync(data, { recursive: true });
    const entry = pathToFileURL(join(folder, "dist/node/src/stores/redis.js")).href;
    const { redisStore } = (await import(entry)) as typeof import("../../src/stores/redis.js");
    return await task(redisStore(client), commands);
  } finally {
    client.destroy();
    server.kill();
    await ended;
    rmSync(data, { recursive: true, force: true });
  }
}
