// What anyone may send to a backend.
import { toWebRequest } from "../../src/backend/index.js";
import { HOST, OWN, type Rig, rig } from "../backend/rig.js";
import type { Entry } from "./growth.js";
import { documents, keys, lines, type Shapes, texts, within } from "./shapes.js";

const cookie = { session: { cookie: true } } as const;

function send(
  { backend }: Rig,
  method: string,
  target: string,
  headers: HeadersInit,
  body?: string,
) {
  return () => backend(new Request(target, { method, headers, body: body ?? null }));
}

const json = { "content-type": "application/json", origin: OWN };
const session = "x".repeat(43);

interface HeaderOf {
  readonly before?: string;
  readonly also?: Readonly<Record<string, string>>;
  readonly isInCookie?: true;
}

const login = "__Host-bivariant-login-AAAAAAAA=";
const also = { cookie: `__Host-bivariant-session=${session}` };
const isInCookie = true;
/** Every header that the backend reads, in a request to a route that reads it. */
const headers: [name: string, route: string, reaches: RegExp, more?: HeaderOf][] = [
  ["authorization", "GET me", /session_missing/],
  ["authorization", "GET me", /session_unknown/, { before: "Bearer x" }],
  ["cookie", "GET me", /_unknown/, { before: "__Host-bivariant-session=", isInCookie }],
  ["cookie", "GET callback?code=x&state=y", /state_mismatch/, { before: login }],
  ["cookie", "GET login", /^302/, { before: login }],
  ["origin", "GET me", /origin_refused/, { isInCookie }],
  ["origin", "POST session", /origin_refused/, { before: "https://" }],
  [
    "referer",
    "GET login",
    /login_unconfirmed/,
    { before: "https://", also: { "sec-fetch-site": "same-site" } },
  ],
  ["sec-fetch-site", "GET login", /login_unconfirmed/],
  ["accept", "GET login?tenant=unknown", /tenant_unknown/],
  ["content-type", "POST launch", /type_not_supported/],
  ["content-length", "POST launch", /Missing or invalid: code/],
  ["x-bivariant-csrf", "POST logout", /csrf_refused/, { also, isInCookie }],
  ["access-control-request-headers", "OPTIONS me", /^204/],
];

function* headerEntries(): Generator<Entry> {
  for (const [name, route, reaches, more = {}] of headers)
    for (const [shape, text] of Object.entries(lines)) {
      const { before = "", also, isInCookie } = more;
      const [method = "", path] = route.split(" ");
      const parts = rig(isInCookie && cookie);
      const body = method === "POST" ? "{}" : undefined;
      yield {
        name: `${route}, header ${name}: ${before}, ${shape}`,
        most: 60_000,
        reaches,
        prepare: (size) => {
          const given = { ...json, ...also, [name]: before + text(size) };
          return send(parts, method, `${OWN}/auth/${path}`, given, body);
        },
      };
    }
}

/** Headers of many cookies, each sent to every route that reads them. */
const cookieLists: Shapes = {
  "made-up logins": (size) =>
    keys(size / 56)
      .map((key) => `__Host-bivariant-login-${key.padStart(8, "0")}=${"x".repeat(22)}`)
      .join("; "),
  "one login many times": (size) => `${login}x; `.repeat(size / 35),
  "a long sealed login": (size) => `${login}${"x.".repeat(size / 2)}x`,
  "spaces before a name": (size) => `a=b;${" ".repeat(size)}__Host-bivariant-session=x`,
};

export function* cookieEntries(): Generator<Entry> {
  for (const route of ["GET callback?code=x&state=y", "GET login", "POST session", "GET me"])
    for (const [shape, text] of Object.entries(cookieLists)) {
      const [method = "", path] = route.split(" ");
      const parts = rig(cookie);
      yield {
        name: `${route}, cookies: ${shape}`,
        most: 60_000,
        reaches: /^(?!431|5)/,
        prepare: (size) => {
          const body = method === "POST" ? "{}" : undefined;
          return send(parts, method, `${OWN}/auth/${path}`, { ...json, cookie: text(size) }, body);
        },
      };
    }
}

