// The faults that are armed, and which of them strikes a request.
import { createHash } from "node:crypto";
import { setMaxListeners } from "node:events";
import { EmulatorError } from "../errors.js";
import type { RandomSource } from "../stores.js";
import { type Fault, type FaultMatch, type FaultMoment, momentOf, parseFault } from "./fault.js";

/**
 * The faults of one emulator. A request is struck by at most one at each moment: the oldest armed one that matches.
 * A reset also ends the delay of slow answers: they are sent at once, from the old state.
 *
 * @example
 * emulator.faults.add({ name: "lost-answer", match: { grant: "refresh_token" } });
 * await expect(auth.getAccessToken()).rejects.toMatchObject({ code: "login_outcome_unknown" });
 */
export interface EmulatorFaults {
  /** Arms a fault, from the next request on. @throws EmulatorError `option_invalid`, which names the fields at fault. */
  add(fault: Fault): FaultHandle;
  /** Those that are still armed, oldest first. */
  list(): FaultReport[];
  /** Disarms one; without effect if it is not armed any more. */
  remove(id: string): void;
  clear(): void;
}

/** A fault that was armed. After a reset it refers to the old deployment. */
export interface FaultHandle {
  readonly id: string;
  /** How many requests it struck. */
  readonly fired: number;
  remove(): void;
}

/** An armed fault, with the seed that was drawn for it if it strikes by a draw. */
export interface FaultReport {
  readonly id: string;
  readonly fault: Fault;
  readonly fired: number;
  /** How many more requests it strikes. */
  readonly left: number | "always";
}

/** What is known of a request when a fault may strike it. */
export type StruckFacts = Readonly<FaultMatch>;

interface Armed {
  readonly id: string;
  readonly fault: Fault;
  fired: number;
  /** How often was drawn for it. */
  drawn: number;
}

/** Synchronous throughout, so that of concurrent requests exactly as many are struck as a fault's count says. */
export class Faults implements EmulatorFaults {
  readonly #random: RandomSource;
  readonly #operations: ReadonlySet<string>;
  readonly #armed = new Map<string, Armed>();
  readonly #release = new AbortController();
  #added = 0;

  /** `operations`: every operation of the deployment. */
  constructor(random: RandomSource, operations: readonly string[]) {
    this.#random = random;
    this.#operations = new Set(operations);
    // One listener for each delayed answer, and there may be many.
    setMaxListeners(0, this.#release.signal);
  }

  /** Aborted as soon as nothing is to be slow any more. */
  get released(): AbortSignal {
    return this.#release.signal;
  }

  /** Called when a reset replaces the deployment. */
  release(): void {
    this.#release.abort();
  }

  add(input: Fault): FaultHandle {
    const parsed = parseFault(input);
    this.#requireOperation(parsed);
    const fault =
      parsed.probability === undefined || parsed.seed !== undefined
        ? parsed
        : { ...parsed, seed: this.#random.bytes(4).readUInt32BE() };
    this.#added += 1;
    const armed: Armed = { id: `fault-${this.#added}`, fault, fired: 0, drawn: 0 };
    this.#armed.set(armed.id, armed);
    return {
      id: armed.id,
      get fired() {
        return armed.fired;
      },
      remove: () => this.remove(armed.id),
    };
  }

  /** A fault that waits for what never comes would be looked for in the code under test. */
  #requireOperation({ name, match }: Fault): void {
    const operation = match?.operation;
    if (operation === undefined || this.#operations.has(operation)) return;
    const issue = `match.operation: must be one of ${[...this.#operations].join(", ")}`;
    throw new EmulatorError("option_invalid", `fault ${name}: ${issue}`, { issues: [issue] });
  }

  list(): FaultReport[] {
    return [...this.#armed.values()].map((armed) => {
      const { id, fired } = armed;
      return { id, fault: structuredClone(armed.fault), fired, left: leftOf(armed) };
    });
  }

  remove(id: string): void {
    this.#armed.delete(id);
  }

  clear(): void {
    this.#armed.clear();
  }

  /** Whether any fault could strike at one of these moments. */
  isArmedFor(...moments: readonly FaultMoment[]): boolean {
    return [...this.#armed.values()].some(({ fault }) =>
      moments.some((moment) => momentOf(fault) === moment),
    );
  }

  /** The fault that strikes this request at this moment; it counts as fired. */
  strike(moment: FaultMoment | "launch", facts: StruckFacts): Fault | undefined {
    for (const armed of this.#armed.values()) {
      if (momentOf(armed.fault) !== moment || !matches(armed.fault.match, facts) || !draw(armed)) continue;
      armed.fired += 1;
      if (leftOf(armed) === 0) this.#armed.delete(armed.id);
      return armed.fault;
    }
    return undefined;
  }
}

function matches(match: FaultMatch = {}, facts: StruckFacts): boolean {
  return Object.entries(match).every(
    ([name, value]) => value === undefined || facts[name as keyof FaultMatch] === value,
  );
}

/** By the seed and by how many requests matched: the same in every run. */
function draw(armed: Armed): boolean {
  const { probability = 1, seed } = armed.fault;
  if (probability === 1) return true;
  armed.drawn += 1;
  const digest = createHash("sha256").update(`fault ${seed} ${armed.drawn}`).digest();
  return digest.readUInt32BE() / 2 ** 32 < probability;
}

function leftOf({ fault: { count = 1 }, fired }: Armed): number | "always" {
  return count === "always" ? "always" : count - fired;
}
