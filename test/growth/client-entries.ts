// What a deployment, a store or the address bar of a browser may send to the client and to the
// page.
import {
  apiClient,
  beginLogin,
  completeLogin,
  createAuth,
  createService,
  detectVariant,
  type Variant,
} from "../../src/index.js";
import { isAuthCodeValid, readAuthCode, urlOf } from "../../src/page/handshake.js";
import { errorCodeOf, openSession } from "../../src/page/session.js";
import { encryptedStore } from "../../src/stores/encrypted.js";
import { memoryStore } from "../../src/stores/memory.js";
import { redisStore } from "../../src/stores/redis.js";
import { validator } from "../../src/validate.js";
import { steppedClock, waitless } from "../support/clock.js";
import { account, plugin } from "../support/deployment.js";
import { numberedAuth } from "../support/numbered-auth.js";
import type { Entry } from "./growth.js";
import { refusedOrDone } from "./refused.js";
import { documents, keys, lines, type Shapes, texts, within } from "./shapes.js";

const { now } = steppedClock();
const clock = waitless(now);
const target = { baseUrl: "https://service.example", tenantId: "acme", clock } as const;
const mebibyte = 1_000_000;

const credentials = { A: plugin(), B: account() };
const tokenFrom = (variant: Variant, answer: () => Response) =>
  refusedOrDone(() =>
    createAuth({
      ...target,
      credential: credentials[variant],
      fetch: async () => answer(),
      retryDeadlineMs: 1,
    }).getAccessToken(),
  );

const good = { access_token: "token", token_type: "Bearer", expires_in: 3600 };

function* tokenAnswers(): Generator<Entry> {
  for (const variant of ["A", "B"] as const)
    for (const status of [200, 400])
      for (const [shape, text] of Object.entries({ ...documents, ...texts }))
        yield {
          ...{ name: `token answer of ${variant}, ${status}: ${shape}`, most: mebibyte },
          reaches:
            status === 200
              ? /^response_(?:not_json|shape)/
              : /^token_refused|^response_(?:not_json|shape)/,
          prepare: (size) => {
            const body = within(size, text);
            return tokenFrom(variant, () => new Response(body, { status }));
          },
        };
  const fields = [
    { name: "access_token", status: 200 },
    { name: "access_token", status: 400 },
    { name: "refresh_token", status: 400 },
    { name: "token_type", status: 200 },
    { name: "expires_in", status: 200 },
    { name: "error", status: 400 },
    { name: "error_description", status: 400 },
    { name: "error_uri", status: 400 },
  ];
  for (const { name, status } of fields)
    for (const [shape, text] of Object.entries(texts))
      yield {
        ...{ name: `token answer, ${status}, ${name}: ${shape}`, most: mebibyte },
        reaches: status === 200 ? /^done|^response_shape/ : /^token_refused/,
        prepare: (size) => {
          const body = JSON.stringify({
            ...(status === 200
              ? good
              : { error: "invalid_client", error_description: "No. ".repeat(60) }),
            [name]: within(size, text, JSON.stringify),
          });
          return tokenFrom("B", () => new Response(body, { status }));
        },
      };
  yield {
    ...{ name: "token answer: roles", most: 25_000, reaches: /^done/ },
    prepare: (size) => {
      const body = JSON.stringify({
        ...good,
        revo: { tenant: "acme", roles: keys(size).map((name) => ({ name, group: name })) },
      });
      return tokenFrom("A", () => new Response(body));
    },
  };
  for (const name of ["retry-after", "date", "age", "content-type", "content-length", "location"])
    for (const [shape, text] of Object.entries(lines))
      for (const before of ["", "Sun, 06 Nov 1994 "])
        yield {
          ...{ name: `token answer, header ${name}: ${before}, ${shape}`, most: 120_000 },
          reaches:
            name === "location"
              ? /redirected/
              : name === "retry-after"
                ? /rate_limited/
                : /response_shape/,
          prepare: (size) => {
            const headers = { [name]: before + text(size) };
            return tokenFrom(
              "B",
              () =>
                new Response("{}", {
                  status: name === "location" ? 302 : name === "retry-after" ? 429 : 200,
                  headers,
                }),
            );
          },
        };
}