/** Headers as node:http and HTTP/2 list them: a name, its value, a name, its value. */
const lists: Readonly<Record<string, (size: number) => readonly string[]>> = {
  "many headers": (size) => keys(size / 8).flatMap((name) => [name, "1"]),
  "one header many times": (size) => keys(size / 8).flatMap((value) => ["accept", value]),
  "an empty header many times": (size) => keys(size / 3).flatMap(() => ["x", ""]),
  "many cookies, each in a header": (size) =>
    keys(size / 16).flatMap((name) => ["cookie", `${name}=1`]),
  "many tokens": (size) => keys(size / 24).flatMap((name) => ["authorization", `Bearer ${name}`]),
};

function* listEntries(): Generator<Entry> {
  for (const [shape, list] of Object.entries(lists)) {
    const { backend } = rig();
    yield {
      name: `GET me, ${shape}`,
      most: 60_000,
      reaches: /^401 .*session_(?:missing|unknown)/,
      prepare: (size) => {
        const rawHeaders = ["host", "planner.example", ...list(size)];
        const incoming = {
          method: "GET",
          url: "/auth/me",
          headers: { host: "planner.example" },
          rawHeaders,
        };
        return () => backend(toWebRequest(incoming));
      },
    };
  }
}

/** Many parameters, and one of them many times. */
const parameters: Shapes = {
  "many parameters": (size) =>
    keys(size / 9)
      .map((name) => `&${name}=1`)
      .join(""),
  ...Object.fromEntries(
    ["tenant", "return_to", "state", "code", "error"].map((name) => [
      `${name} many times`,
      (size: number) => `&${name}=1`.repeat(size / (name.length + 3)),
    ]),
  ),
};

const urls = [
  { path: "", reaches: /route_unknown/ },
  { path: "login?tenant=", reaches: /tenant_unknown|Send/ },
  { path: "login?return_to=/", reaches: /^302|return_to_refused|Send/ },
  { path: "login?return_to=", reaches: /return_to_refused|Send/ },
  { path: "callback?code=x&state=", reaches: /state_mismatch/ },
  { path: "callback?error=", reaches: /state_mismatch/ },
  { path: "callback/", reaches: /state_mismatch/ },
  { path: "launch/", reaches: /route_unknown/ },
];

function* urlEntries(): Generator<Entry> {
  for (const { path, reaches } of urls)
    for (const [shape, text] of Object.entries({ ...texts, ...parameters })) {
      const parts = rig(cookie);
      yield {
        name: `GET ${path}, ${shape}`,
        most: 120_000,
        reaches,
        prepare: (size) => {
          const target = `${OWN}/auth/${path}${text(size)}`;
          return send(parts, "GET", target, {});
        },
      };
    }
}

function* bodyEntries(): Generator<Entry> {
  for (const route of ["launch", "session", "logout"])
    for (const [shape, text] of Object.entries(documents)) {
      const parts = rig();
      yield {
        name: `POST ${route}, body: ${shape}`,
        most: 64_000,
        // Without a session, POST session is answered 204.
        reaches: route === "session" ? /^204|request_invalid/ : /request_invalid|session_missing/,
        prepare: (size) => send(parts, "POST", `${OWN}/auth/${route}`, json, text(size)),
      };
    }
  const fields = {
    code: "c",
    codeVerifier: "v".repeat(43),
    tenantId: "acme",
    hostOrigin: HOST,
  };
  for (const field of Object.keys(fields))
    for (const [shape, text] of Object.entries(texts)) {
      const parts = rig();
      yield {
        name: `POST launch, ${field}: ${shape}`,
        most: 60_000,
        reaches: new RegExp(`Missing or invalid: ${field}\\b`),
        prepare: (size) => {
          const body = JSON.stringify({ ...fields, [field]: within(size, text, JSON.stringify) });
          return send(parts, "POST", `${OWN}/auth/launch`, json, body);
        },
      };
    }
  const parts = rig();
  yield {
    name: "POST launch, body: chunks of one byte",
    most: 64_000,
    reaches: /request_invalid/,
    prepare: (size) => () => {
      let left = size;
      const body = new ReadableStream<Uint8Array>({
        pull: (sink) => (left-- > 0 ? sink.enqueue(new Uint8Array([32])) : sink.close()),
      });
      const init = { method: "POST", headers: json, body, duplex: "half" } as RequestInit;
      return parts.backend(new Request(`${OWN}/auth/launch`, init));
    },
  };
}

export const entries: readonly Entry[] = [
  ...headerEntries(),
  ...cookieEntries(),
  ...listEntries(),
  ...urlEntries(),
  ...bodyEntries(),
];
