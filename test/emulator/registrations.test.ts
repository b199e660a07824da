// What may be registered: plugins with public RSA keys, service accounts with a secret; a bad sheet throws typed.
import { generateKeyPairSync } from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { createEmulator } from "../../src/emulator/index.js";
import { PluginClient, pluginKey } from "./plugin-client.js";
import { newSigningKey } from "./signing-key.js";

const sheet = {
  clientId: "c",
  tenantId: "t",
  type: "service",
  jwks: { keys: [pluginKey.publicJwk] },
} as const;
const privateJwk = pluginKey.privateKey.export({ format: "jwk" });
const ecJwk = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
const withKey = (...keys: object[]) => ({ ...sheet, jwks: { keys } });

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("a plugin registration is refused", () => {
  const rows: { name: string; input: object; code: string; issue: RegExp }[] = [
    {
      name: "without client_id",
      input: { ...sheet, clientId: undefined },
      code: "registration_invalid",
      issue: /^clientId/,
    },
    {
      name: "with an empty tenant",
      input: { ...sheet, tenantId: "" },
      code: "registration_invalid",
      issue: /^tenantId/,
    },
    {
      name: "with a literal {tenantId}",
      input: { ...sheet, tenantId: "{tenantId}" },
      code: "registration_invalid",
      issue: /^tenantId/,
    },
    {
      name: "with a tenant of dots",
      input: { ...sheet, tenantId: ".." },
      code: "registration_invalid",
      issue: /^tenantId/,
    },
    {
      name: "with a tenant that has a slash",
      input: { ...sheet, tenantId: "a/b" },
      code: "registration_invalid",
      issue: /^tenantId/,
    },
    {
      name: "of an unknown type",
      input: { ...sheet, type: "both" },
      code: "registration_invalid",
      issue: /^type/,
    },
    {
      name: "with a scope of no known form",
      input: { ...sheet, scopes: ["devices:list"] },
      code: "registration_invalid",
      issue: /^scopes\.0/,
    },
    {
      name: "with a misspelt field",
      input: { ...sheet, scope: [] },
      code: "registration_invalid",
      issue: /scope/,
    },
    { name: "without keys", input: withKey(), code: "key_invalid", issue: /no key/ },
    { name: "with a private key", input: withKey(privateJwk), code: "key_invalid", issue: /private/ },
    {
      name: "with a symmetric key",
      input: withKey({ kty: "oct", k: "c2VjcmV0" }),
      code: "key_invalid",
      issue: /symmetric/,
    },
    { name: "with an EC key", input: withKey(ecJwk), code: "key_invalid", issue: /kty/ },
    {
      name: "with an RSA key of 1024 bits",
      input: withKey(newSigningKey("k", 1024).publicJwk),
      code: "key_invalid",
      issue: /1024 bits/,
    },
    {
      name: "with an RSA key of 2047 bits",
      input: withKey(newSigningKey("k", 2047).publicJwk),
      code: "key_invalid",
      issue: /2047 bits/,
    },
    {
      name: "with a key for PS256",
      input: withKey({ ...pluginKey.publicJwk, alg: "PS256" }),
      code: "key_invalid",
      issue: /alg/,
    },
    {
      name: "with a key for encryption",
      input: withKey({ ...pluginKey.publicJwk, use: "enc" }),
      code: "key_invalid",
      issue: /use/,
    },
    {
      name: "with a key that may not verify",
      input: withKey({ ...pluginKey.publicJwk, key_ops: ["sign"] }),
      code: "key_invalid",
      issue: /key_ops/,
    },
    {
      name: "with a kid that is no string",
      input: withKey({ ...pluginKey.publicJwk, kid: 1 }),
      code: "key_invalid",
      issue: /kid/,
    },
    {
      name: "with a key without modulus",
      input: withKey({ kty: "RSA", e: "AQAB" }),
      code: "key_invalid",
      issue: /RSA public key/,
    },
    {
      name: "with a bad second key",
      input: withKey(pluginKey.publicJwk, ecJwk),
      code: "key_invalid",
      issue: /^jwks\.keys\.1/,
    },
    {
      name: "with 33 keys",
      input: withKey(...Array(33).fill(pluginKey.publicJwk)),
      code: "key_invalid",
      issue: /more than 32/,
    },
  ];
  test.each(rows)("$name, naming the field", ({ input, code, issue }) => {
    const error = thrownBy(() => createEmulator().registerPlugin(input as typeof sheet));
    expect(error).toMatchObject({ name: "EmulatorError", code, issues: [expect.stringMatching(issue)] });
    expect(inspect(error)).not.toContain(privateJwk.d);
  });

  test("a second time in one tenant, though not in another", () => {
    const emulator = createEmulator();
    emulator.registerPlugin(sheet);
    emulator.registerPlugin({ ...sheet, tenantId: "other" });
    expect(thrownBy(() => emulator.registerPlugin(sheet))).toMatchObject({ code: "already_registered" });
  });
});

describe("a plugin update is refused and changes nothing", () => {
  const identity = { clientId: "reporter", tenantId: "acme" };
  const rows = [
    {
      name: "of a plugin that is not registered",
      input: { ...identity, clientId: "x" },
      code: "not_registered",
    },
    {
      name: "with a short key",
      input: { ...identity, scopes: [], jwks: withKey({ kty: "RSA", n: "AQ", e: "AQAB" }).jwks },
      code: "key_invalid",
    },
    { name: "with a bad scope", input: { ...identity, scopes: ["x"] }, code: "registration_invalid" },
    { name: "of the type", input: { ...identity, type: "user_interface" }, code: "registration_invalid" },
  ];
  test.each(rows)("$name", async ({ input, code }) => {
    const plugin = new PluginClient();
    expect(thrownBy(() => plugin.emulator.updatePlugin(input))).toMatchObject({
      name: "EmulatorError",
      code,
    });
    expect((await plugin.call(await plugin.accessToken())).status).toBe(200);
  });
});

describe("a service account registration is refused", () => {
  const account = { clientId: "c", clientSecret: "hunter2-hunter2", tenantId: "t" };
  const rows = [
    { name: "without a secret", input: { ...account, clientSecret: "" }, code: "registration_invalid" },
    { name: "with a bad tenant", input: { ...account, tenantId: "a b" }, code: "registration_invalid" },
    {
      name: "with a secret in the wrong field",
      input: { ...account, secret: account.clientSecret },
      code: "registration_invalid",
    },
  ];
  test.each(rows)("$name", ({ input, code }) => {
    const error = thrownBy(() => createEmulator().registerServiceAccount(input));
    expect(error).toMatchObject({ name: "EmulatorError", code });
    expect(inspect(error)).not.toContain("hunter2");
  });

  test("a second time, even in another tenant, for Variant B's path names none", () => {
    const emulator = createEmulator();
    emulator.registerServiceAccount(account);
    const again = () => emulator.registerServiceAccount({ ...account, tenantId: "other" });
    expect(thrownBy(again)).toMatchObject({ code: "already_registered" });
  });
});
