// A time limit that is over when the test says so: no test waits for one, and none is met by a slow machine.
import "./load-at-once.js";
import { onTestFinished, vi } from "vitest";
import type { Script } from "./recording-server.js";

/** The `timeoutMs` to give to what is under test. */
export const HELD_LIMIT_MS = 58_765;

/** `expire` ends the limit that was set last, unless it was taken back. */
export function heldTimeLimit(): { expire(): void } {
  const { setTimeout: realSet, clearTimeout: realClear } = globalThis;
  let last: { handle: unknown; task: () => void } | undefined;
  vi.stubGlobal("setTimeout", (task: () => void, ms?: number, ...rest: unknown[]) => {
    if (ms !== HELD_LIMIT_MS) return realSet(task, ms, ...rest);
    const handle = realSet(() => {}, 0);
    last = { handle, task };
    return handle;
  });
  vi.stubGlobal("clearTimeout", (handle: Parameters<typeof clearTimeout>[0]) => {
    if (last?.handle === handle) last = undefined;
    realClear(handle);
  });
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  return { expire: () => last?.task() };
}

/** The same script, but where it leaves the client waiting the client's time limit is over. */
export function overWhereSilent(script: Script, { expire }: { expire(): void }): Script {
  return (request) => {
    const answer = script(request);
    if (answer === "silence") setImmediate(expire);
    return answer;
  };
}
