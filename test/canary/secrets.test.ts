// Secrets are planted, a hostile server echoes every request, and every output is searched for the
// secrets.
import { createSign } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type ContractResult,
  htmlReport,
  junitReport,
  learnFrom,
  runContract,
} from "../../src/contract/index.js";
import {
  apiClient,
  completeLogin,
  connect,
  createAuth,
  createConnector,
  createService,
  detectVariant,
  type MachineCredential,
  memoryStore,
  redeemLaunch,
  type ServiceEvent,
  serviceAccount,
  servicePlugin,
  userInterfacePlugin,
} from "../../src/index.js";
import { telemetry } from "../../src/opentelemetry/index.js";
import { resultsCsv, resultsPage, type SurveyResult, survey } from "../../src/survey/index.js";
import { backFromLogin, client } from "../people/person.js";
import { steppedClock } from "../support/clock.js";
import { type ScriptedFetch, scriptedFetch } from "../support/fetch.js";
import { cryptoKey, pkcs1, pkcs8, privateJwk, rsaKey } from "../support/keys.js";
import { type RecordedRequest, recordingServer, type Script } from "../support/recording-server.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";

/**
 * Has characters that JSON, a form and a URL encode differently, so that an echo of any of them is
 * found.
 */
const clientSecret = 'canary-secret-"quoted"\\back/slash+plus %41 ünï-0123456789';
const accessToken = "canary-access-token-8f31bb02c7de4a55a1f0";
const code = "canary-code-3f1b9c7d5e";
const codeVerifier = "canary-verifier-canary-verifier-canary-verifier";
const refreshToken = "canary-refresh-token-22cc";
const clientIds = ["canary-plugin", "canary-account"];
const tenantId = "acme";

/** Every form in which a planted secret could appear, each too long to occur by chance. */
function planted(requests: readonly RecordedRequest[] = []): string[] {
  const assertions = requests.flatMap(
    ({ body }) => new URLSearchParams(body).get("client_assertion") ?? [],
  );
  // Parts of an assertion too: its header, its claims, its signature.
  return [
    ...ofEveryTest(),
    ...assertions,
    ...assertions.flatMap((assertion) => assertion.split(".")),
  ];
}

let known: readonly string[] | undefined;

function ofEveryTest(): readonly string[] {
  if (known !== undefined) return known;
  const { d = "", p = "", q = "", dp = "", dq = "", qi = "" } = privateJwk(rsaKey());
  const lines = [pkcs8(rsaKey()), pkcs1(rsaKey())].flatMap((pem) =>
    pem.split("\n").filter((line) => line.length > 20 && !line.startsWith("-----")),
  );
  known = [
    clientSecret,
    JSON.stringify(clientSecret).slice(1, -1),
    encodeURIComponent(clientSecret),
    new URLSearchParams({ s: clientSecret }).toString().slice(2),
    ...["canary-secret", "canary-code", "canary-verifier", "canary-access", "canary-refresh"],
    ...[d, p, q, dp, dq, qi],
    ...lines,
    "eyJhbGciOi",
  ];
  return known;
}

const target = { baseUrl: "https://service.example", tenantId };
/**
 * scriptedFetch is not used because an Auth holds its fetch, and scriptedFetch holds a record of
 * its calls.
 */
const tokenFetch = async () => Response.json({ access_token: accessToken });

function expectNone(outputs: readonly unknown[], requests: readonly RecordedRequest[] = []): void {
  const text = outputs.map((output) => shown(output)).join("\n");
  const leak = planted(requests).find((secret) => text.includes(secret));
  expect(leak === undefined, `${leak?.slice(0, 30)}… is shown`).toBe(true);
}

const spans = new InMemorySpanExporter();
const tracing = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
const traced = telemetry({ tracer: tracing.getTracer("canary") });
let events: ServiceEvent[];
let printed: unknown[];

function forgetOutputs(): void {
  events = [];
  printed = [];
  spans.reset();
}

beforeEach(() => {
  forgetOutputs();
  for (const method of ["log", "info", "warn", "error", "debug", "trace"] as const)
    vi.spyOn(console, method).mockImplementation((...told) => void printed.push(...told));
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream);
    vi.spyOn(stream, "write").mockImplementation(((chunk: string, ...rest: never[]) => {
      if (String(chunk).includes("canary")) printed.push(String(chunk));
      return write(chunk, ...rest);
    }) as typeof stream.write);
  }
  return () => vi.restoreAllMocks();
});
const onEvent = (event: ServiceEvent) => {
  events.push(event);
  throw new Error(`A listener failed with ${clientSecret}`);
};

