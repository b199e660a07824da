// Every parser of what comes from the wire or from a file. Whole requests to the emulator are in
// test/emulator/fuzz.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PreparedApiClient } from "../../src/auth/credentials/clients.js";
import { readCallback } from "../../src/auth/person/authorization.js";
import { readGrant } from "../../src/auth/person/stored-grant.js";
import { ServerClock } from "../../src/auth/request/server-clock.js";
import { readTokens } from "../../src/auth/request/token-request.js";
import { Refusal } from "../../src/backend/error-answer.js";
import { cookieNames, readCookie } from "../../src/backend/request-checks.js";
import { readSettingsFile } from "../../src/cli/settings-file.js";
import { readDocumentedBody } from "../../src/emulator/api/bodies.js";
import {
  type DocumentedParameter,
  pairsOf,
  readParameter,
} from "../../src/emulator/api/parameters.js";
import { Schemas } from "../../src/emulator/api/schemas.js";
import { parseSeedFile } from "../../src/emulator/seed/seed-file.js";
import { applyOverlays, readOverlay } from "../../src/generate/document/overlay.js";
import { readDocument } from "../../src/generate/document/read-document.js";
import { listOperations } from "../../src/generate/operations/list-operations.js";
import { parseHttpDate, parseRetryAfterMs } from "../../src/http/backoff.js";
import { createAuth, createService, detectVariant, type TokenStore } from "../../src/index.js";
import { isAuthCodeValid, readAuthCode, urlOf } from "../../src/page/handshake.js";
import { errorCodeOf, openSession } from "../../src/page/session.js";
import { encryptedStore } from "../../src/stores/encrypted.js";
import { redisStore } from "../../src/stores/redis.js";
import { parseResults, readCustomers } from "../../src/survey/index.js";
import { validator } from "../../src/validate.js";
import { steppedClock, waitless } from "../support/clock.js";
import { credentialOf } from "../support/deployment.js";
import { numberedAuth } from "../support/numbered-auth.js";
import { bytesOf, headerOf, jsonOrText } from "./inputs.js";

export interface Parser {
  readonly name: string;
  /** Inputs, as a share of all shares. Cheap parsers get most. */
  readonly share: number;
  /** Valid inputs, and others that get far. */
  readonly examples: readonly string[];
  /** In how many ways the text is read, as of answers with one status or another. */
  readonly ways?: number;
  /**
   * Reads the text, and throws an error that is not ours if what it read must not be. The length
   * of an input chooses the way.
   */
  readonly parse: (text: string, way?: number) => unknown;
}

/** A value that no caller could use. It is not an error of ours, so it breaks the property. */
function mustBe(holds: boolean, what: string): void {
  if (!holds) throw new Error(`The parser returned what it must not: ${what}.`);
}

const json = JSON.stringify;
const { now } = steppedClock();
const clock = waitless(now);
const target = { baseUrl: "https://service.example", tenantId: "acme" } as const;
const DAY = 24 * 3_600_000;

const dates = [
  "Sun, 06 Nov 1994 08:49:37 GMT",
  "Sunday, 06-Nov-94 08:49:37 GMT",
  "Sun Nov  6 08:49:37 1994",
  "Thu, 26 Nov 2099 22:25:04 GMT",
];
const headerParsers: readonly Parser[] = [
  {
    name: "Retry-After",
    share: 120,
    examples: ["120", "0", "86401", "1.5", ...dates],
    parse(text) {
      const headers = new Headers({
        "retry-after": headerOf(text),
        date: dates[text.length % 4] ?? "",
      });
      const waitMs = parseRetryAfterMs(headers, now());
      mustBe(waitMs === undefined || (waitMs > 0 && waitMs <= DAY), `${waitMs} ms`);
    },
  },
  {
    name: "Date",
    share: 120,
    examples: dates,
    parse(text) {
      const headers = new Headers({ date: headerOf(text) });
      const offset = new ServerClock().observe({ headers, sentAt: now(), receivedAt: now() });
      mustBe(offset === undefined || Number.isFinite(offset), `${offset} ms`);
      mustBe(
        !Number.isFinite(parseHttpDate(text)) || Math.abs(parseHttpDate(text)) <= 8.64e15,
        "no date",
      );
    },
  },
  {
    name: "cookies of the backend",
    share: 100,
    examples: [
      "__Host-bivariant-session=abc; other=1",
      "a=1; a=2; __Host-bivariant-login-AAAAAAAA=x.y; \t b=",
    ],
    parse(text) {
      const request = { headers: new Headers({ cookie: headerOf(text) }) } as Request;
      for (const name of cookieNames(request)) {
        const value = readCookie(request, name);
        mustBe(value === undefined || value !== "", "an empty cookie");
      }
    },
  },
];

