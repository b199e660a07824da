// The emulator's memory stays bounded, however many requests are sent.
import fc from "fast-check";
import { expect, test } from "vitest";
import { collectGarbage, settle } from "../../support/wait.js";
import { table } from "../negative/table.js";
import { seed, World } from "../negative/world.js";
import { mutate, mutation } from "./mutations.js";

test("at least the newest 90,000 and at most 100,000 open launches can be authorised", () => {
  const world = new World();
  const { emulator } = world;
  const launch = () => emulator.launch({ tenantId: "acme", clientId: "planner", userId: "ada" });
  const { codeChallenge } = world.pkce();
  const first = launch();
  const launches = Array.from({ length: 100_000 }, launch);
  expect(() => first.authorize({ codeChallenge })).toThrow();
  expect(launches.slice(-90_000)[0]?.authorize({ codeChallenge }).code).toBeTypeOf("string");
});

test("at least the newest 9000 and at most 10,000 pending logins are kept, since anybody can begin one", async () => {
  const world = new World();
  const path = world.authorizationPath();
  const begin = async () => (await world.open(path)).hidden().request;
  const first = await begin();
  const requests: (string | undefined)[] = [];
  for (let index = 0; index < 10_000; index++) requests.push(await begin());
  const browser = (request: string | undefined) => world.send(`/v1/auth/login?request=${request}`);
  expect((await browser(first)).status).toBe(400);
  expect(world.emulator.customerLog.last()?.rule).toBe("login.pending");
  expect((await browser(requests.at(-9000))).status).not.toBe(400);
});

/** Counts the bytes that are still reachable, including buffers. */
function reachableBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const ROUNDS = 4;
const FLOWS_IN_ROUND = 2000;
/** The clock advances by this between two flows, so that tokens of an hour end within a round. */
const STEP_SECONDS = 54;
/** Measured: less than 1 MB. A leak of 400 bytes for each flow would exceed it. */
const ALLOWED_GROWTH_BYTES = 1_600_000;

test("flows that come and go while the clock runs leave nothing behind", {
  timeout: 600_000,
}, async () => {
  const world = new World({
    rateLimit: { requests: 100, windowSeconds: 60 },
    refreshTokens: { lifetimeSeconds: 60, idleSeconds: 60 },
  });
  const { emulator } = world;
  const mutations = fc.sample(fc.array(mutation, { maxLength: 2 }), { numRuns: 500, seed: 42 });
  let sent = 0;
  world.transport = async (path, init) => {
    const mutated = mutations[sent++ % mutations.length] ?? [];
    return emulator.fetch((await mutate(emulator.publicUrl, path, init, mutated)).request);
  };
  const reachable: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (let index = 0; index < FLOWS_IN_ROUND; index++) {
      world.wait(STEP_SECONDS);
      // A mutated flow may end early, and a row may change a registration.
      const row = table[index % table.length];
      await Promise.resolve(world)
        .then(row?.request)
        .catch(() => {});
      for (const { tenantId, clientId, jwks, scopes, enabled = true } of seed.plugins ?? [])
        emulator.updatePlugin({ tenantId, clientId, jwks, scopes, enabled });
    }
    emulator.journal.clear();
    emulator.customerLog.clear();
    // The targets of WeakRefs, such as unread bodies, are held until the event loop turns.
    await settle();
    reachable.push(reachableBytes());
  }
  // The first round compiles code and fills caches.
  const [, second = 0, , fourth = 0] = reachable;
  expect(fourth - second).toBeLessThan(ALLOWED_GROWTH_BYTES);
});
