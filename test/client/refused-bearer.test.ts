// A call that is answered 401: the token is renewed and the call sent once more, where that can
// help.
import { describe, expect, test } from "vitest";
import { callSupport } from "../../src/auth/auth.js";
import { createEmulator } from "../../src/emulator/index.js";
import {
  type Auth,
  connect,
  createConnector,
  LoginRequiredError,
  RelaunchRequiredError,
  serviceAccount,
  servicePlugin,
} from "../../src/index.js";
import { START, steppedClock } from "../support/clock.js";
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

describe.each([
  {
    variant: "A" as const,
    required: new RelaunchRequiredError("launch_expired", "The launch is over."),
  },
  {
    variant: "B" as const,
    required: new LoginRequiredError("login_expired", "The login is over."),
  },
])("a 401 of Variant $variant", ({ variant, required }) => {
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
    for (const told of [
      "The token was renewed, and the call was sent once more.",
      "It was not sent once more",
    ])
      expect((await service.call("listDevices")).error?.message).toContain(told);
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

  test("makes the call reject with the error of a failed renewal", async () => {
    const fault = new Error("no token");
    const { service, auth } = await agedService(variant, 60_000);
    const getAccessToken = auth.getAccessToken.bind(auth);
    auth.getAccessToken = async (options) => {
      if (auth.invalidated.length > 0) throw fault;
      return getAccessToken(options);
    };
    expect(await rejectionOf(service.call("listDevices"))).toBe(fault);
  });

  test("to service.fetch frees its connection if the renewal fails", async () => {
    let isFree = false;
    const body = new ReadableStream({
      cancel: () => {
        isFree = true;
      },
    });
    const { service, auth, clock } = scriptedService(
      variant,
      () => new Response(body, { status: 401 }),
    );
    await auth.getAccessToken();
    clock.advance(60_000);
    auth.invalidate = () => {
      auth.getAccessToken = () => Promise.reject(new Error("no token"));
    };
    expect(await rejectionOf(service.fetch("v1/x"))).toMatchObject({ message: "no token" });
    expect(isFree).toBe(true);
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
    {
      name: "for a person's token of 30 s or less",
      ageMs: 30_000,
      own: { refused: () => required },
    },
    { name: "for the token of an Auth without refused()", ageMs: 30_001, own: {} },
  ])("$name asks the person for nothing and promises no renewal", async ({ ageMs, own }) => {
    const { service } = await agedService(variant, ageMs, 1, {
      [callSupport]: { needsPerson: true, ...own },
    });
    const { error } = await service.call("listDevices");
    expect([error?.code, error?.cause, error?.causes]).toEqual([
      "api_unauthorized",
      undefined,
      undefined,
    ]);
    expect(error?.message).not.toContain("renewed");
  });
});

describe.each(["A", "B"] as const)("the option unauthorizedStatuses, Variant %s", (variant) => {
  const ok = () => Response.json([]);
  const status = (code: number) => () => new Response("", { status: code });

  const row = (
    name: string,
    script: (() => Response)[],
    sent: number,
    last?: number,
    only?: number[],
  ) => ({ name, script, sent, last, only });
  test.each([
    row("a 403 for a token that was accepted before renews it", [ok, status(403)], 3),
    row("a 403 for a token that was never accepted does not", [status(403)], 2),
    row("a 401 counts even if the token was never accepted", [status(401)], 3),
    row("a second 403 is the outcome", [ok, status(403), status(403)], 3, 403),
    row("a status that is not in it has no effect", [ok, status(404)], 2, 404),
    row("an empty list switches it off", [ok, status(401)], 2, 401, []),
    row("a 401 that is left out has no effect", [ok, status(401)], 2, 401, [403]),
  ])("$name", async ({ script, sent, last = 200, only = [401, 403] }) => {
    const answers = [...script];
    const options = { unauthorizedStatuses: only };
    const scripted = scriptedService(variant, () => (answers.shift() ?? ok)(), options);
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
    const options = {
      credentials: [credentialOf(variant)],
      fetch,
      clock,
      unauthorizedStatuses: [403],
    };
    const connector = createConnector(options);
    const target = { baseUrl: "https://service.example", tenantId: "acme" };
    await (await connector.connect(target)).call("listDevices");
    clock.advance(30_001);
    const { status: final } = await (await connector.connect(target)).call("listDevices");
    expect([final, answers.length]).toEqual([200, 0]);
  });

  test("renews the token of a service that refuses expired tokens with that status", async () => {
    const emulator = createEmulator({ now: () => START, bearerStatus: 403 });
    emulator.clock.freeze();
    const client = { tenantId: "acme", clientId: "worker", clientSecret: "not a real secret" };
    const { clientSecret, ...plugin } = client;
    emulator.registerPlugin({ ...plugin, type: "service", scopes: ["devices:read"] });
    emulator.registerServiceAccount(client);
    const privateKey = emulator.testKey(plugin);
    const credential =
      variant === "A"
        ? servicePlugin({ clientId: "worker", privateKey })
        : serviceAccount({ clientId: "worker", clientSecret });
    let at = START;
    const options = {
      baseUrl: emulator.publicUrl,
      tenantId: "acme",
      fetch: emulator.fetch,
      clock: { now: () => at },
    };
    const service = await connect({
      ...options,
      credentials: [credential],
      unauthorizedStatuses: [403],
    });
    await service.call("listDevices");
    emulator.clock.advance(3_600_000);
    at += 30_001;
    expect(await service.call("listDevices")).toMatchObject({ status: 200 });
    const issued = emulator.journal.tokenRequests().filter(({ status }) => status === 200);
    expect(issued).toHaveLength(2);
  });

  test.each([
    { unauthorizedStatuses: 401 },
    { unauthorizedStatuses: ["401"] },
    { unauthorizedStatuses: [302] },
  ])("is rejected if it is $unauthorizedStatuses", (options) => {
    const refusal = expect.objectContaining({
      code: "option_invalid",
      option: "unauthorizedStatuses",
    });
    expect(() => scriptedService(variant, ok, options as never)).toThrow(refusal);
  });
});

test.each(["A", "B"] as const)("a 403 of Variant %s is never sent again", async (variant) => {
  const { service, auth, clock, fetch } = scriptedService(
    variant,
    () => new Response("", { status: 403 }),
  );
  await auth.getAccessToken();
  clock.advance(60_000);
  expect(await service.call("listDevices")).toMatchObject({ status: 403 });
  expect(fetch.calls).toHaveLength(1);
  expect(auth.invalidated).toEqual([]);
});
