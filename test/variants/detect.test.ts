// Detection: the verdict from the answers to at most three requests, which contain no secret.

import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { StopController, type StopSignal, waitWithin } from "../../src/http/time-limit.js";
import { type DetectVariantOptions, detectVariant, type Evidence } from "../../src/index.js";
import { detectionUserAgent } from "../../src/variants/detect.js";
import { version } from "../../src/version.js";
import { HELD_LIMIT_MS, heldTimeLimit, overWhereSilent, START, steppedClock } from "../support/clock.js";
import { deployment } from "../support/deployment.js";
import { scriptedFetch } from "../support/fetch.js";
import {
  type RecordedRequest,
  recordingServer,
  type Script,
  type ScriptedAnswer,
} from "../support/recording-server.js";
import { rejectionOf } from "../support/wait.js";

type Says = Evidence["says"];

const pathOfA = "/api/v1/acme/external-plugin/oauth/token";
const pathOfB = "/v1/auth/token";
const siblingOfB = "/v1/auth/bivariant-detect";

const json = (status: number, body: unknown): ScriptedAnswer => ({
  status,
  headers: { "content-type": "application/json; charset=utf-8" },
  body: JSON.stringify(body),
});
const page = (status: number): ScriptedAnswer => ({
  status,
  headers: { "content-type": "text/html" },
  body: "<!doctype html><title>Gateway</title>",
});
const fixedText = "The token request was rejected.";
const ofA = (error = "unsupported_grant_type", error_description = fixedText) =>
  json(400, { error, error_description });
const ofB = (status = 400) => json(status, { error: "invalid_request" });

/** Answers by path; what is not listed gets `rest`. */
function answering(
  rest: ScriptedAnswer,
  answers: { a?: ScriptedAnswer; b?: ScriptedAnswer; sibling?: ScriptedAnswer } = {},
): Script {
  return ({ path }) => {
    if (path.endsWith(pathOfA)) return answers.a ?? rest;
    if (path.endsWith(pathOfB)) return answers.b ?? rest;
    return path.endsWith(siblingOfB) ? (answers.sibling ?? rest) : rest;
  };
}

interface Row {
  readonly name: string;
  readonly server: Script;
  readonly served: Record<"A" | "B", Says>;
  /** Variant, question, status and what it says, in the order of asking. */
  readonly evidence: readonly [string, number, Says][];
}

const none = { status: 404 };
const everything = (name: string, answer: ScriptedAnswer): Row => ({
  name: `${name} to everything`,
  server: () => answer,
  served: { A: "unknown", B: "unknown" },
  evidence: [
    ["A token endpoint", answer.status, "unknown"],
    ["B token endpoint", answer.status, "unknown"],
  ],
});
/** The same deployment with Variant A really there: everything else is answered by `rest`. */
const withA = (name: string, rest: ScriptedAnswer): Row => ({
  name: `A, and ${name} to all else`,
  server: answering(rest, { a: ofA() }),
  served: { A: "yes", B: rest.status === 404 ? "no" : "unknown" },
  evidence: [
    ["A token endpoint", 400, "yes"],
    ["B token endpoint", rest.status, rest.status === 404 ? "no" : "unknown"],
  ],
});
/** The same deployment with Variant B really there. A limiter or failing server in front hides it. */
const withB = (name: string, rest: ScriptedAnswer): Row => {
  const hides = rest.status === 429 || rest.status >= 500;
  const says: Says = hides ? "unknown" : "yes";
  return {
    name: `B, and ${name} to all else`,
    server: answering(rest, { b: ofB() }),
    served: { A: rest.status === 404 ? "no" : "unknown", B: says },
    evidence: [
      ["A token endpoint", rest.status, rest.status === 404 ? "no" : "unknown"],
      ["B token endpoint", 400, says],
      ["B sibling", rest.status, says],
    ],
  };
};

const redirect: ScriptedAnswer = { status: 302, headers: { location: "/login" } };
const gateways: [string, ScriptedAnswer][] = [
  ["401", json(401, {})],
  ["a 401 page", page(401)],
  ["403", page(403)],
  ["a 200 page", page(200)],
  ["200 with JSON", json(200, { ok: true })],
  ["302", redirect],
  ["404", none],
  ["405", { status: 405 }],
  ["500", page(500)],
  ["503 with JSON", json(503, { error: "temporarily_unavailable" })],
  ["429", { status: 429, headers: { "retry-after": "1" } }],
];

