// The requests to which a fault applies, and the moments.
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
import {
  accessTokenIn,
  LaunchedPlugin,
  PluginClient,
  postJson,
  requestAccountToken,
  service,
} from "./plugin-client.js";
import { Portal } from "./portal.js";
import { newPkce } from "./signing-key.js";
import { ways } from "./two-ways.js";

const TOKEN = "/api/v1/acme/external-plugin/oauth/token";
const statusesOf = async (sent: Promise<Response>[]) =>
  (await Promise.all(sent)).map(({ status }) => status);
const times = <Value>(count: number, make: () => Value): Value[] =>
  Array.from({ length: count }, make);
describe.each(ways)("$name", ({ open }) => {
  test.each([
    { count: undefined, struck: 1 },
    { count: 7, struck: 7 },
    { count: "always" as const, struck: 40 },
  ])(
    "a fault with count $count applies to exactly $struck of 40 concurrent token requests",
    async (row) => {
      const plugin = new PluginClient();
      const send = await open(plugin.emulator);
      const handle = plugin.emulator.faults.add({ name: "status", status: 503, count: row.count });
      const forms = times(40, () => plugin.form());
      const statuses = await statusesOf(forms.map((body) => send(TOKEN, { method: "POST", body })));
      expect(statuses.filter((status) => status === 503)).toHaveLength(row.struck);
      expect(handle.fired).toBe(row.struck);
      expect(plugin.emulator.journal.count({ fault: "status" })).toBe(row.struck);
    },
  );
});

describe("a fault with a match", () => {
  /**
   * Two plugins in acme, one in globex, an account and an unregistered client. Each can ask for a
   * token.
   */
  function crowd(): { emulator: Emulator; askers: Record<string, () => Promise<Response>> } {
    const plugin = new PluginClient();
    const { emulator } = plugin;
    const account = { clientId: "worker", clientSecret: "s", tenantId: "acme" };
    emulator.registerPlugin({ ...service, clientId: "second", tenantId: "acme" });
    emulator.registerPlugin({ ...service, clientId: "reporter", tenantId: "globex" });
    emulator.registerServiceAccount(account);
    const claims = { iss: "second", sub: "second" };
    const refresh = { grant_type: "refresh_token", client_id: "stranger", refresh_token: "x" };
    const askers = {
      reporter: () => plugin.requestToken(),
      second: () => plugin.requestToken({ form: { client_id: "second" }, claims }),
      globex: () => plugin.requestToken({ tenantId: "globex" }),
      worker: () => requestAccountToken(emulator, account),
      stranger: () => postJson(emulator, refresh),
    };
    return { emulator, askers };
  }

  const second: FaultMatch = { operation: "requestToken", variant: "A", clientId: "second" };
  const rows: { name: string; match: FaultMatch; struck: string[] }[] = [
    {
      name: "no member",
      match: {},
      struck: ["reporter", "second", "globex", "worker", "stranger"],
    },
    { name: "tenant", match: { tenantId: "acme" }, struck: ["reporter", "second", "worker"] },
    { name: "client_id", match: { clientId: "reporter" }, struck: ["reporter", "globex"] },
    {
      name: "client_id and tenant",
      match: { clientId: "reporter", tenantId: "globex" },
      struck: ["globex"],
    },
    { name: "an unregistered client_id", match: { clientId: "stranger" }, struck: ["stranger"] },
    { name: "variant", match: { variant: "B" }, struck: ["worker", "stranger"] },
    { name: "grant", match: { grant: "refresh_token" }, struck: ["stranger"] },
    { name: "operation, variant and client_id", match: second, struck: ["second"] },
    { name: "method", match: { method: "GET" }, struck: [] },
    {
      name: "path and method",
      match: { path: TOKEN, method: "POST" },
      struck: ["reporter", "second"],
    },
  ];
  test.each(rows)("selects requests by $name", async ({ match, struck }) => {
    for (const at of ["before-token", "after-commit"] as const) {
      const { emulator, askers } = crowd();
      emulator.faults.add({ name: "status", status: 599, at, match, count: "always" });
      const statuses = await statusesOf(Object.values(askers).map((ask) => ask()));
      expect(Object.keys(askers).filter((_, index) => statuses[index] === 599)).toEqual(struck);
    }
  });

  test("selects calls by client and tenant of the bearer token, in both variants", async () => {
    const { emulator, askers } = crowd();
    const tokens: Record<string, string> = {};
    for (const name of ["reporter", "second", "worker"])
      tokens[name] = await accessTokenIn((await askers[name]?.()) ?? Response.error());
    const strikes = async (match: FaultMatch) => {
      emulator.faults.clear();
      emulator.faults.add({ name: "status", status: 599, at: "resource", match, count: "always" });
      const calls = Object.entries(tokens).map(([name, token]) =>
        emulator.fetch(name === "worker" ? "/v1/devices" : "/api/v1/acme/devices", {
          headers: { authorization: `Bearer ${token}` },
        }),
      );
      const statuses = await statusesOf(calls);
      return Object.keys(tokens).filter((_, index) => statuses[index] === 599);
    };
    expect(await strikes({ clientId: "second" })).toEqual(["second"]);
    expect(await strikes({ tenantId: "acme" })).toEqual(["reporter", "second", "worker"]);
    expect(await strikes({ tenantId: "acme", variant: "B" })).toEqual(["worker"]);
    expect(await strikes({ operation: "listDevices", path: "/v1/devices" })).toEqual(["worker"]);
    expect(await strikes({ tenantId: "globex" })).toEqual([]);
  });

  test("for an unregistered client_id leaves it out of the journal", async () => {
    const { emulator, askers } = crowd();
    emulator.faults.add({ name: "reset", match: { clientId: "stranger" } });
    await expect(askers.stranger?.()).rejects.toThrow("fetch failed");
    const entry = emulator.journal.last();
    expect(entry).toMatchObject({ fault: "reset", grant: "refresh_token", status: 0 });
    expect(entry).not.toHaveProperty("clientId");
    expect(entry).not.toHaveProperty("tenantId");
  });

  test("for a client_id does not apply if the body has no readable client_id", async () => {
    const { emulator } = crowd();
    emulator.faults.add({ name: "reset", match: { clientId: "another" }, count: "always" });
    const bodies = [
      "x".repeat(200_000),
      "%%%",
      Uint8Array.of(0xff),
      "",
      "[]",
      "null",
      '{"client_id":1}',
    ];
    for (const body of bodies)
      for (const path of [TOKEN, "/v1/auth/token"]) {
        const type = path === TOKEN ? "application/x-www-form-urlencoded" : "application/json";
        const init = { method: "POST", headers: { "content-type": type }, body };
        const [armed, plain] = [
          await emulator.fetch(path, init),
          await crowd().emulator.fetch(path, init),
        ];
        expect([armed.status, await armed.text()]).toEqual([plain.status, await plain.text()]);
      }
  });
});

