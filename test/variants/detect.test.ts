// A detection draws its verdict from the answers to at most three requests, which contain no
// secret.
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/clock.js";
import { detectVariant, type Evidence } from "../../src/index.js";
import { detect, detectionUserAgent } from "../../src/variants/detect.js";
import { version } from "../../src/version.js";
import { overWhereSilent, START, steppedClock } from "../support/clock.js";
import { scriptedFetch } from "../support/fetch.js";
import {
  jsonAnswer as json,
  pageAnswer as page,
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

const fixedText = "The token request was rejected.";
const refusalOfA = { error: "invalid_client", error_description: fixedText };
const ofA = (error = "unsupported_grant_type", error_description = fixedText) =>
  json(400, { error, error_description });
const ofB = (status = 400) => json(status, { error: "invalid_request" });

/** Makes a server that answers by path, and with `rest` for all other paths. */
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
  /**
   * Variant (and question), status and answer of each request in order. A variant's last one is its
   * verdict.
   */
  readonly evidence: readonly string[];
}

const row = (name: string, server: Script, ...evidence: string[]): Row => {
  return { name, server, evidence };
};
const none = { status: 404 };
const saysOf = ({ status }: ScriptedAnswer): Says => (status === 404 ? "no" : "unknown");

const gateways: [string, ScriptedAnswer][] = [
  ["401", json(401, {})],
  ["a 401 page", page(401)],
  ["403", page(403)],
  ["a 200 page", page(200)],
  ["200 with JSON", json(200, { ok: true })],
  ["302", { status: 302, headers: { location: "/login" } }],
  ["404", none],
  ["405", { status: 405 }],
  ["500", page(500)],
  ["503 with JSON", json(503, { error: "temporarily_unavailable" })],
  ["429", { status: 429, headers: { "retry-after": "1" } }],
];

/**
 * The answers of a gateway to all paths except the token path of a variant that is really there.
 */
const rows: Row[] = [
  ...gateways.flatMap(([name, rest]) => {
    const { status } = rest;
    const says = saysOf(rest);
    // A rate limit or a failing server hides Variant B. With a JSON 401 the sibling must be asked
    // too.
    const hidden = status === 429 || status >= 500 ? "unknown" : "yes";
    const sibling = name === "401" ? ["B sibling 401 unknown"] : [];
    const [ofRest, siblingOfB] = [`A ${status} ${says}`, `B sibling ${status} ${hidden}`];
    const [onlyA, onlyB] = [answering(rest, { a: ofA() }), answering(rest, { b: ofB() })];
    return [
      row(`${name} to everything`, () => rest, ofRest, `B ${status} ${says}`, ...sibling),
      row(`A, and ${name} to all else`, onlyA, "A 400 yes", `B ${status} ${says}`, ...sibling),
      row(`B, and ${name} to all else`, onlyB, ofRest, `B 400 ${hidden}`, siblingOfB),
    ];
  }),
  row(
    "JSON 400 to everything: the sibling answers alike",
    () => json(400, { error: "bad_request" }),
    ...["A 400 unknown", "B 400 unknown", "B sibling 400 unknown"],
  ),
  row("410 to everything", () => ({ status: 410 }), "A 410 no", "B 410 no"),
  row("a 404 page to everything", () => page(404), "A 404 no", "B 404 no"),
  ...["invalid_client", "invalid_grant", "invalid_request"].map((error) =>
    row(`A's ${error}`, answering(none, { a: ofA(error) }), "A 400 yes", "B 404 no"),
  ),
  ...[
    { name: "with another description", a: ofA("unsupported_grant_type", "Unsupported") },
    { name: "without a description", a: json(400, { error: "unsupported_grant_type" }) },
    { name: "with an unknown error", a: ofA("server_error") },
    { name: "with the text in other letters", a: ofA("invalid_grant", fixedText.toUpperCase()) },
    { name: "in an array", a: json(400, [refusalOfA]) },
    { name: "as a page", a: page(400) },
    { name: "with the status 401", a: json(401, refusalOfA) },
  ].map(({ name, a }) =>
    row(`A's refusal ${name}`, answering(none, { a }), `A ${a.status} unknown`, "B 404 no"),
  ),
  row("a 400 page from B's path", answering(none, { b: page(400) }), "A 404 no", "B 400 unknown"),
  row(
    "B's token path 400 and its sibling 401: they differ",
    answering(none, { b: ofB(400), sibling: json(401, {}) }),
    ...["A 404 no", "B 400 yes", "B sibling 401 yes"],
  ),
];

function expectHarmless(requests: readonly RecordedRequest[]): void {
  expect(requests.length).toBeLessThanOrEqual(3);
  expect(requests.filter(({ path }) => path.endsWith(pathOfA)).length).toBeLessThanOrEqual(1);
  for (const { method, path, headers, body, raw } of requests) {
    expect(method).toBe("POST");
    expect(headers["user-agent"]).toBe(detectionUserAgent);
    expect(headers.authorization).toBeUndefined();
    expect(headers.cookie).toBeUndefined();
    const isForm = path.endsWith(pathOfA);
    expect(headers["content-type"]).toBe(
      isForm ? "application/x-www-form-urlencoded" : "application/json",
    );
    expect(body).toBe(isForm ? "grant_type=bivariant-detect" : "{}");
    expect(raw).not.toMatch(/client_id|client_secret|client_assertion|code_verifier|eyJ/);
  }
}

