// What anyone may send to a backend.
import { OWN, type Rig, rig } from "../backend/rig.js";
import type { Entry } from "./growth.js";
import { documents, lines, texts } from "./shapes.js";

const cookie = { session: { cookie: true } } as const;

function send({ backend }: Rig, method: string, target: string, headers: HeadersInit, body?: string) {
  return () => backend(new Request(target, { method, headers, body: body ?? null }));
}

const json = { "content-type": "application/json", origin: OWN };
const session = "x".repeat(43);

/** Every header that the backend reads, in a request to a route that reads it. */
const headers = [
  { name: "authorization", method: "GET", path: "me" },
  { name: "authorization", method: "GET", path: "me", before: "Bearer " },
  { name: "cookie", method: "GET", path: "me", before: "__Host-bivariant-session=" },
  {
    name: "cookie",
    method: "GET",
    path: "callback?code=x&state=y",
    before: "__Host-bivariant-login-AAAAAAAA=",
  },
  { name: "cookie", method: "GET", path: "login", before: "__Host-bivariant-login-AAAAAAAA=" },
  { name: "origin", method: "GET", path: "me" },
  { name: "origin", method: "POST", path: "session", before: "https://" },
  {
    name: "referer",
    method: "GET",
    path: "login",
    before: "https://",
    also: { "sec-fetch-site": "same-site" },
  },
  { name: "sec-fetch-site", method: "GET", path: "login" },
  { name: "accept", method: "GET", path: "login?tenant=nobody" },
  { name: "content-type", method: "POST", path: "launch" },
  { name: "content-length", method: "POST", path: "launch" },
  {
    name: "x-bivariant-csrf",
    method: "POST",
    path: "logout",
    also: { cookie: `__Host-bivariant-session=${session}` },
  },
  { name: "access-control-request-headers", method: "OPTIONS", path: "me" },
];

function* headerEntries(): Generator<Entry> {
  for (const { name, method, path, before = "", also } of headers)
    for (const [shape, text] of Object.entries(lines)) {
      const parts = rig(cookie);
      yield {
        name: `${method} ${path}, header ${name}: ${before}, ${shape}`,
        most: 60_000,
        prepare: (size) => {
          const given = { ...json, ...also, [name]: before + text(size) };
          return send(parts, method, `${OWN}/auth/${path}`, given, method === "POST" ? "{}" : undefined);
        },
      };
    }
}

const urls = [
  "",
  "login?tenant=",
  "login?return_to=/",
  "login?return_to=",
  "callback?code=x&state=",
  "callback?error=",
  "callback/",
  "launch/",
];

function* urlEntries(): Generator<Entry> {
  for (const path of urls)
    for (const [shape, text] of Object.entries(texts)) {
      const parts = rig(cookie);
      yield {
        name: `GET ${path}, ${shape}`,
        most: 120_000,
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
        prepare: (size) => send(parts, "POST", `${OWN}/auth/${route}`, json, text(size)),
      };
    }
  const fields = {
    code: "c",
    codeVerifier: "v".repeat(43),
    tenantId: "acme",
    hostOrigin: "https://host.example",
  };
  for (const field of Object.keys(fields))
    for (const [shape, text] of Object.entries(texts)) {
      const parts = rig();
      yield {
        name: `POST launch, ${field}: ${shape}`,
        most: 60_000,
        prepare: (size) => {
          const body = JSON.stringify({ ...fields, [field]: text(size) }).slice(0, 65_000);
          return send(parts, "POST", `${OWN}/auth/launch`, json, body);
        },
      };
    }
  const parts = rig();
  yield {
    name: "POST launch, body: chunks of one byte",
    most: 64_000,
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

export const entries: readonly Entry[] = [...headerEntries(), ...urlEntries(), ...bodyEntries()];
