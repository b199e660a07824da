// What users of other clients expect of a call: headers for all calls, timeoutMs, idempotent, and
// the requestId of its events.
import { describe, expect, test } from "vitest";
import {
  connect,
  createConnector,
  createService,
  isApiError,
  serviceAccount,
  unwrap,
} from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { noAnswer } from "../support/fetch.js";
import { numberedAuth } from "../support/numbered-auth.js";
import { jsonAnswer, recordingServer, type Script } from "../support/recording-server.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";
import { scriptedService } from "./scripted-service.js";

const operation = (method: string, rest: object = {}) => ({
  method,
  path: "/v1/things",
  success: [200],
  failure: [],
  ...rest,
});
const table = {
  read: operation("GET"),
  add: operation("POST"),
  replace: operation("PUT"),
  upload: operation("POST", { contentType: "image/png", contents: { "image/png": {} } }),
  named: operation("GET", { parameters: [{ in: "header", name: "X-Team", required: true }] }),
};
const api = { operations: { A: table, B: table } } as never;

type Untyped = (id: string, init?: object) => Promise<unknown>;

/**
 * A service over a real server that records what arrives. It answers 200 unless the script says
 * otherwise.
 */
async function wiredService(options: object = {}, script: Script = () => jsonAnswer(200, [])) {
  const server = await recordingServer(script);
  const auth = { ...numberedAuth({ variant: "B", now: Date.now }), baseUrl: server.url };
  const service = createService(auth, { api, ...options });
  const call = service.call as unknown as Untyped;
  const sent = () => server.requests.at(-1)?.headers ?? {};
  return { service, call: call.bind(service), server, sent };
}

