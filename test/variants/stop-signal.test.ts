// The signal of our own that stands where a renewal, a sleep or a gate is to be ended: as an AbortSignal does it.
import { describe, expect, test } from "vitest";
import { StopController, type StopSignal, waitWithin } from "../../src/http/time-limit.js";

function platform(): { signal: StopSignal; abort: (reason: unknown) => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason) => controller.abort(reason) };
}

function ours(): ReturnType<typeof platform> {
  const controller = new StopController();
  return { signal: controller, abort: (reason) => controller.abort(reason) };
}

describe.each([
  { name: "the platform's", make: platform },
  { name: "ours", make: ours },
])("a signal: $name", ({ make }) => {
  test("tells its state and its reason", () => {
    const { signal, abort } = make();
    expect([signal.aborted, signal.reason]).toEqual([false, undefined]);
    expect(() => signal.throwIfAborted()).not.toThrow();
    const reason = new Error("gone");
    abort(reason);
    abort(new Error("again"));
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toBe(reason);
    expect(() => signal.throwIfAborted()).toThrow(reason);
  });

  test("calls each listener once, and none that was taken away", () => {
    const { signal, abort } = make();
    const called: string[] = [];
    const gone = () => called.push("gone");
    const stays = () => called.push("stays");
    for (const listener of [gone, stays, stays]) signal.addEventListener("abort", listener, { once: true });
    signal.removeEventListener("abort", gone);
    abort(new Error("first"));
    abort(new Error("second"));
    expect(called).toEqual(["stays"]);
  });

  test("ends a wait with its reason, and the task is told", async () => {
    const { signal, abort } = make();
    const told: unknown[] = [];
    const limit = { variant: "A", baseUrl: "https://service.example", timeoutMs: 60_000, signal } as const;
    const wait = waitWithin(
      limit,
      () => new Promise(() => {}),
      (reason) => told.push(reason),
    );
    const reason = new Error("nobody waits");
    abort(reason);
    await expect(wait).rejects.toBe(reason);
    expect(told).toEqual([reason]);
  });
});
