// A Redis that runs the scripts of redis.ts in virtual time. It loses commands and answers,
// crashes, and is replaced by an older copy of itself.
import type { Owner, Scheduler } from "./scheduler.js";

/** What happens to the next command. */
export type RedisFault =
  | "store lost before"
  | "store lost after"
  | "store slow"
  | "store silent"
  | undefined;

interface Entry {
  readonly value: string;
  readonly expiresAt: number;
}

interface Change {
  readonly at: number;
  readonly key: string;
  readonly before: Entry | undefined;
}

/** The data of a Redis and its five scripts, as JavaScript. */
export class RedisData {
  readonly entries: Map<string, Entry> = new Map();
  readonly #changes: Change[] = [];
  readonly #epoch: () => number;

  constructor(epoch: () => number) {
    this.#epoch = epoch;
  }

  /** Undoes the changes since an instant, as a restart or a failover does. */
  restoreTo(instant: number): void {
    while ((this.#changes.at(-1)?.at ?? 0) > instant) {
      const { key, before } = this.#changes.pop() as Change;
      if (before === undefined) this.entries.delete(key);
      else this.entries.set(key, before);
    }
  }

  /** Answers EVAL with these arguments. */
  run([script = "", , key = "", ...args]: readonly string[]): unknown {
    const now = this.#epoch();
    const found = this.entries.get(key);
    const entry = found && found.expiresAt > now ? found : undefined;
    const [first = "", second = "", over = "", unit, time] = args;
    if (script.includes("ARGV[5]")) {
      const current = entry === undefined ? "missing" : `=${/^\S+/.exec(entry.value)?.[0] ?? " "}`;
      if (current === `=${first}`) return 1;
      if (over !== "any" && over !== current) return 0;
      this.#set(key, {
        value: second,
        expiresAt: unit ? Number(time) + (unit === "PX" ? now : 0) : Number.POSITIVE_INFINITY,
      });
      return 1;
    }
    if (script.includes("NX")) {
      if (entry !== undefined) return entry.value === first ? 1 : 0;
      this.#set(key, { value: first, expiresAt: now + Number(second) });
      return 1;
    }
    if (script.includes("PEXPIRE")) {
      if (entry?.value !== first) return 0;
      this.#set(key, { ...entry, expiresAt: now + Number(second) });
      return 1;
    }
    if (script.includes("DEL")) {
      if (entry === undefined || (script.includes("GET") && entry.value !== first)) return 0;
      this.#set(key, undefined);
      return 1;
    }
    return entry?.value ?? null;
  }

  #set(key: string, entry: Entry | undefined): void {
    this.#changes.push({ at: this.#epoch(), key, before: this.entries.get(key) });
    if (entry === undefined) this.entries.delete(key);
    else this.entries.set(key, entry);
  }
}

export class SimulatedRedis {
  readonly data: RedisData;
  readonly #scheduler: Scheduler;
  readonly #epoch: () => number;
  /** While it is down, connections are refused. */
  #downUntil = 0;

  constructor(scheduler: Scheduler, epoch: () => number) {
    this.data = new RedisData(epoch);
    this.#scheduler = scheduler;
    this.#epoch = epoch;
  }

  /** Crashes now, and is back after `downMs` with its data as it was `lossMs` before. */
  crash(lossMs: number, downMs: number): void {
    this.data.restoreTo(this.#epoch() - lossMs);
    this.#downUntil = Math.max(this.#downUntil, this.#scheduler.now + downMs);
  }

  /** The connection of one process. */
  client(owner: Owner, latencyMs: () => number, fault: () => RedisFault) {
    const scheduler = this.#scheduler;
    return {
      call: (_command: string, ...args: string[]): Promise<unknown> =>
        new Promise((resolve, reject) => {
          const kind = fault();
          const slowMs = kind === "store slow" ? 4_000 : 0;
          const lost = () => reject(new Error("Connection is closed."));
          if (kind === "store silent") return;
          if (kind === "store lost before") {
            scheduler.after(latencyMs(), lost, owner);
            return;
          }
          scheduler.after(latencyMs() + slowMs, () => {
            let end = lost;
            if (scheduler.now >= this.#downUntil) {
              const answer = this.data.run(args);
              if (kind !== "store lost after") end = () => resolve(answer);
            }
            scheduler.after(latencyMs(), end, owner);
          });
        }),
    };
  }
}
