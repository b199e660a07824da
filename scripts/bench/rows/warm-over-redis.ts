// Compares warm calls to many tenants with a store in Redis, and without a store.
import type { Service, TokenStore } from "../../../src/index.js";
import { type Build, compare, type Loop, type Row } from "../measure.js";
import { withRedisStore } from "../redis.js";

const TENANTS = 1_000;

async function answer(url: string): Promise<Response> {
  if (!url.endsWith("/token")) return Response.json([{ id: "device-1" }]);
  return Response.json({ access_token: "token", token_type: "Bearer", expires_in: 3600 });
}

/** The services of all tenants, each with its token. */
async function openServices({ main }: Build, store: TokenStore | undefined): Promise<Service[]> {
  const { createConnector, servicePlugin } = (await import(
    main
  )) as typeof import("../../../src/index.js");
  const privateKey = { keyId: "key-1", sign: () => new Uint8Array(256) };
  const credentials = [servicePlugin({ clientId: "bench", privateKey })];
  const connector = createConnector({ credentials, fetch: answer, store });
  const connect = async (_: unknown, index: number) => {
    const service = await connector.connect({
      baseUrl: "https://service.example",
      tenantId: `t${index}`,
    });
    if (!(await service.call("listDevices")).ok) throw new Error("a call was refused");
    return service;
  };
  return Promise.all(Array.from({ length: TENANTS }, connect));
}

/** Takes the tenants in turn. */
function inTurn(services: readonly Service[], task: (service: Service) => Promise<unknown>): Loop {
  let next = 0;
  return async (times) => {
    for (let i = 0; i < times; i++) {
      const service = services[next++ % services.length];
      if (service !== undefined) await task(service);
    }
  };
}

export const warmCallOverRedis: Row = {
  name: "warm-call-over-redis",
  title:
    `a warm service.call to ${TENANTS} tenants with redisStore against one without a store, ` +
    "in processor time",
  unit: "times",
  aim: 1.05,
  seconds: 15,
  measure: (build, limit) =>
    withRedisStore(build, async (store, commands) => {
      const [ours, theirs] = [
        await openServices(build, store),
        await openServices(build, undefined),
      ];
      const before = await commands();
      const { aim, seconds } = limit;
      const compared = (share: number, task: (service: Service) => Promise<unknown>) => {
        const loops = { ours: inTurn(ours, task), theirs: inTurn(theirs, task) };
        return compare({ ...loops, by: "cpu", aim, seconds: seconds * share });
      };
      const calls = await compared(0.7, (service) => service.call("listDevices"));
      const tokens = await compared(0.2, ({ auth }) => auth.getAccessToken());
      const sent = (await commands()) - before;
      if (sent !== 0) throw new Error(`warm calls sent ${sent} commands to Redis`);
      const token = `${tokens.value.toFixed(2)} times (${tokens.ours} to ${tokens.theirs})`;
      return { ...calls, detail: `getAccessToken ${token}; no command was sent to Redis` };
    }),
};