const serviceFrom = (variant: Variant, answer: () => Response, options: object = {}) =>
  createService(numberedAuth({ variant, now }), {
    fetch: async () => answer(),
    clock,
    maxRetries: 0,
    retryDeadlineMs: 1,
    ...options,
  } as never);

function* callAnswers(): Generator<Entry> {
  for (const status of [200, 403, 400, 500])
    for (const [shape, text] of Object.entries({ ...documents, ...texts }))
      yield {
        ...{ name: `call answered ${status}: ${shape}`, most: mebibyte },
        reaches: status === 200 ? /^done|^response_(?:not_json|shape)/ : /^done/,
        prepare: (size) => {
          const body = within(size, text);
          const headers = {
            "content-type": status === 200 ? "application/json" : "application/problem+json",
          };
          const service = serviceFrom("A", () => new Response(body, { status, headers }), {
            validate: validator("strict"),
          });
          return refusedOrDone(() => service.call("listDevices"));
        },
      };
  const fields = ["type", "title", "detail", "instance", "error", "error_description", "message"];
  for (const name of fields)
    for (const [shape, text] of Object.entries(texts))
      yield {
        ...{ name: `problem body, ${name}: ${shape}`, most: mebibyte, reaches: /^done/ },
        prepare: (size) => {
          const body = JSON.stringify({ [name]: within(size, text, JSON.stringify) });
          const service = serviceFrom(
            "B",
            () =>
              new Response(body, {
                status: 409,
                headers: { "content-type": "application/problem+json" },
              }),
          );
          return refusedOrDone(() => service.call("listDevices"));
        },
      };
  for (const name of ["retry-after", "date", "content-type", "location", "www-authenticate"])
    for (const [shape, text] of Object.entries(lines))
      for (const before of ["", "/", "https://service.example/", "application/json"])
        yield {
          ...{ name: `call answered, header ${name}: ${before}, ${shape}`, most: 120_000 },
          reaches: /^done|^response_not_json/,
          prepare: (size) => {
            const headers = { [name]: before + text(size) };
            const status =
              name === "location"
                ? 302
                : name === "retry-after"
                  ? 429
                  : name === "www-authenticate"
                    ? 401
                    : 200;
            const service = serviceFrom("A", () => new Response("{}", { status, headers }));
            return refusedOrDone(() =>
              name === "location" ? service.fetch("v1/x") : service.call("listDevices"),
            );
          },
        };
}

function* detections(): Generator<Entry> {
  for (const [shape, text] of Object.entries({ ...documents, ...texts }))
    yield {
      ...{ name: `answer to a detection: ${shape}`, most: mebibyte, reaches: /^done/ },
      prepare: (size) => {
        const body = within(size, text);
        return refusedOrDone(() =>
          detectVariant({
            ...target,
            fetch: async () =>
              new Response(body, {
                status: 400,
                headers: { "content-type": `text/html; ${body.slice(0, 0)}` },
              }),
          }),
        );
      },
    };
  for (const [shape, text] of Object.entries(lines))
    yield {
      ...{ name: `answer to a detection, content-type: ${shape}`, most: 120_000, reaches: /^done/ },
      prepare: (size) => {
        const type = text(size);
        return refusedOrDone(() =>
          detectVariant({
            ...target,
            fetch: async () =>
              new Response("{}", { status: 400, headers: { "content-type": type } }),
          }),
        );
      },
    };
}

/** What an answer may hold that is read as it arrives, or as text. */
const streams = {
  "text/event-stream": {
    ...texts,
    "data lines": (size: number) => "data: x\n".repeat(size / 8),
    "data lines that end in CR": (size: number) => "data: x\r".repeat(size / 8),
    "carriage returns": (size: number) => "\r".repeat(size),
    "lines before a carriage return": (size: number) => `${"\n".repeat(size)}\r`,
    "names of fields": (size: number) => "retry: x\nid\n: x\n".repeat(size / 17),
  },
  "application/x-ndjson": {
    ...texts,
    ...documents,
    "short lines": (size: number) => "1\n".repeat(size / 2),
  },
  "application/json-seq": {
    ...texts,
    "short records": (size: number) => "\u001e1\n".repeat(size / 3),
  },
  "text/csv; charset=utf-16": texts,
};

