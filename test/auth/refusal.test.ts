// After a refusal an identity is closed for a while: a wrong key must not cost the tenant one request per call.
import { describe, expect, test } from "vitest";
import { createAuth, type ServiceEvent, serviceAccount, servicePlugin } from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { ACCOUNT_ID, credentialOf, PLUGIN_ID } from "../support/deployment.js";
import { type FetchScript, scriptedFetch, tokenAnswer } from "../support/fetch.js";
import { otherRsaKey, pkcs8, rsaKey } from "../support/keys.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";

const baseUrl = "https://service.example";
const tenantId = "acme";
const refusal = () =>
  Response.json(
    { error: "invalid_client", error_description: "The token request was rejected." },
    { status: 400 },
  );

function refusing(credential: Parameters<typeof createAuth>[0]["credential"], script: FetchScript = refusal) {
  const clock = steppedClock();
  const events: ServiceEvent[] = [];
  const fetch = scriptedFetch(script);
  const onEvent = (event: ServiceEvent) => void events.push(event);
  const auth = createAuth({ baseUrl, tenantId, credential, fetch, now: clock.now, onEvent });
  return { clock, events, fetch, auth };
}

describe.each([{ variant: "A" as const }, { variant: "B" as const }])("Variant $variant", ({ variant }) => {
  test("closed for 1 s, doubling to 60 s; callers get the stored error with retryAt, and nothing is sent", async () => {
    const { clock, events, fetch, auth } = refusing(credentialOf(variant));
    const steps = [1, 2, 4, 8, 16, 32, 60, 60, 60];
    for (const [round, seconds] of steps.entries()) {
      const error = await rejectionOf(auth.getAccessToken());
      expect(error).toMatchObject({ code: "token_refused", retryAt: clock.now() + seconds * 1000 });
      for (let times = 0; times < 3; times++) expect(await rejectionOf(auth.getAccessToken())).toBe(error);
      clock.advance(seconds * 1000 - 1);
      expect(await rejectionOf(auth.getAccessToken())).toBe(error);
      expect(fetch.calls).toHaveLength(round + 1);
      clock.advance(1);
    }
    expect(events.filter(({ type }) => type === "closed_after_refusal")).toHaveLength(steps.length);
  });

  test("a token opens it, and the schedule begins anew", async () => {
    let accepts = false;
    const { clock, auth } = refusing(credentialOf(variant), () => (accepts ? tokenAnswer() : refusal()));
    await rejectionOf(auth.getAccessToken());
    clock.advance(1_000);
    await rejectionOf(auth.getAccessToken());
    clock.advance(2_000);
    accepts = true;
    auth.invalidate(await auth.getAccessToken());
    accepts = false;
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ retryAt: clock.now() + 1_000 });
  });

  test("an answer that is no answer closes it too", async () => {
    const { clock, fetch, auth } = refusing(credentialOf(variant), () => new Response("<html>"));
    const error = await rejectionOf(auth.getAccessToken());
    expect(error).toMatchObject({ code: "response_not_json" });
    expect(await rejectionOf(auth.getAccessToken())).toBe(error);
    expect(fetch.calls).toHaveLength(1);
    clock.advance(1_000);
    await rejectionOf(auth.getAccessToken());
    expect(fetch.calls).toHaveLength(2);
  });

  test("bad settings are told each time, and close nothing", async () => {
    let settings: object = {};
    const credential =
      variant === "A"
        ? servicePlugin(() => settings as { clientId: string; privateKey: string })
        : serviceAccount(() => settings as { clientId: string; clientSecret: string });
    const { auth } = refusing(credential, () => tokenAnswer());
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ name: "ConfigurationError" });
    settings = { clientId: "x", clientSecret: "y", privateKey: pkcs8(rsaKey()) };
    expect((await auth.getAccessToken()).value).toBe("token-1");
  });
});