const rows: Row[] = [
  ...gateways
    .filter(([name]) => name !== "404" && name !== "401")
    .map(([name, answer]) => everything(name, answer)),
  {
    name: "401 with JSON to everything: the sibling answers alike",
    server: () => json(401, {}),
    served: { A: "unknown", B: "unknown" },
    evidence: [
      ["A token endpoint", 401, "unknown"],
      ["B token endpoint", 401, "unknown"],
      ["B sibling", 401, "unknown"],
    ],
  },
  {
    name: "JSON 400 to everything: the sibling answers alike",
    server: () => json(400, { error: "bad_request" }),
    served: { A: "unknown", B: "unknown" },
    evidence: [
      ["A token endpoint", 400, "unknown"],
      ["B token endpoint", 400, "unknown"],
      ["B sibling", 400, "unknown"],
    ],
  },
  {
    name: "404 to everything",
    server: () => none,
    served: { A: "no", B: "no" },
    evidence: [
      ["A token endpoint", 404, "no"],
      ["B token endpoint", 404, "no"],
    ],
  },
  {
    name: "410 to everything",
    server: () => ({ status: 410 }),
    served: { A: "no", B: "no" },
    evidence: [
      ["A token endpoint", 410, "no"],
      ["B token endpoint", 410, "no"],
    ],
  },
  {
    name: "a 404 page to everything",
    server: () => page(404),
    served: { A: "no", B: "no" },
    evidence: [
      ["A token endpoint", 404, "no"],
      ["B token endpoint", 404, "no"],
    ],
  },
  // A gateway that gives JSON 401 to everything hides Variant B only where B says 401 too.
  ...gateways.map(([name, rest]) => (name === "401" ? withA401() : withA(name, rest))),
  ...gateways.map(([name, rest]) => withB(name, rest)),
  ...["invalid_client", "invalid_grant", "unsupported_grant_type", "invalid_request"].map(
    (error): Row => ({
      name: `A's error ${error} with the fixed text`,
      server: answering(none, { a: ofA(error) }),
      served: { A: "yes", B: "no" },
      evidence: [
        ["A token endpoint", 400, "yes"],
        ["B token endpoint", 404, "no"],
      ],
    }),
  ),
  {
    name: "A's fixed text without the full stop",
    server: answering(none, { a: ofA("unsupported_grant_type", "The token request was rejected") }),
    served: { A: "yes", B: "no" },
    evidence: [
      ["A token endpoint", 400, "yes"],
      ["B token endpoint", 404, "no"],
    ],
  },
  ...[
    {
      name: "A's error shape with another description",
      a: ofA("unsupported_grant_type", "Unsupported grant type"),
    },
    { name: "A's error shape without a description", a: json(400, { error: "unsupported_grant_type" }) },
    { name: "the fixed text with an unknown error", a: ofA("server_error") },
    { name: "the fixed text in other letters", a: ofA("invalid_grant", fixedText.toUpperCase()) },
    {
      name: "A's body in a JSON array",
      a: json(400, [{ error: "invalid_grant", error_description: fixedText }]),
    },
    { name: "a 400 page at A's token path", a: page(400) },
  ].map(
    ({ name, a }): Row => ({
      name,
      server: answering(none, { a }),
      served: { A: "unknown", B: "no" },
      evidence: [
        ["A token endpoint", 400, "unknown"],
        ["B token endpoint", 404, "no"],
      ],
    }),
  ),
  ...[401, 403, 200, 500].map(
    (status): Row => ({
      name: `A's body with the status ${status}`,
      server: answering(none, { a: json(status, { error: "invalid_client", error_description: fixedText }) }),
      served: { A: "unknown", B: "no" },
      evidence: [
        ["A token endpoint", status, "unknown"],
        ["B token endpoint", 404, "no"],
      ],
    }),
  ),
  ...[400, 401, 415, 422].map(
    (status): Row => ({
      name: `a JSON ${status} from B's token path alone`,
      server: answering(none, { b: ofB(status) }),
      served: { A: "no", B: "yes" },
      evidence: [
        ["A token endpoint", 404, "no"],
        ["B token endpoint", status, "yes"],
        ["B sibling", 404, "yes"],
      ],
    }),
  ),
  {
    name: "a 400 page from B's token path: not compared at all",
    server: answering(none, { b: page(400) }),
    served: { A: "no", B: "unknown" },
    evidence: [
      ["A token endpoint", 404, "no"],
      ["B token endpoint", 400, "unknown"],
    ],
  },
  {
    name: "B's token path 400 and its sibling 401: they differ",
    server: answering(none, { b: ofB(400), sibling: json(401, {}) }),
    served: { A: "no", B: "yes" },
    evidence: [
      ["A token endpoint", 404, "no"],
      ["B token endpoint", 400, "yes"],
      ["B sibling", 401, "yes"],
    ],
  },
];

