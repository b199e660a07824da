// What anyone may send to the emulator.
import {
  CALLBACK,
  type ChangedA,
  TOKEN_PATH_A,
  TOKEN_PATH_B,
  World,
} from "../emulator/negative/world.js";
import type { Entry } from "./growth.js";
import { documents, keys, lines, type Shapes, texts, within } from "./shapes.js";

const form = "application/x-www-form-urlencoded";
const mostBody = 65_000;
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

function* tokenRequestsOfA(): Generator<Entry> {
  for (const [shape, text] of Object.entries({ ...forms, ...texts }))
    yield {
      ...{ name: `token request of A, form: ${shape}`, most: mostBody },
      reaches: /^400 .*(?:unsupported_grant_type|invalid_grant)/,
      prepare: (size) =>
        sent(
          TOKEN_PATH_A,
          postForm(() => within(size, text)),
        ),
    };
  const fields: Readonly<
    Record<string, { reaches: RegExp; changed?: (world: World) => ChangedA }>
  > = {
    grant_type: { reaches: /unsupported_grant_type/ },
    client_id: { reaches: /invalid_grant/ },
    client_assertion_type: { reaches: /invalid_request/ },
    client_assertion: { reaches: /invalid_client/ },
    code: {
      reaches: /invalid_grant/,
      changed: () => ({
        ...{
          clientId: "planner",
          form: { grant_type: "authorization_code", code_verifier: "v".repeat(43) },
        },
      }),
    },
    code_verifier: {
      reaches: /invalid_grant/,
      changed: (world) => {
        const form = { grant_type: "authorization_code", code: world.launchedCode().code };
        return { clientId: "planner", form };
      },
    },
  };
  for (const [field, { reaches, changed }] of Object.entries(fields))
    for (const [shape, text] of Object.entries(texts))
      yield {
        ...{ name: `token request of A, ${field}: ${shape}`, most: 60_000, reaches },
        prepare: (size) => {
          const value = within(size, text, asForm);
          const body = postForm((world) => {
            const valid = changed?.(world) ?? {};
            return String(world.form({ ...valid, form: { ...valid.form, [field]: value } }));
          });
          return sent(TOKEN_PATH_A, body);
        },
      };
  for (const part of ["header", "claims"] as const)
    for (const [shape, text] of Object.entries(documents))
      yield {
        ...{ name: `assertion, ${part}: ${shape}`, most: 40_000, reaches: /invalid_client/ },
        prepare: (size) => {
          const encoded = Buffer.from(text(size)).toString("base64url");
          const assertion =
            part === "header"
              ? `${encoded}.e30.e30`
              : `${Buffer.from('{"alg":"RS256","kid":"key-1"}').toString("base64url")}.` +
                `${encoded}.e30`;
          const body = postForm((world) =>
            String(world.form({ form: { client_assertion: assertion } })),
          );
          return sent(TOKEN_PATH_A, body);
        },
      };
  const claims = { aud: /invalid_client/, iss: /invalid_client/, jti: /^200|invalid_client/ };
  const members = { ...claims, kid: /^200/, crit: /invalid_client/ };
  for (const [member, reaches] of Object.entries(members))
    for (const [shape, text] of Object.entries(texts))
      yield {
        ...{ name: `signed assertion, ${member}: ${shape}`, most: 40_000, reaches },
        prepare: (size) => {
          const value = within(size, text, JSON.stringify);
          const changed =
            member in claims ? { claims: { [member]: value } } : { header: { [member]: value } };
          const body = postForm((world) => String(world.form(changed)));
          return sent(TOKEN_PATH_A, body);
        },
      };
}

