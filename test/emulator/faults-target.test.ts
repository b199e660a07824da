// Which requests a fault strikes, and at which moment.
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type Emulator,
  type Fault,
  type FaultMatch,
  type FaultName,
  faultMoments,
} from "../../src/emulator/index.js";
import { runExample } from "../examples/plugin/run-example.js";
import { describeInChromium } from "../support/chromium.js";
import { FormBrowser } from "./form-browser.js";
import { LaunchedPlugin } from "./launched-plugin.js";
import { newPkce } from "./pkce.js";
import { PluginClient, pluginKey } from "./plugin-client.js";
import { CALLBACK, Portal } from "./portal.js";
import { ways } from "./two-ways.js";

describe("matched requests", () => {
  const TOKEN = "/api/v1/acme/external-plugin/oauth/token";
  const statusesOf = async (sent: Promise<Response>[]) =>
    (await Promise.all(sent)).map(({ status }) => status);
  const times = <Value>(count: number, make: () => Value): Value[] => Array.from({ length: count }, make);

  describe.each(ways)("$name", ({ open }) => {
    test.each([
      { count: undefined, struck: 1 },
      { count: 7, struck: 7 },
      { count: "always" as const, struck: 40 },
    ])("of 40 token requests at once exactly $struck are struck", async ({ count, struck }) => {
      const plugin = new PluginClient();
      const send = await open(plugin.emulator);
      const handle = plugin.emulator.faults.add({ name: "status", status: 503, count });
      const forms = times(40, () => plugin.form());
      const statuses = await statusesOf(forms.map((body) => send(TOKEN, { method: "POST", body })));
      expect(statuses.filter((status) => status === 503)).toHaveLength(struck);
      expect(handle.fired).toBe(struck);
      expect(plugin.emulator.journal.count({ fault: "status" })).toBe(struck);
    });

    test("of 40 answers at once exactly 7 are lost, and all are committed", async () => {
      const portal = new Portal();
      const send = await open(portal.emulator);
      const codes = times(40, () => portal.loginCode());
      portal.emulator.faults.add({ name: "lost-answer", count: 7 });
      const sent = codes.map(({ code, codeVerifier }) =>
        send("/v1/auth/token", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({
            code,
            code_verifier: codeVerifier,
            client_id: "portal",
            redirect_uri: CALLBACK,
          }),
        }),
      );
      const settled = await Promise.allSettled(sent);
      expect(settled.filter(({ status }) => status === "rejected")).toHaveLength(7);
      for (const code of codes) await portal.exchange(code);
      expect(portal.emulator.customerLog.entries({ rule: "client-code.unspent" })).toHaveLength(40);
    });
  });

  describe("a fault strikes what matches", () => {
    /** Two plugins in acme, one in globex, an account and a client; each asks for a token. */
    function crowd(): { emulator: Emulator; askers: Record<string, () => Promise<Response>> } {
      const plugin = new PluginClient();
      const { emulator } = plugin;
      const sheet = { type: "service", jwks: { keys: [pluginKey.publicJwk] } } as const;
      emulator.registerPlugin({ ...sheet, clientId: "second", tenantId: "acme" });
      emulator.registerPlugin({ ...sheet, clientId: "reporter", tenantId: "globex" });
      emulator.registerServiceAccount({ clientId: "worker", clientSecret: "s", tenantId: "acme" });
      const second = { iss: "second", sub: "second" };
      const json = (fields: object) =>
        emulator.fetch("/v1/auth/token", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(fields),
        });
      return {
        emulator,
        askers: {
          reporter: () => plugin.requestToken(),
          second: () => plugin.requestToken({ form: { client_id: "second" }, claims: second }),
          globex: () => plugin.requestToken({ tenantId: "globex" }),
          worker: () => json({ grant_type: "client_credentials", client_id: "worker", client_secret: "s" }),
          nobody: () => json({ grant_type: "refresh_token", client_id: "nobody", refresh_token: "x" }),
        },
      };
    }

    const rows: { name: string; match: FaultMatch; struck: string[] }[] = [
      { name: "everything", match: {}, struck: ["reporter", "second", "globex", "worker", "nobody"] },
      {
        name: "a tenant, of both variants",
        match: { tenantId: "acme" },
        struck: ["reporter", "second", "worker"],
      },
      { name: "a client_id", match: { clientId: "reporter" }, struck: ["reporter", "globex"] },
      {
        name: "a client_id in a tenant",
        match: { clientId: "reporter", tenantId: "globex" },
        struck: ["globex"],
      },
      { name: "a client_id that nobody registered", match: { clientId: "nobody" }, struck: ["nobody"] },
      { name: "a variant", match: { variant: "B" }, struck: ["worker", "nobody"] },
      { name: "a grant", match: { grant: "refresh_token" }, struck: ["nobody"] },
      {
        name: "another operation",
        match: { operation: "requestToken", variant: "A", clientId: "second" },
        struck: ["second"],
      },
      { name: "a method", match: { method: "GET" }, struck: [] },
      { name: "a path", match: { path: TOKEN, method: "POST" }, struck: ["reporter", "second"] },
    ];
    test.each(
      rows.flatMap((row) => (["before-token", "after-commit"] as const).map((at) => ({ ...row, at }))),
    )("$name ($at)", async ({ match, struck, at }) => {
      const { emulator, askers } = crowd();
      emulator.faults.add({ name: "status", status: 599, at, match, count: "always" });
      const statuses = await Promise.all(
        Object.entries(askers).map(async ([name, ask]) => [name, (await ask()).status] as const),
      );
      expect(statuses.filter(([, status]) => status === 599).map(([name]) => name)).toEqual(struck);
    });

    test("the bearer's client and tenant on a route, in either variant", async () => {
      const { emulator, askers } = crowd();
      const tokens: Record<string, string> = {};
      for (const name of ["reporter", "second", "worker"]) {
        const body = (await (await askers[name]?.())?.json()) as { access_token: string };
        tokens[name] = body.access_token;
      }
      const call = (name: string) =>
        emulator.fetch(name === "worker" ? "/v1/devices" : "/api/v1/acme/devices", {
          headers: { authorization: `Bearer ${tokens[name]}` },
        });
      const strikes = async (match: FaultMatch) => {
        emulator.faults.clear();
        emulator.faults.add({ name: "status", status: 599, at: "resource", match, count: "always" });
        const names = ["reporter", "second", "worker"];
        const statuses = await statusesOf(names.map(call));
        return names.filter((_, index) => statuses[index] === 599);
      };
      expect(await strikes({ clientId: "second" })).toEqual(["second"]);
      expect(await strikes({ tenantId: "acme" })).toEqual(["reporter", "second", "worker"]);
      expect(await strikes({ tenantId: "acme", variant: "B" })).toEqual(["worker"]);
      expect(await strikes({ operation: "listDevices", path: "/v1/devices" })).toEqual(["worker"]);
      expect(await strikes({ tenantId: "globex" })).toEqual([]);
    });

    test("an unregistered client is matched, and not shown in the journal", async () => {
      const { emulator, askers } = crowd();
      emulator.faults.add({ name: "reset", match: { clientId: "nobody" } });
      await expect(askers.nobody?.()).rejects.toThrow("fetch failed");
      const entry = emulator.journal.last();
      expect(entry).toMatchObject({ fault: "reset", grant: "refresh_token", status: 0 });
      expect(entry).not.toHaveProperty("clientId");
      expect(entry).not.toHaveProperty("tenantId");
    });

    test("a body that is too large, broken or in another encoding is read by the handler all the same", async () => {
      const { emulator } = crowd();
      emulator.faults.add({ name: "reset", match: { clientId: "another" }, count: "always" });
      const bodies = [
        "x".repeat(200_000),
        "%%%",
        Uint8Array.of(0xff, 0xfe),
        "",
        "[]",
        "null",
        '{"client_id":1}',
      ];
      for (const body of bodies)
        for (const path of [TOKEN, "/v1/auth/token"]) {
          const type = path === TOKEN ? "application/x-www-form-urlencoded" : "application/json";
          const init = { method: "POST", headers: { "content-type": type }, body };
          const [struck, plain] = [
            await emulator.fetch(path, init),
            await crowd().emulator.fetch(path, init),
          ];
          expect([struck.status, await struck.text()]).toEqual([plain.status, await plain.text()]);
        }
    });
  });

  describe("of several faults", () => {
    test("the oldest that matches strikes, one at each moment", async () => {
      const plugin = new PluginClient();
      const { faults, journal } = plugin.emulator;
      faults.add({ name: "status", status: 501, match: { clientId: "another" } });
      faults.add({ name: "status", status: 502 });
      faults.add({ name: "status", status: 503, at: "after-commit" });
      faults.add({ name: "status", status: 504, at: "after-commit" });
      faults.add({ name: "slow", at: "before-token", delayMs: 1 });
      const statuses: number[] = [];
      for (let i = 0; i < 4; i++) statuses.push((await plugin.requestToken()).status);
      expect(statuses).toEqual([502, 503, 504, 200]);
      expect(journal.entries().map(({ fault }) => fault)).toEqual(["status", "status", "status", undefined]);
      expect(faults.list()).toMatchObject([{ id: "fault-1", fired: 0, left: 1 }]);
    });

    test("on a route the oldest strikes, whether it alters the answer or takes its place", async () => {
      const plugin = new PluginClient();
      const token = await plugin.accessToken();
      plugin.emulator.faults.add({ name: "content-type", at: "resource", contentType: "text/plain" });
      plugin.emulator.faults.add({ name: "status", at: "resource", status: 503 });
      expect((await plugin.call(token)).headers.get("content-type")).toBe("text/plain");
      expect((await plugin.call(token)).status).toBe(503);
      expect((await plugin.call(token)).status).toBe(200);
    });

    test("one whose draw fails makes way for the next", async () => {
      const plugin = new PluginClient();
      const { faults } = plugin.emulator;
      faults.add({ name: "status", status: 501, probability: 1e-9, seed: 1, count: "always" });
      faults.add({ name: "status", status: 502 });
      expect((await plugin.requestToken()).status).toBe(502);
    });
  });
});

