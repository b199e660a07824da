// The store for Redis that the page on stores prints keeps its promises, on a real server.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { transformSync } from "esbuild";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { TokenStore } from "../../src/index.js";
import { testStore } from "../../src/stores/testing.js";
import { blockWith, bundleProgram, makeCacheFolder } from "../readme/pages.js";

type Send = (command: string[]) => Promise<unknown>;

/** Sends commands one after another, in version 2 of the Redis serialization protocol. */
async function connectTo(path: string): Promise<{ readonly send: Send; readonly close: () => void }> {
  const socket = connect(path).setEncoding("latin1");
  await once(socket, "connect");
  let last: Promise<unknown> = Promise.resolve();
  const exchange = async (command: string[]): Promise<unknown> => {
    const parts = command.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`);
    socket.write(`*${command.length}\r\n${parts.join("")}`);
    for (let answer = ""; ; ) {
      answer += (await once(socket, "data"))[0];
      const [line = "", type, head = ""] = /^(.)(.*)\r\n/.exec(answer) ?? [];
      const body = type === "$" && head !== "-1" ? Number(head) : undefined;
      if (line === "" || answer.length < line.length + (body === undefined ? 0 : body + 2)) continue;
      if (type === "-") throw new Error(head);
      if (type === ":") return Number(head);
      return body === undefined ? null : Buffer.from(answer.slice(line.length, -2), "latin1").toString();
    }
  };
  const send: Send = (command) => {
    last = last.catch(() => {}).then(() => exchange(command));
    return last;
  };
  return { send, close: () => socket.destroy() };
}

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
    const { code } = transformSync(blockWith("ts", "replaceScript"), { loader: "ts" });
    ({ redisStore } = await import(await bundleProgram(code, folder, "redis-store.mjs")));
    while (!existsSync(socket)) await new Promise((resolve) => setTimeout(resolve, 10));
  });
  afterAll(async () => {
    server.kill();
    await once(server, "exit");
    rmSync(folder, { recursive: true });
  });

  testStore({ describe, test }, async () => {
    const path = join(folder, "socket");
    const [one, two] = [await connectTo(path), await connectTo(path)];
    const close = () => [one, two].map((connection) => connection.close());
    return { store: redisStore(one.send), second: redisStore(two.send), close };
  });
});
