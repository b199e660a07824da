// connect with credentials of both variants: which one it chooses, what it remembers, and that no
// credential is sent before a variant was found, or to another variant.
import { describe, expect, test } from "vitest";
import {
  type ConnectorOptions,
  connect,
  createConnector,
  memoryStore,
  serviceAccount,
  type TokenStore,
  type Variant,
} from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { ACCOUNT_ID, ACCOUNT_SECRET, account, PLUGIN_ID, plugin } from "../support/deployment.js";
import { scriptedFetch } from "../support/fetch.js";
import {
  jsonAnswer as json,
  pageAnswer,
  recordingServer,
  type Script,
  type ScriptedAnswer,
} from "../support/recording-server.js";
import { counted, rejectionOf } from "../support/wait.js";

const tenantId = "acme";
const pathOfA = "/api/v1/acme/external-plugin/oauth/token";
const pathOfB = "/v1/auth/token";
const page = pageAnswer(200);
const rejected = (error: string) =>
  json(400, { error, error_description: "The token request was rejected." });
const bothPreferring = (first: Variant) =>
  first === "A" ? [plugin(), account()] : [account(), plugin()];
const target = (baseUrl: string) => ({ baseUrl, tenantId, credentials: bothPreferring("A") });
/** Strings that only a token request contains. */
const credentialParts = [PLUGIN_ID, ACCOUNT_ID, ACCOUNT_SECRET, "client_", "eyJ"];

const answersA: Script = ({ path, body }) => {
  if (path !== pathOfA) return { status: 404 };
  return body.includes("client_assertion")
    ? json(200, { access_token: "token-a" })
    : rejected("unsupported_grant_type");
};
const answersB: Script = ({ path, body }) => {
  if (path !== pathOfB) return { status: 404 };
  return body.includes("client_secret")
    ? json(200, { access_token: "token-b" })
    : json(400, { error: "x" });
};
const answersBoth: Script = (request) =>
  request.path === pathOfA ? answersA(request) : answersB(request);

/** A server that can be changed to another script, and a connector for both variants. */
async function changing(first: Script, options: Partial<ConnectorOptions> = {}) {
  let current = first;
  const { url, requests } = await recordingServer((request) => current(request));
  const connector = createConnector({ credentials: bothPreferring("A"), ...options });
  const become = (next: Script) => {
    current = next;
  };
  return { url, requests, become, connect: () => connector.connect({ baseUrl: url, tenantId }) };
}

describe("the first served variant in order of preference is chosen, and no more requests are sent", () => {
  const [ofA, ofB] = [[pathOfA], [pathOfB, "/v1/auth/bivariant-detect"]] as const;
  const rows = [
    { name: "A", script: answersA, prefer: "A", variant: "A", questions: ofA },
    { name: "A", script: answersA, prefer: "B", variant: "A", questions: [pathOfB, pathOfA] },
    { name: "B", script: answersB, prefer: "A", variant: "B", questions: [pathOfA, ...ofB] },
    { name: "B", script: answersB, prefer: "B", variant: "B", questions: ofB },
    { name: "both", script: answersBoth, prefer: "A", variant: "A", questions: ofA },
    { name: "both", script: answersBoth, prefer: "B", variant: "B", questions: ofB },
  ] as const;
  test.each(rows)(
    "serving $name, preferring $prefer: $variant",
    async ({ script, prefer, variant, questions }) => {
      const server = await recordingServer(script);
      const credentials = bothPreferring(prefer);
      const service = await connect({ baseUrl: server.url, tenantId, credentials });

      expect(service.variant).toBe(variant);
      const asked: readonly string[] = questions;
      const isAsked = (one: Variant) => asked.includes(one === "A" ? pathOfA : pathOfB);
      const served = (one: Variant) => (one === variant ? "yes" : isAsked(one) ? "no" : "unknown");
      expect(service.detection?.served).toEqual({ A: served("A"), B: served("B") });
      expect(server.requests.map(({ path }) => path)).toEqual(questions);
      for (const { raw } of server.requests)
        for (const part of credentialParts) expect(raw).not.toContain(part);

      await service.auth.getAccessToken();
      const [tokenRequest, ...more] = server.requests.slice(questions.length);
      expect(more).toEqual([]);
      expect(tokenRequest?.path).toBe(variant === "A" ? pathOfA : pathOfB);
      expect(tokenRequest?.raw).toContain(variant === "A" ? "eyJ" : ACCOUNT_SECRET);
      expect(tokenRequest?.raw).not.toContain(variant === "A" ? ACCOUNT_SECRET : "eyJ");
    },
  );
});

