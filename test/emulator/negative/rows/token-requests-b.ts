// The body and the method of a token request of Variant B, and who may ask (section 4.2).
import type { RuleId } from "../../../../src/emulator/index.js";
import { type Answer, accountToken, refusedB, wrongMethod } from "../answer.js";
import type { Row } from "../row.js";
import type { World } from "../world.js";

function row(name: string, rules: readonly RuleId[], request: Row["request"], more: Partial<Row> = {}): Row {
  const answer: Answer = rules[0] === undefined ? accountToken : refusedB(rules[0]);
  return { name, rules, request, answer, ...more };
}
/** A machine's request with changed fields. */
function account(name: string, rules: readonly RuleId[], changes: object, more?: Partial<Row>): Row {
  return row(name, rules, (world) => world.postJson(world.accountFields({ ...changes })), more);
}
function body(
  name: string,
  rules: readonly RuleId[],
  type: string,
  write: (world: World) => string,
  more?: Partial<Row>,
): Row {
  const request = (world: World) =>
    world.send("/v1/auth/token", { method: "POST", headers: { "content-type": type }, body: write(world) });
  return row(name, rules, request, more);
}
const asJson = (world: World) => JSON.stringify(world.accountFields());
const asForm = (world: World) => String(new URLSearchParams(world.accountFields() as Record<string, string>));

const JSON_TYPE = "application/json";
const bodies: readonly Row[] = [
  body("the fields as JSON in UTF-8", [], `${JSON_TYPE}; charset=utf-8`, asJson),
  body("JSON as text", ["client-request.media-type"], "text/plain", asJson),
  body(
    "the fields as a form",
    ["client-request.media-type", "client-request.json"],
    "application/x-www-form-urlencoded",
    asForm,
  ),
  body("a form that says it is JSON", ["client-request.json"], JSON_TYPE, asForm),
  body("an array", ["client-request.json"], JSON_TYPE, (world) => `[${asJson(world)}]`),
  body("JSON that ends too early", ["client-request.json"], JSON_TYPE, (world) => asJson(world).slice(0, -1)),
  body("no body", ["client-request.json"], JSON_TYPE, () => ""),
  body("of a member twice the last counts: parsers do not see the first", [], JSON_TYPE, (world) =>
    asJson(world).replace("{", '{"client_secret":"x",'),
  ),
  body("a body of 65536 bytes is accepted", [], JSON_TYPE, (world) => asJson(world).padEnd(65_536)),
  body("a body of 65537 bytes", ["client-request.body-size"], JSON_TYPE, (world) =>
    asJson(world).padEnd(65_537),
  ),
];

const fields: readonly Row[] = [
  row("6749 2.3: an Authorization header beside the body", ["client-request.one-authentication"], (world) =>
    world.postJson(world.accountFields(), undefined, { authorization: "Basic d29ya2VyOng=" }),
  ),
  account("6749 2.3: a client_assertion beside the client_secret", ["client-request.one-authentication"], {
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: "e30.e30.e30",
  }),
  row(
    "a code exchange by a public client with a client_assertion",
    ["client-request.one-authentication"],
    (world) => world.exchangeLogin(world.loginCode(), { client_assertion: "e30.e30.e30" }),
  ),
  account("grant_type password", ["client-request.grant-type"], { grant_type: "password" }),
  account("grant_type token-exchange", ["client-request.grant-type"], {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
  }),
  account("grant_type in capitals", ["client-request.grant-type"], { grant_type: "CLIENT_CREDENTIALS" }),
  {
    ...row(
      "a refresh at the token path, where refreshes have a path of their own",
      ["client-request.grant-type"],
      async (world) => world.refresh((await world.personTokens()).refresh_token),
    ),
    options: { refreshPath: "/v1/auth/refresh" },
  },
  {
    ...row("client_credentials at the refresh path", ["client-request.grant-type"], (world) =>
      world.postJson(world.accountFields(), "/v1/auth/refresh"),
    ),
    options: { refreshPath: "/v1/auth/refresh" },
  },
  account("grant_type that is absent", ["client-request.fields", "client-request.grant-type"], {
    grant_type: undefined,
  }),
  account("client_secret that is absent", ["client-request.fields"], { client_secret: undefined }),
  account("client_secret that is empty", ["client-request.fields"], { client_secret: "" }),
  account("client_secret as a number", ["client-request.fields"], {
    client_id: "counter",
    client_secret: 42,
  }),
  account("client_id as an array", ["client-request.fields"], { client_id: ["worker"] }),
  row("4.2: a code exchange without redirect_uri", ["client-request.fields"], (world) =>
    world.exchangeLogin(world.loginCode(), { redirect_uri: undefined }),
  ),
  row("F2 ensure-pkce-code-verifier-required", ["client-request.fields"], (world) =>
    world.exchangeLogin(world.loginCode(), { code_verifier: undefined }),
  ),
  account("unknown fields are ignored", [], { scope: "devices:write", note: 1 }),
];

const clients: readonly Row[] = [
  account("another client_secret", ["client.authentication"], { client_secret: "x" }),
  account("client_secret of another account", ["client.authentication"], {
    client_secret: "narrow's secret",
  }),
  account(
    "a client_id that nobody registered",
    ["client.authentication"],
    { client_id: "nobody" },
    { remains: true },
  ),
  account(
    "client_id and client_secret swapped",
    ["client.authentication"],
    { client_id: "worker's secret", client_secret: "worker" },
    { remains: true },
  ),
  account(
    "an API client by client_credentials",
    ["client.authentication"],
    { client_id: "vault", client_secret: "vault's secret" },
    { remains: true },
  ),
  row("6749 3.2.1: a confidential client without its secret", ["api-client.authentication"], (world) =>
    world.exchangeLogin(world.loginCode({ client_id: "vault" }), { client_id: "vault" }),
  ),
  row("a confidential client with another secret", ["api-client.authentication"], (world) =>
    world.exchangeLogin(world.loginCode({ client_id: "vault" }), { client_id: "vault", client_secret: "x" }),
  ),
  row("a public client with a secret", ["api-client.authentication"], (world) =>
    world.exchangeLogin(world.loginCode(), { client_secret: "x" }),
  ),
  row(
    "a code exchange by a client that nobody registered",
    ["api-client.authentication"],
    (world) => world.exchangeLogin(world.loginCode(), { client_id: "nobody" }),
    { remains: true },
  ),
];

function other(method: string): Row {
  return {
    name: `${method} at the token endpoint`,
    rules: ["client-request.method"],
    request(world) {
      if (method === "GET") return world.send(`/v1/auth/token?${asForm(world)}`);
      const headers = { "content-type": JSON_TYPE };
      return world.send("/v1/auth/token", { method, headers, body: asJson(world) });
    },
    answer: wrongMethod("POST"),
  };
}

const extras: readonly Row[] = [
  {
    ...account("the option adds fields that are not shown", [], {}),
    options: { tokenResponseExtras: { token_type: "Bearer", expires_in: 3600 } },
    answer: {
      ...accountToken,
      body: { ...(accountToken.body as object), token_type: "Bearer", expires_in: 3600 },
    },
  },
];

export const tokenRequestsB: readonly Row[] = [
  ...bodies,
  ...fields,
  ...clients,
  ...["GET", "PUT", "DELETE"].map(other),
  ...extras,
];
