// The devices that the emulator's tenants have, which nobody shows: chosen by whoever tests with them.
import { describe, expect, test } from "vitest";
import { createEmulator, type Devices } from "../../src/emulator/index.js";
import { PluginClient } from "./plugin-client.js";

const acme = [{ id: "door", name: "Door", battery: { percent: 7 } }];

const listed = async (devices: Devices | undefined, path = "/api/v1/acme/devices") => {
  const plugin = new PluginClient({ devices }, { scopes: ["devices:read"] });
  const response = await plugin.call(await plugin.accessToken(), path);
  return { status: response.status, body: await response.json() };
};

describe("the device list", () => {
  test("is three invented devices by default", async () => {
    expect((await listed(undefined)).body).toHaveLength(3);
  });

  test.each([
    { name: "one list for every tenant", devices: acme, body: acme },
    { name: "the tenant's own list", devices: { acme, umbrella: [] }, body: acme },
    { name: "empty for a tenant that is not named", devices: { umbrella: acme }, body: [] },
    { name: "empty where the list is", devices: [], body: [] },
  ])("is $name, as it is given", async ({ devices, body }) => {
    expect(await listed(devices)).toEqual({ status: 200, body });
  });

  test("of Variant B is that of the token's tenant", async () => {
    const emulator = createEmulator({ devices: { acme, umbrella: [] } });
    emulator.registerServiceAccount({ clientId: "account", clientSecret: "a secret", tenantId: "acme" });
    const fields = { grant_type: "client_credentials", client_id: "account", client_secret: "a secret" };
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(fields) };
    const { access_token } = await (await emulator.fetch("/v1/auth/token", init)).json();
    const authorization = `Bearer ${access_token}`;
    const response = await emulator.fetch("/v1/devices", { headers: { authorization } });
    expect(await response.json()).toEqual(acme);
  });

  test("is what the invented route for one device looks in, too", async () => {
    expect(await listed(acme, "/api/v1/acme/devices/door")).toEqual({ status: 200, body: acme[0] });
    expect((await listed(acme, "/api/v1/acme/devices/device-1")).status).toBe(404);
  });

  test.each([
    { name: "a device without an id", devices: [{ name: "Door" }] },
    { name: "a device that is no object", devices: ["door"] },
    { name: "a tenant that could not be", devices: { "../x": [] } },
    { name: "a device that no JSON can hold", devices: [{ id: "door", seen: () => 0 }] },
    { name: "a number", devices: 3 },
  ])("is refused for $name", ({ devices }) => {
    expect(() => createEmulator({ devices: devices as unknown as Devices })).toThrow(
      expect.objectContaining({ code: "option_invalid", message: expect.stringContaining("devices") }),
    );
  });
});
