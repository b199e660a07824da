// In worker runtimes promises die with their request: waitUntil gets renewals, and no caller awaits
// another's promise.
import { describe, expect, test, vi } from "vitest";
import {
  type AccessToken,
  createConnector,
  type MachineCredential,
  servicePlugin,
} from "../../src/index.js";
import { scriptedAuth } from "../support/auth.js";
import { steppedClock } from "../support/clock.js";
import { credentialOf, deployment } from "../support/deployment.js";
import { tokenAnswer } from "../support/fetch.js";
import { pkcs8, rsaKey } from "../support/keys.js";
import { isSettled, settle } from "../support/wait.js";
import { type AnsweredAuth, answeredAuth } from "./fake-service.js";

const variants = ["A", "B"] as const;
const unshared = { shareInFlight: false };
const refusal = () => Response.json({ error: "invalid_client" }, { status: 400 });

describe.each(variants)("a background renewal of Variant %s", (variant) => {
  test("is passed to waitUntil as a promise that is fulfilled after the renewal", async () => {
    const kept: Promise<unknown>[] = [];
    const parts = answeredAuth(variant, { waitUntil: (promise) => void kept.push(promise) });
    await parts.untilExpiry(60_000);
    kept.length = 0;
    await parts.auth.getAccessToken();
    expect(kept).toHaveLength(1);
    expect(await isSettled(kept[0] as Promise<unknown>)).toBe(false);
    await parts.answer();
    expect(await isSettled(kept[0] as Promise<unknown>)).toBe(true);
  });

  test("fulfils the promise of waitUntil even if it fails, and fails no caller while the old token is valid", async () => {
    const kept: Promise<unknown>[] = [];
    const parts = answeredAuth(variant, { waitUntil: (promise) => void kept.push(promise) });
    await parts.untilExpiry(60_000);
    kept.length = 0;
    const { value } = await parts.auth.getAccessToken();
    await parts.answer(refusal);
    await expect(kept[0]).resolves.toBeUndefined();
    expect((await parts.auth.getAccessToken()).value).toBe(value);
    expect(parts.events.filter(({ type }) => type === "renewal_failed")).toHaveLength(1);
    expect(parts.service.tokenRequests).toHaveLength(2);
  });

  const refuse = () => {
    throw new Error("the answer was sent already");
  };
  test.each([
    { name: "throws", waitUntil: refuse },
    // Vitest fails at the end if the rejection was not handled.
    { name: "is an async function that throws", waitUntil: async () => refuse() },
  ])("continues when waitUntil $name", async ({ waitUntil }) => {
    const parts = answeredAuth(variant, { waitUntil });
    await parts.untilExpiry(60_000);
    await parts.auth.getAccessToken();
    await parts.answer();
    expect((await parts.auth.getAccessToken()).value).toBe("token-acme-2");
  });
});

describe.each(variants)("shareInFlight: false with Variant %s", (variant) => {
  test("lets no caller wait for a killed request of another", async () => {
    const { auth, service, pending } = answeredAuth(variant, unshared);
    const killed = auth.getAccessToken();
    await settle();
    expect(pending.splice(0)).toHaveLength(1);
    const next = auth.getAccessToken();
    await settle();
    pending[0]?.answer(service.token("acme"));
    expect((await next).value).toBe("token-acme-1");
    expect(await isSettled(killed)).toBe(false);
  });

  test("starts another background renewal only after the first must have been killed", async () => {
    const parts = answeredAuth(variant, unshared);
    const { auth, clock, pending } = parts;
    await parts.untilExpiry(60_000);
    await auth.getAccessToken();
    await settle();
    expect(pending.splice(0)).toHaveLength(1);
    clock.killTimers();
    clock.advance(29_999);
    await auth.getAccessToken();
    await settle();
    expect(pending).toHaveLength(0);
    clock.advance(1);
    expect((await auth.getAccessToken()).value).toBe("token-acme-1");
    await parts.answer();
    expect((await auth.getAccessToken()).value).toBe("token-acme-2");
  });

  test("counts the refusals of concurrent callers as one step of the backoff", async () => {
    const { auth, clock, events, answer } = answeredAuth(variant, unshared);
    const crowd = Array.from({ length: 50 }, () =>
      auth.getAccessToken().catch((error: unknown) => error),
    );
    await settle();
    await answer(refusal);
    const errors = await Promise.all(crowd);
    expect(new Set(errors.map((error) => (error as { retryAt: number }).retryAt))).toEqual(
      new Set([clock.now() + 1_000]),
    );
    expect(events.filter(({ type }) => type === "token_requested")).toHaveLength(50);
  });
});

