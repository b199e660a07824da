// A call that is answered 401: the token is renewed and the call sent once more, where that can
// help.
import { describe, expect, test, vi } from "vitest";
import { callSupport } from "../../src/auth/auth.js";
import {
  type Auth,
  createConnector,
  LoginRequiredError,
  RelaunchRequiredError,
} from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { credentialOf } from "../support/deployment.js";
import { tokenAnswer } from "../support/fetch.js";
import { rejectionOf } from "../support/wait.js";
import { scriptedService } from "./scripted-service.js";

/** A service whose token is this old, with an API that refuses so many times. */
async function agedService(
  variant: "A" | "B",
  ageMs: number,
  refusals = 1,
  own: Partial<Auth> = {},
) {
  const scripted = scriptedService(variant, (_call, index) =>
    index < refusals ? new Response("", { status: 401 }) : Response.json([]),
  );
  const { auth, clock, fetch } = scripted;
  Object.assign(auth, own);
  await auth.getAccessToken();
  clock.correct(ageMs);
  const bearers = () => fetch.calls.map(({ headers }) => headers.get("authorization"));
  return { ...scripted, bearers };
}

test.each([
  { name: "nothing", token: undefined },
  { name: "the text of a token", token: "a-token" },
  { name: "the refusal of a broker", token: { error: "down" } },
])("an Auth that returns $name is refused, and nothing is sent", async ({ token }) => {
  const { service, auth, fetch } = scriptedService("B");
  auth.getAccessToken = async () => token as never;
  const refusal = { name: "ConfigurationError", code: "option_invalid", option: "auth" };
  expect(await rejectionOf(service.call("listDevices"))).toMatchObject(refusal);
  expect(await rejectionOf(service.fetch("v1/devices"))).toMatchObject(refusal);
  expect(fetch.calls).toHaveLength(0);
});

const launchOver = new RelaunchRequiredError("launch_expired", "The launch is over.");
const loginOver = new LoginRequiredError("login_expired", "The login is over.");
describe.each([
  { variant: "A", required: launchOver },
  { variant: "B", required: loginOver },
] as const)("a 401 of Variant $variant", ({ variant, required }) => {
  test.each([
    { name: "older than 30 s", ageMs: 30_001 },
    { name: "issued before the clock was set back", ageMs: -1 },
  ])(
    "for a token $name makes the client renew it and send the call once more",
    async ({ ageMs }) => {
      const { service, auth, bearers, events } = await agedService(variant, ageMs);
      expect(await service.call("listDevices")).toMatchObject({ ok: true });
      expect(auth.invalidated).toEqual(["token-1"]);
      expect(bearers()).toEqual(["Bearer token-1", "Bearer token-2"]);
      expect(events.map(({ type }) => type)).toEqual([
        "call_started",
        "call_replayed",
        "call_finished",
      ]);
    },
  );

  test("makes the client send new headers: those of the first request stay as they were", async () => {
    const { service, fetch } = await agedService(variant, 60_000);
    await service.call("listDevices");
    await service.fetch("v1/x");
    const [first, second] = fetch.calls.map(({ init }) => init.headers);
    expect(first).toMatchObject({ authorization: "Bearer token-1" });
    expect(second).toMatchObject({ authorization: "Bearer token-2" });
  });

  test("is the outcome if the token is 30 s old or less, because the route refuses it", async () => {
    const { service, auth, bearers } = await agedService(variant, 30_000);
    const message = expect.stringContaining(
      "not sent once more: that needs a token older than 30 s",
    );
    expect(await service.call("listDevices")).toMatchObject({
      error: { code: "api_unauthorized", message },
    });
    expect([auth.invalidated, bearers()]).toEqual([[], ["Bearer token-1"]]);
  });

  test("for the renewed token too does not drop it, because renewing would flood the token endpoint", async () => {
    const { service, auth, bearers } = await agedService(variant, 60_000, 9);
    for (const expected of [
      "The token was renewed, and the call was sent once more.",
      "It was not sent once more",
    ])
      expect((await service.call("listDevices")).error?.message).toContain(expected);
    expect(auth.invalidated).toEqual(["token-1"]);
    expect(bearers()).toEqual(["Bearer token-1", "Bearer token-2", "Bearer token-2"]);
  });

  test("is the outcome if the renewal returns the same token", async () => {
    const { service, bearers } = await agedService(variant, 60_000, 9, { invalidate: () => {} });
    expect((await service.call("listDevices")).error?.message).toContain(
      "It was not sent once more",
    );
    expect(bearers()).toEqual(["Bearer token-1"]);
  });

  test("in answer to service.fetch has the same effect, and a string body is sent again", async () => {
    const { service, fetch } = await agedService(variant, 60_000);
    expect((await service.fetch("v1/x", { method: "POST", body: "again" })).status).toBe(200);
    expect(fetch.calls.map(({ body }) => body)).toEqual(["again", "again"]);
  });

  test("is the outcome if the body is a stream, which cannot be sent again, and the token is dropped", async () => {
    const { service, auth, fetch } = await agedService(variant, 60_000);
    const init = { method: "POST", body: new ReadableStream(), duplex: "half" } as RequestInit;
    expect((await service.fetch("v1/x", init)).status).toBe(401);
    expect([fetch.calls.length, auth.invalidated]).toEqual([1, ["token-1"]]);
  });

  test("to service.fetch frees its connection if the renewal fails", async () => {
    const cancel = vi.fn();
    const answer = () => new Response(new ReadableStream({ cancel }), { status: 401 });
    const { service, auth, clock } = scriptedService(variant, answer);
    await auth.getAccessToken();
    clock.advance(60_000);
    auth.invalidate = () => {
      auth.getAccessToken = () => Promise.reject(new Error("no token"));
    };
    expect(await rejectionOf(service.fetch("v1/x"))).toMatchObject({ message: "no token" });
    expect(cancel).toHaveBeenCalledOnce();
  });

  test("names what to ask the person for if only a person can get another token", async () => {
    const own = { [callSupport]: { needsPerson: true, refused: () => required } };
    const { service, fetch, auth } = await agedService(variant, 30_001, 1, own);
    const { error } = await service.call("listDevices");
    expect(error).toMatchObject({ code: "api_unauthorized", cause: required });
    expect(error?.message).toContain(required.message);
    const over = variant === "A" ? "launch_over" : "login_over";
    expect(error?.causes?.map(({ id }) => id)).toEqual([over, "route_refuses_token"]);
    expect([fetch.calls.length, auth.invalidated]).toEqual([1, []]);
  });

  test.each([
    { name: "for a person's token of 30 s or less", ageMs: 30_000, refused: () => required },
    { name: "for the token of an Auth without refused()", ageMs: 30_001 },
  ])("$name asks the person for nothing and promises no renewal", async ({ ageMs, refused }) => {
    const own = { [callSupport]: { needsPerson: true, ...(refused && { refused }) } };
    const { service } = await agedService(variant, ageMs, 1, own);
    const { error } = await service.call("listDevices");
    expect(error).toMatchObject({ code: "api_unauthorized" });
    expect([error?.cause, error?.causes]).toEqual([undefined, undefined]);
    expect(error?.message).not.toContain("renewed");
  });
});

