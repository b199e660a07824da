// A jti is good for one accepted assertion of one plugin, for as long as a repeat could be accepted at all.
import { describe, expect, test } from "vitest";
import { type Changed, PluginClient, pluginKey, rejectedWith, rejection, START } from "./plugin-client.js";
import { newSigningKey } from "./signing-key.js";

describe("a repeated jti is refused", () => {
  test("the same assertion a second time", async () => {
    const plugin = new PluginClient();
    const form = plugin.form();
    expect((await plugin.post(form)).status).toBe(200);
    expect(await rejection(await plugin.post(form))).toEqual(rejectedWith("invalid_client"));
    expect(plugin.lastRule()).toBe("assertion.replay");
  });

  test("a new assertion with the same jti", async () => {
    const plugin = new PluginClient();
    expect((await plugin.requestToken({ claims: { jti: "once" } })).status).toBe(200);
    plugin.now += 1000;
    expect((await plugin.requestToken({ claims: { jti: "once" } })).status).toBe(400);
    expect(plugin.lastRule()).toBe("assertion.replay");
  });

  test("between exp and exp + 30 s, where tolerance still accepts the assertion", async () => {
    const plugin = new PluginClient();
    const form = plugin.form();
    expect((await plugin.post(form)).status).toBe(200);
    plugin.now += 85_000;
    expect((await plugin.post(form)).status).toBe(400);
    expect(plugin.lastRule()).toBe("assertion.replay");
  });

  const iat = START / 1000;
  const instants = [
    { name: "up to the last instant of the longest assertion", afterMs: 330_000, rule: "assertion.replay" },
    { name: "and after that for its age", afterMs: 330_001, rule: "assertion.issued-at" },
  ];
  test.each(instants)("$name", async ({ afterMs, rule }) => {
    const plugin = new PluginClient();
    const form = plugin.form({ claims: { exp: iat + 300 } });
    expect((await plugin.post(form)).status).toBe(200);
    plugin.now += afterMs;
    expect((await plugin.post(form)).status).toBe(400);
    expect(plugin.lastRule()).toBe(rule);
  });

  test("an assertion issued ahead of the clock is remembered from its iat on", async () => {
    const plugin = new PluginClient();
    const form = plugin.form({ claims: { iat: iat + 30, exp: iat + 330 } });
    expect((await plugin.post(form)).status).toBe(200);
    plugin.now += 360_000;
    expect((await plugin.post(form)).status).toBe(400);
    expect(plugin.lastRule()).toBe("assertion.replay");
  });

  test("after 5000 other assertions have made the store sweep itself", async () => {
    const plugin = new PluginClient();
    const form = plugin.form({ claims: { exp: iat + 300 } });
    expect((await plugin.post(form)).status).toBe(200);
    for (let i = 0; i < 5000; i++) {
      plugin.now += 60;
      await plugin.requestToken();
    }
    expect((await plugin.post(form)).status).toBe(400);
    expect(plugin.lastRule()).toBe("assertion.replay");
  });
});

describe("a jti is not burned", () => {
  const refused: { name: string; changed: Changed }[] = [
    { name: "by an assertion of a wrong key", changed: { key: newSigningKey("key-1") } },
    { name: "by an assertion with a wrong aud", changed: { claims: { aud: "http://other.example" } } },
    {
      name: "by an assertion that is too old",
      changed: { claims: { iat: START / 1000 - 400, exp: START / 1000 - 300 } },
    },
    { name: "by a request of an unsupported grant", changed: { form: { grant_type: "refresh_token" } } },
  ];
  test.each(refused)("$name", async ({ changed }) => {
    const plugin = new PluginClient();
    const claims = { ...changed.claims, jti: "kept" };
    expect((await plugin.requestToken({ ...changed, claims })).status).toBe(400);
    expect((await plugin.requestToken({ claims: { jti: "kept" } })).status).toBe(200);
  });

  test("by a plugin of another client_id or another tenant", async () => {
    const plugin = new PluginClient();
    const sheet = { type: "service", jwks: { keys: [pluginKey.publicJwk] } } as const;
    plugin.emulator.registerPlugin({ ...sheet, clientId: "second", tenantId: "acme" });
    plugin.emulator.registerPlugin({ ...sheet, clientId: "reporter", tenantId: "globex" });
    const second = { claims: { jti: "same", iss: "second", sub: "second" }, form: { client_id: "second" } };
    expect((await plugin.requestToken({ claims: { jti: "same" } })).status).toBe(200);
    expect((await plugin.requestToken(second)).status).toBe(200);
    expect((await plugin.requestToken({ tenantId: "globex", claims: { jti: "same" } })).status).toBe(200);
  });
});

test("an accepted assertion is spent even if the plugin's type is wrong for the grant", async () => {
  const plugin = new PluginClient({}, { type: "user_interface" });
  const form = plugin.form();
  await plugin.post(form);
  expect(plugin.lastRule()).toBe("plugin.grant");
  await plugin.post(form);
  expect(plugin.lastRule()).toBe("assertion.replay");
});

test("of 50 concurrent posts of one assertion exactly one is answered 200", async () => {
  for (let round = 0; round < 20; round++) {
    const plugin = new PluginClient();
    const form = plugin.form();
    const statuses = await Promise.all(
      Array.from({ length: 50 }, async () => (await plugin.post(form)).status),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 400)).toHaveLength(49);
  }
});
