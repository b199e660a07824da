// The moments: before the token endpoint nothing is spent, after it everything is, whatever the caller is told.
import { describe, expect, test } from "vitest";
import { type Fault, type FaultName, faultMoments } from "../../src/emulator/index.js";
import { LaunchedPlugin } from "./launched-plugin.js";
import { PluginClient } from "./plugin-client.js";
import { Portal } from "./portal.js";

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
  expect(moments.filter(([, at]) => at.length === 0).map(([name]) => name)).toEqual(["duplicate-auth-code"]);
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
