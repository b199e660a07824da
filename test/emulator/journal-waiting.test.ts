// Waiting for requests: as soon as they came, not before, and never for ever.
import { describe, expect, test } from "vitest";
import { createEmulator } from "../../src/emulator/index.js";
import { settled } from "../support/wait.js";
import { PluginClient } from "./plugin-client.js";
import { watchedTimers } from "./watched-timers.js";

const LONG_MS = 1_234_567;
const isPending = async (promise: Promise<unknown>) => {
  let pending = true;
  promise.then(
    () => (pending = false),
    () => (pending = false),
  );
  await settled();
  return pending;
};

test("it resolves with the request that was waited for, and with no other", async () => {
  const plugin = new PluginClient();
  const waiting = plugin.emulator.journal.waitFor({ tenantId: "acme", status: 200 });
  await plugin.requestToken({ tenantId: "globex" });
  await plugin.requestToken({ claims: { aud: "x" } });
  expect(await isPending(waiting)).toBe(true);
  await plugin.requestToken();
  expect(await waiting).toMatchObject([{ id: 3, tenantId: "acme", clientId: "reporter", status: 200 }]);
});

test("what came before the call counts", async () => {
  const plugin = new PluginClient();
  await plugin.requestToken();
  expect(await plugin.emulator.journal.waitFor()).toHaveLength(1);
  const waiting = plugin.emulator.journal.waitFor({ endpoint: "token" }, { count: 3 });
  await plugin.requestToken();
  expect(await isPending(waiting)).toBe(true);
  await plugin.requestToken();
  expect((await waiting).map(({ id }) => id)).toEqual([1, 2, 3]);
  expect(await plugin.emulator.journal.waitFor({}, { count: 2 })).toHaveLength(3);
});

test("since an instant, only what came then", async () => {
  const plugin = new PluginClient();
  await plugin.requestToken();
  plugin.now += 1;
  const waiting = plugin.emulator.journal.waitFor({ since: plugin.now });
  expect(await isPending(waiting)).toBe(true);
  await plugin.requestToken();
  expect(await waiting).toMatchObject([{ id: 2 }]);
});

test("many wait at once, each for its own", async () => {
  const plugin = new PluginClient();
  const { journal } = plugin.emulator;
  const waiting = [1, 2, 3, 4].map((count) => journal.waitFor({ endpoint: "token" }, { count }));
  const never = journal.waitFor({ operation: "listDevices" });
  await Promise.all([1, 2, 3, 4].map(() => plugin.requestToken()));
  expect((await Promise.all(waiting)).map(({ length }) => length)).toEqual([1, 2, 3, 4]);
  expect(await isPending(never)).toBe(true);
  await plugin.call(undefined);
  expect(await never).toMatchObject([{ status: 401 }]);
});

test("the journal may be emptied meanwhile: what was seen was seen", async () => {
  const plugin = new PluginClient();
  const waiting = plugin.emulator.journal.waitFor({}, { count: 2 });
  await plugin.requestToken();
  plugin.emulator.journal.clear();
  await plugin.requestToken();
  expect(await waiting).toHaveLength(2);
});

test("a reset does not end it, but it counts anew", async () => {
  const emulator = createEmulator();
  const waiting = emulator.journal.waitFor({}, { count: 2 });
  await emulator.fetch("/one");
  emulator.reset();
  await emulator.fetch("/two");
  expect(await isPending(waiting)).toBe(true);
  await emulator.fetch("/three");
  expect((await waiting).map(({ path }) => path)).toEqual(["/two", "/three"]);
});

describe("it ends", () => {
  test("when its time is over, and says how many came", async () => {
    const plugin = new PluginClient();
    const timers = watchedTimers(5);
    await plugin.requestToken();
    const waiting = plugin.emulator.journal.waitFor({ status: 200 }, { count: 2, timeoutMs: 5 });
    expect(timers()).toBe(1);
    await expect(waiting).rejects.toMatchObject({
      name: "EmulatorError",
      code: "journal_timeout",
      message: expect.stringContaining("1 of 2"),
    });
    expect(timers()).toBe(0);
    await expect(plugin.emulator.journal.waitFor({ status: 1 }, { timeoutMs: 0 })).rejects.toMatchObject({
      code: "journal_timeout",
    });
  });

  test("with the signal's reason, and leaves nothing behind", async () => {
    const plugin = new PluginClient();
    const timers = watchedTimers(LONG_MS);
    const controller = new AbortController();
    const { signal } = controller;
    const waiting = plugin.emulator.journal.waitFor({}, { signal, timeoutMs: LONG_MS });
    expect(timers()).toBe(1);
    const reason = new Error("enough");
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(plugin.emulator.journal.waitFor({}, { signal })).rejects.toBe(reason);
    expect(timers()).toBe(0);
    await plugin.requestToken();
  });

  test("with what was waited for, and leaves nothing behind", async () => {
    const plugin = new PluginClient();
    const timers = watchedTimers(LONG_MS);
    const waiting = plugin.emulator.journal.waitFor({}, { timeoutMs: LONG_MS });
    expect(timers()).toBe(1);
    await plugin.requestToken();
    await waiting;
    expect(timers()).toBe(0);
  });
});

test.each([
  { name: "no requests", options: { count: 0 }, field: "count" },
  { name: "an endless time", options: { timeoutMs: Number.POSITIVE_INFINITY }, field: "timeoutMs" },
  { name: "a time beyond what a timer takes", options: { timeoutMs: 2 ** 31 }, field: "timeoutMs" },
  { name: "a signal that is none", options: { signal: {} as AbortSignal }, field: "signal" },
  { name: "an unknown option", options: { timeout: 1 } as object, field: "timeout" },
])("waiting for $name is refused", async ({ options, field }) => {
  await expect(createEmulator().journal.waitFor({}, options)).rejects.toMatchObject({
    code: "option_invalid",
    message: expect.stringContaining(field),
  });
});
