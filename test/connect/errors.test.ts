// For each error code of connect and a first token: an input that provokes it, the advice, the
// requests, no secret.
import { describe, expect, test } from "vitest";
import {
  type ConfigurationErrorCode,
  connect,
  createAuth,
  createConnector,
  createService,
  isConfigurationError,
  isTokenRequestError,
  isTransportError,
  isUnexpectedResponseError,
  isVariantError,
  type TransportErrorCode,
  type UnexpectedResponseErrorCode,
  userInterfacePlugin,
  type VariantErrorCode,
} from "../../src/index.js";
import { BASE_URL as baseUrl, recordedAuth } from "../support/auth.js";
import { overWhereSilent, type SteppedClock, steppedClock } from "../support/clock.js";
import { ACCOUNT_SECRET, account, deployment, plugin } from "../support/deployment.js";
import { cryptoKey, ecKey, pkcs8, privateJwk, rsaKey, shortRsaKey } from "../support/keys.js";
import { jsonAnswer as json, recordingServer, type Script } from "../support/recording-server.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";

const tenantId = "acme";

interface Row {
  readonly provoke: (url: string, clock: SteppedClock) => unknown;
  /** The advice in the message. */
  readonly advice: RegExp;
  readonly option?: string;
  /** If undefined, no server is started, and any request fails the test. */
  readonly server?: Script;
  /** Default 0. */
  readonly requests?: number;
  /** A string that must not be in the error, besides the keys and the client secret. */
  readonly secret?: string;
}

const html = { "content-type": "text/html" };
const page = { status: 200, headers: html, body: "<html>page-secret</html>" };
const token = json(200, { access_token: "token-value", expires_in: 3600 });
const both = () => [plugin(), account()];
/** Connects with credentials of both variants, so that nothing but the row is wrong. */
const connecting = (changed: object) =>
  connect({ baseUrl, tenantId, credentials: both(), ...changed });
const withKey = (privateKey: unknown) =>
  connecting({ credentials: [plugin({ privateKey: privateKey as string }), account()] });
const getToken = (url: string) =>
  createAuth({ baseUrl: url, tenantId, credential: account() }).getAccessToken();

const configuration: Record<ConfigurationErrorCode, Row> = {
  base_url_invalid: {
    provoke: () => connecting({ baseUrl: `${baseUrl}?key=query-secret-1` }),
    option: "baseUrl",
    advice: /Pass the address of/,
    secret: "query-secret-1",
  },
  base_url_insecure: {
    provoke: () => connecting({ baseUrl: "http://service.example" }),
    option: "baseUrl",
    advice: /Use https or localhost, or set allowInsecureHttp/,
  },
  tenant_id_invalid: {
    provoke: () => connecting({ tenantId: "{tenantId}" }),
    option: "tenantId",
    advice: /Pass the tenant's id/,
  },
  credential_missing: {
    provoke: () => connecting({ credentials: [] }),
    option: "credentials",
    advice: /Pass servicePlugin.* serviceAccount/,
  },
  credential_invalid: {
    provoke: () => connecting({ credentials: [plugin(), account({ clientSecret: "" })] }),
    option: "clientSecret",
    advice: /clientSecret must be a string/,
  },
  key_invalid: {
    provoke: () => withKey(pkcs8(rsaKey()).replace(/-----END.*/s, "")),
    option: "privateKey",
    advice: /END line is missing/,
  },
  key_unsupported: {
    provoke: () => withKey(pkcs8(ecKey())),
    option: "privateKey",
    advice: /only RSA keys sign RS256.*openssl genpkey/s,
  },
  key_too_short: {
    provoke: () => withKey(pkcs8(shortRsaKey())),
    option: "privateKey",
    advice: /1024 bits.*2048 or more.*openssl genpkey/s,
  },
  key_id_required: {
    provoke: async () => withKey(await cryptoKey(rsaKey(), { extractable: false })),
    option: "keyId",
    advice: /Pass keyId/,
  },
  operation_unknown: { provoke: () => callWith({}, "rebootDevice"), advice: /It has: getDevice/ },
  path_parameter_missing: {
    provoke: () => callWith({}),
    option: "params.path.deviceId",
    advice: /"deviceId" is missing/,
  },
  path_parameter_invalid: {
    provoke: () => callWith({ deviceId: ".." }),
    option: "params.path.deviceId",
    advice: /Pass an id, not a path/,
  },
  option_invalid: {
    provoke: () => connecting({ timeoutMs: -1 }),
    option: "timeoutMs",
    advice: /milliseconds from 1/,
  },
};

