// The shortest way: pass emulator.fetch as the option fetch. There is no server, no port and
// nothing to intercept.
import { afterEach, expect, test } from "vitest";
import { createEmulator } from "../../../src/emulator/index.js"; // in a project of yours: "bivariant/emulator"
import { connect, serviceAccount, servicePlugin } from "../../../src/index.js"; // "bivariant"

const reporter = { tenantId: "acme", clientId: "reporter" };
const emulator = createEmulator({
  seed: {
    plugins: [{ ...reporter, type: "service", scopes: ["devices:read"] }],
    serviceAccounts: [{ tenantId: "acme", clientId: "worker", clientSecret: "a secret" }],
  },
});
afterEach(() => emulator.reset());

const plugin = servicePlugin({ clientId: "reporter", privateKey: emulator.testKey(reporter) });
const account = serviceAccount({ clientId: "worker", clientSecret: "a secret" });

/** Your own code can be tested in the same way: pass it the fetch, the base URL and the clock. */
function connected(credential: typeof plugin | typeof account) {
  const { publicUrl: baseUrl, fetch, clock } = emulator;
  return connect({ baseUrl, tenantId: "acme", credentials: [credential], fetch, clock });
}

test.each([
  { variant: "A", credential: plugin },
  { variant: "B", credential: account },
])(
  "on Variant $variant a token is used until shortly before it expires",
  async ({ variant, credential }) => {
    const service = await connected(credential);
    for (const minutes of [0, 30, 29]) {
      emulator.clock.advance(minutes * 60_000);
      expect((await service.call("listDevices")).status).toBe(200);
    }
    // It is renewed in the background in its last minutes. This waits for that request instead of
    // sleeping.
    await emulator.journal.waitFor({ endpoint: "token" }, { count: 2 });
    expect(service.variant).toBe(variant);
    expect(emulator.journal.tokenRequests({ tenantId: "acme", status: 200 })).toHaveLength(2);
  },
);

test("the reason of a refusal is in the customer's log", async () => {
  const wrongTenant = { fetch: emulator.fetch, baseUrl: emulator.publicUrl, tenantId: "globex" };
  const service = await connect({ ...wrongTenant, credentials: [plugin] });
  await expect(service.call("listDevices")).rejects.toMatchObject({ error: "invalid_grant" });
  expect(emulator.customerLog.last()).toMatchObject({
    tenantId: "globex",
    rule: "plugin.registered",
  });
});
