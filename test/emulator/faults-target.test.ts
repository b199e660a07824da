// Which requests a fault strikes: how many, which, and which fault of several.
import { describe, expect, test } from "vitest";
import type { Emulator, FaultMatch } from "../../src/emulator/index.js";
import { PluginClient, pluginKey } from "./plugin-client.js";
import { CALLBACK, Portal } from "./portal.js";
import { ways } from "./two-ways.js";

const TOKEN = "/api/v1/acme/external-plugin/oauth/token";
const statusesOf = async (sent: Promise<Response>[]) => (await Promise.all(sent)).map(({ status }) => status);
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
  test.each(rows.flatMap((row) => (["before-token", "after-commit"] as const).map((at) => ({ ...row, at }))))(
    "$name ($at)",
    async ({ match, struck, at }) => {
      const { emulator, askers } = crowd();
      emulator.faults.add({ name: "status", status: 599, at, match, count: "always" });
      const statuses = await Promise.all(
        Object.entries(askers).map(async ([name, ask]) => [name, (await ask()).status] as const),
      );
      expect(statuses.filter(([, status]) => status === 599).map(([name]) => name)).toEqual(struck);
    },
  );

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

  test("what nobody registered is matched, and not shown", async () => {
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
    emulator.faults.add({ name: "reset", match: { clientId: "somebody else" }, count: "always" });
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
        const [struck, plain] = [await emulator.fetch(path, init), await crowd().emulator.fetch(path, init)];
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