describe("a request that several faults match", () => {
  test("gets the oldest, one at each moment", async () => {
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
    expect(journal.entries().map(({ fault }) => fault)).toEqual([
      "status",
      "status",
      "status",
      undefined,
    ]);
    expect(faults.list()).toMatchObject([{ id: "fault-1", fired: 0, left: 1 }]);
  });

  test("gets the next one if the draw of the first fails", async () => {
    const plugin = new PluginClient();
    const { faults } = plugin.emulator;
    faults.add({ name: "status", status: 501, probability: 1e-9, seed: 1, count: "always" });
    faults.add({ name: "status", status: 502 });
    expect((await plugin.requestToken()).status).toBe(502);
  });
});

interface Spending {
  readonly status: number;
  readonly rule: string | undefined;
  readonly spent: string;
  readonly emulator: Emulator;
}

/** The fault applies to the first attempt. Returns the outcome of the second. */
async function spendTwice(
  client: PluginClient | Portal,
  fault: Fault,
  send: () => Promise<Response>,
  spent: string,
): Promise<Spending> {
  client.emulator.faults.add(fault);
  await Promise.allSettled([send()]);
  const { status } = await send();
  return { status, rule: client.lastRule(), spent, emulator: client.emulator };
}

const spendings: Record<string, (fault: Fault) => Promise<Spending>> = {
  async "a launch's code"(fault) {
    const plugin = new LaunchedPlugin();
    const code = plugin.launchedCode();
    return spendTwice(plugin, fault, () => plugin.exchange(code), "code.unspent");
  },
  async "an assertion"(fault) {
    const plugin = new PluginClient();
    const form = plugin.form();
    return spendTwice(plugin, fault, () => plugin.post(form), "assertion.replay");
  },
  async "a slot of the rate limit"(fault) {
    const plugin = new PluginClient({ rateLimit: { requests: 1, windowSeconds: 60 } });
    return spendTwice(plugin, fault, () => plugin.requestToken(), "token-request.rate-limit");
  },
  async "a login's code"(fault) {
    const portal = new Portal();
    const code = portal.loginCode();
    return spendTwice(portal, fault, () => portal.exchange(code), "client-code.unspent");
  },
  async "a refresh token"(fault) {
    const portal = new Portal();
    const { refresh_token: token } = await portal.tokens();
    return spendTwice(portal, fault, () => portal.refresh(token), "refresh.reuse");
  },
};