describe("moments", () => {
  const settled = async (sent: Promise<Response>) => (await Promise.allSettled([sent]))[0]?.status;

  const before: { name: string; fault: Fault }[] = [
    { name: "a reset", fault: { name: "reset" } },
    { name: "a 503", fault: { name: "status", status: 503 } },
    { name: "a 429", fault: { name: "rate-limited" } },
  ];
  const after: { name: string; fault: Fault }[] = [
    { name: "a lost answer", fault: { name: "lost-answer" } },
    { name: "a reset", fault: { name: "reset", at: "after-commit" } },
    { name: "a 504", fault: { name: "status", status: 504, at: "after-commit" } },
    { name: "a truncated answer", fault: { name: "truncated" } },
    { name: "malformed JSON", fault: { name: "malformed-json" } },
    { name: "missing fields", fault: { name: "fields", fields: { access_token: null } } },
  ];

  describe("before the token endpoint", () => {
    test.each(before)("$name spends no code, and no assertion", async ({ fault }) => {
      const plugin = new LaunchedPlugin();
      const code = plugin.launchedCode();
      const form = plugin.form({
        form: { grant_type: "authorization_code", code: code.code, code_verifier: code.codeVerifier },
      });
      plugin.emulator.faults.add(fault);
      await settled(plugin.post(form));
      expect((await plugin.post(form)).status).toBe(200);
      expect(plugin.emulator.journal.tokenRequests()).toMatchObject([
        { fault: fault.name, grant: "authorization_code", clientId: "reporter", tenantId: "acme" },
        { status: 200 },
      ]);
    });

    test.each(before)("$name rotates no refresh token", async ({ fault }) => {
      const portal = new Portal();
      const { refresh_token: token } = await portal.tokens();
      portal.emulator.faults.add(fault);
      await settled(portal.refresh(token));
      expect((await portal.refresh(token)).status).toBe(200);
      expect(portal.emulator.journal.tokenRequests({ grant: "refresh_token" })).toMatchObject([
        { fault: fault.name, clientId: "portal", tenantId: "acme" },
        { status: 200 },
      ]);
    });

    test.each(before)("$name takes no slot of the rate limit", async ({ fault }) => {
      const plugin = new PluginClient({ rateLimit: { requests: 1, windowSeconds: 60 } });
      plugin.emulator.faults.add(fault);
      await settled(plugin.requestToken());
      expect((await plugin.requestToken()).status).toBe(200);
      expect((await plugin.requestToken()).status).toBe(429);
    });

    test("a slow request whose caller gave up is never looked at", async () => {
      const plugin = new PluginClient();
      const form = String(plugin.form());
      plugin.emulator.faults.add({ name: "slow", at: "before-token", delayMs: 60_000 });
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const controller = new AbortController();
      const init = { method: "POST", headers, body: form, signal: controller.signal };
      const sent = plugin.emulator.fetch(plugin.tokenUrl(), init);
      await expect.poll(() => plugin.emulator.faults.list()).toEqual([]);
      controller.abort(new Error("enough"));
      await expect(sent).rejects.toThrow("enough");
      expect(await plugin.emulator.journal.waitFor({ fault: "slow" })).toMatchObject([{ status: 0 }]);
      expect((await plugin.post(form)).status).toBe(200);
    });
  });

  describe("after the server committed", () => {
    test.each(after)("$name leaves a launch's code spent", async ({ fault }) => {
      const plugin = new LaunchedPlugin();
      const code = plugin.launchedCode();
      plugin.emulator.faults.add(fault);
      await settled(plugin.exchange(code));
      expect(plugin.emulator.journal.last()).toMatchObject({ fault: fault.name, clientId: "reporter" });
      expect((await plugin.exchange(code)).status).toBe(400);
      expect(plugin.lastRule()).toBe("code.unspent");
    });

    test.each(after)("$name leaves a login's code spent", async ({ fault }) => {
      const portal = new Portal();
      const code = portal.loginCode();
      portal.emulator.faults.add(fault);
      await settled(portal.exchange(code));
      expect((await portal.exchange(code)).status).toBe(400);
      expect(portal.lastRule()).toBe("client-code.unspent");
    });

    test.each(after)("$name leaves the old refresh token rotated", async ({ fault }) => {
      const portal = new Portal();
      const { refresh_token: token } = await portal.tokens();
      portal.emulator.faults.add(fault);
      await settled(portal.refresh(token));
      expect((await portal.refresh(token)).status).toBe(400);
      expect(portal.lastRule()).toBe("refresh.reuse");
    });

    test.each(after)("$name leaves the assertion used", async ({ fault }) => {
      const plugin = new PluginClient();
      const form = plugin.form();
      plugin.emulator.faults.add(fault);
      await settled(plugin.post(form));
      await plugin.post(form);
      expect(plugin.lastRule()).toBe("assertion.replay");
    });

    test("a refusal is an answer too: what it says is lost, the customer's log and the journal have it", async () => {
      const plugin = new PluginClient();
      plugin.emulator.faults.add({ name: "lost-answer" });
      await expect(plugin.requestToken({ tenantId: "globex" })).rejects.toThrow("fetch failed");
      const entry = plugin.emulator.journal.last();
      expect(entry).toMatchObject({ status: 0, fault: "lost-answer", rule: "plugin.registered" });
      expect(plugin.emulator.customerLog.entries({ requestId: entry?.id ?? 0 })).toHaveLength(1);
    });
  });

  describe("on a route", () => {
    const execution = "/api/v1/acme/schedules/s1/executions";
    const scopes = ["schedules:execute"];

    test.each([
      { name: "a lost answer comes after the route did its work", fault: "lost-answer", done: 1 },
      { name: "a reset comes before", fault: "reset", done: 0 },
    ] as const)("$name", async ({ fault, done }) => {
      let executed = 0;
      const respond = () => {
        executed += 1;
        return { done: true };
      };
      const path = "/api/v1/{tenantId}/schedules/{scheduleId}/executions";
      const route = {
        operationId: "execute",
        method: "POST",
        path,
        scope: "schedules:execute",
        respond,
      } as const;
      const plugin = new PluginClient({ routes: [route] }, { scopes });
      const token = await plugin.accessToken();
      plugin.emulator.faults.add({ name: fault, at: "resource" });
      await expect(plugin.call(token, execution, { method: "POST" })).rejects.toThrow("fetch failed");
      expect(executed).toBe(done);
      expect(plugin.emulator.journal.last()).toMatchObject({ operation: "execute", status: 0, fault });
    });

    test("an answer without a body is altered all the same", async () => {
      const routes = [{ operationId: "empty", method: "GET", path: "/api/v1/{tenantId}/empty" }] as const;
      const plugin = new PluginClient({ routes: [{ ...routes[0], respond: () => undefined }] });
      const token = await plugin.accessToken();
      const { faults } = plugin.emulator;
      const call = () => plugin.call(token, "/api/v1/acme/empty");
      expect((await call()).status).toBe(204);
      faults.add({ name: "fields", at: "resource", fields: { a: 1, b: null } });
      expect(await (await call()).json()).toEqual({ a: 1 });
      faults.add({ name: "malformed-json", at: "resource" });
      await expect((await call()).json()).rejects.toThrow(SyntaxError);
      faults.add({ name: "truncated", at: "resource" });
      await expect((await call()).text()).rejects.toThrow("terminated");
      faults.add({ name: "slow", at: "resource" });
      expect(await (await call()).text()).toBe("");
    });

    test.each([
      { value: 12 },
      { value: true },
      { value: "text" },
      { value: null },
      { value: [] },
      { value: {} },
    ])("malformed JSON is none, whatever $value was", async ({ value }) => {
      const route = { operationId: "one", method: "GET", path: "/api/v1/{tenantId}/one" } as const;
      const plugin = new PluginClient({ routes: [{ ...route, respond: () => value }] });
      const token = await plugin.accessToken();
      plugin.emulator.faults.add({ name: "malformed-json", at: "resource" });
      await expect((await plugin.call(token, "/api/v1/acme/one")).json()).rejects.toThrow(SyntaxError);
    });
  });

  test("a fault strikes at no other moment than its own, and never a page", async () => {
    const moments = Object.entries(faultMoments) as [FaultName, readonly string[]][];
    expect(moments.filter(([, at]) => at.length === 0).map(([name]) => name)).toEqual([
      "duplicate-auth-code",
    ]);
    const plugin = new LaunchedPlugin();
    const { faults } = plugin.emulator;
    const token = await plugin.launchedToken();
    const handles = [faults.add({ name: "status", status: 503 }), faults.add({ name: "lost-answer" })];
    expect((await plugin.call(token)).status).toBe(200);
    expect((await plugin.emulator.fetch("/host/acme")).status).toBe(200);
    expect((await plugin.emulator.fetch("/nowhere")).status).toBe(404);
    expect((await plugin.emulator.fetch(plugin.tokenUrl())).status).toBe(405);
    expect(handles.map(({ fired }) => fired)).toEqual([0, 0]);
    faults.clear();
    const onRoutes = faults.add({ name: "reset", at: "resource" });
    expect((await plugin.exchange(plugin.launchedCode())).status).toBe(200);
    expect(onRoutes.fired).toBe(0);
  });

  test("a fault that matches a route's operation strikes there, without being told the moment", async () => {
    const plugin = new PluginClient();
    plugin.emulator.faults.add({ name: "status", status: 503, match: { operation: "listDevices" } });
    const token = await plugin.accessToken();
    expect((await plugin.call(token)).status).toBe(503);
    expect((await plugin.call(token)).status).toBe(200);
  });
});

