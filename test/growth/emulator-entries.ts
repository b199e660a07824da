// What anyone may send to the emulator.
import { TOKEN_PATH_A, TOKEN_PATH_B, World } from "../emulator/negative/world.js";
import type { Entry } from "./growth.js";
import { documents, keys, lines, texts } from "./shapes.js";

const form = "application/x-www-form-urlencoded";
const mostBody = 65_000;

/** Registrations, journal and log start anew for each entry, so that none is measured with what others left. */
const sent = (path: string, init: (world: World) => RequestInit) => {
  const world = new World();
  return () => world.send(path, init(world));
};

/** Many parameters, and one parameter many times. */
const forms: Readonly<Record<string, (size: number) => string>> = {
  "many parameters": (size) =>
    keys(size / 9)
      .map((name) => `${name}=1`)
      .join("&"),
  "one parameter many times": (size) => "code=1&".repeat(size / 7),
  "empty parameters": (size) => "&".repeat(size),
  escapes: (size) => `client_id=${"%41".repeat(size / 3)}`,
};

function* tokenRequests(): Generator<Entry> {
  for (const [shape, text] of Object.entries({ ...forms, ...texts }))
    yield {
      name: `token request of A, form: ${shape}`,
      most: mostBody,
      prepare: (size) => {
        const body = text(size);
        return sent(TOKEN_PATH_A, () => ({ method: "POST", headers: { "content-type": form }, body }));
      },
    };
  for (const field of [
    "grant_type",
    "client_id",
    "client_assertion_type",
    "client_assertion",
    "code",
    "code_verifier",
  ])
    for (const [shape, text] of Object.entries(texts))
      yield {
        name: `token request of A, ${field}: ${shape}`,
        most: 20_000,
        prepare: (size) => {
          const value = text(size);
          return sent(TOKEN_PATH_A, (world) => ({
            method: "POST",
            headers: { "content-type": form },
            body: String(world.form({ form: { [field]: value } })),
          }));
        },
      };
  for (const part of ["header", "claims"] as const)
    for (const [shape, text] of Object.entries(documents))
      yield {
        name: `assertion, ${part}: ${shape}`,
        most: 40_000,
        prepare: (size) => {
          const encoded = Buffer.from(text(size)).toString("base64url");
          const assertion =
            part === "header"
              ? `${encoded}.e30.e30`
              : `${Buffer.from('{"alg":"RS256","kid":"key-1"}').toString("base64url")}.${encoded}.e30`;
          return sent(TOKEN_PATH_A, (world) => ({
            method: "POST",
            headers: { "content-type": form },
            body: String(world.form({ form: { client_assertion: assertion } })),
          }));
        },
      };
  for (const claim of ["aud", "iss", "jti", "kid", "crit"])
    for (const [shape, text] of Object.entries(texts))
      yield {
        name: `signed assertion, ${claim}: ${shape}`,
        most: 20_000,
        prepare: (size) => {
          const value = text(size);
          const changed =
            claim === "kid" || claim === "crit"
              ? { header: { [claim]: value } }
              : { claims: { [claim]: value } };
          return sent(TOKEN_PATH_A, (world) => ({
            method: "POST",
            headers: { "content-type": form },
            body: String(world.form(changed)),
          }));
        },
      };
  for (const [shape, text] of Object.entries(documents))
    yield {
      name: `token request of B: ${shape}`,
      most: mostBody,
      prepare: (size) => {
        const body = text(size);
        return sent(TOKEN_PATH_B, () => ({
          method: "POST",
          headers: { "content-type": "application/json" },
          body,
        }));
      },
    };
  for (const field of [
    "grant_type",
    "client_id",
    "client_secret",
    "code",
    "redirect_uri",
    "refresh_token",
    "scope",
  ])
    for (const [shape, text] of Object.entries(texts))
      yield {
        name: `token request of B, ${field}: ${shape}`,
        most: 20_000,
        prepare: (size) => {
          const fields =
            field === "code" || field === "redirect_uri"
              ? {
                  client_id: "portal",
                  code: "c",
                  code_verifier: "v",
                  redirect_uri: "https://portal.example/callback",
                }
              : field === "refresh_token" || field === "scope"
                ? { grant_type: "refresh_token", client_id: "portal", refresh_token: "r" }
                : { grant_type: "client_credentials", client_id: "worker", client_secret: "s" };
          const body = JSON.stringify({ ...fields, [field]: text(size) });
          return sent(TOKEN_PATH_B, () => ({
            method: "POST",
            headers: { "content-type": "application/json" },
            body,
          }));
        },
      };
}