function withA401(): Row {
  return {
    name: "A, and JSON 401 to all else",
    server: answering(json(401, {}), { a: ofA() }),
    served: { A: "yes", B: "unknown" },
    evidence: [
      ["A token endpoint", 400, "yes"],
      ["B token endpoint", 401, "unknown"],
      ["B sibling", 401, "unknown"],
    ],
  };
}

function expectHarmless(requests: readonly RecordedRequest[]): void {
  expect(requests.length).toBeLessThanOrEqual(3);
  expect(requests.filter(({ path }) => path.endsWith(pathOfA)).length).toBeLessThanOrEqual(1);
  for (const { method, path, headers, body, raw } of requests) {
    expect(method).toBe("POST");
    expect(headers["user-agent"]).toBe(detectionUserAgent);
    expect(headers.authorization).toBeUndefined();
    expect(headers.cookie).toBeUndefined();
    const isForm = path.endsWith(pathOfA);
    expect(headers["content-type"]).toBe(isForm ? "application/x-www-form-urlencoded" : "application/json");
    expect(body).toBe(isForm ? "grant_type=bivariant-detect" : "{}");
    expect(raw).not.toMatch(/client_id|client_secret|client_assertion|code_verifier|eyJ/);
  }
}

describe("detectVariant asks about both variants", () => {
  test.each(rows)("$name", async ({ server: script, served, evidence }) => {
    const server = await recordingServer(script);
    const clock = steppedClock();
    const detection = await detectVariant({ baseUrl: server.url, tenantId: "acme", now: clock.now });

    expect(detection.served).toEqual(served);
    expect(detection.evidence.map((e) => [`${e.variant} ${e.question}`, e.status, e.says])).toEqual(evidence);
    expect(detection.detectedAt).toBe(START);
    expect(server.requests).toHaveLength(evidence.length);
    expectHarmless(server.requests);
    for (const [index, one] of detection.evidence.entries()) {
      expect(one.url).toBe(server.url + server.requests[index]?.path);
      expect(one.reason).toMatch(/\w{3}/);
    }
  });

  test("the table has each verdict for each variant", () => {
    for (const variant of ["A", "B"] as const)
      expect(new Set(rows.map(({ served }) => served[variant]))).toEqual(new Set(["yes", "no", "unknown"]));
  });
});

describe.each([{ prefix: "" }, { prefix: "/gateway/eu" }])(
  "the emulated service under $prefix/",
  ({ prefix }) => {
    const deployments = [
      { name: "A only", variants: ["A"], served: { A: "yes", B: "no" }, requests: 2 },
      { name: "B only", variants: ["B"], served: { A: "no", B: "yes" }, requests: 3 },
      { name: "both", variants: ["A", "B"], served: { A: "yes", B: "yes" }, requests: 3 },
      { name: "neither", variants: [], served: { A: "no", B: "no" }, requests: 2 },
    ] as const;
    test.each(deployments)("serves $name", async ({ variants, served, requests }) => {
      const emulator = deployment({ variants, publicUrl: `http://service.localhost${prefix}` });
      const { url, close } = await emulator.listen();
      try {
        const detection = await detectVariant({ baseUrl: url, tenantId: "acme" });
        expect(detection.served).toEqual(served);
        expect(emulator.journal.entries()).toHaveLength(requests);
        for (const { path } of emulator.journal.entries()) expect(path.startsWith(`${prefix}/`)).toBe(true);
      } finally {
        await close();
      }
    });
  },
);

