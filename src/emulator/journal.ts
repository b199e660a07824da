// One request as the journal shows it, redacted by holding nothing that could need it.

import { z } from "zod";
import { ruleIdSchema } from "./checks.js";
import { EmulatorError, parseInput } from "./errors.js";
import { type Fault, type FaultName, faultMoments } from "./faults/fault.js";
import { GRANTS, type Grant } from "./oauth.js";
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
const LONGEST_SHOWN = 40;
const LONG_SEGMENT: RegExp = new RegExp(`[^/]{${LONGEST_SHOWN + 1}}`);
/** Characters of a path, so that the journal stays as small as the number of its entries says. */
const LONGEST_PATH = 500;

/** The entry, without members that are undefined. */
export function journalEntry(
  at: number,
  { method, path }: { readonly method: string; readonly path: string },
  status: number,
  { id, ...note }: RequestNote,
): JournalEntry {
  const entry: Record<string, unknown> = { id, at, method, path: shownPath(path), status };
  for (const [name, value] of Object.entries(note)) if (value !== undefined) entry[name] = value;
  if (note.tenantId !== undefined) entry.tenantId = shownTenant(note.tenantId);
  return entry as unknown as JournalEntry;
}

export function shownPath(path: string): string {
  const shown = LONG_SEGMENT.test(path) ? path.split("/").map(shownSegment).join("/") : path;
  return shown.length > LONGEST_PATH ? `${shown.slice(0, LONGEST_PATH)}…` : shown;
}

/** The path of an anonymous request may hold anything. */
export function shownTenant(tenantId: string): string {
  return isQuotable(tenantId) ? tenantId : "…";
}

function shownSegment(segment: string): string {
  return segment.length > LONGEST_SHOWN ? "…" : segment;
}

/** An entry must match every given member. An unknown name is refused: it would match nothing and go unnoticed. */
export interface JournalFilter {
  readonly tenantId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly variant?: "A" | "B" | undefined;
  readonly endpoint?: Endpoint | undefined;
  readonly operation?: string | undefined;
  readonly grant?: Grant | undefined;
  readonly method?: string | undefined;
  /** Without the query. */
  readonly path?: string | undefined;
  readonly status?: number | undefined;
  readonly rule?: RuleId | undefined;
  readonly fault?: FaultName | undefined;
  /** Epoch milliseconds by the emulator's clock: requests that arrived at that instant or later. */
  readonly since?: number | undefined;
}

const FAULT_NAMES = Object.keys(faultMoments) as Fault["name"][];
const filterSchema: z.ZodType<JournalFilter> = z.strictObject({
  tenantId: z.string().optional(),
  clientId: z.string().optional(),
  variant: z.enum(["A", "B"]).optional(),
  endpoint: z.enum(["token", "api", "page"]).optional(),
  operation: z.string().optional(),
  grant: z.enum(GRANTS).optional(),
  method: z.string().optional(),
  path: z.string().optional(),
  status: z.number().int().optional(),
  rule: ruleIdSchema.optional(),
  fault: z.enum(FAULT_NAMES).optional(),
  since: z.number().optional(),
});

