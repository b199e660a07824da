// Fake timers as the page of the emulator promises them: no option, with Vitest and with what Jest
// uses.
import FakeTimers from "@sinonjs/fake-timers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createEmulator } from "../../src/emulator/index.js";
import { createConnector, serviceAccount } from "../../src/index.js";
import { rejectionOf, settle } from "../support/wait.js";

/** Each fakes the time of this machine, and returns a function that lets it pass. */
const fakes = {
  "vi.useFakeTimers()": () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    return (ms: number) => vi.advanceTimersByTimeAsync(ms);
  },
  // jest.useFakeTimers() fakes nextTick and queueMicrotask too.
  "the fake timers of Jest": () => {
    const fake = FakeTimers.install();
    onTestFinished(() => fake.uninstall());
    return (ms: number) => fake.tickAsync(ms);
  },
};
/** Shorter than each wait below: a wait by a real timer, which the fakes do not see, fails here. */
const timeout = 25_000;

describe.each(Object.entries(fakes))("under %s", { timeout }, (_name, fakeTime) => {
  function world() {
    const step = fakeTime();
    const pass = async (ms: number) => {
      await settle();
      // Each try starts timers of its own, after turns of the event loop that one long step would
      // jump over.
      for (let left = ms; left > 0; left -= 500) {
        await step(Math.min(left, 500));
        await settle();
      }
    };
    // A short life: timers of requests of other files in this process are fired meanwhile, one at a
    // time.
    const emulator = createEmulator({
      publicUrl: "https://customer.example",
      tokenLifetimeSeconds: 120,
    });
    const worker = { clientId: "worker", clientSecret: "not a real secret" };
    emulator.registerServiceAccount({ ...worker, tenantId: "acme" });
    let isHung = false;
    const durations: number[] = [];
    const connector = createConnector({
      credentials: [serviceAccount(worker)],
      onEvent: (event) => {
        if (event.type === "call_finished") durations.push(event.durationMs);
      },
      fetch(input, init) {
        if (!isHung) return emulator.fetch(new Request(input, init));
        return new Promise((_resolve, reject) => {
          init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
        });
      },
    });
    const connecting = connector.connect({ baseUrl: emulator.publicUrl, tenantId: "acme" });
    const statuses = () =>
      emulator.journal.tokenRequests({ clientId: "worker" }).map(({ status }) => status);
    const hang = () => {
      isHung = true;
    };
    return { emulator, connecting, pass, statuses, hang, durations };
  }

  test("a token is renewed after its life, and not before", async () => {
    const { connecting, pass, statuses } = world();
    const service = await connecting;
    await service.call("listDevices");
    await service.call("listDevices");
    expect(statuses()).toEqual([200]);
    await pass(120_000);
    expect((await service.call("listDevices")).status).toBe(200);
    expect(statuses()).toEqual([200, 200]);
  });

  test("the wait after a 429 ends at its Retry-After, and not before", async () => {
    const { emulator, connecting, pass, statuses } = world();
    emulator.faults.add({ name: "rate-limited", retryAfter: 30, match: { clientId: "worker" } });
    const service = await connecting;
    const call = service.call("listDevices");
    await pass(29_000);
    expect(statuses()).toEqual([429]);
    await pass(4_000);
    expect((await call).status).toBe(200);
    expect(statuses()).toEqual([429, 200]);
  });

  test("a time limit ends a call that hangs", async () => {
    const { connecting, hang, pass, durations } = world();
    const service = await connecting;
    hang();
    const ended = rejectionOf(service.call("listDevices"));
    await pass(60_000);
    expect(await ended).toMatchObject({ code: "timed_out" });
    expect(durations).toEqual([expect.toSatisfy((ms: number) => ms > 1000 && ms <= 60_000)]);
  });
});