describe("the duplicate auth code", () => {
  const name = "duplicate-auth-code";

  test("in-process the answer says how often it is posted; the code in it is good once", async () => {
    const plugin = new LaunchedPlugin();
    const handle = plugin.emulator.faults.add({ name });
    const twice = plugin.launchedCode();
    expect([twice.posts, handle.fired]).toEqual([2, 1]);
    expect(plugin.launchedCode()).not.toHaveProperty("posts");
    expect((await plugin.exchange(twice)).status).toBe(200);
    expect((await plugin.exchange(twice)).status).toBe(400);
    expect(plugin.lastRule()).toBe("code.unspent");
  });

  const matches: { name: string; match: FaultMatch; posts: number | undefined }[] = [
    { name: "its plugin", match: { clientId: "reporter" }, posts: 2 },
    { name: "its tenant", match: { tenantId: "acme", variant: "A" }, posts: 2 },
    { name: "its operation", match: { operation: "authorizeLaunch" }, posts: 2 },
    { name: "another plugin", match: { clientId: "planner" }, posts: undefined },
    { name: "another tenant", match: { tenantId: "globex" }, posts: undefined },
  ];
  test.each(matches)("a launch is told apart by $name", ({ match, posts }) => {
    const plugin = new LaunchedPlugin();
    plugin.emulator.faults.add({ name, match });
    expect(plugin.launchedCode().posts).toBe(posts);
  });

  test("a launch that is refused uses no fault up", () => {
    const plugin = new LaunchedPlugin();
    const handle = plugin.emulator.faults.add({ name });
    const launch = plugin.emulator.launch({ tenantId: "acme", clientId: "reporter", userId: "ada" });
    expect(() => launch.authorize({ codeChallenge: "none" })).toThrow();
    expect(handle.fired).toBe(0);
    expect(launch.authorize(newPkce()).posts).toBe(2);
  });

  test("the host's page receives two posts, and the journal shows the fault", async () => {
    const plugin = new LaunchedPlugin();
    const browser = await new FormBrowser(plugin.emulator).open("/host/acme");
    await browser.submit({ userId: "ada", password: "" });
    await browser.follow();
    const formToken = /data-form-token="([^"]*)"/.exec(browser.html)?.[1] ?? "";
    const ask = async (path: string, body: object) => {
      const headers = { "content-type": "application/json", "x-form-token": formToken };
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      return (await browser.request(`/host/acme/${path}`, init)).json();
    };
    plugin.emulator.faults.add({ name });
    const { url } = await ask("launches", { clientId: "reporter" });
    const opaque_code = new URL(url).searchParams.get("opaque_code");
    const asked = { clientId: "reporter", opaque_code, challenge: newPkce().codeChallenge };
    expect(await ask("authorizations", asked)).toMatchObject({ posts: 2, tenantId: "acme" });
    expect(plugin.emulator.journal.last()).toMatchObject({
      operation: "authorizeLaunch",
      fault: name,
      status: 200,
    });
  });

  describeInChromium("in Chromium", (browser) => {
    test("the host posts it twice, and our page exchanges it once", async () => {
      const example = await runExample();
      onTestFinished(example.close);
      const { emulator } = example;
      const context = await browser().newContext();
      onTestFinished(() => context.close());
      const page = await context.newPage();
      const messages: unknown[] = [];
      await page.exposeFunction("tellTest", (data: unknown) => void messages.push(data));
      // In every frame, before the page's own scripts.
      await page.addInitScript(() => {
        addEventListener("message", ({ data }) => {
          if (data?.type === "host:auth-code")
            (globalThis as unknown as { tellTest(data: unknown): void }).tellTest(data);
        });
      });
      await page.goto(example.hostUrl);
      await page.getByLabel("Operator").selectOption("ada");
      await page.getByRole("button", { name: "Sign in" }).click();
      emulator.faults.add({ name });
      await page.getByRole("button", { name: "Planner" }).click();
      await page.frameLocator("iframe").getByText("3 devices.").waitFor();
      await expect.poll(() => messages).toHaveLength(2);
      expect(messages[0]).toEqual(messages[1]);
      expect(messages[0]).not.toHaveProperty("posts");
      expect(emulator.journal.tokenRequests()).toMatchObject([{ status: 200, grant: "authorization_code" }]);
    });
  });
});
