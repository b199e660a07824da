// The journal: its entries, its filters, and waiting for requests.
import { describe, expect, test } from "vitest";
import {
  createEmulator,
  type Emulator,
  type JournalEntry,
  type JournalFilter,
} from "../../src/emulator/index.js";
import { settled } from "../support/wait.js";
import { LaunchedPlugin } from "./launched-plugin.js";
import { PluginClient } from "./plugin-client.js";
import { PORTAL_SECRET, Portal } from "./portal.js";
import { watchedTimers } from "./watched-timers.js";

describe("entries", () => {
  const json = (emulator: Emulator, fields: object) =>
    emulator.fetch("/v1/auth/token", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(fields),
    });

  describe("an entry names the client, the grant and the rule", () => {
    const rows: {
      name: string;
      entry: Partial<JournalEntry>;
      absent?: string[];
      ask: () => Promise<Emulator>;
    }[] = [
      {
        name: "of a plugin's token",
        entry: {
          clientId: "reporter",
          grant: "client_credentials",
          status: 200,
          endpoint: "token",
          tenantId: "acme",
        },
        absent: ["rule", "fault"],
        async ask() {
          const plugin = new PluginClient();
          await plugin.requestToken();
          return plugin.emulator;
        },
      },
      {
        name: "of a plugin that is refused",
        entry: { clientId: "reporter", grant: "client_credentials", status: 400, rule: "assertion.audience" },
        async ask() {
          const plugin = new PluginClient();
          await plugin.requestToken({ claims: { aud: "https://other.example" } });
          return plugin.emulator;
        },
      },
      {
        name: "of a grant that the variant has none of",
        entry: { clientId: "reporter", grant: "refresh_token", rule: "token-request.grant-type" },
        async ask() {
          const plugin = new PluginClient();
          await plugin.requestToken({ form: { grant_type: "refresh_token" } });
          return plugin.emulator;
        },
      },
      {
        name: "but not a grant that is none",
        entry: { clientId: "reporter", rule: "token-request.grant-type" },
        absent: ["grant"],
        async ask() {
          const plugin = new PluginClient();
          await plugin.requestToken({ form: { grant_type: "password" } });
          return plugin.emulator;
        },
      },
      {
        name: "but not a client_id that nobody registered: it may be a secret in the wrong field",
        entry: { grant: "client_credentials", rule: "plugin.registered", tenantId: "acme" },
        absent: ["clientId"],
        async ask() {
          const plugin = new PluginClient();
          await plugin.requestToken({ form: { client_id: "stranger" } });
          return plugin.emulator;
        },
      },
      {
        name: "but not one of another tenant",
        entry: { rule: "plugin.registered", tenantId: "globex" },
        absent: ["clientId"],
        async ask() {
          const plugin = new PluginClient();
          await plugin.requestToken({ tenantId: "globex" });
          return plugin.emulator;
        },
      },
      {
        name: "of a request that the rate limit refused before it was read",
        entry: { status: 429, rule: "token-request.rate-limit", tenantId: "acme" },
        absent: ["clientId", "grant"],
        async ask() {
          const plugin = new PluginClient({ rateLimit: { requests: 1, windowSeconds: 9 } });
          await plugin.requestToken();
          await plugin.requestToken();
          return plugin.emulator;
        },
      },
      {
        name: "of a launch's code",
        entry: { clientId: "reporter", grant: "authorization_code", status: 200 },
        async ask() {
          const plugin = new LaunchedPlugin();
          await plugin.launchedToken();
          return plugin.emulator;
        },
      },
      {
        name: "of a login's code, whose request names no grant",
        entry: {
          clientId: "portal",
          grant: "authorization_code",
          status: 200,
          tenantId: "acme",
          variant: "B",
        },
        async ask() {
          const portal = new Portal();
          await portal.tokens();
          return portal.emulator;
        },
      },
      {
        name: "of a refresh",
        entry: { clientId: "portal", grant: "refresh_token", status: 200, tenantId: "acme" },
        async ask() {
          const portal = new Portal();
          await portal.refresh((await portal.tokens()).refresh_token);
          return portal.emulator;
        },
      },
      {
        name: "of a client with a wrong secret",
        entry: { clientId: "portal", grant: "authorization_code", rule: "api-client.authentication" },
        async ask() {
          const portal = new Portal({}, { clientSecret: PORTAL_SECRET });
          await portal.exchange(portal.loginCode(), { client_secret: "wrong" });
          return portal.emulator;
        },
      },
      {
        name: "but not a secret that was sent as the client_id",
        entry: { grant: "client_credentials", rule: "client.authentication" },
        absent: ["clientId", "tenantId"],
        async ask() {
          const emulator = createEmulator();
          emulator.registerServiceAccount({ clientId: "worker", clientSecret: "s", tenantId: "acme" });
          await json(emulator, { grant_type: "client_credentials", client_id: "s", client_secret: "worker" });
          return emulator;
        },
      },
      {
        name: "of the bearer of a call",
        entry: {
          clientId: "reporter",
          tenantId: "acme",
          endpoint: "api",
          operation: "listDevices",
          status: 200,
        },
        absent: ["grant", "rule"],
        async ask() {
          const plugin = new PluginClient();
          await plugin.call(await plugin.accessToken());
          return plugin.emulator;
        },
      },
      {
        name: "of a call that is refused",
        entry: { clientId: "reporter", endpoint: "api", status: 403, rule: "route.scope" },
        async ask() {
          const plugin = new PluginClient({}, { scopes: [] });
          await plugin.call(await plugin.accessToken());
          return plugin.emulator;
        },
      },
      {
        name: "of a call without a bearer",
        entry: { endpoint: "api", status: 401, rule: "bearer.present" },
        absent: ["clientId"],
        async ask() {
          const plugin = new PluginClient();
          await plugin.call(undefined);
          return plugin.emulator;
        },
      },
      {
        name: "of a page",
        entry: { endpoint: "page", operation: "showHost", status: 200, tenantId: "acme" },
        async ask() {
          const plugin = new LaunchedPlugin();
          await plugin.emulator.fetch("/host/acme");
          return plugin.emulator;
        },
      },
    ];
    test.each(rows)("$name", async ({ entry, absent = [], ask }) => {
      const emulator = await ask();
      const last = emulator.journal.last();
      expect(last).toMatchObject(entry);
      for (const member of absent) expect(last).not.toHaveProperty(member);
      const refusals = emulator.customerLog.entries({ requestId: last?.id ?? 0 });
      expect(refusals.map(({ rule }) => rule)).toEqual(entry.rule === undefined ? [] : [entry.rule]);
    });
  });

  test("a path, or a tenant in it, that may be a credential is not shown, and still found", async () => {
    const plugin = new PluginClient();
    const token = await plugin.accessToken();
    await plugin.requestToken({ tenantId: token });
    const { journal, customerLog } = plugin.emulator;
    expect(journal.last()).toMatchObject({ tenantId: "…", path: "/api/v1/…/external-plugin/oauth/token" });
    expect(journal.count({ tenantId: token })).toBe(1);
    expect(journal.count({ path: `/api/v1/${token}/external-plugin/oauth/token` })).toBe(1);
    expect(customerLog.last({ tenantId: token })).toMatchObject({ tenantId: "…", rule: "plugin.registered" });
    expect(JSON.stringify([journal.entries(), customerLog.entries()])).not.toContain(token);
  });

  describe("a filter", () => {
    /** Two tokens of acme, a refused one of globex, two calls a second later, and a page. */
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

    const filters: { name: string; filter: (now: number) => JournalFilter; ids: number[] }[] = [
      { name: "of nothing finds everything", filter: () => ({}), ids: [1, 2, 3, 4, 5, 6] },
      { name: "by tenant", filter: () => ({ tenantId: "globex" }), ids: [3] },
      { name: "by client", filter: () => ({ clientId: "reporter" }), ids: [1, 2, 4, 5] },
      { name: "by endpoint", filter: () => ({ endpoint: "api" }), ids: [4, 5] },
      { name: "by operation", filter: () => ({ operation: "listDevices" }), ids: [4] },
      { name: "by grant", filter: () => ({ grant: "authorization_code" }), ids: [1, 2] },
      { name: "by status", filter: () => ({ status: 200 }), ids: [1, 2, 4, 6] },
      { name: "by rule", filter: () => ({ rule: "route.scope" }), ids: [5] },
      { name: "by method", filter: () => ({ method: "POST" }), ids: [1, 2, 3, 5] },
      { name: "by path", filter: () => ({ path: "/api/v1/acme/devices" }), ids: [4] },
      { name: "by variant", filter: () => ({ variant: "B" }), ids: [] },
      { name: "by fault", filter: () => ({ fault: "reset" }), ids: [] },
      { name: "by the instant since when", filter: (now) => ({ since: now }), ids: [4, 5, 6] },
      { name: "by an instant just after", filter: (now) => ({ since: now + 1 }), ids: [] },
      { name: "by two things", filter: (now) => ({ since: now, status: 200 }), ids: [4, 6] },
      { name: "ignores what is undefined", filter: () => ({ tenantId: undefined, status: 400 }), ids: [3] },
    ];
    test.each(filters)("$name", async ({ filter, ids }) => {
      const { emulator, now } = await busy();
      const { journal } = emulator;
      expect(journal.entries(filter(now)).map(({ id }) => id)).toEqual(ids);
      expect(journal.count(filter(now))).toBe(ids.length);
      expect(journal.last(filter(now))?.id).toBe(ids.at(-1));
    });

    test("tokenRequests and apiCalls are of their endpoints alone, and take every other filter", async () => {
      const { journal } = (await busy()).emulator;
      const ids = (entries: JournalEntry[]) => entries.map(({ id }) => id);
      expect(ids(journal.tokenRequests())).toEqual([1, 2, 3]);
      expect(ids(journal.tokenRequests({ tenantId: "acme", clientId: "reporter", status: 200 }))).toEqual([
        1, 2,
      ]);
      expect(ids(journal.tokenRequests({ grant: "client_credentials" }))).toEqual([3]);
      expect(ids(journal.apiCalls())).toEqual([4, 5]);
      expect(ids(journal.apiCalls({ status: 403, clientId: "reporter" }))).toEqual([5]);
    });

    test("a route that is called requestToken is no token request", async () => {
      const route = { operationId: "requestToken", method: "GET", path: "/api/v1/{tenantId}/one" } as const;
      const plugin = new PluginClient({ routes: [route] });
      await plugin.call(await plugin.accessToken(), "/api/v1/acme/one");
      expect(plugin.emulator.journal.tokenRequests()).toHaveLength(1);
      expect(plugin.emulator.journal.apiCalls()).toMatchObject([{ operation: "requestToken" }]);
    });

    const bad: { name: string; filter: object; field: string }[] = [
      { name: "a name that no entry has", filter: { tenantID: "acme" }, field: "tenantID" },
      { name: "an unknown grant", filter: { grant: "password" }, field: "grant" },
      { name: "an unknown fault", filter: { fault: "earthquake" }, field: "fault" },
      { name: "a status that is a string", filter: { status: "200" }, field: "status" },
      { name: "an instant that is none", filter: { since: "now" }, field: "since" },
    ];
    test.each(bad)("refuses $name, which would match nothing", async ({ filter, field }) => {
      const { journal } = createEmulator();
      const refused = { code: "option_invalid", message: expect.stringContaining(field) };
      for (const ask of [
        journal.entries,
        journal.tokenRequests,
        journal.apiCalls,
        journal.last,
        journal.count,
      ])
        expect(() => ask(filter)).toThrow(expect.objectContaining(refused));
      await expect(journal.waitFor(filter)).rejects.toMatchObject(refused);
    });
  });
});

