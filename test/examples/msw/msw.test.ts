// Tests with MSW, which passes each request to the emulator, so that your code stays as it is.
import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createEmulator } from "../../../src/emulator/index.js"; // in a project of yours: "bivariant/emulator"
import { connect, type Service, servicePlugin } from "../../../src/index.js"; // "bivariant"

const reporter = { tenantId: "acme", clientId: "reporter" };
const emulator = createEmulator({
  publicUrl: "https://customer.example", // what the code under test is configured with; assertions name it
  seed: { plugins: [{ ...reporter, type: "service", scopes: ["devices:read"] }] },
});

const server = setupServer(
  // emulator.fetch rejects like fetch where a fault breaks the connection. MSW needs
  // HttpResponse.error() for that.
  http.all("https://customer.example/*", ({ request }) =>
    emulator.fetch(request).catch(() => HttpResponse.error()),
  ),
);
beforeAll(() => server.listen({ onUnhandledRequest: "error" })); // nothing leaves the machine
afterEach(() => emulator.reset());
afterAll(() => server.close());

/** The code under test: it uses the global fetch. */
function connected(): Promise<Service> {
  const credential = servicePlugin({
    clientId: "reporter",
    privateKey: emulator.testKey(reporter),
  });
  const { publicUrl: baseUrl, clock } = emulator; // one clock on both sides, so that a test moves both
  return connect({ baseUrl, tenantId: "acme", credentials: [credential], clock });
}

test("fifty calls at once cost one token request", async () => {
  const service = await connected();
  const results = await Promise.all(Array.from({ length: 50 }, () => service.call("listDevices")));
  expect(results.every(({ ok }) => ok)).toBe(true);
  expect(emulator.journal.tokenRequests({ tenantId: "acme" })).toHaveLength(1);
});

test("a call whose connection breaks rejects as it does over the network", async () => {
  const service = await connected();
  emulator.faults.add({ name: "reset", at: "resource" });
  await expect(service.call("listDevices", { maxRetries: 0 })).rejects.toMatchObject({
    code: "network_failed",
  });
  expect(emulator.journal.last()).toMatchObject({ operation: "listDevices", fault: "reset" });
});
