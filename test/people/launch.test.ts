// Variant A's launch: its code is exchanged once, and its token cannot be renewed.
import { decodeProtectedHeader } from "jose";
import { describe, expect, test, vi } from "vitest";
import {
  memoryStore,
  redeemLaunch,
  resumeAuth,
  type ServiceEvent,
  userInterfacePlugin,
} from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { type FetchScript, scriptedFetch } from "../support/fetch.js";
import { pkcs8, rsaKey } from "../support/keys.js";
import { rejectionOf, settle } from "../support/wait.js";
import { latch } from "./person.js";

const codeVerifier = "verifier-verifier-verifier-verifier-verifier";
const operator = { userId: "u-1", firstname: "Ada", lastname: "Lovelace" };
const granted = () =>
  Response.json({
    access_token: "token-of-ada",
    token_type: "Bearer",
    expires_in: 3600,
    revo: { tenant: "acme", user: operator, roles: [{ name: "planner", group: "staff" }] },
  });

function launch(script: FetchScript = granted) {
  const clock = steppedClock();
  const fetch = scriptedFetch(script);
  const events: ServiceEvent[] = [];
  const options = {
    baseUrl: "https://service.example",
    tenantId: "acme",
    credential: userInterfacePlugin({ clientId: "planner", privateKey: pkcs8(rsaKey()) }),
    person: "session-1",
    store: memoryStore({ clock }),
    fetch,
    clock,
    retryDeadlineMs: 0,
    onEvent: (event: ServiceEvent) => void events.push(event),
  };
  return {
    events,
    clock,
    fetch,
    options,
    redeem: (code = "the-code") => redeemLaunch({ ...options, code, codeVerifier }),
  };
}

describe("a launch", () => {
  test("that waited for the rate limit is signed with the key that is valid then", async () => {
    const headers = { "retry-after": "10" };
    const { clock, fetch, options } = launch((_call, index) =>
      index === 0 ? new Response("", { status: 429, headers }) : granted(),
    );
    let keyId = "old";
    const credential = userInterfacePlugin({
      clientId: "planner",
      privateKey: () => ({ privateKey: pkcs8(rsaKey()), keyId }),
    });
    const redeem = (code: string) =>
      redeemLaunch({ ...options, credential, code, codeVerifier, retryDeadlineMs: 60_000 });
    await rejectionOf(redeem("first"));
    const waiting = redeem("second");
    await settle();
    keyId = "new";
    await clock.through(waiting);
    const keyIds = fetch.calls.map(({ body }) => {
      const assertion = new URLSearchParams(body).get("client_assertion") ?? "";
      return decodeProtectedHeader(assertion).kid;
    });
    expect(keyIds).toEqual(["old", "new"]);
  });

  test.each([
    { name: "unchanged", tenant: "umbrella", told: "umbrella" },
    { name: "empty if it echoes the token", tenant: "of token-of-ada", told: "" },
    { name: "empty if it echoes the code", tenant: "code the-code-of-a-launch", told: "" },
    { name: "empty if it echoes the verifier", tenant: codeVerifier, told: "" },
  ])("reports a token for another tenant, $name", async ({ tenant, told }) => {
    const answer = () => Response.json({ access_token: "token-of-ada", revo: { tenant } });
    const { events, redeem } = launch(answer);
    await redeem("the-code-of-a-launch");
    expect(events.find(({ type }) => type === "tenant_differs")).toMatchObject({ tenant: told });
  });

  test("is resumed from the store until its token expires", async () => {
    const { clock, options, redeem } = launch();
    await redeem();
    const token = await (await resumeAuth(options))?.getAccessToken();
    expect(token).toMatchObject({ value: "token-of-ada", operator });
    expect(await resumeAuth({ ...options, person: "session-2" })).toBeUndefined();
    clock.advance(3_600_000);
    expect(await resumeAuth(options)).toBeUndefined();
  });

  test.each([
    { name: "with a store", without: {} },
    { name: "without a store", without: { store: undefined, person: undefined } },
  ])("$name sends a code once when it is redeemed ten times at once", async ({ without }) => {
    const { fetch, options } = launch();
    const given = { ...options, ...without, code: "the-code", codeVerifier };
    const all = await Promise.allSettled(Array.from({ length: 10 }, () => redeemLaunch(given)));
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const one of all)
      if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "launch_refused" });
    expect(fetch.calls).toHaveLength(1);
    // For another tenant the same string is another code.
    await redeemLaunch({ ...given, tenantId: "umbrella" });
    expect(fetch.calls).toHaveLength(2);
  });

  test("can be redeemed again if its code was not sent because of an abort or a store failure", async () => {
    const { fetch, options, redeem } = launch();
    const controller = new AbortController();
    const inner = { ...options.store };
    options.store.set = async (...written) => {
      controller.abort(new Error("gone"));
      return inner.set(...written);
    };
    const { signal } = controller;
    const wait = redeemLaunch({ ...options, code: "the-code", codeVerifier, signal });
    expect(await rejectionOf(wait)).toMatchObject({ message: "gone" });
    options.store.set = () => Promise.reject(new Error("redis://user:password@host is down"));
    await expect
      .poll(async () => rejectionOf(redeem()))
      .toMatchObject({ code: "store_unavailable" });
    options.store.set = inner.set;
    expect(fetch.calls).toHaveLength(0);
    expect((await (await redeem()).getAccessToken()).value).toBe("token-of-ada");
  });

  test("runs to its end and is stored if it is aborted after its code was sent", async () => {
    const controller = new AbortController();
    const answer = latch();
    const { fetch, options } = launch(async () => answer.promise.then(granted));
    const { signal } = controller;
    const wait = rejectionOf(redeemLaunch({ ...options, code: "the-code", codeVerifier, signal }));
    await expect.poll(() => fetch.calls.length).toBe(1);
    controller.abort(new Error("gone"));
    expect(await wait).toMatchObject({ message: "gone" });
    answer.release();
    await expect.poll(async () => (await resumeAuth(options)) !== undefined).toBe(true);
  });
});

