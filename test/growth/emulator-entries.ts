// What anyone may send to the emulator.
import { CALLBACK, type Changed, TOKEN_PATH_A, TOKEN_PATH_B } from "../emulator/deployment.js";
import { World } from "../emulator/negative/world.js";
import type { Entry } from "./growth.js";
import { documents, keys, lines, type Shapes, texts, within } from "./shapes.js";

const form = "application/x-www-form-urlencoded";
const asForm = (text: string) => String(new URLSearchParams({ text }));

// A long query must be read, and not refused for its length.
const shared = new World({ rules: { "authorization.length": false } });
/** Journal and log start anew for each input, so that none is measured with what others left. */
function emptied(world = shared): World {
  world.emulator.journal.clear();
  world.emulator.customerLog.clear();
  return world;
}

const sent = (path: string, init: (world: World) => RequestInit) => {
  const world = emptied();
  return () => world.send(path, init(world));
};

const postForm = (body: (world: World) => string) => (world: World) => {
  return { method: "POST", headers: { "content-type": form }, body: body(world) };
};
const postJson = (body: string) => () => {
  return { method: "POST", headers: { "content-type": "application/json" }, body };
};

/** Many parameters, and one parameter many times. */
const forms: Shapes = {
  "many parameters": (size) =>
    keys(size / 9)
      .map((name) => `${name}=1`)
      .join("&"),
  "one parameter many times": (size) => "code=1&".repeat(size / 7),
  "empty parameters": (size) => "&".repeat(size),
  escapes: (size) => `client_id=${"%41".repeat(size / 3)}`,
};

/** Each parameter of a valid token request of Variant A, and the answer that shows it was read. */
const fieldsOfA: readonly [field: string, reaches: RegExp, changed?: (world: World) => Changed][] =
  [
    ["grant_type", /unsupported_grant_type/],
    ["client_id", /invalid_grant/],
    ["client_assertion_type", /invalid_request/],
    ["client_assertion", /invalid_client/],
    ["code", /invalid_grant/, () => byCode({ code_verifier: "v".repeat(43) })],
    ["code_verifier", /invalid_grant/, (world) => byCode({ code: world.launchedCode().code })],
  ];
const byCode = (more: object) => {
  return { clientId: "planner", form: { grant_type: "authorization_code", ...more } };
};
const claims = ["aud", "iss", "jti"];

function* tokenRequestsOfA(): Generator<Entry> {
  const entry = (
    name: string,
    reaches: RegExp,
    body: (world: World, size: number) => string,
  ): Entry => ({
    name: `token request of A, ${name}`,
    most: 40_000,
    reaches,
    prepare: (size) =>
      sent(
        TOKEN_PATH_A,
        postForm((world) => body(world, size)),
      ),
  });
  const refused = /^400 .*(?:unsupported_grant_type|invalid_grant)/;
  for (const [shape, text] of Object.entries({ ...forms, ...texts }))
    yield entry(`form: ${shape}`, refused, (_, size) => within(size, text));
  for (const [field, reaches, changed] of fieldsOfA)
    for (const [shape, text] of Object.entries(texts))
      yield entry(`${field}: ${shape}`, reaches, (world, size) => {
        const valid = changed?.(world) ?? {};
        const grown = { ...valid.form, [field]: within(size, text, asForm) };
        return String(world.form({ ...valid, form: grown }));
      });
  const head = Buffer.from('{"alg":"RS256","kid":"key-1"}').toString("base64url");
  for (const [shape, text] of Object.entries(documents))
    for (const [part, before, after] of [
      ["header", "", ".e30.e30"],
      ["claims", `${head}.`, ".e30"],
    ] as const)
      yield entry(`${part} of an assertion: ${shape}`, /invalid_client/, (world, size) => {
        const encoded = Buffer.from(text(size)).toString("base64url");
        return String(world.form({ form: { client_assertion: before + encoded + after } }));
      });
  for (const member of [...claims, "kid", "crit"])
    for (const [shape, text] of Object.entries(texts))
      yield entry(`${member}, signed: ${shape}`, /^200|invalid_client/, (world, size) => {
        const grown = { [member]: within(size, text, JSON.stringify) };
        return String(world.form({ [claims.includes(member) ? "claims" : "header"]: grown }));
      });
}

const account = { grant_type: "client_credentials", client_id: "worker", client_secret: "s" };
const portal = { client_id: "portal", redirect_uri: CALLBACK, code: "c", code_verifier: "v" };
const refresh = { grant_type: "refresh_token", client_id: "portal" };
const ofLogin = (world: World) => {
  const { code, codeVerifier } = world.loginCode();
  return { ...portal, code, code_verifier: codeVerifier };
};
/** Each field of a valid token request of Variant B. */
const fieldsOfB: readonly [field: string, reaches: RegExp, valid: (world: World) => object][] = [
  ["grant_type", /unsupported_grant_type/, () => account],
  ["client_id", /invalid_client/, () => account],
  ["client_secret", /invalid_client/, () => account],
  ["scope", /^200|invalid_scope/, (world) => world.accountFields()],
  ["code", /invalid_grant/, () => ({ ...portal, code_verifier: "v".repeat(43) })],
  ["redirect_uri", /invalid_grant/, ofLogin],
  ["refresh_token", /invalid_grant/, () => refresh],
];

