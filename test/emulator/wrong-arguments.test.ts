// What is handed to the emulator in-process and cannot be used is refused typed, at once, and changes nothing.
import { describe, expect, onTestFinished, test } from "vitest";
import { createEmulator, EmulatorError } from "../../src/emulator/index.js";
import { newPkce } from "./pkce.js";
import { START } from "./plugin-client.js";

type Emulator = ReturnType<typeof createEmulator>;
const wrong = <Wrong>(value: unknown) => value as Wrong;
const circular: Record<string, unknown> = {};
circular.self = circular;
const page = { tenantId: "acme", clientId: "planner" };
const seed = {
  plugins: [{ ...page, type: "user_interface" as const, scopes: ["devices:read"] }],
  operators: [{ tenantId: "acme", userId: "ada", capabilities: ["devices:read"] }],
};

describe("an option", () => {
  test.each([
    {
      name: "extras that hold themselves",
      options: { tokenResponseExtras: { a: circular } },
      at: /^tokenRe/,
    },
    { name: "extras that are no JSON", options: { tokenResponseExtras: { a: () => 1 } }, at: /^tokenRe/ },
    { name: "devices that hold themselves", options: { devices: [{ id: "x", circular }] }, at: /^devices/ },
    {
      name: "a clock that throws",
      options: {
        now: () => {
          throw new Error("broken");
        },
      },
      at: /^now: must not throw$/,
    },
    { name: "a clock that returns a string", options: { now: () => "noon" }, at: /^now: must return/ },
    { name: "a clock that returns NaN", options: { now: () => Number.NaN }, at: /^now: must return/ },
    {
      name: "an option that throws as it is read",
      options: {
        get variants() {
          throw new Error("broken");
        },
      },
      at: /^cannot be read$/,
    },
  ])("$name is refused", ({ options, at }) => {
    expect(() => createEmulator(wrong(options))).toThrow(
      expect.objectContaining({
        name: "EmulatorError",
        code: "option_invalid",
        issues: [expect.stringMatching(at)],
      }),
    );
  });

  test("that is data is copied: later changes to the caller's object have no effect", async () => {
    const extras = { deep: { list: [1] } };
    const devices = [{ id: "door", tags: ["a"] }];
    const account = { clientId: "worker", clientSecret: "not a secret", tenantId: "acme" };
    const emulator = createEmulator({
      tokenResponseExtras: extras,
      devices,
      seed: { serviceAccounts: [account] },
    });
    devices[0]?.tags.push("b");
    extras.deep.list.push(2);
    emulator.reset();
    const credentials = { client_id: account.clientId, client_secret: account.clientSecret };
    const body = JSON.stringify({ grant_type: "client_credentials", ...credentials });
    const headers = { "content-type": "application/json" };
    const answer = await emulator.fetch("/v1/auth/token", { method: "POST", headers, body });
    const token = (await answer.json()) as { access_token: string; deep: object };
    expect(token.deep).toEqual({ list: [1] });
    const authorization = `Bearer ${token.access_token}`;
    const list = await emulator.fetch("/v1/devices", { headers: { authorization } });
    expect(await list.json()).toEqual([{ id: "door", tags: ["a"] }]);
  });

  test("a clock that throws later is reported by its name", () => {
    let now: unknown = START;
    const { clock } = createEmulator({ now: () => now as number });
    now = undefined;
    expect(() => clock.now()).toThrow(expect.objectContaining({ code: "option_invalid" }));
  });
});

test.each([{ input: undefined }, { input: null }, { input: 5 }])(
  "fetch refuses $input as fetch does",
  async ({ input }) => {
    await expect(createEmulator().fetch(wrong(input))).rejects.toThrow(
      new TypeError("fetch takes a URL or a Request"),
    );
  },
);

describe("listen", () => {
  test.each([
    { name: "a port below none", address: { port: -1 }, at: /^port: / },
    { name: "a port beyond all", address: { port: 65_536 }, at: /^port: / },
    { name: "half a port", address: { port: 1.5 }, at: /^port: / },
    { name: "a port that is a word", address: { port: "x" }, at: /^port: / },
    { name: "a host that is a number, not every interface", address: { host: 5 }, at: /^host: / },
    { name: "an empty host, not every interface", address: { host: "" }, at: /^host: / },
    { name: "a host that is null, not every interface", address: { host: null }, at: /^host: / },
    { name: "another member", address: { hostname: "127.0.0.1" }, at: /hostname/ },
    { name: "no object", address: null, at: /object/ },
  ])("refuses $name, and can listen then", async ({ address, at }) => {
    const emulator = createEmulator();
    await expect(emulator.listen(wrong(address))).rejects.toMatchObject({
      name: "EmulatorError",
      code: "option_invalid",
      issues: [expect.stringMatching(at)],
    });
    const { url, close } = await emulator.listen({ port: 0, host: wrong(undefined) });
    onTestFinished(close);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:/);
  });
});

describe("in-process", () => {
  const rows: { name: string; act: (emulator: Emulator) => unknown }[] = [
    { name: "a launch of nothing", act: ({ launch }) => launch(wrong(null)) },
    { name: "a launch of a number", act: ({ launch }) => launch({ ...page, userId: wrong(7) }) },
    {
      name: "an authorisation of nothing",
      act: ({ launch }) => launch({ ...page, userId: "ada" }).authorize(wrong(undefined)),
    },
    {
      name: "an authorisation of a number",
      act: ({ launch }) => {
        const init = { codeChallenge: "", opaqueCode: wrong<string>(7) };
        return launch({ ...page, userId: "ada" }).authorize(init);
      },
    },
    { name: "a login of nothing", act: ({ login }) => login(wrong(undefined)) },
    { name: "a login at what is no URL", act: ({ login }) => login({ url: "http://[", userId: "ada" }) },
    { name: "a login by nobody", act: ({ login }) => login(wrong({ url: "/v1/auth/authorize" })) },
    {
      name: "a login with another decision",
      act: ({ login }) => login({ url: "/v1/auth/authorize", userId: "ada", decision: wrong("maybe") }),
    },
    { name: "the key of nothing", act: ({ testKey }) => testKey(wrong(null)) },
    { name: "the clock put to a bigint", act: ({ clock }) => clock.set(wrong(10n)) },
    { name: "the clock put to null", act: ({ clock }) => clock.set(wrong(null)) },
    { name: "the clock put to a truth", act: ({ clock }) => clock.set(wrong(true)) },
    { name: "the clock put to a list", act: ({ clock }) => clock.set(wrong([2026])) },
    { name: "the clock frozen at null", act: ({ clock }) => clock.freeze(wrong(null)) },
    { name: "a reset to null", act: ({ reset }) => reset(wrong(null)) },
  ];
  test.each(rows)("$name is refused", ({ act }) => {
    const emulator = createEmulator({ seed, now: () => START });
    let caught: unknown;
    try {
      act(emulator);
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(EmulatorError);
    expect(caught).toMatchObject({ code: "option_invalid" });
    expect(emulator.clock.now()).toBe(START);
    expect(emulator.customerLog.entries()).toEqual([]);
  });

  test("a launch that was authorised wrongly can still be authorised", () => {
    const launch = createEmulator({ seed }).launch({ ...page, userId: "ada" });
    expect(() => launch.authorize(wrong(null))).toThrow(EmulatorError);
    expect(launch.authorize(newPkce())).toHaveProperty("code");
  });

  test("the clock takes a Date of another realm", async () => {
    const { runInNewContext } = await import("node:vm");
    const { clock } = createEmulator();
    clock.freeze(runInNewContext(`new Date(${START})`));
    expect(clock.now()).toBe(START);
  });
});
