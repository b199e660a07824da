// Calls of the API: by status, body, method and age of the token, and what is sent again.
import type { Answer, Answers } from "./honest-server.js";
import type { AnyService, Expected, Row, Way } from "./situation.js";

const A = "connect, Variant A" as const;
const B = "connect, Variant B" as const;
const network: Expected = "TransportError network_failed";

/** Rows without retries, unless they say otherwise, for both variants or for `ways`. */
function rows(
  name: string,
  answers: Answers,
  expected: Expected,
  more: Partial<Row> = {},
  ways: readonly Way[] = [A, B],
): Row[] {
  const options = { maxRetries: 0 };
  return ways.map((way) => ({ at: "call", options, ...more, name, answers, expected, way }));
}
const sent = (call: number, tokens = 1) => ({ sent: { call, token: tokens } });
const page = (status: number): Answer => ({ status, text: "<h1>No</h1>", type: "text/html" });
const apiError = (status: number): Expected => {
  if (status === 401) return "ApiError api_unauthorized";
  if (status === 403) return "ApiError api_forbidden";
  if (status === 429) return "ApiError api_rate_limited";
  if (status >= 500) return "ApiError api_failed";
  return status >= 400 ? "ApiError api_refused" : "ApiError api_undocumented";
};

const large = ["x".repeat(1_200_000)];
const text = ["a text in pieces"];
const bodies: readonly (readonly [string, Answer, unknown])[] = [
  ["an object with a field error", { json: { error: "none" } }, { error: "none" }],
  ["JSON without a content type", { json: [1], type: null }, [1]],
  ["a compressed body", { json: [1], isGzip: true }, [1]],
  ["a body in pieces", { json: text, isInPieces: true }, text],
  ["a body above 1 MiB", { json: large }, large],
];
const successes: readonly Row[] = [
  ...bodies.flatMap(([name, answer, data]) => rows(name, answer, "works", { outcome: { data } })),
  ...rows("a body that breaks off", { fault: "cut", text: "[" }, network, sent(1)),
];

/** Every status but the documented success is an outcome with an error, whatever the body. */
const others = [
  201, 204, 304, 400, 401, 402, 403, 404, 405, 408, 409, 421, 422, 429, 500, 503, 520,
];
const statuses: readonly Row[] = [
  ...others.flatMap((status) => [
    ...rows(`JSON with ${status}`, { status, json: { message: "no" } }, apiError(status), {}, [A]),
    ...rows(`a page with ${status}`, page(status), apiError(status), {}, [B]),
  ]),
  ...[401, 403, 404, 429, 503].flatMap((status) =>
    rows(`an empty ${status}`, { status }, apiError(status), {}, ["redeemLaunch", "completeLogin"]),
  ),
  ...rows("2 MiB with 500", { status: 500, text: "x".repeat(2 ** 21) }, apiError(500)),
];

/** Redirects are followed, and the bearer stays under the base URL. */
const to = (status: number, location: string): Answer => ({ status, headers: { location } });
const redirects: readonly Row[] = [
  ...rows("302 under the base URL", [to(302, "{base}/v2/x")], "works", sent(2)),
  ...rows("302 outside", [to(302, "{outside}/x")], "works", { outcome: { data: ["outside"] } }),
  ...rows("302 without an address", { status: 302 }, apiError(302)),
  ...rows("a circle", to(302, "{base}/v1/devices"), apiError(302)),
];

type Call = NonNullable<Row["call"]>;
const calling = (id: string, init?: object): Call => {
  return (service: AnyService) => service.call(id, init);
};
const body = { body: { a: 1 } };
const faults: Readonly<Record<string, Answer>> = {
  "503": { status: 503 },
  "429": { status: 429 },
  "a reset": { fault: "reset" },
  "a cut answer": { fault: "cut", text: "[" },
};
const options = { retryDeadlineMs: 60_000 };

/** Calls that are idempotent by RFC 9110 are retried twice by default, and all after a 429. */
const retries: readonly Row[] = [
  ...Object.entries(faults).flatMap(([fault, answer]): Row[] => {
    const failed = answer.status === undefined ? network : apiError(answer.status);
    const isRetried = answer.status === 429;
    const post = { options, call: calling("POST", body), ...sent(isRetried ? 3 : 1) };
    const put = { options, call: calling("PUT", body), ...sent(3) };
    const get = { options, outcome: { retries: 2 }, event: /call_retried/, ...sent(3) };
    const twice = [answer, answer];
    return [
      ...rows(`${fault} twice`, twice, "works", get),
      ...rows(`${fault} three times`, answer, failed, { options, ...sent(3) }),
      ...rows(`${fault} to a PUT`, twice, "works", put, [A]),
      ...rows(`${fault} to a POST`, twice, isRetried ? "works" : failed, post),
    ];
  }),
  ...[429, 503].flatMap((status) => {
    const soon: Answer = { status, headers: { "retry-after": "7" } };
    const late: Answer = { status, headers: { "retry-after": "3600" } };
    const once = { options, ...sent(1) };
    return [
      ...rows(`${status} with Retry-After: 7`, [soon], "works", { options, waitsMs: 7_000 }),
      ...rows(`${status} beyond the deadline`, [late], apiError(status), once),
    ];
  }),
];

/** A refused bearer: an old token is renewed and the call sent once more. */
const old = { ageMs: 31_000 };
const renewed = { ...old, ...sent(2, 2) };
const byPost = { ...renewed, call: calling("POST", body) };
const relaunch = { ...old, ...sent(1, 0), says: /open the plugin again/ };
const refreshed = { ...old, sent: { call: 2, refresh: 1 } };
const bearers: readonly Row[] = [
  ...rows("a 401 for an old token by POST", [{ status: 401 }], "works", byPost),
  ...rows("a 401 for an old launch", { status: 401 }, apiError(401), relaunch, ["redeemLaunch"]),
  ...rows("a 401 for an old login", [{ status: 401 }], "works", refreshed, ["completeLogin"]),
];

/** Why a 403 came: what is known decides the order of the causes. */
const refusal = (name: string, more: Partial<Row>, ...ways: Way[]): Row[] =>
  rows(name, { status: 403 }, apiError(403), more, ways);
const reasons: readonly Row[] = [
  ...refusal("a 403 for a list", { causes: /^scope_missing grant_narrowed(?!.*device)/ }, A),
  ...refusal("a 403 for an operator", { says: /operator/ }, "redeemLaunch"),
];

/** `service.fetch` returns the response as it is. */
const fetching = (path: string, init?: RequestInit): Call => {
  return async (service) => ({ status: (await service.fetch(path, init)).status });
};
const get = { call: fetching("v1/x") };
const post = { call: fetching("v1/x", { method: "POST", body: "x" }), ...sent(1) };
const outside = { call: fetching("https://elsewhere.example/x"), ...sent(0) };
const fetches: readonly Row[] = [
  ...[204, 302, 404, 500].flatMap((status) =>
    rows(`fetch with ${status}`, { status }, "works", { ...get, ...sent(1), outcome: { status } }),
  ),
  ...rows("fetch with a 401 for an old token", [{ status: 401 }], "works", { ...get, ...renewed }),
  ...rows("fetch of a reset POST", { fault: "reset" }, network, post),
  ...rows("fetch outside the base URL", {}, "ConfigurationError option_invalid", outside),
];

export const calls: readonly Row[] = [
  ...[successes, statuses, redirects, retries, bearers, reasons, fetches],
].flat();
