// The journal: its entries, its filters, and waiting for requests.
import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { createEmulator, type JournalEntry, type JournalFilter } from "../../src/emulator/index.js";
import { detectVariant } from "../../src/index.js";
import { isSettled } from "../support/wait.js";
import {
  type Deployment,
  LaunchedPlugin,
  PluginClient,
  PORTAL_SECRET,
  Portal,
  reporter,
  requestAccountToken,
} from "./deployment.js";
import { watchedTimers } from "./two-ways.js";

test.each([{}, { malformedError: "invalid_request" }] as const)(
  "the questions of detectVariant are labelled detection probes, and find both variants with the options %o",
  async (options) => {
    const { publicUrl: baseUrl, fetch, journal, customerLog } = createEmulator(options);
    const { served } = await detectVariant({ baseUrl, tenantId: "acme", fetch });
    expect(served).toEqual({ A: "yes", B: "yes" });
    const probes = journal.entries({ detectionProbe: true });
    expect(probes.map(({ status }) => status)).toEqual([400, 400, 404]);
    await fetch(baseUrl);
    const [other, ...more] = journal.entries({ detectionProbe: false });
    expect([other?.id, more]).toEqual([4, []]);
    const probe = { detectionProbe: true, remedy: expect.stringContaining("detection probe") };
    expect(customerLog.entries()).toMatchObject([probe, probe]);
  },
);

test("a token request with the grant of detection is a detection probe, whatever its User-Agent", async () => {
  const plugin = new PluginClient();
  const { journal, customerLog } = plugin.emulator;
  for (const grant_type of ["bivariant-detect", "password"]) {
    await plugin.requestToken({ form: { grant_type } });
    const label = grant_type === "bivariant-detect" ? true : undefined;
    expect(journal.last()?.detectionProbe).toBe(label);
    expect(customerLog.last()?.detectionProbe).toBe(label);
  }
});

describe("an entry", () => {
  interface Row {
    readonly name: string;
    readonly client?: () => Deployment;
    readonly ask: (client: Deployment) => Promise<unknown>;
    /** A member that is undefined must be absent. */
    readonly entry: { [Name in keyof JournalEntry]?: JournalEntry[Name] | undefined };
  }
  const portal = () => new Portal();
  const shown = { clientId: "portal", tenantId: "acme" };
  const noCaller = { tenantId: undefined, clientId: undefined };
  const code = "authorization_code";
  const grantRule = "token-request.grant-type";
  const byGrant = (grant_type: string) => (client: Deployment) =>
    client.requestToken({ form: { grant_type } });
  test.each<Row>([
    {
      name: "of a grant of the other variant has it",
      ask: byGrant("refresh_token"),
      entry: { ...reporter, grant: "refresh_token", rule: grantRule },
    },
    {
      name: "of an unknown grant does not have it",
      ask: byGrant("password"),
      entry: { ...reporter, grant: undefined, rule: grantRule },
    },
    {
      name: "of a request over the rate limit has only what the path says",
      client: () => new PluginClient({ rateLimit: { requests: 1, windowSeconds: 9 } }),
      ask: (client) => client.requestToken().then(() => client.requestToken()),
      entry: { ...noCaller, status: 429, tenantId: "acme", grant: undefined },
    },
    {
      name: "of a call without a token has the tenant in the path",
      ask: (client) => client.call(undefined),
      entry: { ...noCaller, status: 401, rule: "bearer.present", tenantId: "acme" },
    },
    {
      name: "of a token request by GET has the tenant in the path",
      ask: (client) => client.emulator.fetch(client.tokenUrl()),
      entry: { status: 405, tenantId: "acme", operation: undefined, rule: "token-request.method" },
    },
    {
      name: "of a login's code has its grant, which the request omits",
      client: portal,
      ask: (client) => client.personTokens(),
      entry: { ...shown, variant: "B", grant: code, status: 200 },
    },
    {
      name: "of a refresh has its grant",
      client: portal,
      ask: async (client) => client.refresh((await client.personTokens()).refresh_token),
      entry: { ...shown, grant: "refresh_token" },
    },
    {
      name: "of a client with a wrong secret has the client",
      client: () => new Portal({}, { clientSecret: PORTAL_SECRET }),
      ask: (client) => client.exchangeLogin(client.loginCode(), { client_secret: "wrong" }),
      entry: { clientId: "portal", grant: code, rule: "api-client.authentication" },
    },
    {
      name: "of a secret sent as client_id does not have it",
      ask({ emulator }) {
        const account = { clientId: "worker", clientSecret: "s", tenantId: "acme" };
        emulator.registerServiceAccount(account);
        return requestAccountToken(emulator, { clientId: "s", clientSecret: "worker" });
      },
      entry: { ...noCaller, grant: "client_credentials", rule: "client.authentication" },
    },
    {
      name: "of a page has its operation",
      client: () => new LaunchedPlugin(),
      ask: ({ emulator }) => emulator.fetch("/host/acme"),
      entry: { endpoint: "page", operation: "showHost", status: 200, tenantId: "acme" },
    },
  ])("$name", async ({ client = () => new PluginClient(), ask, entry }) => {
    const asking = client();
    await ask(asking);
    const last = asking.emulator.journal.last();
    for (const [member, value] of Object.entries(entry)) {
      if (value === undefined) expect(last).not.toHaveProperty(member);
      else expect(last).toHaveProperty(member, value);
    }
  });

  test("does not show a path or tenant that may be a credential, and filters still find it", async () => {
    const client = new PluginClient();
    const token = await client.pluginToken();
    await client.requestToken({ tenantId: token });
    const { journal, customerLog } = client.emulator;
    const path = "/api/v1/…/external-plugin/oauth/token";
    expect(journal.last()).toMatchObject({ tenantId: "…", path });
    expect(journal.count({ tenantId: token })).toBe(1);
    expect(journal.count({ path: path.replace("…", token) })).toBe(1);
    const refusal = { tenantId: "…", rule: "plugin.registered" };
    expect(customerLog.last({ tenantId: token })).toMatchObject(refusal);
    expect(JSON.stringify([journal.entries(), customerLog.entries()])).not.toContain(token);
    const long = "/segment".repeat(100);
    await client.emulator.fetch(long);
    expect(journal.last({ path: long })?.path).toBe(`${long.slice(0, 500)}…`);
  });
});