describe("a request without an answer rejects and is no verdict", () => {
  const rows: { name: string; server: Script; code: string; requests: number }[] = [
    { name: "a server that never answers", server: () => "silence", code: "timed_out", requests: 1 },
    { name: "a server that resets", server: () => "reset", code: "network_failed", requests: 1 },
    {
      name: "a server that answers for A and is silent for B",
      server: ({ path }) => (path === pathOfA ? ofA() : "silence"),
      code: "timed_out",
      requests: 2,
    },
    {
      name: "a server that resets at the sibling",
      server: ({ path }) => (path === pathOfA ? none : path === pathOfB ? ofB() : "reset"),
      code: "network_failed",
      requests: 3,
    },
  ];
  test.each(rows)("$name: $code", async ({ server: script, code, requests }) => {
    const server = await recordingServer(overWhereSilent(script, heldTimeLimit()));
    const options = { baseUrl: server.url, tenantId: "acme", timeoutMs: HELD_LIMIT_MS };
    const error = await rejectionOf(detectVariant(options));
    expect(error).toMatchObject({ name: "TransportError", code, retryable: true });
    expect(server.requests).toHaveLength(requests);
  });

  test("a body that stops midway causes timed_out", async () => {
    const { expire } = heldTimeLimit();
    const server = await recordingServer(() => (response) => {
      response.writeHead(404, { "content-length": "100" });
      response.write("half");
      setImmediate(expire);
    });
    const options = { baseUrl: server.url, tenantId: "acme", timeoutMs: HELD_LIMIT_MS };
    expect(await rejectionOf(detectVariant(options))).toMatchObject({ code: "timed_out" });
    expect(server.requests).toHaveLength(1);
  });

  test("a closed port causes network_failed", async () => {
    const { url, close } = await deployment().listen();
    await close();
    expect(await rejectionOf(detectVariant({ baseUrl: url, tenantId: "acme" }))).toMatchObject({
      code: "network_failed",
    });
  });

  test("a body over 1 MiB is not read to its end", async () => {
    const server = await recordingServer(() => ({ status: 200, body: "x".repeat(1024 * 1024 + 1) }));
    expect(await rejectionOf(detectVariant({ baseUrl: server.url, tenantId: "acme" }))).toMatchObject({
      code: "response_too_large",
    });
  });

  test("an abort ends it with the signal's reason", async () => {
    const controller = new AbortController();
    const server = await recordingServer(() => {
      controller.abort("the user left");
      return "silence";
    });
    const { signal } = controller;
    expect(await rejectionOf(detectVariant({ baseUrl: server.url, tenantId: "acme", signal }))).toBe(
      "the user left",
    );
  });
});

