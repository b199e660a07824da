// After a 5xx or a network fault a machine's token request is retried on the schedule, each time with a new assertion.

import type { ServerResponse } from "node:http";
import { decodeJwt } from "jose";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type CreateAuthOptions, servicePlugin } from "../../src/index.js";
import { recordedAuth, scriptedAuth } from "../support/auth.js";
import { LIMIT_MS, skippedWaits } from "../support/clock.js";
import { ACCOUNT_SECRET, credentialOf } from "../support/deployment.js";
import { type FetchScript, tokenAnswer } from "../support/fetch.js";
import { recordingServer, type Script } from "../support/recording-server.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";

const fault = (code?: string) => {
  throw Object.assign(new TypeError("fetch failed"), code === undefined ? {} : { cause: { code } });
};

describe.each([{ variant: "A" as const }, { variant: "B" as const }])("Variant $variant", ({ variant }) => {
  const failing = (script: FetchScript, options: Partial<CreateAuthOptions> = {}) =>
    scriptedAuth(variant, script, { timeoutMs: LIMIT_MS, ...options });

  const passing: { name: string; answer: FetchScript }[] = [
    { name: "500", answer: () => new Response("<html>", { status: 500 }) },
    { name: "502", answer: () => new Response("", { status: 502 }) },
    {
      name: "503 with JSON",
      answer: () => Response.json({ error: "temporarily_unavailable" }, { status: 503 }),
    },
    { name: "504", answer: () => new Response("", { status: 504 }) },
    { name: "a reset", answer: () => fault("ECONNRESET") },
    { name: "a refused connection", answer: () => fault("ECONNREFUSED") },
    { name: "a fault without a code", answer: () => fault() },
  ];
  test.each(passing)("$name once: the retry after 2 s gets a token", async ({ answer }) => {
    const { clock, fetch, auth } = failing((call, index) =>
      index === 0 ? answer(call, index) : tokenAnswer(),
    );
    const waits = skippedWaits(clock);
    expect((await auth.getAccessToken()).value).toBe("token-1");
    expect(fetch.calls).toHaveLength(2);
    expect(waits).toHaveLength(1);
    expect(waits[0]).toBeGreaterThanOrEqual(2_000);
    expect(waits[0]).toBeLessThanOrEqual(2_500);
  });

  test("the Retry-After of a 503 is waited for, up to a tenth longer, so that a fleet does not retry at once", async () => {
    const random = vi.spyOn(Math, "random").mockReturnValue(0.5);
    onTestFinished(() => random.mockRestore());
    const { clock, auth } = failing((_call, index) =>
      index === 0 ? new Response("", { status: 503, headers: { "retry-after": "9" } }) : tokenAnswer(),
    );
    const waits = skippedWaits(clock);
    await auth.getAccessToken();
    expect(waits).toEqual([9_450]);
  });

  test("a fault is not retried beyond the deadline", async () => {
    const { clock, fetch, auth } = failing(() => fault("ECONNRESET"), { rateLimitDeadlineMs: 1_000 });
    const waits = skippedWaits(clock);
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({
      code: "network_failed",
      retryable: true,
    });
    expect([fetch.calls.length, waits.length]).toEqual([1, 0]);
  });

  test("a refused certificate is not retried", async () => {
    const { clock, fetch, auth } = failing(() => fault("CERT_HAS_EXPIRED"));
    const waits = skippedWaits(clock);
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "tls_failed", retryable: false });
    expect([fetch.calls.length, waits.length]).toEqual([1, 0]);
  });

  test("a network fault starts no backoff: the next caller sends a request at once", async () => {
    let isBroken = true;
    const { fetch, auth } = failing(() => (isBroken ? fault("ECONNRESET") : tokenAnswer()), {
      rateLimitDeadlineMs: 0,
    });
    await rejectionOf(auth.getAccessToken());
    isBroken = false;
    expect((await auth.getAccessToken()).value).toBe("token-1");
    expect(fetch.calls).toHaveLength(2);
  });
});

