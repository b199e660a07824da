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
  type Fetch,
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
import { cryptoKey, pkcs1, pkcs8, privateJwk, rsaKey } from "../support/keys.js";
import { recordingServer, type Script } from "../support/recording-server.js";
import { rejectionOf } from "../support/wait.js";
import {
  accessToken,
  clientSecret,
  code,
  codeVerifier,
  type Echo,
  echoHeaders,
  expectNone,
  issued,
  refreshToken,
  tokenEchoes,
  watchPrinted,
} from "./search.js";

const clientIds = ["canary-plugin", "canary-account"];
const tenantId = "acme";

const target = { baseUrl: "https://service.example", tenantId };
interface Recorded {
  readonly fetch: Fetch;
  readonly bodies: string[];
}

/** A fetch of its own, because an Auth holds its fetch, and `scriptedFetch` holds its calls. */
function recorded(answer: (body: string, url: string, init: RequestInit) => Response): Recorded {
  const bodies: string[] = [];
  const fetch: Fetch = async (url, init = {}) => {
    init.signal?.throwIfAborted();
    const body = String(init.body ?? "");
    bodies.push(body);
    return answer(body, url, init);
  };
  return { fetch, bodies };
}

const spans = new InMemorySpanExporter();
const tracing = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
const traced = telemetry({ tracer: tracing.getTracer("canary") });
let events: ServiceEvent[];
let printed: unknown[];

/** What a collector of telemetry receives. */
const reported = () =>
  spans.getFinishedSpans().map(({ name, attributes, status, events }) => ({
    name,
    attributes,
    status,
    events,
  }));

function forgetOutputs(): void {
  events = [];
  printed = [];
  spans.reset();
}

