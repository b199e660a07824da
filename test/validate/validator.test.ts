/** Response validation: reports or throws, names paths and expectations, and hands the data out untouched. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Auth, createService, isUnexpectedResponseError, type ServiceEvent } from "../../src/index.js";
import { type ValidationMode, validator } from "../../src/validate.js";
import { shown } from "../support/shown.js";
import * as api from "../types/fixture/generated/operations.js";
import { schemas } from "../types/fixture/generated/schemas.js";

const SECRET = "very-secret-1b2c3d";

function authOf<V extends "A" | "B">(variant: V): Auth & { readonly variant: V } {
  return {
    variant,
    baseUrl: "https://service.example",
    tenantId: "acme",
    getAccessToken: async () => ({ value: "token", expiresAt: Number.MAX_SAFE_INTEGER }),
    invalidate: () => {},
  };
}

/** A service whose every call is answered with this body. */
function answering(body: unknown, mode: ValidationMode, { status = 200, own = true } = {}) {
  const events: ServiceEvent[] = [];
  const text = body === undefined ? null : JSON.stringify(body);
  const options = {
    fetch: async () => new Response(text, { status, headers: { "content-type": "application/json" } }),
    onEvent: (event: ServiceEvent) => events.push(event),
    validate: own ? validator(mode, schemas) : validator(mode),
  };
  return { events, service: createService(authOf("A"), { ...options, api }) };
}

const right = [{ id: "d1", name: "Pump", labels: { floor: "2" }, colour: { undocumented: ["yes"] } }];

describe("data in the documented shape", () => {
  test.each(["report", "strict"] as const)("passes in mode %s, and unknown keys survive", async (mode) => {
    const { service, events } = answering(right, mode);

    const outcome = await service.call("listDevices");

    expect(outcome).toMatchObject({ ok: true, data: right });
    expect(outcome.ok && Object.keys(outcome.data[0] ?? {})).toEqual(["id", "name", "labels", "colour"]);
    expect(events).toEqual([]);
  });
});

describe("data in another shape", () => {
  const wrong = [{ id: 7, name: "" }, { id: SECRET }];
  const issues = [
    "$[0].id: expected string",
    "$[0].name: expected at least 1 characters",
    "$[1].name: expected string",
  ];

  test("is reported as an event, and handed out all the same", async () => {
    const { service, events } = answering(wrong, "report");

    const outcome = await service.call("listDevices");

    expect(outcome).toMatchObject({ ok: true, data: wrong });
    expect(events).toEqual([
      expect.objectContaining({
        type: "response_invalid",
        operationId: "listDevices",
        status: 200,
        variant: "A",
        tenantId: "acme",
        issues,
      }),
    ]);
  });

  test("throws response_shape in strict mode", async () => {
    const { service } = answering(wrong, "strict");

    const error = await service.call("listDevices").catch((thrown: unknown) => thrown);

    expect(isUnexpectedResponseError(error)).toBe(true);
    expect(error).toMatchObject({ code: "response_shape", status: 200, variant: "A", issues });
  });

  test("holds in paths too", async () => {
    const { service } = answering({ id: "d1" }, "strict");
    const params = { path: { deviceId: "d1" } };

    await expect(
      service.paths.GET("/api/v1/{tenantId}/devices/{deviceId}", { params }),
    ).rejects.toMatchObject({ issues: ["$.name: expected string"] });
  });

  test("is wrong too when it is not there at all", async () => {
    const { service } = answering(undefined, "strict");

    await expect(service.call("listDevices")).rejects.toMatchObject({ issues: ["$: expected array"] });
  });
});

