// Token requests of both variants (sections 4.1, 4.2, 7.1 and 8): body, fields, client, rate limit.
import type { RateLimit, RuleId } from "../../../src/emulator/index.js";
import { type Changes, TOKEN_PATH_A, TOKEN_PATH_B } from "../deployment.js";
import {
  type Answer,
  accountToken,
  adasToken,
  globexToken,
  invalidClient,
  invalidGrant,
  invalidRequest,
  ok,
  personTokens,
  refused,
  serviceToken,
  unsupportedGrantType,
  wrongMethod,
} from "./answer.js";
import { counted } from "./assertions.js";
import { accepting, group, type Request, type Row, refusing, tokenRequests } from "./row.js";
import { PASSWORDS, unregisteredKey, type World } from "./world.js";

const FORM = "application/x-www-form-urlencoded";
const JSON_TYPE = "application/json";
const BASIC = { authorization: "Basic d29ya2VyOng=" };
const bytes = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));

const bodyA =
  (type: string | undefined, write: (form: string) => BodyInit = String): Request =>
  (world) =>
    world.post(TOKEN_PATH_A, type, write(String(world.form())));
const withMore = (more: string) => bodyA(FORM, (form) => `${form}&${more}`);
const padded = (length: number) => bodyA(FORM, (form) => `${form}&padding=`.padEnd(length, "x"));
/** RFC 6749 section 5.2: a request that lacks a parameter, repeats one or "is malformed". */
const byRfc6749 = { options: { malformedError: "invalid_request" } } as const;
const putA: Request = (world) => {
  const headers = { "content-type": FORM };
  return world.send(TOKEN_PATH_A, { method: "PUT", headers, body: String(world.form()) });
};

export const bodiesA: readonly Row[] = [
  ...group(refusing(invalidGrant, "token-request.media-type"), {
    "a form in another charset": bodyA(`${FORM}; charset=iso-8859-1`),
    // As bytes: a string would be sent as text/plain.
    "a form without Content-Type": bodyA(undefined, bytes),
  }),
  ...group(refusing(invalidGrant, "token-request.media-type", { remains: true }), {
    "a form that is not UTF-8": bodyA(FORM, (form) => bytes(`${form}&note=\u00ff`)),
  }),
  ...group(refusing(invalidGrant, "token-request.body-size"), {
    "a form of 65537 bytes": padded(65_537),
    "a form of 1 MiB": padded(1_048_576),
  }),
  ...group(refusing(invalidGrant, "token-request.duplicate-parameter"), {
    "an unknown parameter twice [6749 3.2]": withMore("note=1&note=2"),
  }),
  ...group(refusing(invalidRequest, "token-request.duplicate-parameter", byRfc6749), {
    "client_id twice, with the option malformedError": withMore("client_id=reporter"),
  }),
  ...group(refusing(wrongMethod("POST"), "token-request.method"), {
    "PUT at Variant A's token endpoint": putA,
  }),
  ...group(accepting(serviceToken), {
    "a form that says it is UTF-8": bodyA(`${FORM};charset="utf-8"`),
    "a form whose type is in upper case": bodyA(FORM.toUpperCase()),
    "a form of 65536 bytes": padded(65_536),
    "a form with unknown parameters [6749 3.2]": withMore("scope=devices:write&redirect_uri=x"),
    "an empty client_secret, which counts as none [6749 3.2]": withMore("client_secret="),
  }),
];

const exchangeOfService = {
  grant_type: "authorization_code",
  code: "c",
  code_verifier: "v".repeat(43),
};
const exchange =
  (form: Changes): Request =>
  (world) =>
    world.exchange(world.launchedCode(), { form });
const without = (field: string) => ({ form: { [field]: undefined } });
const wrongKey = ["token-request.opacity", "token-request.failure-status"] as const;

