// Refused and failed token requests: by status, error and shape, and what is sent afterwards.
import { otherRsaKey, pkcs8 } from "../support/keys.js";
import type { Answer } from "./honest-server.js";
import type { Expected, Row, Way } from "./situation.js";

const A = "createAuth, Variant A" as const;
const B = "createAuth, Variant B" as const;
const L = "redeemLaunch" as const;

const refused: Expected = "TokenRequestError token_refused";
const launchRefused: Expected = "RelaunchRequiredError launch_refused";
const loginRefused: Expected = "LoginRequiredError login_refused";
const launchUnknown: Expected = "RelaunchRequiredError launch_outcome_unknown";
const loginUnknown: Expected = "LoginRequiredError login_outcome_unknown";
const notJson: Expected = "UnexpectedResponseError response_not_json";
const otherShape: Expected = "UnexpectedResponseError response_shape";
const redirected: Expected = "UnexpectedResponseError response_redirected";
const limited: Expected = "RateLimitedError rate_limited";

type Outcomes = Partial<Record<Way, Expected>>;
const ofA = (machine: Expected, launch: Expected): Outcomes => ({ [A]: machine, [L]: launch });
const ofB = (machine: Expected, person: Expected): Outcomes => {
  return { [B]: machine, completeLogin: person, resumeAuth: person };
};
const lost = (machine: Expected): Outcomes => {
  return { ...ofA(machine, launchUnknown), ...ofB(machine, loginUnknown) };
};

/** A code is sent once, and so is a refresh token that may be spent. */
function rows(name: string, answers: Answer, outcomes: Outcomes, more: Partial<Row> = {}): Row[] {
  return (Object.entries(outcomes) as [Way, Expected][]).map(([way, expected]) => {
    const kind = way === "resumeAuth" ? "refresh" : way === A || way === B ? "token" : "code";
    const isOver = kind === "refresh" && expected.startsWith("LoginRequiredError");
    const later = isOver ? { later: "LoginRequiredError" as const } : {};
    return { name, way, answers, expected, sent: { [kind]: 1 }, ...later, ...more };
  });
}

const json = (status: number, body: unknown): Answer => ({ status, json: body, isUnspent: true });
const error = (status: number, name: string): Answer => json(status, { error: name });
const page = (status: number): Answer => ({ status, text: "<h1>No</h1>", type: "text/html" });

