// Calls of the API: by status, body, method and age of the token, and what is sent again.
import type { Answer, Answers } from "./honest-server.js";
import type { AnyService, Expected, Row, Way } from "./situation.js";

const A = "connect, Variant A" as const;
const B = "connect, Variant B" as const;
const network: Expected = "TransportError network_failed";
const notJson: Expected = "UnexpectedResponseError response_not_json";

/** Rows without retries, unless they say otherwise, for both variants or for `ways`. */
function rows(
  name: string,
  answers: Answers,
  expected: Expected,
  more: Partial<Row> = {},
  ways: readonly Way[] = [A, B],
): Row[] {
  return ways.map((way) => ({
    at: "call",
    options: { maxRetries: 0 },
    ...more,
    name,
    answers,
    expected,
    way,
  }));
}
const sent = (call: number, tokens = 1) => ({ sent: { call, token: tokens } });
const page = (status: number): Answer => ({ status, text: "<h1>No</h1>", type: "text/html" });
const apiError = (status: number): Expected => {
  const known: Record<number, string> = {
    401: "unauthorized",
    403: "forbidden",
    429: "rate_limited",
  };
  const other = status >= 500 ? "failed" : status >= 400 ? "refused" : "undocumented";
  return `ApiError api_${known[status] ?? other}`;
};

const large = ["x".repeat(1_200_000)];
const text = ["a text in pieces"];
const bodies: readonly (readonly [string, Answer, unknown])[] = [
  ["a list", { json: [{ id: 1 }] }, [{ id: 1 }]],
  ["an object with a field error", { json: { error: "none" } }, { error: "none" }],
  ["JSON null", { json: null }, null],
  ["the number 0", { json: 0 }, 0],
  ["an empty string", { json: "" }, ""],
  ["an empty body", { text: "" }, undefined],
  ["JSON without a content type", { json: [1], type: null }, [1]],
  ["vendor JSON", { json: [1], type: "application/vnd.devices+json" }, [1]],
  ["a byte order mark", { text: "\uFEFF[1]" }, [1]],
  ["a compressed body", { json: [1], isGzip: true }, [1]],
  ["a body in pieces", { json: text, isInPieces: true }, text],
  ["a body above 1 MiB", { json: large }, large],
];
const successes: readonly Row[] = [
  ...bodies.flatMap(([name, answer, data]) => rows(name, answer, "works", { outcome: { data } })),
  ...rows("a page with 200", page(200), notJson),
  ...rows("half an object with 200", { text: "[1," }, notJson),
  ...rows("a reset connection", { fault: "reset" }, network, sent(1)),
  ...rows("a body that breaks off", { fault: "cut", text: "[" }, network, sent(1)),
  ...rows("silence", { fault: "silence" }, "TransportError timed_out", {
    options: { maxRetries: 0 },
  }),
];