describe("if neither variant is found, connect rejects and no credential is sent:", () => {
  test.each([
    { status: 404, code: "variant_not_served" },
    { status: 429, code: "variant_unknown" },
  ])("the deployment answers $status to every request", async ({ status, code }) => {
    const server = await recordingServer(() => ({ status }));
    const error = (await rejectionOf(connect(target(server.url)))) as Error;
    expect(error).toMatchObject({ name: "VariantError", code });
    expect(error).toHaveProperty("detection.evidence.length", 2);
    expect(error.message).toMatch(/variant: "A" or variant: "B"/);
    expect(error.message.includes("Connect again later")).toBe(status === 429);
    expect(error.message).toContain(`${server.url}${pathOfA}`);
    expect(server.requests).toHaveLength(2);
    for (const { raw } of server.requests)
      for (const part of credentialParts) expect(raw).not.toContain(part);
  });
});

describe("a detection", () => {
  const hour = 3_600_000;

  test("goes on for the others when one connect is aborted", async () => {
    const controller = new AbortController();
    const fetch = scriptedFetch(() => {
      controller.abort("gone");
      const error_description = "The token request was rejected.";
      return Response.json({ error: "invalid_request", error_description }, { status: 400 });
    });
    const connector = createConnector({ credentials: bothPreferring("A"), fetch });
    const target = { baseUrl: "https://service.example", tenantId };
    const impatient = rejectionOf(connector.connect({ ...target, signal: controller.signal }));
    const patient = connector.connect(target);
    expect(await impatient).toBe("gone");
    expect((await patient).variant).toBe("A");
    expect(fetch.calls).toHaveLength(1);
  });

  test("that found a variant does not keep an aborted connect waiting for the function of its credential", async () => {
    const controller = new AbortController();
    const server = await recordingServer(answersB);
    const leaving = serviceAccount(() => {
      controller.abort("gone");
      return new Promise<never>(() => {});
    });
    const connector = createConnector({ credentials: [plugin(), leaving] });
    const target = { baseUrl: server.url, tenantId, signal: controller.signal };
    expect(await rejectionOf(connector.connect(target))).toBe("gone");
  });

  test("is not begun with an aborted signal", async () => {
    const fetch = scriptedFetch(() => new Response(null, { status: 404 }));
    const signal = AbortSignal.abort("too late");
    const connecting = connect({ ...target("https://service.example"), fetch, signal });
    expect(await rejectionOf(connecting)).toBe("too late");
    expect(fetch.calls).toHaveLength(0);
  });

  test("is remembered by a connector for an hour", async () => {
    const clock = steppedClock();
    const server = await recordingServer(answersA);
    const connector = createConnector({ credentials: bothPreferring("A"), clock });
    const target = { baseUrl: server.url, tenantId };
    await connector.connect(target);
    clock.advance(hour - 1);
    await connector.connect(target);
    expect(server.requests).toHaveLength(1);
    clock.advance(1);
    await connector.connect(target);
    expect(server.requests).toHaveLength(2);
  });

  test("is made again if the clock, which was a year ahead, is set right", async () => {
    const clock = steppedClock();
    const server = await changing(answersA, { clock, store: memoryStore({ clock }) });
    expect((await server.connect()).variant).toBe("A");
    clock.correct(-365 * 24 * hour);
    server.become(answersB);
    expect((await server.connect()).variant).toBe("B");
  });

  test("is stored for other processes", async () => {
    const store = memoryStore();
    const server = await recordingServer(answersA);
    const options = { ...target(server.url), store };
    const first = await connect(options);
    const second = await connect(options);
    expect(server.requests).toHaveLength(1);
    expect(second.detection).toEqual(first.detection);
  });

  test("is not used for another tenant or base URL", async () => {
    const server = await recordingServer(() => rejected("invalid_request"));
    const options = { ...target(server.url), store: memoryStore() };
    await connect(options);
    await connect({ ...options, tenantId: "globex" });
    await connect({ ...options, baseUrl: `${server.url}/prefix` });
    expect(server.requests).toHaveLength(3);
  });

  test("with another order of preference is not used", async () => {
    const store = memoryStore();
    const server = await recordingServer(answersBoth);
    const options = { baseUrl: server.url, tenantId, store };
    expect((await connect({ ...options, credentials: bothPreferring("A") })).variant).toBe("A");
    expect((await connect({ ...options, credentials: bothPreferring("B") })).variant).toBe("B");
  });

  const failsForA: Script = (request) =>
    request.path === pathOfA ? { status: 503 } : answersB(request);
  test.each<{ name: string; first: Script; found: string; variant: Variant }>([
    { name: "with a server failure in it", first: failsForA, found: "B", variant: "A" },
    { name: "of no variant", first: () => ({ status: 403 }), found: "none", variant: "B" },
  ])("$name is not remembered", async ({ first, found, variant }) => {
    const server = await changing(first);
    const before = await server.connect().catch(() => ({ variant: "none" }));
    expect(before.variant).toBe(found);
    server.become(variant === "A" ? answersBoth : answersB);
    expect((await server.connect()).variant).toBe(variant);
  });

  const failing = async () => {
    throw new Error("the store is down");
  };
  const silent = () => new Promise<never>(() => {});
  const holding = (value: string) => ({
    ...memoryStore(),
    get: async () => ({ value, version: "1" }),
  });
  test.each<{ name: string; store: TokenStore }>([
    { name: "rejects", store: { get: failing, set: failing, delete: failing, lock: failing } },
    { name: "holds another value", store: holding('{"detectedAt":99999999999999}') },
    { name: "never answers", store: { get: silent, set: silent, delete: silent, lock: silent } },
    { name: "answers with a number", store: { ...memoryStore(), get: async () => 7 as never } },
  ])("is made once more, and nothing else, if the store $name", async ({ store }) => {
    const server = await recordingServer(answersA);
    const clock = steppedClock();
    const given = { ...target(server.url), store, timeoutMs: 1_000, clock, fetch: counted(fetch) };
    expect((await clock.through(connect(given))).variant).toBe("A");
    expect(server.requests).toHaveLength(1);
  });
});

