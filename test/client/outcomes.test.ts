// What a call comes to, for each answer: a refused call never looks like success.
import { describe, expect, test } from "vitest";
import { steppedClock } from "../support/clock.js";
import { scriptedFetch } from "../support/fetch.js";
import { numberedAuth } from "../support/numbered-auth.js";
import { rejectionOf } from "../support/wait.js";
import {
  type ApiError,
  createService,
  createVariantAClient,
  createVariantBClient,
  isApiError,
  type ServiceEvent,
  unwrap,
} from "./client-entry.js";

interface AnyOutcome {
  readonly ok: boolean;
  readonly status: number;
  readonly variant: string;
  readonly data?: unknown;
  readonly error?: ApiError;
  readonly response: Response;
}

const devicesPath = { A: "/api/v1/{tenantId}/devices", B: "/v1/devices" } as const;

function client(variant: "A" | "B", answer: () => Response) {
  const clock = steppedClock();
  const events: ServiceEvent[] = [];
  const fetch = scriptedFetch(answer);
  const auth = numberedAuth({ variant, now: clock.now });
  const options = { fetch, now: clock.now, onEvent: (event: ServiceEvent) => void events.push(event) };
  const service = createService(auth, options);
  const get = (service.paths as unknown as { GET(path: string): Promise<AnyOutcome> }).GET;
  const alone =
    variant === "A"
      ? createVariantAClient(auth as never, options)
      : createVariantBClient(auth as never, options);
  const getAlone = (alone as unknown as { GET(path: string): Promise<AnyOutcome> }).GET;
  const ways = [
    { way: "call", send: () => service.call("listDevices") as Promise<AnyOutcome> },
    { way: "paths", send: () => get(devicesPath[variant]) },
    { way: "variant client", send: () => getAlone(devicesPath[variant]) },
  ];
  return { service, clock, fetch, events, ways };
}

const text = (body: string | null, status: number, headers: HeadersInit = {}) =>
  new Response(body, { status, headers });

