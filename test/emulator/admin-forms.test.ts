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
  const moves: [name: string, filled: Filled, now: number, frozen: boolean][] = [
    ["is advanced", { do: "advance", clock: "121" }, START + 121_000, false],
    [
      "is set to a date",
      { do: "set", clock: "2030-01-02T03:04:05Z" },
      Date.UTC(2030, 0, 2, 3, 4, 5),
      false,
    ],
    ["is set to milliseconds", { do: "set", clock: " 1700000 " }, 1_700_000, false],
    ["is frozen", { do: "freeze" }, START, true],
  ];
  test.each(moves)("%s", async (_, filled, now, frozen) => {
    const { emulator, browser } = await atAdmin("");
    await browser.send("steer", filled);
    expect(browser.response.status).toBe(200);
    expect([emulator.clock.now(), emulator.clock.frozen]).toEqual([now, frozen]);
    expect(browser.text()).toContain(new Date(now).toISOString().slice(0, 10));
    expect(browser.text()).toContain(frozen ? "frozen" : "running");
  });

  test("resumes from the instant at which it was frozen, and can be reset to real time", async () => {
    const { plugin, emulator, browser } = await atAdmin("");
    await browser.send("steer", { do: "freeze" });
    plugin.now += 5000;
    await browser.send("steer", { do: "resume" });
    expect([emulator.clock.now(), emulator.clock.frozen]).toEqual([START, false]);
    await browser.send("steer", { do: "reset" });
    expect(emulator.clock.now()).toBe(START + 5000);
  });

  const bad: [name: string, filled: Filled, issue: RegExp][] = [
    ["a word", { do: "advance", clock: "two" }, /^clock: must be a number/],
    ["nothing", { do: "advance", clock: " " }, /^clock: /],
    ["a date without a zone", { do: "set", clock: "2030-01-02T03:04:05" }, /^clock: .*zone/],
  ];
  test.each(bad)("does not move for %s, which stays in the form", async (_, filled, issue) => {
    const { emulator, browser } = await atAdmin("");
    await browser.send("steer", filled);
    expectRefused(browser, issue);
    expect(emulator.clock.now()).toBe(START);
    expect(browser.value("steer", "clock")).toBe(filled.clock);
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

  const bad: [name: string, filled: Filled, issue: RegExp][] = [
    ["a missing member", { members: "{}" }, /^status: /],
    ["text that is not JSON", { members: '{"status":' }, /^members: must be/],
    ["a list", { members: "[]" }, /^members: must be/],
    ["an unknown name", { name: "gremlins" }, /^name: /],
  ];
  test.each(bad)("is not armed with %s, which stays in the form", async (_, filled, issue) => {
    const { emulator, browser } = await atAdmin("/faults?name=status");
    await browser.send("arm", filled);
    expectRefused(browser, issue);
    expect(emulator.faults.list()).toEqual([]);
    if (filled.members !== undefined) expect(browser.value("arm", "members")).toBe(filled.members);
  });
});

/** What is typed into the form of a record: its members. */
const typed = (members: object): Filled => ({ members: JSON.stringify(members) });

describe("a plugin", () => {
  const update = (browser: AdminBrowser) => browser.formOf("update", "acme", "reporter");

  test("is narrowed, restricted and disabled with immediate effect, and each change is undone", async () => {
    const { plugin, browser } = await atAdmin("/plugins");
    const token = await plugin.accessToken();
    const status = async () => (await plugin.call(token, "/api/v1/acme/devices/device-1")).status;
    const steps: [kind: string, Filled, number][] = [
      ["update", typed({ scopes: [] }), 403],
      ["update", typed({ scopes: ["devices:read", "schedules:write"] }), 200],
      ["update", typed({ devices: ["device-2", "device with spaces"] }), 403],
      ["update", typed({ devices: ["device-1"] }), 200],
      ["enabled", {}, 401],
      ["update", typed({ devices: null }), 401],
      ["enabled", {}, 200],
    ];
    for (const [kind, filled, expected] of steps) {
      await browser.send(browser.formOf(kind, "acme", "reporter"), filled);
      expect(browser.text()).toContain("Done.");
      expect(await status(), JSON.stringify(filled)).toBe(expected);
    }
    const scopes = ["devices:read", "schedules:write"];
    expect(browser.value(update(browser), "members")).toBe(
      JSON.stringify({ scopes, devices: null }),
    );
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

  test("is registered on the page with a test key, and a second time refused", async () => {
    const { emulator, browser } = await atAdmin("/plugins");
    const nightly = { tenantId: "acme", clientId: "nightly", type: "service" };
    await browser.send("register", typed(nightly));
    expect(browser.text()).toMatch(/Done\..*nightly/);
    expect(emulator.testKey(nightly).kty).toBe("RSA");
    await browser.send("register", typed(nightly));
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

  const bad: [name: string, filled: Filled, issue: RegExp][] = [
    ["a malformed scope", typed({ scopes: ["devices:read", "devices"] }), /^scopes\.1: must/],
    ["text that is not JSON", { members: "scopes" }, /^members: must be/],
    [
      "another name",
      { ...typed({}), identity: '{"tenantId":"acme","clientId":"gone"}' },
      /^plugin "gone" is not registered in "acme"$/,
    ],
    ["no name", { ...typed({}), identity: "x" }, /^clientId: /],
  ];
  test.each(bad)("does not change for %s, which stays in the form", async (_, filled, issue) => {
    const { plugin, browser } = await atAdmin("/plugins");
    await browser.send(update(browser), filled);
    expect([browser.response.status, browser.issues()[0]]).toEqual([
      400,
      expect.stringMatching(issue),
    ]);
    expect(browser.value(update(browser), "members")).toBe(filled.members);
    expect((await plugin.requestToken()).status).toBe(200);
  });
});

test("a client of Variant B is registered, changed and unregistered, and no page shows its secret", async () => {
  const portal = new Portal();
  const browser = await new AdminBrowser(portal.emulator).open("/_emulator/accounts");
  const clientSecret = "canary-of-the-account";
  const worker = { tenantId: "acme", clientId: "worker" };
  const status = async () => {
    const answer = await portal.post({
      ...{ grant_type: "client_credentials", client_id: "worker", client_secret: clientSecret },
    });
    return answer.status;
  };
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
  const { browser } = await atAdmin("/operators", new PluginClient());
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