const sign = (bytes: Uint8Array) => createSign("sha256").update(bytes).sign(rsaKey().privateKey);
const keyForms: { form: string; key: () => unknown }[] = [
  { form: "PKCS#8", key: () => pkcs8(rsaKey()) },
  { form: "PKCS#1", key: () => pkcs1(rsaKey()) },
  { form: "JWK", key: () => privateJwk(rsaKey()) },
  { form: "JWK text", key: () => JSON.stringify(privateJwk(rsaKey())) },
  { form: "CryptoKey", key: () => cryptoKey(rsaKey()) },
  { form: "KeyObject", key: () => rsaKey().privateKey },
  { form: "function", key: () => () => pkcs8(rsaKey()) },
  { form: "signer", key: () => ({ keyId: "kms", sign }) },
];

const plugin = (privateKey: unknown = pkcs8(rsaKey())) =>
  servicePlugin({ clientId: "canary-plugin", privateKey: privateKey as string });
const account = () => serviceAccount({ clientId: "canary-account", clientSecret });
const credentialOf = (variant: "A" | "B"): MachineCredential =>
  variant === "A" ? plugin() : account();

/** The contents of a request, in the forms in which a server might echo them. */
function echoes({ raw, body, headers }: RecordedRequest): string[] {
  let json: Record<string, string> = {};
  try {
    json = JSON.parse(Buffer.from(body, "latin1").toString("utf8"));
  } catch {
    // The body is a form.
  }
  const form = new URLSearchParams(body);
  return [
    headers.authorization ?? "",
    json.client_secret ?? form.get("client_assertion") ?? "",
    body,
    decodeURIComponent(body.replace(/\+/g, " ").replace(/%(?![0-9a-f]{2})/gi, "%25")),
    raw,
  ];
}

const ascii = (text: string) => text.replace(/[^\x20-\x7e]/g, "?").slice(0, 4_000);

interface Echo {
  readonly name: string;
  readonly answer: (echo: string) => {
    status: number;
    headers?: Record<string, string>;
    body?: string;
  };
}

const body = (value: unknown, status = 400) => ({
  ...{ status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) },
});
const described = (error_description: string) =>
  body({ error: "invalid_client", error_description });
/** The places in which a token endpoint could echo a request. */
const tokenEchoes: Echo[] = [
  ...[400, 401, 403, 404, 405, 200].map((status) => ({
    name: `error, error_description and error_uri, ${status}`,
    answer: (echo: string) =>
      body(
        { error: echo, error_description: `you sent ${echo}`, error_uri: `https://x/?${echo}` },
        status,
      ),
  })),
  { name: "error_description with a known error", answer: described },
  { name: "a cut error_description", answer: (echo) => described(echo.slice(0, 60)) },
  {
    name: "an error_description from the middle on",
    answer: (echo) => described(echo.slice(9, 120)),
  },
  {
    name: "one with control characters",
    answer: (echo) => described(`\u0000\u200b${echo}\r\n${echo}`),
  },
  {
    name: "an error_description that quotes the token beside it",
    answer: () =>
      body({ ...{ error: "x", error_description: accessToken }, access_token: accessToken }, 200),
  },
  { name: "a token as the name of a field", answer: () => body({ [`${accessToken}-1`]: "x" }) },
  { name: "field names", answer: (echo) => body({ [echo]: 1 }) },
  { name: "nested fields", answer: (echo) => body({ detail: { echo } }) },
  { name: "headers", answer: (echo) => ({ status: 400, headers: echoHeaders(echo), body: "{}" }) },
  {
    name: "a redirect",
    answer: (echo) => ({ status: 302, headers: { location: `/?${encodeURIComponent(echo)}` } }),
  },
  {
    name: "a page",
    answer: (echo) => ({
      status: 200,
      headers: { "content-type": "text/html" },
      body: `<p>${echo}`,
    }),
  },
  { name: "broken JSON", answer: (echo) => ({ status: 200, body: `{"access_token":"${echo}` }) },
  { name: "a JSON text", answer: (echo) => body(echo, 200) },
  { name: "a wrong shape", answer: (echo) => body({ access_token: [echo] }, 200) },
  {
    name: "wrong values with a token",
    answer: (echo) =>
      body({ access_token: `${accessToken} `, token_type: echo, expires_in: echo }, 200),
  },
  { name: "no place: an empty 500", answer: () => ({ status: 500 }) },
  {
    name: "a 429",
    answer: (echo) => ({
      status: 429,
      headers: { ...echoHeaders(echo), "retry-after": "600" },
      body: echo,
    }),
  },
];

