// What the message of a refused call advises, by what points there.
import { describe, expect, test } from "vitest";
import { createService } from "../../src/index.js";
import { scriptedAuth } from "../support/auth.js";
import { type FetchCall, tokenAnswer } from "../support/fetch.js";
import { rejectionOf } from "../support/wait.js";
import { type ScriptedService, scriptedService } from "./scripted-service.js";

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
  const own = createService(auth, { maxRetries: 0, api });
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

test("one operation that is not found does not say that the deployment may have moved, however often it is called", async () => {
  const { messageOf } = service(missing);
  for (const _ of [1, 2]) expect(await messageOf("getGate")).not.toMatch(moved);
});

test("an empty 404 for a path without a record says that the deployment may have moved, and JSON does not", async () => {
  expect(await service(missing).messageOf("listDevices")).toMatch(moved);
  const said = service(() => Response.json({ reason: "no devices" }, { status: 404 }));
  expect(await said.messageOf("listDevices")).not.toMatch(moved);
});

test("a page as a 404 says so too when the size of answers is limited", async () => {
  const headers = { "content-type": "text/html" };
  const { call } = service(() => new Response("<p>Not found</p>", { status: 404, headers }));
  const { error } = await call("listDevices", { maxResponseBytes: 1_000 });
  expect(error?.message).toMatch(moved);
});

test("two operations in a row that are not found say that the deployment may have moved, until a call succeeds", async () => {
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
  expect(error).toMatchObject({
    code: "operation_unknown",
    message: expect.stringMatching(message),
  });
});

describe("bodyInMessage", () => {
  const unknownDevice = { error: "unknown device", id: 7 };
  const refusing = (status: number, body: BodyInit | ((request: FetchCall) => string)) =>
    scriptedService(
      "A",
      (request) => new Response(typeof body === "function" ? body(request) : body, { status }),
      { bodyInMessage: true },
    );
  const messageOf = async ({ call }: ScriptedService, init: object = {}) => {
    const { error } = (await call("listDevices", init)) as { error: Error };
    return error.message;
  };

  test("ends the message of a refused call with the body", async () => {
    const refused = refusing(422, JSON.stringify(unknownDevice, null, 2));
    expect(await messageOf(refused)).toMatch(
      /^listDevices was answered 422: .* The body: \{"error":"unknown device","id":7\}$/,
    );
    expect(await messageOf(refusing(502, "<h1>Bad\ngateway</h1>"))).toMatch(
      / The body: <h1>Bad gateway<\/h1>$/,
    );
  });

  test("is off by default", async () => {
    const silent = scriptedService("A", () => Response.json(unknownDevice, { status: 422 }));
    expect(await messageOf(silent)).not.toContain("unknown device");
  });

  test("adds nothing for an empty body, and at most its beginning for one that JSON can hardly write again", async () => {
    expect(await messageOf(refusing(422, ""))).not.toContain("The body");
    // Before Node 26 this overflows the stack.
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    const [, shown = ""] = (await messageOf(refusing(422, deep))).split(" The body: ");
    expect(["", `${"[".repeat(500)}…`]).toContain(shown);
  });

  test("shows at most 500 characters, on one line and without control characters", async () => {
    const long = await messageOf(
      refusing(500, `a\u0000b\u001b[31m\u202e\r\nc${"x".repeat(100_000)}`),
    );
    const [, shown = ""] = long.split(" The body: ");
    expect(shown).toMatch(/^a b \[31m cx+…$/);
    expect(shown.length).toBe(501);
  });

  const key = "Kä/+~?k>y";
  const withKey = { headers: { "X-Api-Key": key } };
  test.each<{ name: string; body: (sent: Record<string, string>) => unknown; init?: object }>([
    { name: "the bearer", body: ({ authorization }) => ({ sent: authorization }) },
    { name: "a cookie", body: () => "no canary", init: { headers: { cookie: "a=b; sid=canary" } } },
    {
      name: "credentials for a proxy",
      body: () => "user:pass",
      init: { headers: { "proxy-authorization": "Basic user:pass" } },
    },
    { name: "a key in a header", body: () => [key], init: withKey },
    { name: "a key in another case", body: () => [key.toUpperCase()], init: withKey },
    { name: "a key of a URL", body: () => encodeURIComponent(key).toLowerCase(), init: withKey },
    ...["", "k", "kk"].map((before) => ({
      name: `a key as base64 after "${before}"`,
      body: () => ({ trace: btoa(`${before}${key} and more`) }),
      init: withKey,
    })),
  ])("leaves out a body that repeats $name", async ({ body, init }) => {
    const echo = refusing(400, ({ headers }) => JSON.stringify(body(Object.fromEntries(headers))));
    expect(await messageOf(echo, init)).toMatch(
      / The body is left out, since it repeats a secret that was sent\.$/,
    );
  });

  test("shows a body that repeats another header, or the name of a cookie", async () => {
    const body = "the session of 0123456789abcdef is over";
    const cookie = "session=xyz; a=b";
    const headers = { "x-request-id": "0123456789abcdef", cookie, "x-key-version": "1" };
    expect(await messageOf(refusing(400, body), { headers })).toContain(`The body: ${body}`);
  });

  test("leaves out a body that repeats the bearer which was refused before this answer", async () => {
    const answer = () => new Response("Bearer token-1", { status: 401 });
    const replayed = scriptedService("B", answer, { bodyInMessage: true });
    await replayed.auth.getAccessToken();
    replayed.clock.advance(60_000);
    expect(await messageOf(replayed)).toMatch(/sent once more.* The body is left out/);
  });
});
