// The journal: its entries, its filters, and waiting for requests.
import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import {
  createEmulator,
  type Emulator,
  type JournalEntry,
  type JournalFilter,
} from "../../src/emulator/index.js";
import { detectVariant } from "../../src/index.js";
import { isSettled } from "../support/wait.js";
import { LaunchedPlugin, PluginClient, requestAccountToken } from "./plugin-client.js";
import { PORTAL_SECRET, Portal } from "./portal.js";
import { watchedTimers } from "./two-ways.js";

test.each([{}, { malformedError: "invalid_request" }] as const)(
  "the questions of detectVariant are labelled detection probes, and find both variants with the options %o",
  async (options) => {
    const { emulator } = new PluginClient(options);
    const { publicUrl: baseUrl, fetch, journal, customerLog } = emulator;
    const { served } = await detectVariant({ baseUrl, tenantId: "acme", fetch });
    expect(served).toEqual({ A: "yes", B: "yes" });
    expect(journal.entries({ detectionProbe: true }).map(({ status }) => status)).toEqual([
      400, 400, 404,
    ]);
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
    readonly entry: Partial<JournalEntry>;
    readonly absent: readonly (keyof JournalEntry)[];
    readonly ask: () => Promise<Emulator>;
  }
  function row<Client extends { readonly emulator: Emulator }>(
    name: string,
    client: () => Client,
    send: (client: Client) => Promise<unknown>,
    entry: Partial<JournalEntry>,
    absent: readonly (keyof JournalEntry)[] = [],
  ): Row {
    const ask = async () => {
      const sender = client();
      await send(sender);
      return sender.emulator;
    };
    return { name, entry, absent, ask };
  }
  const plugin = () => new PluginClient();
  const launched = () => new LaunchedPlugin();
  const portal = () => new Portal();
  const reporter = { clientId: "reporter", tenantId: "acme" };
  const refusedPortal = () => new Portal({}, { clientSecret: PORTAL_SECRET });
  const limited = () => new PluginClient({ rateLimit: { requests: 1, windowSeconds: 9 } });
  const form = (form: object) => (client: PluginClient) =>
    client.requestToken({ form: { ...form } });

  const rows: Row[] = [
    row("of a grant of the other variant has it", plugin, form({ grant_type: "refresh_token" }), {
      ...reporter,
      grant: "refresh_token",
      rule: "token-request.grant-type",
    }),
    row(
      "of an unknown grant does not have it",
      plugin,
      form({ grant_type: "password" }),
      { ...reporter, rule: "token-request.grant-type" },
      ["grant"],
    ),
    row(
      "of an unregistered client_id does not have it: it may be a misplaced secret",
      plugin,
      form({ client_id: "stranger" }),
      { grant: "client_credentials", rule: "plugin.registered", tenantId: "acme" },
      ["clientId"],
    ),
    row(
      "of a request over the rate limit has only what the path says",
      limited,
      async (client) => [await client.requestToken(), await client.requestToken()],
      { status: 429, rule: "token-request.rate-limit", tenantId: "acme" },
      ["clientId", "grant"],
    ),
    row(
      "of a login's code has its grant, which the request omits",
      portal,
      (client) => client.tokens(),
      {
        clientId: "portal",
        tenantId: "acme",
        variant: "B",
        grant: "authorization_code",
        status: 200,
      },
    ),
    row(
      "of a refresh has its grant",
      portal,
      async (client) => client.refresh((await client.tokens()).refresh_token),
      { clientId: "portal", grant: "refresh_token", status: 200, tenantId: "acme" },
    ),
    row(
      "of a client with a wrong secret has the client",
      refusedPortal,
      (client) => client.exchange(client.loginCode(), { client_secret: "wrong" }),
      { clientId: "portal", grant: "authorization_code", rule: "api-client.authentication" },
    ),
    row(
      "of a secret sent as client_id does not have it",
      plugin,
      async ({ emulator }) => {
        emulator.registerServiceAccount({
          clientId: "worker",
          clientSecret: "s",
          tenantId: "acme",
        });
        await requestAccountToken(emulator, { clientId: "s", clientSecret: "worker" });
      },
      { grant: "client_credentials", rule: "client.authentication" },
      ["clientId", "tenantId"],
    ),
    row(
      "of a call without a bearer has no client",
      plugin,
      (client) => client.call(undefined),
      { endpoint: "api", status: 401, rule: "bearer.present" },
      ["clientId"],
    ),
    row("of a page has its operation", launched, ({ emulator }) => emulator.fetch("/host/acme"), {
      endpoint: "page",
      operation: "showHost",
      status: 200,
      tenantId: "acme",
    }),
  ];
  test.each(rows)("$name", async ({ entry, absent, ask }) => {
    const { journal, customerLog } = await ask();
    const last = journal.last();
    expect(last).toMatchObject(entry);
    for (const member of absent) expect(last).not.toHaveProperty(member);
    const refusals = customerLog.entries({ requestId: last?.id ?? 0 });
    expect(refusals.map(({ rule }) => rule)).toEqual(entry.rule === undefined ? [] : [entry.rule]);
  });

  test("does not show a path or tenant that may be a credential, and filters still find it", async () => {
    const client = new PluginClient();
    const token = await client.accessToken();
    await client.requestToken({ tenantId: token });
    const { journal, customerLog } = client.emulator;
    expect(journal.last()).toMatchObject({
      tenantId: "…",
      path: "/api/v1/…/external-plugin/oauth/token",
    });
    expect(journal.count({ tenantId: token })).toBe(1);
    expect(journal.count({ path: `/api/v1/${token}/external-plugin/oauth/token` })).toBe(1);
    expect(customerLog.last({ tenantId: token })).toMatchObject({
      tenantId: "…",
      rule: "plugin.registered",
    });
    expect(JSON.stringify([journal.entries(), customerLog.entries()])).not.toContain(token);
    const long = "/segment".repeat(100);
    await client.emulator.fetch(long);
    expect(journal.last({ path: long })?.path).toBe(`${long.slice(0, 500)}…`);
  });
});