describe("after connect", () => {
  test.each([
    { from: "A", to: "B", before: answersA, after: answersB },
    { from: "B", to: "A", before: answersB, after: answersA },
  ] as const)(
    "a deployment that moved from $from to $to makes getAccessToken reject with variant_changed, and a new connect chooses again",
    async ({ from, to, before, after }) => {
      const store = memoryStore();
      const server = await changing(before);
      const options = { ...target(server.url), store };
      const service = await connect(options);
      expect(service.variant).toBe(from);
      server.become(after);

      const error = await rejectionOf(service.auth.getAccessToken());
      expect(error).toMatchObject({ name: "VariantError", code: "variant_changed", variant: from });
      expect(error).toMatchObject({ detection: { served: { [from]: "no", [to]: "yes" } } });
      expect(service.variant).toBe(from);
      const other = from === "A" ? ACCOUNT_SECRET : "eyJ";
      for (const { raw } of server.requests) expect(raw).not.toContain(other);

      expect((await connect(options)).variant).toBe(to);
    },
  );

  test("a call with a held token is refused with 404 after a move, and the token that it advises to drop shows the move", async () => {
    const server = await changing(answersB);
    const service = await connect(target(server.url));
    const token = await service.auth.getAccessToken();
    server.become(answersA);
    const { error } = await service.call("listDevices");
    expect(error).toMatchObject({ code: "api_refused", status: 404 });
    const advice = "service.auth.invalidate(await service.auth.getAccessToken())";
    expect(error?.message).toContain(advice);
    service.auth.invalidate(token);
    const changed = { code: "variant_changed" };
    expect(await rejectionOf(service.call("listDevices"))).toMatchObject(changed);
  });

  const wrongEndpoint: { name: string; answer: ScriptedAnswer }[] = [
    { name: "404", answer: { status: 404 } },
    { name: "405", answer: { status: 405 } },
    { name: "a page", answer: page },
    { name: "a redirect", answer: { status: 302, headers: { location: "/login" } } },
  ];
  describe.each([
    { variant: "A" as const, own: pathOfA, other: answersB },
    { variant: "B" as const, own: pathOfB, other: answersA },
  ])("one credential, of Variant $variant", ({ variant, own, other }) => {
    test.each(wrongEndpoint)(
      "that meets $name adds a detection to its error",
      async ({ answer }) => {
        const server = await recordingServer((request) =>
          request.path === own ? answer : other(request),
        );
        const credentials = variant === "A" ? [plugin()] : [account()];
        const service = await connect({ baseUrl: server.url, tenantId, credentials });
        expect(server.requests).toHaveLength(0);

        const error = await rejectionOf(service.auth.getAccessToken());
        const otherVariant = variant === "A" ? "B" : "A";
        expect(error).toMatchObject({ detection: { served: { [otherVariant]: "yes" } } });
        const questions = server.requests.slice(1);
        expect(questions.length).toBeLessThanOrEqual(3);
        for (const { raw } of questions)
          for (const part of credentialParts) expect(raw).not.toContain(part);
        const notServed = { name: "VariantError", code: "variant_not_served", variant };
        if (answer.status === 404) expect(error).toMatchObject(notServed);
      },
    );

    test.each([
      { name: "is refused", answer: rejected("invalid_client"), code: "token_refused" },
      { name: "meets a failing server", answer: pageAnswer(500), code: "response_not_json" },
    ])("that $name adds no detection to its error", async ({ answer, code }) => {
      const server = await recordingServer(({ path }) => (path === own ? answer : { status: 404 }));
      const credentials = variant === "A" ? [plugin()] : [account()];
      const options = { baseUrl: server.url, tenantId, credentials, retryDeadlineMs: 0 };
      const error = await rejectionOf((await connect(options)).auth.getAccessToken());
      expect(error).toMatchObject({ code });
      expect(error).not.toHaveProperty("detection");
      expect(server.requests.filter(({ path }) => path !== own)).toEqual([]);
    });
  });
});