function* tokenRequestsOfB(): Generator<Entry> {
  for (const [shape, text] of Object.entries(documents))
    yield {
      ...{
        name: `token request of B: ${shape}`,
        most: mostBody,
        reaches: /^400 .*invalid_request/,
      },
      prepare: (size) => sent(TOKEN_PATH_B, postJson(within(size, text))),
    };
  const account = { grant_type: "client_credentials", client_id: "worker", client_secret: "s" };
  const portal = {
    client_id: "portal",
    redirect_uri: CALLBACK,
    code: "c",
    code_verifier: "v".repeat(43),
  };
  const fields = {
    grant_type: { reaches: /unsupported_grant_type/, valid: () => account },
    client_id: { reaches: /invalid_client/, valid: () => account },
    client_secret: { reaches: /invalid_client/, valid: () => account },
    scope: { reaches: /^200|invalid_scope/, valid: (world: World) => world.accountFields() },
    code: { reaches: /invalid_grant/, valid: () => portal },
    redirect_uri: {
      reaches: /invalid_grant/,
      valid: (world: World) => {
        const { code, codeVerifier } = world.loginCode();
        return { ...portal, code, code_verifier: codeVerifier };
      },
    },
    refresh_token: {
      ...{
        reaches: /invalid_grant/,
        valid: () => ({ grant_type: "refresh_token", client_id: "portal" }),
      },
    },
  };
  for (const [field, { reaches, valid }] of Object.entries(fields))
    for (const [shape, text] of Object.entries(texts))
      yield {
        ...{ name: `token request of B, ${field}: ${shape}`, most: 60_000, reaches },
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
const headers = [
  { name: "content-type", path: TOKEN_PATH_A, method: "POST", reaches: /invalid_grant/ },
  {
    ...{ name: "content-type", path: TOKEN_PATH_A, method: "POST", before: `${form};` },
    reaches: /unsupported_grant_type/,
  },
  { name: "content-length", path: TOKEN_PATH_A, method: "POST", reaches: /^400/ },
  { name: "authorization", path: TOKEN_PATH_A, method: "POST", before: "Basic ", reaches: /^400/ },
  { name: "authorization", path: "/api/v1/acme/devices", before: "Bearer ", reaches: /^401/ },
  { name: "authorization", path: "/v1/devices", before: "Bearer", reaches: /^401/ },
  { name: "x-envelope", path: "/v1/devices", reaches: /^200/ },
  { name: "accept", path: "/v1/devices", reaches: /^200/ },
  { name: "user-agent", path: "/v1/nothing", reaches: /not_found/ },
  { name: "cookie", path: "/host/acme", reaches: /^200/ },
  { name: "cookie", path: "/host/acme", before: "host_session=", reaches: /^200/ },
  { name: "cookie", path: login, before: "login_session=", reaches: /^200/ },
  { name: "host", path: "/_emulator", reaches: /host_not_allowed/ },
  { name: "origin", path: "/_emulator/faults", method: "POST", reaches: /origin_not_allowed/ },
  { name: "x-forwarded-for", path: "/_emulator", reaches: /address_not_allowed/ },
  { name: "forwarded", path: "/_emulator", reaches: /address_not_allowed/ },
];

function* headerEntries(): Generator<Entry> {
  for (const { name, path, method, before = "", reaches } of headers)
    for (const [shape, text] of Object.entries(lines))
      yield {
        ...{ name: `${path}, header ${name}: ${before}, ${shape}`, most: 60_000, reaches },
        prepare: (size) => atPath(path, { [name]: before + text(size) }, method),
      };
}

const authorize = "/v1/auth/authorize";
const paths = [
  { path: "/", reaches: /not_found/ },
  { path: "/api/v1/acme/", reaches: /not_found/ },
  { path: "/api/acme/", reaches: /not_found/ },
  { path: "/v1/", reaches: /not_found/ },
  { path: `${authorize}?client_id=portal&`, reaches: /^400 <!doctype/ },
  {
    path: `${authorize}?client_id=portal&redirect_uri=${CALLBACK}&state=`,
    reaches: /^302|^400 <!doctype/,
  },
  { path: `${authorize}?redirect_uri=`, reaches: /^400 <!doctype/ },
  { path: `${authorize}?client_id=`, reaches: /^400 <!doctype/ },
  { path: "/host/", reaches: /^200|not_found/ },
  { path: "/_emulator/", reaches: /not_found/ },
  { path: "/_emulator/log?", reaches: /^200/ },
  { path: "/api/v1/acme/devices?", reaches: /^200/ },
  { path: "/v1/auth/login?id=", reaches: /^400/ },
];

function* pathEntries(): Generator<Entry> {
  for (const { path, reaches } of paths)
    for (const [shape, text] of Object.entries(texts))
      yield {
        ...{ name: `GET ${path}: ${shape}`, most: 60_000, reaches },
        prepare: (size) => atPath(path + text(size)),
      };
}

const adminForms = [
  ...["/plugins", "/accounts", "/clients", "/operators"].map((page) => ({
    ...{ page, id: "register", field: "members" },
  })),
  { page: "/faults", id: "arm", field: "members" },
  { page: "", id: "steer", field: "clock" },
];

/** Forms at /_emulator, which a person fills. */
function* adminEntries(): Generator<Entry> {
  for (const { page, id, field } of adminForms)
    for (const [shape, text] of Object.entries({ ...texts, ...documents }))
      yield {
        ...{ name: `form ${page}, ${field}: ${shape}`, most: 60_000, reaches: /^400 <!doctype/ },
        prepare: async (size) => {
          const world = emptied();
          const { origin } = new URL(world.emulator.publicUrl);
          const browser = await world.open(`/_emulator${page}`);
          const action = / action="([^"]*)"/.exec(browser.form(id))?.[1] ?? "";
          const value = within(size, text, asForm);
          const filled = { ...Object.fromEntries(browser.fields(id)), [field]: value };
          const body = String(new URLSearchParams(filled));
          return () =>
            world.send(action, { method: "POST", headers: { "content-type": form, origin }, body });
        },
      };
}

