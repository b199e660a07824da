// What the schemas of the documents accept and refuse: Ajv and the generated zod schemas agree on
// every instance.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { schemas } from "../../generated/schemas.js";
import type { Variant } from "../../src/generate/document/document.js";

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
for (const variant of ["A", "B"] as const) {
  ajv.addSchema(parse(readFileSync(documentPath(variant), "utf8")), variant);
}

const TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const FIXED_TEXT = "The token request was rejected.";
const assertion = { client_id: "p", client_assertion_type: TYPE, client_assertion: "a.b.c" };
const code = { code: "c", code_verifier: "v" };
const claims = {
  iss: "p",
  sub: "p",
  aud: "https://host.example/prefix/api/v1/acme/external-plugin/oauth/token",
  jti: "1",
  iat: 1,
  exp: 2,
};
const token = { access_token: "t", token_type: "Bearer", expires_in: 3600 };
const registration = {
  client_id: "p",
  type: "service",
  enabled: true,
  jwks: { keys: [] },
  grantedScopes: [],
};

type Table = Readonly<
  Record<string, { readonly valid: readonly unknown[]; readonly invalid: readonly unknown[] }>
>;

const A: Table = {
  PluginRegistration: {
    valid: [
      registration,
      { ...registration, grantedScopes: ["devices:read"], deviceRestriction: ["d"], more: 1 },
    ],
    invalid: [
      { ...registration, type: "both" },
      { ...registration, grantedScopes: ["devices:delete"] },
      { ...registration, enabled: "yes" },
      {},
      null,
    ],
  },
  JsonWebKeySet: { valid: [{ keys: [{ kty: "RSA", n: "x" }] }], invalid: [{}, { keys: [{}] }, []] },
  Scope: {
    valid: ["schedules:execute"],
    invalid: ["schedules", "a:b:read", ":read", "a:Read", "a b:read"],
  },
  ClientAssertionHeader: {
    valid: [{ alg: "RS256", kid: "1", typ: "JWT" }],
    invalid: [{ alg: "RS256" }, { alg: "none", kid: "1" }, { alg: "HS256", kid: "1" }],
  },
  ClientAssertionClaims: {
    valid: [claims, { ...claims, iat: 1.5 }],
    invalid: [
      { ...claims, aud: "https://host.example/api/v1/{tenantId}/external-plugin/oauth/token" },
      { ...claims, aud: "https://host.example/api/v1/acme/external-plugin/oauth/token/" },
      { ...claims, aud: [claims.aud] },
      { ...claims, iat: "1" },
      ...Object.keys(claims).map((claim) => ({ ...claims, [claim]: undefined })),
    ],
  },
  ClientAssertionType: {
    valid: [TYPE],
    invalid: ["urn:ietf:params:oauth:client-assertion-type:saml2-bearer"],
  },
  ClientCredentialsRequest: {
    valid: [{ grant_type: "client_credentials", ...assertion }],
    invalid: [assertion, { grant_type: "refresh_token", ...assertion }],
  },
  AuthorizationCodeRequest: {
    valid: [{ grant_type: "authorization_code", ...assertion, ...code }],
    invalid: [{ grant_type: "authorization_code", ...assertion }],
  },
  TokenRequest: {
    valid: [
      { grant_type: "client_credentials", ...assertion },
      { grant_type: "authorization_code", ...assertion, ...code },
    ],
    invalid: [
      { grant_type: "refresh_token", ...assertion },
      { grant_type: "authorization_code", ...assertion },
      { grant_type: "client_credentials", client_id: "p", client_secret: "s" },
    ],
  },
  TokenResponse: {
    valid: [
      token,
      {
        ...token,
        revo: { tenant: "acme", user: { userId: "u" }, roles: [{ name: "n", group: "g" }] },
      },
      { ...token, "revo.tenant": "acme", "revo.roles": [] },
    ],
    invalid: [
      { ...token, expires_in: "3600" },
      { ...token, token_type: "mac" },
      { access_token: "t" },
      { ...token, revo: { roles: {} } },
    ],
  },
  TokenTenant: { valid: ["acme"], invalid: [1] },
  TokenUser: {
    valid: [{}, { userId: "u", firstname: "f", lastname: "l" }, { userId: 1 }],
    invalid: [{ userId: true }, []],
  },
  TokenRoles: { valid: [[], [{ name: "n", group: "g" }, {}]], invalid: [{}, ["role"]] },
  TokenError: {
    valid: ["invalid_client", "invalid_grant", "unsupported_grant_type", "invalid_request"].flatMap(
      (error) => [
        { error, error_description: FIXED_TEXT },
        { error, error_description: FIXED_TEXT.slice(0, -1) },
      ],
    ),
    invalid: [
      { error: "invalid_client" },
      { error: "invalid_scope", error_description: FIXED_TEXT },
      { error: "invalid_client", error_description: "no key" },
    ],
  },
  LaunchParameters: { valid: [{ opaque_code: "o", more: "m" }], invalid: [{}, { opaque_code: 1 }] },
  PluginPkceInitMessage: { valid: [{}, { challenge: "c" }], invalid: ["plugin:pkce-init"] },
  HostAuthCodeMessage: {
    valid: [{ code: "c", state: "s", tenantId: "t" }],
    invalid: [{ code: "c", state: "s" }],
  },
  DeviceList: { valid: [[], {}, null, "a"], invalid: [] },
};

