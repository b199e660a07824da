// A Redis that runs the scripts of redis.ts in virtual time. It can lose commands and answers.
import { createHash } from "node:crypto";
import type { Owner, Scheduler } from "./scheduler.js";

/** What happens to the next command. */
export type RedisFault = "store lost before" | "store lost after" | "store slow" | undefined;

interface Entry {
  value: string;
  expiresAt: number;
}

export class SimulatedRedis {
  readonly #entries = new Map<string, Entry>();
  readonly #scripts = new Map<string, string>();
  readonly #scheduler: Scheduler;
  readonly #epoch: () => number;

  constructor(scheduler: Scheduler, epoch: () => number) {
    this.#scheduler = scheduler;
    this.#epoch = epoch;
  }

  /** The connection of one process. */
  client(owner: Owner, latencyMs: () => number, fault: () => RedisFault) {
    return {
      call: (command: string, ...args: string[]): Promise<unknown> =>
        new Promise((resolve, reject) => {
          const kind = fault();
          const ms = () => latencyMs() + (kind === "store slow" ? 4_000 : 0);
          const lost = () => reject(new Error("Connection is closed."));
          if (kind === "store lost before") {
            this.#scheduler.at(this.#scheduler.now + ms(), lost, owner);
            return;
          }
          this.#scheduler.at(this.#scheduler.now + ms(), () => {
            let answer: unknown;
            try {
              answer = this.#run(command, args);
            } catch (error) {
              answer = error;
            }
            const deliver = () => (answer instanceof Error ? reject(answer) : resolve(answer));
            const end = kind === "store lost after" ? lost : deliver;
            this.#scheduler.at(this.#scheduler.now + ms(), end, owner);
          });
        }),
    };
  }

  #run(command: string, [text = "", , key = "", ...args]: string[]): unknown {
    if (command === "eval") this.#scripts.set(createHash("sha1").update(text).digest("hex"), text);
    const script = command === "eval" ? text : this.#scripts.get(text);
    if (script === undefined) throw new Error("NOSCRIPT No matching script.");
    const now = this.#epoch();
    const found = this.#entries.get(key);
    const entry = found && found.expiresAt > now ? found : undefined;
    const [first = "", second = "", over = "", expiry] = args;
    if (script.includes("PXAT")) {
      const current = entry === undefined ? "missing" : `=${/^\S+/.exec(entry.value)?.[0] ?? " "}`;
      if (current === `=${first}`) return 1;
      if (over !== "any" && over !== current) return 0;
      this.#entries.set(key, {
        value: second,
        expiresAt: expiry ? Number(expiry) : Number.POSITIVE_INFINITY,
      });
      return 1;
    }
    if (script.includes("NX")) {
      if (entry !== undefined) return entry.value === first ? 1 : 0;
      this.#entries.set(key, { value: first, expiresAt: now + Number(second) });
      return 1;
    }
    if (script.includes("PEXPIRE")) {
      if (entry?.value !== first) return 0;
      entry.expiresAt = now + Number(second);
      return 1;
    }
    if (script.includes("DEL")) {
      if (script.includes("GET") && entry?.value !== first) return 0;
      return this.#entries.delete(key) ? 1 : 0;
    }
    return entry?.value ?? null;
  }
}
