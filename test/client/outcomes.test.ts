// The outcome of a call, for each response: a refused call never looks like success.
import { describe, expect, test } from "vitest";
import { callSupport } from "../../src/auth/auth.js";
import {
  type ApiError,
  createService,
  isApiError,
  LoginRequiredError,
  RelaunchRequiredError,
  type ServiceEvent,
  unwrap,
} from "../../src/index.js";
import { createVariantAClient } from "../../src/variant-a.js";
import { createVariantBClient } from "../../src/variant-b.js";
import { numberedAuth } from "../support/numbered-auth.js";
import { rejectionOf } from "../support/wait.js";
import { devicesPath, scriptedService } from "./scripted-service.js";

interface AnyOutcome {
  readonly ok: boolean;
  readonly status: number;
  readonly data?: unknown;
  readonly error?: ApiError;
  readonly response: Response;
}

type AnyGet = (path: string) => Promise<AnyOutcome>;

/** Calls listDevices in each of the three ways. */
function client(variant: "A" | "B", answer: () => Response) {
  const scripted = scriptedService(variant, answer);
  const { auth, fetch, clock, events } = scripted;
  const onEvent = (event: ServiceEvent) => void events.push(event);
  const options = { fetch, clock, onEvent, maxRetries: 0 };
  const create = variant === "A" ? createVariantAClient : createVariantBClient;
  const alone = create(auth as never, options);
  const ways = [
    { way: "call", send: () => scripted.call("listDevices") as Promise<AnyOutcome> },
    { way: "paths", send: () => scripted.get(devicesPath[variant]) as Promise<AnyOutcome> },
    { way: "variant client", send: () => (alone.GET as AnyGet)(devicesPath[variant]) },
  ];
  return { ...scripted, ways };
}

const text = (body: string | null, status: number, headers: HeadersInit = {}) =>
  new Response(body, { status, headers });
const json = (body: unknown, status: number) => Response.json(body, { status });

describe.each(["A", "B"] as const)("an outcome of Variant %s", (variant) => {
  test.each([
    { name: "200 with JSON", answer: () => json([{ id: 1 }], 200), data: [{ id: 1 }] },
    { name: "200 with JSON null", answer: () => json(null, 200), data: null },
    { name: "200 without a body", answer: () => text(null, 200), data: undefined },
  ])("$name is a success", async ({ answer, data }) => {
    const { ways, events } = client(variant, answer);
    for (const { way, send } of ways) {
      const outcome = await send();
      expect(outcome, way).toMatchObject({ ok: true, status: 200, variant, retries: 0 });
      expect([outcome.data, outcome.error]).toEqual([data, undefined]);
    }
    const of = { operationId: "listDevices", method: "GET" };
    const finished = { type: "call_finished", ...of, status: 200, retries: 0 };
    expect(events).toMatchObject(ways.flatMap(() => [{ type: "call_started", ...of }, finished]));
    expect(events.flatMap(Object.values)).not.toContain(undefined);
  });

  const retry = (status: number, after: string) => () => text("", status, { "retry-after": after });
  type Answer = () => Response;
  const row = (name: string, answer: Answer, code: string, body?: unknown, waitMs?: number) => {
    return { name, answer, code, body, waitMs };
  };
  test.each([
    row("401", () => text("", 401), "api_unauthorized"),
    row("403 with a body", () => json({ why: 1 }, 403), "api_forbidden", { why: 1 }),
    row("404", () => json({ e: 1 }, 404), "api_refused", { e: 1 }),
    row("429 with Retry-After", retry(429, "7"), "api_rate_limited", undefined, 7_000),
    row("500", () => text("<html>", 500), "api_failed", "<html>"),
    row("503 with Retry-After", retry(503, "3"), "api_failed", undefined, 3_000),
    row("204", () => text(null, 204), "api_undocumented"),
    row("304", () => text(null, 304), "api_undocumented"),
  ])("$name is a failure with $code", async ({ answer, code, body, waitMs }) => {
    const { ways, clock, events } = client(variant, answer);
    const { status } = answer();
    for (const { way, send } of ways) {
      const outcome = await send();
      expect(outcome, way).toMatchObject({ ok: false, status, variant });
      expect(outcome.data).toBeUndefined();
      expect(isApiError(outcome.error), way).toBe(true);
      expect(outcome.error).toMatchObject({ code, status, variant, operationId: "listDevices" });
      expect(outcome.error?.message).toMatch(
        // After a 304 there is nothing to do.
        status === 304
          ? /answered 304: nothing has changed\.$/
          : new RegExp(`answered ${status}\\b.*[.:] (Check|Read|Wait|Try|Look|Ask) `),
      );
      expect(outcome.error?.body).toEqual(body);
      expect(Object.keys(outcome.error ?? {})).not.toContain("body");
      const retryAt = waitMs === undefined ? undefined : clock.now() + waitMs;
      expect(outcome.error?.retryAt).toBe(retryAt);
      expect(outcome.error?.message.endsWith("(retryAt).")).toBe(retryAt !== undefined);
      if (retryAt !== undefined)
        expect(outcome.error?.message).toContain(new Date(retryAt).toISOString());
    }
    const finished = { type: "call_finished", method: "GET", status, code };
    const refused = { type: "call_refused", status };
    expect(events).toMatchObject(ways.flatMap(() => [{ type: "call_started" }, refused, finished]));
  });

  test("unwrap returns the data of a success and throws the ApiError of a failure, from an outcome or a promise", async () => {
    const good = client(variant, () => json([1], 200)).service;
    expect(unwrap(await good.call("listDevices"))).toEqual([1]);
    expect(await unwrap(good.call("listDevices"))).toEqual([1]);
    const refused = await client(variant, () => text("", 404)).service.call("listDevices");
    expect(await rejectionOf(Promise.resolve().then(() => unwrap(refused)))).toBe(refused.error);
    expect(await rejectionOf(unwrap(Promise.resolve(refused)))).toBe(refused.error);
    expect(() => unwrap({} as never)).toThrow(expect.objectContaining({ option: "outcome" }));
  });
});