const tokens = { access_token: "token", token_type: "Bearer", expires_in: 3600 };
const roles = [{ name: "planner", group: "people" }];
const tokenAnswers = [
  json(tokens),
  json({ ...tokens, expires_in: "3600", refresh_token: "again", scope: "devices:read" }),
  json({
    ...tokens,
    revo: { tenant: "acme", roles, operator: { userId: "ada", firstname: "Ada" } },
  }),
  json({
    error: "invalid_client",
    error_description: "No.",
    error_uri: "https://service.example/help",
  }),
  json({ statusCode: 401, message: ["No"], error: { code: "x" } }),
];
const statuses = [200, 200, 201, 400, 401, 403, 404, 429, 500, 302];
const callStatuses = [200, 409, 400, 403, 500];
const state = { serverClock: new ServerClock() };
const endpoints = (["A", "B"] as const).map((variant) => ({
  variant,
  target,
  state,
  emit: () => {},
}));
const tokenParsers: readonly Parser[] = endpoints.map((endpoint) => ({
  name: `token answer of ${endpoint.variant}`,
  share: 60,
  examples: tokenAnswers,
  ways: statuses.length,
  parse(text, way = text.length) {
    const status = statuses[way % statuses.length] ?? 200;
    const answer = { status, headers: new Headers(), text, sentAt: now(), receivedAt: now() };
    const secrets = ["not a real secret"];
    const { token } = readTokens(endpoint as never, { answer, secrets, assertion: undefined });
    mustBe(typeof token.value === "string" && token.value !== "", "a token without a value");
    mustBe(
      token.expiresAt > now() && token.expiresAt < now() + 400 * DAY,
      `a life until ${token.expiresAt}`,
    );
  },
}));

const problem = {
  type: "about:blank",
  title: "No",
  status: 409,
  detail: "Not now",
  instance: "/x",
};
const wholeAnswers: readonly Parser[] = [
  {
    name: "token answer, by a whole request",
    share: 6,
    examples: tokenAnswers,
    ways: 4,
    parse: (text, way = text.length) =>
      createAuth({
        ...target,
        clock,
        credential: credentialOf(way % 2 ? "A" : "B"),
        retryDeadlineMs: 1,
        fetch: async () => new Response(bytesOf(text), { status: way % 4 < 2 ? 200 : 400 }),
      }).getAccessToken(),
  },
  {
    name: "problem body and answer of a call",
    share: 8,
    examples: [
      json(problem),
      json({ error: "x", message: "y" }),
      json([{ id: "1", name: "Door" }]),
    ],
    ways: callStatuses.length,
    parse(text, way = text.length) {
      const status = callStatuses[way % callStatuses.length] ?? 200;
      const type = status === 200 ? "application/json" : "application/problem+json";
      const answer = async () =>
        new Response(bytesOf(text), { status, headers: { "content-type": type } });
      const options = {
        fetch: answer,
        clock,
        maxRetries: 0,
        retryDeadlineMs: 1,
        validate: validator("strict"),
      };
      return createService(numberedAuth({ variant: "A", now }), options as never).call(
        "listDevices",
      );
    },
  },
  ...[
    "text/event-stream",
    "application/x-ndjson",
    "application/json-seq",
    "text/csv; charset=utf-16",
  ].map(
    (type): Parser => ({
      name: `answer of type ${type}`,
      share: 4,
      examples: [
        "data: x\nid: 1\nretry: 5\n\ndata: y\r\rdata:z\r\n\r\n",
        '{"a":1}\n{"a":2}\n',
        '\u001e{"a":1}\n',
      ],
      async parse(text) {
        const own = {
          method: "GET",
          path: "/v1/own",
          failure: [],
          success: [200],
          answers: { 200: [type] },
        };
        const api = { operations: { A: { own }, B: { own } } };
        const answer = async () =>
          new Response(bytesOf(text), { headers: { "content-type": type } });
        const options = { fetch: answer, clock, maxRetries: 0, retryDeadlineMs: 1, api };
        const service = createService(numberedAuth({ variant: "B", now }), options as never);
        const { data } = (await service.call("own" as never)) as {
          data: string | AsyncIterable<unknown>;
        };
        if (typeof data !== "string" && data !== undefined) for await (const _ of data);
      },
    }),
  ),
  {
    name: "answer to a detection",
    share: 3,
    examples: [...tokenAnswers, "<!doctype html><p>Log in"],
    parse: (text) =>
      detectVariant({
        ...target,
        clock,
        fetch: async () => new Response(bytesOf(text), { status: 400 }),
      }),
  },
];