/** Forms for people: those of the login of Variant B and of the host application. */
function* pageEntries(): Generator<Entry> {
  const wrong = /^403 .*<title>(?:Log|Sign) in/s;
  for (const [page, path] of Object.entries({ login, host: "/host/acme" })) {
    for (const [shape, text] of Object.entries({ ...forms, ...texts }))
      yield {
        ...{ name: `form of the ${page}: ${shape}`, most: 60_000, reaches: /^(?:200|303|400|403)/ },
        prepare: async (size) => {
          const browser = await emptied().open(path);
          const action = / action="([^"]*)"/.exec(browser.html)?.[1] ?? "";
          const body = within(size, text);
          return () =>
            browser.request(action, { method: "POST", headers: { "content-type": form }, body });
        },
      };
    for (const field of ["userId", "password"])
      for (const [shape, text] of Object.entries(texts))
        yield {
          ...{ name: `form of the ${page}, ${field}: ${shape}`, most: 60_000, reaches: wrong },
          prepare: async (size) => {
            const browser = await emptied().open(path);
            const action = / action="([^"]*)"/.exec(browser.html)?.[1] ?? "";
            const filled = { ...browser.hidden(), userId: "ada", password: "no" };
            const body = String(
              new URLSearchParams({ ...filled, [field]: within(size, text, asForm) }),
            );
            return () =>
              browser.request(action, { method: "POST", headers: { "content-type": form }, body });
          },
        };
  }
}

const textList = { type: "array", items: { type: ["integer", "string"] }, uniqueItems: true };
const anyObject = {
  type: "object",
  properties: { a: textList },
  additionalProperties: { type: "string" },
};
/**
 * Parameters in every place and style, and bodies of every media type, of a document of one's own.
 */
const described = {
  parameters: [
    { in: "query", name: "q", schema: textList },
    { in: "query", name: "k", explode: false, schema: anyObject },
    { in: "query", name: "exploded", schema: anyObject },
    { in: "query", name: "x", style: "deepObject", schema: anyObject },
    { in: "query", name: "p", style: "pipeDelimited", explode: false, schema: textList },
    { in: "header", name: "list", schema: textList },
    { in: "header", name: "pairs", explode: true, schema: anyObject },
    { in: "cookie", name: "x", schema: textList },
    { in: "cookie", name: "o", schema: anyObject },
  ],
  body: {
    contents: {
      "application/json": { schema: { anyOf: [textList, anyObject] } },
      [form]: { schema: anyObject, encoding: { x: { style: "deepObject", explode: true } } },
      "multipart/form-data": { schema: anyObject },
      "application/x-ndjson": { schema: textList },
      "*/*": {},
    },
  },
};
const own = { method: "POST", path: "/v1/own/{id}", success: [200], failure: [], anonymous: true };
const api = {
  operations: { A: {}, B: { own } },
  emulation: async () => ({ requests: { B: { operations: { own: described }, schemas: {} } } }),
};
const ofDocument = new World({ api });
const sentToOwn = (path: string, init: RequestInit) => {
  const world = emptied(ofDocument);
  return () => world.send(path, { method: "POST", ...init });
};