describe("a changed key or secret opens it", () => {
  test("Variant A: another key", async () => {
    let privateKey = pkcs8(rsaKey());
    const credential = servicePlugin({ clientId: PLUGIN_ID, privateKey: () => privateKey });
    const { fetch, auth } = refusing(credential, (_call, index) => (index === 0 ? refusal() : tokenAnswer()));
    await rejectionOf(auth.getAccessToken());
    await rejectionOf(auth.getAccessToken());
    expect(fetch.calls).toHaveLength(1);
    privateKey = pkcs8(otherRsaKey());
    expect((await auth.getAccessToken()).value).toBe("token-1");
    expect(fetch.calls).toHaveLength(2);
  });

  test("Variant A: another kid, audience or client id", async () => {
    let settings: object = { clientId: PLUGIN_ID, privateKey: pkcs8(rsaKey()) };
    const credential = servicePlugin(() => settings as { clientId: string; privateKey: string });
    const { fetch, auth } = refusing(credential);
    for (const change of [
      {},
      { keyId: "other" },
      { audience: "https://inner.example/token" },
      { clientId: "x" },
    ]) {
      settings = { ...settings, ...change };
      await rejectionOf(auth.getAccessToken());
      await rejectionOf(auth.getAccessToken());
    }
    expect(fetch.calls).toHaveLength(4);
  });

  test("Variant B: another secret", async () => {
    let clientSecret = "first-secret-value";
    const credential = serviceAccount(() => ({ clientId: ACCOUNT_ID, clientSecret }));
    const { fetch, auth } = refusing(credential, (_call, index) => (index === 0 ? refusal() : tokenAnswer()));
    await rejectionOf(auth.getAccessToken());
    await rejectionOf(auth.getAccessToken());
    expect(fetch.calls).toHaveLength(1);
    clientSecret = "second-secret-value";
    expect((await auth.getAccessToken()).value).toBe("token-1");
  });
});

describe("an opaque refusal of Variant A carries the causes of the description", () => {
  const rows = [
    { error: "invalid_client", ids: ["jwks_mismatch", "audience_mismatch"] },
    { error: "invalid_grant", ids: ["plugin_not_registered_or_disabled", "wrong_grant_for_plugin_type"] },
    { error: "invalid_request", ids: [] },
  ];
  test.each(rows)("$error", async ({ error, ids }) => {
    const answer = () =>
      Response.json({ error, error_description: "The token request was rejected." }, { status: 400 });
    const { auth } = refusing(credentialOf("A"), answer);
    const { causes, message } = (await rejectionOf(auth.getAccessToken())) as Error & {
      causes: { id: string; evidence: string; remedy: string; summary: string }[];
    };
    const found = causes.map(({ id }) => id);
    for (const id of ids) expect(found).toContain(id);
    if (ids.length === 0) expect(found).toEqual([]);
    else expect(message).toContain(causes[0]?.remedy);
    for (const { summary, evidence, remedy } of causes)
      for (const told of [summary, evidence, remedy]) expect(told.length).toBeGreaterThan(10);
  });

  test("a clock that is off by the server's Date comes before the key", async () => {
    const clock = steppedClock();
    const fetch = scriptedFetch(() => {
      const response = refusal();
      response.headers.set("date", new Date(clock.now() + 600_000).toUTCString());
      return response;
    });
    const auth = createAuth({ baseUrl, tenantId, credential: credentialOf("A"), fetch, now: clock.now });
    const { causes } = (await rejectionOf(auth.getAccessToken())) as {
      causes: { id: string; evidence: string }[];
    };
    expect(causes.map(({ id }) => id)).toContain("jwks_mismatch");
    expect(fetch.calls.length).toBeLessThanOrEqual(2);
  });

  test("an audience that was set comes first", async () => {
    const credential = servicePlugin({
      clientId: PLUGIN_ID,
      privateKey: pkcs8(rsaKey()),
      audience: "https://other.example/token",
    });
    const { auth } = refusing(credential);
    const { causes } = (await rejectionOf(auth.getAccessToken())) as { causes: { id: string }[] };
    expect(causes[0]?.id).toBe("audience_mismatch");
  });
});

describe("an answer that echoes the secret is told without it", () => {
  // No ten characters in a row are the same in a URL or in a form.
  const clientSecret = 'a"b/c+d e&f=g%h"i/j+k l&m=n%o';
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