describe("a filter", () => {
  /**
   * Sends two token requests for acme, a refused one for globex, and a second later two calls and a
   * page.
   */
  async function busy(): Promise<PluginClient> {
    const plugin = new LaunchedPlugin();
    const token = await plugin.launchedToken();
    await plugin.launchedToken();
    await plugin.requestToken({ tenantId: "globex" });
    plugin.now += 1000;
    await plugin.call(token);
    await plugin.call(token, "/api/v1/acme/schedules/s1/executions", { method: "POST" });
    await plugin.emulator.fetch("/host/acme");
    return plugin;
  }

  test("finds the entries that have each of its members", async () => {
    const { emulator, now } = await busy();
    const { journal } = emulator;
    const filters: [filter: JournalFilter, ids: number[]][] = [
      [{}, [1, 2, 3, 4, 5, 6]],
      [{ tenantId: "globex" }, [3]],
      [{ clientId: "reporter" }, [1, 2, 4, 5]],
      [{ endpoint: "api" }, [4, 5]],
      [{ operation: "listDevices" }, [4]],
      [{ grant: "authorization_code" }, [1, 2]],
      [{ status: 200 }, [1, 2, 4, 6]],
      [{ rule: "route.scope" }, [5]],
      [{ method: "POST" }, [1, 2, 3, 5]],
      [{ path: "/api/v1/acme/devices" }, [4]],
      [{ variant: "B" }, []],
      [{ fault: "reset" }, []],
      [{ since: now }, [4, 5, 6]],
      [{ since: now + 1 }, []],
      [{ since: now, status: 200 }, [4, 6]],
      [{ tenantId: undefined, status: 400 }, [3]],
    ];
    const idsOf = (entries: JournalEntry[]) => entries.map(({ id }) => id);
    for (const [filter, ids] of filters) {
      const name = JSON.stringify(filter);
      expect(idsOf(journal.entries(filter)), name).toEqual(ids);
      expect([journal.count(filter), journal.last(filter)?.id], name).toEqual([
        ids.length,
        ids.at(-1),
      ]);
    }
    expect(idsOf(journal.tokenRequests())).toEqual([1, 2, 3]);
    expect(idsOf(journal.tokenRequests({ tenantId: "acme", clientId: "reporter" }))).toEqual([
      1, 2,
    ]);
    expect(idsOf(journal.apiCalls())).toEqual([4, 5]);
    expect(idsOf(journal.apiCalls({ status: 403 }))).toEqual([5]);
  });

  const bad: [filter: object, field: string][] = [
    [{ tenantID: "acme" }, "tenantID"],
    [{ grant: "password" }, "grant"],
    [{ fault: "earthquake" }, "fault"],
    [{ status: "200" }, "status"],
    [{ since: "now" }, "since"],
    [{ rule: "nonsense" }, "rule"],
  ];
  test.each(bad)("%j, which would match nothing, is refused", async (filter, field) => {
    const { journal } = createEmulator();
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
    expect(await waiting).toMatchObject([
      { id: 3, tenantId: "acme", clientId: "reporter", status: 200 },
    ]);
  });

  test("counts earlier requests too, but with since only later ones", async () => {
    const plugin = new PluginClient();
    const { journal } = plugin.emulator;
    await plugin.requestToken();
    expect(await journal.waitFor()).toHaveLength(1);
    plugin.now += 1;
    const [third, later] = [
      journal.waitFor({}, { count: 3 }),
      journal.waitFor({ since: plugin.now }),
    ];
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
    const timeout = { name: "EmulatorError", code: "journal_timeout" };
    await expect(waiting).rejects.toMatchObject({
      ...timeout,
      message: expect.stringContaining("1 of 2"),
    });
    expect(timers()).toBe(0);
    const never = plugin.emulator.journal.waitFor({ status: 1 }, { timeoutMs: 0 });
    await expect(never).rejects.toMatchObject(timeout);
  });

  test("rejects with the signal's reason, and clears its timer then and when it resolves", async () => {
    const plugin = new PluginClient();
    const { journal } = plugin.emulator;
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
    await plugin.requestToken();
    await Promise.all([resolved, heard]);
    expect(timers()).toBe(0);
    expect(getEventListeners(other.signal, "abort")).toEqual([]);
  });

  test.each([
    ["a count of 0", { count: 0 }, "count"],
    ["an infinite time", { timeoutMs: Number.POSITIVE_INFINITY }, "timeoutMs"],
    ["a time too long for a timer", { timeoutMs: 2 ** 31 }, "timeoutMs"],
    ["an object as signal", { signal: {} as AbortSignal }, "signal"],
    ["an unknown option", { timeout: 1 } as object, "timeout"],
  ])("refuses %s", async (_, options, field) => {
    const message = expect.stringContaining(field);
    const waiting = createEmulator().journal.waitFor({}, options);
    await expect(waiting).rejects.toMatchObject({ code: "option_invalid", message });
  });
});
