// The reach of a launched plugin: "granted scopes intersected with the capabilities of the operator who launched it".
import { describe, expect, test } from "vitest";
import { ada, LaunchedPlugin } from "./launched-plugin.js";

const EXECUTE = "/api/v1/acme/schedules/nightly/executions";

describe("a route that needs schedules:execute", () => {
  const both = ["devices:read", "schedules:execute"];
  const rows = [
    {
      name: "takes who was granted it for an operator who can",
      scopes: both,
      capabilities: both,
      rule: undefined,
    },
    {
      name: "refuses an operator who cannot",
      scopes: both,
      capabilities: ["devices:read"],
      rule: "route.operator",
    },
    { name: "refuses an operator who can nothing", scopes: both, capabilities: [], rule: "route.operator" },
    {
      name: "refuses a plugin that was not granted it",
      scopes: ["devices:read"],
      capabilities: both,
      rule: "route.scope",
    },
  ];
  test.each(rows)("$name", async ({ scopes, capabilities, rule }) => {
    const plugin = new LaunchedPlugin({}, { scopes });
    plugin.emulator.updateOperator({ ...ada, capabilities });
    const response = await plugin.call(await plugin.launchedToken(), EXECUTE, { method: "POST" });
    expect(response.status).toBe(rule === undefined ? 200 : 403);
    if (rule !== undefined) expect(await response.text()).toBe("");
    expect(plugin.lastRule()).toBe(rule);
  });

  test("follows the operator's capabilities as they are at each call, and the plugin's grant", async () => {
    const plugin = new LaunchedPlugin({}, { scopes: both });
    const token = await plugin.launchedToken();
    const call = async () => (await plugin.call(token, EXECUTE, { method: "POST" })).status;
    expect(await call()).toBe(403);
    plugin.emulator.updateOperator({ ...ada, capabilities: both });
    expect(await call()).toBe(200);
    plugin.emulator.updatePlugin({ clientId: "reporter", tenantId: "acme", scopes: ["devices:read"] });
    expect(await call()).toBe(403);
    expect(plugin.lastRule()).toBe("route.narrowed");
  });
});

test("two operators of one plugin have each their own reach and their own revo.user", async () => {
  const plugin = new LaunchedPlugin();
  plugin.emulator.registerOperator({ tenantId: "acme", userId: "eve", capabilities: [] });
  const [hers, eves] = [await plugin.launchedToken(), await plugin.launchedToken({ userId: "eve" })];
  expect((await plugin.call(hers)).status).toBe(200);
  expect((await plugin.call(eves)).status).toBe(403);
  const response = await plugin.exchange(plugin.launchedCode({ userId: "eve" }));
  expect(((await response.json()) as { revo: object }).revo).toEqual({
    tenant: "acme",
    user: { userId: "eve" },
    roles: [{ name: "operator", group: "people" }],
  });
});

test("a route's own answer is told the person", async () => {
  const respond = ({ userId }: { userId?: string | undefined }) => ({ userId });
  const path = "/api/v1/{tenantId}/whoami";
  const plugin = new LaunchedPlugin({ routes: [{ operationId: "whoAmI", method: "GET", path, respond }] });
  const response = await plugin.call(await plugin.launchedToken(), "/api/v1/acme/whoami");
  expect(await response.json()).toEqual({ userId: "ada" });
});
