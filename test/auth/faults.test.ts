// After a 5xx or a network fault a machine's token request is retried on the schedule, each time
// with a new assertion.
import type { ServerResponse } from "node:http";
import { decodeJwt } from "jose";
import { describe, expect, test } from "vitest";
import { servicePlugin } from "../../src/index.js";
import { recordedAuth, scriptedAuth } from "../support/auth.js";
import type { SteppedClock } from "../support/clock.js";
import { ACCOUNT_SECRET, credentialOf } from "../support/deployment.js";
import { type FetchScript, tokenAnswer } from "../support/fetch.js";
import { recordingServer } from "../support/recording-server.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";

const reset = () => Promise.reject(new TypeError("fetch failed"));

test.each(["A", "B"] as const)(
  "the Retry-After of a 503 of Variant %s is waited for, up to a tenth longer, so that a fleet does not retry at once",
  async (variant) => {
    const headers = { "retry-after": "9" };
    const { clock, auth } = scriptedAuth(variant, (_call, index) =>
      index === 0 ? new Response("", { status: 503, headers }) : tokenAnswer(),
    );
    clock.jitterAt(0.5);
    const waits = clock.skipSleeps();
    await auth.getAccessToken();
    expect(waits).toEqual([9_450]);
  },
);

test("each attempt signs a new assertion with a new jti and the time of its sending", async () => {
  const answers = [
    () => new Response("", { status: 429, headers: { "retry-after": "30" } }),
    reset,
    () => new Response("", { status: 500 }),
    () => tokenAnswer(),
  ];
  const script: FetchScript = (_call, index) => (answers[index] ?? tokenAnswer)();
  const { auth, clock, fetch } = scriptedAuth("A", script);
  const waits = clock.skipSleeps();
  const started = clock.now();
  await auth.getAccessToken();

  const claims = fetch.calls.map(({ body }) =>
    decodeJwt(new URLSearchParams(body).get("client_assertion") ?? ""),
  );
  expect(claims).toHaveLength(4);
  expect(new Set(claims.map(({ jti }) => jti)).size).toBe(4);
  let at = started;
  for (const [index, { iat, exp }] of claims.entries()) {
    expect(iat).toBe(Math.floor(at / 1000));
    expect(exp).toBe((iat ?? 0) + 60);
    at += waits[index] ?? 0;
  }
});

describe.each(["A", "B"] as const)("the token endpoint of Variant %s", (variant) => {
  /** Writes an answer one byte in each turn. Each byte takes a second. */
  const drip = (clock: SteppedClock, response: ServerResponse) => {
    const body = '{"access_token":"t"}';
    response.writeHead(200, { "content-type": "application/json", connection: "close" });
    const write = (at: number) => {
      if (at === body.length || response.destroyed) return void response.end();
      clock.advance(1_000);
      response.write(body[at], () => setImmediate(write, at + 1));
    };
    write(0);
  };
  const headAlone = (clock: SteppedClock, response: ServerResponse) => {
    response.writeHead(200).flushHeaders();
    clock.advance(10_000);
  };
  test.each([
    { name: "a byte at a time past the time limit", answer: drip },
    { name: "a head and no body", answer: headAlone },
  ])("that sends $name causes timed_out after waits of 2 and 4 s", async ({ answer }) => {
    const server = await recordingServer(() => (response) => answer(clock, response));
    const credential = credentialOf(variant);
    const { auth, clock, events, types } = recordedAuth({ baseUrl: server.url, credential });
    const waits = clock.skipSleeps();
    const error = await rejectionOf(auth.getAccessToken());
    expect(error).toMatchObject({ code: "timed_out", retryable: true, variant });
    expect(types().filter((type) => type === "token_requested")).toHaveLength(3);
    expect(server.requests).toHaveLength(3);
    expect(waits.map((ms) => Math.floor(ms / 2_000) * 2)).toEqual([2, 4]);
    expect(shown(error) + shown(events)).not.toMatch(/eyJ/);
    expect(shown(error) + shown(events)).not.toContain(ACCOUNT_SECRET);
  });
});

test("a signer that hangs is named by the error, not the service, which was sent nothing", async () => {
  const sign = () => {
    clock.expire();
    return new Promise<Uint8Array>(() => {});
  };
  const credential = servicePlugin({ clientId: "planner", privateKey: { keyId: "kms", sign } });
  const { auth, clock, fetch } = scriptedAuth(credential, () => tokenAnswer(), { timeoutMs: 60 });
  clock.skipSleeps();
  const message = expect.stringContaining(
    "No complete answer from the signer of the client assertion within 60 ms",
  );
  expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "timed_out", message });
  expect(fetch.calls).toEqual([]);
});
