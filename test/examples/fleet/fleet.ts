// `npx tsx test/examples/fleet/fleet.ts` runs a fleet, kills parts of it at random, and prints what happened.
import { generateKeyPairSync, randomBytes, randomInt } from "node:crypto";
import { setMaxListeners } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createEmulator, type Emulator } from "../../../src/emulator/index.js";
import { drawChart, type Series } from "./chart.js";
import { driveMachine, drivePerson, World } from "./people.js";
import { createRedis, createReplica, type Program, startProxy } from "./processes.js";

const help = `npx tsx test/examples/fleet/fleet.ts [options]

Runs three replicas of a backend with Redis behind a proxy, kills them at random, and counts what people, machines and
the service saw. Exits with 1 if something happened that must not. Ctrl-C stops everything.

  --seconds <n>     how long it runs (default 30, at most 120)
  --seed <n>        repeats the kills of another run
  --without-store   each replica is on its own; only machines call, since sessions need a store
  --svg <file>      runs once more without a store, and draws the token requests of both`;

/** Each has one person, one service plugin and one device. */
const tenants = Array.from({ length: 12 }, (_, index) => `tenant-${index + 1}`);
/** In place of an hour, so that tokens are renewed during the run. */
const tokenSeconds = 10;
const caption = [
  `Only requests of machines count. Tokens live for ${tokenSeconds} s. In both runs replicas are killed at random. Without`,
  "a store that loses their tokens. For about 5 s after Redis was down, each replica goes on alone.",
];

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "30" },
    seed: { type: "string", default: String(randomInt(10_000)) },
    "without-store": { type: "boolean", default: false },
    svg: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
const seconds = Math.min(Number(values.seconds), 120);
const programs: Program[] = [];
const stopped = new AbortController();
const folder = mkdtempSync(join(tmpdir(), "fleet-"));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopped.abort());

