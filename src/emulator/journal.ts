// The journal: every answered request, redacted by holding nothing that could need it.

import { z } from "zod";
import { ruleIdSchema } from "./checks.js";
import { EmulatorError, parseInput } from "./errors.js";
import { FAULT_NAMES, type FaultName, faultMatchFields, LONGEST_TIMER_MS } from "./faults/faults.js";
import type { Grant } from "./oauth.js";
import type { RuleId } from "./rules.js";
import { isQuotable } from "./shown.js";
import { BoundedList } from "./stores.js";

/** What a request was for: a token endpoint, a route of the API, or a page and what its script asks. */
export type Endpoint = "token" | "api" | "page";

/** One answered request. No headers, query or body. */
export interface JournalEntry {
  /** Counts from 1 in the order of arrival; `requestId` in the customer's log. */
  readonly id: number;
  /** Epoch milliseconds, by the emulator's clock, when the request arrived. */
  readonly at: number;
  readonly method: string;
  /** Without the query; segments of more than 40 characters are "…", for they may be credentials; so is what follows the first 500. */
  readonly path: string;
  /** 0: no answer was sent, by a fault. */
  readonly status: number;
  readonly variant?: "A" | "B";
  readonly endpoint?: Endpoint;
  /** The operationId of the route, for instance `requestToken` or `listDevices`. */
  readonly operation?: string;
  /** The tenant of the path or, in Variant B, of the client or token; "…" for what may be a credential. */
  readonly tenantId?: string;
  /**
   * Of a registration or of the token that was presented; an id that is not registered is not shown: it may be a secret in
   * the wrong field. Absent where the request was answered before it was read (429).
   */
  readonly clientId?: string;
  /** What a token request asked for. */
  readonly grant?: Grant;
  /** By which it was refused: the customer's log has the reason. */
  readonly rule?: RuleId;
  /** What was made to go wrong; of two faults the later one. */
  readonly fault?: FaultName;
}

/** What handlers add to the entry of the request they answer. */
export type RequestNote = { readonly id: number } & {
  -readonly [Name in Exclude<keyof JournalEntry, "id" | "at" | "method" | "path" | "status">]?:
    | JournalEntry[Name]
    | undefined;
};

/** A UUID fits, an access token does not. */
const LONG_SEGMENT = /[^/]{41,}/g;
/** Characters of a path, so that the journal stays as small as the number of its entries says. */
const LONGEST_PATH = 500;

function shownPath(path: string): string {
  const shown = path.replace(LONG_SEGMENT, "…");
  return shown.length > LONGEST_PATH ? `${shown.slice(0, LONGEST_PATH)}…` : shown;
}

/** The path of an anonymous request may hold anything. */
export function shownTenant(tenantId: string): string {
  return isQuotable(tenantId) ? tenantId : "…";
}

/** An entry must match every given member. An unknown name is refused: it would match nothing and go unnoticed. */
export type JournalFilter = {
  readonly [Name in Exclude<keyof JournalEntry, "id" | "at">]?: JournalEntry[Name] | undefined;
} & {
  /** Epoch milliseconds by the emulator's clock: what arrived at that instant or later. */
  readonly since?: number | undefined;
};

const filterSchema: z.ZodType<JournalFilter> = z.strictObject({
  ...faultMatchFields,
  endpoint: z.enum(["token", "api", "page"]).optional(),
  path: z.string().optional(),
  status: z.number().int().optional(),
  rule: ruleIdSchema.optional(),
  fault: z.enum(FAULT_NAMES).optional(),
  since: z.number().optional(),
});

/** @throws EmulatorError `option_invalid` */
function journalFilter(input: JournalFilter): (entry: JournalEntry) => boolean {
  const { path, ...wanted } = parseInput(filterSchema, input, "option_invalid", "journal filter");
  return entryMatcher({ ...wanted, path: path && shownPath(path) });
}

/** A tenant is compared as it is shown, so that a long tenant id finds its own. */
export function entryMatcher<Entry extends { readonly at: number }>(
  filter: Readonly<Record<string, unknown>> & Pick<JournalFilter, "tenantId" | "since">,
): (entry: Entry) => boolean {
  const { since = Number.NEGATIVE_INFINITY, tenantId, ...same } = filter;
  const wanted = { ...same, tenantId: tenantId && shownTenant(tenantId) };
  const members = Object.entries(wanted).filter(([, value]) => value !== undefined);
  return (entry) =>
    entry.at >= since && members.every(([name, value]) => entry[name as keyof Entry] === value);
}

/** Entries beyond this are forgotten, oldest first. */
const MOST_ENTRIES = 10_000;

/**
 * Keeps the newest 10000 requests, in the order in which they were answered. Every method with a filter throws
 * `EmulatorError` `option_invalid` for a name that no entry has.
 *
 * @example
 * await Promise.all(Array.from({ length: 100 }, () => service.call("listDevices")));
 * expect(emulator.journal.tokenRequests({ tenantId: "acme" })).toHaveLength(1);
 * expect(emulator.journal.apiCalls({ status: 200 })).toHaveLength(100);
 */