function echoHeaders(echo: string): Record<string, string> {
  const value = ascii(echo);
  return {
    "x-echo": value,
    "www-authenticate": `Bearer error="${value}"`,
    "content-type": `application/json; x=${value}`,
  };
}

describe.each([{ variant: "A" as const }, { variant: "B" as const }])(
  "Variant $variant",
  ({ variant }) => {
    describe("a secret that a token endpoint echoes", () => {
      test.each(tokenEchoes)("in $name is in no output", async ({ answer }) => {
        // What is answered without an echo is the same each time.
        for (let which = 0; which < (answer.length === 0 ? 1 : 5); which++) {
          const server = await recordingServer((request) => {
            const echo = echoes(request)[which] ?? "";
            return answer(echo === "" ? request.body : echo);
          });
          const credentials = [credentialOf(variant)];
          const connector = createConnector({
            credentials,
            onEvent,
            retryDeadlineMs: 0,
            ...traced,
          });
          const service = await connector.connect({ baseUrl: server.url, tenantId });
          const failures = [
            await rejectionOf(service.auth.getAccessToken()),
            await rejectionOf(service.call("listDevices")),
          ];
          for (const failure of failures) expect(failure).toBeInstanceOf(Error);
          const reported = spans.getFinishedSpans();
          expect(reported).not.toEqual([]);
          const outputs = [
            ...failures,
            ...events,
            ...printed,
            ...reported,
            service,
            service.auth,
            connector,
          ];
          expectNone(outputs, server.requests);
          forgetOutputs();
        }
      });

      test("as the tenant or an ignored field of a token is not in the event", async () => {
        const server = await recordingServer((request) => {
          const echo = echoes(request)[1] || accessToken;
          const odd = variant === "B" ? { token_type: echo, expires_in: echo } : {};
          return body({ access_token: accessToken, revo: { tenant: echo }, ...odd }, 200);
        });
        const auth = createAuth({
          baseUrl: server.url,
          tenantId,
          credential: credentialOf(variant),
          onEvent,
        });
        await auth.getAccessToken();
        expectNone([...events, ...printed, auth], server.requests);
      });
    });

    describe("a bearer that an API echoes", () => {
      const api: Echo[] = [
        ...[400, 401, 403, 404, 409, 429, 500, 503, 202, 302].map((status) => ({
          name: `the bearer in its body, ${status}`,
          answer: (echo: string) => body({ error: echo }, status),
        })),
        {
          name: "in headers",
          answer: (echo) => ({ status: 403, headers: echoHeaders(echo), body: "" }),
        },
        {
          name: "in a page",
          answer: (echo) => ({ status: 200, headers: { "content-type": "text/html" }, body: echo }),
        },
        { name: "in broken JSON", answer: (echo) => ({ status: 200, body: `{"x":"${echo}` }) },
        {
          name: "in a redirect",
          answer: (echo) => ({
            status: 307,
            headers: { location: `https://[${encodeURIComponent(echo)}` },
          }),
        },
      ];
      const messages = api.flatMap(({ name, answer }) => [
        { name, answer, bodyInMessage: false },
        { name: `with bodyInMessage ${name}`, answer, bodyInMessage: true },
      ]);
      test.each(messages)(
        "($name) is at most in ApiError.body, which is not enumerable",
        async (row) => {
          const server = await recordingServer((request) =>
            request.path.endsWith("/token")
              ? body({ access_token: accessToken }, 200)
              : row.answer(request.headers.authorization ?? ""),
          );
          const options = {
            baseUrl: server.url,
            tenantId,
            bodyInMessage: row.bodyInMessage,
            credentials: [credentialOf(variant)],
            onEvent,
            maxRetries: 0,
            ...traced,
          };
          const service = await connect(options);
          const { error } = await service
            .call("listDevices")
            .catch((error: unknown) => ({ error }));
          expect(error).toBeInstanceOf(Error);
          const reported = spans.getFinishedSpans();
          expect(reported.length).toBeGreaterThan(1);
          expectNone([error, ...events, ...printed, ...reported, service], server.requests);
          expect(Object.keys(error as object)).not.toContain("body");
        },
      );
    });

    test("neither fields nor message of a fetch error that holds the whole request are shown", async () => {
      const fetch = scriptedFetch(({ init }) => {
        const sent = JSON.stringify({ ...init, signal: undefined });
        throw Object.assign(new TypeError(`could not send ${sent}`, { cause: new Error(sent) }), {
          config: init,
          code: "ECONNRESET",
        });
      });
      const credential = credentialOf(variant);
      const auth = createAuth({
        ...target,
        credential,
        fetch,
        onEvent,
        retryDeadlineMs: 0,
        ...traced,
      });
      const error = await rejectionOf(auth.getAccessToken());
      expect(error).toMatchObject({ code: "network_failed" });
      const sent = fetch.calls.map(({ body }) => ({ body }) as RecordedRequest);
      expectNone([error, ...events, ...printed, ...spans.getFinishedSpans()], sent);
    });

    test("the event of a store failure does not show arguments that the store put into its error", async () => {
      const fault = async (...given: unknown[]): Promise<never> => {
        const text = JSON.stringify(given);
        throw Object.assign(new Error(`could not store ${text}`), {
          given,
          code: text,
          name: text,
        });
      };
      const store = { get: async () => undefined, set: fault, delete: fault, lock: fault };
      const credential = credentialOf(variant);
      const auth = createAuth({ ...target, credential, fetch: tokenFetch, store, onEvent });
      await auth.getAccessToken();
      await new Promise((resolve) => setImmediate(resolve));
      expect(events.map(({ type }) => type)).toContain("store_failed");
      expectNone([...events, ...printed, auth]);
    });

    test("a token, its Auth and its service do not show the token's value after it was used and stored", async () => {
      const server = await recordingServer(({ path }) =>
        body(path.endsWith("/token") ? { access_token: accessToken } : [], 200),
      );
      const store = memoryStore();
      const connector = createConnector({ credentials: [credentialOf(variant)], store, onEvent });
      const service = await connector.connect({ baseUrl: server.url, tenantId });
      const token = await service.auth.getAccessToken();
      await service.call("listDevices");
      expect(token.value).toBe(accessToken);
      expectNone(
        [token, { ...token }, service, service.auth, connector, store, ...events, ...printed],
        server.requests,
      );
    });
  },
);

