// Callers share one token request, and an abort ends only that caller's wait.
import { describe, expect, test } from "vitest";
import { createConnector, servicePlugin } from "../../src/index.js";
import { fakeService, type SeenTokenRequest } from "../lifecycle/fake-service.js";
import { recordedAuth, scriptedAuth } from "../support/auth.js";
import { steppedClock } from "../support/clock.js";
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
  const fetch = scriptedFetch(({ url, body }) =>
    tokenAnswer(`${url} ${body.length}`.replace(/\s/g, "+")),
  );
  const connector = createConnector({ credentials: [credentialOf("A")], fetch });
  const targets = ["https://a.example", "https://b.example", "https://a.example/p"].flatMap(
    (base) => ["acme", "globex"].map((tenant) => ({ baseUrl: base, tenantId: tenant })),
  );
  const services = await Promise.all(
    [...targets, ...targets].map((target) => connector.connect(target)),
  );
  const tokens = await Promise.all(services.map(({ auth }) => auth.getAccessToken()));
  expect(new Set(tokens.map(({ value }) => value)).size).toBe(targets.length);
  for (const [index, { value }] of tokens.entries()) {
    const target = targets[index % targets.length];
    expect(value.startsWith(`${target?.baseUrl}/api/v1/${target?.tenantId}/`)).toBe(true);
  }
  expect(fetch.calls).toHaveLength(targets.length);
});

describe("many concurrent callers", () => {
  function expiring(variant: "A" | "B") {
    const clock = steppedClock();
    const pending: SeenTokenRequest[] = [];
    const service = fakeService({
      variant,
      now: clock.now,
      onTokenRequest: (one) => pending.push(one),
    });
    const { credential, fetch } = service;
    const { auth, events } = recordedAuth({ credential, fetch, clock });
    const answerAll = () => {
      for (const one of pending.splice(0)) one.answer(service.token(one.tenantId));
    };
    const requested = async () => {
      await settle();
      return service.tokenRequests.length;
    };
    /** Gets a token and moves the clock to its expiry, or to an instant before. */
    const untilExpiry = async (beforeMs = 0) => {
      const first = auth.getAccessToken();
      await settle();
      answerAll();
      clock.advance((await first).expiresAt - clock.now() - beforeMs);
    };
    return { auth, clock, events, service, answerAll, requested, untilExpiry };
  }

  const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

  describe.each(["A", "B"] as const)("when a token of Variant %s expires", (variant) => {
    test("10 000 concurrent callers make one token request and get one token", async () => {
      const { auth, answerAll, requested, untilExpiry } = expiring(variant);
      await untilExpiry();
      const callers = numbers(10_000).map(() => auth.getAccessToken());
      expect(await requested()).toBe(2);
      answerAll();
      expect(new Set((await Promise.all(callers)).map(({ value }) => value))).toEqual(
        new Set(["token-acme-2"]),
      );
      expect(await requested()).toBe(2);
    });

    test.each([
      { name: "before the token request is sent", isSent: false },
      { name: "while the token request is under way", isSent: true },
    ])(
      "99 of 100 callers abort $name: one request, and the last one is served",
      async ({ isSent }) => {
        const { auth, service, answerAll, requested, untilExpiry } = expiring(variant);
        await untilExpiry();
        const controllers = numbers(100).map(() => new AbortController());
        const callers = controllers.map(({ signal }) => auth.getAccessToken({ signal }));
        const aborted = callers.slice(0, 99).map(rejectionOf);
        if (isSent) await requested();
        for (const [index, controller] of controllers.slice(0, 99).entries())
          controller.abort(`caller ${index}`);
        expect(await Promise.all(aborted)).toEqual(numbers(99).map((index) => `caller ${index}`));
        expect(await requested()).toBe(2);
        answerAll();
        expect((await callers[99])?.value).toBe("token-acme-2");
        expect(service.tokenRequests.map(({ signal }) => signal.aborted)).toEqual([false, false]);
      },
    );

    test("when all 100 callers abort, the request is aborted and the next caller sends another", async () => {
      const { auth, service, answerAll, requested, untilExpiry } = expiring(variant);
      await untilExpiry();
      const controllers = numbers(100).map(() => new AbortController());
      const aborted = controllers.map(({ signal }) => rejectionOf(auth.getAccessToken({ signal })));
      await requested();
      for (const controller of controllers) controller.abort("gone");
      expect(new Set(await Promise.all(aborted))).toEqual(new Set(["gone"]));
      expect(service.tokenRequests[1]?.signal.aborted).toBe(true);
      const next = auth.getAccessToken();
      expect(await requested()).toBe(3);
      answerAll();
      expect((await next).value).toMatch(/^token-acme-/);
      expect(service.tokenRequests[2]?.signal.aborted).toBe(false);
    });

    test("when all callers abort before anything is sent, nothing is sent and no event is emitted", async () => {
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

    test("a background renewal continues when the caller that started it aborts", async () => {
      const { auth, service, answerAll, requested, untilExpiry } = expiring(variant);
      await untilExpiry(10_000);
      const controller = new AbortController();
      expect((await auth.getAccessToken({ signal: controller.signal })).value).toBe("token-acme-1");
      expect(await requested()).toBe(2);
      controller.abort();
      await settle();
      expect(service.tokenRequests[1]?.signal.aborted).toBe(false);
      answerAll();
      await settle();
      expect((await auth.getAccessToken()).value).toBe("token-acme-2");
    });

    test("a caller whose signal is already aborted gets its reason, and no request is sent", async () => {
      const { auth, service } = expiring(variant);
      expect(await rejectionOf(auth.getAccessToken({ signal: AbortSignal.abort("gone") }))).toBe(
        "gone",
      );
      await settle();
      expect(service.tokenRequests).toHaveLength(0);
    });

    test("all waiting callers get the same failure, and the next caller sends a new request", async () => {
      const { auth, service, requested, untilExpiry, answerAll } = expiring(variant);
      await untilExpiry();
      const callers = numbers(100).map(() => rejectionOf(auth.getAccessToken()));
      await requested();
      service.tokenRequests[1]?.answer(
        Object.assign(new TypeError("fetch failed"), {
          cause: { code: "SELF_SIGNED_CERT_IN_CHAIN" },
        }),
      );
      const errors = new Set(await Promise.all(callers));
      expect(errors.size).toBe(1);
      expect([...errors][0]).toMatchObject({
        name: "TransportError",
        code: "tls_failed",
        retryable: false,
      });
      const next = auth.getAccessToken();
      expect(await requested()).toBe(3);
      service.tokenRequests[2]?.answer(service.token("acme"));
      answerAll();
      expect((await next).value).toBe("token-acme-2");
    });
  });
});