export const fieldsA: readonly Row[] = [
  ...tokenRequests(refusing(unsupportedGrantType, "token-request.grant-type"), {
    "grant_type Client_Credentials": { form: { grant_type: "Client_Credentials" } },
    "an absent grant_type": without("grant_type"),
  }),
  ...tokenRequests(refusing(invalidGrant, "token-request.one-authentication"), {
    "Basic beside the assertion [6749 2.3]": { headers: BASIC },
  }),
  ...tokenRequests(refusing(invalidRequest, "token-request.assertion-type"), {
    "an absent client_assertion_type": without("client_assertion_type"),
  }),
  ...tokenRequests(refusing(invalidRequest, "token-request.client-id", byRfc6749), {
    "an absent client_id, with the option malformedError": without("client_id"),
  }),
  ...tokenRequests(refusing(invalidRequest, "assertion.present", byRfc6749), {
    "an absent client_assertion, with the option malformedError": without("client_assertion"),
  }),
  ...group(refusing(invalidGrant, "code.known"), {
    "an absent code": exchange({ code: undefined }),
  }),
  ...group(refusing(invalidRequest, "code.known", byRfc6749), {
    "an absent code, with the option malformedError": exchange({ code: undefined }),
  }),
  ...group(refusing(invalidRequest, "code.verifier", byRfc6749), {
    "no code_verifier, with the option malformedError": exchange({ code_verifier: undefined }),
  }),
  ...group(refusing(invalidGrant, "code.known", byRfc6749), {
    "an unknown code, with the option malformedError": exchange({ code: "x" }),
  }),
  ...tokenRequests(refusing(invalidGrant, "plugin.registered"), {
    "the client_id __proto__": { clientId: "__proto__" },
  }),
  ...tokenRequests(
    refusing(invalidGrant, "plugin.enabled", { shapedBy: ["token-request.opacity"] }),
    { "a disabled plugin": { clientId: "off" } },
  ),
  ...tokenRequests(refusing(invalidGrant, "plugin.grant"), {
    "a user-interface plugin by client_credentials": { clientId: "planner" },
  }),
  ...tokenRequests(refusing(invalidGrant, ["plugin.grant", "code.known"]), {
    "a service plugin by authorization_code": { form: exchangeOfService },
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.signature", { shapedBy: wrongKey }), {
    "a wrong key, answered 400 with the fixed text and no-store": { key: unregisteredKey },
  }),
];

const bodyB =
  (type: string, write: (json: string) => BodyInit): Request =>
  (world) =>
    world.post(TOKEN_PATH_B, type, write(JSON.stringify(world.accountFields())));
const account =
  (changes: Changes, headers?: Record<string, string>): Request =>
  (world) =>
    world.postJson(world.accountFields(changes), undefined, headers);
const asForm = (json: string) => String(new URLSearchParams(JSON.parse(json)));
const secretTwice = (json: string) => json.replace("{", '{"client_secret":"x",');
const login =
  (changes: Changes, client_id = "portal"): Request =>
  (world) =>
    world.exchangeLogin(world.loginCode({ client_id }), { client_id, ...changes });
const breaksB = (...breaks: [RuleId, ...RuleId[]]) => refusing(refused(breaks[0]), breaks);

export const bodiesB: readonly Row[] = [
  ...group(breaksB("client-request.media-type"), {
    "JSON that says it is text": bodyB("text/plain", String),
  }),
  ...group(breaksB("client-request.media-type", "client-request.json"), {
    "the fields as a form": bodyB(FORM, asForm),
  }),
  ...group(breaksB("client-request.json"), {
    "a form that says it is JSON": bodyB(JSON_TYPE, asForm),
    "the JSON null": bodyB(JSON_TYPE, () => "null"),
    "JSON that is nested 60,000 times": bodyB(JSON_TYPE, () => "[".repeat(60_000)),
    "JSON that is not UTF-8": bodyB(JSON_TYPE, () => bytes('"\u00ff')),
  }),
  ...group(breaksB("client-request.body-size"), {
    "JSON of 65537 bytes": bodyB(JSON_TYPE, (json) => json.padEnd(65_537)),
  }),
  ...group(refusing(wrongMethod("POST"), "client-request.method"), {
    "GET at Variant B's token endpoint": (world) => world.send(`${TOKEN_PATH_B}?client_id=worker`),
  }),
  ...group(accepting(accountToken), {
    "JSON that says it is UTF-8": bodyB(`${JSON_TYPE}; charset=utf-8`, String),
    "JSON of 65536 bytes": bodyB(JSON_TYPE, (json) => json.padEnd(65_536)),
    "JSON with a member twice, of which the last counts": bodyB(JSON_TYPE, secretTwice),
    "JSON with unknown fields": account({ scope: "devices:write", note: 1 }),
  }),
];

const refreshPath = "/v1/auth/refresh";
const ownRefreshPath = { options: { refreshPath } };
const assertionOfA = { client_assertion: "e30.e30.e30" };
const vault = { client_id: "vault", client_secret: PASSWORDS.vault };