describe("detectVariant asks about both variants", () => {
  test.each(rows)("$name", async ({ server: script, evidence }) => {
    const server = await recordingServer(script);
    const clock = steppedClock();
    const detection = await detectVariant({ baseUrl: server.url, tenantId: "acme", clock });

    const verdictOf = (variant: string) =>
      evidence.findLast((one) => one.startsWith(variant))?.replace(/.* /, "");
    expect(detection.served).toEqual({ A: verdictOf("A"), B: verdictOf("B") });
    const nameOf = ({ variant, question }: Evidence) =>
      question === "sibling" ? `${variant} sibling` : variant;
    const found = detection.evidence.map((one) => `${nameOf(one)} ${one.status} ${one.says}`);
    expect(found).toEqual(evidence);
    expect(detection.detectedAt).toBe(START);
    expect(server.requests).toHaveLength(evidence.length);
    expectHarmless(server.requests);
    for (const [index, one] of detection.evidence.entries()) {
      expect(one.url).toBe(server.url + server.requests[index]?.path);
      expect(one.reason).toMatch(/\w{3}/);
    }
  });
});

describe("a question that gets no answer rejects the detection instead of giving a verdict", () => {
  const silentForB: Script = ({ path }) => (path === pathOfA ? ofA() : "silence");
  const resetsLast: Script = ({ path }) =>
    path === pathOfA ? none : path === pathOfB ? ofB() : "reset";
  test.each<{ name: string; server: Script; code: string; requests: number }>([
    { name: "that never answers", server: () => "silence", code: "timed_out", requests: 1 },
    { name: "that resets", server: () => "reset", code: "network_failed", requests: 1 },
    { name: "that is silent for B", server: silentForB, code: "timed_out", requests: 2 },
    { name: "that resets at the sibling", server: resetsLast, code: "network_failed", requests: 3 },
  ])("a server $name: $code", async ({ server: script, code, requests }) => {
    const clock = steppedClock();
    const server = await recordingServer(overWhereSilent(script, clock));
    const options = { baseUrl: server.url, tenantId: "acme", clock };
    const error = await rejectionOf(detectVariant(options));
    expect(error).toMatchObject({ name: "TransportError", code, retryable: true });
    expect(server.requests).toHaveLength(requests);
  });

  test("an abort ends the detection with the signal's reason", async () => {
    const controller = new AbortController();
    const server = await recordingServer(() => {
      controller.abort("the user left");
      return "silence";
    });
    const { signal } = controller;
    const detecting = detectVariant({ baseUrl: server.url, tenantId: "acme", signal });
    expect(await rejectionOf(detecting)).toBe("the user left");
  });
});

describe("the requests of a detection", () => {
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

  test("an answer of the made-up path counts for the token endpoint only if it is a 429", async () => {
    const statuses = [400, 404, 400, 429];
    const fetch = scriptedFetch(() => Response.json({}, { status: statuses.shift() as number }));
    const counted: number[] = [];
    const onAnswer = (_variant: string, { status }: { status: number }) =>
      void counted.push(status);
    await detect(there, ["B", "B"], {
      fetch,
      intercept: undefined,
      onAnswer,
      clock: systemClock,
      timeoutMs: 1_000,
      untilYes: false,
    });
    expect(counted).toEqual([400, 400, 429]);
  });

  const invalid = "option_invalid";
  test.each([
    { options: { baseUrl: "" }, code: "base_url_invalid" },
    { options: { baseUrl: "http://a.example" }, code: "base_url_insecure" },
    { options: { tenantId: "" }, code: "tenant_id_invalid" },
    { options: { timeoutMs: 2 ** 31 }, code: invalid },
    { options: { clock: { now: 5 } }, code: invalid },
    { options: { tenantIdPattern: "x" }, code: invalid },
    { options: { allowInsecureHttp: "no" }, code: invalid },
    { options: { fetch: 42 }, code: invalid },
  ])("bad input is reported before any request: $options", async ({ options, code }) => {
    const fetch = scriptedFetch(() => new Response(null, { status: 404 }));
    const error = await rejectionOf(detectVariant({ ...there, fetch, ...options } as never));
    expect(error).toMatchObject({ name: "ConfigurationError", code });
    expect(fetch.calls).toHaveLength(0);
    expect(await rejectionOf(detectVariant(null as never))).toMatchObject({ code: invalid });
  });
});

test("the version is that of package.json", async () => {
  const manifest = JSON.parse(
    await readFile(new URL("../../package.json", import.meta.url), "utf8"),
  );
  expect(version).toBe(manifest.version);
});