/** The whole body, and each value in it, whole and cut in half. */
function valuesIn(body: string): string[] {
  const fields = body.startsWith("{")
    ? JSON.parse(body)
    : Object.fromEntries(new URLSearchParams(body));
  const values = Object.values<string>(fields);
  return [body, ...values, ...values.map((value) => value.slice(0, value.length / 2))];
}

describe.each(tokenEchoes)(
  "what a token endpoint echoes in $name is in no output",
  ({ name, answer }) => {
    /**
     * Runs once for each value of a request that the endpoint can echo, and once with an answer
     * that echoes none.
     */
    async function eachEcho(run: (fetch: ScriptedFetch) => Promise<unknown[]>): Promise<void> {
      let values = 0;
      for (let which = 0; which <= values; which++) {
        const fetch = scriptedFetch(({ body }) => {
          if (answer.length > 0) values = Math.max(values, valuesIn(body).length);
          const {
            status,
            headers = {},
            body: text = null,
          } = answer(valuesIn(body)[which] ?? "none");
          return new Response(text, { status, headers });
        });
        const outputs = await run(fetch);
        const requests = fetch.calls.map(({ body }) => ({ body }) as RecordedRequest);
        expectNone([...outputs, ...events, ...printed], requests);
        forgetOutputs();
      }
    }

    test("of a launch", async () => {
      const credential = userInterfacePlugin({
        clientId: "canary-plugin",
        privateKey: pkcs8(rsaKey()),
      });
      await eachEcho(async (fetch) => {
        const redeemed = redeemLaunch({
          ...target,
          credential,
          fetch,
          onEvent,
          code,
          codeVerifier,
        });
        return [await redeemed.catch((error: unknown) => error)];
      });
    });

    // The results of a run show error, error_description and the names of fields and headers, and
    // nothing else.
    if (/^a cut|beside it|^field names|^headers/.test(name))
      test("of a contract run, in its results and reports", async () => {
        await eachEcho(async (hostile) => {
          let isFirst = true;
          const fetch = async (url: string, init: RequestInit) => {
            const answer = await hostile(url, init);
            const sent = String(init.body);
            if (!sent.includes("canary"))
              return Response.json({ error: "invalid_request" }, { status: 400 });
            const isControl = isFirst && sent.includes("client_assertion");
            isFirst &&= !isControl;
            return isControl
              ? Response.json({ access_token: accessToken, expires_in: 3600 })
              : answer;
          };
          const about = { baseUrl: target.baseUrl, startedAt: 0, requests: 0, seconds: 0 };
          const results: ContractResult[] = [];
          const lent = {
            ...target,
            plugin: { clientId: "canary-plugin", privateKey: await cryptoKey(rsaKey()) },
            serviceAccount: { clientId: "canary-account", clientSecret },
            apiClient: { ...client, clientSecret, authorizationEndpoint: "/authorize" },
            login: (url: string) => Promise.reject(new Error(`${clientSecret} ${url}`)),
          };
          const only = ["token-request.media-type", "token-response.b", "token-response.code"];
          const options = { only, fetch, paceMs: 0, retryDeadlineMs: 0 };
          for await (const result of runContract(lent, options)) results.push(result);
          expect(results.map(({ evidence }) => evidence.length > 0)).toEqual([true, true, false]);
          expect(results[2]?.observed).toBe("`login` of the target failed.");
          const { overlay, settings } = learnFrom(results);
          const reports = [
            htmlReport(results, about),
            junitReport(results, about),
            overlay,
            settings,
          ];
          return [...reports, JSON.stringify(results)];
        });
      });

    if (/^a cut|beside it|^field names|^headers|, [24]00$|^wrong values/.test(name))
      test("of a survey, in its results, its state file and its outputs", async () => {
        const stateFile = join(await mkdtemp(join(tmpdir(), "canary-")), "state");
        onTestFinished(() => rm(dirname(stateFile), { recursive: true }));
        const variables = { KEY: pkcs8(rsaKey()), SECRET: clientSecret };
        const clientOf = {
          A: { aClientId: "canary-plugin", aPrivateKeyVariable: "KEY" },
          B: { bClientId: "canary-account", bClientSecretVariable: "SECRET" },
        };
        // One host echoes token requests. The other issues tokens, and echoes the bearer.
        const customers = (["A", "B"] as const).flatMap((variant) =>
          [target.baseUrl, "https://issues.example"].map((baseUrl) => ({
            ...{ baseUrl, tenantId, variant, ...clientOf[variant] },
          })),
        );
        await eachEcho(async (hostile) => {
          const fetch = async (url: string, init: RequestInit = {}) => {
            if (!url.startsWith("https://issues.example")) return hostile(url, init);
            if (String(init.body).includes("canary"))
              return Response.json({ access_token: accessToken });
            const { status, headers = {}, body: text = null } = answer(`Bearer ${accessToken}`);
            return new Response(text, { status, headers });
          };
          const results: SurveyResult[] = [];
          const options = { fetch, variables, stateFile, retryDeadlineMs: 0 };
          for await (const result of survey(customers, options)) results.push(result);
          expect(results.map(({ called }) => called)).toEqual(Array(4).fill(true));
          const state = await readFile(stateFile, "utf8");
          await rm(stateFile);
          expect(state.split("\n")).toHaveLength(6);
          return [
            ...results,
            state,
            resultsCsv(results),
            resultsPage(results, { startedAt: 0, seconds: 0 }),
          ];
        });
      });

    test("of a login or a refresh", async () => {
      await eachEcho(async (hostile) => {
        const clock = steppedClock();
        let isHostile = true;
        const granted = { access_token: accessToken, refresh_token: refreshToken };
        const options = {
          baseUrl: target.baseUrl,
          credential: apiClient({ ...client, clientSecret }),
          ...{ store: memoryStore({ clock }), clock, onEvent },
          fetch: async (url: string, init?: RequestInit) =>
            isHostile ? hostile(url, init) : Response.json(granted),
        };
        const logIn = async (suffix: string) => {
          const back = await backFromLogin(
            options,
            (state) => `code=${code}${suffix}&state=${state}`,
          );
          return completeLogin({ ...options, ...back, login: { ...back.login, codeVerifier } });
        };
        const refused = await logIn("1").catch((error: unknown) => error);
        // After a 429 with Retry-After no request is sent for more than ten minutes.
        clock.advance(3_600_000);
        isHostile = false;
        const auth = await logIn("2");
        isHostile = true;
        const token = await auth.getAccessToken();
        clock.advance(3_600_000);
        const renewed = await auth.getAccessToken().catch((error: unknown) => error);
        clock.advance(3_600_000);
        isHostile = false;
        const another = await logIn("3");
        isHostile = true;
        clock.advance(3_599_000);
        await another.getAccessToken();
        const failed = () => events.findLast(({ type }) => type === "renewal_failed");
        await expect.poll(failed, { interval: 1 }).toMatchObject({ at: clock.now() });
        return [refused, auth, another, { ...token }, renewed];
      });
    });
  },
);

