// One row for each code that says the program, the address or the answer is wrong, with the input that provokes it.
import { describe, expect, test } from "vitest";
import {
  type ConfigurationErrorCode,
  connect,
  createAuth,
  createService,
  isConfigurationError,
  isTransportError,
  isUnexpectedResponseError,
  isVariantError,
  type TransportErrorCode,
  type UnexpectedResponseErrorCode,
  type VariantErrorCode,
} from "../../src/index.js";
import { HELD_LIMIT_MS, heldTimeLimit, overWhereSilent, steppedClock } from "../support/clock.js";
import { ACCOUNT_SECRET, account, plugin } from "../support/deployment.js";
import { cryptoKey, ecKey, pkcs8, privateJwk, rsaKey, shortRsaKey } from "../support/keys.js";
import { type RecordedRequest, recordingServer, type Script } from "../support/recording-server.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";

const baseUrl = "https://service.example";
const tenantId = "acme";

interface Row {
  readonly name: string;
  /** What the server answers; without it no server is started and any request fails the test. */
  readonly server?: Script;
  readonly provoke: (url: string) => unknown;
  readonly option?: string;
  /** The next step, as the message tells it. */
  readonly tells: RegExp;
  readonly requests: number;
  /** What must not be shown, besides the fixtures' keys and secret. */
  readonly secret?: string;
}

const json = (body: unknown, status = 200) => ({
  status,
  headers: { "content-type": "application/json" },
  body: typeof body === "string" ? body : JSON.stringify(body),
});
const notFound: Script = () => ({ status: 404 });
const token = json({ access_token: "token-value", expires_in: 3600 });
const both = () => [plugin(), account()];
const getToken = (url: string) =>
  createAuth({ baseUrl: url, tenantId, credential: account() }).getAccessToken();
const body = (request: RecordedRequest) => request.path.endsWith("/v1/auth/token");

const configuration: Record<ConfigurationErrorCode, Row> = {
  base_url_invalid: {
    name: "a base URL with a query",
    provoke: () => connect({ baseUrl: `${baseUrl}?key=query-secret-1`, tenantId, credentials: both() }),
    option: "baseUrl",
    tells: /Give the address of the deployment/,
    requests: 0,
    secret: "query-secret-1",
  },
  base_url_insecure: {
    name: "plain http to another host",
    provoke: () => connect({ baseUrl: "http://service.example", tenantId, credentials: both() }),
    option: "baseUrl",
    tells: /Use https, or set allowInsecureHttp/,
    requests: 0,
  },
  tenant_id_invalid: {
    name: "the literal placeholder as tenant id",
    provoke: () => connect({ baseUrl, tenantId: "{tenantId}", credentials: both() }),
    option: "tenantId",
    tells: /Give the tenant's id/,
    requests: 0,
  },
  credential_missing: {
    name: "no credential at all",
    provoke: () => connect({ baseUrl, tenantId, credentials: [] }),
    option: "credentials",
    tells: /Pass servicePlugin.* serviceAccount/,
    requests: 0,
  },
  credential_invalid: {
    name: "an empty client secret",
    provoke: () => connect({ baseUrl, tenantId, credentials: [plugin(), account({ clientSecret: "" })] }),
    option: "clientSecret",
    tells: /clientSecret is missing or empty/,
    requests: 0,
  },
  key_invalid: {
    name: "a PEM whose END line is missing",
    provoke: () =>
      connect({
        baseUrl,
        tenantId,
        credentials: [plugin({ privateKey: pkcs8(rsaKey()).replace(/-----END.*/s, "") }), account()],
      }),
    option: "privateKey",
    tells: /END line is missing/,
    requests: 0,
  },
  key_unsupported: {
    name: "an EC key",
    provoke: () =>
      connect({ baseUrl, tenantId, credentials: [plugin({ privateKey: pkcs8(ecKey()) }), account()] }),
    option: "privateKey",
    tells: /only RSA keys sign RS256.*openssl genpkey/s,
    requests: 0,
  },
  key_too_short: {
    name: "an RSA key of 1024 bits",
    provoke: () =>
      connect({ baseUrl, tenantId, credentials: [plugin({ privateKey: pkcs8(shortRsaKey()) }), account()] }),
    option: "privateKey",
    tells: /1024 bits.*2048 or more.*openssl genpkey/s,
    requests: 0,
  },
  key_id_required: {
    name: "a CryptoKey that is not extractable, without keyId",
    provoke: async () => {
      const privateKey = await cryptoKey(rsaKey(), { extractable: false });
      return connect({ baseUrl, tenantId, credentials: [plugin({ privateKey }), account()] });
    },
    option: "keyId",
    tells: /Give keyId/,
    requests: 0,
  },
  operation_unknown: {
    name: "an operationId that no document has",
    provoke: (url) =>
      createService(createAuth({ baseUrl: url || baseUrl, tenantId, credential: plugin() })).call(
        "rebootDevice" as "listDevices",
      ),
    tells: /It has: requestToken, listDevices/,
    requests: 0,
  },
  path_parameter_missing: {
    name: "a path parameter left out",
    provoke: () => callDevice({}),
    option: "params.path.deviceId",
    tells: /"deviceId" is missing/,
    requests: 0,
  },
  path_parameter_invalid: {
    name: "a path parameter that folds the path",
    provoke: () => callDevice({ deviceId: ".." }),
    option: "params.path.deviceId",
    tells: /does not change the path/,
    requests: 0,
  },
  option_invalid: {
    name: "a time limit below zero",
    provoke: () => connect({ baseUrl, tenantId, credentials: both(), timeoutMs: -1 }),
    option: "timeoutMs",
    tells: /milliseconds from 1/,
    requests: 0,
  },
};