describe("waitFor", () => {
  const LONG_MS = 1_234_567;
  const isPending = async (promise: Promise<unknown>) => {
    let pending = true;
    promise.then(
      () => (pending = false),
      () => (pending = false),
    );
    await settled();
    return pending;
  };

  test("it resolves with the request that was waited for, and with no other", async () => {
    const plugin = new PluginClient();
    const waiting = plugin.emulator.journal.waitFor({ tenantId: "acme", status: 200 });
    await plugin.requestToken({ tenantId: "globex" });
    await plugin.requestToken({ claims: { aud: "x" } });
    expect(await isPending(waiting)).toBe(true);
    await plugin.requestToken();
    expect(await waiting).toMatchObject([{ id: 3, tenantId: "acme", clientId: "reporter", status: 200 }]);
  });

  test("what came before the call counts", async () => {
    const plugin = new PluginClient();
    await plugin.requestToken();
    expect(await plugin.emulator.journal.waitFor()).toHaveLength(1);
    const waiting = plugin.emulator.journal.waitFor({ endpoint: "token" }, { count: 3 });
    await plugin.requestToken();
    expect(await isPending(waiting)).toBe(true);
    await plugin.requestToken();
    expect((await waiting).map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(await plugin.emulator.journal.waitFor({}, { count: 2 })).toHaveLength(3);
  });

  test("since an instant, only what came then", async () => {
    const plugin = new PluginClient();
    await plugin.requestToken();
    plugin.now += 1;
    const waiting = plugin.emulator.journal.waitFor({ since: plugin.now });
    expect(await isPending(waiting)).toBe(true);
    await plugin.requestToken();
    expect(await waiting).toMatchObject([{ id: 2 }]);
  });

  test("many wait at once, each for its own", async () => {
    const plugin = new PluginClient();
    const { journal } = plugin.emulator;
    const waiting = [1, 2, 3, 4].map((count) => journal.waitFor({ endpoint: "token" }, { count }));
    const never = journal.waitFor({ operation: "listDevices" });
    await Promise.all([1, 2, 3, 4].map(() => plugin.requestToken()));
    expect((await Promise.all(waiting)).map(({ length }) => length)).toEqual([1, 2, 3, 4]);
    expect(await isPending(never)).toBe(true);
    await plugin.call(undefined);
    expect(await never).toMatchObject([{ status: 401 }]);
  });

  test("the journal may be emptied meanwhile: what was seen was seen", async () => {
    const plugin = new PluginClient();
    const waiting = plugin.emulator.journal.waitFor({}, { count: 2 });
    await plugin.requestToken();
    plugin.emulator.journal.clear();
    await plugin.requestToken();
    expect(await waiting).toHaveLength(2);
  });

  test("a reset does not end it, but it counts anew", async () => {
    const emulator = createEmulator();
    const waiting = emulator.journal.waitFor({}, { count: 2 });
    await emulator.fetch("/one");
    emulator.reset();
    await emulator.fetch("/two");
    expect(await isPending(waiting)).toBe(true);
    await emulator.fetch("/three");
    expect((await waiting).map(({ path }) => path)).toEqual(["/two", "/three"]);
  });

  describe("it ends", () => {
    test("when its time is over, and says how many came", async () => {
      const plugin = new PluginClient();
      const timers = watchedTimers(5);
      await plugin.requestToken();
      const waiting = plugin.emulator.journal.waitFor({ status: 200 }, { count: 2, timeoutMs: 5 });
      expect(timers()).toBe(1);
      await expect(waiting).rejects.toMatchObject({
        name: "EmulatorError",
        code: "journal_timeout",
        message: expect.stringContaining("1 of 2"),
      });
      expect(timers()).toBe(0);
      await expect(plugin.emulator.journal.waitFor({ status: 1 }, { timeoutMs: 0 })).rejects.toMatchObject({
        code: "journal_timeout",
      });
    });

    test("with the signal's reason, and leaves nothing behind", async () => {
      const plugin = new PluginClient();
      const timers = watchedTimers(LONG_MS);
      const controller = new AbortController();
      const { signal } = controller;
      const waiting = plugin.emulator.journal.waitFor({}, { signal, timeoutMs: LONG_MS });
      expect(timers()).toBe(1);
      const reason = new Error("enough");
      controller.abort(reason);
      await expect(waiting).rejects.toBe(reason);
      await expect(plugin.emulator.journal.waitFor({}, { signal })).rejects.toBe(reason);
      expect(timers()).toBe(0);
      await plugin.requestToken();
    });

    test("with what was waited for, and leaves nothing behind", async () => {
      const plugin = new PluginClient();
      const timers = watchedTimers(LONG_MS);
      const waiting = plugin.emulator.journal.waitFor({}, { timeoutMs: LONG_MS });
      expect(timers()).toBe(1);
      await plugin.requestToken();
      await waiting;
      expect(timers()).toBe(0);
    });
  });

  test.each([
    { name: "no requests", options: { count: 0 }, field: "count" },
    { name: "an endless time", options: { timeoutMs: Number.POSITIVE_INFINITY }, field: "timeoutMs" },
    { name: "a time beyond what a timer takes", options: { timeoutMs: 2 ** 31 }, field: "timeoutMs" },
    { name: "a signal that is none", options: { signal: {} as AbortSignal }, field: "signal" },
    { name: "an unknown option", options: { timeout: 1 } as object, field: "timeout" },
  ])("waiting for $name is refused", async ({ options, field }) => {
    await expect(createEmulator().journal.waitFor({}, options)).rejects.toMatchObject({
      code: "option_invalid",
      message: expect.stringContaining(field),
    });
  });
});