describe("the requests of a detection", () => {
  test("fetch is called with a string and a RequestInit that follows no redirect", async () => {
    const fetch = scriptedFetch(() => new Response(null, { status: 404 }));
    await detectVariant({ baseUrl: "https://service.example/p/", tenantId: "acme", fetch });
    expect(fetch.calls.map(({ url }) => url)).toEqual([
      `https://service.example/p${pathOfA}`,
      `https://service.example/p${pathOfB}`,
    ]);
    for (const { url, init } of fetch.calls) {
      expect(typeof url).toBe("string");
      expect(init).toMatchObject({ method: "POST", redirect: "manual" });
    }
  });

  test("a redirect is not followed", async () => {
    const elsewhere = await recordingServer(() => ofA());
    const server = await recordingServer(() => ({ status: 307, headers: { location: elsewhere.url } }));
    const { served } = await detectVariant({ baseUrl: server.url, tenantId: "acme" });
    expect(served).toEqual({ A: "unknown", B: "unknown" });
    expect(elsewhere.requests).toHaveLength(0);
  });

  test("the evidence contains nothing from the wire except documented error codes", async () => {
    const echo = "wire-text-4711";
    const server = await recordingServer(() => ({
      status: 400,
      headers: { "content-type": `application/json; ${echo}`, "www-authenticate": echo },
      body: JSON.stringify({ error: echo, error_description: echo }),
    }));
    const detection = await detectVariant({ baseUrl: server.url, tenantId: "acme" });
    expect(JSON.stringify(detection)).not.toContain(echo);
    expect(detection.evidence[0]?.contentType).toBe("application/json");
  });

  const there = { baseUrl: "https://a.example", tenantId: "acme" };
  const invalid = "option_invalid";
  test.each([
    { name: "no base URL", options: { baseUrl: "", tenantId: "acme" }, code: "base_url_invalid" },
    {
      name: "http elsewhere",
      options: { baseUrl: "http://a.example", tenantId: "acme" },
      code: "base_url_insecure",
    },
    { name: "no tenant", options: { baseUrl: "https://a.example", tenantId: "" }, code: "tenant_id_invalid" },
    { name: "a timeoutMs that no timer keeps", options: { ...there, timeoutMs: 2 ** 31 }, code: invalid },
    { name: "a timeoutMs of 0", options: { ...there, timeoutMs: 0 }, code: invalid },
    { name: "a timeoutMs that is a text", options: { ...there, timeoutMs: "5" }, code: invalid },
    { name: "a clock that is not a function", options: { ...there, now: 5 }, code: invalid },
    {
      name: "a pattern that is not a regular expression",
      options: { ...there, tenantIdPattern: "x" },
      code: invalid,
    },
    {
      name: "allowInsecureHttp that is a text",
      options: { ...there, allowInsecureHttp: "no" },
      code: invalid,
    },
  ])("bad input is told before any request: $name", async ({ options, code }) => {
    const fetch = scriptedFetch(() => new Response(null, { status: 404 }));
    const error = await rejectionOf(detectVariant({ ...options, fetch } as DetectVariantOptions));
    expect(error).toMatchObject({ name: "ConfigurationError", code });
    expect(fetch.calls).toHaveLength(0);
  });

  test.each([undefined, null])(
    "bad input is reported before any request: options that are %s",
    async (options) => {
      const error = await rejectionOf(detectVariant(options as never));
      expect(error).toMatchObject({ name: "ConfigurationError", code: invalid });
    },
  );

  test("bad input is reported before any request: a fetch that is not a function", async () => {
    const error = await rejectionOf(detectVariant({ ...there, fetch: 42 as never }));
    expect(error).toMatchObject({ name: "ConfigurationError", code: invalid, option: "fetch" });
  });
});

describe("the version", () => {
  test("the version is that of package.json", async () => {
    const manifest = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
    expect(version).toBe(manifest.version);
  });
});

describe("the stop signal", () => {
  function platform(): { signal: StopSignal; abort: (reason: unknown) => void } {
    const controller = new AbortController();
    return { signal: controller.signal, abort: (reason) => controller.abort(reason) };
  }

  function ours(): ReturnType<typeof platform> {
    const controller = new StopController();
    return { signal: controller, abort: (reason) => controller.abort(reason) };
  }

  describe.each([
    { name: "the platform's", make: platform },
    { name: "ours", make: ours },
  ])("a signal: $name", ({ make }) => {
    test("reports its state and its reason", () => {
      const { signal, abort } = make();
      expect([signal.aborted, signal.reason]).toEqual([false, undefined]);
      expect(() => signal.throwIfAborted()).not.toThrow();
      const reason = new Error("gone");
      abort(reason);
      abort(new Error("again"));
      expect(signal.aborted).toBe(true);
      expect(signal.reason).toBe(reason);
      expect(() => signal.throwIfAborted()).toThrow(reason);
    });

    test("calls each listener once, and no removed listener", () => {
      const { signal, abort } = make();
      const called: string[] = [];
      const gone = () => called.push("gone");
      const stays = () => called.push("stays");
      for (const listener of [gone, stays, stays]) signal.addEventListener("abort", listener, { once: true });
      signal.removeEventListener("abort", gone);
      abort(new Error("first"));
      abort(new Error("second"));
      expect(called).toEqual(["stays"]);
    });

    test("ends a wait with its reason and aborts the task", async () => {
      const { signal, abort } = make();
      const told: unknown[] = [];
      const limit = { variant: "A", baseUrl: "https://service.example", timeoutMs: 60_000, signal } as const;
      const wait = waitWithin(
        limit,
        () => new Promise(() => {}),
        (reason) => told.push(reason),
      );
      const reason = new Error("nobody waits");
      abort(reason);
      await expect(wait).rejects.toBe(reason);
      expect(told).toEqual([reason]);
    });
  });
});
