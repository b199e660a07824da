// Answers of a token endpoint: by status, content type and shape, for every way to a token.
import type { Answer } from "./honest-server.js";
import type { Expected, Row, Way } from "./situation.js";

const waysOfA: readonly Way[] = ["connect, Variant A", "redeemLaunch"];
const waysOfB: readonly Way[] = ["connect, Variant B", "completeLogin", "resumeAuth"];
const allWays: readonly Way[] = [...waysOfA, ...waysOfB];

type Named<T> = Readonly<Record<string, T>>;
const fields = (changed: Record<string, unknown>): Answer => ({ with: changed });
const ACCESS = "access-token-of-this-answer";
const secret = "secret-of-the-answer";

/** Success is any 2xx whose JSON holds an access token; `null` counts as absent. */
const readable: Named<Answer> = {
  "a token with 200": { with: {} },
  "a token with 201": { status: 201, with: {} },
  "a token with 202": { status: 202, with: {} },
  "a token with 203": { status: 203, with: {} },
  "a token with 299": { status: 299, with: {} },
  "a token without a content type": { type: null, with: {} },
  "a token as text/plain": { type: "text/plain", with: {} },
  "a token labelled as a page": { type: "text/html", with: {} },
  "a token as JSON with a charset": { type: "application/json; charset=UTF-8", with: {} },
  "a token as vendor JSON": { type: "application/vnd.service+json", with: {} },
  "a compressed answer": { isGzip: true, with: {} },
  "an answer in small pieces": { isInPieces: true, with: {} },
  "a byte order mark before the JSON": { text: `\uFEFF{"access_token":"${ACCESS}"}` },
  "JSON between line breaks": { text: `\r\n {"access_token":"${ACCESS}"}\n\n` },
  "nothing but an access token": { json: { access_token: ACCESS } },
  "unknown fields": fields({ scope: "a b", id_token: 7, extra: { deep: [null] } }),
  "no token_type": fields({ token_type: undefined }),
  "token_type null": fields({ token_type: null }),
  "token_type in lower case": fields({ token_type: "bearer" }),
  "token_type in upper case": fields({ token_type: "BEARER" }),
  "error null beside the token": fields({ error: null, error_description: null }),
  "an empty error beside the token": fields({ error: "" }),
  "refresh_token null": fields({ refresh_token: null }),
  "an empty refresh_token": fields({ refresh_token: "" }),
  "revo null": fields({ revo: null }),
  "an access token of 6,000 characters": fields({ access_token: "x".repeat(6_000) }),
  "an access token with signs": fields({ access_token: "abc.def-ghi_~+/jkl==" }),
};

/** Seconds by `expires_in`; 3600 is the figure of the description for both variants. */
const lifetimes: readonly (readonly [unknown, number])[] = [
  [undefined, 3_600],
  [null, 3_600],
  ["1800", 1_800],
  [120, 120],
  [86_400, 86_400],
];

/**
 * Of Variant B only `access_token` and `refresh_token` are shown, so no other field costs a good
 * token.
 */
const unshownInB: Named<Answer> = {
  "token_type mac": fields({ token_type: "mac" }),
  "token_type as a number": fields({ token_type: 7 }),
  "expires_in 0": fields({ expires_in: 0 }),
  "expires_in -1": fields({ expires_in: -1 }),
  "expires_in 1h": fields({ expires_in: "1h" }),
  "expires_in beyond a year": fields({ expires_in: 4e9 }),
  "expires_in true": fields({ expires_in: true }),
  "an empty expires_in": fields({ expires_in: "" }),
  "expires_in 1e3": fields({ expires_in: "1e3" }),
  "expires_in as a list": fields({ expires_in: [3600] }),
};

/** No token can be read in these, so a code or refresh token that was sent may be spent. */
const withoutToken: Named<Answer> = {
  "no access_token": fields({ access_token: undefined }),
  "access_token null": fields({ access_token: null }),
  "an empty access_token": fields({ access_token: "" }),
  "access_token as a number": fields({ access_token: 123_456_789 }),
  "an access_token with a space": fields({ access_token: `${secret} x` }),
  "an access_token with a line break": fields({ access_token: `${secret}\r\nx: y` }),
  "an access_token as an object": fields({ access_token: { value: secret } }),
  "an access_token with a control character": fields({ access_token: `${secret}\u0001` }),
  "an access_token outside ASCII": fields({ access_token: `${secret}é` }),
  "an empty object with 201": { status: 201, json: {} },
  "a token under another name": { json: { accessToken: secret } },
  "a token in an envelope": { json: { data: { access_token: secret } } },
  "JSON null": { json: null },
  "a JSON list": { json: [{ access_token: secret }] },
  "a JSON string": { json: secret },
};
const notJson: Named<Answer> = {
  "an empty body": { text: "" },
  "an empty body with 202": { status: 202, text: "" },
  "an answer with 204": { status: 204, text: "" },
  "a page with 200": { text: "<html>Welcome</html>", type: "text/html" },
  "half an object": { text: `{"access_token":"${secret}` },
  "a form as the answer": { text: `access_token=${secret}`, type: "text/plain" },
};
const tooLarge = { "an answer above 1 MiB": fields({ pad: "x".repeat(1_100_000) }) };

/**
 * The operator and roles of a launch (section 2.3), in every spelling that the description allows.
 */
