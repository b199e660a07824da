// The odd values of a token answer, each with its one outcome: a token and its lifetime, or an error and when it is asked again.
import { describe, expect, test } from "vitest";
import { createAuth, type ServiceEvent } from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { shown } from "../support/shown.js";
import { rejectionOf, stillDigests } from "../support/wait.js";
import { BASE_URL, fakeService } from "./fake-service.js";

const value = "token-that-no-output-may-show";

function answered(variant: "A" | "B", answer: () => Response) {
  stillDigests();
  const clock = steppedClock();
  const { now } = clock;
  const events: ServiceEvent[] = [];
  const service = fakeService({ variant, now, onTokenRequest: (request) => request.answer(answer()) });
  const { credential, fetch } = service;
  const onEvent = (event: ServiceEvent) => void events.push(event);
  const auth = createAuth({ baseUrl: BASE_URL, tenantId: "acme", credential, fetch, now, onEvent });
  return { auth, clock, events, service };
}

const json = (fields: Record<string, unknown>) => () => Response.json({ access_token: value, ...fields });
const text = (fields: string) => () => new Response(`{"access_token":"${value}",${fields}}`);

interface Row {
  readonly name: string;
  readonly answer: () => Response;
  /** Of the token, in seconds; or the code of the error. */
  readonly outcome: number | string;
}

const rows: Row[] = [
  { name: "expires_in absent", answer: json({}), outcome: 3_600 },
  { name: "expires_in 0", answer: json({ expires_in: 0 }), outcome: "response_shape" },
  { name: "expires_in negative", answer: json({ expires_in: -3_600 }), outcome: "response_shape" },
  { name: "expires_in null", answer: json({ expires_in: null }), outcome: "response_shape" },
  { name: 'expires_in "3600"', answer: json({ expires_in: "3600" }), outcome: 3_600 },
  { name: 'expires_in "1h"', answer: json({ expires_in: "1h" }), outcome: "response_shape" },
  { name: "expires_in 1e12", answer: text('"expires_in":1e12'), outcome: "response_shape" },
  { name: "expires_in 1e999", answer: text('"expires_in":1e999'), outcome: "response_shape" },
  { name: "expires_in 1", answer: json({ expires_in: 1 }), outcome: 1 },
  { name: "expires_in a year", answer: json({ expires_in: 31_536_000 }), outcome: 31_536_000 },
  { name: "token_type absent", answer: json({ expires_in: 60 }), outcome: 60 },
  { name: "token_type bearer", answer: json({ token_type: "bearer", expires_in: 60 }), outcome: 60 },
  { name: "token_type mac", answer: json({ token_type: "mac" }), outcome: "response_shape" },
  { name: "a 200 with an error", answer: json({ error: "invalid_client" }), outcome: "token_refused" },
  { name: "a 200 with an empty error", answer: json({ error: "" }), outcome: "token_refused" },
  {
    name: "a body of 5 MB",
    answer: () => new Response(`{"access_token":"${value}","x":"${"x".repeat(5 * 1024 * 1024)}"}`),
    outcome: "response_too_large",
  },
  {
    name: "a body of 5 MB that says so",
    answer: () => new Response("x", { headers: { "content-length": String(5 * 1024 * 1024) } }),
    outcome: "response_too_large",
  },
  {
    name: "a body of just under 1 MB",
    answer: json({ expires_in: 60, padding: "x".repeat(1_000_000) }),
    outcome: 60,
  },
  {
    name: "an Age and an old Date",
    answer: withHeaders({ age: "60", date: "Thu, 01 Jan 2026" }),
    outcome: 60,
  },
  { name: "a Date of garbage", answer: withHeaders({ date: "soon" }), outcome: 60 },
];

function withHeaders(headers: Record<string, string>): () => Response {
  return () => Response.json({ access_token: value, expires_in: 60 }, { headers });
}

describe.each(["A", "B"] as const)("Variant %s", (variant) => {
  test.each(rows)("$name: $outcome", async ({ answer, outcome }) => {
    const { auth, clock, events, service } = answered(variant, answer);
    if (typeof outcome === "number") {
      const token = await auth.getAccessToken();
      expect((token.expiresAt - clock.now()) / 1_000).toBe(outcome);
      // Never "for ever": at its end it is asked for anew.
      clock.advance(outcome * 1_000);
      await auth.getAccessToken();
      expect(service.tokenRequests).toHaveLength(2);
      return;
    }
    const error = await rejectionOf(auth.getAccessToken());
    expect(error).toMatchObject({ code: outcome, variant, status: 200 });
    expect(shown(error) + shown(events)).not.toContain(value);
    // Held back by the closing schedule, and then asked once more.
    expect(await rejectionOf(auth.getAccessToken())).toBe(error);
    expect(service.tokenRequests).toHaveLength(1);
    expect(events.filter(({ type }) => type === "closed_after_refusal")).toMatchObject([
      { code: outcome, retryAt: clock.now() + 1_000 },
    ]);
    clock.advance(1_000);
    await rejectionOf(auth.getAccessToken());
    expect(service.tokenRequests).toHaveLength(2);
  });
});

describe("revo of Variant A", () => {
  const person = { userId: "u-1", firstname: "Ada" };
  const revos: { name: string; fields: Record<string, unknown>; token: object; differs?: string }[] = [
    {
      name: "nested",
      fields: { revo: { tenant: "acme", user: person, roles: [{ name: "admin", group: "all" }] } },
      token: { tenant: "acme", operator: person, roles: [{ name: "admin", group: "all" }] },
    },
    {
      name: "flat",
      fields: { "revo.tenant": "acme", "revo.user": person, "revo.roles": [{ name: "admin" }] },
      token: { tenant: "acme", operator: person, roles: [{ name: "admin" }] },
    },
    { name: "absent", fields: {}, token: {} },
    {
      name: "of wrong types",
      fields: { revo: { tenant: 7, user: ["u"], roles: { name: "admin" } } },
      token: {},
    },
    { name: "that is a text", fields: { revo: "acme" }, token: {} },
    { name: "that is null", fields: { revo: null }, token: {} },
    {
      name: "with a role of wrong types",
      fields: { revo: { roles: [7, null, { name: 1 }, { name: "admin", group: 2 }] } },
      token: { roles: [{ name: "admin" }] },
    },
    { name: "with a person without userId", fields: { revo: { user: { firstname: "Ada" } } }, token: {} },
    {
      name: "with another tenant",
      fields: { revo: { tenant: "globex-industries" } },
      token: { tenant: "globex-industries" },
      differs: "globex-industries",
    },
  ];
  test.each(revos)("$name: the token is served", async ({ fields, token: expected, differs }) => {
    const { auth, events } = answered("A", json(fields));
    const { tenant, operator, roles } = await auth.getAccessToken();
    const told = Object.fromEntries(Object.entries({ tenant, operator, roles }).filter(([, field]) => field));
    expect(told).toEqual(expected);
    const different = events.filter(({ type }) => type === "tenant_differs");
    expect(different).toMatchObject(differs === undefined ? [] : [{ tenant: differs, tenantId: "acme" }]);
  });
});