/** Reads a stream to its end. Deployments choose how large its chunks are. */
function* streamedAnswers(): Generator<Entry> {
  for (const [type, shapes] of Object.entries(streams))
    for (const [shape, text] of Object.entries(shapes as Shapes))
      for (const chunkBytes of [mebibyte, 64])
        yield {
          ...{
            name: `call answered with ${type}, in chunks of ${chunkBytes}: ${shape}`,
            most: chunkBytes === 64 ? 20_000 : 240_000,
          },
          reaches: /^done|^response_not_json/,
          prepare: (size) => {
            const bytes = new TextEncoder().encode(text(size));
            const body = () => {
              let at = 0;
              const pull = (sink: ReadableStreamDefaultController) => {
                if (at >= bytes.length) return sink.close();
                sink.enqueue(bytes.subarray(at, at + chunkBytes));
                at += chunkBytes;
              };
              return new ReadableStream({ pull });
            };
            const row = { method: "GET", path: "/v1/own", failure: [], success: [200] };
            const own = { ...row, answers: { 200: [type.split(";")[0]] } };
            const service = serviceFrom(
              "B",
              () => new Response(body(), { headers: { "content-type": type } }),
              { api: { operations: { A: { own }, B: { own } } } },
            );
            return refusedOrDone(async () => {
              const { data } = (await service.call("own" as never)) as {
                data: string | AsyncIterable<unknown>;
              };
              if (typeof data !== "string") for await (const _ of data);
            });
          },
        };
}

/** Many headers in one answer. */
const lists: Readonly<Record<string, (size: number) => [string, string][]>> = {
  "many headers": (size) => keys(size / 9).map((name) => [name, "1"]),
  ...Object.fromEntries(
    ["set-cookie", "link", "www-authenticate", "retry-after", "date", "warning"].map((name) => [
      `${name} many times`,
      (size: number) =>
        keys(size / (name.length + 8)).map((key): [string, string] => [name, `${key}=1`]),
    ]),
  ),
};

function* headerLists(): Generator<Entry> {
  for (const [shape, list] of Object.entries(lists))
    for (const status of [200, 401, 429]) {
      const answer = (size: number) => {
        const headers = list(size);
        return () => new Response("{}", { status, headers });
      };
      yield {
        ...{ name: `token answer ${status} with ${shape}`, most: 120_000 },
        reaches: /^response_shape|^token_refused|^rate_limited/,
        prepare: (size) => tokenFrom("B", answer(size)),
      };
      yield {
        ...{ name: `call answered ${status} with ${shape}`, most: 120_000 },
        reaches: /^done|^response_not_json/,
        prepare: (size) => {
          const service = serviceFrom("A", answer(size));
          return refusedOrDone(() => service.call("listDevices"));
        },
      };
    }
}

const CALLBACK = "https://app.example/callback";
const issuer = "https://service.example";
const portal = apiClient({
  clientId: "portal",
  redirectUri: CALLBACK,
  authorizationEndpoint: "https://service.example/authorize",
  issuer,
});
const { login } = await beginLogin({ ...target, credential: portal });

