// Compares warm calls to many tenants with a store in Redis, and without a store.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Build, compare, cpuTime, type Loop, type Row } from "../measure.js";
import { commandsOf, type RedisClient, withRedis } from "../redis.js";

const TENANTS = 1_000;

async function answer(url: string): Promise<Response> {
  if (!url.endsWith("/token")) return Response.json([{ id: "device-1" }]);
  return Response.json({ access_token: "token", token_type: "Bearer", expires_in: 3600 });
}

/** The services of all tenants, each with its token. */
async function openServices({ folder, main }: Build, client: RedisClient | undefined) {
  const { createConnector, servicePlugin } = (await import(main)) as typeof import("../../../src/index.js");
  const entry = pathToFileURL(join(folder, "dist/node/src/stores/redis.js")).href;
  const { redisStore } = (await import(entry)) as typeof import("../../../src/stores/redis.js");
  const privateKey = { keyId: "key-1", sign: () => new Uint8Array(256) };
  const connector = createConnector({
    credentials: [servicePlugin({ clientId: "bench", privateKey })],
    fetch: answer,
    store: client && redisStore(client),
  });
  const connect = async (_: unknown, index: number) => {
    const service = await connector.connect({ baseUrl: "https://service.example", tenantId: `t${index}` });
    const { ok } = await service.call("listDevices");
    if (!ok) throw new Error("a call was refused");
    return service;
  };
  return Promise.all(Array.from({ length: TENANTS }, connect));
}

type Services = Awaited<ReturnType<typeof openServices>>;

/** Takes the tenants in turn. */
function inTurn(services: Services, task: (service: Services[number]) => Promise<unknown>): Loop {
  let next = 0;
  return async (times) => {
    for (let i = 0; i < times; i++) {
      next = (next + 1) % services.length;
      const service = services[next];
      if (service !== undefined) await task(service);
    }
  };
}

export const warmCallOverRedis: Row = {
  name: "warm-call-over-redis",
  title: `a warm service.call to ${TENANTS} tenants with redisStore against the same without a store, in processor time`,
  unit: "times",
  aim: 1.05,
  measure: (build) =>
    withRedis(async (client) => {
      const [ours, theirs] = [await openServices(build, client), await openServices(build, undefined)];
      const before = await commandsOf(client);
      const call = (service: Services[number]) => service.call("listDevices");
      const token = ({ auth }: Services[number]) => auth.getAccessToken();
      const calls = await compare(inTurn(ours, call), inTurn(theirs, call), cpuTime);
      const tokens = await compare(inTurn(ours, token), inTurn(theirs, token), cpuTime);
      const commands = (await commandsOf(client)) - before;
      if (commands !== 0) throw new Error(`warm calls sent ${commands} commands to Redis`);
      const us = (nanoseconds: number): string => `${(nanoseconds / 1_000).toFixed(1)} µs`;
      const detail = [
        `${us(calls.ours)} to ${us(calls.theirs)}; getAccessToken ${tokens.ratio.median.toFixed(2)} times,`,
        `${tokens.ours.toFixed(0)} ns to ${tokens.theirs.toFixed(0)} ns; no command to Redis, of ${before} before`,
      ].join(" ");
      const { median, low, high } = calls.ratio;
      return { value: median, low, high, detail };
    }),
};
