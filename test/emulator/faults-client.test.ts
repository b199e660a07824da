// What the client does when a fault strikes: it never sends twice what may be spent.
import { describe, expect, test } from "vitest";
import type { Emulator, Fault } from "../../src/emulator/index.js";
import {
  type Auth,
  apiClient,
  beginLogin,
  completeLogin,
  createAuth,
  createService,
  type PersonAuth,
  redeemLaunch,
  type ServiceEvent,
  userInterfacePlugin,
} from "../../src/index.js";
import {
  HELD_LIMIT_MS,
  heldTimeLimit,
  LIMIT_MS,
  type SteppedClock,
  skippedWaits,
  steppedClock,
} from "../support/clock.js";
import { ACCOUNT_ID, credentialOf, deployment, PLUGIN_ID } from "../support/deployment.js";
import { rejectionOf } from "../support/wait.js";
import { LaunchedPlugin } from "./launched-plugin.js";
import { pluginKey } from "./plugin-client.js";
import { CALLBACK, Portal } from "./portal.js";
import { type WayIn, ways } from "./two-ways.js";

describe("machines", () => {
  interface Deployed {
    readonly emulator: Emulator;
    readonly auth: Auth;
    readonly clock: SteppedClock;
    readonly events: ServiceEvent[];
  }

  async function deploy(variant: "A" | "B", open: WayIn["open"], options: object = {}): Promise<Deployed> {
    const clock = steppedClock();
    const emulator = deployment({ now: clock.now, publicUrl: undefined });
    await open(emulator);
    const events: ServiceEvent[] = [];
    const auth = createAuth({
      baseUrl: emulator.publicUrl,
      tenantId: "acme",
      credential: credentialOf(variant),
      now: clock.now,
      timeoutMs: LIMIT_MS,
      onEvent: (event) => void events.push(event),
      ...(emulator.url === undefined && { fetch: emulator.fetch }),
      ...options,
    });
    return { emulator, auth, clock, events };
  }

  const retried: { name: string; fault: Fault; waitMs?: number }[] = [
    { name: "a reset before the token", fault: { name: "reset" } },
    { name: "a lost answer", fault: { name: "lost-answer" } },
    { name: "a truncated answer", fault: { name: "truncated" } },
    { name: "a 502 of a gateway", fault: { name: "status", status: 502, body: "down" } },
    { name: "a 504 after the commit", fault: { name: "status", status: 504, at: "after-commit" } },
    {
      name: "a 503 that asks for a wait",
      fault: { name: "status", status: 503, headers: { "retry-after": "9" } },
      waitMs: 9000,
    },
    { name: "a 429 in seconds", fault: { name: "rate-limited", retryAfter: 9 }, waitMs: 9000 },
    { name: "a 429 without Retry-After", fault: { name: "rate-limited", retryAfter: "absent" } },
    { name: "a 429 with garbage", fault: { name: "rate-limited", retryAfter: "soon" } },
  ];
  /** Over HTTP the connection has timers too, which a test must not skip. */
  const inProcess = ways[0] as WayIn;

  describe.each([{ variant: "A" as const }, { variant: "B" as const }])("Variant $variant", ({ variant }) => {
    test.each(retried)(
      "$name is asked for again, with the credential made anew",
      async ({ fault, waitMs = 2000 }) => {
        const { emulator, auth, clock } = await deploy(variant, inProcess.open);
        const waits = skippedWaits(clock);
        emulator.faults.add(fault);
        const token = await auth.getAccessToken();
        expect(token.value).toMatch(/^[\w-]{43}$/);
        const clientId = variant === "A" ? PLUGIN_ID : ACCOUNT_ID;
        expect(emulator.journal.tokenRequests({ clientId, grant: "client_credentials" })).toMatchObject([
          { fault: fault.name },
          { status: 200 },
        ]);
        expect(emulator.customerLog.entries()).toEqual([]);
        const isExpected = (wait: number) => wait >= waitMs && wait <= waitMs * 1.25;
        expect(waits.filter(isExpected)).toHaveLength(1);
      },
    );
  });

  const cases = (["A", "B"] as const).flatMap((variant) => ways.map((way) => ({ ...way, variant })));

  describe.each(cases)("Variant $variant, $name", ({ variant, open }) => {
    const deployed = (options: object = {}) => deploy(variant, open, options);

    test.each(retried.filter(({ fault }) => ["reset", "lost-answer", "truncated"].includes(fault.name)))(
      "$name is a network fault where there is no time to ask again, and closes nothing",
      async ({ fault }) => {
        const { emulator, auth } = await deployed({ rateLimitDeadlineMs: 0 });
        emulator.faults.add(fault);
        const error = await rejectionOf(auth.getAccessToken());
        expect(error).toMatchObject({ name: "TransportError", code: "network_failed", retryable: true });
        expect((await auth.getAccessToken()).value).toMatch(/^[\w-]{43}$/);
      },
    );

    const unexpected: { name: string; fault: Fault; code: string }[] = [
      { name: "malformed JSON", fault: { name: "malformed-json" }, code: "response_not_json" },
      {
        name: "no access_token",
        fault: { name: "fields", fields: { access_token: null } },
        code: "response_shape",
      },
      {
        name: "an odd expires_in",
        fault: { name: "fields", fields: { expires_in: "1h" } },
        code: "response_shape",
      },
      {
        name: "a login page",
        fault: { name: "status", status: 200, body: "<html>", headers: { "content-type": "text/html" } },
        code: "response_not_json",
      },
      {
        name: "a redirect",
        fault: { name: "status", status: 307, headers: { location: "https://evil.example/" } },
        code: "response_redirected",
      },
    ];
    test.each(unexpected)(
      "$name is an unexpected response, and not asked for again",
      async ({ fault, code }) => {
        const { emulator, auth } = await deployed();
        emulator.faults.add(fault);
        const error = await rejectionOf(auth.getAccessToken());
        expect(error).toMatchObject({ name: "UnexpectedResponseError", code, variant });
        expect(emulator.journal.tokenRequests()).toHaveLength(1);
      },
    );

    test("an expires_in that is missing is an hour; a token under another content type is a token", async () => {
      const { emulator, auth, clock } = await deployed();
      emulator.faults.add({ name: "fields", fields: { expires_in: null, revo: null } });
      expect((await auth.getAccessToken()).expiresAt).toBe(clock.now() + 3_600_000);
      auth.invalidate(await auth.getAccessToken());
      emulator.faults.add({ name: "content-type", contentType: "text/plain" });
      expect((await auth.getAccessToken()).value).toMatch(/^[\w-]{43}$/);
      expect(emulator.journal.tokenRequests({ status: 200 }).map(({ fault }) => fault)).toEqual([
        "fields",
        "content-type",
      ]);
    });

    test.each([
      { name: "late", fault: { name: "slow", delayMs: 600_000 } as const },
      { name: "dripping", fault: { name: "slow" } as const },
    ])("an answer that is $name is timed out", async ({ fault }) => {
      const { expire } = heldTimeLimit();
      const { emulator, auth } = await deployed({ timeoutMs: HELD_LIMIT_MS, rateLimitDeadlineMs: 0 });
      const handle = emulator.faults.add(fault);
      const rejection = rejectionOf(auth.getAccessToken());
      await expect.poll(() => handle.fired).toBe(1);
      expire();
      expect(await rejection).toMatchObject({ name: "TransportError", code: "timed_out", retryable: true });
      expect((await auth.getAccessToken()).value).toMatch(/^[\w-]{43}$/);
    });

    const calls: { name: string; fault: Fault; expected: object }[] = [
      {
        name: "503",
        fault: { name: "status", status: 503 },
        expected: { status: 503, error: { code: "api_failed" } },
      },
      {
        name: "429",
        fault: { name: "rate-limited", at: "resource", retryAfter: 9 },
        expected: { status: 429, error: { code: "api_rate_limited", retryAt: steppedClock().now() + 9000 } },
      },
      {
        name: "401",
        fault: { name: "status", status: 401 },
        expected: { status: 401, error: { code: "api_unauthorized" } },
      },
    ];
    test.each(calls)(
      "a call that is answered $name is a failure that says so",
      async ({ fault, expected }) => {
        const { emulator, auth, clock } = await deployed();
        const service = createService(auth, {
          now: clock.now,
          ...(emulator.url === undefined && { fetch: emulator.fetch }),
        });
        await auth.getAccessToken();
        emulator.faults.add({ ...fault, at: "resource" } as Fault);
        expect(await service.call("listDevices")).toMatchObject({ ok: false, ...expected });
        expect(await service.call("listDevices")).toMatchObject({ ok: true, status: 200 });
      },
    );

    const broken: { name: string; fault: Fault; expected: object }[] = [
      {
        name: "reset",
        fault: { name: "reset" },
        expected: { name: "TransportError", code: "network_failed" },
      },
      {
        name: "truncated",
        fault: { name: "truncated" },
        expected: { name: "TransportError", code: "network_failed" },
      },
      {
        name: "malformed",
        fault: { name: "malformed-json" },
        expected: { name: "UnexpectedResponseError", code: "response_not_json" },
      },
      {
        name: "under a page's content type",
        fault: { name: "content-type", contentType: "text/html" },
        expected: { name: "UnexpectedResponseError", code: "response_not_json" },
      },
    ];
    test.each(broken)("a call whose answer is $name throws", async ({ fault, expected }) => {
      const { emulator, auth, clock } = await deployed();
      const service = createService(auth, {
        now: clock.now,
        ...(emulator.url === undefined && { fetch: emulator.fetch }),
      });
      emulator.faults.add({ ...fault, at: "resource" } as Fault);
      expect(await rejectionOf(service.call("listDevices"))).toMatchObject(expected);
      expect(emulator.journal.apiCalls()).toMatchObject([{ fault: fault.name }]);
    });

    test("a token that is old and answered 401 once is renewed, and the call sent again", async () => {
      const { emulator, auth, clock, events } = await deployed();
      const service = createService(auth, {
        now: clock.now,
        onEvent: (event) => void events.push(event),
        ...(emulator.url === undefined && { fetch: emulator.fetch }),
      });
      await auth.getAccessToken();
      clock.advance(60_000);
      emulator.faults.add({ name: "status", status: 401, at: "resource" });
      expect(await service.call("listDevices")).toMatchObject({ ok: true });
      expect(events.map(({ type }) => type)).toContain("call_replayed");
      expect(emulator.journal.apiCalls().map(({ status }) => status)).toEqual([401, 200]);
    });

    test("a skewed Date is reported, and the next assertion follows it", async () => {
      const { emulator, auth, events } = await deployed();
      emulator.faults.add({ name: "skewed-date", byMs: 20_000, count: 2 });
      await auth.getAccessToken();
      const told = events.filter((event) => event.type === "clock_off");
      expect(told).toMatchObject([{ offsetMs: expect.closeTo(20_000, -4), errorMs: expect.any(Number) }]);
      auth.invalidate(await auth.getAccessToken());
      await auth.getAccessToken();
      expect(emulator.journal.tokenRequests({ status: 200 })).toHaveLength(2);
    });
  });
});

