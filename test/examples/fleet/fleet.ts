// `npx tsx test/examples/fleet/fleet.ts` runs a fleet, kills parts of it at random, and prints what
// happened.
import { generateKeyPairSync, randomBytes, randomInt } from "node:crypto";
import { setMaxListeners } from "node:events";
import { Command } from "commander";
import { createEmulator, type Emulator } from "../../../src/emulator/index.js";
import { freePort } from "../../support/recording-server.js";
import { startRedis } from "../../support/redis.js";
import { startSentinels } from "../../support/sentinel.js";
import { driveMachine, drivePerson, World } from "./people.js";
import { Replica, startProxy } from "./processes.js";

/** Each has one person, one service plugin and one device. */
const tenants = Array.from({ length: 12 }, (_, index) => `tenant-${index + 1}`);
/** In place of an hour, so that tokens are renewed during the run. */
const tokenSeconds = 10;
const description =
  "Runs three replicas of a backend with Redis behind a proxy, kills them at random, and counts " +
  "what people, machines " +
  "and the service saw. Exits with 1 if something happened that must not. Ctrl-C stops everything.";
const { seconds, seed, ...options } = new Command()
  .description(description)
  .option("--seconds <n>", "how long it runs, from 1 to 120", Number, 30)
  .option("--seed <n>", "repeats the kills of another run", Number, randomInt(10_000))
  .option(
    "--without-store",
    "each replica is on its own; only machines call, since sessions need a store",
  )
  .option(
    "--sentinel",
    "with three sentinels, which make the replica of Redis the primary when that is killed",
  )
  .option("--compare", "runs once more without a store, for the token requests of both")
  .parse()
  .opts<{ seconds: number; seed: number; withoutStore?: true; sentinel?: true; compare?: true }>();
const stopped = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopped.abort());

try {
  // The journal of the emulator keeps its last 10,000 requests.
  if (!(seconds >= 1 && seconds <= 120))
    throw new Error("--seconds must be a number from 1 to 120.");
  await run(!options.withoutStore);
  if (options.compare && !stopped.signal.aborted) await run(false);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
process.exit(stopped.signal.aborted ? 130 : process.exitCode);

/** Starts a fleet, uses it, and prints the counts. */
async function run(withStore: boolean): Promise<void> {
  const sentinels = options.sentinel === true ? await startSentinels() : undefined;
  const redis = sentinels ?? (await startRedis());
  const emulator = createEmulator({
    tokenLifetimeSeconds: tokenSeconds + 2,
    rateLimit: { requests: 20, windowSeconds: tokenSeconds },
    devices: Object.fromEntries(tenants.map((id) => [id, [{ id }]])),
  });
  // The service accepts a token for 2 s more than it says: a call that arrives late is sent again
  // only if its token is older than 30 s.
  emulator.faults.add({ name: "fields", fields: { expires_in: tokenSeconds }, count: "always" });
  const { url: baseUrl } = await emulator.listen();
  const replicas: Replica[] = [];
  const url = await startProxy(replicas);
  const settings = {
    PUBLIC_URL: url,
    BASE_URL: baseUrl,
    TENANTS: tenants.join(),
    PRIVATE_KEY: register(emulator, url),
    REDIS_URL: withStore && "url" in redis ? redis.url : "",
    SENTINELS:
      withStore && sentinels ? sentinels.ports.map((port) => `127.0.0.1:${port}`).join() : "",
    STORE_KEY: randomBytes(32).toString("hex"),
  };
  while (replicas.length < 3) {
    const library = replicas.length % 2 === 0 ? "redis" : "ioredis";
    replicas.push(new Replica(await freePort(), { ...settings, SENTINEL_LIBRARY: library }));
  }

  const over = new AbortController();
  setMaxListeners(0, over.signal);
  const world = new World(emulator, url, over.signal);
  const endReplicas = () => Promise.all(replicas.map((replica) => replica.kill()));
  const stop = () => {
    over.abort();
    void endReplicas();
  };
  stopped.signal.addEventListener("abort", stop);
  if (stopped.signal.aborted) stop();
  try {
    await Promise.all(replicas.map((replica) => replica.start()));
    setTimeout(() => over.abort(), seconds * 1_000);
    const startedAt = Date.now();
    const outages: [number, number][] = [];
    const killRedis = async (random: () => number) => {
      const from = Date.now() - startedAt;
      world.redisBackAt = Number.POSITIVE_INFINITY;
      await redis.kill();
      if (!sentinels) await world.pause(500 + 1_000 * random());
      await redis.restart();
      world.redisBackAt = Date.now();
      outages.push([from, world.redisBackAt - startedAt]);
    };
    const killReplica = async (random: () => number) => {
      const replica = replicas[Math.floor(random() * replicas.length)];
      await replica?.kill();
      await replica?.start();
    };
    await Promise.all([
      ...tenants.map((tenant) => driveMachine(world, tenant)),
      ...(withStore ? tenants : []).map((tenant, index) =>
        drivePerson(world, tenant, index % 3 > 0 ? "login" : "launch"),
      ),
      ...(sentinels ? [] : [repeat(world, "kills of a replica", [3_000, 7_000], killReplica)]),
      sentinels
        ? once(world, "failovers of Redis", (seconds * 1_000) / 2, killRedis)
        : repeat(world, "kills of Redis", [6_000, 20_000], killRedis),
    ]);
    countTokenRequests(world);
    for (const [from, to] of sentinels ? outages : []) {
      world.counts.set("failover: ms of the slowest answer", world.slowestMs);
      world.counts.set("failover: ms until the replica was the primary", to - from);
      world.counts.set(
        "failover: ms until the last call that failed",
        Math.max(0, world.lastFailedAt - startedAt - from),
      );
    }
    print(withStore, world);
  } finally {
    await Promise.all([endReplicas(), redis.stop()]);
  }
}

/**
 * Registers both plugins, the API client and the people, and returns the private key of the
 * plugins.
 */
function register(emulator: Emulator, publicUrl: string): string {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const jwks = { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "fleet" }] };
  const scopes = ["devices:read"];
  emulator.registerApiClient({
    clientId: "planner-app",
    redirectUris: [`${publicUrl}/auth/callback`],
  });
  for (const tenantId of tenants) {
    const plugin = { tenantId, jwks, scopes };
    emulator.registerPlugin({
      ...plugin,
      clientId: "planner",
      type: "user_interface",
      pageUrl: publicUrl,
    });
    emulator.registerPlugin({ ...plugin, clientId: "reports", type: "service" });
    emulator.registerOperator({ tenantId, userId: tenantId, capabilities: scopes });
  }
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