describe("a filter", () => {
  test("finds the entries that have each of its members", async () => {
    const plugin = new LaunchedPlugin();
    const { journal, fetch } = plugin.emulator;
    const token = await plugin.launchedToken();
    await plugin.launchedToken();
    await plugin.requestToken({ tenantId: "globex" });
    plugin.now += 1000;
    await plugin.call(token, "/api/v1/acme/devices?page=1");
    await plugin.call(token, "/api/v1/acme/schedules/s1/executions", { method: "POST" });
    await fetch("/host/acme");
    const { now: since } = plugin;
    const filters: [filter: JournalFilter, ids: number[]][] = [
      [{}, [1, 2, 3, 4, 5, 6]],
      [{ tenantId: "globex" }, [3]],
      [{ clientId: "reporter" }, [1, 2, 4, 5]],
      [{ endpoint: "api" }, [4, 5]],
      [{ operation: "listDevices" }, [4]],
      [{ grant: "authorization_code" }, [1, 2]],
      [{ rule: "route.scope" }, [5]],
      [{ method: "POST" }, [1, 2, 3, 5]],
      [{ path: "/api/v1/acme/devices" }, [4]],
      [{ variant: "B" }, []],
      [{ fault: "reset" }, []],
      [{ since: since + 1 }, []],
      [{ since, status: 200 }, [4, 6]],
      [{ tenantId: undefined, status: 400 }, [3]],
    ];
    const idsOf = (entries: JournalEntry[]) => entries.map(({ id }) => id);
    for (const [filter, ids] of filters) {
      expect([filter, idsOf(journal.entries(filter))]).toEqual([filter, ids]);
      expect([journal.count(filter), journal.last(filter)?.id]).toEqual([ids.length, ids.at(-1)]);
    }
    expect(idsOf(journal.tokenRequests())).toEqual([1, 2, 3]);
    expect(idsOf(journal.tokenRequests({ tenantId: "acme" }))).toEqual([1, 2]);
    expect(idsOf(journal.apiCalls())).toEqual([4, 5]);
    expect(idsOf(journal.apiCalls({ status: 403 }))).toEqual([5]);
  });

  const bad = [
    ...[{ grant: "password" }, { fault: "earthquake" }],
    ...[{ status: "200" }, { since: "now" }, { rule: "nonsense" }],
  ];
  test.each(bad)("%j, which would match nothing, is refused", async (filter: object) => {
    const { journal } = createEmulator();
    const [field = ""] = Object.keys(filter);
    const refused = { code: "option_invalid", message: expect.stringContaining(field) };
    const { entries, tokenRequests, apiCalls, last, count } = journal;
    for (const ask of [entries, tokenRequests, apiCalls, last, count])
      expect(() => ask(filter)).toThrow(expect.objectContaining(refused));
    await expect(journal.waitFor(filter)).rejects.toMatchObject(refused);
  });
});

