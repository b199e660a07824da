// After a refusal no request is sent for a while, since a wrong key must not cost the tenant one
// request per call.
import { describe, expect, test } from "vitest";
import {
  createConnector,
  type MachineCredential,
  serviceAccount,
  servicePlugin,
  type Variant,
} from "../../src/index.js";
import { fakeService } from "../lifecycle/fake-service.js";
import { BASE_URL, recordedAuth, scriptedAuth } from "../support/auth.js";
import { START, steppedClock } from "../support/clock.js";
import { ACCOUNT_ID, deployment, PLUGIN_ID, plugin } from "../support/deployment.js";
import { type FetchScript, tokenAnswer } from "../support/fetch.js";
import { otherRsaKey, pkcs8, rsaKey } from "../support/keys.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";

const refusal = () =>
  Response.json(
    { error: "invalid_client", error_description: "The token request was rejected." },
    { status: 400 },
  );

const refusing = (credential: Variant | MachineCredential, script: FetchScript = refusal) =>
  scriptedAuth(credential, script);

describe.each(["A", "B"] as const)("Variant %s", (variant) => {
  test("callers get the stored error of a refusal for 1 s, doubling to 60 s, and nothing is sent", async () => {
    const { clock, events, fetch, auth } = refusing(variant);
    const steps = [1, 2, 4, 8, 16, 32, 60, 60, 60];
    for (const [round, seconds] of steps.entries()) {
      const error = await rejectionOf(auth.getAccessToken());
      expect(error).toMatchObject({
        code: "token_refused",
        retryAt: clock.now() + seconds * 1000,
      });
      for (let times = 0; times < 3; times++)
        expect(await rejectionOf(auth.getAccessToken())).toBe(error);
      clock.advance(seconds * 1000 - 1);
      expect(await rejectionOf(auth.getAccessToken())).toBe(error);
      expect(fetch.calls).toHaveLength(round + 1);
      clock.advance(1);
    }
    expect(events.filter(({ type }) => type === "closed_after_refusal")).toHaveLength(steps.length);
    const failed = events.findLast(({ type }) => type === "token_failed");
    const { message } = (await rejectionOf(auth.getAccessToken())) as Error;
    expect(failed).toMatchObject({ code: "token_refused", message });
    expect(message).toContain("Most likely: ");
  });

  test("an issued token resets the backoff", async () => {
    let accepts = false;
    const { clock, auth } = refusing(variant, () => (accepts ? tokenAnswer() : refusal()));
    await rejectionOf(auth.getAccessToken());
    clock.advance(1_000);
    await rejectionOf(auth.getAccessToken());
    clock.advance(2_000);
    accepts = true;
    auth.invalidate(await auth.getAccessToken());
    accepts = false;
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({
      retryAt: clock.now() + 1_000,
    });
  });

  test("an unexpected answer starts the backoff too", async () => {
    const { clock, fetch, auth } = refusing(variant, () => new Response("<html>"));
    const error = await rejectionOf(auth.getAccessToken());
    expect(error).toMatchObject({ code: "response_not_json" });
    expect(await rejectionOf(auth.getAccessToken())).toBe(error);
    expect(fetch.calls).toHaveLength(1);
    clock.advance(1_000);
    await rejectionOf(auth.getAccessToken());
    expect(fetch.calls).toHaveLength(2);
  });

  test("bad settings are reported each time and start no backoff", async () => {
    let settings: object = {};
    const credential =
      variant === "A"
        ? servicePlugin(() => settings as { clientId: string; privateKey: string })
        : serviceAccount(() => settings as { clientId: string; clientSecret: string });
    const { auth } = refusing(credential, () => tokenAnswer());
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({
      name: "ConfigurationError",
    });
    const secret = variant === "A" ? { privateKey: pkcs8(rsaKey()) } : { clientSecret: "y" };
    settings = { clientId: "x", ...secret };
    expect((await auth.getAccessToken()).value).toBe("token-1");
  });
});

describe("a changed key or secret ends the backoff", () => {
  test("in Variant A: another kid, key, audience or client id", async () => {
    let settings: object = { clientId: PLUGIN_ID, privateKey: pkcs8(rsaKey()) };
    const credential = servicePlugin(() => settings as { clientId: string; privateKey: string });
    const { fetch, auth } = refusing(credential);
    for (const change of [
      {},
      { keyId: "other" },
      { privateKey: pkcs8(otherRsaKey()) },
      { audience: "https://inner.example/token" },
      { clientId: "x" },
    ]) {
      settings = { ...settings, ...change };
      await rejectionOf(auth.getAccessToken());
      await rejectionOf(auth.getAccessToken());
    }
    expect(fetch.calls).toHaveLength(5);
  });

  test("in Variant B: another secret", async () => {
    let clientSecret = "first-secret-value";
    const credential = serviceAccount(() => ({ clientId: ACCOUNT_ID, clientSecret }));
    const { fetch, auth } = refusing(credential, (_call, index) =>
      index === 0 ? refusal() : tokenAnswer(),
    );
    await rejectionOf(auth.getAccessToken());
    await rejectionOf(auth.getAccessToken());
    expect(fetch.calls).toHaveLength(1);
    clientSecret = "second-secret-value";
    expect((await auth.getAccessToken()).value).toBe("token-1");
  });
});