describe.each(Object.entries(spendings))("%s", (_, spend) => {
  const before: Fault[] = [{ name: "reset" }, { name: "rate-limited" }];
  test.each(before)("is not spent by $name before the token endpoint", async (fault) => {
    const { status, rule, emulator } = await spend(fault);
    expect([status, rule]).toEqual([200, undefined]);
    const [struck, sent] = emulator.journal.tokenRequests().slice(-2);
    expect(struck).toMatchObject({ fault: fault.name, clientId: sent?.clientId, tenantId: "acme" });
    expect(sent).not.toHaveProperty("fault");
  });

  const after: Fault[] = [
    { name: "lost-answer" },
    { name: "status", status: 504, at: "after-commit" },
    { name: "fields", fields: { access_token: null } },
  ];
  test.each(after)("is spent by $name after the commit", async (fault) => {
    const { rule, spent, emulator } = await spend(fault);
    expect(rule).toBe(spent);
    expect(emulator.journal.count({ fault: fault.name })).toBe(1);
  });
});

describe("a fault", () => {
  test("after the commit leaves the lost refusal in the customer log and the journal", async () => {
    const plugin = new PluginClient();
    plugin.emulator.faults.add({ name: "lost-answer" });
    await expect(plugin.requestToken({ tenantId: "globex" })).rejects.toThrow("fetch failed");
    const entry = plugin.emulator.journal.last();
    expect(entry).toMatchObject({ status: 0, fault: "lost-answer", rule: "plugin.registered" });
    expect(plugin.emulator.customerLog.entries({ requestId: entry?.id ?? 0 })).toHaveLength(1);
  });

  /** A plugin whose route answers what `respond` returns, and calls of that route. */
  async function routed(respond: () => unknown) {
    const path = "/api/v1/{tenantId}/own";
    const route = { operationId: "own", method: "POST", path, scope: "devices:read" } as const;
    const plugin = new PluginClient({ routes: [{ ...route, respond }] });
    const token = await plugin.accessToken();
    const call = () => plugin.call(token, "/api/v1/acme/own", { method: "POST" });
    return { emulator: plugin.emulator, call };
  }

  test.each([
    { fault: "lost-answer", executed: 1 },
    { fault: "reset", executed: 0 },
  ] as const)(
    "of the kind $fault lets a route run $executed times",
    async ({ fault, executed }) => {
      let runs = 0;
      const { emulator, call } = await routed(() => ++runs);
      emulator.faults.add({ name: fault, at: "resource" });
      await expect(call()).rejects.toThrow("fetch failed");
      expect(runs).toBe(executed);
      expect(emulator.journal.last()).toMatchObject({ operation: "own", status: 0, fault });
    },
  );

  test("on a route also alters an answer without a body", async () => {
    const { emulator, call } = await routed(() => undefined);
    const { faults } = emulator;
    faults.add({ name: "fields", at: "resource", fields: { a: 1, b: null } });
    expect(await (await call()).json()).toEqual({ a: 1 });
    faults.add({ name: "malformed-json", at: "resource" });
    await expect((await call()).json()).rejects.toThrow(SyntaxError);
    faults.add({ name: "truncated", at: "resource" });
    await expect((await call()).text()).rejects.toThrow("terminated");
    faults.add({ name: "slow", at: "resource" });
    expect(await (await call()).text()).toBe("");
  });

  test("of the kind malformed-json on a route makes every value invalid JSON", async () => {
    for (const value of [12, true, "text", null, [], {}]) {
      const { emulator, call } = await routed(() => value);
      emulator.faults.add({ name: "malformed-json", at: "resource" });
      await expect((await call()).json()).rejects.toThrow(SyntaxError);
    }
  });

  test("applies only at its own moment, and never to a page", async () => {
    const moments = Object.entries(faultMoments) as [FaultName, readonly string[]][];
    const without = moments.filter(([, at]) => at.length === 0).map(([name]) => name);
    expect(without).toEqual(["duplicate-auth-code"]);
    const plugin = new LaunchedPlugin();
    const { faults } = plugin.emulator;
    const token = await plugin.launchedToken();
    const handles = [
      faults.add({ name: "status", status: 503 }),
      faults.add({ name: "lost-answer" }),
    ];
    expect((await plugin.call(token)).status).toBe(200);
    for (const [path, status] of [
      ["/host/acme", 200],
      ["/nowhere", 404],
      [TOKEN, 405],
    ] as const)
      expect((await plugin.emulator.fetch(path)).status).toBe(status);
    expect(handles.map(({ fired }) => fired)).toEqual([0, 0]);
    faults.clear();
    const onRoutes = faults.add({ name: "reset", at: "resource" });
    expect((await plugin.exchange(plugin.launchedCode())).status).toBe(200);
    expect(onRoutes.fired).toBe(0);
  });

  test("without a moment takes it from the API operation that it matches", async () => {
    const plugin = new PluginClient();
    plugin.emulator.faults.add({
      name: "status",
      status: 503,
      match: { operation: "listDevices" },
    });
    const token = await plugin.accessToken();
    expect((await plugin.call(token)).status).toBe(503);
    expect((await plugin.call(token)).status).toBe(200);
  });
});