const variant: Record<VariantErrorCode, Row> = {
  variant_not_served: {
    name: "a server that knows neither token path",
    server: notFound,
    provoke: (url) => connect({ baseUrl: url, tenantId, credentials: both() }),
    tells: /wrong tenant id looks the same.*variant: "A" or variant: "B"/s,
    requests: 2,
  },
  variant_unknown: {
    name: "a server that forbids everything",
    server: () => ({ status: 403 }),
    provoke: (url) => connect({ baseUrl: url, tenantId, credentials: both() }),
    tells: /variant: "A" or variant: "B"/,
    requests: 2,
  },
  variant_changed: {
    name: "a deployment that served the one when it was asked and serves the other when a token is needed",
    server: moving(),
    provoke: async (url) => {
      const service = await connect({ baseUrl: url, tenantId, credentials: both() });
      return service.auth.getAccessToken();
    },
    tells: /Connect again/,
    // One question that finds A, one token request, and three questions that find B.
    requests: 5,
  },
};

const unexpected: Record<UnexpectedResponseErrorCode, Row> = {
  response_not_json: {
    name: "a page where a token was expected",
    server: () => ({
      status: 200,
      headers: { "content-type": "text/html" },
      body: "<html>page-secret</html>",
    }),
    provoke: (url) => createAuth({ baseUrl: url, credential: account() }).getAccessToken(),
    tells: /Is baseUrl right/,
    requests: 1,
    secret: "page-secret",
  },
  response_too_large: {
    name: "an answer of more than 1 MiB",
    server: () => json(`{"access_token":"large-secret","pad":"${"x".repeat(1024 * 1024)}"}`),
    provoke: getToken,
    tells: /larger than 1 MiB/,
    requests: 1,
    secret: "large-secret",
  },
  response_shape: {
    name: "an answer without an access_token",
    server: () => json({ token: "misnamed-secret" }),
    provoke: getToken,
    tells: /access_token: a text/,
    requests: 1,
    secret: "misnamed-secret",
  },
  response_redirected: {
    name: "a redirect from the token endpoint",
    server: (request) => (body(request) ? { status: 302, headers: { location: "/elsewhere" } } : token),
    provoke: (url) => createAuth({ baseUrl: url, credential: account() }).getAccessToken(),
    tells: /Is baseUrl the final address/,
    requests: 1,
  },
};

const transport: Record<TransportErrorCode, Row> = {
  network_failed: {
    name: "a connection that is reset during detection",
    server: () => "reset",
    provoke: (url) => connect({ baseUrl: url, tenantId, credentials: both() }),
    tells: /Check the address, the network and the proxy/,
    requests: 1,
  },
  timed_out: {
    name: "a server that never answers",
    server: () => "silence",
    provoke: (url) => connect({ baseUrl: url, tenantId, credentials: both(), timeoutMs: HELD_LIMIT_MS }),
    tells: new RegExp(`${HELD_LIMIT_MS} ms \\(timeoutMs\\)`),
    requests: 1,
  },
  tls_failed: {
    name: "https to a server that speaks plain http",
    server: () => token,
    provoke: (url) => getToken(url.replace("http:", "https:")),
    tells: /Check the certificate/,
    requests: 0,
  },
};

function callDevice(path: Record<string, unknown>): Promise<unknown> {
  const getDevice = { method: "GET", path: "/v1/devices/{deviceId}", success: [200], failure: [] };
  const api = { operations: { A: {}, B: { getDevice } } };
  const service = createService(createAuth({ baseUrl, credential: account() }), { api });
  return (service.call as (id: string, init: object) => Promise<unknown>)("getDevice", { params: { path } });
}

