// The forms of faults at /_emulator: each name can be armed and removed, and a bad one is not. Without JavaScript.
import { describe, expect, test } from "vitest";
import { at, expectRefused, type Filled } from "./admin-browser.js";

describe("a fault", () => {
  const armed: { name: string; filled: Filled; fault: object }[] = [
    {
      name: "status",
      filled: { status: "503", body: '{"a":1}', headers: '{"x-a":"b"}', at: "resource", count: "always" },
      fault: {
        name: "status",
        status: 503,
        body: { a: 1 },
        headers: { "x-a": "b" },
        at: "resource",
        count: "always",
      },
    },
    {
      name: "status",
      filled: { status: "503", operation: "listDevices" },
      fault: { name: "status", status: 503, match: { operation: "listDevices" } },
    },
    {
      name: "rate-limited",
      filled: { retryAfter: "date", count: "2" },
      fault: { name: "rate-limited", retryAfter: "date", count: 2 },
    },
    {
      name: "reset",
      filled: { tenantId: "acme", operation: "requestToken" },
      fault: { name: "reset", match: { tenantId: "acme", operation: "requestToken" } },
    },
    { name: "truncated", filled: { bytes: "3" }, fault: { name: "truncated", bytes: 3 } },
    {
      name: "slow",
      filled: { bytesPerSecond: "5", delayMs: "10" },
      fault: { name: "slow", bytesPerSecond: 5, delayMs: 10 },
    },
    {
      name: "malformed-json",
      filled: { clientId: "reporter", grant: "client_credentials", variant: "A" },
      fault: {
        name: "malformed-json",
        match: { clientId: "reporter", grant: "client_credentials", variant: "A" },
      },
    },
    {
      name: "content-type",
      filled: { contentType: "text/html" },
      fault: { name: "content-type", contentType: "text/html" },
    },
    {
      name: "fields",
      filled: { fields: '{"expires_in":null}' },
      fault: { name: "fields", fields: { expires_in: null } },
    },
    {
      name: "lost-answer",
      filled: { probability: "0.5" },
      fault: { name: "lost-answer", probability: 0.5, seed: expect.any(Number) },
    },
    {
      name: "reset",
      filled: { method: "GET", path: "/v1/devices", at: "resource", probability: "0.5", seed: "7" },
      fault: {
        name: "reset",
        at: "resource",
        match: { method: "GET", path: "/v1/devices" },
        probability: 0.5,
        seed: 7,
      },
    },
    { name: "duplicate-auth-code", filled: {}, fault: { name: "duplicate-auth-code" } },
    {
      name: "skewed-date",
      filled: { byMs: "-60000" },
      fault: { name: "skewed-date", byMs: -60_000 },
    },
  ];
  test.each(armed)("$name is armed, shown, and removed", async ({ name, filled, fault }) => {
    const { emulator, browser } = await at(`/faults?name=${name}`);
    await browser.submit("arm", filled);
    expect(browser.issues()).toEqual([]);
    const [report] = emulator.faults.list();
    expect(report?.fault).toEqual(fault);
    expect(browser.text()).toContain(`${name} fired 0`);
    expect(browser.text()).toContain(`Arm: ${name}`);
    await browser.submit("disarm", { remove: report?.id });
    expect(emulator.faults.list()).toEqual([]);
  });

  test("strikes, and the page says how often", async () => {
    const { plugin, emulator, browser } = await at("/faults?name=status");
    await browser.submit("arm", { status: "503", count: "2" });
    expect((await plugin.requestToken()).status).toBe(503);
    await browser.open("/_emulator/live/faults");
    expect(browser.text()).toContain("status fired 1, 1 left");
    await browser.submit("disarm", { remove: undefined });
    expect(emulator.faults.list()).toEqual([]);
    expect((await plugin.requestToken()).status).toBe(200);
  });

  test("strikes only requests of its method and path", async () => {
    const { plugin, browser } = await at("/faults?name=status");
    const path = "/api/v1/acme/devices";
    await browser.submit("arm", { status: "503", at: "resource", count: "always", method: "GET", path });
    const token = await plugin.accessToken();
    expect((await plugin.call(token)).status).toBe(503);
    expect((await plugin.call(token, `${path}/device-1`)).status).toBe(200);
    expect(browser.text()).toContain(`"match":{"method":"GET","path":"${path}"}`);
  });

  test("whose path is none is pointed out, and nothing else is", async () => {
    const { browser } = await at("/faults?name=reset");
    await browser.submit("arm", { path: "devices", method: "GET" });
    expectRefused(browser, /^match\.path: /);
    const invalid = [...browser.form("arm").matchAll(/name="(\w+)"[^>]*aria-invalid/g)];
    expect(invalid.map(([, name]) => name)).toEqual(["path"]);
    expect(browser.fields("arm")).toContainEqual(["path", "devices"]);
  });

  const bad: { name: string; fault: string; filled: Filled; issue: RegExp; field: string }[] = [
    { name: "no status", fault: "status", filled: {}, issue: /^status: /, field: "status" },
    {
      name: "a status beyond all",
      fault: "status",
      filled: { status: "600" },
      issue: /^status: /,
      field: "status",
    },
    {
      name: "words for a number",
      fault: "truncated",
      filled: { bytes: "few" },
      issue: /^bytes: /,
      field: "bytes",
    },
    { name: "a count of none", fault: "reset", filled: { count: "0" }, issue: /^count: /, field: "count" },
    {
      name: "a body that is not JSON",
      fault: "status",
      filled: { status: "503", body: "{" },
      issue: /^body: is not JSON$/,
      field: "body",
    },
    {
      name: "fields that are a list",
      fault: "fields",
      filled: { fields: "[]" },
      issue: /^fields: /,
      field: "fields",
    },
    {
      name: "a probability above one",
      fault: "reset",
      filled: { probability: "2" },
      issue: /^probability: /,
      field: "probability",
    },
    { name: "a seed without draws", fault: "reset", filled: { seed: "7" }, issue: /^seed: /, field: "seed" },
    {
      name: "a seed that is none",
      fault: "reset",
      filled: { probability: "0.5", seed: "lucky" },
      issue: /^seed: /,
      field: "seed",
    },
    {
      name: "a moment that makes no sense",
      fault: "truncated",
      filled: { at: "before-token" },
      issue: /^at: /,
      field: "at",
    },
    {
      name: "a name that is none",
      fault: "reset",
      filled: { name: "gremlins" },
      issue: /^name: /,
      field: "name",
    },
  ];
  test.each(bad)(
    "is not armed for $name, and nothing typed is lost",
    async ({ fault, filled, issue, field }) => {
      const { emulator, browser } = await at(`/faults?name=${fault}`);
      await browser.submit("arm", filled);
      expectRefused(browser, issue);
      expect(emulator.faults.list()).toEqual([]);
      const text = ["at", "name"].includes(field) ? undefined : filled[field];
      if (text !== undefined) expect(browser.fields("arm")).toContainEqual([field, text]);
    },
  );
});