describe("values of the answer", () => {
  const names = { [SECRET]: 1 };

  test.each([
    { name: "a value of the wrong type", body: [{ id: "d", name: { token: SECRET } }] },
    { name: "a whole body that is a text", body: SECRET },
    { name: "a key of a map", body: [{ id: "d", name: "n", labels: names }] },
  ])("do not reach issues, message, event or inspection: $name", async ({ body }) => {
    const reporting = answering(body, "report");
    const strict = answering(body, "strict");

    await reporting.service.call("listDevices");
    const error = await strict.service.call("listDevices").catch((thrown: unknown) => thrown);

    expect(reporting.events).toHaveLength(1);
    expect(shown(reporting.events)).not.toContain(SECRET);
    expect(isUnexpectedResponseError(error)).toBe(true);
    expect(shown(error)).not.toContain(SECRET);
  });

  test("do not reach them through an error map of the application's either", async () => {
    z.config({ customError: ({ input }) => `got ${JSON.stringify(input)}` });
    try {
      const { service, events } = answering([{ id: 1, name: { token: SECRET } }], "report");
      await service.call("listDevices");
      expect(shown(events)).not.toContain(SECRET);
    } finally {
      z.config({ customError: undefined });
    }
  });

  test("a key that no schema declares is a star, so that the place is still told", async () => {
    const { service } = answering([{ id: "d", name: "n", labels: names }], "strict");

    await expect(service.call("listDevices")).rejects.toMatchObject({
      issues: ["$[0].labels[*]: expected string"],
    });
  });

  test("a list that is wrong in every row makes twenty issues and a count", async () => {
    const { service } = answering(
      Array.from({ length: 500 }, () => ({ id: "d" })),
      "strict",
    );

    const error = await service.call("listDevices").catch((thrown: unknown) => thrown);

    const { issues } = error as { issues: string[] };
    expect(issues).toHaveLength(21);
    expect(issues.at(-1)).toBe("and 480 more");
  });
});

describe("what the documents give no schema", () => {
  const told = (operationId: string, status = 200, data: unknown = { anything: 1 }) => {
    const events: unknown[] = [];
    const answer = { variant: "B", operationId, status, data } as const;
    validator("strict", schemas)(answer, (event) => events.push(event));
    return events;
  };

  test.each([
    { name: "an operation that is not in them", run: () => told("startPlanet") },
    { name: "an operation named like a member of every object", run: () => told("constructor") },
    { name: "a status without content", run: () => told("getDevice", 204, undefined) },
    { name: "a status of no response, though there is a default", run: () => told("listDevices", 206) },
  ])("passes: $name", ({ run }) => {
    expect(run()).toEqual([]);
  });

  test("the device list of our own documents is not shown, so every body passes", async () => {
    const { service } = answering({ whatever: [null] }, "strict", { own: false });

    expect(await service.call("listDevices")).toMatchObject({ ok: true });
  });

  test("a refusal is not validated", async () => {
    const { service, events } = answering({ unexpected: true }, "strict", { status: 404 });

    const outcome = await service.call("getDevice", { params: { path: { deviceId: "d" } } });

    expect(outcome).toMatchObject({ ok: false, status: 404 });
    expect(events.map(({ type }) => type)).toEqual(["call_refused"]);
  });
});

describe("our own documents", () => {
  test("hold the token answer of section 2.3 where it is asked for by hand", () => {
    const check = validator("strict");
    const answer = { variant: "A", operationId: "requestToken", status: 200 } as const;
    const data = { access_token: "t", token_type: "Bearer", expires_in: 3600, extra: 1 };

    expect(() => check({ ...answer, data }, () => {})).not.toThrow();
    expect(() => check({ ...answer, data: { ...data, expires_in: "1h" } }, () => {})).toThrow(
      /\$\.expires_in: expected/,
    );
  });
});

test.each([
  { name: "an unknown mode", make: () => validator("loud" as "strict"), option: "mode" },
  { name: "schemas that are none", make: () => validator("strict", {} as typeof schemas), option: "schemas" },
])("$name is a ConfigurationError at once", ({ make, option }) => {
  expect(make).toThrow(expect.objectContaining({ code: "option_invalid", option }));
});