export class Journal {
  readonly #entries = new BoundedList<JournalEntry>(MOST_ENTRIES);
  readonly #waiters: JournalWaiters;
  #arrived = 0;

  /** `waiters` outlive a reset, which this journal does not. */
  constructor(waiters: JournalWaiters = new JournalWaiters()) {
    this.#waiters = waiters;
  }

  entries(filter: JournalFilter = {}): JournalEntry[] {
    return this.#entries.newest().filter(journalFilter(filter));
  }

  /** The POSTs to either token endpoint, refused ones included. */
  tokenRequests(filter: Omit<JournalFilter, "endpoint"> = {}): JournalEntry[] {
    return this.entries({ ...filter, endpoint: "token" });
  }

  /** The calls of API routes, refused ones included. */
  apiCalls(filter: Omit<JournalFilter, "endpoint"> = {}): JournalEntry[] {
    return this.entries({ ...filter, endpoint: "api" });
  }

  /** The newest that matches. */
  last(filter: JournalFilter = {}): JournalEntry | undefined {
    return this.entries(filter).at(-1);
  }

  count(filter: JournalFilter = {}): number {
    return this.entries(filter).length;
  }

  /**
   * Resolves with the matching requests, oldest first, as soon as `count` of them were answered, those before the call
   * included. A reset does not end the waiting, but it starts counting anew.
   *
   * @throws EmulatorError `journal_timeout`, or the signal's reason.
   * @example
   * const [renewal] = await emulator.journal.waitFor({ endpoint: "token", since: renewAt }); // in the background
   * expect(renewal).toMatchObject({ status: 200 });
   */
  async waitFor(filter: JournalFilter = {}, options: WaitOptions = {}): Promise<JournalEntry[]> {
    return this.#waiters.wait(journalFilter(filter), this.entries(filter), options);
  }

  clear(): void {
    this.#entries.clear();
  }

  /** For a request that has just arrived: what its handlers write to. @internal */
  arrived(): RequestNote {
    this.#arrived += 1;
    return { id: this.#arrived };
  }

  /** Omits members that are undefined. @internal */
  record(at: number, { method, url }: Request, status: number, { id, ...note }: RequestNote): void {
    const { tenantId } = note;
    const shown = { ...note, tenantId: tenantId && shownTenant(tenantId) };
    const given = Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined));
    const entry: JournalEntry = { id, at, method, path: shownPath(new URL(url).pathname), status, ...given };
    this.#entries.add(entry);
    this.#waiters.notify(entry);
  }
}

/** How long to wait, and for how many. */
export interface WaitOptions {
  /** Default: 1. */
  readonly count?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Real time, whatever the emulator's clock. Default: 4000. */
  readonly timeoutMs?: number | undefined;
}

/** Below the five seconds after which test runners end a test, so that the runner shows this error. */
const DEFAULT_TIMEOUT_MS = 4000;

const waitSchema = z.strictObject({
  count: z.number().int().min(1).optional(),
  signal: z.custom<AbortSignal>((value) => value instanceof AbortSignal, "must be an AbortSignal").optional(),
  timeoutMs: z.number().min(0).max(LONGEST_TIMER_MS).optional(),
});

interface Waiter {
  readonly matches: (entry: JournalEntry) => boolean;
  readonly count: number;
  seen: JournalEntry[];
  /** Ends the waiting with what was seen. */
  readonly finish: () => void;
}

export class JournalWaiters {
  readonly #waiting = new Set<Waiter>();

  /** Resolves with what matches, `before` included. @throws EmulatorError `journal_timeout`, or the signal's reason */
  async wait(
    matches: Waiter["matches"],
    before: readonly JournalEntry[],
    options: WaitOptions,
  ): Promise<JournalEntry[]> {
    const read = parseInput(waitSchema, options, "option_invalid", "waitFor");
    const { count = 1, signal, timeoutMs = DEFAULT_TIMEOUT_MS } = read;
    signal?.throwIfAborted();
    if (before.length >= count) return [...before];
    return new Promise<JournalEntry[]>((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        this.#waiting.delete(waiter);
        settle();
      };
      const finish = () => end(() => resolve(waiter.seen));
      const waiter: Waiter = { matches, count, seen: [...before], finish };
      const abort = () => end(() => reject(signal?.reason));
      const timer = setTimeout(() => end(() => reject(tooLate(waiter, timeoutMs))), timeoutMs);
      signal?.addEventListener("abort", abort, { once: true });
      this.#waiting.add(waiter);
    });
  }

  notify(entry: JournalEntry): void {
    for (const waiter of this.#waiting) {
      if (!waiter.matches(entry)) continue;
      waiter.seen.push(entry);
      if (waiter.seen.length >= waiter.count) waiter.finish();
    }
  }

  /** After a reset: what was seen before it counts no more. */
  startOver(): void {
    for (const waiter of this.#waiting) waiter.seen = [];
  }
}

function tooLate({ count, seen }: Waiter, timeoutMs: number): EmulatorError {
  const came = `${seen.length} of ${count} such ${count === 1 ? "request" : "requests"} came`;
  return new EmulatorError("journal_timeout", `waitFor: ${came} within ${timeoutMs} ms`);
}