describe("the causes of a 403, the likeliest first", () => {
  const operation = (path: string) => ({ method: "GET", path, success: [200], failure: [403] });
  const list = operation("/a/{tenantId}/list");
  const marked = { ...list, method: "POST", deviceParameter: { in: "body", name: "target" } };
  const add = { ...list, method: "POST" };
  const A = { list, add, marked, device: operation("/a/{tenantId}/x/{deviceId}") };
  const api = { operations: { A, B: { list: operation("/list") } } } as never;
  const launched = {
    needsPerson: true,
    refused: () => new RelaunchRequiredError("launch_expired", "Over."),
  };
  const loggedIn = { refused: () => new LoginRequiredError("login_expired", "Over.") };
  const device = { path: { deviceId: "d" } };
  const deviceQuery = { query: { "filter[Device]": "d" } };
  const [scope, narrowed] = ["scope_missing", "grant_narrowed"];
  const [operator, restricted] = ["operator_not_capable", "device_restricted"];
  const forDevice = [scope, narrowed, restricted];
  interface Row {
    readonly name: string;
    readonly variant?: "A" | "B";
    readonly own?: object;
    readonly id?: string;
    readonly params?: object;
    readonly body?: unknown;
    readonly ids: string[];
  }

  test.each<Row>([
    { name: "of a plugin", ids: [scope, narrowed] },
    { name: "with a device in the path", id: "device", params: device, ids: forDevice },
    { name: "with a device in the query", params: deviceQuery, ids: forDevice },
    { name: "with a device in the body", id: "add", body: { deviceIds: ["d"] }, ids: forDevice },
    { name: "with a marked member", id: "marked", body: { target: "d" }, ids: forDevice },
    { name: "with another member", id: "marked", body: { note: "d" }, ids: [scope, narrowed] },
    { name: "with a body of text", id: "marked", body: "device", ids: [scope, narrowed] },
    { name: "of a launched plugin", own: launched, ids: [scope, operator, narrowed] },
    { name: "of a service account", variant: "B", ids: ["role_missing"] },
    { name: "of a login", variant: "B", own: loggedIn, ids: ["role_missing"] },
  ])("$name: $ids", async ({ variant = "A", own, id = "list", params = {}, body, ids }) => {
    const scripted = scriptedService(variant, () => text("", 403), { api });
    Object.assign(scripted.auth, { [callSupport]: own });
    const { error } = (await scripted.call(id, { params, body })) as AnyOutcome;
    expect(error?.causes?.map((cause) => cause.id)).toEqual(ids);
    expect(error?.message).toContain(error?.causes?.[0]?.remedy);
    // Dropping the token of a person would end the session.
    const remedies = error?.causes?.map(({ remedy }) => remedy).join(" ");
    expect(remedies?.includes("invalidate")).toBe(variant === "A" && own === undefined);
    if (variant === "B") expect(remedies).toContain(own ? "the person" : "the service account");
  });

  test.each<Row>([
    { name: "of another device", id: "device", ids: [restricted, narrowed] },
    { name: "without a device", id: "list", ids: [narrowed] },
    { name: "of a launched plugin", own: launched, id: "list", ids: [narrowed, operator] },
  ])("$name, after a success with the same token: $ids", async ({ id = "", own, ids }) => {
    const answer = (_: unknown, at: number) => (at === 0 ? json([], 200) : text("", 403));
    const { call, auth } = scriptedService("A", answer, { api });
    Object.assign(auth, { [callSupport]: own });
    await call(id, { params: device });
    const { error } = (await call(id, { params: device })) as AnyOutcome;
    expect(error?.causes?.map((cause) => cause.id)).toEqual(ids);
    const other = (await call(id === "list" ? "device" : "list", { params: device })) as AnyOutcome;
    expect(other.error?.causes?.[0]?.id).toBe(scope);
  });

  test("of Variant A with a body: none", async () => {
    const { service } = scriptedService("A", () => text("x", 403));
    expect((await service.call("listDevices")).error?.causes).toBeUndefined();
  });
});

test("the client of a variant rejects an Auth of the other", () => {
  const refusal = expect.objectContaining({ code: "option_invalid", option: "auth" });
  const authOf = (variant: "A" | "B") => numberedAuth({ variant, now: Date.now }) as never;
  expect(() => createVariantAClient(authOf("B"))).toThrow(refusal);
  expect(() => createVariantBClient(authOf("A"))).toThrow(refusal);
});

test("an Auth of one's own that lacks a member is refused, and the message names it", () => {
  const whole = numberedAuth({ variant: "B", now: Date.now });
  const members = ["variant", "baseUrl", "tenantId", "getAccessToken", "invalidate"] as const;
  const refusalOf = (names: string) => {
    const message = expect.stringContaining(`wrong: ${names}. `);
    return expect.objectContaining({ option: "auth", message });
  };
  for (const name of members)
    expect(() => createService({ ...whole, [name]: undefined } as never)).toThrow(refusalOf(name));
  expect(() => createService(undefined as never)).toThrow(refusalOf(members.join(", ")));
  expect(() => createService({ ...whole, variant: "C" } as never)).toThrow(refusalOf("variant"));
});
