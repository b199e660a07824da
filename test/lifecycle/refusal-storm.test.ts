// A credential that is refused, or an endpoint that fails, costs the tenant a few token requests, however many calls are made.
import { describe, expect, test } from "vitest";
import { createAuth, createService, type MachineCredential } from "../../src/index.js";
import { START, steppedClock, timeTravel } from "../support/clock.js";
import { account, deployment, plugin } from "../support/deployment.js";
import { otherRsaKey, pkcs8, privateJwk } from "../support/keys.js";
import { rejectionOf, stillDigests } from "../support/wait.js";
import { BASE_URL, fakeService } from "./fake-service.js";

const variants = [
  { variant: "A", wrong: () => plugin({ privateKey: pkcs8(otherRsaKey()) }) },
  { variant: "B", wrong: () => account({ clientSecret: "not-the-secret" }) },
] as const;

interface Storm {
  /** Seconds after the start. */
  readonly requestedAt: readonly number[];
  readonly errors: readonly unknown[];
}

/** Calls in even steps, with the credential. */
async function storm(credential: MachineCredential, calls: number, stepMs: number): Promise<Storm> {
  const clock = steppedClock();
  const { now } = clock;
  const emulator = deployment({ now });
  const { publicUrl: baseUrl, fetch } = emulator;
  const service = createService(createAuth({ baseUrl, tenantId: "acme", credential, fetch, now }), {
    fetch,
    now,
  });
  const errors: unknown[] = [];
  for (let call = 0; call < calls; call++) {
    const error = await rejectionOf(service.call("listDevices"));
    expect((error as { retryAt: number }).retryAt).toBeGreaterThan(now());
    errors.push(error);
    clock.advance(stepMs);
  }
  return { requestedAt: emulator.journal.tokenRequests().map(({ at }) => (at - START) / 1_000), errors };
}

describe.each(variants)(
  "1 000 calls in a minute with a wrong credential of Variant $variant",
  ({ wrong }) => {
    test("settle at one token request a minute", async () => {
      const { requestedAt } = await storm(wrong(), 400, 5_000);
      const gaps = requestedAt.slice(1).map((at, index) => at - (requestedAt[index] ?? 0));
      expect(Math.max(...gaps)).toBeLessThanOrEqual(65);
      expect(gaps.slice(6).every((gap) => gap >= 60)).toBe(true);
    });
  },
);

test("a credential that changes with every call is let through with every call: the measure can tell", async () => {
  let reads = 0;
  const changing = plugin({
    privateKey: () => ({ privateKey: privateJwk(otherRsaKey()), keyId: `key-${reads++}` }),
  });
  const { requestedAt } = await storm(changing, 20, 60);
  expect(requestedAt).toHaveLength(20);
});

test("a clock that is set back keeps nobody out for longer than the schedule says", async () => {
  const clock = steppedClock();
  const { now } = clock;
  const emulator = deployment({ now });
  const credential = plugin({ privateKey: pkcs8(otherRsaKey()) });
  const auth = createAuth({
    baseUrl: emulator.publicUrl,
    tenantId: "acme",
    credential,
    fetch: emulator.fetch,
    now,
  });
  await rejectionOf(auth.getAccessToken());
  clock.advance(-86_400_000);
  await rejectionOf(auth.getAccessToken());
  expect(emulator.journal.tokenRequests()).toHaveLength(2);
});

describe.each(["A", "B"] as const)("the failing token endpoint of Variant %s", (variant) => {
  const failures = [
    { name: "answers 503", answer: () => new Response("", { status: 503 }), most: 24 },
    {
      name: "answers 200 with 5 MB",
      answer: () => new Response("x".repeat(5 * 1024 * 1024)),
      most: 6,
    },
    { name: "answers 200 with a page", answer: () => new Response("<html>"), most: 6 },
    { name: "answers with a redirect", answer: () => new Response("", { status: 302 }), most: 6 },
    { name: "resets each connection", answer: () => new TypeError("fetch failed"), most: 33 },
  ];
  test.each(failures)("that $name gets at most $most requests in a minute of 600 calls", async (failure) => {
    stillDigests();
    const { advance } = timeTravel({ isPure: true });
    const service = fakeService({
      variant,
      now: Date.now,
      onTokenRequest: ({ answer }) => answer(failure.answer()),
    });
    const auth = createAuth({
      baseUrl: BASE_URL,
      tenantId: "acme",
      credential: service.credential,
      fetch: service.fetch,
    });
    const calls: Promise<unknown>[] = [];
    for (let call = 0; call < 600; call++) {
      calls.push(rejectionOf(auth.getAccessToken()));
      await advance(100, 100);
    }
    await advance(10_000);
    const errors = await Promise.all(calls);
    expect(errors).toHaveLength(600);
    expect(service.tokenRequests.length).toBeLessThanOrEqual(failure.most);
    expect(service.tokenRequests.length).toBeGreaterThan(3);
    expect(service.mostInFlight()).toBe(1);
  });
});