const connectTo = (url: string) => connecting({ baseUrl: url });
const variant: Record<VariantErrorCode, Row> = {
  variant_not_served: {
    server: () => ({ status: 404 }),
    provoke: connectTo,
    requests: 2,
    advice: /wrong tenant id looks the same.*variant: "A" or variant: "B"/s,
  },
  variant_unknown: {
    server: () => ({ status: 403 }),
    provoke: connectTo,
    requests: 2,
    advice: /variant: "A" or variant: "B"/,
  },
  variant_changed: {
    provoke: async (url) => (await connectTo(url)).auth.getAccessToken(),
    // One request that finds A, one token request, and three requests that find B.
    server: moving(),
    advice: /Connect again/,
    requests: 5,
  },
};

const unexpected: Record<UnexpectedResponseErrorCode, Row> = {
  response_not_json: {
    server: () => page,
    provoke: getToken,
    advice: /Is baseUrl right/,
    requests: 1,
    secret: "page-secret",
  },
  response_media_type: {
    server: ({ path }) => (path === "/v1/image" ? page : token),
    provoke: (url) => callWith({}, "image", url),
    advice: /image\/png.*Check baseUrl/,
    requests: 2,
    secret: "page-secret",
  },
  response_too_large: {
    server: () => json(200, `{"access_token":"large-secret","pad":"${"x".repeat(1024 * 1024)}"}`),
    provoke: getToken,
    advice: /larger than 1 MiB/,
    requests: 1,
    secret: "large-secret",
  },
  response_shape: {
    server: () => json(200, { token: "misnamed-secret" }),
    provoke: getToken,
    advice: /access_token: a string/,
    requests: 1,
    secret: "misnamed",
  },
  response_redirected: {
    server: ({ path }) =>
      path.endsWith("/v1/auth/token") ? { status: 302, headers: { location: "/x" } } : token,
    provoke: getToken,
    advice: /Is baseUrl the final address/,
    requests: 1,
  },
};

const transport: Record<TransportErrorCode, Row> = {
  network_failed: {
    server: () => "reset" as const,
    provoke: connectTo,
    requests: 1,
    advice: /Check the address, the network and the proxy/,
  },
  timed_out: {
    server: () => "silence" as const,
    requests: 1,
    provoke: (url, clock) => connecting({ baseUrl: url, clock, timeoutMs: 7_000 }),
    advice: /7000 ms\. Check .* raise timeoutMs/,
  },
  tls_failed: {
    server: () => token,
    provoke: (url: string) => getToken(url.replace("http:", "https:")),
    advice: /Check the certificate/,
  },
};

const route = { method: "GET", path: "/v1/devices/{deviceId}", success: [200], failure: [] };
const image = { ...route, path: "/v1/image", answers: { 200: ["image/png"] } };

function callWith(path: object, id = "getDevice", url = baseUrl): Promise<unknown> {
  const api = { operations: { A: {}, B: { getDevice: route, image } } };
  const service = createService(createAuth({ baseUrl: url, credential: account() }), { api });
  const { call } = service as unknown as { call(id: string, init: object): Promise<unknown> };
  return call(id, { params: { path } });
}

/** Serves Variant A until its first token request, then Variant B. */
function moving(): Script {
  let moved = false;
  return ({ path, body: sent }) => {
    if (path.startsWith("/api/")) {
      moved ||= sent.includes("client_credentials");
      if (moved) return json(404, { error: "not_found" });
      const error_description = "The token request was rejected.";
      return json(400, { error: "unsupported_grant_type", error_description });
    }
    return path === "/v1/auth/token" ? json(400, { error: "invalid_request" }) : { status: 404 };
  };
}

const classes = [
  { name: "ConfigurationError", guard: isConfigurationError, rows: configuration },
  { name: "VariantError", guard: isVariantError, rows: variant },
  { name: "UnexpectedResponseError", guard: isUnexpectedResponseError, rows: unexpected },
  { name: "TransportError", guard: isTransportError, rows: transport },
] as const;

/** The secrets of the fixtures, whole or as one line of a PEM. */
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
    "$code: $advice",
    async (row) => {
      const clock = steppedClock();
      const server = row.server && (await recordingServer(overWhereSilent(row.server, clock)));
      const error = await rejectionOf((async () => row.provoke(server?.url ?? "", clock))());

      expect(guard(error), String(error)).toBe(true);
      expect(error).toBeInstanceOf(Error);
      const message = expect.stringMatching(row.advice);
      expect(error).toMatchObject({ name, code: row.code, message });
      expect((error as { option?: string }).option).toBe(row.option);
      expect(server?.requests.length ?? 0).toBe(row.requests ?? 0);
      for (const secret of secretsOf(row)) expect(shown(error)).not.toContain(secret);
    },
  );
});