describe("people", () => {
  const pem = () => pluginKey.privateKey.export({ type: "pkcs8", format: "pem" }).toString();

  /** However the answer is lost, the client cannot tell it from another way of losing it. */
  const lost: { name: string; fault: Fault; isSpent: boolean }[] = [
    { name: "a lost answer", fault: { name: "lost-answer" }, isSpent: true },
    { name: "a reset before the token", fault: { name: "reset" }, isSpent: false },
    { name: "a truncated answer", fault: { name: "truncated" }, isSpent: true },
    { name: "malformed JSON", fault: { name: "malformed-json" }, isSpent: true },
    {
      name: "a 504 after the commit",
      fault: { name: "status", status: 504, at: "after-commit" },
      isSpent: true,
    },
  ];

  describe.each(ways)("$name", ({ open }) => {
    const base = ({ emulator, now }: LaunchedPlugin | Portal) => ({
      baseUrl: emulator.publicUrl,
      tenantId: "acme",
      now: () => now,
      timeoutMs: HELD_LIMIT_MS,
      ...(emulator.url === undefined && { fetch: emulator.fetch }),
    });

    test.each(lost)(
      "a launch: $name leaves the outcome unknown, and the code unsent",
      async ({ fault, isSpent }) => {
        const plugin = new LaunchedPlugin();
        await open(plugin.emulator);
        const code = plugin.launchedCode();
        const credential = userInterfacePlugin({ clientId: "reporter", privateKey: pem(), keyId: "key-1" });
        plugin.emulator.faults.add(fault);
        const redeem = () => redeemLaunch({ ...base(plugin), credential, ...code });
        expect(await rejectionOf(redeem())).toMatchObject({
          name: "RelaunchRequiredError",
          code: "launch_outcome_unknown",
        });
        expect(plugin.emulator.journal.tokenRequests({ grant: "authorization_code" })).toMatchObject([
          { fault: fault.name, clientId: "reporter" },
        ]);
        expect((await plugin.exchange(code)).status).toBe(isSpent ? 400 : 200);
      },
    );

    async function loggedIn(fault?: Fault): Promise<{ portal: Portal; completed: Promise<PersonAuth<"B">> }> {
      const portal = new Portal();
      await open(portal.emulator);
      const authorizationEndpoint = `${portal.emulator.publicUrl}/v1/auth/authorize`;
      const credential = apiClient({ clientId: "portal", redirectUri: CALLBACK, authorizationEndpoint });
      const options = { ...base(portal), now: () => portal.now, credential };
      const { url, login } = await beginLogin(options);
      const { callbackUrl } = portal.emulator.login({ url, userId: "ada" });
      if (fault !== undefined) portal.emulator.faults.add(fault);
      return { portal, completed: completeLogin({ ...options, callbackUrl, login }) };
    }

    test.each(lost)("a login: $name leaves the outcome unknown", async ({ fault }) => {
      const { portal, completed } = await loggedIn(fault);
      expect(await rejectionOf(completed)).toMatchObject({
        name: "LoginRequiredError",
        code: "login_outcome_unknown",
      });
      expect(portal.emulator.journal.tokenRequests()).toHaveLength(1);
    });

    test.each(lost.filter(({ fault }) => fault.name !== "status"))(
      "a refresh: $name leaves the outcome unknown, and the old refresh token unsent",
      async ({ fault }) => {
        const { portal, completed } = await loggedIn();
        const auth = await completed;
        portal.now += 3_600_000;
        portal.emulator.faults.add({ ...fault, match: { grant: "refresh_token", clientId: "portal" } });
        for (let round = 0; round < 2; round++) {
          expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "login_outcome_unknown" });
        }
        const asked = portal.emulator.journal.tokenRequests({ grant: "refresh_token" });
        expect(asked).toMatchObject([{ fault: fault.name, tenantId: "acme" }]);
      },
    );

    test("a refresh that was waited for too long is unknown too: the server committed it", async () => {
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
});