describe("headers of a service", () => {
  const headers = { "X-Team": "blue", "User-Agent": "planner/2" };

  test("arrive with each call, path and service.fetch", async () => {
    const given = { ...headers, authorization: undefined };
    const { service, call, sent } = await wiredService({ headers: given });
    const arrive = { "x-team": "blue", "user-agent": "planner/2", authorization: "Bearer token-1" };
    await call("read");
    expect(sent()).toMatchObject({ ...arrive, accept: "application/json" });
    await call("upload", { body: new Blob(["x"]), headers: { "content-type": "image/png" } });
    expect(sent()).toMatchObject({ ...arrive, "content-type": "image/png" });
    const { PUT } = service.paths as unknown as Record<"PUT", Untyped>;
    await PUT("/v1/things", { body: { a: 1 } });
    expect(sent()).toMatchObject({ ...arrive, "content-type": "application/json" });
    await service.fetch("v1/anything");
    expect(sent()).toMatchObject(arrive);
  });

  test("are replaced by those of a call, in any letters, and left out by null", async () => {
    const { service, call, sent } = await wiredService({ headers });
    await call("read", { headers: { "x-TEAM": "red" } });
    expect(sent()).toMatchObject({ "x-team": "red", "user-agent": "planner/2" });
    await call("read", { headers: { "x-team": null } });
    expect(sent()).not.toHaveProperty("x-team");
    await service.fetch("v1/anything", { headers: { "x-team": "red" } });
    expect(sent()).toMatchObject({ "x-team": "red" });
    expect(await call("named")).toMatchObject({ ok: true });
    expect(sent()).toMatchObject({ "x-team": "blue" });
    await call("named", { params: { header: { "X-Team": "green" } } });
    expect(sent()).toMatchObject({ "x-team": "green" });
  });

  test("of a call may be an iterator, also where the answer is not JSON", async () => {
    const { call, sent } = await wiredService();
    await call("read", { headers: new Map(Object.entries(headers)).entries(), parseAs: "text" });
    expect(sent()).toMatchObject({ "x-team": "blue" });
  });

  test("are read once, so that a later change has no effect", async () => {
    const own = new Headers(headers);
    const { call, sent } = await wiredService({ headers: own });
    own.set("x-team", "red");
    await call("read");
    expect(sent()).toMatchObject({ "x-team": "blue" });
  });

  test("arrive with the calls of connect and createConnector, but not with token requests", async () => {
    const token = jsonAnswer(200, { access_token: "t", expires_in: 3_600 });
    const server = await recordingServer(({ path }) =>
      path.endsWith("/token") ? token : jsonAnswer(200, []),
    );
    const credentials = [serviceAccount({ clientId: "reports", clientSecret: "s" })];
    const target = { baseUrl: server.url, tenantId: "acme" };
    await (await connect({ ...target, credentials, headers })).call("listDevices");
    await (await createConnector({ credentials, headers }).connect(target)).call("listDevices");
    const teams = server.requests.map(({ path, headers }) => `${path} ${headers["x-team"]}`);
    const each = ["/v1/auth/token undefined", "/v1/devices blue"];
    expect(teams).toEqual([...each, ...each]);
  });

  test("do not follow a redirect that leaves the base URL", async () => {
    const other = await recordingServer(() => jsonAnswer(200, []));
    const location = `${other.url.replace("127.0.0.1", "localhost")}/elsewhere`;
    const redirect = { status: 302, headers: { location } };
    const { call } = await wiredService({ headers }, () => redirect);
    expect(await call("read")).toMatchObject({ ok: true });
    expect(other.requests[0]?.headers).not.toHaveProperty("x-team");
  });

  const ofCall = "each call sends its own. Pass it to the call.";
  const ofFetch = "the fetch writes it. Leave it out.";
  test.each([
    { name: "Authorization", says: "the bearer is sent in it. Leave it out." },
    ...["accept", "Content-Type", "X-Envelope"].map((name) => ({ name, says: ofCall })),
    ...["Host", "content-length", "transfer-encoding"].map((name) => ({ name, says: ofFetch })),
    ...["connection", "keep-alive"].map((name) => ({ name, says: ofFetch })),
  ])("may not hold $name, and the error says why", async ({ name, says }) => {
    const value = "Basic c2VjcmV0LW9mLW1pbmU=";
    for (const given of [{ [name]: value }, [[name, value]], new Headers({ [name]: value })]) {
      const headers = given as HeadersInit;
      const error = await rejectionOf(wiredService({ headers }));
      const message = `headers must not hold ${name.toLowerCase()}: ${says}`;
      expect(error).toMatchObject({ code: "option_invalid", option: "headers", message });
      expect(shown(error)).not.toContain(value.slice(6));
    }
  });
});

describe("timeoutMs of a call", () => {
  test.each([
    { name: "is shorter than that of the service", service: 60_000, call: 50, limit: 50 },
    { name: "is longer than that of the service", service: 50, call: 60_000, limit: 60_000 },
    { name: "left out is that of the service", service: 70, call: undefined, limit: 70 },
  ])("$name", async ({ service: timeoutMs, call: own, limit }) => {
    const { call, clock } = scriptedService("B", noAnswer, { timeoutMs, api });
    const began = clock.now();
    const error = await rejectionOf(clock.through(call("read", { timeoutMs: own })));
    const message = expect.stringContaining(`within ${limit} ms`);
    expect(error).toMatchObject({ code: "timed_out", message });
    expect(clock.now() - began).toBe(limit);
  });

  test("is for each request of the call", async () => {
    const { call, clock, fetch } = scriptedService("B", noAnswer, { maxRetries: 1, api });
    const error = await rejectionOf(clock.through(call("read", { timeoutMs: 5 })));
    expect(error).toMatchObject({ code: "timed_out" });
    expect(fetch.calls).toHaveLength(2);
  });
});