describe.each(variants)(
  "a shared renewal of Variant %s that the runtime has stopped",
  (variant) => {
    /** Asks for a token, and stops that work: no timer fires, and no answer comes. */
    async function stopped({ auth, pending, clock }: AnsweredAuth): Promise<void> {
      auth.getAccessToken();
      await settle();
      clock.killTimers();
      expect(pending.splice(0)).toHaveLength(1);
    }

    test.each([
      { name: "in the background", lostAfterMs: 30_000 },
      { name: "for a caller", lostAfterMs: 90_000 },
    ])(
      "$name keeps callers waiting for $lostAfterMs ms, and not for ever",
      async ({ lostAfterMs }) => {
        const parts = answeredAuth(variant);
        const { auth, clock, events, pending } = parts;
        if (lostAfterMs === 30_000) await parts.untilExpiry(5_000);
        await stopped(parts);
        clock.advance(5_000);
        const crowd = Array.from({ length: 20 }, () => auth.getAccessToken());
        await clock.pass(lostAfterMs - 5_001);
        expect(pending).toHaveLength(0);
        await clock.pass(1);
        expect(pending).toHaveLength(1);
        await parts.answer();
        for (const { value } of await Promise.all(crowd)) expect(value).toMatch(/^token-acme-/);
        expect(events.filter(({ type }) => type === "token_renewed").length).toBeLessThanOrEqual(2);
        expect(pending).toHaveLength(0);
      },
    );

    test("does not keep a caller waiting that came after another one whose timers the runtime stopped too", async () => {
      const parts = answeredAuth(variant);
      await stopped(parts);
      parts.auth.getAccessToken();
      await settle();
      parts.clock.killTimers();
      const caller = parts.auth.getAccessToken({ signal: new AbortController().signal });
      await parts.clock.pass(90_000);
      await parts.answer();
      expect((await caller).value).toBe("token-acme-1");
    });
  },
);

test("a shared detection that the runtime has stopped does not keep callers waiting for ever", async () => {
  const [a, b] = (["A", "B"] as const).map((variant) => credentialOf(variant));
  let [isStopped, asked] = [true, 0];
  const answer = { error: "invalid_grant", error_description: "The token request was rejected." };
  const fetch = async () => {
    asked++;
    return isStopped ? new Promise<never>(() => {}) : Response.json(answer, { status: 400 });
  };
  const clock = steppedClock();
  const connector = createConnector({ credentials: [a, b] as MachineCredential[], fetch, clock });
  const connect = () => connector.connect({ baseUrl: "https://service.example", tenantId: "acme" });
  connect();
  await settle();
  expect(asked).toBe(1);
  clock.killTimers();
  isStopped = false;
  const connected = clock.through(Promise.all([connect(), connect()]));
  for (const { variant } of await connected) expect(variant).toBe("A");
});

test("with shareInFlight: false a detection that the runtime stopped delays no other", async () => {
  const { fetch } = deployment();
  let requests = 0;
  const stopping = (url: string, init?: RequestInit) =>
    requests++ === 0 ? new Promise<Response>(() => {}) : fetch(url, init);
  const credentials = [credentialOf("A"), credentialOf("B")];
  const connector = createConnector({ credentials, fetch: stopping, shareInFlight: false });
  const target = { baseUrl: "http://service.localhost", tenantId: "acme" };
  connector.connect(target).catch(() => {});
  await settle();
  expect(requests).toBe(1);
  expect((await connector.connect(target)).variant).toBe("A");
}, 5_000);

test.each([
  { name: "is not awaited with shareInFlight: false", shareInFlight: false },
  { name: "is replaced by a caller that waits for it", shareInFlight: true },
])("a key import that the runtime stopped $name", async ({ shareInFlight }) => {
  const credential = servicePlugin({ clientId: "plugin", privateKey: pkcs8(rsaKey()) });
  const importKey = vi
    .spyOn(crypto.subtle, "importKey")
    .mockImplementationOnce(() => new Promise(() => {}));
  const clock = steppedClock();
  const [killed, next] = ["acme", "globex"].map((tenantId) => {
    const options = { clock, tenantId, shareInFlight };
    return scriptedAuth(credential, () => tokenAnswer(), options).auth.getAccessToken();
  }) as [Promise<AccessToken>, Promise<AccessToken>];
  await settle();
  expect((await clock.through(next, shareInFlight ? undefined : 0)).value).toBe("token-1");
  expect(await isSettled(killed)).toBe(false);
  importKey.mockRestore();
});