describe.each([
  { name: "its settings", credential: (read: () => Promise<never>) => userInterfacePlugin(read) },
  {
    name: "its privateKey",
    credential: (privateKey: () => Promise<never>) =>
      userInterfacePlugin({ clientId: "planner", privateKey }),
  },
])("a launch whose credential has a function for $name that hangs", ({ credential }) => {
  const redeem = (read: () => Promise<never>, signal?: AbortSignal) => {
    const { options, clock } = launch();
    const given = { ...options, credential: credential(read), code: "the-code", codeVerifier };
    return rejectionOf(clock.through(redeemLaunch({ ...given, signal })));
  };

  test("rejects after timeoutMs", async () => {
    const error = await redeem(() => new Promise(() => {}));
    expect(error).toMatchObject({ code: "timed_out", retryable: true });
  });

  test("rejects with the signal's reason when it is aborted", async () => {
    const controller = new AbortController();
    const hang = () =>
      new Promise<never>(() => setImmediate(() => controller.abort(new Error("gone"))));
    expect(await redeem(hang, controller.signal)).toMatchObject({ message: "gone" });
  });
});

test("a launch code that did not reach the service, because the connection was refused, can be sent again", async () => {
  const cause = { code: "ECONNREFUSED" };
  const { fetch, redeem } = launch(async (_call, index) => {
    if (index === 0) throw Object.assign(new TypeError("fetch failed"), { cause });
    return granted();
  });
  expect(await rejectionOf(redeem())).toMatchObject({ code: "network_failed" });
  expect((await redeem()).variant).toBe("A");
  expect(await rejectionOf(redeem())).toMatchObject({ code: "launch_refused" });
  expect(fetch.calls).toHaveLength(2);
});

test("a launch code that was not sent, because the signer failed, can be sent again", async () => {
  const { fetch, options } = launch();
  const sign = vi.fn(async () => new Uint8Array(256));
  sign.mockRejectedValueOnce(new Error("throttled"));
  const privateKey = { keyId: "kms", sign };
  const credential = userInterfacePlugin({ clientId: "planner", privateKey });
  const redeem = () => redeemLaunch({ ...options, credential, code: "the-code", codeVerifier });
  expect(await rejectionOf(redeem())).toMatchObject({ code: "key_invalid" });
  expect((await redeem()).variant).toBe("A");
  expect(fetch.calls).toHaveLength(1);
});

test.each([
  { error: "invalid_grant", status: 400, again: "launch_refused" },
  { error: "slow_down", status: 429, again: "rate_limited" },
])("a launch code is sent once if it is refused with $error", async ({ error, status, again }) => {
  const refusal = () => Response.json({ error }, { status });
  const { fetch, events, redeem } = launch(refusal);
  const refused = { name: "RelaunchRequiredError", code: "launch_refused", variant: "A" };
  expect(await rejectionOf(redeem())).toMatchObject(refused);
  const { requestId } = events[0] ?? {};
  const failed = { type: "token_failed", code: "launch_refused", clientId: "planner", requestId };
  expect(events.at(-1)).toMatchObject(failed);
  expect(await rejectionOf(redeem())).toMatchObject({ code: again });
  expect(fetch.calls).toHaveLength(1);
});

test.each([
  { option: "signal", value: { aborted: false } },
  { option: "store", value: {} },
])("redeemLaunch sends nothing with another object as $option", async ({ option, value }) => {
  const { fetch, options } = launch();
  const given = { ...options, code: "the-code", codeVerifier, [option]: value };
  const refused = { name: "ConfigurationError", code: "option_invalid", option };
  expect(await rejectionOf(redeemLaunch(given))).toMatchObject(refused);
  expect(fetch.calls).toHaveLength(0);
});
