// The form of a token request of Variant A, its method, and which grant which plugin may ask for (sections 4.1, 7.1).
import type { RuleId } from "../../../../src/emulator/index.js";
import {
  type Answer,
  invalidClient,
  invalidGrant,
  invalidRequest,
  refusedA,
  serviceToken,
  unsupportedGrantType,
  wrongMethod,
} from "../answer.js";
import type { Row } from "../row.js";
import { type ChangedA, strangersKey, type World } from "../world.js";

function row(name: string, rules: readonly RuleId[], changed: ChangedA, answer: Answer): Row {
  return { name, rules, request: (world) => world.requestToken(changed), answer };
}

const FORM = "application/x-www-form-urlencoded";
function typed(
  name: string,
  type: string | undefined,
  body = (world: World): BodyInit => String(world.form()),
): Row {
  return {
    name,
    rules: ["token-request.media-type"],
    request: (world) => world.postBody(body(world), type),
    answer: invalidRequest,
  };
}
const asBytes = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(text, "latin1"));
const mediaTypes: readonly Row[] = [
  typed("the fields as JSON", "application/json", (world) =>
    JSON.stringify(Object.fromEntries(world.form())),
  ),
  typed("the form as text", "text/plain"),
  typed("the form as multipart", "multipart/form-data; boundary=x"),
  typed("a form in another charset", `${FORM}; charset=iso-8859-1`),
  typed("a form that is not UTF-8", FORM, (world) => asBytes(`${world.form()}&note=\u00ff`)),
  {
    ...typed("a form in UTF-8 that says so is accepted", `${FORM};charset="utf-8"`),
    rules: [],
    answer: serviceToken,
  },
  {
    // As bytes: a string would be sent as text/plain.
    ...typed("no Content-Type", undefined, (world) => asBytes(String(world.form()))),
  },
];

function sized(name: string, bytes: number, rules: readonly RuleId[], answer: Answer): Row {
  const padded = (form: string) => `${form}&padding=`.padEnd(bytes, "x");
  return { name, rules, request: (world) => world.postForm(padded(String(world.form()))), answer };
}
const sizes: readonly Row[] = [
  sized("a body of 65536 bytes is accepted", 65_536, [], serviceToken),
  sized("a body of 65537 bytes", 65_537, ["token-request.body-size"], invalidRequest),
  sized("a body of 1 MiB", 1_048_576, ["token-request.body-size"], invalidRequest),
];

function repeated(name: string, value: string): Row {
  return {
    name: `6749 3.2: ${name} twice`,
    rules: ["token-request.duplicate-parameter"],
    request: (world) => world.postForm(`${world.form()}&${name}=${value}`),
    answer: invalidRequest,
  };
}
const repetitions: readonly Row[] = [
  repeated("grant_type", "client_credentials"),
  repeated("client_id", "reporter"),
  repeated("client_assertion", "another"),
  {
    name: "6749 3.2: an unknown parameter twice",
    rules: ["token-request.duplicate-parameter"],
    request: (world) => world.postForm(`${world.form()}&note=1&note=2`),
    answer: invalidRequest,
  },
  row(
    "6749 3.2: unknown parameters are ignored",
    [],
    { form: { scope: "devices:write", redirect_uri: "x" } },
    serviceToken,
  ),
];

const second: readonly RuleId[] = ["token-request.one-authentication"];
const mechanisms: readonly Row[] = [
  row(
    "6749 2.3: Basic beside the assertion",
    second,
    { headers: { authorization: "Basic cmVwb3J0ZXI6eA==" } },
    invalidRequest,
  ),
  row(
    "6749 2.3: client_secret beside the assertion",
    second,
    { form: { client_secret: "x" } },
    invalidRequest,
  ),
  row(
    "a bearer token beside the assertion",
    second,
    { headers: { authorization: "Bearer x" } },
    invalidRequest,
  ),
  row("6749 3.2: an empty client_secret counts as none", [], { form: { client_secret: "" } }, serviceToken),
];