describe("connect", () => {
  const now = Date.now;
  const timers = { setTimeout, clearTimeout };
  test.each([
    { name: "fetch", options: { fetch: "https://service.example" } },
    { name: "clock", options: { clock: null } },
    { name: "clock.now", options: { clock: { sleep: async () => {} } } },
    { name: "clock", options: { clock: { now: () => new Date(0) } } },
    { name: "clock", options: { clock: { now: () => 1n } } },
    { name: "clock.sleep", options: { clock: { now, sleep: 5 } } },
    { name: "clock.random", options: { clock: { now, random: 0.5 } } },
    { name: "clock", options: { clock: { now, monotonic: now } } },
    { name: "clock", options: { clock: { now, ...timers } } },
    { name: "clock", options: { clock: { now, monotonic: (): string => "1", ...timers } } },
    { name: "onEvent", options: { onEvent: {} } },
    { name: "waitUntil", options: { waitUntil: true } },
    { name: "timeoutMs", options: { timeoutMs: 0 } },
    { name: "timeoutMs", options: { timeoutMs: 2 ** 31 } },
    { name: "retryDeadlineMs", options: { retryDeadlineMs: -1 } },
    { name: "tenantIdPattern", options: { tenantIdPattern: "^a$" } },
    { name: "variant", options: { variant: "C" } },
    { name: "api", options: { api: {}, variant: "B" } },
  ])("rejects $name: $options before any request", async ({ name, options }) => {
    const refused = { code: "option_invalid", option: name };
    expect(await rejectionOf(connecting(options))).toMatchObject(refused);
  });

  test("rejects a credential of a person, and says where it goes", async () => {
    const person = userInterfacePlugin({ clientId: "planner", privateKey: pkcs8(rsaKey()) });
    const error = await rejectionOf(connecting({ credentials: [person] }));
    expect(error).toMatchObject({ code: "credential_invalid", option: "credentials" });
    expect((error as Error).message).toMatch(/needs a code.*servicePlugin or serviceAccount/);
  });

  test("rejects two credentials of one variant, and a named variant without a credential", async () => {
    const two = connecting({ credentials: [account(), account({ clientId: "second" })] });
    expect(await rejectionOf(two)).toMatchObject({ code: "credential_invalid" });
    const none = connecting({ credentials: [account()], variant: "A" });
    expect(await rejectionOf(none)).toMatchObject({ code: "credential_missing" });
  });

  test("accepts Variant B without a tenant id", async () => {
    const service = await connect({ baseUrl, credentials: both(), variant: "B" });
    expect(service).toMatchObject({ variant: "B", tenantId: "" });
  });

  test("of a connector rejects null as its target", async () => {
    const connecting = createConnector({ credentials: both() }).connect(null as never);
    expect(await rejectionOf(connecting)).toMatchObject({ code: "option_invalid" });
  });
});

test("a wrong client secret of Variant B has a cause that names the admin area and says what it assumes", async () => {
  const { fetch, publicUrl } = deployment();
  const credential = account({ clientSecret: "wrong-secret" });
  const auth = createAuth({ baseUrl: publicUrl, tenantId, credential, fetch });
  const error = await rejectionOf(auth.getAccessToken());
  if (!isTokenRequestError(error)) throw error;
  expect(error.message).toContain("the admin area under Service accounts");
  expect(error.causes[0]?.evidence).toContain("does not show");
  expect(shown(error)).not.toContain("wrong-secret");
  expect(error.message).not.toContain("White space");
  const trimmed = account({ clientSecret: `${ACCOUNT_SECRET}\n` });
  const padded = createAuth({ baseUrl: publicUrl, tenantId, fetch, credential: trimmed });
  const hint =
    "White space surrounds clientId or clientSecret, such as the line break of a file: trim it";
  expect(String(await rejectionOf(padded.getAccessToken()))).toContain(hint);
});

test.each([429, 503])(
  "a renewal in the background sends one request when it meets a %i",
  async (status) => {
    // Files share a process, so there may be timers of others.
    const timers = () =>
      process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = timers();
    let requests = 0;
    const first100s = { access_token: "token", expires_in: 100 };
    const fetch = async () =>
      requests++ === 0 ? Response.json(first100s) : new Response("{}", { status });
    const renewals: Promise<unknown>[] = [];
    const waitUntil = (promise: Promise<unknown>) => void renewals.push(promise);
    const { auth, clock } = recordedAuth({ credential: account(), fetch, waitUntil });
    const first = await auth.getAccessToken();
    clock.advance(95_000);
    expect(await auth.getAccessToken()).toBe(first);
    await Promise.all(renewals);
    expect(requests).toBe(2);
    expect(timers()).toBeLessThanOrEqual(Math.max(1, before));
  },
);
