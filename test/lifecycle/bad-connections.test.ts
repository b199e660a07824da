// Faults that only a real socket has: a byte at a time past the time limit, silence, a reset after the request was sent.
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { createAuth, type ServiceEvent } from "../../src/index.js";
import { skippedBackoff, steppedClock } from "../support/clock.js";
import { ACCOUNT_SECRET, credentialOf } from "../support/deployment.js";
import { recordingServer, type Script } from "../support/recording-server.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";

/** A time limit that nothing here meets. */
const amplyMs = 9_999;

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
  const clock = steppedClock();
  const server = await recordingServer(script);
  const events: ServiceEvent[] = [];
  const auth = createAuth({
    baseUrl: server.url,
    tenantId: "acme",
    credential: credentialOf(variant),
    now: clock.now,
    timeoutMs,
    onEvent: (event) => void events.push(event),
  });
  return { auth, clock, server, events };
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
    timeoutMs: amplyMs,
    code: "network_failed",
  },
  {
    name: "a reset in the middle of the answer",
    script: () => (response) => {
      response.writeHead(200, { "content-length": "500" });
      response.write(body, () => response.destroy());
    },
    timeoutMs: amplyMs,
    code: "network_failed",
  },
];

describe.each(["A", "B"] as const)("the token endpoint of Variant %s", (variant) => {
  test.each(faults)("$name: tried again twice, after 2 and 4 s, then $code", async (row) => {
    const { auth, clock, server, events } = await listening(variant, row.script, row.timeoutMs);
    const waits = skippedBackoff(clock);
    const error = await rejectionOf(auth.getAccessToken());
    expect(error).toMatchObject({ name: "TransportError", code: row.code, retryable: true, variant });
    expect(events.filter(({ type }) => type === "token_requested")).toHaveLength(3);
    // A busy machine may meet a short time limit before the request is out.
    expect(server.requests.length).toBeLessThanOrEqual(3);
    expect(waits.map((ms) => Math.floor(ms / 2_000) * 2)).toEqual([2, 4]);
    expect(shown(error) + shown(events)).not.toMatch(/eyJ/);
    expect(shown(error) + shown(events)).not.toContain(ACCOUNT_SECRET);
  });

  test("a byte at a time within the time limit is an answer: the measure can tell", async () => {
    const { auth } = await listening(variant, () => drip, amplyMs);
    expect((await auth.getAccessToken()).value).toBe("t".repeat(40));
  });
});
