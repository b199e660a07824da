// Virtual time: what happens at one instant happens in one order.
import type { Clock } from "../../src/index.js";
import { drain } from "./determinism.js";

/** Whatever timers and answers belong to: it can be suspended, or be dead. */
export interface Owner {
  isDead: boolean;
  suspendedUntil: number;
}

interface Task {
  at: number;
  readonly order: number;
  readonly owner: Owner | undefined;
  readonly run: () => void;
  isOver: boolean;
}

/** A whole second, so that `Date` headers and claims are exact. */
export const START: number = Date.UTC(2026, 0, 1, 12, 0, 0);

const isSooner = (one: Task, other: Task) =>
  one.at < other.at || (one.at === other.at && one.order < other.order);

export class Scheduler {
  /** Milliseconds since the world began. */
  now = 0;
  /** A heap: no task is later than those at twice its index, plus 1 and 2. */
  readonly #tasks: Task[] = [];
  #order = 0;

  at(at: number, run: () => void, owner?: Owner): Task {
    const task = { at: Math.max(at, this.now), order: this.#order++, owner, run, isOver: false };
    this.#add(task);
    return task;
  }

  after(ms: number, run: () => void, owner?: Owner): Task {
    return this.at(this.now + ms, run, owner);
  }

  /** The number of timers and answers that processes still wait for. */
  get pending(): number {
    return this.#tasks.filter(({ owner, isOver }) => !isOver && owner && !owner.isDead).length;
  }

  async runUntil(end: number): Promise<void> {
    for (;;) {
      await drain();
      const [task] = this.#tasks;
      if (task === undefined || task.at > end) break;
      this.#removeFirst();
      const { owner } = task;
      // Of what is cancelled or dead nothing follows, so there is nothing to drain.
      if (task.isOver || owner?.isDead) {
        while (this.#tasks[0]?.isOver) this.#removeFirst();
        if (this.#tasks[0] === undefined) break;
        continue;
      }
      this.now = Math.max(this.now, task.at);
      if (owner && owner.suspendedUntil > this.now) {
        task.at = owner.suspendedUntil;
        this.#add(task);
        continue;
      }
      task.isOver = true;
      task.run();
    }
    this.now = end;
  }

  #add(task: Task): void {
    const tasks = this.#tasks;
    let at = tasks.push(task) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isSooner(task, tasks[parent] as Task)) break;
      tasks[at] = tasks[parent] as Task;
      at = parent;
    }
    tasks[at] = task;
  }

  #removeFirst(): void {
    const tasks = this.#tasks;
    const last = tasks.pop() as Task;
    if (tasks.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= tasks.length) break;
      if (child + 1 < tasks.length && isSooner(tasks[child + 1] as Task, tasks[child] as Task))
        child++;
      if (!isSooner(tasks[child] as Task, last)) break;
      tasks[at] = tasks[child] as Task;
      at = child;
    }
    tasks[at] = last;
  }

  /**
   * The clock of a process: its epoch time is off, and jumps; both its times run a little fast or
   * slow.
   */
  clock(owner: Owner, rate: number, offsetMs: () => number, random: () => number): Clock {
    const monotonic = () => this.now * rate;
    return {
      monotonic,
      now: () => Math.floor(START + monotonic() + offsetMs()),
      setTimeout: (run, ms) => this.after(Math.max(ms, 0) / rate, run, owner),
      clearTimeout: (handle) => {
        if (handle !== undefined) (handle as Task).isOver = true;
      },
      random,
    };
  }
}
