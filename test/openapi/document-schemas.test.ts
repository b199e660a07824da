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
const secret = { grant_type: "client_credentials", client_id: "c", client_secret: "s" };

/** Of a schema: what it accepts, and what it refuses. */
type Table = Readonly<
  Record<string, readonly [valid: readonly unknown[], invalid: readonly unknown[]]>
>;

const service = { grant_type: "client_credentials", ...assertion };
const launch = { grant_type: "authorization_code", ...assertion, ...code };
const aud = claims.aud.replace("acme", "{tenantId}");
const refusal = { error: "invalid_client", error_description: FIXED_TEXT };
const A: Table = {
  PluginRegistration: [
    [registration, { ...registration, grantedScopes: ["devices:read"], deviceRestriction: ["d"] }],
    [
      { ...registration, type: "both" },
      { ...registration, grantedScopes: ["devices:delete"] },
      { ...registration, enabled: "yes" },
      {},
    ],
  ],
  JsonWebKeySet: [[{ keys: [{ kty: "RSA", n: "x" }] }], [{}, { keys: [{}] }, []]],
  Scope: [["schedules:execute"], ["schedules", "a:b:read", ":read", "a:Read", "a b:read"]],
  ClientAssertionHeader: [
    [{ alg: "RS256", kid: "1", typ: "JWT" }],
    [{ alg: "RS256" }, { alg: "none", kid: "1" }, { alg: "HS256", kid: "1" }],
  ],
  ClientAssertionClaims: [
    [claims, { ...claims, iat: 1.5 }],
    [
      ...[aud, `${claims.aud}/`, [claims.aud]].map((one) => ({ ...claims, aud: one })),
      { ...claims, iat: "1" },
      ...Object.keys(claims).map((claim) => ({ ...claims, [claim]: undefined })),
    ],
  ],
  ClientAssertionType: [[TYPE], ["urn:ietf:params:oauth:client-assertion-type:saml2-bearer"]],
  ClientCredentialsRequest: [[service], [assertion, { ...service, grant_type: "refresh_token" }]],
  AuthorizationCodeRequest: [[launch], [{ ...launch, code_verifier: undefined }]],
  TokenRequest: [
    [service, launch],
    [{ ...service, grant_type: "refresh_token" }, { ...launch, code: undefined }, secret],
  ],
  TokenResponse: [
    [
      token,
      {
        ...token,
        revo: { tenant: "acme", user: { userId: "u" }, roles: [{ name: "n", group: "g" }] },
      },
      { ...token, "revo.tenant": "acme", "revo.roles": [] },
    ],
    [
      { ...token, expires_in: "3600" },
      { ...token, token_type: "mac" },
      { access_token: "t" },
      { ...token, revo: { roles: {} } },
    ],
  ],
  TokenTenant: [["acme"], [1]],
  TokenUser: [
    [{}, { userId: "u", firstname: "f" }, { userId: 1 }],
    [{ userId: true }, []],
  ],
  TokenRoles: [
    [[], [{ name: "n", group: "g" }, {}]],
    [{}, ["role"]],
  ],
  TokenError: [
    [
      ...["invalid_client", "invalid_grant", "unsupported_grant_type", "invalid_request"].map(
        (error) => ({ ...refusal, error }),
      ),
      { ...refusal, error_description: FIXED_TEXT.slice(0, -1) },
    ],
    [
      { error: "invalid_client" },
      { ...refusal, error: "invalid_scope" },
      { ...refusal, error_description: "no key" },
    ],
  ],
  LaunchParameters: [[{ opaque_code: "o", more: "m" }], [{}, { opaque_code: 1 }]],
  PluginPkceInitMessage: [[{}, { challenge: "c" }], ["plugin:pkce-init"]],
  HostAuthCodeMessage: [[{ code: "c", state: "s", tenantId: "t" }], [{ code: "c", state: "s" }]],
  DeviceList: [[[], {}, null, "a"], []],
};

const login = { ...code, client_id: "c", redirect_uri: "https://app.example/callback" };
const B: Table = {
  ApiClient: [[{}, { name: "n" }], [1]],
  ServiceAccount: [[{}, { name: "n" }], [1]],
  AuthorizationCodeRequest: [[login], [{ ...login, redirect_uri: undefined }]],
  ClientCredentialsRequest: [[secret], [{ ...secret, grant_type: undefined }]],
  TokenRequest: [
    [login, secret],
    [{}, { grant_type: "authorization_code", ...code, client_id: "c" }],
  ],
  CallbackParameters: [[{ code: "c", state: "s" }], [{ code: "c" }]],
  TokenResponse: [
    [{ access_token: "t" }, { access_token: "t", refresh_token: "r", more: 1 }],
    [{}, { access_token: 1 }],
  ],
  DeviceList: [[[], {}, null, "a"], []],
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
    (name, [valid, invalid]) => {
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