describe.each([{ variant: "A" as const }, { variant: "B" as const }])("Variant $variant", ({ variant }) => {
  interface Row {
    readonly name: string;
    readonly answer: () => Response;
    readonly status: number;
    readonly code?: string;
    readonly data?: unknown;
    readonly body?: unknown;
    readonly retryAfterMs?: number;
  }
  const rows: Row[] = [
    { name: "200 with JSON", answer: () => Response.json([{ id: 1 }]), status: 200, data: [{ id: 1 }] },
    { name: "200 with JSON null", answer: () => Response.json(null), status: 200, data: null },
    {
      name: "200 with problem+json and a byte order mark",
      answer: () => text("\ufeff[1]", 200, { "content-type": "application/vnd.x+json" }),
      status: 200,
      data: [1],
    },
    { name: "200 without a body", answer: () => text(null, 200), status: 200, data: undefined },
    {
      name: "401",
      answer: () => text("", 401),
      status: 401,
      code: "api_unauthorized",
      body: undefined,
    },
    {
      name: "403 with a body",
      answer: () => Response.json({ why: "x" }, { status: 403 }),
      status: 403,
      code: "api_forbidden",
      body: { why: "x" },
    },
    {
      name: "404",
      answer: () => Response.json({ e: 1 }, { status: 404 }),
      status: 404,
      code: "api_refused",
      body: { e: 1 },
    },
    { name: "400 with a text", answer: () => text("no", 400), status: 400, code: "api_refused", body: "no" },
    {
      name: "429 with Retry-After",
      answer: () => text("", 429, { "retry-after": "7" }),
      status: 429,
      code: "api_rate_limited",
      body: undefined,
      retryAfterMs: 7_000,
    },
    {
      name: "429 without",
      answer: () => text("", 429),
      status: 429,
      code: "api_rate_limited",
      body: undefined,
    },
    {
      name: "429 with an absurd Retry-After",
      answer: () => text("", 429, { "retry-after": "9".repeat(400) }),
      status: 429,
      code: "api_rate_limited",
      body: undefined,
      retryAfterMs: 366 * 24 * 3_600_000,
    },
    { name: "500", answer: () => text("<html>", 500), status: 500, code: "api_failed", body: "<html>" },
    {
      name: "503 with Retry-After",
      answer: () => text("", 503, { "retry-after": "3" }),
      status: 503,
      code: "api_failed",
      body: undefined,
      retryAfterMs: 3_000,
    },
    { name: "204", answer: () => text(null, 204), status: 204, code: "api_undocumented", body: undefined },
    {
      name: "202",
      answer: () => Response.json({ id: 7 }, { status: 202 }),
      status: 202,
      code: "api_undocumented",
      body: { id: 7 },
    },
    { name: "304", answer: () => text(null, 304), status: 304, code: "api_undocumented", body: undefined },
  ];
  test.each(rows)("$name", async ({ answer, status, code, data, body, retryAfterMs }) => {
    const { ways, clock, events } = client(variant, answer);
    for (const { way, send } of ways) {
      const result = await send();
      expect(result, way).toMatchObject({ ok: code === undefined, status, variant });
      expect(result.response.status).toBe(status);
      if (code === undefined) {
        expect(result.data).toEqual(data);
        expect(result.error).toBeUndefined();
        continue;
      }
      expect(result.data).toBeUndefined();
      expect(result.error, way).toBeTruthy();
      expect(isApiError(result.error)).toBe(true);
      expect(result.error).toMatchObject({ code, status, variant, operationId: "listDevices" });
      expect(result.error?.body).toEqual(body);
      expect(Object.keys(result.error ?? {})).not.toContain("body");
      expect(result.error?.retryAt).toBe(retryAfterMs === undefined ? undefined : clock.now() + retryAfterMs);
    }
    const refusals = events.filter(({ type }) => type === "call_refused");
    expect(refusals).toHaveLength(code === undefined ? 0 : ways.length);
  });

  test("an empty 403 is a truthy error; Variant A's has the three causes of the description", async () => {
    for (const { way, send } of client(variant, () => text("", 403)).ways) {
      const { ok, error } = await send();
      expect(ok, way).toBe(false);
      expect(error, way).toBeTruthy();
      const ids = error?.causes?.map(({ id }) => id);
      expect(ids).toEqual(
        variant === "A" ? ["scope_missing", "grant_narrowed", "device_restricted"] : undefined,
      );
      if (variant === "A") {
        expect(error?.causes?.[0]?.remedy).toContain("invalidate");
        for (const { summary, evidence, remedy } of error?.causes ?? [])
          for (const told of [summary, evidence, remedy]) expect(told).toMatch(/\w+ \w+/);
      }
    }
  });

  test("a 403 with a body has no such causes: the description names them for the empty one", async () => {
    for (const { send } of client(variant, () => text("x", 403)).ways)
      expect((await send()).error?.causes).toBeUndefined();
  });

  const pages = [
    { name: "an HTML page", answer: () => text("<html>page-text", 200, { "content-type": "text/html" }) },
    {
      name: "JSON that is cut off",
      answer: () => text('{"page-text', 200, { "content-type": "application/json" }),
    },
    { name: "JSON that says it is a page", answer: () => text("[]", 200, { "content-type": "text/html" }) },
  ];
  test.each(pages)("a 200 with $name is never data, and the error quotes none of it", async ({ answer }) => {
    for (const { send } of client(variant, answer).ways) {
      const error = await rejectionOf(send());
      expect(error).toMatchObject({
        name: "UnexpectedResponseError",
        code: "response_not_json",
        status: 200,
      });
      expect((error as Error).message).not.toContain("page-text");
    }
  });

  test("a refusal of over 1 MiB is still a refusal", async () => {
    const { ways } = client(variant, () => text("x".repeat(1024 * 1024 + 1), 400));
    expect(await ways[0]?.send()).toMatchObject({ ok: false, status: 400, error: { code: "api_refused" } });
  });

  test("unwrap gives the data of a success and throws the ApiError, for an outcome and for a promise of one", async () => {
    const good = client(variant, () => Response.json([1])).service;
    expect(unwrap(await good.call("listDevices"))).toEqual([1]);
    expect(await unwrap(good.call("listDevices"))).toEqual([1]);
    const bad = client(variant, () => text("", 404)).service;
    const refused = await bad.call("listDevices");
    let thrown: unknown;
    try {
      unwrap(refused);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBe(refused.error);
    expect(await rejectionOf(unwrap(bad.call("listDevices")))).toMatchObject({ code: "api_refused" });
  });
});

test("a variant's client takes no Auth of the other", () => {
  const auth = numberedAuth({ variant: "B", now: Date.now });
  expect(() => createVariantAClient(auth as never)).toThrow(
    expect.objectContaining({ code: "option_invalid" }),
  );
  expect(() => createVariantBClient(numberedAuth({ variant: "A", now: Date.now }) as never)).toThrow();
});
