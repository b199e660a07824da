// What a call sends: the method, the address, the bearer, and the body in the one media type the operation takes.
import { describe, expect, test } from "vitest";
import { createAuth, createService, type ServiceEvent } from "../../src/index.js";
import { HELD_LIMIT_MS, heldTimeLimit, steppedClock } from "../support/clock.js";
import { credentialOf, deployment, PLUGIN_ID } from "../support/deployment.js";
import { type FetchScript, noAnswer, scriptedFetch } from "../support/fetch.js";
import { numberedAuth } from "../support/numbered-auth.js";
import { rejectionOf } from "../support/wait.js";

const baseUrl = "https://service.example/prefix";
const ok = () => Response.json({});

describe.each([
  { variant: "A" as const, url: `${baseUrl}/api/v1/acme/devices` },
  { variant: "B" as const, url: `${baseUrl}/v1/devices` },
])("Variant $variant", ({ variant, url }) => {
  test("listDevices: GET, the bearer, no body, fetch called with a string and a RequestInit", async () => {
    const fetch = scriptedFetch(ok);
    const service = createService(numberedAuth({ variant, now: Date.now }), { fetch });
    await service.call("listDevices");
    const [sent] = fetch.calls;
    expect(sent).toMatchObject({ url, method: "GET", body: "" });
    expect(sent?.headers.get("authorization")).toBe("Bearer token-1");
    expect(sent?.headers.has("content-type")).toBe(false);
    expect(sent?.headers.has("x-envelope")).toBe(false);
    expect(sent?.init.redirect).toBe("manual");
    expect(typeof sent?.url).toBe("string");
  });

  test("envelope sends X-Envelope", async () => {
    const fetch = scriptedFetch(ok);
    const service = createService(numberedAuth({ variant, now: Date.now }), { fetch });
    await service.call("listDevices", { envelope: "wrapped" });
    expect(fetch.calls[0]?.headers.get("x-envelope")).toBe("wrapped");
  });

  test("a global fetch that is replaced later is used", async () => {
    const before = globalThis.fetch;
    const service = createService(numberedAuth({ variant, now: Date.now }));
    const replaced = scriptedFetch(ok);
    globalThis.fetch = replaced as typeof fetch;
    try {
      await service.call("listDevices");
    } finally {
      globalThis.fetch = before;
    }
    expect(replaced.calls).toHaveLength(1);
  });
});

describe("an anonymous operation", () => {
  test("that takes a form is sent a form, without a bearer and without asking for one", async () => {
    const emulator = deployment({ variants: ["A"] });
    const fetch = scriptedFetch(({ url, init }) => emulator.fetch(url, init));
    const noToken = scriptedFetch(() => new Response(null, { status: 500 }));
    const options = { baseUrl: "http://service.localhost", tenantId: "acme", fetch: noToken };
    const service = createService(createAuth({ ...options, credential: credentialOf("A") as never }), {
      fetch,
    });
    const result = await (service.call as (id: string, init: object) => Promise<unknown>)("requestToken", {
      body: { grant_type: "refresh_token", client_id: PLUGIN_ID, extra: 7, none: undefined },
    });
    expect(result).toMatchObject({ ok: false, status: 400, error: { code: "api_refused" } });
    expect((result as { error: { body: unknown } }).error.body).toMatchObject({
      error: "unsupported_grant_type",
    });
    const [sent] = fetch.calls;
    expect(sent?.headers.get("content-type")).toBe("application/x-www-form-urlencoded");
    expect(sent?.body).toBe(`grant_type=refresh_token&client_id=${PLUGIN_ID}&extra=7`);
    expect(sent?.headers.has("authorization")).toBe(false);
    expect(noToken.calls).toHaveLength(0);
  });

  test("that takes JSON is sent JSON", async () => {
    const fetch = scriptedFetch(() => Response.json({ access_token: "t" }));
    const service = createService(numberedAuth({ variant: "B", now: Date.now }), { fetch });
    await (service.call as (id: string, init: object) => Promise<unknown>)("requestToken", {
      body: { grant_type: "client_credentials", client_id: "x" },
    });
    const [sent] = fetch.calls;
    expect(sent?.headers.get("content-type")).toBe("application/json");
    expect(JSON.parse(sent?.body ?? "")).toEqual({ grant_type: "client_credentials", client_id: "x" });
    expect(sent?.headers.has("authorization")).toBe(false);
  });

  test.each([{ body: 7 }, { body: null }])(
    "that takes a form refuses $body as its body",
    async ({ body }) => {
      const fetch = scriptedFetch(ok);
      const service = createService(numberedAuth({ variant: "A", now: Date.now }), { fetch });
      const call = service.call as (id: string, init: object) => Promise<unknown>;
      expect(await rejectionOf(call("requestToken", { body }))).toMatchObject({
        code: "option_invalid",
        option: "body",
      });
      expect(fetch.calls).toHaveLength(0);
    },
  );
});