describe("idempotent: true", () => {
  const troubles: readonly { name: string; answer: ReturnType<Script> }[] = [
    { name: "503", answer: { status: 503 } },
    { name: "a reset", answer: "reset" },
  ];
  const key = { "idempotency-key": "order-7" };

  test.each(troubles)(
    "sends a POST with a key again after $name, with the same key",
    async ({ answer }) => {
      let count = 0;
      const clock = steppedClock();
      clock.skipSleeps();
      const { call, server } = await wiredService({ clock }, () =>
        count++ < 2 ? answer : jsonAnswer(200, []),
      );
      const outcome = call("add", { body: { a: 1 }, headers: key, idempotent: true });
      expect(await outcome).toMatchObject({ ok: true, retries: 2 });
      const sent = { method: "POST", headers: key, body: '{"a":1}' };
      expect(server.requests).toMatchObject([sent, sent, sent]);
    },
  );

  test("makes the error of a POST say that it may be sent again", async () => {
    const { call } = await wiredService({ maxRetries: 0 }, () => "reset");
    const message = expect.not.stringContaining("may have been processed");
    const failure = { code: "network_failed", retryable: true, message };
    expect(await rejectionOf(call("add", { idempotent: true }))).toMatchObject(failure);
    const refused = await wiredService({ maxRetries: 0 }, () => ({ status: 503 }));
    const outcome = Object(await refused.call("add", { idempotent: true }));
    expect(outcome.error.message).toContain("Try again later.");
  });

  test("turned to false, a PUT that fails is not sent again, and its error says to look first", async () => {
    const { call, server } = await wiredService({}, () => "reset");
    const error = await rejectionOf(call("replace", { idempotent: false }));
    const message = expect.stringContaining("The PUT may have been");
    expect(error).toMatchObject({ retryable: false, message });
    expect(server.requests).toHaveLength(1);
  });
});

describe("requestId", () => {
  test("of an outcome is that of the call's events, of its error too, and is not sent", async () => {
    const { call, events, fetch } = scriptedService("A", (_call, index) =>
      Response.json([], { status: index === 0 ? 200 : 403 }),
    );
    const [good, bad] = [await call("listDevices"), await call("listDevices")].map(Object);
    const ids = [...new Set(events.map(({ requestId }) => requestId))];
    expect(ids).toEqual([good.requestId, bad.requestId]);
    expect(bad.error.requestId).toBe(bad.requestId);
    expect(good.requestId).not.toBe(bad.requestId);
    expect(JSON.stringify(fetch.calls)).not.toContain(good.requestId);
  });
});

test("the error that unwrap throws has the headers of the answer, which it does not print", async () => {
  const headers = { "x-request-id": "of-the-service", "x-echo": "canary" };
  const { service } = scriptedService("B", () => new Response("", { status: 404, headers }));
  const error = await rejectionOf(unwrap(service.call("listDevices")));
  expect(isApiError(error) && error.headers.get("x-request-id")).toBe("of-the-service");
  expect(shown(error)).not.toContain("canary");
});

describe("a value of the wrong kind is refused before anything is sent,", () => {
  const rows = (option: string, ...values: unknown[]) => values.map((value) => ({ option, value }));

  test.each([
    ...rows("maxRetries", -1, null),
    ...rows("maxResponseBytes", 0, 1.5, "1", null),
    ...rows("unauthorizedStatuses", 401, ["401"], [302]),
    ...rows("bodyInMessage", "yes", null),
    ...rows("intercept", {}),
  ])("for a service: $option $value", ({ option, value }) => {
    const make = () => scriptedService("A", undefined, { [option]: value } as never);
    expect(make).toThrow(expect.objectContaining({ code: "option_invalid", option }));
  });

  test.each([
    ...rows("timeoutMs", 0, "5", null),
    ...rows("idempotent", "yes", null),
    ...rows("maxRetries", -1, null),
    ...rows("maxResponseBytes", 0, 1.5, "1", null),
    ...rows("parseAs", "xml", null),
  ])("for a call: $option $value", async ({ option, value }) => {
    const { call, fetch } = scriptedService("A");
    const error = await rejectionOf(call("listDevices", { [option]: value }));
    expect(error).toMatchObject({ code: "option_invalid", option });
    expect(fetch.calls).toEqual([]);
  });
});
