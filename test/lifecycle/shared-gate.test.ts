// Several plugins of one tenant share one gate, for the window of the rate limit counts them together.
import { describe, expect, test } from "vitest";
import { resolveAuthOptions } from "../../src/auth/auth-options.js";
import { driverOf } from "../../src/auth/credentials/credential.js";
import { MachineTokenSource } from "../../src/auth/machine-tokens.js";
import { RateLimitGate } from "../../src/auth/rate-limit-gate.js";
import { TokenLifecycle } from "../../src/auth/token-lifecycle.js";
import { createTokenEndpointState } from "../../src/auth/token-request.js";
import { timeTravel } from "../support/clock.js";
import { deployment, plugin } from "../support/deployment.js";
import { publicJwk, rsaKey } from "../support/keys.js";
import { isSettled } from "../support/wait.js";

const five = [1, 2, 3, 4, 5];

interface PluginsOptions {
  readonly requests: number;
  readonly windowSeconds: number;
  readonly shareInFlight?: boolean;
  readonly shareGate?: boolean;
}

interface Plugins {
  readonly auths: readonly TokenLifecycle[];
  readonly refusals: () => number;
}

/** Five plugins of one tenant, each with an identity of its own, and all of them ready to ask at once. */
async function plugins({
  requests,
  windowSeconds,
  shareInFlight = true,
  shareGate = true,
}: PluginsOptions): Promise<Plugins> {
  const emulator = deployment({ now: Date.now, rateLimit: { requests, windowSeconds } });
  const options = resolveAuthOptions({ fetch: emulator.fetch, shareInFlight });
  const target = { baseUrl: emulator.publicUrl, tenantId: "acme" };
  const shared = createTokenEndpointState("A", options);
  const making = five.map(async (number) => {
    const clientId = `plugin-${number}`;
    const jwks = { keys: [publicJwk(rsaKey())] };
    emulator.registerPlugin({ clientId, tenantId: "acme", type: "service", jwks });
    const driver = driverOf(plugin({ clientId }));
    // The key is imported before: the five meet the gate together.
    await driver.prepare(target);
    const state = shareGate ? shared : createTokenEndpointState("A", options);
    const source = new MachineTokenSource({ variant: "A", target, driver, state, options });
    return new TokenLifecycle({ variant: "A", target, options, source });
  });
  const refusals = () => emulator.journal.tokenRequests({ status: 429 }).length;
  return { auths: await Promise.all(making), refusals };
}

describe.each([{ shareInFlight: true }, { shareInFlight: false }])("with %o five plugins", (sharing) => {
  test("of a tenant with room for three recover without meeting the limit again", async () => {
    const { through, until } = timeTravel();
    const { auths, refusals } = await plugins({ requests: 3, windowSeconds: 20, ...sharing });
    const tokens = Promise.all(auths.map((auth) => auth.getAccessToken()));
    // One or two: the first refusal may come before the last of the crowd has signed.
    await until(() => refusals() > 0);
    expect(new Set((await through(tokens)).map(({ value }) => value)).size).toBe(5);
    expect(refusals()).toBeLessThanOrEqual(2);
  });

  test("of a tenant with room for one meet the limit once more for each that follows, never all at once", async () => {
    const { through, until } = timeTravel();
    const { auths, refusals } = await plugins({ requests: 1, windowSeconds: 6, ...sharing });
    const tokens = Promise.all(auths.map((auth) => auth.getAccessToken()));
    await until(() => refusals() > 0);
    await through(tokens);
    expect(refusals()).toBeLessThanOrEqual(7);
  });
});

test("five plugins with a gate each meet the limit more often: the measure can tell", async () => {
  const { through, until } = timeTravel();
  const { auths, refusals } = await plugins({ requests: 1, windowSeconds: 6, shareGate: false });
  const tokens = Promise.all(auths.map((auth) => auth.getAccessToken()));
  await until(() => refusals() === 4);
  await through(tokens);
  expect(refusals()).toBeGreaterThan(7);
});

describe("the gate", () => {
  const answer = (headers: Record<string, string> = {}) => ({
    headers: new Headers(headers),
    sentAt: Date.now(),
    receivedAt: Date.now(),
  });
  const gate = (shareInFlight = true) =>
    new RateLimitGate("A", { now: Date.now, timeoutMs: 10_000, shareInFlight });
  const enter = (of: RateLimitGate, deadlineMs = 60_000) =>
    of.enter({ deadlineAt: Date.now() + deadlineMs, signal: new AbortController().signal });

  test("that was told a later instant while somebody waited lets him through only then", async () => {
    const { advance } = timeTravel({ isPure: true });
    const one = gate();
    one.refused(answer({ "retry-after": "2" }));
    const waiting = enter(one);
    await advance(1_000);
    one.refused(answer({ "retry-after": "20" }));
    await advance(15_000);
    expect(await isSettled(waiting)).toBe(false);
    await advance(8_000);
    expect(await isSettled(waiting)).toBe(true);
  });

  test("takes the 429s of requests that were under way together for one step of the schedule", async () => {
    const { advance } = timeTravel({ isPure: true });
    const one = gate();
    const underWay = five.map(() => answer());
    await advance(100, 100);
    for (const each of underWay) one.refused({ ...each, receivedAt: Date.now() });
    expect(one.opensAt - Date.now()).toBeLessThanOrEqual(2_500);
    await advance(3_000);
    one.refused(answer());
    expect(one.opensAt - Date.now()).toBeGreaterThanOrEqual(4_000);
  });

  test("keeps nobody beyond his deadline, though one after another is let through in vain", async () => {
    const { advance } = timeTravel({ isPure: true });
    const one = gate();
    one.refused(answer());
    const leaving: (() => void)[] = [];
    const waiting = Promise.allSettled(five.map(async () => leaving.push(await enter(one, 12_000))));
    for (let probe = 0; probe < 5; probe++) {
      await advance(10_000);
      leaving.shift()?.();
    }
    const ends = (await waiting).map((end) => (end.status === "fulfilled" ? "let through" : end.reason.name));
    expect(ends.filter((end) => end === "let through")).toHaveLength(2);
    expect(ends.filter((end) => end === "RateLimitedError")).toHaveLength(3);
  });

  test("whose clock was set back by a day opens when it was asked to", async () => {
    const { advance } = timeTravel({ isPure: true });
    let setBackMs = 0;
    const one = new RateLimitGate("A", {
      now: () => Date.now() - setBackMs,
      timeoutMs: 10_000,
      shareInFlight: true,
    });
    one.refused(answer({ "retry-after": "5" }));
    setBackMs = 86_400_000;
    const waiting = one.enter({
      deadlineAt: Date.now() - setBackMs + 60_000,
      signal: new AbortController().signal,
    });
    await advance(6_000);
    await expect(waiting).resolves.toBeTypeOf("function");
  });

  test("awaits no other caller's request where that is forbidden, and gives one that was killed up", async () => {
    const { advance } = timeTravel({ isPure: true });
    const one = gate(false);
    one.refused(answer());
    const killed = enter(one);
    await advance(3_000);
    expect(await isSettled(killed)).toBe(true);
    const next = enter(one);
    await advance(12_000);
    expect(await isSettled(next)).toBe(false);
    await advance(5_000);
    expect(await isSettled(next)).toBe(true);
  });
});
