// Answers of a token endpoint: by status, content type and shape.
import type { Answer } from "./honest-server.js";
import type { Expected, Row, Way } from "./situation.js";

const waysOfA: readonly Way[] = ["connect, Variant A", "redeemLaunch"];
const waysOfB: readonly Way[] = ["connect, Variant B", "completeLogin", "resumeAuth"];
const allWays: readonly Way[] = [...waysOfA, ...waysOfB];
const machines: readonly Way[] = ["connect, Variant A", "connect, Variant B"];

type Named<T> = Readonly<Record<string, T>>;
const fields = (changed: Record<string, unknown>): Answer => ({ with: changed });
const ACCESS = "access-token-of-this-answer";
const secret = "secret-of-the-answer";

/** Success is any 2xx whose JSON holds an access token; `null` counts as absent. */
const readable: Named<Answer> = {
  "a token with 299": { status: 299, with: {} },
  "a token without a content type": { type: null, with: {} },
  "a token labelled as a page": { type: "text/html", with: {} },
  "a compressed answer": { isGzip: true, with: {} },
  "an answer in small pieces": { isInPieces: true, with: {} },
  "a byte order mark before the JSON": { text: `\uFEFF{"access_token":"${ACCESS}"}` },
  "unknown fields": fields({ scope: "a b", id_token: 7, extra: { deep: [null] } }),
  "token_type null": fields({ token_type: null }),
  "token_type in upper case": fields({ token_type: "BEARER" }),
  "error null beside the token": fields({ error: null, error_description: null }),
  "an empty error beside the token": fields({ error: "" }),
  "revo null": fields({ revo: null }),
  "an access token with signs": fields({ access_token: "abc.def-ghi_~+/jkl==" }),
};
const readableForAll: Named<Answer> = {
  "a token with 201": { status: 201, with: {} },
  "nothing but an access token": { json: { access_token: ACCESS } },
  "refresh_token null": fields({ refresh_token: null }),
  "an empty refresh_token": fields({ refresh_token: "" }),
};

/** Seconds by `expires_in`; 3600 is the figure of the description for both variants. */
const lifetimes: readonly (readonly [unknown, number])[] = [
  [undefined, 3_600],
  [null, 3_600],
  ["1800", 1_800],
  [120, 120],
];

/** Of Variant B only `access_token` and `refresh_token` are shown, so no other costs a token. */
const unshownInB: Named<Answer> = {
  "token_type mac": fields({ token_type: "mac" }),
  "token_type as a number": fields({ token_type: 7 }),
  "expires_in 0": fields({ expires_in: 0 }),
  "expires_in beyond a year": fields({ expires_in: 4e9 }),
  "expires_in 1e3": fields({ expires_in: "1e3" }),
  "expires_in as a list": fields({ expires_in: [3600] }),
};

/** No token can be read in these, so a code or refresh token that was sent may be spent. */
const withoutToken: Named<Answer> = {
  "an empty access_token": fields({ access_token: "" }),
  "access_token as a number": fields({ access_token: 123_456_789 }),
  "an access_token with a space": fields({ access_token: `${secret} x` }),
  "an access_token with a line break": fields({ access_token: `${secret}\r\nx: y` }),
  "an access_token outside ASCII": fields({ access_token: `${secret}é` }),
  "a token in an envelope": { json: { data: { access_token: secret } } },
  "JSON null": { json: null },
  "a JSON string": { json: secret },
};
const withoutTokenForAll: Named<Answer> = {
  "no access_token": fields({ access_token: undefined }),
  "a JSON list": { json: [{ access_token: secret }] },
};
const notJson: Named<Answer> = {
  "an empty body": { text: "" },
  "an answer with 204": { status: 204, text: "" },
  "a page with 200": { text: "<html>Welcome</html>", type: "text/html" },
  "half an object": { text: `{"access_token":"${secret}` },
};
const tooLarge = { "an answer above 1 MiB": fields({ pad: "x".repeat(1_100_000) }) };

