// The journeys of a person and of an attacker with the page half. Every browser makes the same
// ones.
import { describe, expect, onTestFinished, test } from "vitest";
import { adaShown } from "../backend/rig.js";
import {
  type Launch,
  launchesOf,
  type Outcome,
  pageSites,
  readKept,
  type Sites,
  type WorldOptions,
} from "../page/page-world.js";
import {
  type CookiePolicy,
  type Driver,
  type Place,
  type Profile,
  run,
  type Tab,
  until,
} from "./driver.js";

const PLUGIN = "iframe[name=plugin]";

interface World extends Sites {
  readonly profile: Profile;
}

/** A profile that ends with the test. */
export async function profileIn(
  driver: Driver,
  cookies: CookiePolicy = "default",
): Promise<Profile> {
  const profile = await driver.profile(cookies);
  onTestFinished(() => profile.close());
  return profile;
}

export function pageJourneys(driver: () => Driver): void {
  async function worldWith(options: WorldOptions = {}, cookies?: CookiePolicy): Promise<World> {
    return Object.assign(await pageSites(options), { profile: await profileIn(driver(), cookies) });
  }

  /** Opens the host, and waits for the plugin's page in its frame. */
  async function framed(world: World): Promise<{ host: Tab; plugin: Place }> {
    const host = await world.profile.open(world.host.origin);
    const plugin = host.frame(PLUGIN);
    await until(plugin, "window.begin");
    return { host, plugin };
  }

  function begin(world: World, place: Place, options: object = {}): Promise<Outcome> {
    return run(place, "begin", { hostOrigins: [world.host.origin], ...options });
  }

  async function launched(options: WorldOptions = {}, cookies?: CookiePolicy) {
    const world = await worldWith(options, cookies);
    const places = await framed(world);
    return { world, ...places, outcome: await begin(world, places.plugin) };
  }

  async function reload(place: Place): Promise<void> {
    await place.evaluate("void (window.isOld = true, location.reload())");
    await until(place, "!window.isOld && window.begin");
  }

  /**
   * Starts on a page of its own, follows the browser to the login, and starts again where it comes
   * back.
   */
  async function loggedIn(world: World, tab: Tab): Promise<Outcome> {
    await until(tab, "window.begin");
    await run(tab, "leave", { hostOrigins: [world.host.origin] });
    await until(tab, 'location.search.includes("bivariant_login=") && window.begin');
    return begin(world, tab);
  }

  const devices = (place: Place) => run(place, "call", "/api/devices");
  const sessionA = { session: { variant: "A", tenantId: "acme" } };
  const sessionB = { session: { variant: "B", tenantId: "acme" } };

  describe("a person", () => {
    test.each(["default", "no third party", "never"] as const)(
      "launches the plugin in a frame of another origin, and logs out, with the cookie policy: %s",
      async (cookies) => {
        const { world, host, plugin, outcome } = await launched({}, cookies);
        expect(outcome).toMatchObject({ session: { ...sessionA.session, operator: adaShown } });
        expect(await host.evaluate("inits.length")).toBe(1);
        expect(launchesOf(world).map(({ code }) => code)).toEqual(world.host.codes);
        expect(await devices(plugin)).toMatchObject({ status: 200 });

        const [launch] = launchesOf(world);
        const bearer = world.plugin.requests.at(-1)?.headers.authorization?.slice("Bearer ".length);
        const kept = await plugin.evaluate<string>(`(${readKept})()`);
        expect(kept).toContain(`${world.plugin.origin}/?lang=en`);
        const { opaqueCode, state } = world.host.launch;
        for (const secret of [launch?.code, launch?.codeVerifier, bearer, opaqueCode, state])
          expect([typeof secret, kept.includes(String(secret))]).toEqual(["string", false]);
        const addresses = world.plugin.requests
          .map(({ url, headers }) => `${url} ${headers.referer}`)
          .join();
        for (const secret of [launch?.code, launch?.codeVerifier, bearer])
          expect(addresses).not.toContain(secret);
        expect(world.plugin.requests.filter(({ headers }) => headers.cookie)).toEqual([]);

        await plugin.evaluate("session.logout()");
        expect(await devices(plugin)).toMatchObject({
          error: { code: "session_ended", reason: "logged_out" },
        });
        expect(world.profile.errors).toEqual([]);
      },
    );

    test("goes on after a reload of the frame where the browser keeps partitioned cookies, else launches anew", async () => {
      const { world, host, plugin, outcome } = await launched({ cookie: true });
      expect(outcome).toMatchObject(sessionA);
      const isKept = driver().lacks["partitioned cookies"] === undefined;
      if (isKept) expect(await devices(plugin)).toMatchObject({ status: 200 });
      await reload(plugin);
      expect(await begin(world, plugin)).toMatchObject(
        isKept ? sessionA : { error: { code: "opaque_code_missing" } },
      );
      expect(await host.evaluate("inits.length")).toBe(1);
      expect(launchesOf(world)).toHaveLength(1);
      expect(await plugin.evaluate("document.cookie")).toBe("");
      if (isKept) {
        expect(await run(plugin, "call", "/api/devices", { method: "POST" })).toMatchObject({
          status: 200,
        });
        await plugin.evaluate("session.logout()");
        await reload(plugin);
        expect(await begin(world, plugin)).toMatchObject({
          error: { code: "opaque_code_missing" },
        });
      }
    });

    test("has no session after a reload of the frame where its cookies are blocked as those of third parties", async () => {
      const { world, plugin, outcome } = await launched({ cookie: true }, "no third party");
      expect(outcome).toMatchObject(sessionA);
      if (driver().lacks["a setting that blocks partitioned cookies"]) {
        expect(await devices(plugin)).toMatchObject({ status: 200 });
        return;
      }
      expect(await devices(plugin)).toMatchObject({ error: { code: "session_ended" } });
      await reload(plugin);
      expect(await begin(world, plugin)).toMatchObject({ error: { code: "opaque_code_missing" } });
      expect(world.plugin.requests.filter(({ headers }) => headers.cookie)).toEqual([]);
    });

    test.each([{ cookie: false }, { cookie: true }])(
      "logs in on a page of its own, reloads it, and logs out, where the backend has $cookie for session.cookie",
      async ({ cookie }) => {
        const world = await worldWith({ cookie });
        const tab = await world.profile.open(`${world.plugin.origin}/?view=list`);
        expect(await loggedIn(world, tab)).toMatchObject(sessionB);
        expect(await tab.evaluate("location.href")).toBe(`${world.plugin.origin}/?view=list`);
        expect(await tab.evaluate("document.cookie")).toBe("");
        const names = async () =>
          (await tab.cookies()).map(({ name, httpOnly }) => httpOnly && name);
        if (cookie && driver().lacks["secure cookies over http"]) {
          expect(await names()).toEqual([]);
          expect(await devices(tab)).toMatchObject({ error: { code: "session_ended" } });
          return;
        }
        expect(await devices(tab)).toMatchObject({ status: 200 });
        expect((await names()).includes("bivariant-session")).toBe(cookie);
        const bearer = world.plugin.requests.at(-1)?.headers.authorization?.slice("Bearer ".length);
        expect(bearer === undefined).toBe(cookie);
        expect(await tab.evaluate(`(${readKept})()`)).not.toContain(bearer ?? "no token");

        await reload(tab);
        expect(await (cookie ? begin(world, tab) : loggedIn(world, tab))).toMatchObject(sessionB);
        await tab.evaluate("session.logout()");
        expect(await names()).not.toContain("bivariant-session");
        await reload(tab);
        expect(await begin(world, tab, { login: false })).toMatchObject({
          error: { code: "not_framed" },
        });
        expect(await loggedIn(world, tab)).toMatchObject(sessionB);
        expect(world.profile.errors).toEqual([]);
      },
    );

    test("is told that cookies may be blocked after a login without any, and is not sent round in circles", async () => {
      const world = await worldWith({}, "never");
      const tab = await world.profile.open(world.plugin.origin);
      await until(tab, "window.begin");
      await run(tab, "leave", { hostOrigins: [world.host.origin] });
      await until(tab, 'location.pathname === "/auth/callback" && document.querySelector("small")');
      const text = await tab.evaluate<string>("document.body.innerText");
      expect(text).toMatch(/allow cookies.*state_mismatch/s);
      const asked = world.plugin.requests.map(({ url }) => url.pathname);
      expect(asked.filter((path) => path === "/auth/login")).toHaveLength(1);
      expect(asked.filter((path) => path === "/auth/session")).toHaveLength(1);
    });
  });

  describe("an attacker", () => {
    /** JavaScript that posts messages without a pause, and even knows state and tenant. */
    function posting(target: string, { state, tenantId }: Launch): string {
      const messages = [
        { type: "host:auth-code", code: "evil", state, tenantId },
        { type: "host:auth-code", code: "evil", state: "wrong", tenantId },
        { type: "host:auth-code", code: "evil" },
      ];
      return (
        `setInterval(() => { for (const m of ${JSON.stringify(messages)}) ` +
        `${target}?.postMessage(m, "*"); }, 5);`
      );
    }

    function launchUrl({ plugin, host }: Sites): string {
      return `${plugin.origin}/?opaque_code=${host.launch.opaqueCode}&state=${host.launch.state}`;
    }

    async function underFire(place: Place): Promise<void> {
      await place.evaluate("void (window.heard = 0)");
      await until(place, "heard > 9");
    }

    /**
     * Makes sure that forged messages arrive before the launch, while the host works, and
     * afterwards.
     */
    async function expectHonestUnderFire(world: World, host: Tab, plugin: Place): Promise<void> {
      await until(plugin, "heard > 0");
      const answer = world.hold();
      const options = JSON.stringify({ hostOrigins: [world.host.origin] });
      await plugin.evaluate(`void (window.outcome = begin(${options}))`);
      await until(host, "inits.length === 1");
      await underFire(plugin);
      answer();
      expect(await plugin.evaluate("outcome")).toMatchObject(sessionA);
      await underFire(plugin);
      expect(launchesOf(world).map(({ code }) => code)).toEqual(world.host.codes);
      expect(world.host.codes).toHaveLength(1);
      expect(world.profile.errors).toEqual([]);
    }

    function expectNothingSent(world: World): void {
      const sent = [...world.plugin.requests, ...world.host.requests];
      expect(sent.filter(({ method }) => method === "POST")).toEqual([]);
    }

    test("in a sibling frame of the host's own origin posts messages, and none is accepted", async () => {
      const world = await worldWith();
      const script = posting("parent.frames.plugin", world.host.launch).replaceAll('"', "&quot;");
      world.beside = `<iframe srcdoc="<script>${script}</script>"></iframe>`;
      const { host, plugin } = await framed(world);
      await expectHonestUnderFire(world, host, plugin);
    });

    test("in a frame inside the plugin's page posts messages, and none is accepted", async () => {
      const world = await worldWith();
      world.evilHtml = `<!doctype html><script>${posting("parent", world.host.launch)}</script>`;
      const { host, plugin } = await framed(world);
      const src = JSON.stringify(world.evil.origin);
      await plugin.evaluate(
        `void document.body.append(Object.assign(document.createElement("iframe"), { ` +
          `src: ${src} }))`,
      );
      await expectHonestUnderFire(world, host, plugin);
    });

    test("that opened the plugin's page in a window posts messages, and the page rejects with not_framed", async () => {
      const world = await worldWith();
      const script =
        "const victim = " +
        `open(${JSON.stringify(launchUrl(world))}); ${posting("victim", world.host.launch)}`;
      world.evilHtml = `<!doctype html><script>${script}</script>`;
      await world.profile.open(world.evil.origin);
      let popup: Tab | undefined;
      await expect
        .poll(async () => (popup = await world.profile.popup().catch(() => undefined)))
        .toBeDefined();
      const page = popup as Tab;
      await until(page, "window.heard > 0");
      const hostOrigins = [world.host.origin, world.evil.origin];
      expect(await begin(world, page, { hostOrigins })).toMatchObject({
        error: { code: "not_framed" },
      });
      await underFire(page);
      expectNothingSent(world);
    });

    test("that frames the plugin's page gets no message, and the page rejects with host_origin_unknown", async () => {
      const world = await worldWith();
      world.evilHtml = `<!doctype html><iframe name="plugin" src="${launchUrl(world).replace("&", "&amp;")}"></iframe>
        <script>const got = []; onmessage = ({ data }) => got.push(data);
        ${posting("frames.plugin", world.host.launch)}</script>`;
      const evil = await world.profile.open(world.evil.origin);
      const plugin = evil.frame(PLUGIN);
      await until(plugin, "window.heard > 0");
      expect(await begin(world, plugin)).toMatchObject({
        error: { code: "host_origin_unknown", message: world.evil.origin },
      });
      await underFire(plugin);
      expect(await evil.evaluate("got")).toEqual([]);
      expectNothingSent(world);
    });

    test("that frames the plugin's page after a launch finds no session, and cannot read the frame", async () => {
      const { world, plugin, outcome } = await launched({ cookie: true });
      expect(outcome).toMatchObject(sessionA);
      await plugin.evaluate("document.title");
      world.evilHtml = `<!doctype html><iframe name="plugin" src="${world.plugin.origin}/"></iframe>`;
      const evil = await world.profile.open(world.evil.origin);
      const framed = evil.frame(PLUGIN);
      await until(framed, "window.begin");
      const asked = world.plugin.requests.length;
      // Even a page that trusts the attacker's origin has no session there.
      const hostOrigins = [world.evil.origin];
      expect(await begin(world, framed, { hostOrigins })).toMatchObject({
        error: { code: "opaque_code_missing" },
      });
      expect(world.plugin.requests.slice(asked).filter(({ headers }) => headers.cookie)).toEqual(
        [],
      );
      const read =
        "(() => { try { return frames[0].document.title } catch ({ name }) { return name } })()";
      expect(await evil.evaluate(read)).toBe("SecurityError");
      const own = await world.profile.open(world.plugin.origin);
      await until(own, "window.begin");
      expect(await begin(world, own, { login: false })).toMatchObject({
        error: { code: "not_framed" },
      });
    });

    test("that hides the origin of the framing page gets no message and no code", async () => {
      const world = await worldWith();
      const inner = `<iframe name="plugin" src="${launchUrl(world)}"></iframe><script>
        const got = []; onmessage = ({ data }) => got.push(data);
        ${posting("frames[0]", world.host.launch)}</script>`;
      world.evilHtml = `<!doctype html><iframe name="hidden" src="data:text/html,${encodeURIComponent(inner)}"></iframe>`;
      const evil = await world.profile.open(world.evil.origin);
      const hidden = evil.frame("iframe[name=hidden]");
      const plugin = hidden.frame(PLUGIN);
      await until(plugin, "window.heard > 0");
      const { error } = await begin(world, plugin, { timeoutMs: 500 });
      // A browser that counts a data: page as insecure has no crypto.subtle in its frames.
      expect(["host_silent", "insecure_context", "host_origin_unknown"]).toContain(error?.code);
      expect(await hidden.evaluate("got")).toEqual([]);
      expect(launchesOf(world)).toEqual([]);
    });
  });
}
