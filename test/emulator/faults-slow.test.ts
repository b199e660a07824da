// A slow answer drips, ends at once when its caller leaves, and leaves no timer behind.
import { Server } from "node:http";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Emulator, Fault } from "../../src/emulator/index.js";
import { collectGarbage, rejectionOf } from "../support/wait.js";
import { PluginClient, TOKEN_PATH_A as TOKEN } from "./deployment.js";
import { watchedTimers, ways } from "./two-ways.js";

const HOUR_MS = 3_600_000;
/** The time for one byte at a hundredth of a byte per second. */
const DROP_MS = 100_000;

test.each(ways)(
  "$name: the head of a slow answer comes at once, the body in drops",
  async ({ open }) => {
    const plugin = new PluginClient();
    const send = await open(plugin.emulator);
    plugin.emulator.faults.add({ name: "slow", bytesPerSecond: 1000 });
    // Bytes a second are of the machine's time, as a socket is.
    const startedAt = performance.now();
    const response = await send(TOKEN, { method: "POST", body: plugin.form() });
    const sizes: number[] = [];
    for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>)
      sizes.push(bytes.length);
    const size = sizes.reduce((sum, one) => sum + one, 0);
    expect(size).toBe(Number(response.headers.get("content-length")));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(100);
    // A timer may be a millisecond early.
    expect(performance.now() - startedAt).toBeGreaterThan(size - 10);
  },
);

const slow: { name: string; fault: Fault }[] = [
  { name: "a drip", fault: { name: "slow", bytesPerSecond: 0.01 } },
  { name: "a late answer", fault: { name: "slow", delayMs: HOUR_MS } },
  { name: "a late request", fault: { name: "slow", at: "before-token", delayMs: HOUR_MS } },
];

const read = async (sent: Promise<Response>) => (await sent).text();

describe.each(slow)("$name", ({ fault }) => {
  test.each(ways)(
    "ends with the caller's abort and leaves no timer behind, $name",
    async ({ open }) => {
      const plugin = new PluginClient();
      const send = await open(plugin.emulator);
      const timers = watchedTimers(HOUR_MS, DROP_MS);
      const handle = plugin.emulator.faults.add(fault);
      const controller = new AbortController();
      const form = plugin.form();
      const sent = read(send(TOKEN, { method: "POST", body: form, signal: controller.signal }));
      const rejection = rejectionOf(sent);
      await expect.poll(() => handle.fired).toBe(1);
      await expect.poll(timers).toBe(1);
      const reason = new Error("enough");
      controller.abort(reason);
      expect(await rejection).toBe(reason);
      await expect.poll(timers).toBe(0);
      const [entry] = await plugin.emulator.journal.waitFor({ fault: "slow" });
      expect(entry?.status).toBe(
        fault.name === "slow" && fault.bytesPerSecond !== undefined ? 200 : 0,
      );
    },
  );

  test.each(ways)("ends at a reset, and the caller gets its answer, $name", async ({ open }) => {
    const plugin = new PluginClient();
    const { emulator } = plugin;
    const send = await open(emulator);
    const timers = watchedTimers(HOUR_MS, DROP_MS);
    const handle = emulator.faults.add(fault);
    const sent = read(send(TOKEN, { method: "POST", body: plugin.form() }));
    await expect.poll(() => handle.fired).toBe(1);
    await expect.poll(timers).toBe(1);
    emulator.reset();
    expect(JSON.parse(await sent)).toMatchObject({ token_type: "Bearer" });
    expect(timers()).toBe(0);
  });

  test("ends at once when the server closes", async () => {
    const plugin = new PluginClient();
    const { url, close } = await plugin.emulator.listen();
    const timers = watchedTimers(HOUR_MS, DROP_MS);
    const handle = plugin.emulator.faults.add({ ...fault, count: 3 });
    const forms = [plugin.form(), plugin.form(), plugin.form()];
    const rejections = forms.map((body) =>
      rejectionOf(read(fetch(url + TOKEN, { method: "POST", body }))),
    );
    await expect.poll(() => handle.fired).toBe(3);
    await expect.poll(timers).toBe(3);
    const force = vi.spyOn(Server.prototype, "closeAllConnections");
    onTestFinished(() => force.mockRestore());
    await close();
    expect(force).not.toHaveBeenCalled();
    for (const rejection of rejections) expect(await rejection).toBeInstanceOf(TypeError);
    await expect.poll(timers).toBe(0);
  });
});

test("a drip ends with the abort of an in-process caller that kept no reference to what it sent", async () => {
  const more = { headers: { "content-type": "application/x-www-form-urlencoded", "x-more": "1" } };
  const callers: ((url: string, init: RequestInit) => Parameters<Emulator["fetch"]>)[] = [
    (url, init) => [url, init],
    (url, init) => [new Request(url, init)],
    (url, init) => [new Request(url, init), more],
  ];
  for (const argumentsOf of callers) {
    const plugin = new PluginClient();
    const { emulator } = plugin;
    const handle = emulator.faults.add({ name: "slow", bytesPerSecond: 0.01 });
    const controller = new AbortController();
    const init = { method: "POST", body: plugin.form(), signal: controller.signal };
    const sent = emulator.fetch(...argumentsOf(plugin.tokenUrl(), init));
    const rejection = rejectionOf(read(sent));
    await expect.poll(() => handle.fired).toBe(1);
    // After this turn of the event loop, only references that are in use keep the request alive.
    await new Promise(setImmediate);
    collectGarbage();
    const reason = new Error("enough");
    controller.abort(reason);
    expect(await rejection).toBe(reason);
  }
});

test("a drip whose reader leaves early leaves no timer behind", async () => {
  const plugin = new PluginClient();
  const timers = watchedTimers(HOUR_MS, DROP_MS);
  plugin.emulator.faults.add({ name: "slow", bytesPerSecond: 0.01 });
  const response = await plugin.requestToken();
  expect(timers()).toBe(1);
  await response.body?.cancel();
  expect(timers()).toBe(0);
});