describe("time and abort", () => {
  test("an abort ends a call with the signal's reason, and the request", async () => {
    const controller = new AbortController();
    const reason = { why: "the user left" };
    const fetch = scriptedFetch((call) => {
      queueMicrotask(() => controller.abort(reason));
      return noAnswer(call);
    });
    const service = createService(numberedAuth({ variant: "B", now: Date.now }), { fetch });
    expect(await rejectionOf(service.call("listDevices", { signal: controller.signal }))).toBe(reason);
    expect(fetch.calls[0]?.init.signal?.aborted).toBe(true);
  });

  test("a signal that is aborted already sends nothing", async () => {
    const fetch = scriptedFetch(ok);
    const service = createService(numberedAuth({ variant: "B", now: Date.now }), { fetch });
    expect(await rejectionOf(service.call("listDevices", { signal: AbortSignal.abort("no") }))).toBe("no");
    expect(fetch.calls).toHaveLength(0);
  });

  test("a fetch that is deaf to its signal is left behind", async () => {
    const controller = new AbortController();
    const fetch = scriptedFetch(() => {
      queueMicrotask(() => controller.abort("gone"));
      return new Promise<Response>(() => {});
    });
    const service = createService(numberedAuth({ variant: "B", now: Date.now }), { fetch });
    expect(await rejectionOf(service.call("listDevices", { signal: controller.signal }))).toBe("gone");
  });

  const slow: { name: string; answer: (expire: () => void) => FetchScript }[] = [
    {
      name: "a silent server",
      answer: (expire) => (call) => {
        setImmediate(expire);
        return noAnswer(call);
      },
    },
    {
      name: "a slow drip",
      answer: (expire) => () => {
        let drops = 0;
        const body = new ReadableStream({
          async pull(stream) {
            await new Promise((resolve) => setImmediate(resolve));
            stream.enqueue(new Uint8Array([32]));
            if (++drops === 10) expire();
          },
        });
        return new Response(body);
      },
    },
  ];
  test.each(slow)("$name is timed_out after timeoutMs", async ({ answer }) => {
    const fetch = scriptedFetch(answer(heldTimeLimit().expire));
    const auth = numberedAuth({ variant: "B", now: Date.now });
    const service = createService(auth, { fetch, timeoutMs: HELD_LIMIT_MS });
    const error = await rejectionOf(service.call("listDevices"));
    expect(error).toMatchObject({ name: "TransportError", code: "timed_out", retryable: true, variant: "B" });
  });

  test("timeoutMs is for one request: the wait for a token has a limit of its own", async () => {
    const { expire } = heldTimeLimit();
    const fetch = scriptedFetch(ok);
    const auth = numberedAuth({ variant: "B", now: Date.now });
    const patient = {
      ...auth,
      getAccessToken: async () => {
        // Were a limit set already, it would be over before the token is there.
        expire();
        await new Promise((resolve) => setImmediate(resolve));
        return auth.getAccessToken();
      },
    };
    const service = createService(patient, { fetch, timeoutMs: HELD_LIMIT_MS });
    expect(await service.call("listDevices")).toMatchObject({ ok: true });
  });

  test("a network fault rejects, and tells nothing of the request", async () => {
    const fetch = scriptedFetch(({ init }) => {
      throw Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED", request: init } });
    });
    const service = createService(numberedAuth({ variant: "B", now: Date.now }), { fetch });
    const error = await rejectionOf(service.call("listDevices"));
    expect(error).toMatchObject({ code: "network_failed", retryable: true });
    expect((error as Error).message).toContain("ECONNREFUSED");
  });

  const tls = [
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    "CERT_HAS_EXPIRED",
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "ERR_SSL_WRONG_VERSION_NUMBER",
  ];
  test.each(tls)("%s is tls_failed, which no retry mends", async (code) => {
    const fetch = scriptedFetch(() => {
      throw Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error(), { code }) });
    });
    const service = createService(numberedAuth({ variant: "A", now: Date.now }), { fetch });
    expect(await rejectionOf(service.call("listDevices"))).toMatchObject({
      code: "tls_failed",
      retryable: false,
    });
  });
});