describe("after a refusal no other credential is tried", () => {
  test.each([
    { name: "the plugin is refused, the account is not sent", prefer: "A", other: ACCOUNT_SECRET },
    { name: "the account is refused, the plugin is not sent", prefer: "B", other: "eyJ" },
  ] as const)("$name", async ({ prefer, other }) => {
    const server = await recordingServer((request) => {
      const { path, body } = request;
      if (path === pathOfA)
        return rejected(body.includes("eyJ") ? "invalid_client" : "unsupported_grant_type");
      return path === pathOfB ? json(401, { error: "invalid_client" }) : { status: 404 };
    });
    const credentials = bothPreferring(prefer);
    const service = await connect({ baseUrl: server.url, tenantId, credentials });
    const refused = { code: "token_refused", variant: prefer };
    for (let times = 0; times < 3; times++)
      expect(await rejectionOf(service.call("listDevices"))).toMatchObject(refused);
    expect(service.variant).toBe(prefer);
    for (const { raw } of server.requests) expect(raw).not.toContain(other);
  });
});

test.each([{ served: "A" }, { served: "B" }] as const)(
  "a rate limit of the other path does not keep connect from a served Variant $served",
  async ({ served }) => {
    const limited = { status: 429, headers: { "retry-after": "3600" } };
    const answers = served === "A" ? answersA : answersB;
    const isOther = (path: string) => (path === pathOfA) === (served === "B");
    const server = await recordingServer((request) =>
      isOther(request.path) ? limited : answers(request),
    );
    const connector = createConnector({ credentials: bothPreferring(served === "A" ? "B" : "A") });
    for (let round = 0; round < 2; round++)
      expect((await connector.connect({ baseUrl: server.url, tenantId })).variant).toBe(served);
    expect(server.requests.filter(({ path }) => isOther(path))).toHaveLength(1);
  },
);

test("a variant that was rate limited is asked after the other one and after the wait, each once", async () => {
  const clock = steppedClock();
  const waits = clock.skipSleeps();
  const options = { clock };
  const server = await changing(({ path }) => ({ status: path === pathOfA ? 429 : 404 }), options);
  expect(await rejectionOf(server.connect())).toMatchObject({ code: "variant_unknown" });
  server.become(answersA);
  const { detection } = await server.connect();
  expect(detection).toMatchObject({
    served: { A: "yes", B: "no" },
    evidence: [{ variant: "B" }, { variant: "A" }],
  });
  expect(server.requests.map(({ path }) => path)).toEqual([pathOfA, pathOfB, pathOfB, pathOfA]);
  expect(waits).toHaveLength(1);
});

test("connect waits at most retryDeadlineMs for the rate limits of both variants together", async () => {
  const clock = steppedClock();
  const waits = clock.skipSleeps();
  const options = { clock, retryDeadlineMs: 60_000 };
  const limitedFor = (seconds: string) => ({ status: 429, headers: { "retry-after": seconds } });
  const server = await changing(({ path }) => limitedFor(path === pathOfA ? "40" : "90"), options);
  expect(await rejectionOf(server.connect())).toMatchObject({ code: "variant_unknown" });
  server.become(() => ({ status: 404 }));
  expect(await rejectionOf(server.connect())).toMatchObject({ code: "rate_limited" });
  expect(waits).toHaveLength(1);
});

test.each([
  { at: "both token endpoints", isLimited: () => true },
  { at: "Variant A's token endpoint", isLimited: (path: string) => path === pathOfA },
  { at: "Variant B's token endpoint", isLimited: (path: string) => path !== pathOfA },
])(
  "connect rejects at once if a rate limit of $at, met by an earlier detection, ends after the deadline",
  async (row) => {
    const clock = steppedClock();
    const limited = { status: 429, headers: { "retry-after": "120" } };
    const server = await recordingServer(({ path }) =>
      row.isLimited(path) ? limited : { status: 404 },
    );
    const connector = createConnector({ credentials: bothPreferring("A"), clock });
    const target = { baseUrl: server.url, tenantId };
    expect(await rejectionOf(connector.connect(target))).toMatchObject({ code: "variant_unknown" });
    const sent = () => server.requests.filter(({ path }) => row.isLimited(path)).length;
    const before = sent();
    const error = await rejectionOf(connector.connect(target));
    expect(error).toMatchObject({ name: "RateLimitedError", code: "rate_limited" });
    expect((error as { retryAt: number }).retryAt).toBeGreaterThanOrEqual(clock.now() + 120_000);
    expect(sent()).toBe(before);
  },
);
