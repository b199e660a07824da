// Each form of the page at /_emulator makes its change without JavaScript, and bad input changes
// nothing.
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createEmulator, emulatorRules, faultMoments } from "../../src/emulator/index.js";
import { AdminBrowser, atAdmin, expectRefused, type Filled } from "./form-browser.js";
import { PluginClient, START } from "./plugin-client.js";
import { CALLBACK, Portal } from "./portal.js";
import { newSigningKey } from "./signing-key.js";

describe("the clock", () => {
  const moves: { name: string; form: string; filled: Filled; now: number; frozen?: boolean }[] = [
    { name: "is advanced", form: "advance", filled: { clock: "121" }, now: START + 121_000 },
    {
      name: "is set to a date",
      form: "set",
      filled: { do: "set", clock: "2030-01-02T03:04:05Z" },
      now: Date.UTC(2030, 0, 2, 3, 4, 5),
    },
    {
      name: "is set to milliseconds",
      form: "set",
      filled: { do: "set", clock: " 1700000 " },
      now: 1_700_000,
    },
    { name: "is frozen", form: "run", filled: { do: "freeze" }, now: START, frozen: true },
  ];
  test.each(moves)("$name", async ({ form, filled, now, frozen = false }) => {
    const { emulator, browser } = await atAdmin("");
    await browser.send(form, filled);
    expect(browser.response.status).toBe(200);
    expect([emulator.clock.now(), emulator.clock.frozen]).toEqual([now, frozen]);
    expect(browser.text()).toContain(new Date(now).toISOString().slice(0, 10));
    expect(browser.text()).toContain(frozen ? "frozen" : "running");
  });

  test("resumes from the instant at which it was frozen, and can be reset to real time", async () => {
    const { plugin, emulator, browser } = await atAdmin("");
    await browser.send("run", { do: "freeze" });
    plugin.now += 5000;
    await browser.send("run", { do: "resume" });
    expect([emulator.clock.now(), emulator.clock.frozen]).toEqual([START, false]);
    await browser.send("run", { do: "reset" });
    expect(emulator.clock.now()).toBe(START + 5000);
  });

  const bad: { name: string; form: string; filled: Filled; issue: RegExp }[] = [
    {
      name: "a word",
      form: "advance",
      filled: { clock: "two" },
      issue: /^clock: must be a number/,
    },
    { name: "nothing", form: "advance", filled: { clock: " " }, issue: /^clock: / },
    {
      name: "a date without a zone",
      form: "set",
      filled: { do: "set", clock: "2030-01-02T03:04:05" },
      issue: /^clock: .*zone/,
    },
  ];
  test.each(bad)(
    "does not move for $name, which stays in the form",
    async ({ form, filled, issue }) => {
      const { emulator, browser } = await atAdmin("");
      await browser.send(form, filled);
      expectRefused(browser, issue);
      expect(emulator.clock.now()).toBe(START);
      const [name = "", typed] = Object.entries(filled).at(-1) ?? [];
      expect(browser.value(form, name)).toBe(typed);
    },
  );
});

describe("a rule", () => {
  test("is switched off and on, and the browser returns to it", async () => {
    const { plugin, emulator, browser } = await atAdmin("/rules");
    const form = plugin.form();
    await plugin.post(form);
    expect((await plugin.post(form)).status).toBe(400);
    const body = new URLSearchParams(browser.fields("assertion.replay"));
    const headers = { origin: emulator.publicUrl };
    await browser.open("/_emulator/rules", { method: "POST", body, headers });
    expect(browser.location).toBe("/_emulator/rules?saved=assertion.replay#assertion.replay");
    expect(emulator.rules.off()).toEqual(["assertion.replay"]);
    expect((await plugin.post(form)).status).toBe(200);
    await browser.follow();
    expect(browser.text()).toContain("1 off assertion.replay");
    await browser.send("assertion.replay");
    expect(emulator.rules.off()).toEqual([]);
    expect((await plugin.post(form)).status).toBe(400);
    expect(browser.text()).toContain(`All ${Object.keys(emulatorRules).length} rules are enforced`);
  });

  test("with an unknown name is refused", async () => {
    const { emulator, browser } = await atAdmin("/rules");
    await browser.send("assertion.replay", { rule: "no.such-rule" });
    expectRefused(browser, /^rules: "no\.such-rule" is not a rule/);
    expect(emulator.rules.off()).toEqual([]);
  });
});