const grantTypes: readonly Row[] = [
  "refresh_token",
  "password",
  "implicit",
  "urn:ietf:params:oauth:grant-type:device_code",
  "urn:ietf:params:oauth:grant-type:token-exchange",
  "urn:ietf:params:oauth:grant-type:jwt-bearer",
  "Client_Credentials",
  "",
].map((grant_type) =>
  row(
    `grant_type ${grant_type === "" ? "that is empty" : grant_type}`,
    ["token-request.grant-type"],
    { form: { grant_type } },
    unsupportedGrantType,
  ),
);

const fields: readonly Row[] = [
  ...grantTypes,
  row(
    "grant_type that is absent",
    ["token-request.grant-type"],
    { form: { grant_type: undefined } },
    unsupportedGrantType,
  ),
  row(
    "client_assertion_type that is absent",
    ["token-request.assertion-type"],
    { form: { client_assertion_type: undefined } },
    invalidRequest,
  ),
  row(
    "7522: client_assertion_type of SAML",
    ["token-request.assertion-type"],
    { form: { client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:saml2-bearer" } },
    invalidRequest,
  ),
  row(
    "F2 ensure-client-id-in-token-endpoint: client_id is absent",
    ["token-request.client-id"],
    { form: { client_id: undefined } },
    invalidRequest,
  ),
];

function other(method: string): Row {
  return {
    name: `${method} at the token endpoint`,
    rules: ["token-request.method"],
    async request(world) {
      if (method === "GET") return world.send(`${world.tokenPath()}?${world.form()}`);
      const headers = { "content-type": FORM };
      return world.send(world.tokenPath(), { method, headers, body: String(world.form()) });
    },
    answer: wrongMethod("POST"),
  };
}
const methods: readonly Row[] = ["GET", "PUT", "PATCH", "DELETE"].map(other);

const plugins: readonly Row[] = [
  row("a plugin that is not registered", ["plugin.registered"], { clientId: "nobody" }, invalidGrant),
  row(
    "a plugin of another tenant only",
    ["plugin.registered"],
    { clientId: "archiver", tenantId: "globex" },
    invalidGrant,
  ),
  row("a tenant that nobody knows", ["plugin.registered"], { tenantId: "initech" }, invalidGrant),
  row("a plugin that is disabled", ["plugin.enabled"], { clientId: "off" }, invalidGrant),
  row(
    "a user-interface plugin by client_credentials",
    ["plugin.grant"],
    { clientId: "planner" },
    invalidGrant,
  ),
  row(
    "a service plugin by authorization_code",
    ["plugin.grant", "code.known"],
    { form: { grant_type: "authorization_code", code: "c", code_verifier: "v".repeat(43) } },
    invalidGrant,
  ),
];

const opaque: readonly Row[] = [
  {
    ...row(
      "error_description tells nothing of a wrong key",
      ["assertion.signature"],
      { key: strangersKey },
      invalidClient,
    ),
    shapedBy: ["token-request.opacity", "token-request.failure-status"],
  },
  {
    ...row(
      "error_description tells nothing of a missing plugin",
      ["plugin.registered"],
      { clientId: "nobody" },
      invalidGrant,
    ),
    shapedBy: ["token-request.opacity"],
  },
  {
    ...row(
      "the option has a missing plugin told as a wrong key is",
      ["plugin.registered"],
      { clientId: "nobody" },
      invalidClient,
    ),
    options: { refusedPluginError: "invalid_client" },
    remains: true,
  },
  {
    ...row(
      "the option has the fixed text without a full stop",
      ["plugin.enabled"],
      { clientId: "off" },
      {
        ...invalidGrant,
        body: { error: "invalid_grant", error_description: "The token request was rejected" },
      },
    ),
    options: { fixedTextFullStop: false },
  },
  row(
    "7.1: no assertion is answered 400 too",
    ["assertion.present"],
    { form: { client_assertion: "" } },
    refusedA("invalid_client"),
  ),
];

export const tokenRequestsA: readonly Row[] = [
  ...mediaTypes,
  ...sizes,
  ...repetitions,
  ...mechanisms,
  ...fields,
  ...methods,
  ...plugins,
  ...opaque,
];