beforeEach(() => {
  forgetOutputs();
  watchPrinted((...words) => void printed.push(...words));
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

const echoesWhose = (name: RegExp) => tokenEchoes.filter((echo) => name.test(echo.name));

const secretFields = [
  "client_assertion",
  "client_secret",
  "code",
  "code_verifier",
  "refresh_token",
];

/** A body, and each secret in it. */
function secretsIn(body: string): string[] {
  const fields: Record<string, string> = body.startsWith("{")
    ? JSON.parse(body)
    : Object.fromEntries(new URLSearchParams(body));
  return [body, ...secretFields.flatMap((name) => fields[name] ?? [])];
}

/** Runs once for each secret that the endpoint can echo, and searches the outputs of each run. */
async function eachEcho(
  { answer }: Echo,
  run: (fetch: Fetch) => Promise<unknown[]>,
): Promise<void> {
  let secrets = 1;
  for (let which = 0; which < secrets; which++) {
    const { fetch, bodies } = recorded((body) => {
      const values = secretsIn(body);
      // What is answered without an echo is the same each time.
      if (answer.length > 0) secrets = Math.max(secrets, values.length);
      return answer(values[which] ?? body);
    });
    const outputs = await run(fetch);
    expectNone([...outputs, ...events, ...printed, ...reported()], bodies);
    forgetOutputs();
  }
}

describe.each(["A", "B"] as const)("Variant %s", (variant) => {
  test.each(tokenEchoes)(
    "a secret that a token endpoint echoes in $name is in no output",
    async (echo) => {
      await eachEcho(echo, async (fetch) => {
        const credentials = [credentialOf(variant)];
        const options = { credentials, fetch, onEvent, retryDeadlineMs: 0, ...traced };
        const connector = createConnector(options);
        const service = await connector.connect(target);
        const failures = [
          await rejectionOf(service.auth.getAccessToken()),
          await rejectionOf(service.call("listDevices")),
        ];
        for (const failure of failures) expect(failure).toBeInstanceOf(Error);
        expect(reported()).not.toEqual([]);
        return [...failures, service, service.auth, connector];
      });
    },
  );

  test("what is echoed as the tenant or an ignored field of a token is not in the event", async () => {
    const { fetch, bodies } = recorded((body) => {
      const [, echo = ""] = secretsIn(body);
      const odd = variant === "B" ? { token_type: echo, expires_in: echo } : {};
      return issued({ revo: { tenant: echo }, ...odd });
    });
    const auth = createAuth({ ...target, credential: credentialOf(variant), fetch, onEvent });
    await auth.getAccessToken();
    expectNone([...events, ...printed, auth], bodies);
  });

  const bearerEchoes: Echo[] = [
    ...[400, 401, 404, 429, 500, 202, 302].map((status) => ({
      name: `in its body, ${status}`,
      answer: (echo: string) => Response.json({ error: echo }, { status }),
    })),
    {
      name: "in headers",
      answer: (echo) => new Response("", { status: 403, headers: echoHeaders(echo) }),
    },
    {
      name: "in a page",
      answer: (echo) => new Response(echo, { headers: { "content-type": "text/html" } }),
    },
    { name: "in broken JSON", answer: (echo) => new Response(`{"x":"${echo}`) },
    {
      name: "in a redirect",
      answer: (echo) => {
        const location = `https://[${encodeURIComponent(echo)}`;
        return new Response(null, { status: 307, headers: { location } });
      },
    },
  ];
  test.each(bearerEchoes)(
    "a bearer that an API echoes $name is at most in ApiError.body, which is not enumerable",
    async ({ answer }) => {
      for (const bodyInMessage of [false, true]) {
        const { fetch, bodies } = recorded((_body, url, { headers }) =>
          url.endsWith("/token")
            ? issued({})
            : answer(new Headers(headers).get("authorization") ?? ""),
        );
        const options = { ...target, bodyInMessage, fetch, onEvent, maxRetries: 0, ...traced };
        const service = await connect({ ...options, credentials: [credentialOf(variant)] });
        const { error } = await service.call("listDevices").catch((error: unknown) => ({ error }));
        expect(error).toBeInstanceOf(Error);
        expect(reported().length).toBeGreaterThan(1);
        expectNone([error, ...events, ...printed, ...reported(), service], bodies);
        expect(Object.keys(error as object)).not.toContain("body");
        forgetOutputs();
      }
    },
  );

  test("neither fields nor message of a fetch error that holds the whole request are shown", async () => {
    const { fetch, bodies } = recorded((_body, _url, init) => {
      const sent = JSON.stringify({ ...init, signal: undefined });
      const error = new TypeError(`could not send ${sent}`, { cause: new Error(sent) });
      throw Object.assign(error, { config: init, code: "ECONNRESET" });
    });
    const options = { ...target, fetch, onEvent, retryDeadlineMs: 0, ...traced };
    const auth = createAuth({ ...options, credential: credentialOf(variant) });
    const error = await rejectionOf(auth.getAccessToken());
    expect(error).toMatchObject({ code: "network_failed" });
    expectNone([error, ...events, ...printed, ...reported()], bodies);
  });

  test("the event of a store failure does not show arguments that the store put into its error", async () => {
    const fault = async (...given: unknown[]): Promise<never> => {
      const text = JSON.stringify(given);
      throw Object.assign(new Error(`not stored: ${text}`), { given, code: text, name: text });
    };
    const store = { get: async () => undefined, set: fault, delete: fault, lock: fault };
    const { fetch } = recorded(() => issued({}));
    const credential = credentialOf(variant);
    const auth = createAuth({ ...target, credential, fetch, store, onEvent });
    await auth.getAccessToken();
    await new Promise((resolve) => setImmediate(resolve));
    expect(events.map(({ type }) => type)).toContain("store_failed");
    expectNone([...events, ...printed, auth]);
  });

  test("a token, its Auth and its service do not show the token's value after it was used and stored", async () => {
    const { fetch, bodies } = recorded((_body, url) =>
      url.endsWith("/token") ? issued({}) : Response.json([]),
    );
    const store = memoryStore();
    const credentials = [credentialOf(variant)];
    const connector = createConnector({ credentials, store, fetch, onEvent });
    const service = await connector.connect(target);
    const token = await service.auth.getAccessToken();
    await service.call("listDevices");
    expect(token.value).toBe(accessToken);
    const outputs = [token, { ...token }, service, service.auth, connector, store];
    expectNone([...outputs, ...events, ...printed], bodies);
  });
});

describe("what a token endpoint echoes is in no output of", () => {
  test.each(tokenEchoes)("a launch, in $name", async (echo) => {
    const privateKey = pkcs8(rsaKey());
    const credential = userInterfacePlugin({ clientId: "canary-plugin", privateKey });
    await eachEcho(echo, async (fetch) => {
      const options = { ...target, credential, fetch, onEvent, code, codeVerifier };
      return [await redeemLaunch(options).catch((error: unknown) => error)];
    });
  });

  // The results of a run show error, error_description and the names of fields and headers, and
  // nothing else.
  test.each(echoesWhose(/^a cut|beside it|^field names|^headers/))(
    "a contract run, in its results and reports, in $name",
    async (echo) => {
      await eachEcho(echo, async (hostile) => {
        let isFirst = true;
        const fetch = async (url: string, init: RequestInit) => {
          const answer = await hostile(url, init);
          const sent = String(init.body);
          if (!sent.includes("canary"))
            return Response.json({ error: "invalid_request" }, { status: 400 });
          const isControl = isFirst && sent.includes("client_assertion");
          isFirst &&= !isControl;
          return isControl ? issued({ expires_in: 3600 }) : answer;
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
        const reports = [htmlReport(results, about), junitReport(results, about)];
        return [...reports, overlay, settings, JSON.stringify(results)];
      });
    },
  );

  test.each(echoesWhose(/^a cut|^field names|, 400$|^wrong values/))(
    "a survey, in its results, its state file and its outputs, in $name",
    async (echo) => {
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
          baseUrl,
          tenantId,
          variant,
          ...clientOf[variant],
        })),
      );
      await eachEcho(echo, async (hostile) => {
        const fetch = async (url: string, init: RequestInit = {}) => {
          if (!url.startsWith("https://issues.example")) return hostile(url, init);
          if (String(init.body).includes("canary")) return issued({});
          return echo.answer(`Bearer ${accessToken}`);
        };
        const results: SurveyResult[] = [];
        const options = { fetch, variables, stateFile, retryDeadlineMs: 0 };
        for await (const result of survey(customers, options)) results.push(result);
        expect(results.map(({ called }) => called)).toEqual(Array(4).fill(true));
        const state = await readFile(stateFile, "utf8");
        await rm(stateFile);
        expect(state.split("\n")).toHaveLength(6);
        const page = resultsPage(results, { startedAt: 0, seconds: 0 });
        return [...results, state, resultsCsv(results), page];
      });
    },
  );

  test.each(tokenEchoes)("a login or a refresh, in $name", async (echo) => {
    await eachEcho(echo, async (hostile) => {
      const clock = steppedClock();
      let isHostile = true;
      const granted = { access_token: accessToken, refresh_token: refreshToken };
      const options = {
        baseUrl: target.baseUrl,
        credential: apiClient({ ...client, clientSecret }),
        store: memoryStore({ clock }),
        clock,
        onEvent,
        fetch: async (url: string, init?: RequestInit) =>
          isHostile ? hostile(url, init) : Response.json(granted),
      };
      const logIn = async (suffix: string) => {
        const query = (state: string) => `code=${code}${suffix}&state=${state}`;
        const back = await backFromLogin(options, query);
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
});

describe("no secret is shown by", () => {
  test.each(keyForms)(
    "a credential with a key as $form, before and after it signed",
    async ({ key }) => {
      const credential = plugin(await key());
      const { fetch } = recorded(() => issued({}));
      const auth = createAuth({ ...target, credential, fetch, onEvent });
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

  type Make = (fail: () => never) => MachineCredential;
  test.each<{ name: string; code: string; make: Make }>([
    { name: "settings", code: "credential_invalid", make: (fail) => serviceAccount(fail) },
    { name: "a key", code: "key_invalid", make: (fail) => plugin(fail) },
    { name: "a signature", code: "key_invalid", make: (sign) => plugin({ keyId: "k", sign }) },
  ])(
    "a function of $name that fails, whose error keeps its name, code and stack",
    async ({ code, make }) => {
      const keys = [pkcs8(rsaKey()), ...Object.values(privateJwk(rsaKey()))];
      const secrets = [clientSecret, ...keys].join(" ");
      const readVault = (): never => {
        const message = `The vault is down (503): read ${secrets}\n    at ${clientSecret}:1:1`;
        const fields = { name: "VaultError2", code: "EVAULT", body: secrets };
        throw Object.assign(new Error(message, { cause: new Error(secrets) }), fields);
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
    headers: { "content-type": `application/json; ${accessToken}` },
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
])("the search finds a secret in $where", ({ value }) => {
  expect(() => expectNone([value()])).toThrow(/is shown/);
});