describe("a refusal that echoes the secret is reported without it", () => {
  // No ten characters in a row are the same in a URL or in a form.
  const clientSecret = '" a" b" c" d" e" f" g" h';
  const forms = {
    "as it is": clientSecret,
    "in JSON": JSON.stringify(clientSecret).slice(1, -1),
    "in a form": new URLSearchParams({ _: clientSecret }).toString().slice(2),
    "in a URL": encodeURIComponent(clientSecret),
    "in JSON, cut off": JSON.stringify(clientSecret).slice(5, 20),
    "in a URL, cut off": encodeURIComponent(clientSecret).slice(9, 30),
  };
  test.each(Object.entries(forms))("%s", async (_name, echo) => {
    const credential = serviceAccount({ clientId: ACCOUNT_ID, clientSecret });
    const answer = { error: "invalid_client", error_description: `no client has ${echo}` };
    const { auth, events } = refusing(credential, () => Response.json(answer, { status: 400 }));
    const error = await rejectionOf(auth.getAccessToken());
    expect(error).toMatchObject({ code: "token_refused", error: "invalid_client" });
    expect(shown(error) + shown(events)).not.toContain(echo);
    expect(error).not.toHaveProperty("errorDescription");
  });
});

describe("many calls during a refusal", () => {
  test.each([
    { name: "that is frozen", stepMs: 0 },
    { name: "that is set back by a day", stepMs: -86_400_000 },
  ])("a clock $name does not prolong the backoff", async ({ stepMs }) => {
    let now = START;
    const clock = { ...steppedClock(), now: () => now };
    const emulator = deployment({ now: clock.now });
    const { publicUrl: baseUrl, fetch } = emulator;
    const credential = plugin({ privateKey: pkcs8(otherRsaKey()) });
    const { auth } = recordedAuth({ baseUrl, credential, fetch, clock });
    await rejectionOf(auth.getAccessToken());
    now += stepMs;
    for (const ms of [999, 1]) {
      expect(emulator.journal.tokenRequests()).toHaveLength(1);
      clock.advance(ms);
      await rejectionOf(auth.getAccessToken());
    }
    expect(emulator.journal.tokenRequests()).toHaveLength(2);
  });

  test("an unknown path stops the requests of callers that leave before the detection has ended", async () => {
    const clock = steppedClock();
    const service = fakeService({
      variant: "A",
      now: clock.now,
      onTokenRequest: ({ answer }) => answer(new Response("", { status: 404 })),
    });
    const fetch: typeof service.fetch = (url, init = {}) =>
      String(init.body).includes("client_assertion")
        ? service.fetch(url, init)
        : new Promise(() => {});
    const connector = createConnector({ credentials: [service.credential], fetch, clock });
    const { auth } = await connector.connect({ baseUrl: BASE_URL, tenantId: "acme" });
    const calls: Promise<unknown>[] = [];
    for (let call = 0; call < 600; call++) {
      const caller = new AbortController();
      calls.push(rejectionOf(auth.getAccessToken({ signal: caller.signal })));
      await clock.pass(100);
      caller.abort();
    }
    await Promise.all(calls);
    expect(service.tokenRequests.length).toBeLessThanOrEqual(6);
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
    test.each(failures)(
      "that $name gets at most $most requests for 600 calls in a minute",
      async (failure) => {
        const clock = steppedClock();
        const service = fakeService({
          variant,
          now: clock.now,
          onTokenRequest: ({ answer }) => answer(failure.answer()),
        });
        const { credential, fetch } = service;
        const { auth } = recordedAuth({ credential, fetch, clock });
        const calls: Promise<unknown>[] = [];
        for (let call = 0; call < 600; call++) {
          calls.push(rejectionOf(auth.getAccessToken()));
          await clock.pass(100);
        }
        await clock.pass(10_000);
        const errors = await Promise.all(calls);
        expect(errors).toHaveLength(600);
        expect(service.tokenRequests.length).toBeLessThanOrEqual(failure.most);
        expect(service.tokenRequests.length).toBeGreaterThan(3);
        expect(service.mostInFlight()).toBe(1);
      },
    );
  });
});
