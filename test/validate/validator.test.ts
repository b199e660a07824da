/**
 * Response validation: it reports or throws, names paths and expectations, and never changes the
 * data.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createService, isUnexpectedResponseError, type ServiceEvent } from "../../src/index.js";
import { jsonSchemas } from "../../src/json-schema/index.js";
import { type Validate, type ValidationMode, validator } from "../../src/validate.js";
import { numberedAuth } from "../support/numbered-auth.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";

const SECRET = "very-secret-1b2c3d";
const text = { type: "string" };
const schema = jsonSchemas({
  Device: {
    type: "object",
    properties: {
      id: text,
      name: { type: "string", minLength: 1 },
      labels: { type: "object", additionalProperties: text },
    },
    required: ["id", "name"],
  },
  Devices: { type: "array", items: { $ref: "#/$defs/Device" } },
});
const operations = {
  listDevices: { responses: { 200: schema("Devices") } },
  getDevice: { responses: { 200: schema("Device") } },
};
const schemas = { A: { operations }, B: { operations } };
const getDevice = { method: "GET", path: "/v1/device", success: [200], failure: [] };
const paths = { listDevices: { ...getDevice, path: "/v1/devices" }, getDevice };

/** A service whose every call is answered with this body. */
function answering(body: unknown, mode: ValidationMode, { status = 200, own = true } = {}) {
  const events: ServiceEvent[] = [];
  const text = body === undefined ? null : JSON.stringify(body);
  const service = createService(numberedAuth({ variant: "A", now: Date.now }), {
    fetch: async () =>
      new Response(text, { status, headers: { "content-type": "application/json" } }),
    onEvent: (event) => void (/^call_(started|finished)$/.test(event.type) || events.push(event)),
    validate: own ? validator(mode, schemas) : validator(mode),
    ...(own && { api: { operations: { A: paths, B: paths } } as never }),
  });
  const get = (service.paths as unknown as { GET(path: string): Promise<unknown> }).GET;
  return {
    events,
    list: (init = {}) => service.call("listDevices", init),
    get: () => get("/v1/device"),
  };
}

test.each(["report", "strict"] as const)(
  "%s passes documented data and keeps unknown keys",
  async (mode) => {
    const colour = { undocumented: ["yes"] };
    const right = [{ id: "d1", name: "Pump", labels: { floor: "2" }, colour }];
    const { list, events } = answering(right, mode);
    expect(await list()).toMatchObject({ ok: true, data: right });
    expect(events).toEqual([]);
  },
);

describe("data in another shape", () => {
  const wrong = [{ id: 7, name: "" }, { id: SECRET }];
  const issues = [
    "$[0].id: expected string",
    "$[0].name: expected at least 1 characters",
    "$[1].name: expected string (missing)",
  ];

  test("is reported as an event and returned unchanged in the mode report", async () => {
    const { list, events } = answering(wrong, "report");
    expect(await list()).toMatchObject({ ok: true, data: wrong });
    const of = { operationId: "listDevices", status: 200, variant: "A" };
    expect(events).toMatchObject([{ type: "response_invalid", ...of, issues }]);
  });

  test("makes a call reject with response_shape in the mode strict", async () => {
    const error = await rejectionOf(answering(wrong, "strict").list());
    expect(isUnexpectedResponseError(error)).toBe(true);
    expect(error).toMatchObject({ code: "response_shape", status: 200, variant: "A", issues });
  });

  test("is found in the answer to a call by path, and in an empty answer", async () => {
    const path = answering({ id: "d1" }, "strict").get();
    const issues = ["$.name: expected string (missing)"];
    expect(await rejectionOf(path)).toMatchObject({ issues });
    const empty = answering(undefined, "strict").list();
    expect(await rejectionOf(empty)).toMatchObject({ issues: ["$: expected array"] });
  });

  test("in every row of a list is reported as twenty issues and a count", async () => {
    const rows = Array.from({ length: 500 }, () => ({ id: "d" }));
    const { issues: found } = Object(await rejectionOf(answering(rows, "strict").list()));
    expect(found).toHaveLength(21);
    expect(found.at(-1)).toBe("and 480 more");
  });
});