describe("no secret is shown by", () => {
  test.each(keyForms)(
    "a credential with a key as $form, before and after it signed",
    async ({ key }) => {
      const credential = plugin(await key());
      const auth = createAuth({ ...target, credential, fetch: tokenFetch, onEvent });
      expectNone([credential, auth]);
      await auth.getAccessToken();
      expectNone([credential, auth, createService(auth), ...events, ...printed]);
    },
  );

  test("the credentials of a person, and a service account", () => {
    const login = {
      redirectUri: "https://p.example",
      authorizationEndpoint: "https://service.example/a",
    };
    expectNone([
      userInterfacePlugin({ clientId: "canary-plugin", privateKey: pkcs8(rsaKey()) }),
      apiClient({ clientId: "p", ...login, clientSecret }),
      account(),
      serviceAccount(async () => ({ clientId: "canary-account", clientSecret })),
    ]);
  });

  test.each([
    {
      name: "settings",
      code: "credential_invalid",
      make: (fail: () => never) => serviceAccount(fail),
    },
    { name: "a key", code: "key_invalid", make: (fail: () => never) => plugin(fail) },
    {
      name: "a signature",
      code: "key_invalid",
      make: (sign: () => never) => plugin({ keyId: "k", sign }),
    },
  ])(
    "a function of $name that fails, whose error keeps its name, code and stack",
    async ({ code, make }) => {
      const secrets = [clientSecret, pkcs8(rsaKey()), ...Object.values(privateJwk(rsaKey()))].join(
        " ",
      );
      const readVault = (): never => {
        const fields = {
          name: "VaultError2",
          code: "EVAULT",
          body: secrets,
          cause: new Error(secrets),
        };
        const message = `The vault is down (503): read ${secrets}\n    at ${clientSecret}:1:1`;
        throw Object.assign(new Error(message), fields);
      };
      const auth = createAuth({ ...target, credential: make(readVault), onEvent });
      const error = await rejectionOf(auth.getAccessToken());
      const stack = expect.stringMatching(/at .*readVault.*secrets\.test/);
      expect(error).toMatchObject({ code, cause: { name: "VaultError2", code: "EVAULT", stack } });
      expect(String((error as Error).cause)).toMatch(
        /^VaultError2: The vault is down \(503\): read …/,
      );
      expectNone([error, ...events, ...printed]);
    },
  );
});

