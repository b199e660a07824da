// The client and faults: it never sends a code or token again that may be spent.
import { describe, expect, test } from "vitest";
import type { Fault } from "../../src/emulator/index.js";
import {
  apiClient,
  beginLogin,
  completeLogin,
  createAuth,
  redeemLaunch,
  userInterfacePlugin,
} from "../../src/index.js";
import { HELD_LIMIT_MS, heldTimeLimit, LIMIT_MS, skippedWaits, steppedClock } from "../support/clock.js";
import { ACCOUNT_ID, credentialOf, deployment, PLUGIN_ID } from "../support/deployment.js";
import { rejectionOf } from "../support/wait.js";
import { LaunchedPlugin, pluginKey } from "./plugin-client.js";
import { CALLBACK, Portal } from "./portal.js";
import { type WayIn, ways } from "./two-ways.js";

describe("machines", () => {
  async function deploy(variant: "A" | "B", open: WayIn["open"], options: object = {}) {
    const clock = steppedClock();
    const emulator = deployment({ now: clock.now, publicUrl: undefined });
    await open(emulator);
    const auth = createAuth({
      now: clock.now,
      ...(emulator.url === undefined && { fetch: emulator.fetch }),
      baseUrl: emulator.publicUrl,
      tenantId: "acme",
      credential: credentialOf(variant),
      timeoutMs: LIMIT_MS,
      ...options,
    });
    return { emulator, auth, clock };
  }

  const retried: { name: string; fault: Fault; waitMs?: number }[] = [
    { name: "a reset before the token", fault: { name: "reset" } },
    { name: "a lost answer", fault: { name: "lost-answer" } },
    { name: "a truncated answer", fault: { name: "truncated" } },
    { name: "the 502 of a gateway", fault: { name: "status", status: 502, body: "down" } },
    { name: "a 504 after the commit", fault: { name: "status", status: 504, at: "after-commit" } },
    {
      name: "a 503 with Retry-After",
      fault: { name: "status", status: 503, headers: { "retry-after": "9" } },
      waitMs: 9000,
    },
    { name: "a 429 in seconds", fault: { name: "rate-limited", retryAfter: 9 }, waitMs: 9000 },
    { name: "a 429 without Retry-After", fault: { name: "rate-limited", retryAfter: "absent" } },
    { name: "a 429 with a bad Retry-After", fault: { name: "rate-limited", retryAfter: "soon" } },
  ];
  // This runs in-process only. Over HTTP the connection has timers too, which must not be skipped.
  test.each(retried)("retry once, with a new assertion, after $name", async ({ fault, waitMs = 2000 }) => {
    for (const [variant, clientId] of [
      ["A", PLUGIN_ID],
      ["B", ACCOUNT_ID],
    ] as const) {
      const { emulator, auth, clock } = await deploy(variant, async () => fetch);
      const waits = skippedWaits(clock);
      emulator.faults.add(fault);
      expect((await auth.getAccessToken()).value).toMatch(/^[\w-]{43}$/);
      const requests = emulator.journal.tokenRequests({ clientId, grant: "client_credentials" });
      expect(requests).toMatchObject([{ fault: fault.name }, { status: 200 }]);
      expect(emulator.customerLog.entries()).toEqual([]);
      expect(waits.filter((wait) => wait >= waitMs && wait <= waitMs * 1.25)).toHaveLength(1);
    }
  });

  const cases = (["A", "B"] as const).flatMap((variant) => ways.map((way) => ({ ...way, variant })));
  describe.each(cases)("Variant $variant, $name", ({ variant, open }) => {
    test.each([{ delayMs: 600_000 }, {}])("an answer that is slow with %j times out", async (slow) => {
      const { expire } = heldTimeLimit();
      const options = { timeoutMs: HELD_LIMIT_MS, rateLimitDeadlineMs: 0 };
      const { emulator, auth } = await deploy(variant, open, options);
      const handle = emulator.faults.add({ name: "slow", ...slow });
      const rejection = rejectionOf(auth.getAccessToken());
      await expect.poll(() => handle.fired).toBe(1);
      expire();
      expect(await rejection).toMatchObject({ name: "TransportError", code: "timed_out", retryable: true });
      expect((await auth.getAccessToken()).value).toMatch(/^[\w-]{43}$/);
    });
  });
});

