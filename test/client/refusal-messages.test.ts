// What the message of a refused call advises, by what points there.
import { expect, test } from "vitest";
import { createService } from "../../src/index.js";
import { scriptedAuth } from "../support/auth.js";
import { plugin } from "../support/deployment.js";
import { tokenAnswer } from "../support/fetch.js";
import { rejectionOf } from "../support/wait.js";

const route = (path: string) => ({ method: "GET", path, success: [200], failure: [] });
const B = {
  listDevices: route("/v1/devices"),
  getGate: route("/v1/gates/{id}"),
  getDoor: route("/v1/doors/{id}"),
};
const api = { operations: { A: {}, B } };

/** Answers calls with these in turn, and with the last one from then on. */
function service(...answers: (() => Response)[]) {
  let calls = 0;
  const { auth } = scriptedAuth("B", ({ url }) => {
    if (url.endsWith("/token")) return tokenAnswer();
    return answers[Math.min(calls++, answers.length - 1)]?.() ?? Response.error();
  });
  const own = createService(auth, { retries: 0, api });
  const call = own.call as unknown as Caller;
  /** Returns "" for a success. */
  const messageOf = async (id: string) => {
    const { error } = await call(id, { params: { path: { id: 1 } } });
    return error?.message ?? "";
  };
  return { call, messageOf };
}

type Caller = (operationId: string, init?: object) => Promise<{ readonly error?: Error }>;

const missing = () => new Response(null, { status: 404 });
const moved = /may have moved to the other variant/;

test("one operation that is not found does not advise that the deployment has moved, however often it is called", async () => {
  const { messageOf } = service(missing);
  for (const _ of [1, 2]) expect(await messageOf("getGate")).not.toMatch(moved);
});

test("an empty 404 for a path that names no record advises it, and one with JSON does not", async () => {
  expect(await service(missing).messageOf("listDevices")).toMatch(moved);
  const said = service(() => Response.json({ reason: "no devices" }, { status: 404 }));
  expect(await said.messageOf("listDevices")).not.toMatch(moved);
});

test("two operations in a row that are not found do, until a call succeeds", async () => {
  const { messageOf } = service(missing, missing, () => Response.json([]), missing);
  expect(await messageOf("getGate")).not.toMatch(moved);
  expect(await messageOf("getDoor")).toMatch(moved);
  expect(await messageOf("listDevices")).toBe("");
  expect(await messageOf("getGate")).not.toMatch(moved);
});

test("a refusal without a body does not advise to read the body", async () => {
  const empty = service(() => new Response(null, { status: 422 }));
  expect(await empty.messageOf("listDevices")).toMatch(/without a body.*Check its parameters/);
  const full = service(() => Response.json({ reason: "x" }, { status: 422 }));
  expect(await full.messageOf("listDevices")).toMatch(/Read the body of the error/);
});

test.each([
  ["listDevicez", /no operation with the id "listDevicez"\. Use listDevices\. It has: /],
  ["frobnicate", /no operation with the id "frobnicate"\. It has: /],
  ["a secret with spaces", /no operation with that id\. It has: /],
])("an unknown operation is named in the message: %s", async (id, message) => {
  const error = await rejectionOf(service(missing).call(id));
  expect(error).toMatchObject({ code: "operation_unknown", message: expect.stringMatching(message) });
});

test("a PEM whose content is not a key is damaged, and not of another kind", async () => {
  const content = btoa("this is not a key, but it is base64");
  const privateKey = `-----BEGIN PRIVATE KEY-----\n${content}\n-----END PRIVATE KEY-----`;
  const { auth } = scriptedAuth(plugin({ privateKey }), () => tokenAnswer());
  expect(await rejectionOf(auth.getAccessToken())).toMatchObject({
    code: "key_invalid",
    message: expect.stringMatching(/cannot be read/),
  });
});
