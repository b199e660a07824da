// Each form of the page at /_emulator makes its change without JavaScript, and bad input changes nothing.
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createEmulator, emulatorRules } from "../../src/emulator/index.js";
import { AdminBrowser, atAdmin, expectRefused, type Filled } from "./form-browser.js";
import { ada, PluginClient, START } from "./plugin-client.js";
import { CALLBACK, Portal } from "./portal.js";
import { newSigningKey } from "./signing-key.js";

describe("the clock", () => {
  const moves: { name: string; form: string; filled: Filled; now: number; frozen?: boolean }[] = [
    { name: "is advanced", form: "advance", filled: { clock: "121" }, now: START + 121_000 },
    { name: "goes back", form: "advance", filled: { clock: "-0.5" }, now: START - 500 },
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
    { name: "a word", form: "advance", filled: { clock: "two" }, issue: /^clock: must be a number/ },
    { name: "nothing", form: "advance", filled: { clock: " " }, issue: /^clock: / },
    { name: "a move beyond all dates", form: "advance", filled: { clock: "1e300" }, issue: /^clock: / },
    {
      name: "a date without a zone",
      form: "set",
      filled: { do: "set", clock: "2030-01-02T03:04:05" },
      issue: /^clock: .*zone/,
    },
  ];
  test.each(bad)("does not move for $name, which stays in the form", async ({ form, filled, issue }) => {
    const { emulator, browser } = await atAdmin("");
    await browser.send(form, filled);
    expectRefused(browser, issue);
    expect(emulator.clock.now()).toBe(START);
    const [name = "", typed] = Object.entries(filled).at(-1) ?? [];
    expect(browser.value(form, name)).toBe(typed);
  });
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
  const emulator = createEmulator({ seed: { operators: [{ tenantId: "acme", userId: "seeded" }] } });
  const browser = await new AdminBrowser(emulator).open("/_emulator");
  emulator.registerOperator({ tenantId: "acme", userId: "late" });
  emulator.clock.freeze(0);
  expect(browser.html).toMatch(/<details class="confirm"><summary>[^<]*<\/summary>\s*<form[^>]*\/reset"/);
  for (let times = 0; times < 2; times += 1) await browser.send("reset");
  expect(browser.text()).toContain("Done.");
  expect(emulator.clock.frozen).toBe(false);
  await browser.open("/_emulator/operators");
  expect(browser.text()).toContain("seeded");
  expect(browser.text()).not.toContain("late");
});

describe("a fault", () => {
  const armed: { name: string; filled: Filled; fault: object }[] = [
    {
      name: "status",
      filled: { status: "503", body: '{"a":1}', headers: '{"x-a":"b"}', at: "resource", count: "always" },
      fault: { status: 503, body: { a: 1 }, headers: { "x-a": "b" }, at: "resource", count: "always" },
    },
    { name: "rate-limited", filled: { retryAfter: "7", count: "2" }, fault: { retryAfter: 7, count: 2 } },
    {
      name: "reset",
      filled: { "match.tenantId": "acme", "match.variant": "B", probability: "0.5", seed: "7" },
      fault: { match: { tenantId: "acme", variant: "B" }, probability: 0.5, seed: 7 },
    },
    { name: "truncated", filled: { bytes: "3" }, fault: { bytes: 3 } },
    { name: "slow", filled: { delayMs: "10" }, fault: { delayMs: 10 } },
    { name: "content-type", filled: { contentType: "text/html" }, fault: { contentType: "text/html" } },
    { name: "fields", filled: { fields: '{"expires_in":null}' }, fault: { fields: { expires_in: null } } },
    { name: "duplicate-auth-code", filled: {}, fault: {} },
    { name: "skewed-date", filled: { byMs: "-60000" }, fault: { byMs: -60_000 } },
  ];
  test.each(armed)("$name is armed with $filled, listed, and removed", async ({ name, filled, fault }) => {
    const { emulator, browser } = await atAdmin(`/faults?name=${name}`);
    await browser.send("arm", filled);
    expect(browser.issues()).toEqual([]);
    const [report] = emulator.faults.list();
    expect(report?.fault).toEqual({ name, ...fault });
    expect(browser.text()).toContain(`${name} fired 0`);
    expect(browser.text()).toContain(`Arm: ${name}`);
    await browser.send("disarm", { remove: report?.id });
    expect(emulator.faults.list()).toEqual([]);
  });

  test("applies, and the page shows how often", async () => {
    const { plugin, emulator, browser } = await atAdmin("/faults?name=status");
    await browser.send("arm", { status: "503", count: "2" });
    expect((await plugin.requestToken()).status).toBe(503);
    await browser.open("/_emulator/live/faults");
    expect(browser.text()).toContain("status fired 1, 1 left");
    await browser.send("disarm");
    expect(emulator.faults.list()).toEqual([]);
    expect((await plugin.requestToken()).status).toBe(200);
  });

  const bad: { name: string; fault: string; filled: Filled; field: string }[] = [
    { name: "no status", fault: "status", filled: {}, field: "status" },
    { name: "a word for a number", fault: "truncated", filled: { bytes: "few" }, field: "bytes" },
    { name: "a body that is not JSON", fault: "status", filled: { status: "503", body: "{" }, field: "body" },
    { name: "a relative path", fault: "reset", filled: { "match.path": "devices" }, field: "match.path" },
  ];
  test.each(bad)("is not armed with $name, which stays in the form", async ({ fault, filled, field }) => {
    const { emulator, browser } = await atAdmin(`/faults?name=${fault}`);
    await browser.send("arm", filled);
    expectRefused(browser, new RegExp(`^${field.replace(".", "\\.")}: `));
    expect(emulator.faults.list()).toEqual([]);
    expect(browser.value("arm", field)).toBe(filled[field] ?? "");
    const invalid = [...browser.form("arm").matchAll(/name="([\w.]+)"[^>]*aria-invalid/g)];
    expect(invalid.map(([, name]) => name)).toEqual([field]);
  });

  test("with an unknown name is refused", async () => {
    const { browser } = await atAdmin("/faults?name=reset");
    await browser.send("arm", { name: "gremlins" });
    expectRefused(browser, /^name: /);
  });
});

describe("a plugin", () => {
  const update = (browser: AdminBrowser) => browser.formOf("update", "acme", "reporter");

  test("is narrowed, restricted and disabled with immediate effect, and each change is undone", async () => {
    const { plugin, browser } = await atAdmin("/plugins");
    const token = await plugin.accessToken();
    const status = async () => (await plugin.call(token, "/api/v1/acme/devices/device-1")).status;
    const steps: [Filled, number][] = [
      [{ scopes: "" }, 403],
      [{ scopes: "devices:read\r\n  schedules:write \r\n\r\n" }, 200],
      [{ devices: "device-2\r\ndevice with spaces" }, 403],
      [{ devices: "device-1" }, 200],
      [{ devices: "" }, 403],
      [{ "devices.remove": "yes" }, 200],
      [{ enabled: "false" }, 401],
      [{ enabled: "true" }, 200],
    ];
    for (const [filled, expected] of steps) {
      await browser.send(update(browser), filled);
      expect(browser.text()).toContain("Done.");
      expect(await status(), JSON.stringify(filled)).toBe(expected);
    }
    expect(browser.value(update(browser), "scopes")).toBe("devices:read\nschedules:write");
  });

  test("gets other keys, and the page shows their ids and thumbprints", async () => {
    const { plugin, browser } = await atAdmin("/plugins");
    const key = newSigningKey("key-2");
    await browser.send(update(browser), { jwks: JSON.stringify({ keys: [key.publicJwk] }) });
    expect((await plugin.requestToken()).status).toBe(400);
    expect((await plugin.requestToken({ key })).status).toBe(200);
    const { e, kty, n } = key.publicJwk as Record<string, string>;
    const thumbprint = createHash("sha256").update(JSON.stringify({ e, kty, n })).digest("base64url");
    expect(browser.text()).toContain(`keys key-2 SHA-256 ${thumbprint}`);
  });

  test("is registered on the page with a test key, and gets a token", async () => {
    const { emulator, browser } = await atAdmin("/plugins");
    const filled = { tenantId: "acme", clientId: "nightly", type: "service", scopes: "devices:read" };
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

  test.each(["unregister", "update"])("that no longer exists is an error of the form %s", async (kind) => {
    const { emulator, browser } = await atAdmin("/plugins");
    emulator.unregisterPlugin({ tenantId: "acme", clientId: "reporter" });
    await browser.send(browser.formOf(kind, "acme", "reporter"));
    expectRefused(browser, /^plugin "reporter" is not registered in "acme"$/);
  });

  const bad: { name: string; filled: Filled; issue: RegExp }[] = [
    { name: "a malformed scope", filled: { scopes: "devices:read\ndevices" }, issue: /^scopes\.1: must/ },
    { name: "keys that are not JSON", filled: { jwks: "no json" }, issue: /^jwks: is not JSON$/ },
    { name: "an empty list of keys", filled: { jwks: '{"keys":[]}' }, issue: /^jwks\.keys: / },
    { name: "a malformed tenant id", filled: { tenantId: "../etc" }, issue: /^tenantId: / },
  ];
  test.each(bad)("does not change for $name, which stays in the form", async ({ filled, issue }) => {
    const { plugin, browser } = await atAdmin("/plugins");
    await browser.send(update(browser), filled);
    expectRefused(browser, issue);
    for (const name of ["scopes", "jwks"]) {
      if (name in filled) expect(browser.value(update(browser), name)).toBe(filled[name]);
    }
    expect((await plugin.requestToken()).status).toBe(200);
  });

  test("is refused if its private key was pasted, and the page does not show that key", async () => {
    const { browser } = await atAdmin("/plugins");
    const canary = "private-canary-0123456789";
    for (const jwks of [
      `{"keys":[{"kty":"RSA","d" : "${canary}"}]}`,
      `-----BEGIN PRIVATE KEY-----\n${canary}`,
    ]) {
      await browser.send(update(browser), { jwks });
      expect(browser.issues()[0]).toMatch(/^jwks(\.keys\.0: is a private|: is not JSON)/);
      expect(browser.html).not.toContain(canary);
    }
  });
});

describe("in Variant B", () => {
  const SECRET = "canary-of-the-account";

  async function atClients(path: string, registration: ConstructorParameters<typeof Portal>[1] = {}) {
    const portal = new Portal({}, registration);
    portal.emulator.registerServiceAccount({ tenantId: "acme", clientId: "worker", clientSecret: SECRET });
    const browser = await new AdminBrowser(portal.emulator).open(`/_emulator${path}`);
    const ask = (secret = SECRET) =>
      portal.post({ grant_type: "client_credentials", client_id: "worker", client_secret: secret });
    return { portal, browser, ask };
  }

  test("a service account gets another secret, which no page shows, and is unregistered", async () => {
    const { browser, ask } = await atClients("/accounts");
    const id = browser.formOf("update", "acme", "worker");
    await browser.send(id, {});
    expect((await ask()).status).toBe(200);
    await browser.send(id, { clientSecret: "another-canary" });
    expect(browser.text()).toContain("Done.");
    expect([(await ask()).status, (await ask("another-canary")).status]).toEqual([401, 200]);
    await browser.send(id, { clientSecret: "third-canary", scopes: "devices" });
    expect(browser.response.status).toBe(400);
    expect(browser.html).not.toMatch(/another-canary|third-canary/);
    await browser.send(browser.formOf("unregister", "acme", "worker"));
    expect(browser.text()).toContain("No service account is registered.");
    expect((await ask("another-canary")).status).toBe(401);
  });

  test("an API client gets another name, tenant and redirect URI, and later serves every tenant again", async () => {
    const { portal, browser } = await atClients("/clients");
    const id = browser.formOf("update", "portal");
    expect(browser.value(id, "redirectUris")).toBe(CALLBACK);
    const redirectUris = `${CALLBACK}\r\n\r\n https://x.example/ `;
    await browser.send(id, { name: " The portal ", tenantId: "umbrella", redirectUris });
    expect(browser.text()).toContain("The portal");
    expect(browser.value(id, "redirectUris")).toBe(`${CALLBACK}\nhttps://x.example/`);
    expect(() => portal.loginCode()).toThrow(expect.objectContaining({ issues: ["login.credentials"] }));
    await browser.send(id, { "tenantId.remove": "yes" });
    expect(portal.loginCode({ redirect_uri: "https://x.example/" }).code).toMatch(/./);
  });

  test("an API client becomes confidential, public again, and is unregistered", async () => {
    const { portal, browser } = await atClients("/clients");
    const id = browser.formOf("update", "portal");
    await browser.send(id, { clientSecret: SECRET });
    expect(browser.text()).toContain("clientSecret set");
    expect(browser.form(id)).toContain('name="clientSecret.remove"');
    expect((await portal.exchange(portal.loginCode())).status).toBe(401);
    expect((await portal.exchange(portal.loginCode(), { client_secret: SECRET })).status).toBe(200);
    await browser.send(id, { "clientSecret.remove": "yes" });
    expect(browser.text()).toContain("clientSecret not set");
    expect(browser.form(id)).not.toContain('name="clientSecret.remove"');
    expect((await portal.exchange(portal.loginCode())).status).toBe(200);
    await browser.send(browser.formOf("unregister", "portal"));
    expect(browser.text()).toContain("No API client is registered.");
  });
});

test("an operator is registered, gets other capabilities, keeps the password, and is unregistered", async () => {
  const { emulator, browser } = await atAdmin("/operators", new PluginClient());
  const roles = JSON.stringify(ada.roles);
  await browser.send("register", {
    tenantId: "acme",
    userId: "ada",
    firstname: "Ada",
    password: "engine",
    roles,
  });
  const id = browser.formOf("update", "acme", "ada");
  expect(browser.value(id, "roles")).toBe(roles);
  await browser.send(id, { capabilities: "schedules:execute" });
  expect(browser.value(id, "capabilities")).toBe("schedules:execute");
  expect(browser.text()).toContain("password set");
  await browser.send(id, { capabilities: "everything" });
  expectRefused(browser, /^capabilities\.0: must have the form/);
  expect(browser.value(id, "capabilities")).toBe("everything");
  await browser.send(browser.formOf("unregister", "acme", "ada"));
  expect(browser.text()).toContain("No operator is registered.");
  emulator.registerOperator({ ...ada, userId: "ada" });
  expect((await browser.open("/_emulator/operators")).text()).toContain("firstname Ada lastname Lovelace");
});