const issuer = "https://service.example";
const prepared = {
  clientId: "portal",
  authorizationEndpoint: `${issuer}/authorize`,
  issuer,
} as PreparedApiClient;
const callback = "https://app.example/callback";
const message = { type: "host:auth-code", code: "c", state: "s", tenantId: "acme" };
const session = {
  variant: "B",
  tenantId: "acme",
  session: "x",
  expiresAt: 1,
  operator: { userId: "ada" },
};
const browserParsers: readonly Parser[] = [
  {
    name: "callback URL",
    share: 80,
    examples: [
      `${callback}?state=s&code=c&iss=https%3A%2F%2Fservice.example`,
      `${callback}?state=s&error=access_denied&error_description=No&iss=https%3A%2F%2Fservice.example`,
      `${callback}?code=c&state=other`,
    ],
    parse: (text) => mustBe(readCallback(text, "s", prepared) !== "", "an empty code"),
  },
  {
    name: "message to the page",
    share: 120,
    examples: [json(message), json({ type: "host:resize" }), "null"],
    parse(text) {
      const data = jsonOrText(text);
      const code = readAuthCode(data);
      urlOf(Object(code).state);
      mustBe(/^[a-z_]{1,40}$/.test(errorCodeOf(Object(data).error)), "another error code");
      if (code !== undefined && isAuthCodeValid(code))
        mustBe(
          typeof code.state === "string" && code.code.length <= 4_096,
          "a code that is too long",
        );
    },
  },
  {
    name: "answer of the backend to the page",
    share: 30,
    examples: [
      json(session),
      json({ ...session, csrf: "x", session: undefined }),
      json({ error: "session_unknown" }),
    ],
    ways: 2,
    parse(text, way = 0) {
      const backend = {
        url: new URL("https://app.example/auth"),
        fetch: async () => new Response(""),
        timeoutMs: 1,
      };
      const answer = new Response(bytesOf(text), { status: way === 0 ? 200 : 401 });
      return openSession(backend, answer, undefined, undefined);
    },
  },
];

const list = { type: "array", items: { type: ["integer", "string"] }, uniqueItems: true };
const object = {
  type: "object",
  properties: { a: list },
  additionalProperties: { type: "string" },
};
const documented: readonly DocumentedParameter[] = [
  { in: "query", name: "a", schema: list },
  { in: "query", name: "a", explode: false, schema: object },
  { in: "query", name: "x", style: "deepObject", schema: object },
  { in: "query", name: "a", style: "pipeDelimited", explode: false, schema: list },
  { in: "query", name: "a", content: "application/json", schema: object },
  { in: "path", name: "a", style: "matrix", explode: true, schema: object },
  { in: "path", name: "a", style: "label", schema: list },
  { in: "path", name: "a", schema: { type: "number" } },
  { in: "header", name: "a", explode: true, schema: object },
  { in: "cookie", name: "a", schema: list },
];
const schemas = new Schemas();
const parameterNames = ["a", "x"];
const part = (headers: string, body: string) =>
  `--edge\r\nContent-Disposition: form-data; ${headers}\r\n\r\n${body}\r\n`;