describe("duplicate-auth-code", () => {
  const name = "duplicate-auth-code";

  test("makes an in-process launch report two host:auth-code messages, with one code that is valid once", async () => {
    const plugin = new LaunchedPlugin();
    const handle = plugin.emulator.faults.add({ name, match: { operation: "authorizeLaunch" } });
    const twice = plugin.launchedCode();
    expect([twice.posts, handle.fired]).toEqual([2, 1]);
    expect(plugin.launchedCode()).not.toHaveProperty("posts");
    expect(await statusesOf([plugin.exchange(twice), plugin.exchange(twice)])).toEqual([200, 400]);
    expect(plugin.lastRule()).toBe("code.unspent");
  });

  const matches: { match: FaultMatch; posts: number | undefined }[] = [
    { match: { clientId: "reporter" }, posts: 2 },
    { match: { tenantId: "acme", variant: "A" }, posts: 2 },
    { match: { clientId: "planner" }, posts: undefined },
    { match: { tenantId: "globex" }, posts: undefined },
  ];
  test.each(matches)("that matches $match makes $posts posts", ({ match, posts }) => {
    const plugin = new LaunchedPlugin();
    plugin.emulator.faults.add({ name, match });
    expect(plugin.launchedCode().posts).toBe(posts);
  });

  test("is not used up by a launch that is refused", () => {
    const plugin = new LaunchedPlugin();
    const handle = plugin.emulator.faults.add({ name });
    const launch = plugin.emulator.launch({
      tenantId: "acme",
      clientId: "reporter",
      userId: "ada",
    });
    expect(() => launch.authorize({ codeChallenge: "none" })).toThrow();
    expect(handle.fired).toBe(0);
    expect(launch.authorize(newPkce()).posts).toBe(2);
  });

  test("applies to the host's page, and is named in the journal", async () => {
    const plugin = new LaunchedPlugin();
    const browser = await new FormBrowser(plugin.emulator).open("/host/acme");
    await (await browser.submit({ userId: "ada", password: "" })).follow();
    const ask = async (path: string, body: object) =>
      (await browser.ask(`/host/acme/${path}`, body)).json();
    plugin.emulator.faults.add({ name });
    const { url } = await ask("launches", { clientId: "reporter" });
    const opaque_code = new URL(url).searchParams.get("opaque_code");
    const message = { clientId: "reporter", opaque_code, challenge: newPkce().codeChallenge };
    expect(await ask("authorizations", message)).toMatchObject({ posts: 2, tenantId: "acme" });
    const entry = { operation: "authorizeLaunch", fault: name, status: 200 };
    expect(plugin.emulator.journal.last()).toMatchObject(entry);
  });

  describeInChromium("in Chromium", (browser) => {
    test("makes the host post twice, and our page exchanges the code once", async () => {
      const example = await runExample();
      onTestFinished(example.close);
      const { emulator } = example;
      const context = await browser().newContext();
      onTestFinished(() => context.close());
      const page = await context.newPage();
      const messages: unknown[] = [];
      await page.exposeFunction("reportMessage", (data: unknown) => void messages.push(data));
      // This runs in every frame before the page's own scripts.
      await page.addInitScript(() => {
        addEventListener("message", ({ data }) => {
          if (data?.type === "host:auth-code")
            (globalThis as unknown as { reportMessage(data: unknown): void }).reportMessage(data);
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
      expect(emulator.journal.tokenRequests()).toMatchObject([
        { status: 200, grant: "authorization_code" },
      ]);
    });
  });
});