/** Variant A at first; after its first token request only Variant B. */
function moving(): Script {
  let moved = false;
  return ({ path, body: sent }) => {
    if (path.startsWith("/api/")) {
      moved ||= sent.includes("client_credentials");
      if (moved) return json({ error: "not_found" }, 404);
      return json(
        { error: "unsupported_grant_type", error_description: "The token request was rejected." },
        400,
      );
    }
    return path === "/v1/auth/token" ? json({ error: "invalid_request" }, 400) : { status: 404 };
  };
}

const classes = [
  { name: "ConfigurationError", guard: isConfigurationError, rows: configuration },
  { name: "VariantError", guard: isVariantError, rows: variant },
  { name: "UnexpectedResponseError", guard: isUnexpectedResponseError, rows: unexpected },
  { name: "TransportError", guard: isTransportError, rows: transport },
] as const;

/** What no error may show: the fixtures' secrets, whole or as one line of a PEM. */
function secretsOf(row: Row): string[] {
  const lines = [rsaKey(), ecKey(), shortRsaKey()].flatMap((pair) =>
    pkcs8(pair)
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("-----")),
  );
  const { d = "", p = "" } = privateJwk(rsaKey());
  return [ACCOUNT_SECRET, d, p, ...lines, "eyJ", ...(row.secret === undefined ? [] : [row.secret])];
}

describe.each(classes)("$name", ({ name, guard, rows }) => {
  test.each(Object.entries<Row>(rows).map(([code, row]) => ({ code, ...row })))(
    "$code: $name",
    async (row) => {
      const limit = heldTimeLimit();
      const server =
        row.server === undefined ? undefined : await recordingServer(overWhereSilent(row.server, limit));
      const error = await rejectionOf(Promise.resolve().then(() => row.provoke(server?.url ?? "")));

      expect(guard(error), String(error)).toBe(true);
      expect(error).toBeInstanceOf(Error);
      expect(error).toMatchObject({ name, code: row.code, message: expect.stringMatching(row.tells) });
      expect((error as { option?: string }).option).toBe(row.option);
      expect(server?.requests.length ?? 0).toBe(row.requests);
      for (const secret of secretsOf(row)) expect(shown(error)).not.toContain(secret);
    },
  );
});

test("a secret that an error did show would be found", () => {
  const careless = new Error("refused", { cause: { sent: { client_secret: ACCOUNT_SECRET } } });
  expect(shown(careless)).toContain(ACCOUNT_SECRET);
});

describe("options that are no such thing", () => {
  const rows = [
    { name: "fetch", options: { fetch: "https://service.example" } },
    { name: "now", options: { now: 0 } },
    { name: "now", options: { now: () => Number.NaN } },
    { name: "now", options: { now: () => new Date(0) } },
    { name: "onEvent", options: { onEvent: {} } },
    { name: "waitUntil", options: { waitUntil: true } },
    { name: "timeoutMs", options: { timeoutMs: 0 } },
    { name: "timeoutMs", options: { timeoutMs: Number.NaN } },
    { name: "timeoutMs", options: { timeoutMs: 2 ** 31 } },
    { name: "rateLimitDeadlineMs", options: { rateLimitDeadlineMs: -1 } },
    { name: "tenantIdPattern", options: { tenantIdPattern: "^a$" } },
    { name: "variant", options: { variant: "C" } },
    { name: "api", options: { api: {}, variant: "B" } },
  ];
  test.each(rows)("$name: $options is refused before anything is asked", async ({ name, options }) => {
    const given = { baseUrl, tenantId, credentials: both(), ...options } as Parameters<typeof connect>[0];
    expect(await rejectionOf(connect(given))).toMatchObject({ code: "option_invalid", option: name });
  });

  test("a credential of a person is not taken, and the message says where it goes", async () => {
    const { userInterfacePlugin } = await import("../../src/index.js");
    const person = userInterfacePlugin({ clientId: "planner", privateKey: pkcs8(rsaKey()) });
    const error = await rejectionOf(connect({ baseUrl, tenantId, credentials: [person as never] }));
    expect(error).toMatchObject({ code: "credential_invalid", option: "credentials" });
    expect((error as Error).message).toMatch(/needs a code.*here go servicePlugin and serviceAccount/i);
  });

  test("two credentials of one variant are refused: after a refusal no other identity is tried", async () => {
    const credentials = [account(), account({ clientId: "second" })];
    expect(await rejectionOf(connect({ baseUrl, tenantId, credentials }))).toMatchObject({
      code: "credential_invalid",
    });
  });

  test("a variant that is named needs a credential of its own", async () => {
    const options = { baseUrl, tenantId, credentials: [account()], variant: "A" as const };
    expect(await rejectionOf(connect(options))).toMatchObject({ code: "credential_missing" });
  });

  test("with Variant B named the tenant id may be left out", async () => {
    const service = await connect({ baseUrl, credentials: both(), variant: "B", now: steppedClock().now });
    expect(service).toMatchObject({ variant: "B", tenantId: "" });
  });
});
