// The option intercept: what it gets of each request, which headers it can add, and that it
// changes nothing else.
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  createAuth,
  createService,
  detectVariant,
  type Intercept,
  type InterceptedRequest,
  redeemLaunch,
  userInterfacePlugin,
} from "../../src/index.js";
import { scriptedAuth } from "../support/auth.js";
import {
  ACCOUNT_SECRET,
  account,
  credentialOf,
  deployment,
  PLUGIN_ID,
} from "../support/deployment.js";
import { type FetchScript, tokenAnswer } from "../support/fetch.js";
import { pkcs8, rsaKey } from "../support/keys.js";
import { jsonAnswer, recordingServer } from "../support/recording-server.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";
import { scriptedService } from "./scripted-service.js";

function recorder(headers?: Record<string, string>) {
  const seen: InterceptedRequest[] = [];
  const intercept: Intercept = (request, send) => {
    seen.push(request);
    return send(headers);
  };
  return { seen, intercept };
}

const target = { baseUrl: "https://service.example", tenantId: "acme" };
const code = { code: "the-code", codeVerifier: "v".repeat(43) };

describe("intercept is called", () => {
  test.each(["A", "B"] as const)("for token requests and calls of Variant %s", async (variant) => {
    const { fetch, publicUrl: baseUrl } = deployment();
    const { seen, intercept } = recorder();
    const credential = credentialOf(variant);
    const auth = createAuth({ baseUrl, tenantId: "acme", credential, fetch, intercept });
    // A service has the interceptor of its Auth.
    const service = createService(auth);
    expect(await service.call("listDevices")).toMatchObject({ ok: true });
    await service.fetch("v1/anything?secret=1");
    const path = variant === "A" ? "/api/v1/{tenantId}/devices" : "/v1/devices";
    const of = { variant, baseUrl, tenantId: "acme", resend: 0 };
    expect(seen).toMatchObject([
      { ...of, purpose: "token", method: "POST", url: expect.stringMatching(/\/token$/) },
      { ...of, purpose: "call", method: "GET", operationId: "listDevices", path },
      { ...of, purpose: "call", method: "GET", operationId: undefined, path: undefined },
    ]);
    const text = shown(seen);
    const token = (await auth.getAccessToken()).value;
    for (const secret of [ACCOUNT_SECRET, token, "eyJhbGciOi"]) expect(text).not.toContain(secret);
  });

  test("for each request of a detection", async () => {
    const { fetch, publicUrl: baseUrl } = deployment();
    const { seen, intercept } = recorder();
    await detectVariant({ baseUrl, tenantId: "acme", fetch, intercept });
    const asked = { purpose: "detection", method: "POST", resend: 0 };
    expect(seen).toMatchObject([
      { ...asked, variant: "A" },
      { ...asked, variant: "B" },
      { ...asked, variant: "B" },
    ]);
  });

  test("for each attempt of a token request", async () => {
    const { seen, intercept } = recorder();
    const script: FetchScript = (_call, index) =>
      index === 0 ? new Response("", { status: 503 }) : tokenAnswer();
    const { auth, clock } = scriptedAuth("B", script, { intercept });
    clock.skipSleeps();
    await auth.getAccessToken();
    expect(seen).toMatchObject([0, 1].map((resend) => ({ purpose: "token", resend })));
  });

  test("for each retry, redirect and refused bearer, with how many went before", async () => {
    const { seen, intercept } = recorder();
    const headers = { location: "https://service.example/prefix/v1/moved" };
    const answers = [{ status: 503 }, { status: 307, headers }, { status: 401 }];
    const script = () => Response.json([], answers.shift());
    const { call, auth, clock } = scriptedService("B", script, { intercept, maxRetries: 1 });
    clock.skipSleeps();
    await auth.getAccessToken();
    clock.advance(60_000);
    expect(await call("listDevices")).toMatchObject({ ok: true, retries: 1 });
    expect(seen.map(({ resend, path }) => [resend, path])).toEqual([
      [0, "/v1/devices"],
      [1, "/v1/devices"],
      [2, undefined],
      [3, "/v1/devices"],
    ]);
  });
});