function* tokenRequestsOfB(): Generator<Entry> {
  for (const [shape, text] of Object.entries(documents))
    yield {
      name: `token request of B: ${shape}`,
      most: 60_000,
      reaches: /^400 .*invalid_request/,
      prepare: (size) => sent(TOKEN_PATH_B, postJson(within(size, text))),
    };
  for (const [field, reaches, valid] of fieldsOfB)
    for (const [shape, text] of Object.entries(texts))
      yield {
        name: `token request of B, ${field}: ${shape}`,
        most: 60_000,
        reaches,
        prepare: (size) => {
          const value = within(size, text, JSON.stringify);
          return sent(TOKEN_PATH_B, (world) =>
            postJson(JSON.stringify({ ...valid(world), [field]: value }))(),
          );
        },
      };
}

/** A page or a call that has what it needs besides its input: a token, where it is a call. */
async function atPath(
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = "GET",
) {
  const world = emptied();
  const isCall = /\/devices/.test(path) && headers.authorization === undefined;
  const token =
    isCall && (await (path.startsWith("/api") ? world.pluginToken() : world.accountToken()));
  const init = {
    method,
    headers: { ...(token && { authorization: `Bearer ${token}` }), ...headers },
  };
  return () => world.send(path, { ...init, ...(method === "POST" && { body: "a=b" }) });
}

const login = shared.authorizationPath();
const headers: [name: string, path: string, reaches: RegExp, before?: string, method?: string][] = [
  ["content-type", TOKEN_PATH_A, /invalid_grant/, "", "POST"],
  ["content-type", TOKEN_PATH_A, /unsupported_grant_type/, `${form};`, "POST"],
  ["content-length", TOKEN_PATH_A, /^400/, "", "POST"],
  ["authorization", TOKEN_PATH_A, /^400/, "Basic ", "POST"],
  ["authorization", "/api/v1/acme/devices", /^401/, "Bearer "],
  ["authorization", "/v1/devices", /^401/, "Bearer"],
  ["x-envelope", "/v1/devices", /^200/],
  ["accept", "/v1/devices", /^200/],
  ["cookie", "/host/acme", /^200/, "host_session="],
  ["cookie", login, /^200/, "login_session="],
  ["host", "/_emulator", /host_not_allowed/],
  ["origin", "/_emulator/faults", /origin_not_allowed/, "", "POST"],
  ["x-forwarded-for", "/_emulator", /address_not_allowed/],
  ["forwarded", "/_emulator", /address_not_allowed/],
];

function* headerEntries(): Generator<Entry> {
  for (const [name, path, reaches, before = "", method] of headers)
    for (const [shape, text] of Object.entries(lines))
      yield {
        name: `${path}, header ${name}: ${before}, ${shape}`,
        most: 60_000,
        reaches,
        prepare: (size) => atPath(path, { [name]: before + text(size) }, method),
      };
}

const authorize = "/v1/auth/authorize";
const paths: [path: string, reaches: RegExp][] = [
  ["/", /not_found/],
  ["/api/v1/acme/", /not_found/],
  [`${authorize}?client_id=portal&`, /^400 <!doctype/],
  [`${authorize}?client_id=portal&redirect_uri=${CALLBACK}&state=`, /^302|^400 <!doctype/],
  [`${authorize}?redirect_uri=`, /^400 <!doctype/],
  [`${authorize}?client_id=`, /^400 <!doctype/],
  ["/host/", /^200|not_found/],
  ["/_emulator/log?", /^200/],
  ["/api/v1/acme/devices?", /^200/],
  ["/v1/auth/login?id=", /^400/],
];

function* pathEntries(): Generator<Entry> {
  for (const [path, reaches] of paths)
    for (const [shape, text] of Object.entries(texts))
      yield {
        name: `GET ${path}: ${shape}`,
        most: 60_000,
        reaches,
        prepare: (size) => atPath(path + text(size)),
      };
}

/** Forms that a person fills: at /_emulator, at the login and at the host application. */
const pages: [path: string, id: string, fields: readonly string[], reaches: RegExp][] = [
  ["/_emulator/plugins", "register", ["members"], /^400 <!doctype/],
  ["/_emulator/faults", "arm", ["members"], /^400 <!doctype/],
  ["/_emulator", "steer", ["clock"], /^400 <!doctype/],
  [login, "", ["userId", "password"], /^403 .*<title>(?:Log|Sign) in/s],
  ["/host/acme", "", ["userId", "password"], /^403 .*<title>(?:Log|Sign) in/s],
];

function* pageEntries(): Generator<Entry> {
  for (const [path, id, fields, reaches] of pages)
    for (const field of fields)
      for (const [shape, text] of Object.entries({ ...texts, ...documents }))
        yield {
          name: `form ${id} of ${path}, ${field}: ${shape}`,
          most: 60_000,
          reaches,
          prepare: async (size) => {
            const world = emptied();
            const { origin } = new URL(world.emulator.publicUrl);
            const browser = await world.open(path);
            const html = id === "" ? browser.html : browser.form(id);
            const action = / action="([^"]*)"/.exec(html)?.[1] ?? "";
            const hidden = id === "" ? browser.hidden() : Object.fromEntries(browser.fields(id));
            const person = id === "" && { userId: "ada", password: "no" };
            const filled = { ...hidden, ...person, [field]: within(size, text, asForm) };
            const body = String(new URLSearchParams(filled));
            const headers = { "content-type": form, origin };
            return () => browser.request(action, { method: "POST", headers, body });
          },
        };
}

export const entries: readonly Entry[] = [
  ...tokenRequestsOfA(),
  ...tokenRequestsOfB(),
  ...headerEntries(),
  ...pathEntries(),
  ...pageEntries(),
];
