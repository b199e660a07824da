// Starts a Redis or Valkey for the rows that need one.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "redis";
import { NotMeasured } from "./measure.js";

/** What the rows and the store use of a client. */
export interface RedisClient {
  sendCommand(command: string[]): Promise<unknown>;
}

/** Runs a task with a client of a new server, which listens on a socket file. @throws NotMeasured without Redis */
export async function withRedis<T>(task: (client: RedisClient) => Promise<T>): Promise<T> {
  const programs = [process.env.REDIS_PROGRAM ?? "", "redis-server", "valkey-server"];
  const program = programs.find((name) => name && spawnSync(name, ["--version"]).status === 0);
  if (program === undefined)
    throw new NotMeasured("Redis is not installed (Debian: apt-get install redis-server)");
  const folder = mkdtempSync(join(tmpdir(), "bivariant-bench-"));
  // As the store expects it by default: its lossWindowMs is for this persistence.
  const persistence = ["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""];
  const path = join(folder, "socket");
  const where = ["--port", "0", "--unixsocket", path, "--dir", folder];
  const server = spawn(program, [...where, ...persistence], { stdio: "ignore" });
  const ended = once(server, "exit");
  // It needs a moment to listen.
  const reconnectStrategy = (attempts: number) => (attempts < 100 ? 50 : new Error("Redis did not start"));
  const client = createClient({ socket: { path, tls: false, reconnectStrategy } });
  client.on("error", () => {});
  try {
    await client.connect();
    return await task(client);
  } finally {
    client.destroy();
    server.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** How many commands the server has executed, without those that ask for this number. */
export async function commandsOf(client: RedisClient): Promise<number> {
  const stats = String(await client.sendCommand(["INFO", "commandstats"]));
  const counts = [...stats.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)];
  return counts.reduce((sum, [, name, calls]) => sum + (name === "info" ? 0 : Number(calls)), 0);
}