/** Kills at random times, which are the same for the same seed. */
async function repeat(
  world: World,
  what: string,
  [leastMs, mostMs]: readonly [number, number],
  kill: (random: () => number) => Promise<void>,
): Promise<void> {
  // A linear congruential generator.
  let state = seed;
  const random = () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
  for (;;) {
    await world.pause(leastMs + (mostMs - leastMs) * random());
    if (world.over.aborted) return;
    world.count(what);
    world.killedAt = Date.now();
    await kill(random);
  }
}

/** Kills once, in the middle. */
async function once(
  world: World,
  what: string,
  afterMs: number,
  kill: (random: () => number) => Promise<void>,
): Promise<void> {
  await world.pause(afterMs);
  if (world.over.aborted) return;
  world.count(what);
  world.killedAt = Date.now();
  await kill(() => 0);
}

/** Counts what the service saw. */
function countTokenRequests(world: World): void {
  const refused = "refresh tokens refused or reused";
  world.counts.set(refused, 0);
  for (const { grant, detectionProbe, status, rule } of world.emulator.journal.tokenRequests()) {
    world.count(
      detectionProbe ? "detection: a question" : `token request: ${grant ?? "unread"} ${status}`,
    );
    if (grant !== "refresh_token" || rule === undefined) continue;
    world.count(refused);
    world.wrong.push(`refresh token refused: ${rule}`);
  }
}

function print(withStore: boolean, { counts, wrong }: World): void {
  console.log(`\n${seconds} s ${withStore ? "with Redis" : "without a store"}, seed ${seed}`);
  const rows = [...counts].sort(([one], [other]) => one.localeCompare(other));
  for (const [what, count] of [...rows, ["must not happen", wrong.length] as const])
    console.log(`${what.padEnd(60)}${String(count).padStart(6)}`);
  for (const what of new Set(wrong)) console.error(`  ${what}`);
  if (wrong.length > 0) process.exitCode = 1;
}
