// A fetch whose answers a test lets through one by one, so that what happens meanwhile can be looked at.
import { type FetchCall, type ScriptedFetch, scriptedFetch } from "./scripted-fetch.js";

export interface GatedFetch extends ScriptedFetch {
  /** Resolves when so many requests have come. */
  arrived(count: number): Promise<void>;
  /** Lets the oldest request that waits have its answer. */
  answer(response: Response | Error): void;
}

export function gatedFetch(): GatedFetch {
  const waiting: { resolve(response: Response): void; reject(error: unknown): void }[] = [];
  const watchers: { count: number; resolve(): void }[] = [];
  const fetch: ScriptedFetch = scriptedFetch((call: FetchCall) => {
    const answer = new Promise<Response>((resolve, reject) => {
      waiting.push({ resolve, reject });
      call.init.signal?.addEventListener("abort", () => reject(call.init.signal?.reason));
    });
    for (const watcher of watchers) if (fetch.calls.length >= watcher.count) watcher.resolve();
    return answer;
  });
  return Object.assign(fetch, {
    arrived(count: number): Promise<void> {
      if (fetch.calls.length >= count) return Promise.resolve();
      return new Promise((resolve) => watchers.push({ count, resolve }));
    },
    answer(response: Response | Error) {
      const next = waiting.shift();
      if (next === undefined) throw new Error("no request waits for an answer");
      if (response instanceof Error) next.reject(response);
      else next.resolve(response);
    },
  });
}
