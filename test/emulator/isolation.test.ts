// Emulators in one process share nothing, and fetch behaves like the platform's.
import { Request as OthersRequest } from "undici";
import { describe, expect, test } from "vitest";
import { createEmulator, type Emulator } from "../../src/emulator/index.js";
import { CustomerLog } from "../../src/emulator/records/customer-log.js";
import { Journal } from "../../src/emulator/records/journal.js";
import { accessTokenIn, PluginClient, reporter, requestAccountToken, START } from "./deployment.js";

test("two emulators with the same random seed issue the same token, and share no state", async () => {
  const rateLimit = { requests: 3, windowSeconds: 60 };
  const options = { randomSeed: 7, rateLimit, seed: { clock: { at: START, frozen: true } } };
  const [one, other] = [new PluginClient(options), new PluginClient(options)];
  const form = one.form();
  const token = await accessTokenIn(one.postForm(form));
  expect(await accessTokenIn(other.postForm(form))).toBe(token);
  const calls = async () => [(await one.call(token)).status, (await other.call(token)).status];
  one.emulator.rules.enforce("assertion.replay", false);
  expect([(await one.postForm(form)).status, (await other.postForm(form)).status]).toEqual([
    200, 400,
  ]);
  expect([(await one.requestToken()).status, (await one.requestToken()).status]).toEqual([
    200, 429,
  ]);
  expect([one, other].map(({ emulator }) => emulator.journal.tokenRequests().length)).toEqual([
    4, 2,
  ]);
  expect([one.lastRule(), other.lastRule()]).toEqual([
    "token-request.rate-limit",
    "assertion.replay",
  ]);
  one.emulator.faults.add({ name: "status", status: 503, at: "resource" });
  expect(await calls()).toEqual([503, 200]);
  one.emulator.updatePlugin({ ...reporter, scopes: [] });
  expect(await calls()).toEqual([403, 200]);
  one.emulator.clock.advance(3_600_000);
  expect(await calls()).toEqual([401, 200]);
  one.emulator.reset();
  expect((await other.call(token)).status).toBe(200);
});

test("the journal keeps 10,000 entries, and the customer log 1000", () => {
  const journal = new Journal();
  const request = new Request("http://h.example/v1/devices");
  for (let i = 0; i < 20_500; i++) journal.record(START, request, 200, journal.arrived());
  expect(journal.entries()).toHaveLength(10_000);
  expect(journal.last()?.id).toBe(20_500);
  const log = new CustomerLog(() => START);
  const refusal = { rule: "bearer.present", expected: "a bearer", actual: "absent" } as const;
  for (let i = 0; i < 2500; i++) log.record({}, refusal);
  expect(log.entries()).toHaveLength(1000);
});

describe("fetch", () => {
  const url = "https://any.example/v1/devices";
  const othersRequest = new OthersRequest(url) as unknown as Request;
  const init = { method: "GET" };
  test.each<{ name: string; sent: Parameters<Emulator["fetch"]> }>([
    { name: "a string", sent: [url] },
    { name: "a relative string", sent: ["/v1/devices"] },
    { name: "a URL", sent: [new URL(url)] },
    { name: "a URL of another realm", sent: [{ toString: () => url } as URL] },
    { name: "a Request with init", sent: [new Request(url), init] },
    { name: "a Request of another copy of fetch", sent: [othersRequest] },
    { name: "a Request of another copy of fetch with init", sent: [othersRequest, init] },
  ])("takes $name, also detached from its object", async ({ sent }) => {
    const { fetch } = createEmulator();
    expect((await fetch(...sent)).status).toBe(401);
  });

  test("reads the body of a Request from another copy of fetch, with and without init", async () => {
    const { emulator } = new PluginClient();
    emulator.registerServiceAccount({ clientId: "worker", clientSecret: "s", tenantId: "acme" });
    const fields = { grant_type: "client_credentials", client_id: "worker", client_secret: "s" };
    const headers = { "content-type": "application/json" };
    for (const more of [undefined, {}, { headers }]) {
      const init = { method: "POST", headers, body: JSON.stringify(fields) };
      const request = new OthersRequest("https://any.example/v1/auth/token", init);
      expect((await emulator.fetch(request as unknown as Request, more)).status).toBe(200);
    }
  });

  test("rejects with the signal's reason before a request, during it, and if no answer comes", async () => {
    const route = { operationId: "never", method: "GET", path: "/v1/never" } as const;
    const respond = () => new Promise(() => {});
    const { emulator } = new PluginClient({ routes: [{ ...route, respond }] });
    const account = { clientId: "worker", clientSecret: "s", tenantId: "acme" };
    emulator.registerServiceAccount(account);
    const authorization = `Bearer ${await accessTokenIn(requestAccountToken(emulator, account))}`;
    const reason = new Error("enough");
    const early = emulator.fetch("/", { signal: AbortSignal.abort(reason) });
    await expect(early).rejects.toBe(reason);
    const controller = new AbortController();
    const { signal } = controller;
    const during = emulator.fetch("/v1/auth/token", { method: "POST", body: "{}", signal });
    const never = emulator.fetch("/v1/never", { headers: { authorization }, signal });
    controller.abort(reason);
    await expect(during).rejects.toBe(reason);
    await expect(never).rejects.toBe(reason);
  });

  test.each(["__proto__", "constructor"])(
    "answers the method %s with 405, and changes no object",
    async (method) => {
      const ambiguous = { operationId: "any", method: "GET", path: "/v1/{list}/newest" } as const;
      const { fetch, journal } = createEmulator({ routes: [ambiguous] });
      expect((await fetch("/v1/devices", { method })).status).toBe(405);
      expect(journal.last()?.method).toBe(method);
      expect(["params" in Object.prototype, "params" in Object]).toEqual([false, false]);
    },
  );

  test("rejects a Request whose body was read", async () => {
    const request = new Request("http://h.example/v1/auth/token", { method: "POST", body: "{}" });
    await request.text();
    await expect(createEmulator().fetch(request)).rejects.toThrow(TypeError);
  });
});