describe.each(ways)("people, $name", ({ open }) => {
  const privateKey = pluginKey.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const base = (client: LaunchedPlugin | Portal) => ({
    baseUrl: client.emulator.publicUrl,
    tenantId: "acme",
    now: () => client.now,
    timeoutMs: HELD_LIMIT_MS,
    ...(client.emulator.url === undefined && { fetch: client.emulator.fetch }),
  });
  async function loggedIn(fault?: Fault) {
    const portal = new Portal();
    await open(portal.emulator);
    const authorizationEndpoint = `${portal.emulator.publicUrl}/v1/auth/authorize`;
    const credential = apiClient({ clientId: "portal", redirectUri: CALLBACK, authorizationEndpoint });
    const options = { ...base(portal), credential };
    const { url, login } = await beginLogin(options);
    const { callbackUrl } = portal.emulator.login({ url, userId: "ada" });
    if (fault !== undefined) portal.emulator.faults.add(fault);
    return { portal, completed: completeLogin({ ...options, callbackUrl, login }) };
  }

  /** To the client these faults look alike: the code may be spent or not. */
  const unknown: { name: string; fault: Fault; isSpent: boolean }[] = [
    { name: "a lost answer", fault: { name: "lost-answer" }, isSpent: true },
    { name: "a reset before the token", fault: { name: "reset" }, isSpent: false },
    { name: "a truncated answer", fault: { name: "truncated" }, isSpent: true },
    { name: "malformed JSON", fault: { name: "malformed-json" }, isSpent: true },
    { name: "a late 504", fault: { name: "status", status: 504, at: "after-commit" }, isSpent: true },
  ];
  test.each(unknown)(
    "$name leaves the outcome of a launch unknown, and the code is not sent again",
    async (row) => {
      const plugin = new LaunchedPlugin();
      await open(plugin.emulator);
      const code = plugin.launchedCode();
      const credential = userInterfacePlugin({ clientId: "reporter", privateKey, keyId: "key-1" });
      plugin.emulator.faults.add(row.fault);
      const error = await rejectionOf(redeemLaunch({ ...base(plugin), credential, ...code }));
      expect(error).toMatchObject({ name: "RelaunchRequiredError", code: "launch_outcome_unknown" });
      const requests = plugin.emulator.journal.tokenRequests({ grant: "authorization_code" });
      expect(requests).toMatchObject([{ fault: row.fault.name, clientId: "reporter" }]);
      expect((await plugin.exchange(code)).status).toBe(row.isSpent ? 400 : 200);
    },
  );

  test.each(unknown)("$name leaves the outcome of a login unknown", async ({ fault }) => {
    const { portal, completed } = await loggedIn(fault);
    const error = { name: "LoginRequiredError", code: "login_outcome_unknown" };
    expect(await rejectionOf(completed)).toMatchObject(error);
    expect(portal.emulator.journal.tokenRequests()).toHaveLength(1);
  });

  test("a refresh that times out has an unknown outcome, and the server committed it", async () => {
    const { expire } = heldTimeLimit();
    const { portal, completed } = await loggedIn();
    const auth = await completed;
    portal.now += 3_600_000;
    const handle = portal.emulator.faults.add({ name: "slow", delayMs: 600_000 });
    const rejection = rejectionOf(auth.getAccessToken());
    await expect.poll(() => handle.fired).toBe(1);
    expire();
    expect(await rejection).toMatchObject({ code: "login_outcome_unknown" });
    const [entry] = await portal.emulator.journal.waitFor({ fault: "slow" });
    expect(entry).toMatchObject({ grant: "refresh_token", status: 0 });
    expect(entry).not.toHaveProperty("rule");
  });
});