describe("the headers of intercept", () => {
  test("arrive, and replace none of the request's own", async () => {
    const server = await recordingServer(({ path }) =>
      jsonAnswer(200, path.endsWith("/token") ? { access_token: "t" } : []),
    );
    const { intercept } = recorder({ Traceparent: "00-1", Authorization: "stolen", accept: "*/*" });
    const auth = createAuth({ baseUrl: server.url, credential: account(), intercept });
    await createService(auth).call("listDevices");
    const [token, call] = server.requests.map(({ headers }) => headers);
    for (const headers of [token, call])
      expect(headers).toMatchObject({ traceparent: "00-1", accept: "application/json" });
    expect(call).toMatchObject({ authorization: "Bearer t" });
  });

  test("do not follow a redirect that leaves the base URL", async () => {
    const location = "https://elsewhere.example/file";
    const script = (_call: unknown, index: number) =>
      index === 0 ? new Response(null, { status: 302, headers: { location } }) : Response.json([]);
    const { seen, intercept } = recorder({ baggage: "user=ada" });
    const { call, fetch } = scriptedService("B", script, { intercept });
    expect(await call("listDevices")).toMatchObject({ ok: true });
    expect(fetch.calls.map(({ headers }) => headers.has("baggage"))).toEqual([true, false]);
    expect(seen.map(({ url }) => new URL(url).host)).toEqual([
      "service.example",
      "elsewhere.example",
    ]);
  });
});

test("with intercept a code whose request broke before it was read is not lost, as without it", async () => {
  // A fetch of the caller's own may have read the body in a way that does not show, but this is the
  // default one.
  vi.stubGlobal("fetch", () =>
    Promise.reject(Object.assign(new TypeError(), { code: "ECONNRESET" })),
  );
  onTestFinished(() => void vi.unstubAllGlobals());
  const credential = userInterfacePlugin({ clientId: PLUGIN_ID, privateKey: pkcs8(rsaKey()) });
  const redeem = (options: object) =>
    rejectionOf(redeemLaunch({ ...target, credential, ...code, ...options }));
  const lost = { code: "launch_outcome_unknown" };
  expect(await redeem({})).toMatchObject({ code: "network_failed" });
  expect(await redeem({ intercept: recorder().intercept })).toMatchObject({
    code: "network_failed",
  });
  const fetch = (url: string, init: object) => globalThis.fetch(url, init);
  expect(await redeem({ fetch })).toMatchObject(lost);
});

test.each<{ name: string; intercept: Intercept }>([
  { name: "sends twice", intercept: async (_request, send) => (await send()) && send() },
  { name: "returns nothing", intercept: (_request, send) => send().then(() => undefined as never) },
])("an intercept that $name is refused, and its answer holds no connection", async (row) => {
  const cancel = vi.fn();
  const script = () => new Response(new ReadableStream({ cancel }));
  const { call, fetch } = scriptedService("B", script, { intercept: row.intercept });
  const refusal = { code: "option_invalid", option: "intercept" };
  expect(await rejectionOf(call("listDevices", { maxRetries: 2 }))).toMatchObject(refusal);
  expect(fetch.calls).toHaveLength(1);
  expect(cancel).toHaveBeenCalledOnce();
});

test("a fetch that returns no response is named, and is not called again", async () => {
  const fetch = vi.fn(async () => {});
  const { call } = scriptedService("B", undefined, { fetch: fetch as never });
  const refusal = { code: "option_invalid", option: "fetch" };
  expect(await rejectionOf(call("listDevices", { maxRetries: 2 }))).toMatchObject(refusal);
  expect(fetch).toHaveBeenCalledOnce();
});

test("an error of intercept fails the request", async () => {
  const intercept = () => Promise.reject(new Error("broken"));
  const { call } = scriptedService("B", undefined, { intercept });
  expect(await rejectionOf(call("listDevices"))).toMatchObject({ code: "network_failed" });
});

test("a POST after whose answer intercept fails may have been processed", async () => {
  const refused = () =>
    Promise.reject(Object.assign(new Error("no collector"), { code: "ECONNREFUSED" }));
  const intercept: Intercept = (_request, send) => send().then(refused);
  const { service } = scriptedService("B", undefined, { intercept });
  const fault = await rejectionOf(service.fetch("v1/devices", { method: "POST", body: "{}" }));
  const message = expect.stringContaining("may have been processed");
  expect(fault).toMatchObject({ code: "network_failed", retryable: false, message });
});
