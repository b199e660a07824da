// Sends the same requests in-process and over HTTP, and records the results.
import { onTestFinished, vi } from "vitest";
import type { Emulator } from "../../src/emulator/index.js";

/** `path` is under the base URL. */
export type Send = (path: string, init?: RequestInit) => Promise<Response>;

export interface WayIn {
  readonly name: string;
  /** From here on `publicUrl` is the base URL that requests go to. */
  open(emulator: Emulator): Promise<Send>;
}

export const ways: readonly WayIn[] = [
  { name: "in-process", open: async (emulator) => (path, init) => emulator.fetch(path, init) },
  {
    name: "over HTTP",
    async open(emulator) {
      const { url, close } = await emulator.listen();
      onTestFinished(close);
      return (path, init) => fetch(url + path, { redirect: "manual", ...init });
    },
  },
];

/** The result of a request: an answer, a part of one, or none. */
export interface Observed {
  /** The code of the fault with which fetch rejected. */
  readonly fetchFailed?: string | undefined;
  readonly status?: number;
  readonly type?: string | null;
  readonly length?: string | null;
  readonly text?: string;
  /** The code of the fault with which the body ended. */
  readonly bodyFailed?: string | undefined;
}

export async function observe(sent: Promise<Response>): Promise<Observed> {
  let response: Response;
  try {
    response = await sent;
  } catch (error) {
    return { fetchFailed: codeOf(error) };
  }
  const { status, headers } = response;
  const head = { status, type: headers.get("content-type"), length: headers.get("content-length") };
  const decoder = new TextDecoder();
  let text = "";
  try {
    const reader = response.body?.getReader();
    for (let chunk = await reader?.read(); chunk?.value !== undefined; chunk = await reader?.read())
      text += decoder.decode(chunk.value, { stream: true });
    return { ...head, text };
  } catch (error) {
    return { ...head, text, bodyFailed: codeOf(error) };
  }
}

function codeOf(error: unknown): string {
  const { name, cause } = error as { name: string; cause?: { code?: string } };
  return `${name} ${cause?.code}`;
}

/** Returns a function that counts the running timers of these lengths, until the test ends. */
export function watchedTimers(...lengthsMs: readonly number[]): () => number {
  const { setTimeout: realSet, clearTimeout: realClear } = globalThis;
  const waiting = new Set<unknown>();
  vi.stubGlobal("setTimeout", (task: () => void, ms = 0, ...rest: unknown[]) => {
    const handle = realSet(
      () => {
        waiting.delete(handle);
        task();
      },
      ms,
      ...rest,
    );
    if (lengthsMs.includes(ms)) waiting.add(handle);
    return handle;
  });
  vi.stubGlobal("clearTimeout", (handle: Parameters<typeof clearTimeout>[0]) => {
    waiting.delete(handle);
    realClear(handle);
  });
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  return () => waiting.size;
}