const ada = { userId: "u-7", firstname: "Ada", lastname: "Byron" };
const leaves = {
  "revo.user.userId": "u-7",
  "revo.user.firstname": "Ada",
  "revo.user.lastname": "Byron",
};
const flat = (changed: object): Answer => fields({ revo: undefined, ...changed });
const user = (value: unknown): Answer => fields({ revo: { user: value } });
const roles = (value: unknown): Answer => fields({ revo: { user: ada, roles: value } });
const operators: Named<readonly [Answer, Record<string, unknown>]> = {
  "revo as an object": [user(ada), { operator: ada }],
  "revo.user as a flat key": [
    flat({ "revo.tenant": "acme", "revo.user": ada }),
    { operator: ada, tenant: "acme" },
  ],
  "revo.user.userId as a leaf key": [flat(leaves), { operator: ada }],
  "userId as a number": [user({ userId: 42 }), { operator: { userId: "42" } }],
  "leaf keys, some in revo": [
    flat({ ...leaves, "revo.user.lastname": undefined, revo: { "user.lastname": "Byron" } }),
    { operator: ada },
  ],
  "revo as a text": [fields({ revo: "acme" }), { operator: undefined, tenant: undefined }],
  "a group that is a number": [
    roles([{ name: "c", group: 2 }, { group: "g" }]),
    { roles: [{ name: "c" }] },
  ],
  "userId 0": [user({ userId: 0 }), { operator: { userId: "0" } }],
  "firstname null": [user({ userId: "u-7", firstname: null }), { operator: { userId: "u-7" } }],
  "user null": [user(null), { operator: undefined }],
  "roles as objects": [roles([{ name: "p", group: "g" }]), { roles: [{ name: "p", group: "g" }] }],
  "roles as texts": [roles(["p", "q"]), { roles: [{ name: "p" }, { name: "q" }] }],
  "roles null": [roles(null), { roles: undefined, operator: ada }],
  "roles that can be read in part": [
    roles([null, { name: "p" }, 7, "q"]),
    { roles: [{ name: "p" }, { name: "q" }] },
  ],
  "a group that is null": [roles([{ name: "p", group: null }]), { roles: [{ name: "p" }] }],
  "revo.tenant null": [
    fields({ revo: { tenant: null, user: ada } }),
    { operator: ada, tenant: undefined },
  ],
  "revo.tenant as a number": [fields({ revo: { tenant: 42 } }), { tenant: "42" }],
};
const unreadOperators: Named<unknown> = {
  "a user without userId": { firstname: "Ada" },
  "userId null": { userId: null },
  "userId as an object": { userId: {} },
  "an empty userId": { userId: "" },
  "user as a text": "u-7",
  "a userId that JSON rounds": { userId: 2 ** 53 },
  "user as a list": [ada],
};

const unreadableFor = (way: Way, code: string): Expected => {
  if (way === "redeemLaunch") return "RelaunchRequiredError launch_outcome_unknown";
  if (waysOfB.slice(1).includes(way)) return "LoginRequiredError login_outcome_unknown";
  return `UnexpectedResponseError ${code}`;
};
const unreadable = (all: Named<Answer>, code: string, ways: readonly Way[] = allWays): Row[] =>
  Object.entries(all).flatMap(([name, answers]) =>
    ways.map((way) => ({ name, way, answers, expected: unreadableFor(way, code) })),
  );
const works = (all: Named<Answer>, ways: readonly Way[], more: Partial<Row> = {}): Row[] =>
  Object.entries(all).flatMap(([name, answers]) =>
    ways.map((way) => ({ name, way, answers, expected: "works" as const, ...more })),
  );

/** A refusal in the service's own words, although the status says success. */
const invalidGrant: Partial<Record<Way, Expected>> = {
  "connect, Variant A": "TokenRequestError token_refused",
  "connect, Variant B": "TokenRequestError token_refused",
  redeemLaunch: "RelaunchRequiredError launch_refused",
  completeLogin: "LoginRequiredError login_refused",
  resumeAuth: "LoginRequiredError login_refused",
};

export const tokenAnswers: readonly Row[] = [
  ...works(readable, allWays),
  ...lifetimes.flatMap(([given, lifetimeSeconds]) => {
    const name = `expires_in ${JSON.stringify(given) ?? "absent"}`;
    return works({ [name]: fields({ expires_in: given }) }, allWays, {
      token: { lifetimeSeconds },
    });
  }),
  ...works(unshownInB, waysOfB, { token: { lifetimeSeconds: 3_600 } }),
  ...unreadable(unshownInB, "response_shape", waysOfA),
  ...unreadable(withoutToken, "response_shape"),
  ...unreadable(notJson, "response_not_json"),
  ...unreadable(tooLarge, "response_too_large"),
  ...Object.entries(operators).flatMap(([name, [answer, token]]) =>
    works({ [name]: answer }, ["redeemLaunch"], { token }),
  ),
  ...Object.entries(unreadOperators).flatMap(([name, value]) =>
    works({ [name]: user(value) }, ["redeemLaunch"], {
      token: { operator: undefined },
      event: /operator|user/,
    }),
  ),
  ...works({ "another tenant": fields({ revo: { tenant: "other" } }) }, waysOfA, {
    event: /tenant_differs/,
  }),
  ...(Object.entries(invalidGrant) as [Way, Expected][]).map(([way, expected]) => {
    return {
      name: "invalid_grant with 200",
      way,
      answers: { json: { error: "invalid_grant" } },
      expected,
    };
  }),
];
