// Emulators in one process share nothing, and equal seeds make equal emulators.
import { inspect } from "node:util";
import { Request as OthersRequest } from "undici";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createEmulator, type Emulator } from "../../src/emulator/index.js";
import { ada } from "./launched-plugin.js";
import { newPkce } from "./pkce.js";
import { ASSERTION_TYPE, PluginClient, pluginKey, START } from "./plugin-client.js";
import { CALLBACK } from "./portal.js";
import { compactJws, rs256 } from "./signing-key.js";

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

describe("equal instances", () => {
  interface Instance {
    readonly emulator: Emulator;
    readonly url: string;
  }

  const COUNT = 20;
  const BASE_URL = "https://customer.example";
  const TOKEN_PATH = "/api/v1/acme/external-plugin/oauth/token";
  const pkce = newPkce();
  const plugin = {
    tenantId: "acme",
    jwks: { keys: [pluginKey.publicJwk] },
    scopes: ["devices:read"],
  };
  let instances: readonly Instance[];
  let close: () => Promise<unknown>;

  beforeAll(async () => {
    const emulators = Array.from({ length: COUNT }, () =>
      createEmulator({
        publicUrl: BASE_URL,
        // With the same number they hand out the same tokens and codes.
        randomSeed: 7,
        seed: {
          clock: { at: START, frozen: true },
          plugins: [
            { ...plugin, clientId: "reporter", type: "service" },
            { ...plugin, clientId: "planner", type: "user_interface" },
          ],
          operators: [ada],
          apiClients: [{ clientId: "portal", redirectUris: [CALLBACK] }],
        },
      }),
    );
    const servers = await Promise.all(emulators.map((emulator) => emulator.listen()));
    instances = emulators.map((emulator, index) => ({ emulator, url: servers[index]?.url ?? "" }));
    close = () => Promise.all(servers.map((server) => server.close()));
  });
  afterAll(() => close());
  beforeEach(() => {
    for (const { emulator } of instances) emulator.reset();
  });

  type Ask = (one: Instance, index: number) => Promise<Response>;
  const statusesOf = async (ask: Ask): Promise<number[]> =>
    (await Promise.all(instances.map(ask))).map(({ status }) => status);
  const everywhere = (status: number): number[] => Array.from({ length: COUNT }, () => status);
  /** One status where `isSo`, the other elsewhere. */
  const where = (isSo: (index: number) => boolean, status: number, otherwise: number): number[] =>
    Array.from({ length: COUNT }, (_, index) => (isSo(index) ? status : otherwise));
  const isOdd = (index: number): boolean => index % 2 === 1;

  function formOf(clientId: string, jti: string, more: Record<string, string>): URLSearchParams {
    const iat = START / 1000;
    const claims = { iss: clientId, sub: clientId, aud: BASE_URL + TOKEN_PATH, jti, iat, exp: iat + 60 };
    return new URLSearchParams({
      client_id: clientId,
      client_assertion_type: ASSERTION_TYPE,
      client_assertion: compactJws({ alg: "RS256", kid: pluginKey.kid }, claims, rs256(pluginKey)),
      ...more,
    });
  }

  const serviceForm = (jti: string): URLSearchParams =>
    formOf("reporter", jti, { grant_type: "client_credentials" });
  const post =
    (form: URLSearchParams): Ask =>
    ({ url }) =>
      fetch(url + TOKEN_PATH, { method: "POST", body: form });
  const postJson =
    (fields: object): Ask =>
    ({ url }) => {
      const headers = { "content-type": "application/json" };
      return fetch(`${url}/v1/auth/token`, { method: "POST", headers, body: JSON.stringify(fields) });
    };
  const call =
    (token: string, path = "/api/v1/acme/devices"): Ask =>
    ({ url }) =>
      fetch(url + path, { headers: { authorization: `Bearer ${token}` } });

  /** What all of them answer alike. */
  async function sameAnswer(ask: Ask): Promise<Record<string, string>> {
    const texts = await Promise.all(instances.map(async (one, index) => (await ask(one, index)).text()));
    expect(new Set(texts).size).toBe(1);
    return JSON.parse(texts[0] ?? "") as Record<string, string>;
  }

  /** The one value that each of them gave. */
  function sameValue(ask: (emulator: Emulator) => string): string {
    const values = new Set(instances.map(({ emulator }) => ask(emulator)));
    expect(values.size).toBe(1);
    return [...values][0] ?? "";
  }

  test("one assertion is good once in each", async () => {
    const form = serviceForm("one");
    await sameAnswer(post(form));
    expect(await statusesOf(post(form))).toEqual(everywhere(400));
    expect(instances.map(({ emulator }) => emulator.customerLog.entries().length)).toEqual(everywhere(1));
    expect(instances.map(({ emulator }) => emulator.journal.tokenRequests().length)).toEqual(everywhere(2));
  });

  test("one launch code is good once in each, and where it was spent before not at all", async () => {
    const launch = { tenantId: "acme", clientId: "planner", userId: "ada" };
    const code = sameValue((emulator) => emulator.launch(launch).authorize(pkce).code);
    const fields = { grant_type: "authorization_code", code, code_verifier: pkce.codeVerifier };
    await Promise.all(instances.filter((_, index) => isOdd(index)).map(post(new URLSearchParams(fields))));
    const exchange = post(formOf("planner", "two", fields));
    expect(await statusesOf(exchange)).toEqual(where(isOdd, 400, 200));
  });

  test("one login code and one refresh token are good once in each; a reuse in one ends the login there alone", async () => {
    const query = new URLSearchParams({
      response_type: "code",
      client_id: "portal",
      redirect_uri: CALLBACK,
      code_challenge: pkce.codeChallenge,
      code_challenge_method: "S256",
    });
    const url = `${BASE_URL}/v1/auth/authorize?${query}`;
    const code = sameValue(
      (emulator) =>
        new URL(emulator.login({ url, userId: "ada" }).callbackUrl).searchParams.get("code") ?? "",
    );
    const exchange = { code, code_verifier: pkce.codeVerifier, client_id: "portal", redirect_uri: CALLBACK };
    const { refresh_token } = await sameAnswer(postJson(exchange));
    const refresh = postJson({ grant_type: "refresh_token", refresh_token, client_id: "portal" });
    const { access_token = "" } = await sameAnswer(refresh);
    await Promise.all(instances.map((one, index) => (isOdd(index) ? refresh(one, index) : undefined)));
    expect(await statusesOf(call(access_token, "/v1/devices"))).toEqual(where(isOdd, 401, 200));
  });

  test("each has its own clock", async () => {
    const { access_token = "" } = await sameAnswer(post(serviceForm("three")));
    instances.forEach(({ emulator }, index) => {
      emulator.clock.advance(index * 360_000);
    });
    expect(await statusesOf(call(access_token))).toEqual(where((index) => index >= 10, 401, 200));
    const dates = await Promise.all(instances.map(async (one) => (await fetch(one.url)).headers.get("date")));
    expect(dates).toEqual(instances.map((_, index) => new Date(START + index * 360_000).toUTCString()));
  });

  test("each has its own faults, rules and registrations", async () => {
    const form = serviceForm("four");
    const { access_token = "" } = await sameAnswer(post(form));
    instances.forEach(({ emulator }, index) => {
      if (isOdd(index)) emulator.faults.add({ name: "status", status: 503, at: "resource" });
      emulator.rules.enforce("assertion.replay", index % 3 > 0);
      if (index === 0) emulator.updatePlugin({ tenantId: "acme", clientId: "reporter", scopes: [] });
    });
    expect(await statusesOf(post(form))).toEqual(where((index) => index % 3 > 0, 400, 200));
    const statuses = where(isOdd, 503, 200);
    expect(await statusesOf(call(access_token))).toEqual([403, ...statuses.slice(1)]);
    expect(await statusesOf(call(access_token))).toEqual([403, ...everywhere(200).slice(1)]);
  });

  test("a reset of one is none of another", async () => {
    const { access_token = "" } = await sameAnswer(post(serviceForm("five")));
    instances.forEach(({ emulator }, index) => {
      if (isOdd(index)) emulator.reset();
    });
    expect(await statusesOf(call(access_token))).toEqual(where(isOdd, 401, 200));
  });
});
