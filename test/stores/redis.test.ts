// The store for Redis that the page on stores prints keeps its promises, on a real server.
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { TokenStore } from "../../src/index.js";
import { testStore } from "../../src/stores/testing.js";
import { blockWith, bundleProgram, makeCacheFolder } from "../readme/pages.js";

type Send = (command: string[]) => Promise<unknown>;

const isInstalled = spawnSync("redis-server", ["--version"]).status === 0;

describe.skipIf(!isInstalled)("the redisStore of src/stores/README.md", () => {
  let folder: string;
  let server: ChildProcess;
  let redisStore: (send: Send) => TokenStore;
  beforeAll(async () => {
    folder = makeCacheFolder();
    const socket = join(folder, "socket");
    const args = ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder];
    server = spawn("redis-server", args, { stdio: "ignore" });
    const code = blockWith("ts", "replaceScript");
    ({ redisStore } = await import(await bundleProgram(code, folder, "redis-store.mjs")));
    while (!existsSync(socket)) await new Promise((resolve) => setTimeout(resolve, 10));
  });
  afterAll(async () => {
    server.kill();
    await once(server, "exit");
    rmSync(folder, { recursive: true });
  });

  testStore({ describe, test }, () =>
    redisStore(async (command) => {
      const args = ["-e", "-s", join(folder, "socket"), "--json", ...command];
      return JSON.parse((await promisify(execFile)("redis-cli", args)).stdout);
    }),
  );
});
