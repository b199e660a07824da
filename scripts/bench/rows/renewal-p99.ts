// Compares the slow calls of tenants whose tokens are renewed all the time with those of tenants
// that renew none.
import { generateKeyPairSync, type KeyPairKeyObjectResult } from "node:crypto";
import { join } from "node:path";
import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { Service, TokenStore } from "../../../src/index.js";
import {
  type Build,
  duration,
  type Figures,
  type Limit,
  medianOf,
  NotMeasured,
  type Row,
  sample,
} from "../measure.js";
import { withRedisStore } from "../redis.js";
import { startScript } from "../script.js";
import type { ServerTask } from "../token-server.js";

const TENANTS = Array.from({ length: 50 }, (_, index) => `tenant-${index}`);
const CALLS_PER_SECOND = 400;
const CALLS_PER_WINDOW = 100;
/** Its last tenth, in which a token is renewed in the background, must be longer than a round. */
const LIFETIME_SECONDS = 12;
const KEY_ID = "key-1";

/** The tenants of an emulator of their own. */
interface Side {
  readonly services: readonly Service[];
  /** The milliseconds of each call, by window. */
  readonly windows: number[][];
  renewals: number;
  failures: number;
  stop(): Promise<void>;
}

async function startSide(
  build: Build,
  store: TokenStore,
  { publicKey, privateKey }: KeyPairKeyObjectResult,
  tokenLifetimeSeconds: number,
): Promise<Side> {
  const emulatorMain = pathToFileURL(join(build.folder, "dist/src/emulator/index.js")).href;
  const publicJwk = { ...publicKey.export({ format: "jwk" }), kid: KEY_ID };
  const client = { clientId: "bench", publicJwk, tenantIds: TENANTS };
  const task: ServerTask = { kind: "emulator", emulatorMain, ...client, tokenLifetimeSeconds };
  const { answer, stop } = await startScript(build, "token-server", task);
  const { createConnector, servicePlugin } = (await import(
    build.main
  )) as typeof import("../../../src/index.js");
  const connector = createConnector({
    credentials: [servicePlugin({ clientId: client.clientId, privateKey, keyId: KEY_ID })],
    store,
    onEvent: ({ type }) => {
      if (type === "token_renewed") side.renewals++;
    },
  });
  const baseUrl = new URL(String(answer)).origin;
  const services = await Promise.all(
    TENANTS.map((tenantId) => connector.connect({ baseUrl, tenantId })),
  );
  const side: Side = { services, windows: [], renewals: 0, failures: 0, stop };
  return side;
}

/**
 * Calls the tenants in turn, at a fixed rate whether earlier calls have ended or not. The time of a
 * call counts from the instant at which it should have started.
 */
async function runWindow(side: Side): Promise<number> {
  const startedAt = performance.now();
  const call = async (index: number, at: number): Promise<number> => {
    const service = side.services[index % side.services.length];
    const outcome = await service?.call("listDevices").catch(() => undefined);
    if (!outcome?.ok) side.failures++;
    return performance.now() - at;
  };
  const running: Promise<number>[] = [];
  for (let index = 0; index < CALLS_PER_WINDOW; index++) {
    const at = startedAt + (index * 1_000) / CALLS_PER_SECOND;
    // A timer may be a millisecond late.
    if (at - performance.now() > 2) await wait(at - performance.now() - 2);
    while (performance.now() < at) await turn();
    running.push(call(index, at));
  }
  const times = await Promise.all(running);
  side.windows.push(times);
  return p99Of(times);
}

function p99Of(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.ceil(0.99 * sorted.length) - 1] ?? Number.NaN;
}

async function measure(renewing: Side, steady: Side, limit: Limit): Promise<Figures> {
  for (const { auth } of steady.services) await auth.getAccessToken();
  for (const { auth } of renewing.services) {
    await auth.getAccessToken();
    // The pause spreads the renewals over the lifetime.
    await wait((LIFETIME_SECONDS * 900) / TENANTS.length);
  }
  // A sample is a window of each side.
  const interval = await sample(
    async () => (await runWindow(renewing)) / (await runWindow(steady)),
    limit,
  );
  if (renewing.failures + steady.failures > 0)
    throw new NotMeasured(
      "calls failed: the machine is so busy that tokens expired between two windows",
    );
  const renewals = renewing.renewals - TENANTS.length;
  if (renewals === 0 || steady.renewals > TENANTS.length)
    throw new Error("the wrong tokens were renewed");
  const [ours, theirs] = [renewing, steady].map(({ windows }) =>
    duration(medianOf(windows.map(p99Of))),
  );
  const overall = [renewing, steady].map(({ windows }) => duration(p99Of(windows.flat())));
  const detail = `p99 of all calls together ${overall.join(" to ")}; ${renewals} renewals`;
  return { ...interval, ours: ours ?? "", theirs, detail };
}

export const renewalP99: Row = {
  name: "renewal-p99",
  title:
    `p99 of ${CALLS_PER_WINDOW} calls, ${CALLS_PER_SECOND} per second to ${TENANTS.length} ` +
    `tenants, tokens of ${LIFETIME_SECONDS} s against those of an hour, over Redis`,
  unit: "times",
  aim: 1.2,
  seconds: 26,
  measure: (build, limit) =>
    withRedisStore(build, async (store) => {
      const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
      const renewing = await startSide(build, store, pair, LIFETIME_SECONDS);
      const steady = await startSide(build, store, pair, 3_600);
      try {
        return await measure(renewing, steady, limit);
      } finally {
        await renewing.stop();
        await steady.stop();
      }
    }),
};