describe.each(["A", "B"] as const)("the option unauthorizedStatuses, Variant %s", (variant) => {
  const ok = () => Response.json([]);
  const status = (code: number) => () => new Response("", { status: code });

  test.each([
    { name: "a 403 for a token that was accepted before renews it", script: [200, 403], sent: 3 },
    { name: "a 403 for a token that was never accepted does not", script: [403], sent: 2 },
    { name: "a 401 counts even if the token was never accepted", script: [401], sent: 3 },
    { name: "a second 403 is the outcome", script: [200, 403, 403], sent: 3, last: 403 },
    { name: "a status that is not in it has no effect", script: [200, 404], sent: 2, last: 404 },
    { name: "an empty list switches it off", script: [200, 401], sent: 2, last: 401, only: [] },
    { name: "a 403 has no effect by default", script: [200, 403], sent: 2, last: 403, only: null },
    { name: "a 401 may be left out", script: [200, 401], sent: 2, last: 401, only: [403] },
  ])("$name", async ({ script, sent, last = 200, only = [401, 403] }) => {
    const answers = [...script];
    const options = only === null ? {} : { unauthorizedStatuses: only };
    const scripted = scriptedService(variant, () => status(answers.shift() ?? 200)(), options);
    await scripted.auth.getAccessToken();
    scripted.clock.advance(30_001);
    await scripted.service.call("listDevices");
    const { status: final } = await scripted.service.call("listDevices");
    expect([scripted.fetch.calls.length, final]).toEqual([sent, last]);
    expect(scripted.auth.invalidated).toHaveLength(sent - 2);
  });

  test("what one service has learnt of a token holds for the next service of a connector", async () => {
    const clock = steppedClock();
    const answers = [ok(), status(403)(), ok()];
    const fetch = async (url: string) =>
      url.endsWith("/token")
        ? tokenAnswer(`token-${answers.length}`)
        : (answers.shift() as Response);
    const credentials = [credentialOf(variant)];
    const connector = createConnector({ credentials, fetch, clock, unauthorizedStatuses: [403] });
    const target = { baseUrl: "https://service.example", tenantId: "acme" };
    await (await connector.connect(target)).call("listDevices");
    clock.advance(30_001);
    const { status: final } = await (await connector.connect(target)).call("listDevices");
    expect([final, answers.length]).toEqual([200, 0]);
  });
});