function* callbacks(): Generator<Entry> {
  const own = `&iss=${encodeURIComponent(issuer)}`;
  for (const { before, reaches } of [
    { before: "", reaches: /^state_mismatch/ },
    { before: `${own}&code=`, reaches: /^login_refused/ },
    { before: `${own}&error=`, reaches: /reports an error/ },
    { before: "&iss=", reaches: /not a valid authorization response/ },
    { before: `${own}&error=x&code=`, reaches: /^login_refused/ },
    { before: `${own}&error=x&state=`, reaches: /^state_mismatch/ },
  ])
    for (const [shape, text] of Object.entries(texts))
      yield {
        ...{ name: `callback URL with ${before}: ${shape}`, most: 120_000, reaches },
        prepare: (size) => {
          const callbackUrl = `${CALLBACK}?state=${login.state}${before}${text(size)}`;
          const fetch = async () => Response.json({ error: "invalid_grant" }, { status: 400 });
          return refusedOrDone(() =>
            completeLogin({ ...target, credential: portal, fetch, login, callbackUrl }),
          );
        },
      };
  for (const name of ["state", "code", "error", "iss", "x"])
    yield {
      ...{
        name: `callback URL with many ${name}`,
        most: 20_000,
        reaches: /^login_refused|^state_mismatch/,
      },
      prepare: (size) => {
        const callbackUrl = `${CALLBACK}?state=${login.state}&error=${"long ".repeat(80)}${keys(
          size,
        )
          .map((key) => `&${name}=${key.padEnd(20, "z")}`)
          .join("")}`;
        return refusedOrDone(() =>
          completeLogin({ ...target, credential: portal, login, callbackUrl }),
        );
      },
    };
}

function* stored(): Generator<Entry> {
  const redis = (answer: () => unknown) =>
    redisStore({ sendCommand: async () => answer() } as never);
  for (const [shape, text] of Object.entries(texts))
    for (const before of ["", "v ", 'v "'])
      yield {
        ...{
          name: `answer of Redis: ${before}, ${shape}`,
          most: mebibyte,
          reaches: /^done|^store_corrupt/,
        },
        prepare: (size) => {
          const value = `${before}${text(size)}"`;
          return refusedOrDone(() => redis(() => value).get("key"));
        },
      };
  for (const [shape, text] of Object.entries(texts))
    yield {
      ...{ name: `error of Redis: ${shape}`, most: mebibyte, reaches: /^store_unavailable/ },
      prepare: (size) => {
        const message = text(size);
        return refusedOrDone(() => redis(() => Promise.reject(new Error(message))).get("key"));
      },
    };
  for (const [shape, text] of Object.entries({ ...texts, ...documents }))
    yield {
      ...{
        name: `entry of an encrypted store: ${shape}`,
        most: mebibyte,
        reaches: /^store_corrupt/,
      },
      prepare: (size) => {
        const inner = memoryStore();
        const written = inner.set("key", text(size));
        const store = encryptedStore(inner, "a".repeat(64));
        return refusedOrDone(async () => {
          await written;
          await store.get("key");
        });
      },
    };
}

function* pages(): Generator<Entry> {
  const message = { type: "host:auth-code", code: "c", state: "s", tenantId: "acme" };
  for (const field of Object.keys(message))
    for (const [shape, text] of Object.entries(texts))
      yield {
        ...{ name: `page message, ${field}: ${shape}`, most: mebibyte },
        reaches: field === "type" ? /^undefined/ : /^(?:true|false)/,
        prepare: (size) => {
          const data = { ...message, [field]: text(size) };
          return () => {
            const code = readAuthCode(data);
            urlOf(data.state);
            return code && isAuthCodeValid(code);
          };
        },
      };
  for (const [shape, text] of Object.entries({ ...texts, ...documents }))
    for (const status of [200, 401])
      yield {
        ...{
          name: `answer of the backend to the page, ${status}: ${shape}`,
          most: mebibyte,
          reaches: /^backend_failed/,
        },
        prepare: (size) => {
          const body = JSON.stringify({ error: text(size), message: text(size) });
          const whole = text(size);
          const backend = {
            url: new URL("https://app.example/auth"),
            fetch: async () => new Response(whole),
            timeoutMs: 1_000,
          };
          return async () => {
            const open = (answer: string) =>
              refusedOrDone(() =>
                openSession(backend, new Response(answer, { status }), undefined, undefined),
              )();
            errorCodeOf(whole);
            return `${await open(whole)} ${await open(body)}`;
          };
        },
      };
}

export const entries: readonly Entry[] = [
  ...tokenAnswers(),
  ...callAnswers(),
  ...streamedAnswers(),
  ...headerLists(),
  ...detections(),
  ...callbacks(),
  ...stored(),
  ...pages(),
];
