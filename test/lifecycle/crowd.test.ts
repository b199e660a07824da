// A crowd at the instant of expiry shares one token request, and each of it may leave without harm to the others.
import { describe, expect, test } from "vitest";
import { createAuth, type ServiceEvent } from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { rejectionOf, settle } from "../support/wait.js";
import { BASE_URL, fakeService, type SeenTokenRequest } from "./fake-service.js";

interface CrowdOptions {
  readonly shareInFlight?: boolean;
}

function expiring(variant: "A" | "B", options: CrowdOptions = {}) {
  const clock = steppedClock();
  const pending: SeenTokenRequest[] = [];
  const service = fakeService({ variant, now: clock.now, onTokenRequest: (one) => pending.push(one) });
  const { credential, fetch } = service;
  const events: ServiceEvent[] = [];
  const onEvent = (event: ServiceEvent) => void events.push(event);
  const auth = createAuth({
    baseUrl: BASE_URL,
    tenantId: "acme",
    credential,
    fetch,
    now: clock.now,
    onEvent,
    ...options,
  });
  const answerAll = () => {
    for (const one of pending.splice(0)) one.answer(service.token(one.tenantId));
  };
  const requested = async (count: number) => {
    // A signature is made on another thread, which a busy machine may keep waiting.
    const giveUpAt = performance.now() + 15_000;
    while (service.tokenRequests.length < count && performance.now() < giveUpAt) await settle();
    await settle();
    return service.tokenRequests.length;
  };
  /** Has a token, and lets the clock stand at its expiry. */
  const untilExpiry = async () => {
    const first = auth.getAccessToken();
    await requested(1);
    answerAll();
    clock.advance((await first).expiresAt - clock.now());
  };
  return { auth, clock, events, service, answerAll, requested, untilExpiry };
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

describe.each(["A", "B"] as const)("at the expiry of a token of Variant %s", (variant) => {
  test("10 000 concurrent callers make one token request and get one token", async () => {
    const { auth, answerAll, requested, untilExpiry } = expiring(variant);
    await untilExpiry();
    const callers = numbers(10_000).map(() => auth.getAccessToken());
    expect(await requested(2)).toBe(2);
    answerAll();
    expect(new Set((await Promise.all(callers)).map(({ value }) => value))).toEqual(
      new Set(["token-acme-2"]),
    );
    expect(await requested(2)).toBe(2);
  });

  test.each([
    { name: "before the token request is sent", isSent: false },
    { name: "while the token request is under way", isSent: true },
  ])("99 of 100 callers abort $name: one request, and the last one is served", async ({ isSent }) => {
    const { auth, service, answerAll, requested, untilExpiry } = expiring(variant);
    await untilExpiry();
    const controllers = numbers(100).map(() => new AbortController());
    const callers = controllers.map(({ signal }) => auth.getAccessToken({ signal }));
    const aborted = callers.slice(0, 99).map(rejectionOf);
    if (isSent) await requested(2);
    for (const [index, controller] of controllers.slice(0, 99).entries()) controller.abort(`caller ${index}`);
    expect(await Promise.all(aborted)).toEqual(numbers(99).map((index) => `caller ${index}`));
    expect(await requested(2)).toBe(2);
    answerAll();
    expect((await callers[99])?.value).toBe("token-acme-2");
    expect(service.tokenRequests.map(({ signal }) => signal.aborted)).toEqual([false, false]);
  });

  test("all 100 callers abort: the request is aborted, and the next caller starts anew", async () => {
    const { auth, service, answerAll, requested, untilExpiry } = expiring(variant);
    await untilExpiry();
    const controllers = numbers(100).map(() => new AbortController());
    const aborted = controllers.map(({ signal }) => rejectionOf(auth.getAccessToken({ signal })));
    await requested(2);
    for (const controller of controllers) controller.abort("gone");
    expect(new Set(await Promise.all(aborted))).toEqual(new Set(["gone"]));
    expect(service.tokenRequests[1]?.signal.aborted).toBe(true);
    const next = auth.getAccessToken();
    expect(await requested(3)).toBe(3);
    answerAll();
    expect((await next).value).toMatch(/^token-acme-/);
    expect(service.tokenRequests[2]?.signal.aborted).toBe(false);
  });

  test("all callers abort before anything is sent: nothing is sent, and nothing told", async () => {
    const { auth, events, service, untilExpiry } = expiring(variant);
    await untilExpiry();
    const controllers = numbers(100).map(() => new AbortController());
    const aborted = controllers.map(({ signal }) => rejectionOf(auth.getAccessToken({ signal })));
    for (const controller of controllers) controller.abort("gone");
    expect(new Set(await Promise.all(aborted))).toEqual(new Set(["gone"]));
    await settle();
    expect(service.tokenRequests).toHaveLength(1);
    expect(events.filter(({ type }) => type === "token_requested")).toHaveLength(1);
  });

  test("a renewal in the background is aborted by nobody's leaving", async () => {
    const { auth, clock, service, answerAll, requested, untilExpiry } = expiring(variant);
    await untilExpiry();
    clock.advance(-10_000);
    const controller = new AbortController();
    expect((await auth.getAccessToken({ signal: controller.signal })).value).toBe("token-acme-1");
    expect(await requested(2)).toBe(2);
    controller.abort();
    await settle();
    expect(service.tokenRequests[1]?.signal.aborted).toBe(false);
    answerAll();
    await settle();
    expect((await auth.getAccessToken()).value).toBe("token-acme-2");
  });

  test("a caller who is gone already gets the signal's reason, and no request is made for him", async () => {
    const { auth, service } = expiring(variant);
    expect(await rejectionOf(auth.getAccessToken({ signal: AbortSignal.abort("gone") }))).toBe("gone");
    await settle();
    expect(service.tokenRequests).toHaveLength(0);
  });

  test("a failure is shared by all who waited, and the next caller meets no failure that is over", async () => {
    const { auth, service, requested, untilExpiry, answerAll } = expiring(variant);
    await untilExpiry();
    const callers = numbers(100).map(() => rejectionOf(auth.getAccessToken()));
    await requested(2);
    service.tokenRequests[1]?.answer(
      Object.assign(new TypeError("fetch failed"), { cause: { code: "SELF_SIGNED_CERT_IN_CHAIN" } }),
    );
    const errors = new Set(await Promise.all(callers));
    expect(errors.size).toBe(1);
    expect([...errors][0]).toMatchObject({ name: "TransportError", code: "tls_failed", retryable: false });
    const next = auth.getAccessToken();
    expect(await requested(3)).toBe(3);
    service.tokenRequests[2]?.answer(service.token("acme"));
    answerAll();
    expect((await next).value).toBe("token-acme-2");
  });
});
