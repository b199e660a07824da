// What this app relies on: its calls, and the contract of the service, on the emulator with the
// operations of its overlay.
import { describe, expect, test } from "vitest";
import { contractCases, describeContract } from "../../../src/contract/index.js"; // yours: "bivariant/contract"
import { createEmulator } from "../../../src/emulator/index.js"; // "bivariant/emulator"
import { serviceAccount, servicePlugin } from "../../../src/index.js"; // "bivariant"
import { openService, startOnOnlineDevices, timeZoneOf } from "./app.js";
import * as api from "./generated/operations.js";

const tenantId = "acme";
const baseUrl = "http://customer.localhost";
const scheduler = { tenantId, clientId: "scheduler" };
const account = { clientId: "worker", clientSecret: "not a real secret" };
const emulator = createEmulator({
  api,
  publicUrl: baseUrl,
  seed: {
    plugins: [{ ...scheduler, type: "service", scopes: ["devices:read", "schedules:execute"] }],
    serviceAccounts: [{ ...account, tenantId }],
  },
});
const { fetch, clock } = emulator;
const plugin = { clientId: scheduler.clientId, privateKey: emulator.testKey(scheduler) };

describe.each([
  { variant: "A", credential: servicePlugin(plugin), timeZone: undefined },
  { variant: "B", credential: serviceAccount(account), timeZone: "Europe/Vienna" },
] as const)("the app on Variant $variant", ({ variant, credential, timeZone }) => {
  const open = () =>
    openService({ baseUrl, tenantId, variant, credentials: [credential], fetch, clock });

  test("starts a schedule on the devices that are online", async () => {
    expect(await startOnOnlineDevices(await open(), "nightly")).toBe("run-1");
    expect(emulator.journal.last()).toMatchObject({ operation: "startSchedule", status: 202 });
  });

  test("knows the time zone of a tenant only where the variant has one", async () => {
    expect(await timeZoneOf(await open())).toBe(timeZone);
  });

  test("refuses a device list of another shape", async () => {
    emulator.reset({ devices: { [tenantId]: [{ id: "door-1" }] } });
    const refused = startOnOnlineDevices(await open(), "nightly");
    await expect(refused).rejects.toMatchObject({ code: "response_shape" });
    emulator.reset({ devices: undefined });
  });
});

const target = {
  baseUrl,
  tenantId,
  plugin,
  serviceAccount: account,
  envelopes: ["full"], // what to try as X-Envelope; the description shows no value
};
/**
 * The cases that these credentials are enough for. No 429 comes here, so `failure-status` would
 * learn nothing.
 */
const only = contractCases
  .filter(({ needs, safe }) => safe && needs.every((name) => name in target))
  .flatMap(({ id }) => (id === "failure-status" ? [] : id));
/** Leaves out the cases that need more, which would otherwise be listed as skipped. */
const runner = { describe, test: Object.assign(test.bind(undefined), { skip: () => {} }) };

await describeContract(runner, target, {
  only,
  fetch,
  now: () => clock.now(),
  // The emulator's clock is moved where a case waits for a token to expire.
  wait: async (ms) => clock.advance(ms),
});
