// The programs of the pages about Redis, as printed, with real servers.
import { pathToFileURL } from "node:url";
import { afterEach, expect, test, vi } from "vitest";
import type { TokenStore } from "../../src/index.js";
import { blockWith, bundleProgram, cacheFolder } from "../readme/pages.js";
import { describeWithRedis, startRedis } from "../support/redis.js";
import { describeWithSentinel, startSentinels } from "../support/sentinel.js";

afterEach(() => vi.unstubAllEnvs());

/** Runs a program and returns what it declares. `lines` is what a reader has. */
async function declared(
  program: string,
  names: string,
  lines = "",
): Promise<Record<string, unknown>> {
  const code = `${lines}\n${program.replaceAll("export const", "const")}\nexport { ${names} };`;
  return import(pathToFileURL(await bundleProgram(code, cacheFolder(), "program.mjs")).href);
}

async function expectStored(store: unknown): Promise<void> {
  const { set, get } = store as TokenStore;
  await set("key", "value");
  expect((await get("key"))?.value).toBe("value");
}

describeWithRedis("the program for", () => {
  test.each([
    { library: "redis", text: "encryptedStore(redisStore(client), ", close: "destroy" },
    { library: "ioredis", text: "new Redis(url", close: "disconnect" },
  ])("$library connects and stores", async ({ text, close }) => {
    const server = await startRedis();
    try {
      vi.stubEnv("REDIS_URL", server.url);
      vi.stubEnv("STORE_KEY", "ab".repeat(32));
      const credentials = `import { serviceAccount } from "bivariant";
        const credentials = [serviceAccount({ clientId: "reports", clientSecret: "not a real secret" })];`;
      const { store, client } = await declared(blockWith("ts", text), "store, client", credentials);
      await expectStored(store);
      (client as Record<string, () => void>)[close]?.();
    } finally {
      await server.stop();
    }
  });
});

describeWithSentinel("the program for Sentinel", () => {
  test("connects by both libraries and stores", async () => {
    const sentinels = await startSentinels();
    try {
      const nodes = JSON.stringify(sentinels.ports.map((port) => ({ host: "127.0.0.1", port })));
      const program = blockWith("ts", "createSentinel({").replace(
        /^const nodes = .*$/m,
        `const nodes = ${nodes};`,
      );
      const { store, otherStore, client, other } = await declared(
        program,
        "store, otherStore, client, other",
      );
      await expectStored(store);
      await expectStored(otherStore);
      (client as { destroy(): void }).destroy();
      (other as { disconnect(): void }).disconnect();
    } finally {
      await sentinels.stop();
    }
  });
});
