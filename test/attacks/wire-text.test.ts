// A server, or the sender of a link, writes into the logs and terminals of its client: line breaks
// that forge log entries (CWE-117), escape sequences (CWE-150, as in CVE-2003-0063), characters
// that reverse the text (CVE-2021-42574), and texts of a megabyte. RFC 6749 section 5.2 allows
// printable ASCII in `error`, which a hostile server does not keep to.
import { describe, expect, test } from "vitest";
import {
  apiClient,
  completeLogin,
  connect,
  createAuth,
  type ServiceEvent,
  unwrap,
} from "../../src/index.js";
import { backFromLogin, client } from "../people/person.js";
import { account, credentialOf, plugin } from "../support/deployment.js";
import { scriptedFetch, tokenAnswer } from "../support/fetch.js";
import { rejectionOf } from "../support/wait.js";

const texts = [
  "denied\r\n2026-01-01 INFO login of root",
  "\u001b[2J\u001b]0;title\u0007\u009b31mred",
  "\u202egnp.exe\u2066\u2069 a\u2028b\u2029c\0d\u0085e",
  "x".repeat(900_000),
  "\u0007\u001b".repeat(200_000),
];
/** A header cannot hold line breaks and zeros, nor characters beyond U+00FF. */
const inHeader = (text: string) => text.replace(/[\r\n\0]|[^\0-\xff]/g, "").slice(0, 60_000);
const page = (status: number) => (text: string) =>
  new Response(text, { status, headers: { "content-type": `text/${inHeader(text)}` } });
const answers: Record<string, (text: string) => Response> = {
  "a refusal with a text in every field": (text) =>
    Response.json(
      { error: text, error_description: text, error_uri: text, [text]: text },
      { status: 400 },
    ),
  "a token with a text in every field": (text) =>
    Response.json({ access_token: `${text} `, token_type: text, expires_in: text, revo: text }),
  "a token for a tenant that is a text": (text) =>
    Response.json({ access_token: "token", revo: { tenant: text, user: { userId: [text] } } }),
  "a page whose media type is a text": page(200),
  "a page that forbids": page(403),
  "a redirect to a text": (text) =>
    new Response(null, { status: 302, headers: { location: `ftp://${inHeader(text)}` } }),
  "a fault with a text as its message, name and code": (text) => {
    throw Object.assign(new TypeError(text), { code: text, name: text, cause: new Error(text) });
  },
};

const target = { baseUrl: "https://service.example", tenantId: "acme" };

describe.each(Object.entries(answers))("%s", (_name, answer) => {
  /** Answers with the text, after a number of tokens. */
  const hostile = (text: string, tokens = 0) => {
    const events: ServiceEvent[] = [];
    const fetch = scriptedFetch((_call, index) => (index < tokens ? tokenAnswer() : answer(text)));
    const onEvent = (event: ServiceEvent) => void events.push(event);
    return { ...target, retryDeadlineMs: 0, fetch, onEvent, events };
  };
  const doors = {
    "a token request": (variant: "A" | "B", given: object) =>
      createAuth({ ...target, ...given, credential: credentialOf(variant) }).getAccessToken(),
    "a detection": (_variant: "A" | "B", given: object) =>
      connect({ ...target, ...given, credentials: [plugin(), account()] }),
    async "a call"(variant: "A" | "B", given: object) {
      const credentials = [credentialOf(variant)];
      const service = await connect({ ...target, ...given, variant, credentials, maxRetries: 0 });
      return unwrap(service.call("listDevices"));
    },
  };

  test.each(Object.entries(doors))(
    "in answer to %s leaves errors and events on one short line",
    async (door, open) => {
      for (const text of texts)
        for (const variant of ["A", "B"] as const) {
          const { events, ...given } = hostile(text, door === "a call" ? 1 : 0);
          const error = await open(variant, given).then(
            () => undefined,
            (reason: unknown) => reason,
          );
          expectShortLines([error, events]);
          expect([error, ...events]).not.toEqual([undefined]);
        }
    },
  );
});

test("a callback with a text as its error leaves the error on one short line", async () => {
  for (const text of texts) {
    const given = {
      ...target,
      credential: apiClient(client),
      fetch: scriptedFetch(() => tokenAnswer()),
    };
    const error = encodeURIComponent(text);
    const back = await backFromLogin(
      given,
      (state) => `error=${error}&error_description=${error}&state=${state}`,
    );
    expectShortLines(await rejectionOf(completeLogin({ ...given, ...back })));
  }
});

/**
 * The strings in an error or event, without the stack, whose lines are the engine's, and the body
 * of an ApiError.
 */
function expectShortLines(value: unknown, seen = new Set<unknown>()): void {
  if (typeof value === "string") {
    expect(value).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    expect(value.length).toBeLessThan(1_500);
  }
  if (typeof value !== "object" || value === null || seen.has(value)) return;
  seen.add(value);
  for (const key of Reflect.ownKeys(value)) {
    if (value instanceof Error && (key === "stack" || key === "body")) continue;
    expectShortLines(String(key), seen);
    expectShortLines((value as Record<PropertyKey, unknown>)[key], seen);
  }
}

test("an honest refusal keeps its words, in letters of any language", async () => {
  const body = { error: "invalid_client", error_description: "Schlüssel unbekannt (鍵)" };
  const fetch = scriptedFetch(() => Response.json(body, { status: 400 }));
  const error = await rejectionOf(
    createAuth({ ...target, credential: account(), fetch }).getAccessToken(),
  );
  expect(error).toMatchObject({ error: body.error, errorDescription: body.error_description });
  expect((error as Error).message).toContain("(invalid_client: Schlüssel unbekannt (鍵))");
});
