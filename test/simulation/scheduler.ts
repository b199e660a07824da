// Virtual time: what happens at one instant happens in one order, also what WebCrypto finishes on other threads.
import "../support/load-at-once.js";
import type { Clock } from "../../src/index.js";

/** Whatever timers and answers belong to: it can be suspended, or be dead. */
export interface Owner {
  isDead: boolean;
  suspendedUntil: number;
}

interface Task {
  readonly at: number;
  readonly order: number;
  readonly owner: Owner | undefined;
  readonly run: () => void;
}

/** A whole second, so that `Date` headers and claims are exact. */
export const START: number = Date.UTC(2026, 0, 1, 12, 0, 0);

/** Results of WebCrypto that are not delivered yet, in the order of the requests. */
const results: { readonly ended: Promise<unknown>; readonly deliver: () => void }[] = [];
let isSimulating = false;

const { prototype } = SubtleCrypto;
for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype)))
  if (typeof value === "function" && name !== "constructor")
    Object.defineProperty(prototype, name, {
      configurable: true,
      writable: true,
      value(this: SubtleCrypto, ...args: unknown[]) {
        const result: Promise<unknown> = value.apply(this, args);
        if (!isSimulating) return result;
        const ended = result.catch(() => {});
        return new Promise((resolve) => results.push({ ended, deliver: () => resolve(result) }));
      },
    });

const immediate = () => new Promise((resolve) => setImmediate(resolve));

/** Does all work that needs no time. One result is delivered at a time, so its consequences come before the next. */
async function drain(): Promise<void> {
  for (await immediate(); ; await immediate()) {
    const next = results.shift();
    if (next === undefined) return;
    await next.ended;
    next.deliver();
  }
}

export class Scheduler {
  /** Milliseconds since the world began. */
  now = 0;
  #tasks: Task[] = [];
  #order = 0;

  at(at: number, run: () => void, owner?: Owner): Task {
    const task = { at: Math.max(at, this.now), order: this.#order++, owner, run };
    this.#tasks.push(task);
    return task;
  }

  cancel(task: unknown): void {
    this.#tasks = this.#tasks.filter((one) => one !== task);
  }

  /** The number of timers and answers that processes still wait for. */
  get pending(): number {
    return this.#tasks.filter(({ owner }) => owner && !owner.isDead).length;
  }

  async runUntil(end: number): Promise<void> {
    isSimulating = true;
    for (;;) {
      await drain();
      const task = this.#next();
      if (task === undefined || task.at > end) break;
      this.cancel(task);
      this.now = task.at;
      const { owner } = task;
      if (owner?.isDead) continue;
      if (owner && owner.suspendedUntil > this.now) this.#tasks.push({ ...task, at: owner.suspendedUntil });
      else task.run();
    }
    isSimulating = false;
    this.now = end;
  }

  #next(): Task | undefined {
    const isSooner = (one: Task, other: Task) =>
      one.at < other.at || (one.at === other.at && one.order < other.order);
    let next: Task | undefined;
    for (const task of this.#tasks) if (next === undefined || isSooner(task, next)) next = task;
    return next;
  }

  /** The clock of a process: its epoch time is off, and jumps; both its times run a little fast or slow. */
  clock(owner: Owner, rate: number, offsetMs: () => number, random: () => number): Clock {
    const monotonic = () => this.now * rate;
    return {
      monotonic,
      now: () => Math.floor(START + monotonic() + offsetMs()),
      // A task that suspension has delayed is another object, so a cancelled timer also knows that it is over.
      setTimeout: (run, ms) => {
        const timer = { isOver: false, task: undefined as unknown };
        timer.task = this.at(this.now + Math.max(ms, 0) / rate, () => timer.isOver || run(), owner);
        return timer;
      },
      clearTimeout: (handle) => {
        if (handle === undefined) return;
        const timer = handle as { isOver: boolean; task: unknown };
        timer.isOver = true;
        this.cancel(timer.task);
      },
      random,
    };
  }
}

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
