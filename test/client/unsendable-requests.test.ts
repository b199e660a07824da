// What no fetch can send is refused typed before anything is sent, and never told as a fault of the network.
import { describe, expect, test } from "vitest";
import { createService } from "../../src/index.js";
import { createVariantAClient } from "../../src/variant-a.js";
import { createVariantBClient } from "../../src/variant-b.js";
import { scriptedFetch } from "../support/fetch.js";
import { numberedAuth } from "../support/numbered-auth.js";
import { recordingServer } from "../support/recording-server.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";

const planted = "planted-in-request";
const addNote = { method: "POST", path: "/v1/notes/{noteId}", success: [200], failure: [] };
const addForm = { ...addNote, contentType: "application/x-www-form-urlencoded" };
const operations = { A: { addNote, addForm }, B: { addNote, addForm } };

function client(variant: "A" | "B") {
  const fetch = scriptedFetch(() => Response.json({}));
  const service = createService(numberedAuth({ variant, now: Date.now }), { fetch, api: { operations } });
  const call = service.call as unknown as (id: string, init: object) => Promise<unknown>;
  return { fetch, service, call: call.bind(service) };
}

const circle: Record<string, unknown> = { [planted]: planted };
circle.itself = circle;
const path = { noteId: "n" };

const calls: { name: string; id?: string; init: object; option: string; code?: string }[] = [
  { name: "a body with a bigint", init: { params: { path }, body: { [planted]: 1n } }, option: "body" },
  { name: "a body that holds itself", init: { params: { path }, body: circle }, option: "body" },
  { name: "a body that is a function", init: { params: { path }, body: () => planted }, option: "body" },
  {
    name: "a form that holds itself",
    id: "addForm",
    init: { params: { path }, body: circle },
    option: "body",
  },
  {
    name: "a query of objects within objects",
    init: { params: { path, query: { of: { a: { b: planted } } } }, body: {} },
    option: "params.query",
  },
  {
    name: "a query with half a surrogate pair",
    init: { params: { path, query: { of: `${planted}\ud800` } }, body: {} },
    option: "params.query",
  },
  {
    name: "a path parameter with half a surrogate pair",
    init: { params: { path: { noteId: `${planted}\ud800` } }, body: {} },
    option: "params.path.noteId",
    code: "path_parameter_invalid",
  },
  {
    name: "an envelope with a line break",
    init: { params: { path }, body: {}, envelope: `${planted}\r\nx: y` },
    option: "headers",
  },
  {
    name: "an envelope that is null",
    init: { params: { path }, body: {}, envelope: null },
    option: "envelope",
  },
  { name: "an empty envelope", init: { params: { path }, body: {}, envelope: "" }, option: "envelope" },
  {
    name: "an envelope that is an object",
    init: { params: { path }, body: {}, envelope: {} },
    option: "envelope",
  },
];

const fetches: { name: string; init: object | null; option: string }[] = [
  { name: "a body beside GET", init: { body: planted }, option: "body" },
  { name: "a body beside head", init: { method: "head", body: planted }, option: "body" },
  { name: "a method with a space", init: { method: `GET ${planted}` }, option: "method" },
  { name: "an empty method", init: { method: "" }, option: "method" },
  { name: "CONNECT", init: { method: "connect" }, option: "method" },
  { name: "an init that is null", init: null, option: "init" },
];

describe.each(["A", "B"] as const)("Variant %s", (variant) => {
  test.each(calls)("call: $name", async ({ id = "addNote", init, option, code = "option_invalid" }) => {
    const { call, fetch } = client(variant);
    const error = await rejectionOf(call(id, init));
    expect(error).toMatchObject({ name: "ConfigurationError", code, option });
    expect(shown(error)).not.toContain(planted);
    expect(fetch.calls).toHaveLength(0);
  });

  test.each(fetches)("fetch: $name", async ({ init, option }) => {
    const { service, fetch } = client(variant);
    const error = await rejectionOf(service.fetch("v1/notes", init as RequestInit));
    expect(error).toMatchObject({ name: "ConfigurationError", code: "option_invalid", option });
    expect(shown(error)).not.toContain(planted);
    expect(fetch.calls).toHaveLength(0);
  });

  test("a stream is sent as it is: that a fetch asks for duplex beside it is nothing to know", async () => {
    const server = await recordingServer(() => ({ status: 200 }));
    const service = createService(numberedAuth({ variant, baseUrl: server.url, now: Date.now }));
    const { body } = new Response("streamed");
    expect((await service.fetch("v1/notes", { method: "POST", body })).status).toBe(200);
    expect(server.requests[0]?.body).toBe("streamed");
  });
});

test("a validate that is none is refused when a service is made, not with its first answer", () => {
  const refusal = { name: "ConfigurationError", code: "option_invalid", option: "validate" };
  const options = { validate: true as never };
  const ofA = numberedAuth({ variant: "A", now: Date.now });
  const ofB = numberedAuth({ variant: "B", now: Date.now });
  expect(() => createService(ofA, options)).toThrow(expect.objectContaining(refusal));
  expect(() => createVariantAClient(ofA, options)).toThrow(expect.objectContaining(refusal));
  expect(() => createVariantBClient(ofB, options)).toThrow(expect.objectContaining(refusal));
});