const bodies: Readonly<
  Record<string, { readonly share: number; readonly examples: readonly string[] }>
> = {
  "multipart/form-data; boundary=edge": {
    share: 20,
    examples: [
      `${part('name="a"', "1")}` +
        `${part('name="f"; filename="x.png"\r\nContent-Type: image/png', "\x89PNG")}--edge--\r\n`,
      `preamble\r\n${part("name*=UTF-8''%e2%82%ac", "1")}` +
        `${part('name="a"', "--edg")}--edge--\r\nepilogue`,
    ],
  },
  "application/x-www-form-urlencoded": {
    share: 30,
    examples: ["a=1&a=2&b=%C3%A9+x", "x[a]=1&x[b][c]=2&a=%zz"],
  },
  "application/x-ndjson": { share: 10, examples: ['{"a":[1]}\n{"a":["x"]}\n'] },
  "application/json": { share: 20, examples: ['{"a":[1,"x"],"b":"c"}', "[1,2]"] },
};
const requestParsers: readonly Parser[] = [
  {
    name: "styled values",
    share: 90,
    examples: [
      "a=1&a=2&b=x",
      "a,1,b,2",
      "x[a]=1&x[b]=2",
      ";a=1;b=2",
      ".1.2",
      'a={"a":[1]}',
      "a=1|2|3",
      "a=1,b=2",
    ],
    parse(text) {
      const path = { a: text };
      const header = headerOf(text);
      const sent = {
        path,
        query: pairsOf(text),
        headers: new Headers({ a: header }),
        cookies: pairsOf(text),
      };
      for (const parameter of documented) readParameter(parameter, sent, parameterNames, schemas);
    },
  },
  ...Object.entries(bodies).map(([type, { share, examples }]): Parser => {
    const content = {
      schema: { anyOf: [list, object] },
      encoding: { x: { style: "deepObject", explode: true } },
    };
    const body = { contents: { [type.split(";")[0] ?? ""]: content } };
    return {
      name: `body of type ${type.split(";")[0]}`,
      share,
      examples,
      parse: (text) => readDocumentedBody(bytesOf(text), type, body, schemas),
    };
  }),
];

/** Always the same entry, whatever is asked for. */
const holding = (value: string) =>
  ({ get: async () => ({ value, version: "1" }) }) as unknown as TokenStore;
const grant = {
  token: { value: "t", expiresAt: 1, roles },
  refreshToken: "r",
  id: "i",
  since: 1,
  sentAt: 2,
};
const storeParsers: readonly Parser[] = [
  {
    name: "answer of Redis",
    share: 100,
    examples: ['v1 "value"', 'v1 "\\ud800"', "1", "null", '{"a":1}', '["v1 \\"x\\""]'],
    async parse(text) {
      // A reply may be a text, or of another type.
      const reply = text.length % 3 === 0 ? jsonOrText(text) : text;
      const entry = await redisStore({ sendCommand: async () => reply } as never).get("key");
      mustBe(entry === undefined || typeof entry.value === "string", "an entry without a text");
    },
  },
  {
    name: "error of Redis",
    share: 20,
    examples: [
      "WRONGTYPE Operation against a key",
      "NOAUTH Authentication required.",
      "READONLY You can't write",
    ],
    parse: (text) =>
      redisStore({ sendCommand: () => Promise.reject(new Error(text)) } as never).set(
        "key",
        "value",
      ),
  },
  {
    name: "login in a store",
    share: 40,
    examples: [json(grant), json({ ...grant, isOutcomeUnknown: true })],
    async parse(text) {
      const read = await readGrant({ store: holding(text), key: "key" });
      mustBe(typeof read?.token.value === "string", "a login without a token");
    },
  },
  {
    name: "entry of an encrypted store",
    share: 10,
    examples: [
      "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..AAAAAAAAAAAAAAAA.AAAA.AAAAAAAAAAAAAAAAAAAAAA",
    ],
    parse: (text) => encryptedStore(holding(text), "a".repeat(64)).get("key"),
  },
];

