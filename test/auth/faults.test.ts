// After a 5xx or a network fault a machine's token request is retried on the schedule, each time
// with a new assertion.

import type { ServerResponse } from "node:http";
import { decodeJwt } from "jose";
import { describe, expect, test } from "vitest";
import { type CreateAuthOptions, servicePlugin } from "../../src/index.js";
import { recordedAuth, scriptedAuth } from "../support/auth.js";
import type { SteppedClock } from "../support/clock.js";
import { ACCOUNT_SECRET, credentialOf } from "../support/deployment.js";
import { type FetchScript, tokenAnswer } from "../support/fetch.js";
import { recordingServer, type Script } from "../support/recording-server.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";

const fault = (code?: string) => {
  throw Object.assign(new TypeError("fetch failed"), code === undefined ? {} : { cause: { code } });
};

describe.each(["A", "B"] as const)("Variant %s", (variant) => {
  const failing = (script: FetchScript, options: Partial<CreateAuthOptions> = {}) =>
    scriptedAuth(variant, script, options);

  test("the Retry-After of a 503 is waited for, up to a tenth longer, so that a fleet does not retry at once", async () => {
    const { clock, auth } = failing((_call, index) =>
      index === 0
        ? new Response("", { status: 503, headers: { "retry-after": "9" } })
        : tokenAnswer(),
    );
    clock.jitterAt(0.5);
    const waits = clock.skipSleeps();
    await auth.getAccessToken();
    expect(waits).toEqual([9_450]);
  });

  test("a fault is not retried beyond the deadline", async () => {
    const { clock, fetch, auth } = failing(() => fault("ECONNRESET"), { retryDeadlineMs: 1_000 });
    const waits = clock.skipSleeps();
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({
      code: "network_failed",
      retryable: true,
    });
    expect([fetch.calls.length, waits.length]).toEqual([1, 0]);
  });

  test("a refused certificate is not retried", async () => {
    const { clock, fetch, auth } = failing(() => fault("CERT_HAS_EXPIRED"));
    const waits = clock.skipSleeps();
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({
      code: "tls_failed",
      retryable: false,
    });
    expect([fetch.calls.length, waits.length]).toEqual([1, 0]);
  });

  test("a network fault starts no backoff: the next caller sends a request at once", async () => {
    let isBroken = true;
    const { fetch, auth } = failing(() => (isBroken ? fault("ECONNRESET") : tokenAnswer()), {
      retryDeadlineMs: 0,
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

describe("faults of real connections", () => {
  const body = JSON.stringify({
    access_token: "t".repeat(40),
    token_type: "Bearer",
    expires_in: 60,
  });

  const head = { "content-type": "application/json", connection: "close" };
  /** Writes the answer one byte in each turn. Each byte takes so many milliseconds. */
  const drip = (byteMs: number) => (clock: SteppedClock) => (response: ServerResponse) => {
    response.writeHead(200, head);
    const write = (at: number) => {
      if (at === body.length || response.destroyed) return void response.end();
      clock.advance(byteMs);
      response.write(body[at], () => setImmediate(write, at + 1));
    };
    write(0);
  };

  async function listening(variant: "A" | "B", answer: Row["answer"]) {
    const server = await recordingServer(() => answer(parts.clock));
    const parts = recordedAuth({ baseUrl: server.url, credential: credentialOf(variant) });
    return { server, ...parts };
  }

  interface Row {
    readonly name: string;
    readonly answer: (clock: SteppedClock) => ReturnType<Script>;
    readonly code: "timed_out";
  }

  const faults: Row[] = [
    { name: "a byte at a time past the time limit", answer: drip(1_000), code: "timed_out" },
    {
      name: "a head and no body",
      answer: (clock) => (response) => {
        response.writeHead(200).flushHeaders();
        clock.advance(10_000);
      },
      code: "timed_out",
    },
  ];

  describe.each(["A", "B"] as const)("the token endpoint of Variant %s", (variant) => {
    test.each(faults)("$name: two retries, after 2 and 4 s, then $code", async (row) => {
      const { auth, clock, server, events } = await listening(variant, row.answer);
      const waits = clock.skipSleeps();
      const error = await rejectionOf(auth.getAccessToken());
      expect(error).toMatchObject({
        name: "TransportError",
        code: row.code,
        retryable: true,
        variant,
      });
      expect(events.filter(({ type }) => type === "token_requested")).toHaveLength(3);
      expect(server.requests).toHaveLength(3);
      expect(waits.map((ms) => Math.floor(ms / 2_000) * 2)).toEqual([2, 4]);
      expect(shown(error) + shown(events)).not.toMatch(/eyJ/);
      expect(shown(error) + shown(events)).not.toContain(ACCOUNT_SECRET);
    });

    test("an answer that arrives byte by byte within the time limit is read (control)", async () => {
      const { auth } = await listening(variant, drip(100));
      expect((await auth.getAccessToken()).value).toBe("t".repeat(40));
    });
  });

  test("a signer that hangs is named by the error, not the service, which was sent nothing", async () => {
    const server = await recordingServer(() => "silence");
    const sign = () => {
      clock.expire();
      return new Promise<Uint8Array>(() => {});
    };
    const credential = servicePlugin({ clientId: "planner", privateKey: { keyId: "kms", sign } });
    const { auth, clock } = recordedAuth({ baseUrl: server.url, credential, timeoutMs: 60 });
    clock.skipSleeps();
    const message = expect.stringContaining(
      "No complete answer from the signer of the client assertion within 60 ms",
    );
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "timed_out", message });
    expect(server.requests).toEqual([]);
  });
});
