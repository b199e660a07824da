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
import { steppedClock } from "../support/clock.js";
import { ACCOUNT_ID, PLUGIN_ID } from "../support/deployment.js";
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
      expect(error).toMatchObject({ code: "token_refused", retryAt: clock.now() + seconds * 1000 });
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

  test("bad settings are reported each time and start no backoff", async () => {
    let settings: object = {};
    const credential =
      variant === "A"
        ? servicePlugin(() => settings as { clientId: string; privateKey: string })
        : serviceAccount(() => settings as { clientId: string; clientSecret: string });
    const { auth } = refusing(credential, () => tokenAnswer());
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ name: "ConfigurationError" });
    const secret = variant === "A" ? { privateKey: pkcs8(rsaKey()) } : { clientSecret: "y" };
    settings = { clientId: "x", ...secret };
    expect((await auth.getAccessToken()).value).toBe("token-1");
  });
});

test("a changed kid, key, audience, client id or secret ends the backoff", async () => {
  const key = { clientId: PLUGIN_ID, privateKey: pkcs8(rsaKey()) };
  const changes = [
    {},
    { keyId: "other" },
    { privateKey: pkcs8(otherRsaKey()) },
    { audience: "https://inner.example/token" },
    { clientId: "x" },
  ];
  const secret = { clientId: ACCOUNT_ID, clientSecret: "first-secret-value" };
  let settings: object = {};
  const ofA = refusing(servicePlugin(() => settings as typeof key));
  const ofB = refusing(serviceAccount(() => settings as typeof secret));
  for (const { fetch, auth, all } of [
    { ...ofA, all: changes.map((change) => ({ ...key, ...change })) },
    { ...ofB, all: [secret, { ...secret, clientSecret: "second-secret-value" }] },
  ]) {
    for (settings of all)
      for (const _time of [1, 2])
        expect(await rejectionOf(auth.getAccessToken())).toHaveProperty("code", "token_refused");
    expect(fetch.calls).toHaveLength(all.length);
  }
});

describe("a refusal that echoes the secret is reported without it", () => {
  // No ten characters in a row are the same in a URL or in a form.
  const clientSecret = '" a" b" c" d" e" f" g" h';
  const forms = {
    "as it is": clientSecret,
    "in JSON": JSON.stringify(clientSecret).slice(1, -1),
    "in a form": new URLSearchParams({ _: clientSecret }).toString().slice(2),
    "with line breaks that become spaces": clientSecret.replaceAll(" ", "\n"),
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
    for (const form of [echo, clientSecret])
      expect(shown(error) + shown(events)).not.toContain(form);
    expect(error).not.toHaveProperty("errorDescription");
  });
});

describe("many calls during a refusal", () => {
  test("an unknown path stops the requests of callers that leave before the detection has ended", async () => {
    const clock = steppedClock();
    const service = fakeService({
      variant: "A",
      onTokenRequest: ({ answer }) => answer(new Response("", { status: 404 })),
    });
    const fetch: typeof service.fetch = (url, init = {}) =>
      String(init.body).includes("client_assertion")
        ? service.fetch(url, init)
        : new Promise(() => {});
    const connector = createConnector({ credentials: [service.credential], fetch, clock });
    const { auth } = await connector.connect({ baseUrl: BASE_URL, tenantId: "acme" });
    const calls: Promise<unknown>[] = [];
    for (let call = 0; call < 100; call++) {
      const caller = new AbortController();
      calls.push(rejectionOf(auth.getAccessToken({ signal: caller.signal })));
      await clock.pass(100);
      caller.abort();
    }
    await Promise.all(calls);
    expect(service.tokenRequests.length).toBeLessThanOrEqual(4);
  });

  test.each([
    { name: "answers 503", answer: () => new Response("", { status: 503 }), most: 24 },
    { name: "answers 200 with a page", answer: () => new Response("<html>"), most: 6 },
    { name: "resets each connection", answer: () => new TypeError("fetch failed"), most: 33 },
  ])("send at most $most requests in a minute to a token endpoint that $name", async (failure) => {
    const clock = steppedClock();
    const service = fakeService({
      variant: "B",
      onTokenRequest: ({ answer }) => answer(failure.answer()),
    });
    const { credential, fetch } = service;
    const { auth } = recordedAuth({ credential, fetch, clock });
    const calls: Promise<unknown>[] = [];
    for (let call = 0; call < 300; call++) {
      calls.push(rejectionOf(auth.getAccessToken()));
      await clock.pass(200);
    }
    await clock.pass(10_000);
    expect(await Promise.all(calls)).toHaveLength(300);
    expect(service.tokenRequests.length).toBeLessThanOrEqual(failure.most);
    expect(service.tokenRequests.length).toBeGreaterThan(3);
    expect(service.mostInFlight()).toBe(1);
  });
});
