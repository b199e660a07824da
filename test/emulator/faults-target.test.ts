// The requests to which a fault applies, and the moments.
import { describe, expect, test } from "vitest";
import {
  type Emulator,
  type Fault,
  type FaultMatch,
  type FaultName,
  faultMoments,
} from "../../src/emulator/index.js";
import {
  accessTokenIn,
  LaunchedPlugin,
  PluginClient,
  Portal,
  requestAccountToken,
  service,
} from "./deployment.js";
import { FormBrowser } from "./form-browser.js";
import { newPkce } from "./signing-key.js";
import { ways } from "./two-ways.js";

const TOKEN = "/api/v1/acme/external-plugin/oauth/token";
const statusesOf = async (sent: Promise<Response>[]) =>
  (await Promise.all(sent)).map(({ status }) => status);

test.each(ways)(
  "a fault with a count of 7 applies to exactly 7 of 40 concurrent token requests, $name",
  async ({ open }) => {
    const plugin = new PluginClient();
    const send = await open(plugin.emulator);
    const handle = plugin.emulator.faults.add({ name: "status", status: 503, count: 7 });
    const forms = Array.from({ length: 40 }, () => plugin.form());
    const statuses = await statusesOf(forms.map((body) => send(TOKEN, { method: "POST", body })));
    expect(statuses.filter((status) => status === 503)).toHaveLength(7);
    expect([handle.fired, plugin.emulator.journal.count({ fault: "status" })]).toEqual([7, 7]);
  },
);

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
    const refresh = { grant_type: "refresh_token", client_id: "stranger", refresh_token: "x" };
    const askers = {
      reporter: () => plugin.requestToken(),
      second: () => plugin.requestToken({ clientId: "second" }),
      globex: () => plugin.requestToken({ tenantId: "globex" }),
      worker: () => requestAccountToken(emulator, account),
      stranger: () => plugin.postJson(refresh),
    };
    return { emulator, askers };
  }

  const second: FaultMatch = { operation: "requestToken", variant: "A", clientId: "second" };
  test.each<{ match: FaultMatch; struck: string[] }>([
    { match: {}, struck: ["reporter", "second", "globex", "worker", "stranger"] },
    { match: { tenantId: "acme" }, struck: ["reporter", "second", "worker"] },
    { match: { clientId: "reporter" }, struck: ["reporter", "globex"] },
    { match: { clientId: "reporter", tenantId: "globex" }, struck: ["globex"] },
    { match: { clientId: "stranger" }, struck: ["stranger"] },
    { match: { variant: "B" }, struck: ["worker", "stranger"] },
    { match: { grant: "refresh_token" }, struck: ["stranger"] },
    { match: second, struck: ["second"] },
    { match: { method: "GET" }, struck: [] },
    { match: { path: TOKEN, method: "POST" }, struck: ["reporter", "second"] },
  ])("$match selects the requests of $struck", async ({ match, struck }) => {
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
      const calls = Object.entries(tokens).map(([name, token]) => {
        const headers = { authorization: `Bearer ${token}` };
        return emulator.fetch(name === "worker" ? "/v1/devices" : "/api/v1/acme/devices", {
          headers,
        });
      });
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
    const plain = crowd().emulator;
    emulator.faults.add({ name: "reset", match: { clientId: "another" }, count: "always" });
    for (const body of ["x".repeat(200_000), "%%%", Uint8Array.of(0xff), "", "[]", "null"])
      for (const path of [TOKEN, "/v1/auth/token"]) {
        const type = path === TOKEN ? "application/x-www-form-urlencoded" : "application/json";
        const init = { method: "POST", headers: { "content-type": type }, body };
        const answers = [await emulator.fetch(path, init), await plain.fetch(path, init)];
        const shown = answers.map(async (one) => [one.status, await one.text()]);
        expect(await shown[0]).toEqual(await shown[1]);
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
    expect(journal.count({ fault: "status" })).toBe(3);
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
  readonly client: PluginClient | Portal;
  readonly send: () => Promise<Response>;
  /** The rule that refuses a second use. */
  readonly spent: string;
}

const spendings: Record<string, () => Spending | Promise<Spending>> = {
  "a launch's code": () => {
    const client = new LaunchedPlugin();
    const code = client.launchedCode();
    return { client, send: () => client.exchange(code), spent: "code.unspent" };
  },
  "an assertion": () => {
    const client = new PluginClient();
    const form = client.form();
    return { client, send: () => client.postForm(form), spent: "assertion.replay" };
  },
  "a slot of the rate limit": () => {
    const client = new PluginClient({ rateLimit: { requests: 1, windowSeconds: 60 } });
    return { client, send: () => client.requestToken(), spent: "token-request.rate-limit" };
  },
  "a login's code": () => {
    const client = new Portal();
    const code = client.loginCode();
    return { client, send: () => client.exchangeLogin(code), spent: "client-code.unspent" };
  },
  "a refresh token": async () => {
    const client = new Portal();
    const { refresh_token } = await client.personTokens();
    return { client, send: () => client.refresh(refresh_token), spent: "refresh.reuse" };
  },
};

describe.each(Object.entries(spendings))("%s", (_, begin) => {
  test("is not spent by a reset before the token endpoint", async () => {
    const { client, send } = await begin();
    client.emulator.faults.add({ name: "reset" });
    await expect(send()).rejects.toThrow("fetch failed");
    expect([(await send()).status, client.lastRule()]).toEqual([200, undefined]);
    const [struck, sent] = client.emulator.journal.tokenRequests().slice(-2);
    expect(struck).toMatchObject({ fault: "reset", clientId: sent?.clientId, tenantId: "acme" });
    expect(sent).not.toHaveProperty("fault");
  });

  const after: Fault[] = [
    { name: "lost-answer" },
    { name: "status", status: 504, at: "after-commit" },
    { name: "fields", fields: { access_token: null } },
  ];
  test.each(after)("is spent by $name after the commit", async (fault) => {
    const { client, send, spent } = await begin();
    client.emulator.faults.add(fault);
    await Promise.allSettled([send()]);
    await send();
    expect(client.lastRule()).toBe(spent);
    expect(client.emulator.journal.count({ fault: fault.name })).toBe(1);
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

  /** A plugin whose route answers what `respond` returns, and calls of that route under a fault. */
  async function routed(respond: () => unknown) {
    const path = "/api/v1/{tenantId}/own";
    const route = { operationId: "own", method: "POST", path, scope: "devices:read" } as const;
    const plugin = new PluginClient({ routes: [{ ...route, respond }] });
    const token = await plugin.pluginToken();
    const { faults, journal } = plugin.emulator;
    const callUnder = (fault: Fault) => {
      faults.add({ ...fault, at: "resource" } as Fault);
      return plugin.call(token, "/api/v1/acme/own", { method: "POST" });
    };
    return { journal, callUnder };
  }

  test.each([
    { name: "lost-answer", executed: 1 },
    { name: "reset", executed: 0 },
  ] as const)("of the kind $name lets a route run $executed times", async ({ name, executed }) => {
    let runs = 0;
    const { journal, callUnder } = await routed(() => ++runs);
    await expect(callUnder({ name })).rejects.toThrow("fetch failed");
    expect(runs).toBe(executed);
    expect(journal.last()).toMatchObject({ operation: "own", status: 0, fault: name });
  });

  test("on a route also alters an answer without a body", async () => {
    const { callUnder } = await routed(() => undefined);
    const fields = await callUnder({ name: "fields", fields: { a: 1, b: null } });
    expect(await fields.json()).toEqual({ a: 1 });
    await expect((await callUnder({ name: "truncated" })).text()).rejects.toThrow("terminated");
    expect(await (await callUnder({ name: "slow" })).text()).toBe("");
  });

  test("of the kind malformed-json on a route makes every value invalid JSON", async () => {
    for (const value of [undefined, 12, true, "text", null, [], {}]) {
      const { callUnder } = await routed(() => value);
      const answer = await callUnder({ name: "malformed-json" });
      await expect(answer.json()).rejects.toThrow(SyntaxError);
    }
  });

  test("applies only at its own moment, and never to a page", async () => {
    const moments = Object.entries(faultMoments) as [FaultName, readonly string[]][];
    const without = moments.filter(([, at]) => at.length === 0).map(([name]) => name);
    expect(without).toEqual(["duplicate-auth-code"]);
    const plugin = new LaunchedPlugin();
    const { faults, fetch } = plugin.emulator;
    const token = await plugin.launchedToken();
    faults.add({ name: "status", status: 503 });
    faults.add({ name: "lost-answer" });
    const pages = await statusesOf([fetch("/host/acme"), fetch("/nowhere"), fetch(TOKEN)]);
    expect([(await plugin.call(token)).status, ...pages]).toEqual([200, 200, 404, 405]);
    expect(faults.list().map(({ fired }) => fired)).toEqual([0, 0]);
    faults.clear();
    const onRoutes = faults.add({ name: "reset", at: "resource" });
    expect((await plugin.exchange(plugin.launchedCode())).status).toBe(200);
    expect(onRoutes.fired).toBe(0);
  });

  test("without a moment takes it from the API operation that it matches", async () => {
    const plugin = new PluginClient();
    const match = { operation: "listDevices" };
    plugin.emulator.faults.add({ name: "status", status: 503, match });
    const token = await plugin.pluginToken();
    expect((await plugin.call(token)).status).toBe(503);
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

  test("is used up neither by a launch that it does not match nor by one that is refused", () => {
    const plugin = new LaunchedPlugin();
    const { faults, launch } = plugin.emulator;
    faults.add({ name, match: { clientId: "planner" } });
    const handle = faults.add({ name, match: { tenantId: "acme", variant: "A" } });
    const launched = launch({ tenantId: "acme", clientId: "reporter", userId: "ada" });
    expect(() => launched.authorize({ codeChallenge: "none" })).toThrow();
    expect(handle.fired).toBe(0);
    expect(launched.authorize(newPkce()).posts).toBe(2);
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
});