test("a detection sends no secret and shows none that is echoed", async () => {
  const echo: Script = ({ raw }) => ({
    status: 400,
    headers: { "content-type": `application/json; ${ascii(accessToken)}` },
    body: JSON.stringify({ error: accessToken, error_description: raw + accessToken }),
  });
  const server = await recordingServer(echo);
  const detection = await detectVariant({ baseUrl: server.url, tenantId });
  const options = { baseUrl: server.url, tenantId, credentials: [plugin(), account()], onEvent };
  const error = await rejectionOf(connect(options));
  expect(error).toMatchObject({ code: "variant_unknown" });
  for (const { raw } of server.requests) {
    expectNone([raw]);
    for (const clientId of clientIds) expect(raw).not.toContain(clientId);
  }
  expectNone([detection, error, ...events, ...printed]);
});

describe("the search finds a secret", () => {
  test.each([
    { where: "a message", value: () => new Error(`refused ${clientSecret}`) },
    { where: "a cause", value: () => new Error("x", { cause: new Error(accessToken) }) },
    {
      where: "a field of a cause",
      value: () => new Error("x", { cause: { body: { accessToken } } }),
    },
    {
      where: "a hidden property",
      value: () => Object.defineProperty({}, "key", { value: pkcs8(rsaKey()) }),
    },
    { where: "a property behind a symbol", value: () => ({ [Symbol("s")]: privateJwk(rsaKey()) }) },
    { where: "JSON", value: () => ({ toJSON: () => accessToken }) },
    { where: "a stack", value: () => Object.assign(new Error("x"), { stack: clientSecret }) },
    { where: "an event", value: () => ({ type: "x", tenant: accessToken }) },
  ])("in $where", ({ value }) => {
    expect(() => expectNone([value()])).toThrow(/is shown/);
  });
});