export const fieldsB: readonly Row[] = [
  ...group(breaksB("client-request.one-authentication"), {
    "an Authorization header beside the body [6749 2.3]": account({}, BASIC),
    "a client_assertion beside the client_secret [6749 2.3]": account(assertionOfA),
    "a client_assertion in a public client's code exchange": login(assertionOfA),
  }),
  ...group(breaksB("client-request.grant-type"), {
    "grant_type in upper case in Variant B": account({ grant_type: "CLIENT_CREDENTIALS" }),
  }),
  ...group(
    { ...breaksB("client-request.grant-type"), ...ownRefreshPath },
    {
      "a refresh at the token path, where refreshes have their own path": async (world) =>
        world.refresh((await world.personTokens()).refresh_token),
      "client_credentials at the refresh path": (world) =>
        world.postJson(world.accountFields(), refreshPath),
    },
  ),
  ...group(accepting(personTokens, ownRefreshPath), {
    "a refresh without a grant_type at the refresh path": async (world) => {
      const { refresh_token } = await world.personTokens();
      return world.postJson({ refresh_token, client_id: "portal" }, refreshPath);
    },
  }),
  ...group(breaksB("client-request.fields", "client-request.grant-type"), {
    "an absent grant_type in Variant B": account({ grant_type: undefined }),
  }),
  ...group(breaksB("client-request.fields"), {
    "an empty client_secret": account({ client_secret: "" }),
    "a client_secret that is a number": account({ client_id: "counter", client_secret: 42 }),
    "an absent redirect_uri in a code exchange": login({ redirect_uri: undefined }),
  }),
  ...group(breaksB("client.authentication"), {
    "a wrong client_secret": account({ client_secret: "x" }),
  }),
  ...group(
    { ...breaksB("client.authentication"), remains: true },
    {
      "the client_id constructor": account({ client_id: "constructor" }),
      "an API client by client_credentials": account(vault),
    },
  ),
  ...group(breaksB("api-client.authentication"), {
    "a confidential client without its secret [6749 3.2.1]": login({}, "vault"),
    "a public client with a secret": login({ client_secret: "x" }),
  }),
  ...group(
    { ...breaksB("api-client.authentication"), remains: true },
    {
      "a code exchange by an unknown client": login({ client_id: "unknown" }),
    },
  ),
];

const limited = (retryAfter?: RateLimit["retryAfter"]) => ({
  options: { rateLimit: { requests: 2, windowSeconds: 60, retryAfter } },
});
const byDefault = limited();
function tooMany(retryAfter?: string, more: object = byDefault) {
  const headers = { "cache-control": "no-store", ...(retryAfter && { "retry-after": retryAfter }) };
  const answer: Answer = { status: 429, headers, body: "" };
  return refusing(answer, "token-request.rate-limit", more);
}
const requestToken: Request = (world) => world.requestToken();
/** Two requests 10 s apart take both slots of a minute. `request` is `at` s after the first. */
const third =
  (at: number, request: Request = requestToken): Request =>
  async (world) => {
    await world.requestToken();
    world.wait(10);
    await world.requestToken();
    world.wait(at - 10);
    return request(world);
  };
/** Sends it immediately, although it exceeds the limit, and again when a slot is free. */
const retried = (send: (world: World) => () => Promise<Response>): Request =>
  third(10, async (world) => {
    const request = send(world);
    await request();
    world.wait(60);
    return request();
  });

export const rateLimits: readonly Row[] = [
  ...group(tooMany("50"), {
    "one token request more than the limit": third(10),
    "a token request of another plugin of the tenant": third(10, (world) =>
      world.requestToken({ clientId: "archiver" }),
    ),
  }),
  ...group(tooMany("50", limited("seconds")), {
    "Retry-After in seconds by name, rounded up": third(10.5),
  }),
  ...group(accepting(ok({ 200: 2, 429: 18 }), byDefault), {
    "only two of 20 concurrent token requests": (world) => counted(20, () => world.requestToken()),
  }),
  ...group(tooMany("1"), { "a request 1 ms before the oldest leaves the window": third(59.999) }),
  ...group(tooMany("45", { ...byDefault, shapedBy: ["rate-limit.sliding"] }), {
    "a request after the turn of a minute": async (world) => {
      world.wait(50);
      await world.requestToken();
      await world.requestToken();
      world.wait(15);
      return world.requestToken();
    },
  }),
  ...group(tooMany("60"), {
    "a request after two refused ones, which take slots too": async (world) => {
      await world.requestToken({ key: unregisteredKey });
      await world.postForm("");
      return world.requestToken();
    },
  }),
  ...group(tooMany("Thu, 01 Jan 2026 12:01:00 GMT", limited("date")), {
    "Retry-After as a date": third(10),
  }),
  ...group(tooMany(undefined, limited(false)), { "an absent Retry-After": third(10) }),
  ...group(accepting(serviceToken, byDefault), {
    "a request at the instant at which the oldest leaves the window": third(60),
    "a request after many 429 answers, which take no slot": third(10, async (world) => {
      for (let second = 0; second < 60; second += 10) {
        await world.requestToken();
        world.wait(10);
      }
      return world.requestToken();
    }),
    "an assertion that was answered 429 before": retried((world) => {
      const form = String(world.form({ claims: { exp: world.seconds + 300 } }));
      return () => world.postForm(form);
    }),
  }),
  ...group(accepting(adasToken, byDefault), {
    "a code that was answered 429 before": retried((world) => {
      const code = world.launchedCode();
      return () => world.exchange(code);
    }),
  }),
  ...group(accepting(globexToken, { ...byDefault, shapedBy: ["rate-limit.tenant"] }), {
    "a token request of another tenant": third(10, (world) =>
      world.requestToken({ tenantId: "globex" }),
    ),
  }),
];
