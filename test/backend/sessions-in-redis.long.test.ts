// Two replicas of a backend with a real Redis: what a request costs, how sessions end, and what
// happens while Redis is down.
import { createClient } from "redis";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { parseOptions } from "../../src/backend/backend-options.js";
import { PersonAuths } from "../../src/backend/person-auths.js";
import { Sessions } from "../../src/backend/sessions.js";
import { redisStore } from "../../src/stores/redis.js";
import { closeClients, connectClient } from "../stores/redis-clients.js";
import { describeWithRedis, startRedis } from "../support/redis.js";
import { adaShown, bearer, HOST, launching, OWN, type RigOptions, rig, SERVICE } from "./rig.js";
import { refusalOf, TestBrowser } from "./test-browser.js";

afterAll(closeClients);

/** Redis expires entries by its own clock, so the backends need the real time. */
async function replicas(now: () => number, options: RigOptions = {}) {
  const redis = await startRedis();
  const admin = createClient({ url: redis.url }).on("error", () => {});
  onTestFinished(() => admin.destroy());
  await admin.connect();
  const ask = (...command: string[]) => admin.sendCommand(command);
  const [store, second] = [connectClient.redis(redis.url), connectClient.ioredis(redis.url)].map(
    (client) => redisStore(client),
  );
  const parts = rig({ ...options, store, emulator: { now } });
  const one = (session?: string) => parts.browser.get("/auth/me", bearer(session));
  const browser = new TestBrowser(parts.another({ store: second }), OWN);
  const two = (session?: string) => browser.get("/auth/me", bearer(session));
  const settings = parseOptions({ ...options, clock: { now }, store, deployments: [launching()] });
  const sessions = new Sessions(settings, new PersonAuths(settings));
  /** Opens sessions of one person without launches, which would take longer. */
  const open = async (count: number) => {
    const subject = {
      variant: "A",
      tenantId: "acme",
      baseUrl: SERVICE,
      operator: adaShown,
    } as const;
    for (let opened = 0; opened < count; opened++)
      await sessions.open({ ...subject, hostOrigin: HOST, person: `filler ${opened}` });
  };
  return { redis, ask, parts, one, two, open };
}

describeWithRedis("sessions in Redis", () => {
  test("cost the same commands and no scan, whether a person has 10 or 10,000, and end on both replicas", async () => {
    const startedAt = Date.now();
    const { ask, parts, one, two, open } = await replicas(() => startedAt);
    const commandsOf = async (request: () => Promise<Response>) => {
      await ask("CONFIG", "RESETSTAT");
      expect((await request()).ok).toBe(true);
      const stats = String(await ask("INFO", "commandstats"));
      return stats.match(/(?<=cmdstat_)\S+:calls=\d+/g)?.sort();
    };
    const costs = async () => {
      const [{ session: first }, { session: second }] = [
        await parts.launch(),
        await parts.launch(),
      ];
      const logOut = (body: object, session?: string) =>
        parts.browser.post("/auth/logout", body, bearer(session));
      await two(second);
      const commands = {
        me: await commandsOf(() => one(first)),
        launch: await commandsOf(() => parts.browser.post("/auth/launch", parts.launchBody())),
        logout: await commandsOf(() => logOut({}, first)),
        logoutEverywhere: await commandsOf(() => logOut({ everywhere: true }, second)),
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
    expect(few.me).toEqual(["config|resetstat:calls=1", "evalsha:calls=2", "get:calls=2"]);
    expect(JSON.stringify(few)).not.toMatch(/scan|keys/);
  });

  test("are removed by Redis a day after their end, without a request", async () => {
    const aDayAgo = () => Date.now() - 24 * 3_600_000;
    const { ask, open } = await replicas(aDayAgo, { session: { idleMs: 2_000 } });
    await open(200);
    await vi.waitFor(async () => expect(await ask("DBSIZE")).toBe(0), 60_000);
    expect(await ask("INFO", "stats")).toContain("expired_keys:200\r\n");
  });

  test("of one identified person in Variant B end on both replicas by a logout everywhere at one of them", async () => {
    const identify = async () => ({ userId: "grace" });
    const { parts, one, two } = await replicas(Date.now, { identify });
    const [first, second] = [await parts.loggedIn(), await parts.loggedIn()];
    expect(await (await two(first.session)).json()).toMatchObject({
      operator: { userId: "grace" },
    });
    const body = { everywhere: true };
    expect((await parts.browser.post("/auth/logout", body, bearer(first.session))).status).toBe(
      204,
    );
    for (const answer of [
      one(first.session),
      two(first.session),
      one(second.session),
      two(second.session),
    ])
      expect(await refusalOf(answer)).toBe("401 session_unknown");
  });

  test.each(["is gone", "hangs"])(
    "are answered 503 while Redis %s, and continue after it",
    async (fault) => {
      const { redis, parts, one, two } = await replicas(Date.now, { timeoutMs: 1_000 });
      const { session } = await parts.launch();
      for (let rounds = 0; rounds < 2; rounds++) {
        for (const me of [one, two])
          await vi.waitFor(async () => expect((await me(session)).status).toBe(200), 20_000);
        await (fault === "hangs" ? redis.suspend() : redis.kill());
        for (const me of [one, two])
          expect(await refusalOf(me(session))).toBe("503 store_unavailable");
        await (fault === "hangs" ? redis.resume() : redis.restart());
      }
      await vi.waitFor(async () => expect((await one(session)).status).toBe(200), 20_000);
    },
  );
});
