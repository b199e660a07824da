// Emulators in one process share nothing, and equal seeds make equal emulators.
import { inspect } from "node:util";
import { Request as OthersRequest } from "undici";
import { describe, expect, test } from "vitest";
import { createEmulator } from "../../src/emulator/index.js";
import { PluginClient, START } from "./plugin-client.js";

describe("isolation", () => {
  test("20 instances side by side share no plugin, token, jti, rate window, log or journal", async () => {
    const limited = { rateLimit: { requests: 2, windowSeconds: 60 } };
    const plugins = Array.from({ length: 20 }, () => new PluginClient(limited));
    const form = plugins[0]?.form() ?? "";
    const tokens: string[] = [];
    for (const plugin of plugins) {
      // The same assertion: every instance sees it for the first time.
      const response = await plugin.post(form);
      expect(response.status).toBe(200);
      tokens.push(((await response.json()) as { access_token: string }).access_token);
    }
    for (const [index, plugin] of plugins.entries()) {
      for (const [owner, token] of tokens.entries()) {
        expect((await plugin.call(token)).status).toBe(owner === index ? 200 : 401);
      }
      expect(plugin.emulator.journal.tokenRequests()).toHaveLength(1);
      expect(plugin.emulator.customerLog.entries()).toHaveLength(19);
    }
    plugins[0]?.emulator.updatePlugin({ clientId: "reporter", tenantId: "acme", enabled: false });
    expect((await plugins[1]?.requestToken())?.status).toBe(200);
    expect((await createEmulator().fetch("/v1/devices")).status).toBe(401);
  });

  test("no secret, assertion or token is found in the log, the journal or the instance", async () => {
    const plugin = new PluginClient();
    const { emulator } = plugin;
    const secret = "canary-secret-0123456789";
    emulator.registerServiceAccount({ clientId: "worker", clientSecret: secret, tenantId: "acme" });
    const json = { "content-type": "application/json" };
    const postJson = (fields: object) =>
      emulator.fetch("/v1/auth/token", { method: "POST", headers: json, body: JSON.stringify(fields) });
    const grant = { grant_type: "client_credentials", client_id: "worker", client_secret: secret };

    const form = plugin.form();
    const assertion = form.get("client_assertion") ?? "";
    const tokenA = ((await (await plugin.post(form)).json()) as { access_token: string }).access_token;
    const tokenB = ((await (await postJson(grant)).json()) as { access_token: string }).access_token;
    await plugin.post(form);
    // Credentials where they do not belong: in every field that a refusal quotes, in the path and in the query.
    const fields = ["grant_type", "client_assertion_type", "client_id", "client_assertion"];
    for (const name of fields) await plugin.requestToken({ form: { [name]: assertion } });
    for (const claim of ["iss", "aud", "jti", "iat"])
      await plugin.requestToken({ claims: { [claim]: assertion } });
    for (const header of ["kid", "alg", "crit"])
      await plugin.requestToken({ header: { [header]: assertion } });
    await postJson({ ...grant, client_secret: `${secret}x` });
    await postJson({ ...grant, client_id: assertion });
    await postJson({ ...grant, client_id: secret, client_secret: "worker" });
    await postJson({ ...grant, grant_type: assertion });
    for (const credential of [assertion, tokenA, tokenB]) {
      await plugin.call(tokenA, `/api/v1/acme/devices/${credential}?t=${credential}`);
      await plugin.call(tokenB, `/v1/${credential}`);
      await plugin.call(`${credential}x`);
      await emulator.fetch(`/v1/devices?access_token=${credential}`, {
        headers: { authorization: `Basic ${secret}` },
      });
    }

    const everything = [
      JSON.stringify(emulator.customerLog.entries()),
      JSON.stringify(emulator.journal.entries()),
      JSON.stringify(emulator),
      inspect(emulator, { depth: 20, showHidden: true }),
    ].join("\n");
    expect(emulator.customerLog.entries().length).toBeGreaterThan(15);
    const [header, claims, signature] = assertion.split(".");
    for (const canary of [secret, tokenA, tokenB, assertion, header, claims, signature]) {
      expect(everything.includes(canary ?? "")).toBe(false);
    }
  });

  describe("the journal", () => {
    test("has every request in order, redacted, and tells token requests by tenant, variant and status", async () => {
      const plugin = new PluginClient();
      const token = await plugin.accessToken();
      plugin.now += 1000;
      await plugin.requestToken({ tenantId: "globex" });
      await plugin.call(token, "/api/v1/acme/devices?page=1");
      await plugin.emulator.fetch("/nowhere");
      await plugin.emulator.fetch(plugin.tokenUrl());
      const at = plugin.now;
      const requestToken = { variant: "A", endpoint: "token", operation: "requestToken" };
      const asked = { ...requestToken, grant: "client_credentials" };
      const path = "/api/v1/acme/external-plugin/oauth/token";
      const reporter = { tenantId: "acme", clientId: "reporter" };
      const { journal } = plugin.emulator;
      expect(journal.entries()).toEqual([
        { id: 1, at: at - 1000, method: "POST", path, status: 200, ...asked, ...reporter },
        {
          id: 2,
          at,
          method: "POST",
          path: path.replace("acme", "globex"),
          status: 400,
          ...asked,
          tenantId: "globex",
          rule: "plugin.registered",
        },
        {
          id: 3,
          at,
          method: "GET",
          path: "/api/v1/acme/devices",
          status: 200,
          variant: "A",
          endpoint: "api",
          operation: "listDevices",
          ...reporter,
        },
        { id: 4, at, method: "GET", path: "/nowhere", status: 404 },
        { id: 5, at, method: "GET", path, status: 405, rule: "token-request.method" },
      ]);
      expect(journal.tokenRequests()).toHaveLength(2);
      expect(journal.tokenRequests({ tenantId: "acme" })).toHaveLength(1);
      expect(journal.tokenRequests({ variant: "B" })).toHaveLength(0);
      expect(journal.entries({ status: 404 })).toHaveLength(1);
      journal.clear();
      expect(journal.entries()).toEqual([]);
    });

    test("and the customer's log stay within their bounds", async () => {
      const { emulator } = new PluginClient();
      for (let i = 0; i < 2500; i++) await emulator.fetch("/v1/devices");
      expect(emulator.journal.entries()).toHaveLength(2500);
      expect(emulator.customerLog.entries()).toHaveLength(1000);
      for (let i = 0; i < 8000; i++) await emulator.fetch("/");
      expect(emulator.journal.entries()).toHaveLength(10_000);
    });
  });

  describe("fetch", () => {
    const othersRequest = new OthersRequest("https://any.example/v1/devices") as unknown as Request;
    const inputs: { name: string; input: Request | string | URL; init?: RequestInit }[] = [
      { name: "a string", input: "http://any.example/v1/devices" },
      { name: "a relative string", input: "/v1/devices" },
      { name: "a URL", input: new URL("https://any.example/v1/devices") },
      { name: "a Request", input: new Request("https://any.example/v1/devices") },
      { name: "a URL of another realm", input: { toString: () => "http://any.example/v1/devices" } as URL },
      { name: "a Request of another copy of fetch", input: othersRequest },
      { name: "the same with init", input: othersRequest, init: { method: "GET" } },
      {
        name: "a Request with init",
        input: new Request("https://any.example/v1/devices"),
        init: { method: "GET" },
      },
    ];
    test.each(inputs)("takes $name", async ({ input, init }) => {
      expect((await createEmulator().fetch(input, init)).status).toBe(401);
    });

    test("reads the body of a Request of another copy of fetch, with init and without", async () => {
      const { emulator } = new PluginClient();
      emulator.registerServiceAccount({ clientId: "worker", clientSecret: "s", tenantId: "acme" });
      const fields = { grant_type: "client_credentials", client_id: "worker", client_secret: "s" };
      const headers = { "content-type": "application/json" };
      for (const init of [undefined, {}, { headers }]) {
        const request = new OthersRequest("https://any.example/v1/auth/token", {
          method: "POST",
          headers,
          body: JSON.stringify(fields),
        });
        expect((await emulator.fetch(request as unknown as Request, init)).status).toBe(200);
      }
    });

    test("works detached from its object", async () => {
      const { fetch } = createEmulator();
      expect((await fetch("/v1/devices")).status).toBe(401);
    });

    test("rejects with the signal's reason when aborted, before or meanwhile", async () => {
      const plugin = new PluginClient();
      const reason = new Error("enough");
      await expect(plugin.emulator.fetch("/", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      const controller = new AbortController();
      const init = { method: "POST", body: plugin.form(), signal: controller.signal };
      const pending = plugin.emulator.fetch(plugin.tokenUrl(), init);
      controller.abort(reason);
      await expect(pending).rejects.toBe(reason);
    });

    test("rejects with the signal's reason even if a declared route never answers", async () => {
      const respond = () => new Promise(() => {});
      const plugin = new PluginClient({
        routes: [{ operationId: "never", method: "GET", path: "/api/v1/{tenantId}/never", respond }],
      });
      const controller = new AbortController();
      const pending = plugin.call(await plugin.accessToken(), "/api/v1/acme/never", {
        signal: controller.signal,
      });
      controller.abort(new Error("enough"));
      await expect(pending).rejects.toThrow("enough");
    });

    test("rejects a Request whose body was read", async () => {
      const request = new Request("http://h.example/v1/auth/token", { method: "POST", body: "{}" });
      await request.text();
      await expect(createEmulator().fetch(request)).rejects.toThrow(TypeError);
    });
  });
});

describe("two emulators with the same seed and random seed", () => {
  const reporter = { tenantId: "acme", clientId: "reporter" };
  const options = { randomSeed: 7, seed: { clock: { at: START, frozen: true } } };

  function pair(): readonly [PluginClient, PluginClient] {
    return [new PluginClient(options), new PluginClient(options)];
  }

  test("accept the same assertion once each, and issue the same token", async () => {
    const [one, other] = pair();
    const form = one.form();
    const [first, second] = [await one.post(form), await other.post(form)];
    expect(await first.json()).toEqual(await second.json());
    for (const { status } of [await one.post(form), await other.post(form)]) expect(status).toBe(400);
    expect(one.emulator.journal.tokenRequests()).toHaveLength(2);
    expect(one.emulator.customerLog.entries()).toHaveLength(1);
  });

  test("have clocks, faults, rules, registrations and resets of their own", async () => {
    const [one, other] = pair();
    const form = one.form();
    const token = ((await (await one.post(form)).json()) as { access_token: string }).access_token;
    expect((await other.post(form)).status).toBe(200);
    one.emulator.rules.enforce("assertion.replay", false);
    expect([(await one.post(form)).status, (await other.post(form)).status]).toEqual([200, 400]);
    one.emulator.faults.add({ name: "status", status: 503, at: "resource" });
    expect([(await one.call(token)).status, (await other.call(token)).status]).toEqual([503, 200]);
    one.emulator.updatePlugin({ ...reporter, scopes: [] });
    expect([(await one.call(token)).status, (await other.call(token)).status]).toEqual([403, 200]);
    one.emulator.clock.advance(3_600_000);
    expect([(await one.call(token)).status, (await other.call(token)).status]).toEqual([401, 200]);
    one.emulator.reset();
    expect((await other.call(token)).status).toBe(200);
  });
});
