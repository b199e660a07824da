// Callers share one token request, and an abort ends only that caller's wait.
import { describe, expect, test } from "vitest";
import { createConnector, servicePlugin } from "../../src/index.js";
import { answeredAuth } from "../lifecycle/fake-service.js";
import { recordedAuth, scriptedAuth } from "../support/auth.js";
import { credentialOf } from "../support/deployment.js";
import { scriptedFetch, tokenAnswer } from "../support/fetch.js";
import { rejectionOf, settle } from "../support/wait.js";

describe.each(["A", "B"] as const)("Variant %s", (variant) => {
  test("a fresh token is served from memory, without a request, a store or a read of the credential", async () => {
    let reads = 0;
    const store = {
      get: async () => void reads++,
      set: async (_key: string, value: string) => ({ value, version: "1" }),
      delete: async () => {},
      lock: <T>(_key: string, task: () => Promise<T>) => task(),
    } as never;
    const { auth, fetch } = scriptedAuth(variant, () => tokenAnswer(), { store });
    const first = await auth.getAccessToken();
    reads = 0;
    for (let times = 0; times < 10; times++) expect(await auth.getAccessToken()).toBe(first);
    expect([fetch.calls.length, reads]).toEqual([1, 0]);
  });
});

test("an assertion that was signed after its only caller left is not sent by a fetch that ignores its signal", async () => {
  let finish = (_signature: Uint8Array) => {};
  const signing = new Promise<Uint8Array>((resolve) => {
    finish = resolve;
  });
  const requested: string[] = [];
  const fetch = async (url: string) => {
    requested.push(url);
    return tokenAnswer();
  };
  const credential = servicePlugin({
    clientId: "plugin",
    privateKey: { keyId: "kms", sign: () => signing },
  });
  const { auth, types } = recordedAuth({ credential, fetch });
  const caller = new AbortController();
  const token = rejectionOf(auth.getAccessToken({ signal: caller.signal }));
  await expect.poll(types).toContain("token_requested");
  caller.abort("gone");
  expect(await token).toBe("gone");
  finish(new Uint8Array(256));
  await settle();
  expect(requested).toEqual([]);
});

test("concurrent tenants and base URLs each get their own token", async () => {
  const fetch = scriptedFetch(({ url }) => tokenAnswer(url));
  const connector = createConnector({ credentials: [credentialOf("A")], fetch });
  const targets = ["https://a.example", "https://b.example", "https://a.example/p"].flatMap(
    (baseUrl) => ["acme", "globex"].map((tenantId) => ({ baseUrl, tenantId })),
  );
  const tokens = [...targets, ...targets].map(async (target) => {
    const { value } = await (await connector.connect(target)).auth.getAccessToken();
    expect(value.startsWith(`${target.baseUrl}/api/v1/${target.tenantId}/`)).toBe(true);
  });
  await Promise.all(tokens);
  expect(fetch.calls).toHaveLength(targets.length);
});

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

describe.each(["A", "B"] as const)("when a token of Variant %s expires", (variant) => {
  /** Asks for a token as a hundred callers, who can abort. */
  async function crowd() {
    const parts = answeredAuth(variant);
    await parts.untilExpiry();
    const controllers = numbers(100).map(() => new AbortController());
    const callers = controllers.map(({ signal }) => parts.auth.getAccessToken({ signal }));
    const leave = async (count: number) => {
      const aborted = callers.slice(0, count).map(rejectionOf);
      for (const [index, controller] of controllers.slice(0, count).entries())
        controller.abort(`caller ${index}`);
      expect(await Promise.all(aborted)).toEqual(numbers(count).map((index) => `caller ${index}`));
    };
    return { ...parts, callers, leave };
  }

  test("1 000 concurrent callers make one token request and get one token", async () => {
    const { auth, answer, requested, untilExpiry } = answeredAuth(variant);
    await untilExpiry();
    const callers = numbers(1_000).map(() => auth.getAccessToken());
    expect(await requested()).toBe(2);
    await answer();
    const values = (await Promise.all(callers)).map(({ value }) => value);
    expect(new Set(values)).toEqual(new Set(["token-acme-2"]));
    expect(await requested()).toBe(2);
  });

  test.each([
    { name: "before the token request is sent", isSent: false },
    { name: "while the token request is under way", isSent: true },
  ])(
    "99 of 100 callers abort $name: one request, and the last one is served",
    async ({ isSent }) => {
      const { service, answer, requested, callers, leave } = await crowd();
      if (isSent) await requested();
      await leave(99);
      expect(await requested()).toBe(2);
      await answer();
      expect((await callers[99])?.value).toBe("token-acme-2");
      expect(service.tokenRequests.map(({ signal }) => signal.aborted)).toEqual([false, false]);
    },
  );

  test("when all 100 callers abort, the request is aborted and the next caller sends another", async () => {
    const { auth, service, answer, requested, leave } = await crowd();
    await requested();
    await leave(100);
    expect(service.tokenRequests[1]?.signal.aborted).toBe(true);
    const next = auth.getAccessToken();
    expect(await requested()).toBe(3);
    await answer();
    expect((await next).value).toMatch(/^token-acme-/);
    expect(service.tokenRequests[2]?.signal.aborted).toBe(false);
  });

  test("when all callers abort before anything is sent, nothing is sent and no event is emitted", async () => {
    const { types, requested, leave } = await crowd();
    await leave(100);
    expect(await requested()).toBe(1);
    expect(types().filter((type) => type === "token_requested")).toHaveLength(1);
  });

  test("a background renewal continues when the caller that started it aborts", async () => {
    const { auth, service, answer, requested, untilExpiry } = answeredAuth(variant);
    await untilExpiry(10_000);
    const controller = new AbortController();
    expect((await auth.getAccessToken({ signal: controller.signal })).value).toBe("token-acme-1");
    expect(await requested()).toBe(2);
    controller.abort();
    await settle();
    expect(service.tokenRequests[1]?.signal.aborted).toBe(false);
    await answer();
    expect((await auth.getAccessToken()).value).toBe("token-acme-2");
  });

  test("a caller whose signal is already aborted gets its reason, and no request is sent", async () => {
    const { auth, requested } = answeredAuth(variant);
    const signal = AbortSignal.abort("gone");
    expect(await rejectionOf(auth.getAccessToken({ signal }))).toBe("gone");
    expect(await requested()).toBe(0);
  });

  test("all waiting callers get the same failure, and the next caller sends a new request", async () => {
    const { auth, answer, requested, callers } = await crowd();
    const failures = callers.map(rejectionOf);
    const cause = { code: "SELF_SIGNED_CERT_IN_CHAIN" };
    await answer(() => Object.assign(new TypeError("fetch failed"), { cause }));
    const [error, ...others] = new Set(await Promise.all(failures));
    expect(error).toMatchObject({ code: "tls_failed", retryable: false });
    expect(others).toEqual([]);
    const next = auth.getAccessToken();
    expect(await requested()).toBe(3);
    await answer();
    expect((await next).value).toBe("token-acme-2");
  });
});