const parts = (count: number, part: (at: number) => string) =>
  `${keys(count)
    .map((_, at) => `--edge\r\nContent-Disposition: form-data; ${part(at)}\r\n`)
    .join("")}--edge--\r\n`;
/** Bodies by their media type, of about that many characters. */
const bodies: Readonly<Record<string, Readonly<Record<string, (size: number) => string>>>> = {
  "application/json": documents,
  "application/x-ndjson": { ...documents, lines: (size) => "1\n".repeat(size / 2) },
  [form]: {
    ...forms,
    ...texts,
    "many members": (size) =>
      keys(size / 9)
        .map((name) => `x[${name}]=1`)
        .join("&"),
    "one list": (size) => "a=1&".repeat(size / 4),
    "nested names": (size) => `x${"[a]".repeat(size / 3)}=1`,
  },
  "multipart/form-data; boundary=edge": {
    ...texts,
    "many parts": (size) => parts(size / 60, (at) => `name="k${at}"\r\n\r\n1`),
    "one list of parts": (size) => parts(size / 60, () => 'name="a"\r\n\r\n1'),
    "many files": (size) => parts(size / 80, (at) => `name="k${at}"; filename="f"\r\n\r\n1`),
    "a long part": (size) => parts(1, () => `name="a"\r\n\r\n${"\r\n--edg".repeat(size / 7)}`),
    "a long name": (size) => parts(1, () => `name="${"a".repeat(size)}"\r\n\r\n1`),
    "many headers": (size) => parts(1, () => `name="a"\r\n${"A: b\r\n".repeat(size / 6)}\r\n1`),
  },
};

/** Read, or refused for what was read. */
const reaches = /^(?:200 .*own|4\d\d .*invalid_request)/;

function* ownRequests(): Generator<Entry> {
  for (const start of ["?q=", "?k=", "?p=", "?", "?x[", "?x[a]=", "x?exploded="])
    for (const [shape, text] of Object.entries(texts))
      yield {
        name: `POST /v1/own${start}: ${shape}`,
        reaches,
        most: 60_000,
        prepare: (size) =>
          sentToOwn(`/v1/own/${start.startsWith("x") ? "" : "1"}${start}${text(size)}`, {}),
      };
  for (const [name, before] of [
    ["list", ""],
    ["pairs", ""],
    ["cookie", "x="],
    ["cookie", ""],
    ["content-type", "multipart/form-data; boundary="],
  ] as const)
    for (const [shape, text] of Object.entries(lines))
      yield {
        name: `POST /v1/own, header ${name}: ${before}, ${shape}`,
        reaches,
        most: 60_000,
        prepare: (size) =>
          sentToOwn("/v1/own/1", { headers: { [name]: before + text(size) }, body: "a" }),
      };
  for (const [type, shapes] of Object.entries(bodies))
    for (const [shape, text] of Object.entries(shapes))
      yield {
        name: `POST /v1/own, ${type}: ${shape}`,
        reaches,
        most: 400_000,
        prepare: (size) => {
          const body = text(size);
          return sentToOwn("/v1/own/1", { headers: { "content-type": type }, body });
        },
      };
}

export const entries: readonly Entry[] = [
  ...ownRequests(),
  ...tokenRequestsOfA(),
  ...tokenRequestsOfB(),
  ...headerEntries(),
  ...pathEntries(),
  ...adminEntries(),
  ...pageEntries(),
];
