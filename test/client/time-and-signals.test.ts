// Time limits, aborts and network faults of calls, and the listeners that calls leave on a caller's
// signal.
import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { connect, createConnector, detectVariant } from "../../src/index.js";
import { latch } from "../people/person.js";
import type { SteppedClock } from "../support/clock.js";
import { credentialOf, deployment } from "../support/deployment.js";
import { noAnswer } from "../support/fetch.js";
import { rejectionOf } from "../support/wait.js";
import { scriptedService } from "./scripted-service.js";

describe("a call", () => {
  test("that is aborted rejects with the signal's reason, even if fetch ignores its signal", async () => {
    const controller = new AbortController();
    const reason = { why: "the user left" };
    const { service, fetch } = scriptedService("B", () => {
      queueMicrotask(() => controller.abort(reason));
      return new Promise<Response>(() => {});
    });
    const { signal } = controller;
    expect(await rejectionOf(service.call("listDevices", { signal }))).toBe(reason);
    expect(fetch.calls[0]?.init.signal?.aborted).toBe(true);
  });

  test("that is aborted does not wait for an Auth that ignores the signal", async () => {
    const controller = new AbortController();
    const { service, auth, fetch } = scriptedService("B");
    auth.getAccessToken = () => {
      queueMicrotask(() => controller.abort("left"));
      return new Promise(() => {});
    };
    const { signal } = controller;
    expect(await rejectionOf(service.call("listDevices", { signal }))).toBe("left");
    expect(fetch.calls).toHaveLength(0);
  });

  test("with an aborted signal sends nothing", async () => {
    const { service, fetch } = scriptedService("B");
    const signal = AbortSignal.abort("no");
    expect(await rejectionOf(service.call("listDevices", { signal }))).toBe("no");
    expect(fetch.calls).toHaveLength(0);
  });

  const endless = (clock: SteppedClock) => () => {
    const pull = async (stream: ReadableStreamDefaultController) => {
      await new Promise((resolve) => setImmediate(resolve));
      stream.enqueue(new Uint8Array([32]));
      clock.advance(1_000);
    };
    return new Response(new ReadableStream({ pull }));
  };
  test.each([
    { name: "a silent server", answer: () => noAnswer },
    { name: "a body that never ends", answer: endless },
  ])("that meets $name rejects with timed_out after timeoutMs", async ({ answer }) => {
    const { service, clock } = scriptedService("B", (call) => answer(clock)(call));
    const error = await rejectionOf(clock.through(service.call("listDevices")));
    const late = { name: "TransportError", code: "timed_out", retryable: true, variant: "B" };
    expect(error).toMatchObject(late);
  });

  test("starts its time limit after the wait for a token", async () => {
    const { service, auth, clock } = scriptedService("B");
    const getAccessToken = auth.getAccessToken.bind(auth);
    auth.getAccessToken = async () => {
      // A limit that was set already would expire here.
      clock.advance(10_000);
      await new Promise((resolve) => setImmediate(resolve));
      return getAccessToken();
    };
    expect(await service.call("listDevices")).toMatchObject({ ok: true });
  });

  const tlsFaults = [
    ...["DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN", "CERT_HAS_EXPIRED"],
    ...["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "ERR_TLS_CERT_ALTNAME_INVALID", "ERR_SSL_WRONG_VERSION"],
  ];
  test.each([
    { fault: "ECONNREFUSED", code: "network_failed", retryable: true },
    ...tlsFaults.map((fault) => ({ fault, code: "tls_failed", retryable: false })),
  ])("whose fetch fails with $fault rejects with $code", async ({ fault, code, retryable }) => {
    const { service } = scriptedService("B", ({ init }) => {
      const cause = Object.assign(new Error(), { code: fault, request: init });
      throw Object.assign(new TypeError("fetch failed"), { cause });
    });
    const error = await rejectionOf(service.call("listDevices"));
    expect(error).toMatchObject({ name: "TransportError", code, retryable });
    expect((error as Error).message).toContain(fault);
  });
});

describe("the caller's signal", () => {
  test("has one listener for all fetches, and an abort still ends every body", async () => {
    const controller = new AbortController();
    const { service, fetch } = scriptedService("B", () => new Response("body"));
    for (let i = 0; i < 20; i++) await service.fetch("v1/anything", { signal: controller.signal });
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
    controller.abort("enough");
    expect(fetch.calls.map(({ init }) => init.signal?.reason)).toEqual(Array(20).fill("enough"));
  });

  const crowd = Array.from({ length: 50 }, (_, index) => index);
  /** A service whose tokens or answers wait until they are released. */
  async function heldService(held: "token" | "api") {
    const { promise: released, release } = latch();
    let waiting = 0;
    const fetch = async (url: string) => {
      const isToken = url.endsWith("/token");
      if (isToken === (held === "token")) {
        waiting++;
        await released;
      }
      return isToken ? Response.json({ access_token: "t" }) : Response.json([]);
    };
    const options = { baseUrl: "https://service.example", credentials: [credentialOf("B")], fetch };
    const service = await connect({ ...options, variant: "B" });
    const isWaitedFor = (count: number) => expect.poll(() => waiting).toBe(count);
    return { service, release, isWaitedFor };
  }

  test.each([
    { name: "one token", held: "token", requests: 1 },
    { name: "their own answers", held: "api", requests: 100 },
  ] as const)(
    "of fifty calls that wait for $name has one listener and ends no other calls",
    async (row) => {
      const [leaving, staying] = [new AbortController(), new AbortController()];
      const { service, release, isWaitedFor } = await heldService(row.held);
      const call = ({ signal }: AbortController) => service.call("listDevices", { signal });
      const gone = crowd.map(() => rejectionOf(call(leaving)));
      const there = crowd.map(() => call(staying));
      await isWaitedFor(row.requests);
      const listeners = () =>
        [leaving, staying].map(({ signal }) => getEventListeners(signal, "abort").length);
      expect(listeners()).toEqual([1, 1]);
      leaving.abort("enough");
      expect(new Set(await Promise.all(gone))).toEqual(new Set(["enough"]));
      release();
      expect((await Promise.all(there)).every(({ ok }) => ok)).toBe(true);
      expect(listeners()).toEqual([0, 0]);
    },
  );
});

describe.each(["A", "B"] as const)("the option signal, Variant %s", (variant) => {
  async function ways() {
    const { publicUrl: baseUrl, fetch, journal } = deployment({ variants: [variant] });
    const options = { credentials: [credentialOf(variant)], fetch };
    const target = { baseUrl, tenantId: "acme" };
    const service = await connect({ ...options, ...target });
    await service.auth.getAccessToken();
    journal.clear();
    const path = variant === "A" ? "api/v1/acme/devices" : "v1/devices";
    const all: { way: string; go: (signal: never) => Promise<unknown> }[] = [
      { way: "connect", go: (signal) => connect({ ...options, ...target, signal }) },
      { way: "connector", go: (signal) => createConnector(options).connect({ ...target, signal }) },
      { way: "detectVariant", go: (signal) => detectVariant({ ...target, fetch, signal }) },
      { way: "getAccessToken", go: (signal) => service.auth.getAccessToken({ signal }) },
      { way: "call", go: (signal) => service.call("listDevices", { signal }) },
      { way: "fetch", go: (signal) => service.fetch(path, { signal }) },
    ];
    return { all, journal };
  }

  test.each([
    { signal: 42 },
    { signal: new AbortController() },
    // This signal has no removeEventListener, so a listener would stay.
    { signal: { aborted: false, addEventListener() {} } },
  ])("is rejected everywhere if it is $signal, and nothing is sent", async ({ signal }) => {
    const { all, journal } = await ways();
    const refusal = { name: "ConfigurationError", code: "option_invalid", option: "signal" };
    for (const { way, go } of all)
      expect(await rejectionOf(go(signal as never)), way).toMatchObject(refusal);
    expect(journal.entries()).toEqual([]);
  });

  test("counts as left out if it is null, as in a RequestInit", async () => {
    for (const { go } of (await ways()).all) await expect(go(null as never)).resolves.toBeDefined();
  });
});
