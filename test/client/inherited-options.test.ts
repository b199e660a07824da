/** What an Auth was given serves the calls made through it too: a proxy or a test's fetch need be named once. */
import { describe, expect, test } from "vitest";
import { createEmulator } from "../../src/emulator/index.js";
import { createAuth, createService, isTokenRequestError, serviceAccount } from "../../src/index.js";
import { createVariantBClient } from "../../src/variant-b.js";

function deployment() {
  const emulator = createEmulator({ variants: ["B"] });
  emulator.registerServiceAccount({ tenantId: "acme", clientId: "reports", clientSecret: "right-secret" });
  return emulator;
}

function authOf(emulator: ReturnType<typeof deployment>, clientSecret = "right-secret") {
  const credential = serviceAccount({ clientId: "reports", clientSecret });
  return createAuth({ baseUrl: emulator.publicUrl, tenantId: "acme", credential, fetch: emulator.fetch });
}

describe("the fetch of an Auth", () => {
  test("is that of createService and of the path client, unless another is given", async () => {
    const emulator = deployment();
    const auth = authOf(emulator);
    expect((await createService(auth).call("listDevices")).ok).toBe(true);
    expect((await createService(auth, { fetch: undefined }).call("listDevices")).ok).toBe(true);
    expect((await createVariantBClient(auth).GET("/v1/devices")).ok).toBe(true);
    const own = createService(auth, { fetch: async () => Response.json([]) });
    expect(await own.call("listDevices")).toMatchObject({ ok: true, data: [] });
    expect(emulator.journal.entries({ operation: "listDevices" })).toHaveLength(3);
  });
});

describe("a wrong client secret of Variant B", () => {
  test("has a cause that names the admin area and says what it assumes", async () => {
    const error = await authOf(deployment(), "wrong-secret")
      .getAccessToken()
      .catch((reason: unknown) => reason);
    if (!isTokenRequestError(error)) throw error;
    expect(error.causes.map(({ id }) => id)).toEqual(["client_secret_mismatch"]);
    expect(error.message).toContain("the admin area under Service accounts");
    expect(error.causes[0]?.evidence).toContain("does not show");
    expect(JSON.stringify(error)).not.toContain("wrong-secret");
  });
});