test("a reset asks for confirmation and restores the seed; forms that were loaded before it still work", async () => {
  const emulator = createEmulator({
    seed: { operators: [{ tenantId: "acme", userId: "seeded" }] },
  });
  const browser = await new AdminBrowser(emulator).open("/_emulator");
  emulator.registerOperator({ tenantId: "acme", userId: "late" });
  emulator.clock.freeze(0);
  expect(browser.html).toMatch(
    /<details class="confirm"><summary>[^<]*<\/summary>\s*<form[^>]*\/reset"/,
  );
  for (let times = 0; times < 2; times += 1) await browser.send("reset");
  expect(browser.text()).toContain("Done.");
  expect(emulator.clock.frozen).toBe(false);
  await browser.open("/_emulator/operators");
  expect(browser.text()).toContain("seeded");
  expect(browser.text()).not.toContain("late");
});

describe("a fault", () => {
  test("is armed as its example stands, for each fault, and is removed", async () => {
    const { emulator, browser } = await atAdmin("/faults");
    for (const name of Object.keys(faultMoments)) {
      await browser.open(`/_emulator/faults?name=${name}`);
      await browser.send("arm");
      expect(browser.issues()).toEqual([]);
      expect(browser.text()).toContain(`Arm: ${name}`);
    }
    expect(emulator.faults.list().map(({ fault }) => fault.name)).toEqual(
      Object.keys(faultMoments),
    );
    const [first] = emulator.faults.list();
    await browser.send("disarm", { remove: first?.id });
    expect(emulator.faults.list()).toHaveLength(Object.keys(faultMoments).length - 1);
    await browser.send("disarm");
    expect(emulator.faults.list()).toEqual([]);
  });

  test("applies, and the page shows how often", async () => {
    const { plugin, browser } = await atAdmin("/faults?name=status");
    await browser.send("arm", { members: '{"status":503,"count":2}' });
    expect((await plugin.requestToken()).status).toBe(503);
    await browser.open("/_emulator/live/faults");
    expect(browser.text()).toContain("status fired 1, 1 left");
  });

  const bad: { name: string; filled: Filled; issue: RegExp }[] = [
    { name: "a missing member", filled: { members: "{}" }, issue: /^status: / },
    {
      name: "text that is not JSON",
      filled: { members: '{"status":' },
      issue: /^members: must be/,
    },
    { name: "a list", filled: { members: "[]" }, issue: /^members: must be/ },
    { name: "an unknown name", filled: { name: "gremlins" }, issue: /^name: / },
  ];
  test.each(bad)("is not armed with $name, which stays in the form", async ({ filled, issue }) => {
    const { emulator, browser } = await atAdmin("/faults?name=status");
    await browser.send("arm", filled);
    expectRefused(browser, issue);
    expect(emulator.faults.list()).toEqual([]);
    if (filled.members !== undefined) expect(browser.value("arm", "members")).toBe(filled.members);
  });
});

