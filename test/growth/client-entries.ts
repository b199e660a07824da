// What a deployment may send to the client beside the bodies of parser-entries.ts: headers, and
// streams in small chunks.
import { createAuth, createService } from "../../src/index.js";
import { steppedClock, waitless } from "../support/clock.js";
import { account } from "../support/deployment.js";
import { numberedAuth } from "../support/numbered-auth.js";
import type { Entry } from "./growth.js";
import { refusedOrDone } from "./refused.js";
import { keys, lines, type Shapes, texts } from "./shapes.js";

const { now } = steppedClock();
const clock = waitless(now);
const target = { baseUrl: "https://service.example", tenantId: "acme", clock } as const;

const tokenFrom = (answer: () => Response) =>
  refusedOrDone(() => {
    const given = { ...target, credential: account(), retryDeadlineMs: 1 };
    return createAuth({ ...given, fetch: async () => answer() }).getAccessToken();
  });

const serviceFrom = (answer: () => Response, options: object = {}) => {
  const limits = { clock, maxRetries: 0, retryDeadlineMs: 1 };
  const given = { fetch: async () => answer(), ...limits, ...options };
  return createService(numberedAuth({ variant: "B", now }), given as never);
};

/** The status whose reader looks at a header. */
const statusOf: Readonly<Record<string, number>> = {
  "retry-after": 429,
  location: 302,
  "www-authenticate": 401,
  date: 200,
  age: 200,
  "content-type": 200,
  "content-length": 200,
};
const beginnings = ["", "Sun, 06 Nov 1994 ", "https://service.example/"];

function* headerEntries(): Generator<Entry> {
  for (const [name, status] of Object.entries(statusOf))
    for (const before of beginnings)
      for (const [shape, text] of Object.entries(lines)) {
        const answer = (size: number) => {
          const headers = { [name]: before + text(size) };
          return () => new Response("{}", { status, headers });
        };
        const of = `header ${name}: ${before}, ${shape}`;
        yield {
          name: `token answer, ${of}`,
          most: 120_000,
          reaches: /^response_|^token_refused|^rate_limited/,
          prepare: (size) => tokenFrom(answer(size)),
        };
        yield {
          name: `call answered, ${of}`,
          most: 120_000,
          reaches: /^done|^response_not_json/,
          prepare: (size) => {
            const service = serviceFrom(answer(size));
            const call = () =>
              name === "location" ? service.fetch("v1/x") : service.call("listDevices");
            return refusedOrDone(call);
          },
        };
      }
}

/** One header many times, or many of one letter. */
function* headerLists(): Generator<Entry> {
  for (const header of ["many headers", "set-cookie", "link", ...Object.keys(statusOf)])
    for (const status of [200, 401, 429]) {
      const answer = (size: number) => {
        const headers = keys(size / 20).map((key): [string, string] =>
          header === "many headers" ? [key, "1"] : [header, `${key}=1`],
        );
        return () => new Response("{}", { status, headers });
      };
      yield {
        name: `token answer ${status} with ${header} many times`,
        most: 120_000,
        reaches: /^response_shape|^token_refused|^rate_limited/,
        prepare: (size) => tokenFrom(answer(size)),
      };
      yield {
        name: `call answered ${status} with ${header} many times`,
        most: 120_000,
        reaches: /^done|^response_not_json/,
        prepare: (size) => refusedOrDone(() => serviceFrom(answer(size)).call("listDevices")),
      };
    }
}

/** What an answer may hold that is read as it arrives. */
const streams: Readonly<Record<string, Shapes>> = {
  "text/event-stream": {
    ...texts,
    "data lines": (size) => "data: x\n".repeat(size / 8),
    "data lines that end in CR": (size) => "data: x\r".repeat(size / 8),
    "carriage returns": (size) => "\r".repeat(size),
    "lines before a carriage return": (size) => `${"\n".repeat(size)}\r`,
    "names of fields": (size) => "retry: x\nid\n: x\n".repeat(size / 17),
  },
  "application/x-ndjson": { ...texts, "short lines": (size) => "1\n".repeat(size / 2) },
  "application/json-seq": { ...texts, "short records": (size) => "\u001e1\n".repeat(size / 3) },
};

/** Reads a stream to its end. Deployments choose how large its chunks are. */
function* streamedAnswers(): Generator<Entry> {
  for (const [type, shapes] of Object.entries(streams))
    for (const [shape, text] of Object.entries(shapes))
      yield {
        name: `call answered with ${type}, in small chunks: ${shape}`,
        most: 20_000,
        reaches: /^done|^response_not_json/,
        prepare: (size) => {
          const bytes = new TextEncoder().encode(text(size));
          const body = () => {
            let at = 0;
            const pull = (sink: ReadableStreamDefaultController) => {
              if (at >= bytes.length) return sink.close();
              sink.enqueue(bytes.subarray(at, at + 64));
              at += 64;
            };
            return new ReadableStream({ pull });
          };
          const row = { method: "GET", path: "/v1/own", failure: [], success: [200] };
          const own = { ...row, answers: { 200: [type] } };
          const headers = { "content-type": type };
          const api = { operations: { A: { own }, B: { own } } };
          const service = serviceFrom(() => new Response(body(), { headers }), { api });
          return refusedOrDone(async () => {
            const { data } = (await service.call("own" as never)) as unknown as {
              data: AsyncIterable<unknown>;
            };
            for await (const _ of data);
          });
        },
      };
}

export const entries: readonly Entry[] = [
  ...headerEntries(),
  ...headerLists(),
  ...streamedAnswers(),
];
