// Each form of the page at /_emulator makes its change without JavaScript, and bad input changes
// nothing.
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createEmulator, emulatorRules, faultMoments } from "../../src/emulator/index.js";
import { CALLBACK, Portal, START } from "./deployment.js";
import { AdminBrowser, atAdmin, expectRefused, type Filled } from "./form-browser.js";
import { newSigningKey } from "./signing-key.js";

describe("the clock", () => {
  test("is advanced, set, frozen, resumed and reset", async () => {
    const { plugin, emulator, browser } = await atAdmin("");
    const moved = async (filled: Filled) => {
      await browser.send("steer", filled);
      const { now, frozen } = emulator.clock;
      expect(browser.text()).toContain(new Date(now()).toISOString().slice(0, 10));
      expect(browser.text()).toContain(frozen ? "frozen" : "running");
      return [now(), frozen];
    };
    expect(await moved({ do: "advance", clock: "121" })).toEqual([START + 121_000, false]);
    const date = "2030-01-02T03:04:05Z";
    expect(await moved({ do: "set", clock: date })).toEqual([Date.parse(date), false]);
    expect(await moved({ do: "set", clock: " 1700000 " })).toEqual([1_700_000, false]);
    expect(await moved({ do: "freeze" })).toEqual([1_700_000, true]);
    plugin.now += 5000;
    expect(await moved({ do: "resume" })).toEqual([1_700_000, false]);
    expect(await moved({ do: "reset" })).toEqual([START + 5000, false]);
  });
});

test("a rule is switched off and on, and the browser returns to it; an unknown one is refused", async () => {
  const { plugin, emulator, browser } = await atAdmin("/rules");
  const form = plugin.form();
  await plugin.postForm(form);
  await browser.send("assertion.replay", { rule: "no.such-rule" });
  expectRefused(browser, /^rules: "no\.such-rule" is not a rule/);
  expect(emulator.rules.off()).toEqual([]);
  const body = new URLSearchParams(browser.fields("assertion.replay"));
  const headers = { origin: emulator.publicUrl };
  await browser.open("/_emulator/rules", { method: "POST", body, headers });
  expect(browser.location).toBe("/_emulator/rules?saved=assertion.replay#assertion.replay");
  expect((await plugin.postForm(form)).status).toBe(200);
  await browser.follow();
  expect(browser.text()).toContain("1 off assertion.replay");
  await browser.send("assertion.replay");
  expect((await plugin.postForm(form)).status).toBe(400);
  expect(browser.text()).toContain(`All ${Object.keys(emulatorRules).length} rules are enforced`);
});

test("a reset asks for confirmation and restores the seed; forms that were loaded before it still work", async () => {
  const operators = [{ tenantId: "acme", userId: "seeded" }];
  const emulator = createEmulator({ seed: { operators } });
  const browser = await new AdminBrowser(emulator).open("/_emulator");
  emulator.registerOperator({ tenantId: "acme", userId: "late" });
  emulator.clock.freeze(0);
  expectConfirmed(browser, "reset");
  for (let times = 0; times < 2; times += 1) await browser.send("reset");
  expect(browser.text()).toContain("Done.");
  expect(emulator.clock.frozen).toBe(false);
  await browser.open("/_emulator/operators");
  expect(browser.text()).toContain("seeded");
  expect(browser.text()).not.toContain("late");
});

/** Expects that the form opens only after a click. */
function expectConfirmed(browser: AdminBrowser, id: string): void {
  const question = `<details class="confirm"><summary>[^<]*</summary>\\s*<form[^>]* id="${id}"`;
  expect(browser.html).toMatch(new RegExp(question));
}