const B: Table = {
  ApiClient: { valid: [{}, { name: "n" }], invalid: [1] },
  ServiceAccount: { valid: [{}, { name: "n" }], invalid: [1] },
  AuthorizationCodeRequest: {
    valid: [{ ...code, client_id: "c", redirect_uri: "https://app.example/callback" }],
    invalid: [{ ...code, client_id: "c" }],
  },
  ClientCredentialsRequest: {
    valid: [{ grant_type: "client_credentials", client_id: "c", client_secret: "s" }],
    invalid: [{ client_id: "c", client_secret: "s" }],
  },
  TokenRequest: {
    valid: [
      { ...code, client_id: "c", redirect_uri: "https://app.example/callback" },
      { grant_type: "client_credentials", client_id: "c", client_secret: "s" },
    ],
    invalid: [{}, { grant_type: "authorization_code", ...code, client_id: "c" }],
  },
  CallbackParameters: { valid: [{ code: "c", state: "s" }], invalid: [{ code: "c" }] },
  TokenResponse: {
    valid: [{ access_token: "t" }, { access_token: "t", refresh_token: "r", more: 1 }],
    invalid: [{}, { access_token: 1 }],
  },
  DeviceList: { valid: [[], {}, null, "a"], invalid: [] },
};

describe.each([
  { variant: "A", table: A },
  { variant: "B", table: B },
] as const)("the schemas of Variant $variant", ({ variant, table }) => {
  const components: Readonly<Record<string, () => z.ZodType>> = schemas[variant].components;

  test("are all in the table of this test", () => {
    expect(Object.keys(components).sort()).toEqual(Object.keys(table).sort());
  });

  test.each(Object.entries(table))(
    "%s accepts and refuses what Ajv does",
    (name, { valid, invalid }) => {
      const witness = ajv.compile({ $ref: `${variant}#/components/schemas/${name}` });
      const parse = (instance: unknown) => components[name]?.().safeParse(instance);
      for (const instance of valid) {
        expect([instance, witness(instance)]).toEqual([instance, true]);
        expect(parse(instance)).toEqual({ success: true, data: instance });
      }
      for (const instance of invalid.map(throughJson))
        expect([instance, witness(instance), parse(instance)?.success]).toEqual([
          instance,
          false,
          false,
        ]);
    },
  );
});

function documentPath(variant: Variant): string {
  return fileURLToPath(
    new URL(`../../openapi/variant-${variant.toLowerCase()}.yaml`, import.meta.url),
  );
}

/** Removes keys with the value undefined, as sending the value as JSON does. */
function throughJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

describe("a generated schema", () => {
  const answer = schemas.B.components.TokenResponse;

  test("is the same at each call, and not in the global registry of zod", () => {
    expect(answer()).toBe(answer());
    expect(z.globalRegistry.get(answer())).toBeUndefined();
  });

  test("is part of zod objects of your own, with its paths, and changes nothing", () => {
    const pair = z.object({ first: answer(), second: answer().optional() });
    const first = { access_token: "t", more: { kept: 1 } };
    expect(pair.parse({ first })).toEqual({ first });
    expect(answer().parse(first)).toBe(first);
    const issue = { code: "custom", path: ["first", "access_token"], message: "expected string" };
    expect(pair.safeParse({ first: { access_token: 1 } }).error?.issues).toMatchObject([issue]);
    expect(pair.safeParse({}).success).toBe(false);
  });
});