describe.each([{ variant: "A" as const }, { variant: "B" as const }])(
  "a 401, Variant $variant",
  ({ variant }) => {
    const refusing = (until: number) => (_call: unknown, index: number) =>
      index < until ? new Response("", { status: 401 }) : Response.json([]);

    function service(until: number, ageMs: number) {
      const clock = steppedClock();
      const events: ServiceEvent[] = [];
      const fetch = scriptedFetch(refusing(until));
      const auth = numberedAuth({ variant, now: clock.now });
      const options = { fetch, now: clock.now, onEvent: (event: ServiceEvent) => void events.push(event) };
      const made = createService(auth, options);
      const aged = auth.getAccessToken().then(() => clock.advance(ageMs));
      const bearers = () => fetch.calls.map(({ headers }) => headers.get("authorization"));
      return { service: made, aged, auth, fetch, events, bearers };
    }

    test("on a token older than 30 s: invalidated, renewed, and the call sent again once", async () => {
      const { service: made, aged, auth, bearers, events } = service(1, 30_001);
      await aged;
      expect(await made.call("listDevices")).toMatchObject({ ok: true });
      expect(auth.invalidated).toEqual(["token-1"]);
      expect(bearers()).toEqual(["Bearer token-1", "Bearer token-2"]);
      expect(events.map(({ type }) => type)).toEqual(["call_replayed"]);
    });

    test("on a token of 30 s or less: the answer, for the route refuses it", async () => {
      const { service: made, aged, auth, bearers } = service(1, 30_000);
      await aged;
      expect(await made.call("listDevices")).toMatchObject({
        ok: false,
        error: { code: "api_unauthorized" },
      });
      expect(auth.invalidated).toEqual([]);
      expect(bearers()).toEqual(["Bearer token-1"]);
    });

    test("a second one keeps the new token: renewing would storm the token endpoint", async () => {
      const { service: made, aged, auth, bearers } = service(9, 60_000);
      await aged;
      expect(await made.call("listDevices")).toMatchObject({ ok: false, status: 401 });
      expect(await made.call("listDevices")).toMatchObject({ ok: false, status: 401 });
      expect(auth.invalidated).toEqual(["token-1"]);
      expect(bearers()).toEqual(["Bearer token-1", "Bearer token-2", "Bearer token-2"]);
    });

    test("that leads to the same token again is the answer: nothing is sent twice with it", async () => {
      const { service: made, aged, auth, bearers } = service(9, 60_000);
      await aged;
      auth.invalidate = () => {};
      expect(await made.call("listDevices")).toMatchObject({ ok: false, status: 401 });
      expect(bearers()).toEqual(["Bearer token-1"]);
    });

    test("service.fetch does the same, and sends a text body again", async () => {
      const { service: made, aged, fetch } = service(1, 60_000);
      await aged;
      const response = await made.fetch("v1/x", { method: "POST", body: "again" });
      expect(response.status).toBe(200);
      expect(fetch.calls.map(({ body }) => body)).toEqual(["again", "again"]);
    });

    test("a stream cannot be sent again: the old token is dropped, and the 401 is the answer", async () => {
      const { service: made, aged, auth, fetch } = service(1, 60_000);
      await aged;
      const body = new ReadableStream();
      const init = { method: "POST", body, duplex: "half" } as RequestInit;
      expect((await made.fetch("v1/x", init)).status).toBe(401);
      expect(fetch.calls).toHaveLength(1);
      expect(auth.invalidated).toEqual(["token-1"]);
    });

    test("a 403 is never sent again", async () => {
      const clock = steppedClock();
      const fetch = scriptedFetch(() => new Response("", { status: 403 }));
      const auth = numberedAuth({ variant, now: clock.now });
      await auth.getAccessToken();
      clock.advance(60_000);
      expect(await createService(auth, { fetch, now: clock.now }).call("listDevices")).toMatchObject({
        status: 403,
      });
      expect(fetch.calls).toHaveLength(1);
      expect(auth.invalidated).toEqual([]);
    });

    test("a token that cannot be renewed: the fault of the token is thrown", async () => {
      const { service: made, aged, auth } = service(1, 60_000);
      await aged;
      const fault = new Error("no token");
      const getAccessToken = auth.getAccessToken.bind(auth);
      let asked = 0;
      auth.getAccessToken = async (options) => {
        if (asked++ > 0) throw fault;
        return getAccessToken(options);
      };
      expect(await rejectionOf(made.call("listDevices"))).toBe(fault);
    });
  },
);
