// What the client does when a fault strikes: it never sends twice what may be spent.
import { describe, expect, test } from "vitest";
import type { Fault } from "../../src/emulator/index.js";
import {
  apiClient,
  beginLogin,
  completeLogin,
  createAuth,
  createService,
  redeemLaunch,
  type ServiceEvent,
  userInterfacePlugin,
} from "../../src/index.js";
import { HELD_LIMIT_MS, heldTimeLimit, LIMIT_MS, skippedWaits, steppedClock } from "../support/clock.js";
import { ACCOUNT_ID, credentialOf, deployment, PLUGIN_ID } from "../support/deployment.js";
import { rejectionOf } from "../support/wait.js";
import { LaunchedPlugin, pluginKey } from "./plugin-client.js";
import { CALLBACK, Portal } from "./portal.js";
import { type WayIn, ways } from "./two-ways.js";

const lost = { name: "TransportError", code: "network_failed" };
const notJson = { name: "UnexpectedResponseError", code: "response_not_json" };

describe("machines", () => {
  async function deploy(variant: "A" | "B", open: WayIn["open"], options: object = {}) {
    const clock = steppedClock();
    const emulator = deployment({ now: clock.now, publicUrl: undefined });
    await open(emulator);
    const events: ServiceEvent[] = [];
    const shared = {
      now: clock.now,
      onEvent: (event: ServiceEvent) => void events.push(event),
      ...(emulator.url === undefined && { fetch: emulator.fetch }),
    };
    const auth = createAuth({
      ...shared,
      baseUrl: emulator.publicUrl,
      tenantId: "acme",
      credential: credentialOf(variant),
      timeoutMs: LIMIT_MS,
      ...options,
    });
    return { emulator, auth, clock, events, service: createService(auth, shared) };
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
  // In-process only: over HTTP the connection has timers too, which must not be skipped.
  test.each(retried)("$name is retried once, with a new assertion", async ({ fault, waitMs = 2000 }) => {
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
    const deployed = (options: object = {}) => deploy(variant, open, options);

    test.each([{ name: "reset" }, { name: "lost-answer" }, { name: "truncated" }] as const)(
      "$name is a network fault where there is no time to retry, and the next request is sent",
      async (fault) => {
        const { emulator, auth } = await deployed({ rateLimitDeadlineMs: 0 });
        emulator.faults.add(fault);
        expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ ...lost, retryable: true });
        expect((await auth.getAccessToken()).value).toMatch(/^[\w-]{43}$/);
      },
    );

    const fields = (fields: { [name: string]: string | null }): Fault => ({ name: "fields", fields });
    const html = { "content-type": "text/html" };
    const location = "https://evil.example/";
    const unexpected: { name: string; fault: Fault; code: string }[] = [
      { name: "malformed JSON", fault: { name: "malformed-json" }, code: "response_not_json" },
      { name: "no access_token", fault: fields({ access_token: null }), code: "response_shape" },
      { name: "an odd expires_in", fault: fields({ expires_in: "1h" }), code: "response_shape" },
      {
        name: "a login page",
        fault: { name: "status", status: 200, body: "<html>", headers: html },
        code: "response_not_json",
      },
      {
        name: "a redirect",
        fault: { name: "status", status: 307, headers: { location } },
        code: "response_redirected",
      },
    ];
    test.each(unexpected)("$name is an unexpected response, and not retried", async ({ fault, code }) => {
      const { emulator, auth } = await deployed();
      emulator.faults.add(fault);
      const error = await rejectionOf(auth.getAccessToken());
      expect(error).toMatchObject({ name: "UnexpectedResponseError", code, variant });
      expect(emulator.journal.tokenRequests()).toHaveLength(1);
    });

    test("an absent expires_in means an hour, and the content type of a token answer does not matter", async () => {
      const { emulator, auth, clock } = await deployed();
      emulator.faults.add({ name: "fields", fields: { expires_in: null, revo: null } });
      expect((await auth.getAccessToken()).expiresAt).toBe(clock.now() + 3_600_000);
      auth.invalidate(await auth.getAccessToken());
      emulator.faults.add({ name: "content-type", contentType: "text/plain" });
      expect((await auth.getAccessToken()).value).toMatch(/^[\w-]{43}$/);
      const faults = emulator.journal.tokenRequests({ status: 200 }).map(({ fault }) => fault);
      expect(faults).toEqual(["fields", "content-type"]);
    });

    test.each([{ delayMs: 600_000 }, {}])("an answer that is slow by %j times out", async (slow) => {
      const { expire } = heldTimeLimit();
      const { emulator, auth } = await deployed({ timeoutMs: HELD_LIMIT_MS, rateLimitDeadlineMs: 0 });
      const handle = emulator.faults.add({ name: "slow", ...slow });
      const rejection = rejectionOf(auth.getAccessToken());
      await expect.poll(() => handle.fired).toBe(1);
      expire();
      expect(await rejection).toMatchObject({ name: "TransportError", code: "timed_out", retryable: true });
      expect((await auth.getAccessToken()).value).toMatch(/^[\w-]{43}$/);
    });

    const retryAt = steppedClock().now() + 9000;
    const failures: { fault: Fault; status: number; error: object }[] = [
      { fault: { name: "status", status: 503 }, status: 503, error: { code: "api_failed" } },
      { fault: { name: "status", status: 401 }, status: 401, error: { code: "api_unauthorized" } },
      {
        fault: { name: "rate-limited", retryAfter: 9 },
        status: 429,
        error: { code: "api_rate_limited", retryAt },
      },
    ];
    test.each(failures)("a call answered $status is a failure, and the next one succeeds", async (row) => {
      const { emulator, auth, service } = await deployed();
      await auth.getAccessToken();
      emulator.faults.add({ ...row.fault, at: "resource" } as Fault);
      const { status, error } = row;
      expect(await service.call("listDevices")).toMatchObject({ ok: false, status, error });
      expect(await service.call("listDevices")).toMatchObject({ ok: true, status: 200 });
    });

    const broken: { name: string; fault: Fault; expected: object }[] = [
      { name: "reset", fault: { name: "reset" }, expected: lost },
      { name: "truncated", fault: { name: "truncated" }, expected: lost },
      { name: "malformed", fault: { name: "malformed-json" }, expected: notJson },
      { name: "a page", fault: { name: "content-type", contentType: "text/html" }, expected: notJson },
    ];
    test.each(broken)("a call whose answer is $name throws", async ({ fault, expected }) => {
      const { emulator, service } = await deployed();
      emulator.faults.add({ ...fault, at: "resource" } as Fault);
      expect(await rejectionOf(service.call("listDevices"))).toMatchObject(expected);
      expect(emulator.journal.apiCalls()).toMatchObject([{ fault: fault.name }]);
    });

    test("an old token that is answered 401 once is renewed, and the call sent again", async () => {
      const { emulator, auth, clock, events, service } = await deployed();
      await auth.getAccessToken();
      clock.advance(60_000);
      emulator.faults.add({ name: "status", status: 401, at: "resource" });
      expect(await service.call("listDevices")).toMatchObject({ ok: true });
      expect(events.map(({ type }) => type)).toContain("call_replayed");
      expect(emulator.journal.apiCalls().map(({ status }) => status)).toEqual([401, 200]);
    });

    test("a wrong Date is reported as an event, and the next assertion follows it", async () => {
      const { emulator, auth, events } = await deployed();
      emulator.faults.add({ name: "skewed-date", byMs: 20_000, count: 2 });
      await auth.getAccessToken();
      const reported = events.filter((event) => event.type === "clock_off");
      expect(reported).toMatchObject([{ offsetMs: expect.closeTo(20_000, -4), errorMs: expect.any(Number) }]);
      auth.invalidate(await auth.getAccessToken());
      await auth.getAccessToken();
      expect(emulator.journal.tokenRequests({ status: 200 })).toHaveLength(2);
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

  /** The client cannot tell these from each other. */
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

  test.each(unknown.filter(({ fault }) => fault.name !== "status"))(
    "$name leaves the outcome of a refresh unknown, and the old refresh token is not sent again",
    async ({ fault }) => {
      const { portal, completed } = await loggedIn();
      const auth = await completed;
      portal.now += 3_600_000;
      portal.emulator.faults.add({ ...fault, match: { grant: "refresh_token", clientId: "portal" } });
      for (let round = 0; round < 2; round++)
        expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "login_outcome_unknown" });
      const requests = portal.emulator.journal.tokenRequests({ grant: "refresh_token" });
      expect(requests).toMatchObject([{ fault: fault.name, tenantId: "acme" }]);
    },
  );

  test("a refresh that times out has an unknown outcome: the server committed it", async () => {
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