describe("waitFor", () => {
  const LONG_MS = 1_234_567;

  test("resolves with a request that matches, and with no other", async () => {
    const plugin = new PluginClient();
    const waiting = plugin.emulator.journal.waitFor({ tenantId: "acme", status: 200 });
    await plugin.requestToken({ tenantId: "globex" });
    await plugin.requestToken({ claims: { aud: "x" } });
    expect(await isSettled(waiting)).toBe(false);
    await plugin.requestToken();
    expect(await waiting).toMatchObject([{ id: 3, ...reporter, status: 200 }]);
  });

  test("counts earlier requests too, but with since only later ones", async () => {
    const plugin = new PluginClient();
    const { journal } = plugin.emulator;
    await plugin.requestToken();
    expect(await journal.waitFor()).toHaveLength(1);
    plugin.now += 1;
    const third = journal.waitFor({}, { count: 3 });
    const later = journal.waitFor({ since: plugin.now });
    expect(await isSettled(later)).toBe(false);
    await plugin.requestToken();
    expect(await later).toMatchObject([{ id: 2 }]);
    expect(await isSettled(third)).toBe(false);
    await plugin.requestToken();
    expect((await third).map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(await journal.waitFor({}, { count: 2 })).toHaveLength(3);
  });

  test("keeps what it counted when the journal is cleared, and starts again after a reset", async () => {
    const emulator = createEmulator();
    const cleared = emulator.journal.waitFor({}, { count: 2 });
    await emulator.fetch("/one");
    emulator.journal.clear();
    const reset = emulator.journal.waitFor({}, { count: 2 });
    await emulator.fetch("/two");
    expect(await cleared).toHaveLength(2);
    emulator.reset();
    await emulator.fetch("/three");
    expect(await isSettled(reset)).toBe(false);
    await emulator.fetch("/four");
    expect((await reset).map(({ path }) => path)).toEqual(["/three", "/four"]);
  });

  test("rejects when its time is over, and says how many requests came", async () => {
    const plugin = new PluginClient();
    const timers = watchedTimers(5);
    await plugin.requestToken();
    const waiting = plugin.emulator.journal.waitFor({ status: 200 }, { count: 2, timeoutMs: 5 });
    expect(timers()).toBe(1);
    const message = expect.stringContaining("1 of 2");
    const timeout = { name: "EmulatorError", code: "journal_timeout" };
    await expect(waiting).rejects.toMatchObject({ ...timeout, message });
    expect(timers()).toBe(0);
    const never = plugin.emulator.journal.waitFor({ status: 1 }, { timeoutMs: 0 });
    await expect(never).rejects.toMatchObject(timeout);
  });

  test("rejects with the signal's reason, and clears its timer then and when it resolves", async () => {
    const { journal, fetch } = createEmulator();
    const timers = watchedTimers(LONG_MS);
    const controller = new AbortController();
    const { signal } = controller;
    const aborted = journal.waitFor({}, { signal, timeoutMs: LONG_MS });
    const resolved = journal.waitFor({}, { timeoutMs: LONG_MS });
    expect(timers()).toBe(2);
    const reason = new Error("enough");
    controller.abort(reason);
    await expect(aborted).rejects.toBe(reason);
    await expect(journal.waitFor({}, { signal })).rejects.toBe(reason);
    expect(timers()).toBe(1);
    const other = new AbortController();
    const heard = journal.waitFor({}, { signal: other.signal });
    expect(getEventListeners(other.signal, "abort")).toHaveLength(1);
    await fetch("/one");
    await Promise.all([resolved, heard]);
    expect(timers()).toBe(0);
    expect(getEventListeners(other.signal, "abort")).toEqual([]);
  });

  const options = [
    ...[{ count: 0 }, { timeoutMs: Number.POSITIVE_INFINITY }, { timeoutMs: 2 ** 31 }],
    { signal: {} },
  ];
  test.each(options)("refuses %o", async (options: object) => {
    const message = expect.stringContaining(Object.keys(options)[0] ?? "");
    const waiting = createEmulator().journal.waitFor({}, options);
    await expect(waiting).rejects.toMatchObject({ code: "option_invalid", message });
  });
});
