// The forms of clock, rules and state at /_emulator: what each does, and what becomes of a bad input. Without JavaScript.
import { describe, expect, test } from "vitest";
import { createEmulator, rules } from "../../src/emulator/index.js";
import { AdminBrowser, at, expectRefused, type Filled } from "./admin-browser.js";
import { START } from "./plugin-client.js";

describe("the clock", () => {
  const moves: { name: string; form: string; filled: Filled; now: number; frozen?: boolean }[] = [
    {
      name: "advanced by seconds",
      form: "advance",
      filled: { amount: "121", unit: "1000" },
      now: START + 121_000,
    },
    {
      name: "advanced by minutes, back",
      form: "advance",
      filled: { amount: "-2", unit: "60000" },
      now: START - 120_000,
    },
    {
      name: "advanced by a part of an hour",
      form: "advance",
      filled: { amount: "0.5", unit: "3600000" },
      now: START + 1_800_000,
    },
    {
      name: "set to a date",
      form: "set",
      filled: { do: "set", instant: "2030-01-02T03:04:05Z" },
      now: Date.UTC(2030, 0, 2, 3, 4, 5),
    },
    {
      name: "set to milliseconds",
      form: "set",
      filled: { do: "set", instant: " 1700000000000 " },
      now: 1_700_000_000_000,
    },
    { name: "frozen", form: "run", filled: { do: "freeze" }, now: START, frozen: true },
  ];
  test.each(moves)("is $name", async ({ form, filled, now, frozen = false }) => {
    const { emulator, browser } = await at("");
    await browser.submit(form, filled);
    expect(browser.response.status).toBe(200);
    expect([emulator.clock.now(), emulator.clock.frozen]).toEqual([now, frozen]);
    expect(browser.text()).toContain(new Date(now).toISOString().slice(0, 10));
    expect(browser.text()).toContain(frozen ? "frozen" : "running");
  });

  test("runs on from where it was frozen, and goes back to real time", async () => {
    const { plugin, emulator, browser } = await at("");
    await browser.submit("run", { do: "freeze" });
    plugin.now += 5000;
    await browser.submit("run", { do: "resume" });
    expect([emulator.clock.now(), emulator.clock.frozen]).toEqual([START, false]);
    await browser.submit("run", { do: "reset" });
    expect(emulator.clock.now()).toBe(START + 5000);
  });

  const bad: { name: string; form: string; filled: Filled; issue: RegExp; kept?: [string, string] }[] = [
    {
      name: "words for a number",
      form: "advance",
      filled: { amount: "two" },
      issue: /^amount: /,
      kept: ["amount", "two"],
    },
    { name: "no number", form: "advance", filled: { amount: " " }, issue: /^amount: / },
    { name: "a unit that is none", form: "advance", filled: { unit: "fortnights" }, issue: /^amount: / },
    { name: "a move beyond all dates", form: "advance", filled: { amount: "1e300" }, issue: /^clock: / },
    {
      name: "a date without a zone",
      form: "set",
      filled: { do: "set", instant: "2030-01-02T03:04:05" },
      issue: /^clock: .*zone/,
      kept: ["instant", "2030-01-02T03:04:05"],
    },
    { name: "no date", form: "set", filled: { do: "set", instant: "tomorrow" }, issue: /^clock: / },
  ];
  test.each(bad)("stays where it is for $name", async ({ form, filled, issue, kept }) => {
    const { emulator, browser } = await at("");
    await browser.submit(form, filled);
    expectRefused(browser, issue);
    expect(emulator.clock.now()).toBe(START);
    if (kept !== undefined) expect(browser.fields(form)).toContainEqual(kept);
    expect(browser.form(form)).toContain(
      form === "set" || issue.source === "^amount: " ? 'aria-invalid="true"' : "",
    );
  });
});