/** The operator and roles of a launch (section 2.3), in the spellings of the description. */
const ada = { userId: "u-7", firstname: "Ada", lastname: "Byron" };
const leaves = { "revo.user.userId": "u-7", "revo.user.firstname": "Ada" };
const flat = (changed: object): Answer => fields({ revo: undefined, ...changed });
const user = (value: unknown): Answer => fields({ revo: { user: value } });
const roles = (value: unknown): Answer => fields({ revo: { user: ada, roles: value } });
const partly = [null, { name: "p", group: "g" }, 7, "q", { name: "r", group: 2 }, { group: "h" }];
const readPartly = [{ name: "p", group: "g" }, { name: "q" }, { name: "r" }];
const operators: readonly (readonly [string, Answer, Record<string, unknown>])[] = [
  ["revo as an object", user(ada), { operator: ada }],
  ["revo.user as a flat key", flat({ "revo.user": ada }), { operator: ada }],
  ["leaf keys", flat({ ...leaves, revo: { "user.lastname": "Byron" } }), { operator: ada }],
  ["revo.tenant as a flat key", flat({ "revo.tenant": "acme" }), { tenant: "acme" }],
  ["revo.tenant as a number", fields({ revo: { tenant: 42 } }), { tenant: "42" }],
  ["revo as a text", fields({ revo: "acme" }), { operator: undefined, tenant: undefined }],
  ["userId as a number", user({ userId: 0 }), { operator: { userId: "0" } }],
  ["firstname null", user({ userId: "u-7", firstname: null }), { operator: { userId: "u-7" } }],
  ["user null", user(null), { operator: undefined }],
  ["roles null", roles(null), { roles: undefined, operator: ada }],
  ["roles that can be read in part", roles(partly), { roles: readPartly }],
];
const unreadOperators: Named<unknown> = {
  "a user without userId": { firstname: "Ada" },
  "an empty userId": { userId: "" },
  "a userId that JSON rounds": { userId: 2 ** 53 },
  "user as a text": "u-7",
};

const unreadableFor = (way: Way, code: string): Expected => {
  if (way === "redeemLaunch") return "RelaunchRequiredError launch_outcome_unknown";
  if (waysOfB.slice(1).includes(way)) return "LoginRequiredError login_outcome_unknown";
  return `UnexpectedResponseError ${code}`;
};
const unreadable = (all: Named<Answer>, code: string, ways: readonly Way[]): Row[] =>
  Object.entries(all).flatMap(([name, answers]) =>
    ways.map((way) => ({ name, way, answers, expected: unreadableFor(way, code) })),
  );
const works = (all: Named<Answer>, ways: readonly Way[], more: Partial<Row> = {}): Row[] =>
  Object.entries(all).flatMap(([name, answers]) =>
    ways.map((way) => ({ name, way, answers, expected: "works" as const, ...more })),
  );

/** A refusal in the service's own words, although the status says success. */
const invalidGrant: readonly (readonly [Way, Expected])[] = [
  ["connect, Variant A", "TokenRequestError token_refused"],
  ["connect, Variant B", "TokenRequestError token_refused"],
  ["redeemLaunch", "RelaunchRequiredError launch_refused"],
  ["completeLogin", "LoginRequiredError login_refused"],
  ["resumeAuth", "LoginRequiredError login_refused"],
];
const refusal: Answer = { json: { error: "invalid_grant" } };

export const tokenAnswers: readonly Row[] = [
  ...works(readable, machines),
  ...works(readableForAll, allWays),
  ...lifetimes.flatMap(([given, lifetimeSeconds]) => {
    const name = `expires_in ${JSON.stringify(given) ?? "absent"}`;
    const answers = { [name]: fields({ expires_in: given }) };
    return works(answers, machines, { token: { lifetimeSeconds } });
  }),
  ...works(unshownInB, ["connect, Variant B"], { token: { lifetimeSeconds: 3_600 } }),
  ...unreadable(unshownInB, "response_shape", ["connect, Variant A"]),
  ...unreadable(withoutToken, "response_shape", machines),
  ...unreadable(withoutTokenForAll, "response_shape", allWays),
  ...unreadable(notJson, "response_not_json", allWays),
  ...unreadable(tooLarge, "response_too_large", allWays),
  ...operators.flatMap(([name, answer, token]) =>
    works({ [name]: answer }, ["redeemLaunch"], { token }),
  ),
  ...Object.entries(unreadOperators).flatMap(([name, value]) => {
    const more = { token: { operator: undefined }, event: /operator|user/ };
    return works({ [name]: user(value) }, ["redeemLaunch"], more);
  }),
  ...works({ "another tenant": fields({ revo: { tenant: "other" } }) }, waysOfA, {
    event: /tenant_differs/,
  }),
  ...invalidGrant.map(([way, expected]) => {
    return { name: "invalid_grant with 200", way, answers: refusal, expected };
  }),
];