/** Every status but the documented success is an outcome with an error, whatever the body. */
const refused = [
  400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 413, 415, 418, 421, 422, 423, 429, 451,
];
const statuses: readonly Row[] = [
  ...[201, 202, 204, 300, 304, ...refused, 500, 501, 502, 503, 504, 520].flatMap((status) => [
    ...rows(`an empty ${status}`, { status }, apiError(status)),
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
  ...[301, 302, 303, 307, 308].flatMap((status) =>
    rows(`${status} under the base URL`, [to(status, "{base}/v2/x")], "works", sent(2)),
  ),
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
  "502": { status: 502 },
  "503": { status: 503 },
  "504": { status: 504 },
  "429": { status: 429 },
  "a reset": { fault: "reset" },
  "a cut answer": { fault: "cut", text: "[" },
};
const options = { retryDeadlineMs: 60_000 };
const noRetries = { options: { ...options, maxRetries: 0 } };
const after = (status: number, seconds: string): [Answer] => [
  { status, headers: { "retry-after": seconds } },
];

const counted = { outcome: { retries: 2 }, event: /call_finished|call_retried/ };

/**
 * Methods that are idempotent by RFC 9110 are retried twice by default, and a 429 whatever the
 * method.
 */
const retries: readonly Row[] = [
  ...Object.entries(faults).flatMap(([fault, answer]): Row[] => {
    const failed = answer.status === undefined ? network : apiError(answer.status);
    const [twice, thrice] = [Array(2).fill(answer), Array(3).fill(answer)];
    const by = (method: string, init?: object) => ({ options, call: calling(method, init) });
    const perhaps = (method: string): Row[] =>
      answer.status === 429
        ? rows(`${fault} to a ${method}`, twice, "works", { ...by(method, body), ...sent(3) })
        : rows(`${fault} to a ${method}`, twice, failed, { ...by(method, body), ...sent(1) });
    const [none, three] = [
      by("listDevices", { maxRetries: 0 }),
      by("listDevices", { maxRetries: 3 }),
    ];
    return [
      ...rows(`${fault} twice`, twice, "works", { options, ...sent(3), ...counted }),
      ...rows(`${fault} three times`, answer, failed, { options, ...sent(3) }),
      ...rows(`${fault} with maxRetries: 0`, answer, failed, { ...noRetries, ...sent(1) }),
      ...rows(`${fault} with maxRetries: 0 for the call`, answer, failed, { ...none, ...sent(1) }),
      ...rows(`${fault} with maxRetries: 3 for the call`, thrice, "works", {
        ...three,
        ...sent(4),
      }),
      ...rows(`${fault} to a PUT`, twice, "works", { ...by("PUT", body), ...sent(3) }),
      ...rows(`${fault} to a DELETE`, twice, "works", { ...by("DELETE"), ...sent(3) }),
      ...perhaps("POST"),
      ...perhaps("PATCH"),
    ];
  }),
  ...[400, 404, 408, 500, 501].flatMap((status) =>
    rows(`${status} is not retried`, [{ status }], apiError(status), { options, ...sent(1) }),
  ),
  ...[429, 503].flatMap((status) => [
    ...rows(`${status} with Retry-After: 7`, after(status, "7"), "works", {
      options,
      waitsMs: 7_000,
    }),
    ...rows(`${status} beyond the deadline`, after(status, "3600"), apiError(status), {
      options,
      ...sent(1),
    }),
    ...rows(`${status} and no time to wait`, [{ status }], apiError(status), {
      options: {},
      ...sent(1),
    }),
  ]),
];

/** A refused bearer: an old token is renewed and the call sent once more, a young token is kept. */
const old = { ageMs: 31_000 };
const oldPost = { ...old, call: calling("POST", body) };
const naming = (...unauthorizedStatuses: number[]) => ({
  ...old,
  options: { maxRetries: 0, unauthorizedStatuses },
});
const relaunch = { ...old, ...sent(1, 0), says: /open the plugin again/ };
const refreshed = { ...old, sent: { call: 2, refresh: 1 } };
/** The second call of a token that the first has shown to work. */
const second: Call = async (service) => {
  await service.call("listDevices");
  return service.call("listDevices");
};
const bearers: readonly Row[] = [
  ...rows("a 401 for an old token", [{ status: 401 }], "works", { ...old, ...sent(2, 2) }),
  ...rows("a 401 for an old and a new token", { status: 401 }, apiError(401), {
    ...old,
    ...sent(2, 2),
  }),
  ...rows("a 401 for a young token", { status: 401 }, apiError(401), { ageMs: 1_000, ...sent(1) }),
  ...rows("a 401 for an old token by POST", [{ status: 401 }], "works", {
    ...oldPost,
    ...sent(2, 2),
  }),
  ...rows("a 403 for an old token", { status: 403 }, apiError(403), { ...old, ...sent(1) }),
  ...[403, 404, 419].flatMap((status) =>
    rows(`a ${status} in unauthorizedStatuses`, [{ json: [] }, { status }], "works", {
      ...naming(401, status),
      ...sent(3, 2),
      call: second,
    }),
  ),
  ...rows("a 401 not in unauthorizedStatuses", { status: 401 }, apiError(401), {
    ...naming(403),
    ...sent(1),
  }),
  ...rows("a 401 for an old launch", { status: 401 }, apiError(401), relaunch, ["redeemLaunch"]),
  ...rows("a 401 for an old login", [{ status: 401 }], "works", refreshed, ["completeLogin"]),
];

/** Why a 403 came: what is known decides the order of the causes. */
const device = { call: calling("getDevice", { params: { path: { deviceId: "d1" } } }) };
const none = { status: 403 };
const forbidden = apiError(403);
const worked = { call: second, causes: /^(?!scope_missing).*grant_narrowed/ };
const reasons: readonly Row[] = [
  ...rows(
    "a 403 for a list",
    none,
    forbidden,
    { causes: /^scope_missing grant_narrowed(?!.*device)/ },
    [A],
  ),
  ...rows("a 403 for a device", none, forbidden, { ...device, causes: /device_restricted/ }, [A]),
  ...rows("a 403 for an operator", none, forbidden, { says: /operator/ }, ["redeemLaunch"]),
  ...rows("a 403 for a role", none, forbidden, { says: /"remedy":"[^"]*role/ }, [
    B,
    "completeLogin",
  ]),
  ...rows("a 403 on a route that worked", [{ json: [] }, none], forbidden, worked, [A]),
];

/** `service.fetch` returns the response as it is. */
const fetching = (path: string, init?: RequestInit): Call => {
  return async (service) => ({ status: (await service.fetch(path, init)).status });
};
const get = { call: fetching("v1/x") };
const post = { call: fetching("v1/x", { method: "POST", body: "x" }) };
const outside = { call: fetching("https://elsewhere.example/x"), ...sent(0) };
const fetches: readonly Row[] = [
  ...[200, 201, 204, 302, 400, 403, 404, 500].flatMap((status) =>
    rows(`fetch with ${status}`, { status }, "works", { ...get, ...sent(1), outcome: { status } }),
  ),
  ...rows("fetch with a 401 for an old token", [{ status: 401 }], "works", {
    ...get,
    ...old,
    ...sent(2, 2),
  }),
  ...rows("fetch of a reset POST", { fault: "reset" }, network, { ...post, ...sent(1) }),
  ...rows("fetch outside the base URL", {}, "ConfigurationError option_invalid", outside),
];

export const calls: readonly Row[] = [
  successes,
  statuses,
  redirects,
  retries,
  bearers,
  reasons,
  fetches,
].flat();