describe("a rule", () => {
  test("is switched off and on; the browser comes back to it, with the filter", async () => {
    const { plugin, emulator, browser } = await at("/rules?filter=replay");
    const form = plugin.form();
    await plugin.post(form);
    expect((await plugin.post(form)).status).toBe(400);
    const body = new URLSearchParams([...browser.fields("switch"), ["off", "assertion.replay"]]);
    const init = { method: "POST", body, headers: { origin: emulator.publicUrl } };
    await browser.open(browser.action("switch"), init);
    expect(browser.response.status).toBe(303);
    expect(browser.response.headers.get("location")).toBe(
      "/_emulator/rules?filter=replay&saved=switch#assertion.replay",
    );
    expect(emulator.rules.off()).toEqual(["assertion.replay"]);
    expect((await plugin.post(form)).status).toBe(200);
    await browser.open("/_emulator/rules");
    expect(browser.text()).toContain("1 off assertion.replay");
    await browser.submit("switch", { on: "assertion.replay" });
    expect(emulator.rules.off()).toEqual([]);
    expect(browser.text()).toContain(`All ${Object.keys(rules).length} rules are enforced`);
  });

  test("and all others are enforced again at once", async () => {
    const { emulator, browser } = await at("/rules");
    for (const rule of ["assertion.replay", "route.scope"] as const) emulator.rules.enforce(rule, false);
    await browser.submit("switch", { all: "on" });
    expect(emulator.rules.off()).toEqual([]);
  });

  test("that is none is refused", async () => {
    const { emulator, browser } = await at("/rules");
    await browser.submit("switch", { off: "no.such-rule" });
    expectRefused(browser, /^rules: "no\.such-rule" is not a rule/);
    expect(emulator.rules.off()).toEqual([]);
  });

  test("is found by the filter without JavaScript, each one by its id", async () => {
    const { browser } = await at("/rules?filter=REPLAY");
    const visible = [...browser.html.matchAll(/<li id="([^"]*)">/g)].map(([, id]) => id);
    expect(visible).toContain("assertion.replay");
    expect(visible.length).toBeLessThan(10);
    for (const id of Object.keys(rules)) expect(browser.html).toContain(`id="${id}"`);
  });
});

describe("the state", () => {
  test("goes back to the seed, and the page's forms stay good", async () => {
    const emulator = createEmulator({
      seed: { plugins: [{ clientId: "seeded", tenantId: "acme", type: "service" }] },
    });
    const browser = await new AdminBrowser(emulator).open("/_emulator/state");
    emulator.registerPlugin({ clientId: "late", tenantId: "acme", type: "service" });
    emulator.clock.freeze(0);
    expect(browser.html).toMatch(/<details class="confirm"><summary>[^<]*<\/summary>\s*<form[^>]*\/reset"/);
    await browser.submit("reset");
    expect(emulator.clock.frozen).toBe(false);
    expect(browser.text()).toContain("Done.");
    await browser.submit("reset");
    expect(browser.response.status).toBe(200);
    await browser.open("/_emulator/plugins");
    expect(browser.text()).toContain("seeded");
    expect(browser.text()).not.toContain("late");
  });

  async function upload(browser: AdminBrowser, snapshot: string): Promise<AdminBrowser> {
    const body = new FormData();
    for (const [name, value] of browser.fields("restore")) body.append(name, value);
    body.append("snapshot", new Blob([snapshot], { type: "application/json" }), "snapshot.json");
    const headers = { origin: new URL(browser.emulator.publicUrl).origin };
    return browser.open(browser.action("restore"), { method: "POST", body, headers });
  }

  test("is downloaded as a file and put back", async () => {
    const { plugin, emulator, browser } = await at("/state");
    const token = await plugin.accessToken();
    const file = await emulator.fetch("/_emulator/snapshot.json");
    expect(file.headers.get("content-disposition")).toContain("emulator-snapshot.json");
    const snapshot = await file.text();
    emulator.reset();
    expect((await plugin.call(token)).status).toBe(401);
    await upload(browser, snapshot);
    expect(browser.response.status).toBe(303);
    expect((await plugin.call(token)).status).toBe(200);
  });

  const bad: { name: string; snapshot: (good: string) => string; issue: RegExp }[] = [
    { name: "nothing", snapshot: () => "", issue: /^snapshot: is not JSON$/ },
    { name: "no JSON", snapshot: () => "<html>", issue: /^snapshot: is not JSON$/ },
    { name: "other JSON", snapshot: () => '"x"', issue: /./ },
    {
      name: "a snapshot that was changed",
      snapshot: (good) => good.replace('"acme"', '"evil"'),
      issue: /^state: was changed/,
    },
    {
      name: "a snapshot of another version",
      snapshot: (good) => good.replace('"version":1', '"version":2'),
      issue: /^version: must be 1/,
    },
  ];
  test.each(bad)("stays for $name", async ({ snapshot, issue }) => {
    const { plugin, emulator, browser } = await at("/state");
    await upload(browser, snapshot(JSON.stringify(emulator.snapshot())));
    expectRefused(browser, issue);
    expect((await plugin.requestToken()).status).toBe(200);
  });

  test("is not restored from a form that was cut off", async () => {
    const { browser } = await at("/state");
    const headers = { origin: browser.emulator.publicUrl, "content-type": "multipart/form-data; boundary=b" };
    await browser.open("/_emulator/restore", {
      method: "POST",
      headers,
      body: "--b\r\nContent-Disposition: form",
    });
    expect([browser.response.status, browser.html.split(":")[0]]).toEqual([400, "form_unreadable"]);
  });
});
