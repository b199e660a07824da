// Two replicas of a backend with a real Redis: what a request costs, how sessions end, and what happens while Redis is down.
import { createClient } from "redis";
import { afterAll, expect, test, vi } from "vitest";
import { parseOptions } from "../../src/backend/backend-options.js";
import { PersonAuths } from "../../src/backend/person-auths.js";
import { Sessions } from "../../src/backend/sessions.js";
import { redisStore } from "../../src/stores/redis.js";
import { closeClients, connectClient } from "../stores/redis-clients.js";
import { describeWithRedis, startRedis } from "../support/redis.js";
import { ada, adaShown, bearer, HOST, launching, OWN, type RigOptions, rig, SERVICE } from "./rig.js";
import { refusalOf, TestBrowser } from "./test-browser.js";

afterAll(closeClients);

const day = 24 * 3_600_000;

/** Redis expires entries by its own clock, so `now` is the real time by default. */
async function replicas(now = Date.now, options: RigOptions = {}) {
  const redis = await startRedis();
  const admin = await createClient({ url: redis.url, socket: { reconnectStrategy: 20 } })
    .on("error", () => {})
    .connect();
  const store = redisStore(connectClient.redis(redis.url));
  const parts = rig({ ...options, store, emulator: { now } });
  const second = redisStore(connectClient.ioredis(redis.url));
  const two = new TestBrowser(parts.another({ store: second }), OWN);
  const settings = parseOptions({ ...options, now, store, deployments: [launching()] });
  const sessions = new Sessions(settings, new PersonAuths(settings));
  /** Opens sessions of one person without launches, which would take longer. */
  const open = async (count: number) => {
    const subject = { variant: "A", tenantId: ada.tenantId, baseUrl: SERVICE, operator: adaShown } as const;
    for (let opened = 0; opened < count; opened++)
      await sessions.open({ ...subject, hostOrigin: HOST, person: `filler ${opened}` });
  };
  const info = async (section: string) => String(await admin.sendCommand(["INFO", section]));
  return { redis, admin, parts, one: parts.browser, two, open, info, close: () => admin.destroy() };
}

describeWithRedis("sessions in Redis", () => {
  test("cost the same commands and no scan, whether there are 10 or 10,000 of one person", async () => {
    const startedAt = Date.now();
    const { admin, parts, one, two, open, info, close } = await replicas(() => startedAt);
    const commandsOf = async (task: () => Promise<Response>, status: number) => {
      await admin.sendCommand(["CONFIG", "RESETSTAT"]);
      expect((await task()).status).toBe(status);
      const stats = (await info("commandstats")).matchAll(/cmdstat_(\S+):calls=(\d+)/g);
      return [...stats].map(([, name, calls]) => `${name} ${calls}`).sort();
    };
    const costs = async () => {
      const [first, second] = [await parts.launch(), await parts.launch()];
      const me = (browser: TestBrowser, { session }: typeof first) =>
        browser.get("/auth/me", bearer(session));
      await me(two, second);
      const logOut = (body: object, { session }: typeof first) =>
        one.post("/auth/logout", body, bearer(session));
      const commands = {
        me: await commandsOf(() => me(one, first), 200),
        launch: await commandsOf(() => one.post("/auth/launch", parts.launchBody()), 200),
        logout: await commandsOf(() => logOut({}, first), 204),
        everywhere: await commandsOf(() => logOut({ everywhere: true }, second), 204),
      };
      for (const over of [first, second])
        for (const browser of [one, two])
          expect(await refusalOf(me(browser, over))).toBe("401 session_unknown");
      return commands;
    };
    // Scripts are loaded, and the person has a record.
    await costs();
    await open(10);
    const few = await costs();
    await open(10_000);
    expect(await admin.sendCommand(["DBSIZE"])).toBeGreaterThan(10_000);
    expect(await costs()).toEqual(few);
    expect(few.me).toEqual(["config|resetstat 1", "evalsha 2", "get 2"]);
    expect(JSON.stringify(few)).not.toMatch(/scan|keys/);
    close();
  });

  test("are removed by Redis a day after their end, without a request", async () => {
    const { admin, open, info, close } = await replicas(() => Date.now() - day, {
      session: { idleMs: 2_000 },
    });
    await open(200);
    await vi.waitFor(async () => expect(await admin.sendCommand(["DBSIZE"])).toBe(0), 60_000);
    expect(await info("stats")).toContain("expired_keys:200\r\n");
    close();
  });

  test.each(["is gone", "hangs"])(
    "are answered 503 while Redis %s, and continue afterwards",
    async (fault) => {
      const { redis, parts, one, two, close } = await replicas(undefined, { timeoutMs: 1_000 });
      const { session } = await parts.launch();
      const me = (browser: TestBrowser) => browser.get("/auth/me", bearer(session));
      for (let rounds = 0; rounds < 2; rounds++) {
        for (const browser of [one, two]) expect((await me(browser)).status).toBe(200);
        if (fault === "hangs") redis.suspend();
        else await redis.kill();
        for (const browser of [one, two]) expect(await refusalOf(me(browser))).toBe("503 store_unavailable");
        if (fault === "hangs") redis.resume();
        else await redis.restart();
        for (const browser of [one, two])
          await vi.waitFor(async () => expect((await me(browser)).status).toBe(200), 20_000);
      }
      close();
    },
  );
});