const seed = {
  options: { variants: ["A"], rules: { "refresh.reuse": false }, tokenLifetimeSeconds: 60 },
  operators: [{ tenantId: "acme", userId: "ada", capabilities: ["devices:read"] }],
  serviceAccounts: [{ clientId: "worker", clientSecret: "s", tenantId: "acme" }],
};
const settings = {
  rules: { "refresh.reuse": false },
  unauthorizedStatuses: [401, 403],
  tenantIdPattern: "^a",
};
const info = { title: "Own", version: "1" };
const schema = { type: "object", properties: { next: { $ref: "#/components/schemas/own" } } };
const responses = { 200: { description: "Done", content: { "application/json": { schema } } } };
const operation = {
  operationId: "own",
  responses,
  parameters: [{ name: "q", in: "query", schema: list }],
};
const document = {
  openapi: "3.1.0",
  info,
  paths: { "/v1/own": { get: operation } },
  components: { schemas: { own: schema } },
};
const overlay = {
  overlay: "1.1.0",
  info,
  actions: [
    { target: "$.info", update: { "x-own": 1 } },
    { target: "$.paths['/v1/own'].get.parameters[?@.in == 'query']", remove: true },
  ],
};
const row = { baseUrl: "https://a.example", tenantId: "acme", variant: "A", works: true };
const rows = [
  'baseUrl,tenantId,note\nhttps://a.example,acme,x\nhttps://b.example,,"y""z"\n',
  "- baseUrl: https://a.example\n  tenantId: acme\n- { baseUrl: https://b.example, note: x }\n",
  `${json({ baseUrl: row.baseUrl, tenantId: "acme" })}\n` +
    `${json({ baseUrl: "https://b.example" })}\n`,
];
const results = [
  `${json(row)}\n${json({ ...row, variant: null, tenantId: null, works: false })}\n`,
  "baseUrl,tenantId,variant,works\nhttps://a.example,acme,A,true\n",
];

/** Parsers of files, which are written to this folder first. */
export function parsersIn(folder: string): readonly Parser[] {
  const { signal } = new AbortController();
  const written = (text: string, name = "input.yaml") => {
    const path = join(folder, name);
    writeFileSync(path, bytesOf(text));
    return path;
  };
  const base = written(json(document), "base.json");
  return [
    ...headerParsers,
    ...tokenParsers,
    ...wholeAnswers,
    ...browserParsers,
    ...requestParsers,
    ...storeParsers,
    {
      name: "document",
      share: 2,
      examples: [
        json(document),
        `openapi: 3.0.3\ninfo: { title: a, version: "1" }\npaths: {}\nx: &a [*a]\n`,
      ],
      parse: async (text) => listOperations(await readDocument("B", written(text), {})),
    },
    {
      name: "overlay",
      share: 1,
      examples: [json(overlay)],
      async parse(text) {
        const read = await readOverlay(written(text));
        applyOverlays([read], [await readDocument("B", base, {})]);
      },
    },
    {
      name: "seed file",
      share: 3,
      examples: [json(seed), "operators:\n  - { tenantId: acme, userId: ada }\n"],
      parse: (text) => parseSeedFile(text, "seed.yaml"),
    },
    {
      name: "settings file",
      share: 2,
      examples: [json(settings), "{}"],
      parse: (text) => readSettingsFile(written(text), signal),
    },
    {
      name: "customers of a survey",
      share: 8,
      examples: rows,
      parse: (text) => readCustomers(text),
    },
    {
      name: "earlier results of a survey",
      share: 20,
      examples: results,
      parse: parseResults,
    },
  ];
}

/** The backend answers with the code of a `Refusal`. It never leaves the package as an error. */
export const isRefusal = (error: unknown): boolean => error instanceof Refusal;
