// Clients of both libraries, until `closeClients`. The errors of lost connections are expected.
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import type { RedisClient } from "../../src/stores/redis.js";

const closes: (() => void)[] = [];

export function closeClients(): void {
  for (const close of closes.splice(0)) close();
}

type Connect = (url: string) => RedisClient;

export const connectClient: { readonly redis: Connect; readonly ioredis: Connect } = {
  redis(url) {
    const client = createClient({ url, socket: { reconnectStrategy: 20 } }).on("error", () => {});
    client.connect().catch(() => {});
    closes.push(() => client.destroy());
    return client;
  },
  ioredis(url) {
    const client = new Redis(url, { retryStrategy: () => 20 }).on("error", () => {});
    closes.push(() => client.disconnect());
    return client;
  },
};

export async function connectCluster(
  library: "redis" | "ioredis",
  url: string,
): Promise<RedisClient> {
  if (library === "ioredis") {
    const client = new Cluster([url]).on("error", () => {});
    closes.push(() => client.disconnect());
    return client;
  }
  const client = createCluster({ rootNodes: [{ url }] }).on("error", () => {});
  await client.connect();
  closes.push(() => client.destroy());
  return client;
}
