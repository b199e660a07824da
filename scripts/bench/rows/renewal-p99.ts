// Compares the slow calls of tenants whose tokens are renewed all the time with those of tenants that renew none.
import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { type Build, type Figures, medianOf, NotMeasured, type Row, spreadOf } from "../measure.js";
import { type RedisClient, withRedis } from "../redis.js";
import { type RunningScript, startScript } from "../script.js";
import type { ServerTask } from "../token-server.js";

const TENANTS = Array.from({ length: 50 }, (_, index) => `tenant-${index}`);
const CALLS_PER_SECOND = 400;
const CALLS_PER_WINDOW = 100;
/** Its last tenth, in which a token is renewed in the background, must be longer than a round. */
const LIFETIME_SECONDS = 12;
/** A round is a window of each side. */
const ROUNDS = 30;
const WARM_UP_ROUNDS = 2;

const CLIENT_ID = "bench";
const KEY_ID = "key-1";

type Pair = ReturnType<typeof generateKeyPair>;

function generateKeyPair() {
  return generateKeyPairSync("rsa", { modulusLength: 2048 });
}

/** The services of all tenants at an emulator of their own, over one Redis. */
interface Side {
  readonly services: readonly { call(id: "listDevices"): Promise<{ ok: boolean }>; auth: Auth }[];
  readonly server: RunningScript;
  readonly renewed: () => number;
  /** The milliseconds of each call, by window. */
  readonly windows: number[][];
  failed: number;
}

interface Auth {
  getAccessToken(): Promise<unknown>;
}

async function startSide(
  build: Build,
  redis: RedisClient,
  { publicKey, privateKey }: Pair,
  tokenLifetimeSeconds: number,
): Promise<Side> {
  const built = (path: string): string => pathToFileURL(join(build.folder, path)).href;
  const publicJwk = { ...publicKey.export({ format: "jwk" }), kid: KEY_ID };
  const emulatorMain = built("dist/src/emulator/index.js");
  const client = { clientId: CLIENT_ID, publicJwk, tenantIds: TENANTS };
  const task: ServerTask = { kind: "emulator", emulatorMain, ...client, tokenLifetimeSeconds };
  const server = await startScript(build, "token-server", task);
  const { createConnector, servicePlugin } = (await import(
    build.main
  )) as typeof import("../../../src/index.js");
  const { redisStore } = (await import(
    built("dist/node/src/stores/redis.js")
  )) as typeof import("../../../src/stores/redis.js");
  let renewed = 0;
  const connector = createConnector({
    credentials: [servicePlugin({ clientId: CLIENT_ID, privateKey, keyId: KEY_ID })],
    store: redisStore(redis),
    onEvent: ({ type }) => {
      if (type === "token_renewed") renewed++;
    },
  });
  const baseUrl = new URL(server.answer as string).origin;
  const services = await Promise.all(TENANTS.map((tenantId) => connector.connect({ baseUrl, tenantId })));
  return { services, server, renewed: () => renewed, windows: [], failed: 0 };
}

/**
 * Calls the tenants in turn, at a fixed rate whether earlier calls have ended or not. The time of a call counts from the
 * instant at which it should have started.
 */
async function runWindow(side: Side): Promise<void> {
  const { services, windows } = side;
  const startedAt = performance.now();
  const running: Promise<number>[] = [];
  for (let index = 0; index < CALLS_PER_WINDOW; index++) {
    const service = services[index % services.length];
    const at = startedAt + (index * 1_000) / CALLS_PER_SECOND;
    // A timer may be a millisecond late.
    if (at - performance.now() > 2) await wait(at - performance.now() - 2);
    while (performance.now() < at) await turn();
    const call = async () => {
      const result = await service?.call("listDevices").catch(() => undefined);
      if (!result?.ok) side.failed++;
      return performance.now() - at;
    };
    running.push(call());
  }
  windows.push(await Promise.all(running));
}

function p99Of(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.ceil(0.99 * sorted.length) - 1] ?? Number.NaN;
}

async function measure(renewing: Side, steady: Side): Promise<Figures> {
  for (const { auth } of steady.services) await auth.getAccessToken();
  // Spreads the renewals over the lifetime.
  for (const { auth } of renewing.services) {
    await auth.getAccessToken();
    await wait((LIFETIME_SECONDS * 900) / TENANTS.length);
  }
  const before = renewing.renewed();
  const ratios: number[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    // In turn, so that what the machine does at times disturbs both alike.
    const [first, second] = round % 2 === 0 ? [renewing, steady] : [steady, renewing];
    await runWindow(first);
    await runWindow(second);
    ratios.push(p99Of(renewing.windows.at(-1) ?? []) / p99Of(steady.windows.at(-1) ?? []));
  }
  if (renewing.failed + steady.failed > 0)
    throw new NotMeasured("calls failed: the machine is so busy that tokens expired between two windows");
  const renewals = renewing.renewed() - before;
  if (renewals === 0 || steady.renewed() > TENANTS.length) throw new Error("the wrong tokens were renewed");
  const { median, low, high } = spreadOf(ratios.slice(WARM_UP_ROUNDS));
  const ms = ({ windows }: Side, figure: (times: number[]) => number): string =>
    `${figure(windows.slice(WARM_UP_ROUNDS).flat()).toFixed(1)} ms`;
  const both = (figure: (times: number[]) => number): string =>
    `${ms(renewing, figure)} to ${ms(steady, figure)}`;
  const typical = (side: Side): string => `${medianOf(side.windows.map(p99Of)).toFixed(1)} ms`;
  const detail = [
    `${typical(renewing)} to ${typical(steady)}; p99 of all windows together ${both(p99Of)}`,
    `median call ${both(medianOf)}; ${renewals} renewals in ${renewing.windows.flat().length} calls`,
  ].join("; ");
  return { value: median, low, high, detail };
}

export const renewalP99: Row = {
  name: "renewal-p99",
  title: `p99 of a window of ${CALLS_PER_WINDOW} calls, ${CALLS_PER_SECOND} per second to ${TENANTS.length} tenants, tokens of ${LIFETIME_SECONDS} s against those of an hour, over Redis`,
  unit: "times",
  aim: 1.2,
  measure: (build) =>
    withRedis(async (redis) => {
      const pair = generateKeyPair();
      const renewing = await startSide(build, redis, pair, LIFETIME_SECONDS);
      const steady = await startSide(build, redis, pair, 3_600);
      try {
        return await measure(renewing, steady);
      } finally {
        await renewing.server.stop();
        await steady.server.stop();
      }
    }),
};