const headers = [
  { name: "content-type", path: TOKEN_PATH_A, method: "POST" },
  { name: "content-type", path: TOKEN_PATH_A, method: "POST", before: `${form};` },
  { name: "content-length", path: TOKEN_PATH_A, method: "POST" },
  { name: "authorization", path: TOKEN_PATH_A, method: "POST", before: "Basic " },
  { name: "authorization", path: "/api/v1/acme/devices", before: "Bearer " },
  { name: "authorization", path: "/v1/devices", before: "Bearer" },
  { name: "x-envelope", path: "/v1/devices" },
  { name: "accept", path: "/v1/devices" },
  { name: "user-agent", path: "/v1/nothing" },
  { name: "cookie", path: "/host/acme/plugins" },
  { name: "cookie", path: "/v1/auth/login", before: "login_session=" },
  { name: "cookie", path: "/host", before: "host_session=" },
  { name: "host", path: "/_emulator" },
  { name: "origin", path: "/_emulator/faults", method: "POST" },
  { name: "x-forwarded-for", path: "/_emulator" },
  { name: "forwarded", path: "/_emulator" },
];

function* headerEntries(): Generator<Entry> {
  for (const { name, path, method = "GET", before = "" } of headers)
    for (const [shape, text] of Object.entries(lines))
      yield {
        name: `${method} ${path}, header ${name}: ${before}, ${shape}`,
        most: 60_000,
        prepare: (size) => {
          const given = { [name]: before + text(size) };
          return sent(path, () => ({ method, headers: given, ...(method === "POST" && { body: "a=b" }) }));
        },
      };
}

const paths = [
  "/",
  "/api/v1/acme/",
  "/api/acme/",
  "/v1/",
  "/v1/auth/authorize?client_id=portal&",
  "/v1/auth/authorize?client_id=portal&redirect_uri=https://portal.example/callback&state=",
  "/v1/auth/authorize?redirect_uri=",
  "/v1/auth/authorize?client_id=",
  "/host/",
  "/_emulator/",
  "/_emulator/log?",
  "/api/v1/acme/devices?",
  "/v1/auth/login?id=",
];

function* paths_(): Generator<Entry> {
  for (const path of paths)
    for (const [shape, text] of Object.entries(texts))
      yield {
        name: `GET ${path}: ${shape}`,
        most: 60_000,
        prepare: (size) => sent(path + text(size), () => ({})),
      };
}

const adminForms = [
  { page: "/plugins", id: "register", fields: ["clientId", "jwks", "scopes", "roles", "pageUrl"] },
  { page: "/clients", id: "register", fields: ["redirectUris", "name"] },
  { page: "/operators", id: "register", fields: ["capabilities", "roles", "password"] },
  { page: "/faults", id: "arm", fields: ["headers", "body", "match.path", "status"] },
  { page: "", id: "advance", fields: ["clock"] },
];

/** Forms at /_emulator, which a person fills. */
function* adminEntries(): Generator<Entry> {
  for (const { page, id, fields } of adminForms)
    for (const field of fields)
      for (const [shape, text] of Object.entries({ ...texts, ...documents }))
        yield {
          name: `form ${page}, ${field}: ${shape}`,
          most: 20_000,
          prepare: async (size) => {
            const world = new World();
            const { origin } = new URL(world.emulator.publicUrl);
            const browser = await world.open(`/_emulator${page}`);
            const action = / action="([^"]*)"/.exec(browser.form(id))?.[1] ?? "";
            const filled = { ...Object.fromEntries(browser.fields(id)), [field]: text(size) };
            const body = String(new URLSearchParams(filled));
            return () =>
              world.send(action, { method: "POST", headers: { "content-type": form, origin }, body });
          },
        };
}

function* pages(): Generator<Entry> {
  for (const path of ["/v1/auth/login", "/host/acme/sign-in"])
    for (const [shape, text] of Object.entries({ ...forms, ...texts }))
      yield {
        name: `POST ${path}: ${shape}`,
        most: mostBody,
        prepare: (size) => {
          const body = text(size);
          return sent(path, () => ({ method: "POST", headers: { "content-type": form }, body }));
        },
      };
}

export const entries: readonly Entry[] = [
  ...tokenRequests(),
  ...headerEntries(),
  ...paths_(),
  ...pages(),
  ...adminEntries(),
];
