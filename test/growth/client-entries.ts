// What a deployment, a store or the address bar of a browser may send to the client and to the page.
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
import { documents, keys, lines, texts } from "./shapes.js";

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
      rateLimitDeadlineMs: 1,
    }).getAccessToken(),
  );

const good = { access_token: "token", token_type: "Bearer", expires_in: 3600 };

function* tokenAnswers(): Generator<Entry> {
  for (const variant of ["A", "B"] as const)
    for (const status of [200, 400])
      for (const [shape, text] of Object.entries({ ...documents, ...texts }))
        yield {
          name: `token answer of ${variant}, ${status}: ${shape}`,
          most: mebibyte,
          prepare: (size) => {
            const body = text(size);
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
        name: `token answer, ${status}, ${name}: ${shape}`,
        most: mebibyte,
        prepare: (size) => {
          const body = JSON.stringify({
            ...(status === 200 ? good : { error: "invalid_client", error_description: "No. ".repeat(60) }),
            [name]: text(size),
          });
          return tokenFrom("B", () => new Response(body, { status }));
        },
      };
  yield {
    name: "token answer: roles",
    most: 40_000,
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
          name: `token answer, header ${name}: ${before}, ${shape}`,
          most: 120_000,
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
    retries: 0,
    rateLimitDeadlineMs: 1,
    ...options,
  } as never);

function* callAnswers(): Generator<Entry> {
  for (const status of [200, 403, 400, 500])
    for (const [shape, text] of Object.entries({ ...documents, ...texts }))
      yield {
        name: `call answered ${status}: ${shape}`,
        most: mebibyte,
        prepare: (size) => {
          const body = text(size);
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
        name: `problem body, ${name}: ${shape}`,
        most: mebibyte,
        prepare: (size) => {
          const body = JSON.stringify({ [name]: text(size) });
          const service = serviceFrom(
            "B",
            () =>
              new Response(body, { status: 409, headers: { "content-type": "application/problem+json" } }),
          );
          return refusedOrDone(() => service.call("listDevices"));
        },
      };
  for (const name of ["retry-after", "date", "content-type", "location", "www-authenticate"])
    for (const [shape, text] of Object.entries(lines))
      for (const before of ["", "/", "https://service.example/", "application/json"])
        yield {
          name: `call answered, header ${name}: ${before}, ${shape}`,
          most: 120_000,
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
      name: `answer to a detection: ${shape}`,
      most: mebibyte,
      prepare: (size) => {
        const body = text(size);
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
      name: `answer to a detection, content-type: ${shape}`,
      most: 120_000,
      prepare: (size) => {
        const type = text(size);
        return refusedOrDone(() =>
          detectVariant({
            ...target,
            fetch: async () => new Response("{}", { status: 400, headers: { "content-type": type } }),
          }),
        );
      },
    };
}

const CALLBACK = "https://app.example/callback";
const portal = apiClient({
  clientId: "portal",
  redirectUri: CALLBACK,
  authorizationEndpoint: "https://service.example/authorize",
  issuer: "https://service.example",
});
const { login } = await beginLogin({ ...target, credential: portal });

function* callbacks(): Generator<Entry> {
  for (const before of ["", "&code=", "&error=", "&iss=", "&error=x&code=", "&error=x&state="])
    for (const [shape, text] of Object.entries(texts))
      yield {
        name: `callback URL with ${before}: ${shape}`,
        most: 120_000,
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
      name: `callback URL with many ${name}`,
      most: 20_000,
      prepare: (size) => {
        const callbackUrl = `${CALLBACK}?state=${login.state}&error=${"long ".repeat(80)}${keys(size)
          .map((key) => `&${name}=${key.padEnd(20, "z")}`)
          .join("")}`;
        return refusedOrDone(() => completeLogin({ ...target, credential: portal, login, callbackUrl }));
      },
    };
}

function* stored(): Generator<Entry> {
  const redis = (answer: () => unknown) => redisStore({ sendCommand: async () => answer() } as never);
  for (const [shape, text] of Object.entries(texts))
    for (const before of ["", "v ", 'v "'])
      yield {
        name: `answer of Redis: ${before}, ${shape}`,
        most: mebibyte,
        prepare: (size) => {
          const value = `${before}${text(size)}"`;
          return refusedOrDone(() => redis(() => value).get("key"));
        },
      };
  for (const [shape, text] of Object.entries(texts))
    yield {
      name: `error of Redis: ${shape}`,
      most: mebibyte,
      prepare: (size) => {
        const message = text(size);
        return refusedOrDone(() => redis(() => Promise.reject(new Error(message))).get("key"));
      },
    };
  for (const [shape, text] of Object.entries({ ...texts, ...documents }))
    yield {
      name: `entry of an encrypted store: ${shape}`,
      most: mebibyte,
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
        name: `page message, ${field}: ${shape}`,
        most: mebibyte,
        prepare: (size) => {
          const data = { ...message, [field]: text(size) };
          return () => {
            const code = readAuthCode(data);
            if (code) isAuthCodeValid(code);
            urlOf(data.state);
          };
        },
      };
  for (const [shape, text] of Object.entries({ ...texts, ...documents }))
    for (const status of [200, 401])
      yield {
        name: `answer of the backend to the page, ${status}: ${shape}`,
        most: mebibyte,
        prepare: (size) => {
          const body = JSON.stringify({ error: text(size), message: text(size) });
          const whole = text(size);
          const backend = {
            url: new URL("https://app.example/auth"),
            fetch: async () => new Response(whole),
            timeoutMs: 1_000,
          };
          return async () => {
            await refusedOrDone(() =>
              openSession(backend, new Response(whole, { status }), undefined, undefined),
            )();
            await refusedOrDone(() =>
              openSession(backend, new Response(body, { status }), undefined, undefined),
            )();
            errorCodeOf(whole);
          };
        },
      };
}

export const entries: readonly Entry[] = [
  ...tokenAnswers(),
  ...callAnswers(),
  ...detections(),
  ...callbacks(),
  ...stored(),
  ...pages(),
];