/** @throws EmulatorError `option_invalid` */
export function journalFilter(input: JournalFilter): (entry: JournalEntry) => boolean {
  const { since, tenantId, path, ...same } = parseInput(
    filterSchema,
    input,
    "option_invalid",
    "journal filter",
  );
  // As they are shown, so that a long tenant id finds its own.
  const shown = { ...same, tenantId: tenantId && shownTenant(tenantId), path: path && shownPath(path) };
  const wanted = Object.entries(shown).filter(([, value]) => value !== undefined);
  return (entry) =>
    (since === undefined || entry.at >= since) &&
    wanted.every(([name, value]) => entry[name as keyof JournalEntry] === value);
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

  /**
   * The POSTs to either token endpoint, refused ones included.
   *
   * @example
   * expect(emulator.journal.tokenRequests({ clientId: "reporter", grant: "client_credentials" })).toHaveLength(1);
   * expect(emulator.journal.tokenRequests({ status: 400 }).map(({ rule }) => rule)).toEqual(["assertion.audience"]);
   */
  tokenRequests(filter: Omit<JournalFilter, "endpoint"> = {}): JournalEntry[] {
    return this.entries({ ...filter, endpoint: "token" });
  }

  /**
   * The calls of API routes, refused ones included.
   *
   * @example
   * expect(emulator.journal.apiCalls({ operation: "listDevices", status: 403 })).toMatchObject([{ rule: "route.scope" }]);
   */
  apiCalls(filter: Omit<JournalFilter, "endpoint"> = {}): JournalEntry[] {
    return this.entries({ ...filter, endpoint: "api" });
  }

  /**
   * The newest that matches.
   *
   * @example
   * expect(emulator.journal.last()).toMatchObject({ operation: "listDevices", status: 200, clientId: "reporter" });
   */
  last(filter: JournalFilter = {}): JournalEntry | undefined {
    return this.entries(filter).at(-1);
  }

  /**
   * @example
   * const since = emulator.clock.now();
   * expect(emulator.journal.count({ endpoint: "token", since })).toBe(0);
   */
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

  /** @internal */
  record(
    at: number,
    request: { readonly method: string; readonly path: string },
    status: number,
    note: RequestNote,
  ): void {
    const entry = journalEntry(at, request, status, note);
    this.#entries.add(entry);
    this.#waiters.notify(entry);
  }
}

/** How long to wait, and for how many. */
export interface WaitOptions {
  /** Default: 1. */
  readonly count?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Real time, not the emulator's clock. Default: 4000. */
  readonly timeoutMs?: number | undefined;
}

/** Below the five seconds after which test runners end a test, so that the runner shows this error. */
const DEFAULT_TIMEOUT_MS = 4000;
/** What a timer takes: beyond it would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

const waitSchema = z.strictObject({
  count: z.number().int().min(1).optional(),
  signal: z.custom<AbortSignal>((value) => value instanceof AbortSignal, "must be an AbortSignal").optional(),
  timeoutMs: z.number().min(0).max(LONGEST_MS).optional(),
});

interface Waiter {
  readonly matches: (entry: JournalEntry) => boolean;
  readonly count: number;
  /** Those that match, so far. */
  seen: JournalEntry[];
  readonly resolve: (entries: JournalEntry[]) => void;
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
    let end = () => {};
    try {
      return await new Promise<JournalEntry[]>((resolve, reject) => {
        const waiter: Waiter = { matches, count, seen: [...before], resolve };
        const late = () => reject(tooLate(waiter, timeoutMs));
        const abort = () => reject(signal?.reason);
        const timer = setTimeout(late, timeoutMs);
        signal?.addEventListener("abort", abort, { once: true });
        this.#waiting.add(waiter);
        end = () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", abort);
          this.#forget(waiter);
        };
      });
    } finally {
      end();
    }
  }

  notify(entry: JournalEntry): void {
    for (const waiter of this.#waiting) {
      if (!waiter.matches(entry)) continue;
      waiter.seen.push(entry);
      if (waiter.seen.length < waiter.count) continue;
      this.#forget(waiter);
      waiter.resolve(waiter.seen);
    }
  }

  /** After a reset, requests before it no longer count. */
  startOver(): void {
    for (const waiter of this.#waiting) waiter.seen = [];
  }

  #forget(waiter: Waiter): void {
    this.#waiting.delete(waiter);
  }
}

function tooLate({ count, seen }: Waiter, timeoutMs: number): EmulatorError {
  const came = `${seen.length} of ${count} such ${count === 1 ? "request" : "requests"} came`;
  return new EmulatorError("journal_timeout", `waitFor: ${came} within ${timeoutMs} ms`);
}