try {
  if (values.help) console.log(help);
  else {
    const fleet = await run(!values["without-store"]);
    if (values.svg && !stopped.signal.aborted)
      writeFileSync(values.svg, drawChart(fleet, await run(false), caption));
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await killAll();
  rmSync(folder, { recursive: true });
}
process.exit(stopped.signal.aborted ? 130 : process.exitCode);

async function killAll(): Promise<void> {
  await Promise.all(programs.map((program) => program.kill()));
}

/** Starts a fleet, uses it, and prints the counts. */
async function run(withStore: boolean): Promise<Series> {
  const redis = await createRedis(folder);
  const emulator = createEmulator({
    tokenLifetimeSeconds: tokenSeconds + 2,
    rateLimit: { requests: 20, windowSeconds: tokenSeconds },
    devices: Object.fromEntries(tenants.map((id) => [id, [{ id }]])),
  });
  // The service accepts a token for 2 s more than it says, since a call that is late is repeated only if its token is
  // older than 30 s.
  emulator.faults.add({ name: "fields", fields: { expires_in: tokenSeconds }, count: "always" });
  const { url: baseUrl } = await emulator.listen();
  const replicas: Program[] = [];
  const { url } = await startProxy(replicas);
  const settings = {
    ...{ PUBLIC_URL: url, BASE_URL: baseUrl, TENANTS: tenants.join(), PRIVATE_KEY: register(emulator, url) },
    ...(withStore && {
      REDIS_URL: `redis://127.0.0.1:${redis.port}`,
      STORE_KEY: randomBytes(32).toString("hex"),
    }),
  };
  while (replicas.length < 3) replicas.push(await createReplica(settings));
  programs.push(redis, ...replicas);
  await Promise.all(programs.map((program) => program.start()));

  const over = new AbortController();
  setMaxListeners(0, over.signal);
  stopped.signal.addEventListener("abort", () => {
    over.abort();
    void killAll();
  });
  const world = new World(emulator, url, over.signal);
  const startedAt = Date.now();
  setTimeout(() => over.abort(), seconds * 1_000);
  const progress = setInterval(() => {
    const lights = [redis, ...replicas].map(({ isUp }) => (isUp ? "●" : "○")).join(" ");
    const line = `${Math.round((Date.now() - startedAt) / 1_000)} s  Redis and replicas: ${lights}`;
    if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${line}`);
  }, 500);
  await Promise.all([
    ...tenants.map((tenant) => driveMachine(world, tenant)),
    ...(withStore ? tenants : []).map((tenant, index) =>
      drivePerson(world, tenant, index % 3 > 0 ? "login" : "launch"),
    ),
    killReplicas(world, replicas, seededRandom(Number(values.seed))),
    killRedis(world, redis, seededRandom(Number(values.seed) + 1)),
  ]);
  clearInterval(progress);
  await killAll();
  const perSecond = countTokenRequests(world, startedAt);
  print(withStore, world);
  return { perSecond, outages: world.outages.map(([from, to]) => [from - startedAt, to - startedAt]) };
}

/** Registers both plugins, the API client and the people, and returns the private key of the plugins. */
function register(emulator: Emulator, publicUrl: string): string {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const jwks = { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "fleet" }] };
  const scopes = ["devices:read"];
  emulator.registerApiClient({ clientId: "planner-app", redirectUris: [`${publicUrl}/auth/callback`] });
  for (const tenantId of tenants) {
    const plugin = { tenantId, jwks, scopes };
    emulator.registerPlugin({ ...plugin, clientId: "planner", type: "user_interface", pageUrl: publicUrl });
    emulator.registerPlugin({ ...plugin, clientId: "reports", type: "service" });
    emulator.registerOperator({ tenantId, userId: tenantId, capabilities: scopes });
  }
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

async function killReplicas(world: World, replicas: readonly Program[], random: () => number): Promise<void> {
  for (;;) {
    await world.pause(3_000 + 4_000 * random());
    const replica = replicas[Math.floor(random() * replicas.length)];
    if (world.over.aborted || replica === undefined) return;
    world.count("kills of a replica");
    world.killedAt = Date.now();
    await replica.kill();
    await replica.start();
  }
}

async function killRedis(world: World, redis: Program, random: () => number): Promise<void> {
  for (;;) {
    await world.pause(5_000 + 10_000 * random());
    if (world.over.aborted) return;
    world.count("kills of Redis");
    world.killedAt = Date.now();
    world.redisBackAt = Number.POSITIVE_INFINITY;
    await redis.kill();
    await world.pause(500 + 1_000 * random());
    await redis.start();
    world.redisBackAt = Date.now();
    world.outages.push([world.killedAt, world.redisBackAt]);
  }
}

/** Counts what the service saw. Returns the token requests of machines in each second. */
function countTokenRequests(world: World, startedAt: number): number[] {
  const perSecond: number[] = Array(seconds).fill(0);
  for (const { at, grant, detectionProbe, status, rule } of world.emulator.journal.tokenRequests()) {
    world.count(detectionProbe ? "detection: a question" : `token request: ${grant ?? "unread"} ${status}`);
    if (grant === "refresh_token" && rule !== undefined) world.wrong.push(`refresh token refused: ${rule}`);
    const second = Math.floor((at - startedAt) / 1_000);
    if (grant === "client_credentials" && !detectionProbe && second < seconds)
      perSecond[second] = (perSecond[second] ?? 0) + 1;
  }
  return perSecond;
}

function print(withStore: boolean, { counts, wrong }: World): void {
  const kind = withStore ? "with Redis" : "without a store";
  const end = process.stdout.isTTY ? "\r\x1b[K" : "";
  console.log(`${end}\n${seconds} s ${kind}, seed ${values.seed}`);
  for (const [what, count] of [...counts].sort(([one], [other]) => one.localeCompare(other)))
    console.log(`${what.padEnd(60)}${String(count).padStart(6)}`);
  console.log(`${"must not happen".padEnd(60)}${String(wrong.length).padStart(6)}`);
  for (const what of new Set(wrong)) console.error(`  ${what}`);
  if (wrong.length > 0) process.exitCode = 1;
}

/** The same numbers for the same seed: a linear congruential generator, which is good enough to choose what to kill. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}