test("each attempt signs a new assertion with a new jti and the time of its sending", async () => {
  const answers = [
    () => new Response("", { status: 429, headers: { "retry-after": "30" } }),
    () => fault("ECONNRESET"),
    () => new Response("", { status: 500 }),
    () => tokenAnswer(),
  ];
  const script: FetchScript = (_call, index) => (answers[index] ?? tokenAnswer)();
  const { auth, clock, fetch } = scriptedAuth("A", script, { timeoutMs: LIMIT_MS });
  const waits = skippedWaits(clock);
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

describe("faults of real connections", () => {
  const body = JSON.stringify({ access_token: "t".repeat(40), token_type: "Bearer", expires_in: 60 });

  /** Writes the answer one byte every few milliseconds. */
  function drip(response: ServerResponse): void {
    response.writeHead(200, { "content-type": "application/json", connection: "close" });
    let at = 0;
    const timer = setInterval(() => {
      if (at < body.length) response.write(body[at++]);
      else response.end();
    }, 5);
    response.on("close", () => clearInterval(timer));
  }

  async function listening(variant: "A" | "B", script: Script, timeoutMs: number) {
    const server = await recordingServer(script);
    const credential = credentialOf(variant);
    return { server, ...recordedAuth({ baseUrl: server.url, credential, timeoutMs }) };
  }

  interface Row {
    readonly name: string;
    readonly script: Script;
    readonly timeoutMs: number;
    readonly code: "timed_out" | "network_failed";
  }

  const faults: Row[] = [
    { name: "a byte at a time past the time limit", script: () => drip, timeoutMs: 60, code: "timed_out" },
    { name: "silence", script: () => "silence", timeoutMs: 60, code: "timed_out" },
    {
      name: "a head and no body",
      script: () => (response) => void response.writeHead(200).flushHeaders(),
      timeoutMs: 60,
      code: "timed_out",
    },
    {
      name: "a reset after the request was sent",
      script: () => "reset",
      timeoutMs: LIMIT_MS,
      code: "network_failed",
    },
    {
      name: "a reset in the middle of the answer",
      script: () => (response) => {
        response.writeHead(200, { "content-length": "500" });
        response.write(body, () => response.destroy());
      },
      timeoutMs: LIMIT_MS,
      code: "network_failed",
    },
  ];

  describe.each(["A", "B"] as const)("the token endpoint of Variant %s", (variant) => {
    test.each(faults)("$name: two retries, after 2 and 4 s, then $code", async (row) => {
      const { auth, clock, server, events } = await listening(variant, row.script, row.timeoutMs);
      const waits = skippedWaits(clock);
      const error = await rejectionOf(auth.getAccessToken());
      expect(error).toMatchObject({ name: "TransportError", code: row.code, retryable: true, variant });
      expect(events.filter(({ type }) => type === "token_requested")).toHaveLength(3);
      // On a busy machine a short time limit may pass before the request is sent.
      expect(server.requests.length).toBeLessThanOrEqual(3);
      expect(waits.map((ms) => Math.floor(ms / 2_000) * 2)).toEqual([2, 4]);
      expect(shown(error) + shown(events)).not.toMatch(/eyJ/);
      expect(shown(error) + shown(events)).not.toContain(ACCOUNT_SECRET);
    });

    test("an answer that arrives byte by byte within the time limit is read (control)", async () => {
      const { auth } = await listening(variant, () => drip, LIMIT_MS);
      expect((await auth.getAccessToken()).value).toBe("t".repeat(40));
    });
  });

  test("a signer that hangs is named by the error, not the service, which was sent nothing", async () => {
    const server = await recordingServer(() => "silence");
    const hanging = { keyId: "kms", sign: () => new Promise<Uint8Array>(() => {}) };
    const credential = servicePlugin({ clientId: "planner", privateKey: hanging });
    const { auth, clock } = recordedAuth({ baseUrl: server.url, credential, timeoutMs: 60 });
    skippedWaits(clock);
    const message = expect.stringContaining(
      "No complete answer from the signer of the client assertion within 60 ms",
    );
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "timed_out", message });
    expect(server.requests).toEqual([]);
  });
});