/** Section 7.1: a status of 400, one of four errors, and always the same text. */
const opaque = (name: string, launch: Expected, says: RegExp): Row[] => {
  const answer = json(400, { error: name, error_description: "The token request was rejected." });
  return rows(`${name} with the fixed text`, answer, ofA(refused, launch), { says });
};
const loud = { error: "invalid_client", error_description: `\r\n\u001b[31m${"x".repeat(10_000)}` };
const bounded = { says: /^.{1,2000}\[/ };
const refusalsOfA: readonly Row[] = [
  ...opaque("invalid_client", refused, /JWKS/),
  ...opaque("invalid_grant", launchRefused, /not registered|used, or is older/),
  ...opaque("unsupported_grant_type", refused, /unsupported_grant_type/),
  ...opaque("invalid_request", refused, /invalid_request/),
  ...rows("invalid_grant with 403", error(403, "invalid_grant"), ofA(refused, launchRefused)),
  ...rows("JSON without an error", json(400, { message: "no" }), ofA(refused, refused)),
  ...rows("a long description", json(400, loud), ofA(refused, refused), bounded),
  // Any other body comes from another server, and only a new launch brings a new code.
  ...rows("an empty 401", { status: 401 }, ofA(notJson, launchUnknown)),
  ...rows("a page with 400", page(400), ofA(notJson, launchUnknown)),
];

/** Section 7.3 shows no error of Variant B, so a 400, 401 or 403 of any shape is a refusal. */
const shapes: readonly (readonly [name: string, number, Answer])[] = [
  ["an empty 401", 401, { text: "" }],
  ["a page with 400", 400, page(400)],
  ["a text with 403", 403, { text: "Not you", type: "text/plain" }],
  ["half an object with 401", 401, { text: '{"error":' }],
  ["a message with 401", 401, { json: { message: "wrong secret" } }],
  ["an error that is an object with 403", 403, { json: { error: { code: "E17" } } }],
  ["a JSON list with 400", 400, { json: [{ code: 17 }] }],
  ["a JSON string with 401", 401, { json: "denied" }],
];
const refusalsOfB: readonly Row[] = [
  ...shapes.flatMap(([name, status, shape]) => {
    const answer = { ...shape, status, isUnspent: true };
    // Only the service's own JSON says that the code or refresh token was not spent.
    const person = "json" in shape ? loginRefused : loginUnknown;
    return rows(name, answer, ofB(refused, person));
  }),
  ...rows("invalid_client with 401", error(401, "invalid_client"), ofB(refused, refused)),
  ...rows("unauthorized_client", error(400, "unauthorized_client"), ofB(refused, refused)),
  ...rows("invalid_request", error(400, "invalid_request"), ofB(refused, refused)),
  ...rows("invalid_grant with 400", error(400, "invalid_grant"), ofB(refused, loginRefused)),
  ...rows("a JSON 422", json(422, { detail: [] }), ofB(refused, loginRefused)),
];

/** The request may have been processed: Envoy and Heroku answer 503 after the upstream's commit. */
const network: Expected = "TransportError network_failed";
const failures: readonly Row[] = [
  ...rows("an empty 500", { status: 500 }, lost(notJson)),
  ...rows("a page with 502", page(502), lost(notJson)),
  ...rows("JSON with 503", { status: 503, json: { error: "server_error" } }, lost(otherShape)),
  ...rows("JSON with 408", { status: 408, json: { error: "timeout" } }, lost(otherShape)),
  ...rows("JSON with 421", { status: 421, json: { error: "misdirected" } }, lost(otherShape)),
  ...rows("a reset connection", { fault: "reset" }, lost(network)),
  ...rows("an answer that breaks off", { fault: "cut", text: '{"a' }, lost(network)),
  ...rows("silence", { fault: "silence" }, lost("TransportError timed_out")),
];

/** The address is wrong. Of these answers only JSON can be the service's own. */
const sayingSo = { says: /Is baseUrl/ };
const ofRouter = { ...ofA(otherShape, otherShape), [B]: otherShape, completeLogin: otherShape };
const redirect: Answer = { status: 307, headers: { location: "{base}/x" } };
const wrongAddresses: readonly Row[] = [
  ...rows("a redirect", redirect, lost(redirected), sayingSo),
  ...[404, 405, 410].flatMap((status) => [
    ...rows(`a page with ${status}`, page(status), lost(notJson), sayingSo),
    ...rows(`JSON with ${status}`, error(status, "not_found"), ofRouter, sayingSo),
  ]),
];

const limits: Readonly<Record<string, Answer>> = {
  "a 429": { status: 429 },
  "a 429 as a page": page(429),
  "a 429 with JSON": error(429, "too_many"),
};
const patient = { options: { retryDeadlineMs: 60_000 }, expected: "works" } as const;
const once = (status: number): [Answer] => [{ status, isUnspent: true }];

/** Section 8. A rate limit is waited for, except by a code, which is sent only once. */
const rateLimits: readonly Row[] = [
  ...Object.entries(limits).flatMap(([name, limit]): Row[] => {
    const row = { name, answers: [{ ...limit, isUnspent: true }], says: /429|rate limit/ };
    const waiting = { ...row, expected: limited, later: "works" } as const;
    const unknown = { expected: loginUnknown, later: loginUnknown, sent: { refresh: 1 } };
    return [
      ...([A, B] as const).map((way) => ({ ...waiting, way, sent: { token: 2 } })),
      { ...waiting, way: "resumeAuth", sent: { refresh: 2 }, ...("text" in limit ? unknown : {}) },
      { ...row, way: L, expected: launchRefused, sent: { code: 1 } },
      { ...row, way: "completeLogin", expected: loginRefused, sent: { code: 1 } },
    ];
  }),
  ...([A, B, "resumeAuth"] as const).map((way): Row => {
    return {
      ...patient,
      way,
      name: "one 429 and time to wait",
      answers: once(429),
      waitsMs: 2_000,
    };
  }),
  ...([A, B] as const).flatMap((way): Row[] => {
    const row = { ...patient, way, sent: { token: 2 } };
    const endless = { answers: { status: 503 }, expected: notJson, sent: { token: 3 } };
    return [
      { ...row, name: "one 502", answers: once(502) },
      { ...row, name: "one reset connection", answers: [{ fault: "reset" }] },
      { ...row, name: "503 without end", ...endless },
    ];
  }),
];

/** What an honest server refuses by the rules. */
const ahead = (seconds: number) => ({ world: { aheadMs: seconds * 1_000 } });
const audience = "https://inside.example/token";
const service = { pluginType: "service" } as const;
const userInterface = { pluginType: "user interface" } as const;
const row = (name: string, way: Way, expected: Expected, more: Partial<Row>): Row => {
  return { name, way, expected, ...more };
};
const disabled = { world: { isEnabled: false }, says: /disabled/ };
const unknownKey = { credential: { privateKey: pkcs8(otherRsaKey()) }, says: /JWKS/ };
const unknownId = { credential: { clientId: "unknown" }, says: /client id/ };
const registrations: readonly Row[] = [
  row("a disabled plugin", L, launchRefused, disabled),
  row("another plugin type", A, refused, { world: userInterface, says: /type/ }),
  row("another plugin type", L, launchRefused, { world: service, says: /type/ }),
  row("an unknown plugin", A, refused, unknownId),
  row("an unknown key", L, refused, unknownKey),
  row("a rewriting proxy", A, refused, { world: { audience }, says: /proxy/ }),
  row("a known proxy", L, "works", { world: { audience }, credential: { audience } }),
  row("an unknown account", B, refused, unknownId),
  row("a clock 20 s ahead", A, "works", { ...ahead(20), sent: { token: 1 } }),
  row("a clock 10 min ahead", L, refused, { ...ahead(600), sent: { code: 1 }, says: /clock/i }),
  row("a clock 10 min ahead", B, "works", { ...ahead(600), sent: { token: 1 } }),
];

export const refusals: readonly Row[] = [
  ...[refusalsOfA, refusalsOfB, failures, wrongAddresses, rateLimits, registrations],
].flat();
