// Callers in-process that hold on to nothing of what they gave: by then the engine may have collected it.
import type { Emulator } from "../../src/emulator/index.js";

export interface PassingCaller {
  readonly name: string;
  readonly send: (emulator: Emulator, url: string, init: RequestInit) => Promise<Response>;
}

export const passingCallers: readonly PassingCaller[] = [
  { name: "a URL", send: ({ fetch }, url, init) => fetch(url, init) },
  { name: "a request", send: ({ fetch }, url, init) => fetch(new Request(url, init)) },
  {
    name: "a request and more",
    send: ({ fetch }, url, init) =>
      fetch(new Request(url, init), {
        headers: { "content-type": "application/x-www-form-urlencoded", "x-more": "1" },
      }),
  },
];