describe("values of the data", () => {
  const labels = { [SECRET]: 1 };

  test.each([
    { name: "a value", body: [{ id: "d", name: { SECRET } }], at: "[0].name: expected string" },
    { name: "a whole body that is a text", body: SECRET, at: ": expected array" },
    { name: "a key", body: [{ id: "d", name: "n", labels }], at: "[0].labels[*]: expected string" },
  ])("do not reach an event or an error: $name", async ({ body, at }) => {
    const reporting = answering(body, "report");
    await reporting.list();
    expect(reporting.events).toHaveLength(1);
    const error = await rejectionOf(answering(body, "strict").list());
    expect(error).toMatchObject({ code: "response_shape", issues: [`$${at}`] });
    expect(shown([reporting.events, error])).not.toContain(SECRET);
  });

  test("do not get into an event through zod messages that the application configured", async () => {
    z.config({ customError: ({ input }) => `got ${JSON.stringify(input)}` });
    try {
      const { list, events } = answering([{ id: 1, name: { token: SECRET } }], "report");
      await list();
      expect(shown(events)).not.toContain(SECRET);
    } finally {
      z.config({ customError: undefined });
    }
  });
});

describe("validation passes", () => {
  test.each([
    { name: "an operation without a schema", operationId: "startPlanet", status: 200 },
    {
      name: "an operation named like a member of objects",
      operationId: "constructor",
      status: 200,
    },
    { name: "a status without a schema", operationId: "getDevice", status: 204 },
  ])("$name", ({ operationId, status }) => {
    const answer = { variant: "B", operationId, status, data: { anything: 1 } } as const;
    expect(() => validator("strict", schemas)(answer, () => {})).not.toThrow();
  });

  test("any device list with the shipped documents, which do not describe its shape", async () => {
    const { list } = answering({ whatever: [null] }, "strict", { own: false });
    expect(await list()).toMatchObject({ ok: true });
  });

  test("an answer in an envelope, whose shape the description does not show", async () => {
    const { list } = answering({ wrapped: [] }, "strict");
    expect(await list({ envelope: "wrapped" })).toMatchObject({ ok: true });
  });

  test("a refusal", async () => {
    const { list, events } = answering({ unexpected: true }, "strict", { status: 404 });
    expect(await list()).toMatchObject({ ok: false, status: 404 });
    expect(events.map(({ type }) => type)).toEqual(["call_refused"]);
  });
});

test("the shipped documents check the token response of section 2.3", () => {
  const check = validator("strict");
  const answer = { variant: "A", operationId: "requestToken", status: 200 } as const;
  const data = { access_token: "t", token_type: "Bearer", expires_in: 3600, extra: 1 };
  expect(() => check({ ...answer, data }, () => {})).not.toThrow();
  const wrong = { ...answer, data: { ...data, expires_in: "1h" } };
  expect(() => check(wrong, () => {})).toThrow(/\$\.expires_in: expected/);
});

test.each(["report", "strict"] as const)(
  "%s without the schemas of `api` is refused, since it would check nothing",
  (mode) => {
    const auth = numberedAuth({ variant: "A", now: Date.now });
    const api = { operations: { A: { listDevices: getDevice, getDevice }, B: {} } } as never;
    const create = (validate: Validate) => createService(auth, { api, validate });
    expect(() => create(validator(mode))).toThrow(
      expect.objectContaining({ code: "option_invalid", option: "validate" }),
    );
    expect(() => create(validator(mode))).toThrow(/getDevice\. .*validator\("strict", schemas\)/);
    for (const validate of [validator(mode, schemas), () => {}])
      expect(() => create(validate)).not.toThrow();
  },
);

test("an unknown mode and schemas of another shape are option_invalid", () => {
  const refusal = (option: string) => expect.objectContaining({ code: "option_invalid", option });
  expect(() => validator("loud" as "strict")).toThrow(refusal("mode"));
  for (const wrong of [{}, 5, "x", true, null])
    expect(() => validator("strict", wrong as typeof schemas)).toThrow(refusal("schemas"));
});
