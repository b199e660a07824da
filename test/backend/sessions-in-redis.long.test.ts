// Two replicas of a backend with a real Redis: what a request costs, and what happens while Redis
// is down.
import { createClient } from "redis";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { parseOptions } from "../../src/backend/backend-options.js";
import { PersonAuths } from "../../src/backend/person-auths.js";
import { Sessions } from "../../src/backend/sessions.js";
import { redisStore } from "../../src/stores/redis.js";
import { closeClients, connectClient } from "../stores/redis-clients.js";
import { describeWithRedis, startRedis } from "../support/redis.js";
import { adaShown, HOST, launching, type RigOptions, rig, SERVICE } from "./rig.js";
import { refusalOf } from "./test-browser.js";

afterAll(closeClients);

/** Redis expires entries by its own clock, so the backends start at the real time. */
async function replicas(options: RigOptions = {}) {
  const startedAt = Date.now();
  const now = () => startedAt;
  const redis = await startRedis();
  const admin = createClient({ url: redis.url }).on("error", () => {});
  onTestFinished(() => admin.destroy());
  await admin.connect();
  const ask = (...command: string[]) => admin.sendCommand(command);
  const [store, second] = [connectClient.redis(redis.url), connectClient.ioredis(redis.url)].map(
    (client) => redisStore(client),
  );
  const parts = rig({ ...options, store, emulator: { now } });
  const one = (session?: string) => parts.browser.me(session);
  const two = (session?: string) => parts.elsewhere({ store: second }).me(session);
  const settings = parseOptions({ ...options, clock: { now }, store, deployments: [launching()] });
  const sessions = new Sessions(settings, new PersonAuths(settings));
  /** Opens sessions of one person without launches, which would take longer. */
  const open = async (count: number) => {
    const target = { tenantId: "acme", baseUrl: SERVICE, hostOrigin: HOST };
    const subject = { variant: "A", ...target, operator: adaShown } as const;
    for (let opened = 0; opened < count; opened++)
      await sessions.open({ ...subject, person: `filler ${opened}` });
  };
  return { redis, ask, parts, one, two, open };
}

describeWithRedis("sessions in Redis", () => {
  test("cost the same commands and no scan, whether a person has 10 or 10,000, and end on both replicas", async () => {
    const { ask, parts, one, two, open } = await replicas();
    const commandsOf = async (request: () => Promise<Response>) => {
      await ask("CONFIG", "RESETSTAT");
      expect((await request()).ok).toBe(true);
      const stats = String(await ask("INFO", "commandstats"));
      return stats.match(/(?<=cmdstat_)\S+:calls=\d+/g)?.sort();
    };
    const costs = async () => {
      const { session: first } = await parts.launch();
      const { session: second } = await parts.launch();
      await two(second);
      const commands = {
        me: await commandsOf(() => one(first)),
        launch: await commandsOf(() => parts.browser.post("/auth/launch", parts.launchBody())),
        logout: await commandsOf(() => parts.browser.logOut(first)),
        logoutEverywhere: await commandsOf(() =>
          parts.browser.logOut(second, { everywhere: true }),
        ),
      };
      for (const answer of [one(first), two(first), one(second), two(second)])
        expect(await refusalOf(answer)).toBe("401 session_unknown");
      return commands;
    };
    // After this the scripts are loaded, and the person has a record.
    await costs();
    await open(10);
    const few = await costs();
    await open(10_000);
    expect(await ask("DBSIZE")).toBeGreaterThan(10_000);
    expect(await costs()).toEqual(few);
    expect(few.me).toEqual(["config|resetstat:calls=1", "eval:calls=2", "get:calls=2"]);
    expect(JSON.stringify(few)).not.toMatch(/scan|keys/);
  });

  test.each(["is gone", "hangs"])(
    "are answered 503 while Redis %s, and continue after it",
    async (fault) => {
      const { redis, parts, one, two } = await replicas({ timeoutMs: 1_000 });
      const { session } = await parts.launch();
      const isFound = () =>
        vi.waitFor(async () => {
          for (const me of [one, two]) expect((await me(session)).status).toBe(200);
        }, 20_000);
      await isFound();
      await (fault === "hangs" ? redis.suspend() : redis.kill());
      for (const me of [one, two])
        expect(await refusalOf(me(session))).toBe("503 store_unavailable");
      await (fault === "hangs" ? redis.resume() : redis.restart());
      await isFound();
    },
  );
});
