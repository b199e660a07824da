/** What a hostile reader broke once: each row failed before it was mended. */
import { describe, expect, test } from "vitest";
import { connect, createAuth, createService, serviceAccount, type TokenStore } from "../../src/index.js";
import { isUnderBase } from "../../src/variants/target.js";
import { rejectionOf } from "../support/wait.js";

const account = serviceAccount({ clientId: "reports", clientSecret: "planted-client-secret" });
const baseUrl = "https://service.example";

describe("waits that somebody must end", () => {
  test("connect ends with the signal's reason while settings are being read", async () => {
    const controller = new AbortController();
    const silent = serviceAccount(() => new Promise(() => {}));
    const connecting = connect({
      baseUrl,
      tenantId: "acme",
      credentials: [silent],
      signal: controller.signal,
    });
    controller.abort("enough");
    expect(await rejectionOf(connecting)).toBe("enough");
  });

  test("a store that never answers is told as failed, and the token comes all the same", async () => {
    const told: string[] = [];
    const silence = () => new Promise<never>(() => {});
    const store: TokenStore = { get: silence, set: silence, delete: silence, lock: silence };
    const auth = createAuth({
      baseUrl,
      tenantId: "acme",
      credential: account,
      store,
      timeoutMs: 20,
      fetch: async () => Response.json({ access_token: "token" }),
      onEvent: ({ type }) => void told.push(type),
    });
    expect((await auth.getAccessToken()).value).toBe("token");
    expect(told).toContain("store_failed");
  });
});

describe("a renewal in the background", () => {
  test.each([{ status: 429 }, { status: 503 }])(
    "meets a $status with one attempt and leaves no timer",
    async ({ status }) => {
      let now = 1_000_000_000_000;
      let requests = 0;
      const fetch = async () =>
        requests++ === 0
          ? Response.json({ access_token: "token", expires_in: 100 })
          : new Response("{}", { status });
      const ended: Promise<unknown>[] = [];
      const waitUntil = (promise: Promise<unknown>) => void ended.push(promise);
      const auth = createAuth({
        baseUrl,
        tenantId: "acme",
        credential: account,
        fetch,
        now: () => now,
        waitUntil,
      });
      const first = await auth.getAccessToken();
      now += 95_000;
      expect(await auth.getAccessToken()).toBe(first);
      await Promise.all(ended);
      expect(requests).toBe(2);
      expect(
        process.getActiveResourcesInfo().filter((name) => name === "Timeout").length,
      ).toBeLessThanOrEqual(1);
    },
  );
});

describe("a token that an error quotes", () => {
  test.each([
    {
      name: "in error_description",
      status: 200,
      body: { error: "x", error_description: "issued planted-token", access_token: "planted-token" },
    },
    { name: "as a field's name", status: 400, body: { "planted-token-1": "x" } },
  ])("is in no message: $name", async ({ status, body }) => {
    const fetch = async () => Response.json(body, { status });
    const auth = createAuth({ baseUrl, tenantId: "acme", credential: account, fetch });
    const error = (await rejectionOf(auth.getAccessToken())) as Error;
    expect(`${error.message} ${JSON.stringify(error)}`).not.toContain("planted");
  });
});

describe("the prefix of the base URL", () => {
  test.each(["/pre/..;/x", "/pre/%2e%2e;/x", "/pre/..%3b/x", "/pre/%252e%252e%252fx", "/pre/..%255cx"])(
    "is not left by %s on a server that folds it",
    (path) => {
      expect(isUnderBase(new URL(`https://service.example${path}`), "https://service.example/pre")).toBe(
        false,
      );
    },
  );

  test("a path with a semicolon or an encoded slash alone stays inside", () => {
    for (const path of ["/pre/a;v=1/x", "/pre/a%2fb"])
      expect(isUnderBase(new URL(`https://service.example${path}`), "https://service.example/pre")).toBe(
        true,
      );
  });
});

test("an undefined signal, header or envelope is as good as none, to the compiler too", async () => {
  const fetch = async (url: string) =>
    url.endsWith("/token") ? Response.json({ access_token: "token" }) : Response.json([]);
  const service = createService(createAuth({ baseUrl, tenantId: "acme", credential: account, fetch }));
  const nothing = undefined as AbortSignal | undefined;
  const outcome = await service.call("listDevices", {
    signal: nothing,
    headers: undefined,
    envelope: undefined,
  });
  expect(outcome.ok).toBe(true);
});