describe("a fault", () => {
  test("is armed as its example stands, for each fault, and is removed", async () => {
    const { emulator, browser } = await atAdmin("/faults");
    const names = Object.keys(faultMoments);
    for (const name of names) {
      await browser.open(`/_emulator/faults?name=${name}`);
      await browser.send("arm");
      expect(browser.text()).toContain(`Arm: ${name}`);
    }
    expect(emulator.faults.list().map(({ fault }) => fault.name)).toEqual(names);
    await browser.send("disarm", { remove: emulator.faults.list()[0]?.id });
    expect(emulator.faults.list()).toHaveLength(names.length - 1);
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
});

const update = new AdminBrowser(createEmulator()).formOf("update", "acme", "reporter");
/** What is typed into the form of a record: its members. */
const typed = (members: object): Filled => ({ members: JSON.stringify(members) });

describe("a plugin", () => {
  test("is narrowed, restricted and disabled with immediate effect, and each change is undone", async () => {
    const { plugin, browser } = await atAdmin("/plugins");
    const token = await plugin.pluginToken();
    const status = async () => (await plugin.call(token, "/api/v1/acme/devices/device-1")).status;
    const scopes = ["devices:read", "schedules:write"];
    const steps: [kind: string, Filled, number][] = [
      ["update", typed({ scopes: [] }), 403],
      ["update", typed({ scopes }), 200],
      ["update", typed({ devices: ["device-2", "device with spaces"] }), 403],
      ["update", typed({ devices: null }), 200],
      ["enabled", {}, 401],
      ["enabled", {}, 200],
    ];
    for (const [kind, filled, expected] of steps) {
      await browser.send(browser.formOf(kind, "acme", "reporter"), filled);
      expect(browser.text()).toContain("Done.");
      expect(await status(), JSON.stringify(filled)).toBe(expected);
    }
    expect(browser.value(update, "members")).toBe(JSON.stringify({ scopes, devices: null }));
    expect(browser.text()).toContain("devices not set");
  });

  test("is shown with the id and thumbprint of each key", async () => {
    const { emulator, browser } = await atAdmin("/plugins");
    const { publicJwk } = newSigningKey("key-2");
    emulator.updatePlugin({ tenantId: "acme", clientId: "reporter", jwks: { keys: [publicJwk] } });
    const { e, kty, n } = publicJwk;
    const hash = createHash("sha256").update(JSON.stringify({ e, kty, n }));
    await browser.open("/_emulator/plugins");
    expect(browser.text()).toContain(`keys key-2 SHA-256 ${hash.digest("base64url")}`);
  });

  test("is registered with a test key, once, and unregistered in a second step", async () => {
    const { plugin, emulator, browser } = await atAdmin("/plugins");
    const token = await plugin.pluginToken();
    const nightly = { tenantId: "umbrella", clientId: "reporter", type: "service" };
    await browser.send("register", typed(nightly));
    expect(browser.text()).toContain("Done.");
    expect(emulator.testKey(nightly).kty).toBe("RSA");
    await browser.send("register", typed(nightly));
    expectRefused(browser, /is already registered/);
    const id = browser.formOf("unregister", "acme", "reporter");
    expectConfirmed(browser, id);
    await browser.send(id);
    expect((await plugin.call(token)).status).toBe(401);
    await browser.send(browser.formOf("unregister", "umbrella", "reporter"));
    expect(browser.text()).toContain("No plugin is registered.");
  });
});

const gone = '{"tenantId":"acme","clientId":"gone"}';
const fault = "/faults?name=status";
test.each<[path: string, form: string, filled: Filled, issue: RegExp]>([
  ["", "steer", { do: "advance", clock: "two" }, /^clock: must be a number/],
  ["", "steer", { do: "advance", clock: " " }, /^clock: /],
  ["", "steer", { do: "set", clock: "2030-01-02T03:04:05" }, /^clock: .*zone/],
  [fault, "arm", { members: "{}" }, /^status: /],
  [fault, "arm", { members: '{"status":' }, /^members: must be/],
  [fault, "arm", { members: "[]" }, /^members: must be/],
  [fault, "arm", { name: "gremlins" }, /^name: /],
  ["/plugins", update, typed({ scopes: ["devices:read", "devices"] }), /^scopes\.1: must/],
  ["/plugins", update, { members: "scopes" }, /^members: must be/],
  ["/plugins", update, { identity: gone }, /^plugin "gone" is not registered in "acme"$/],
  ["/plugins", update, { identity: "x" }, /^clientId: /],
])("at %s the form %s refuses %o, which stays in it", async (path, form, filled, issue) => {
  const { plugin, emulator, browser } = await atAdmin(path);
  await browser.send(form, filled);
  expect(browser.response.status).toBe(400);
  expect(browser.issues()[0]).toMatch(issue);
  for (const name of ["clock", "members"] as const)
    if (filled[name] !== undefined) expect(browser.value(form, name)).toBe(filled[name]);
  expect([emulator.clock.now(), emulator.faults.list()]).toEqual([START, []]);
  expect((await plugin.requestToken()).status).toBe(200);
});

test("a client of Variant B is registered, changed and unregistered, and no page shows its secret", async () => {
  const portal = new Portal();
  const browser = await new AdminBrowser(portal.emulator).open("/_emulator/accounts");
  const clientSecret = "canary-of-the-account";
  const worker = { tenantId: "acme", clientId: "worker" };
  const fields = { client_id: "worker", client_secret: clientSecret };
  const status = async () =>
    (await portal.postJson({ grant_type: "client_credentials", ...fields })).status;
  await browser.send("register", { ...typed({ ...worker, scopes: ["devices"] }), clientSecret });
  expectRefused(browser, /^scopes\.0: must/);
  expect(browser.html).not.toContain(clientSecret);
  await browser.send("register", { ...typed(worker), clientSecret });
  expect(browser.text()).toContain("clientSecret set");
  expect(browser.html).not.toContain(clientSecret);
  const update = browser.formOf("update", "worker");
  await browser.send(update, typed({ scopes: ["devices:read"] }));
  expect(browser.text()).toContain("scopes devices:read");
  await browser.send(update, typed({ scopes: null }));
  expect([browser.text().includes("scopes not set"), await status()]).toEqual([true, 200]);
  await browser.send(browser.formOf("unregister", "worker"));
  expect(browser.text()).toContain("No service account is registered.");
  expect(await status()).toBe(401);
  await browser.open("/_emulator/clients");
  const id = browser.formOf("update", "portal");
  const redirectUris = [CALLBACK, "https://x.example/"];
  await browser.send(id, typed({ redirectUris }));
  expect(JSON.parse(browser.value(id, "members") ?? "")).toMatchObject({ redirectUris });
  expect(portal.loginCode({ redirect_uri: "https://x.example/" }).code).toMatch(/./);
});

test("an operator is registered, gets other capabilities, keeps the password, and is unregistered", async () => {
  const { browser } = await atAdmin("/operators");
  const ada = { tenantId: "acme", userId: "ada", firstname: "Ada" };
  await browser.send("register", { ...typed(ada), password: "engine" });
  const id = browser.formOf("update", "acme", "ada");
  const members = JSON.stringify({ capabilities: ["schedules:execute"] });
  await browser.send(id, { members });
  expect(browser.value(id, "members")).toBe(members);
  expect(browser.text()).toMatch(/firstname Ada .*password set/);
  expect(browser.html).not.toContain("engine");
  await browser.send(browser.formOf("unregister", "acme", "ada"));
  expect(browser.text()).toContain("No operator is registered.");
});