describe("a plugin", () => {
  const update = (browser: AdminBrowser) => browser.formOf("update", "acme", "reporter");

  test("is narrowed, restricted and disabled with immediate effect, and each change is undone", async () => {
    const { plugin, browser } = await atAdmin("/plugins");
    const token = await plugin.accessToken();
    const status = async () => (await plugin.call(token, "/api/v1/acme/devices/device-1")).status;
    const steps: [kind: string, Filled, number][] = [
      ["update", { scopes: "" }, 403],
      ["update", { scopes: "devices:read\r\n  schedules:write \r\n\r\n" }, 200],
      ["update", { devices: "device-2\r\ndevice with spaces" }, 403],
      ["update", { devices: "device-1" }, 200],
      ["enabled", {}, 401],
      ["update", { devices: "" }, 401],
      ["enabled", {}, 200],
    ];
    for (const [kind, filled, expected] of steps) {
      await browser.send(browser.formOf(kind, "acme", "reporter"), filled);
      expect(browser.text()).toContain("Done.");
      expect(await status(), JSON.stringify(filled)).toBe(expected);
    }
    expect(browser.value(update(browser), "scopes")).toBe("devices:read\nschedules:write");
    expect(browser.text()).toContain("devices not set");
  });

  test("is shown with the id and thumbprint of each key", async () => {
    const { emulator, browser } = await atAdmin("/plugins");
    const { publicJwk } = newSigningKey("key-2");
    emulator.updatePlugin({ tenantId: "acme", clientId: "reporter", jwks: { keys: [publicJwk] } });
    const { e, kty, n } = publicJwk as Record<string, string>;
    const thumbprint = createHash("sha256")
      .update(JSON.stringify({ e, kty, n }))
      .digest("base64url");
    await browser.open("/_emulator/plugins");
    expect(browser.text()).toContain(`keys key-2 SHA-256 ${thumbprint}`);
  });

  test("is registered on the page with a test key, and gets a token", async () => {
    const { emulator, browser } = await atAdmin("/plugins");
    const filled = {
      tenantId: "acme",
      clientId: "nightly",
      type: "service",
      scopes: "devices:read",
    };
    await browser.send("register", filled);
    expect(browser.text()).toContain("Done.");
    expect(browser.text()).toContain("nightly");
    expect(emulator.testKey(filled).kty).toBe("RSA");
    await browser.send("register", filled);
    expectRefused(browser, /already registered|is registered/);
  });

  test("is unregistered in a second step, its token is then refused, and the other plugins stay", async () => {
    const { plugin, emulator, browser } = await atAdmin("/plugins");
    emulator.registerPlugin({ tenantId: "umbrella", clientId: "reporter", type: "service" });
    const token = await plugin.accessToken();
    const id = browser.formOf("unregister", "acme", "reporter");
    const question = `<details class="confirm"><summary>[^<]*</summary>\\s*<form[^>]* id="${id}"`;
    expect(browser.html).toMatch(new RegExp(question));
    await browser.send(id);
    expect(browser.text()).toContain("Done.");
    expect((await plugin.call(token)).status).toBe(401);
    await browser.send(browser.formOf("unregister", "umbrella", "reporter"));
    expect(browser.text()).toContain("No plugin is registered.");
  });

  const bad: { name: string; filled: Filled; issue: RegExp }[] = [
    {
      name: "a malformed scope",
      filled: { scopes: "devices:read\ndevices" },
      issue: /^scopes\.1: must/,
    },
    { name: "a malformed tenant id", filled: { tenantId: "../etc" }, issue: /^tenantId: / },
    {
      name: "another name",
      filled: { clientId: "gone" },
      issue: /^plugin "gone" is not registered in "acme"$/,
    },
  ];
  test.each(bad)(
    "does not change for $name, which stays in the form",
    async ({ filled, issue }) => {
      const { plugin, browser } = await atAdmin("/plugins");
      await browser.send(update(browser), filled);
      expectRefused(browser, issue);
      if ("scopes" in filled) expect(browser.value(update(browser), "scopes")).toBe(filled.scopes);
      expect((await plugin.requestToken()).status).toBe(200);
    },
  );
});

test("a client of Variant B is registered, changed and unregistered, and no page shows its secret", async () => {
  const portal = new Portal();
  const browser = await new AdminBrowser(portal.emulator).open("/_emulator/accounts");
  const clientSecret = "canary-of-the-account";
  const worker = { tenantId: "acme", clientId: "worker", clientSecret };
  const status = async () => {
    const answer = await portal.post({
      ...{ grant_type: "client_credentials", client_id: "worker", client_secret: clientSecret },
    });
    return answer.status;
  };
  await browser.send("register", { ...worker, scopes: "devices" });
  expectRefused(browser, /^scopes\.0: must/);
  expect(browser.html).not.toContain(clientSecret);
  await browser.send("register", { ...worker, scopes: "" });
  expect(browser.text()).toContain("clientSecret set");
  expect(browser.html).not.toContain(clientSecret);
  await browser.send(browser.formOf("update", "acme", "worker"), { scopes: "devices:read" });
  expect(browser.text()).toContain("scopes devices:read");
  await browser.send(browser.formOf("update", "acme", "worker"), { scopes: "" });
  expect([browser.text().includes("scopes not set"), await status()]).toEqual([true, 200]);
  await browser.send(browser.formOf("unregister", "acme", "worker"));
  expect(browser.text()).toContain("No service account is registered.");
  expect(await status()).toBe(401);
  await browser.open("/_emulator/clients");
  const id = browser.formOf("update", "portal");
  expect(browser.value(id, "redirectUris")).toBe(CALLBACK);
  await browser.send(id, { redirectUris: `${CALLBACK}\r\n\r\n https://x.example/ ` });
  expect(browser.value(id, "redirectUris")).toBe(`${CALLBACK}\nhttps://x.example/`);
  expect(portal.loginCode({ redirect_uri: "https://x.example/" }).code).toMatch(/./);
});

test("an operator is registered, gets other capabilities, keeps the password, and is unregistered", async () => {
  const { browser } = await atAdmin("/operators", new PluginClient());
  await browser.send("register", {
    tenantId: "acme",
    userId: "ada",
    firstname: "Ada",
    password: "engine",
  });
  const id = browser.formOf("update", "acme", "ada");
  await browser.send(id, { capabilities: "schedules:execute" });
  expect(browser.value(id, "capabilities")).toBe("schedules:execute");
  expect(browser.text()).toMatch(/firstname Ada .*password set/);
  expect(browser.html).not.toContain("engine");
  await browser.send(browser.formOf("unregister", "acme", "ada"));
  expect(browser.text()).toContain("No operator is registered.");
});
