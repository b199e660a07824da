// The journal of all answered requests, without those under /_emulator. It stores nothing that may
// be a credential.

import { z } from "zod";
import { EmulatorError, parseInput } from "../errors.js";
import {
  FAULT_NAMES,
  type FaultName,
  faultMatchFields,
  LONGEST_TIMER_MS,
} from "../faults/faults.js";
import type { Grant } from "../oauth.js";
import { ruleIdSchema } from "../rules/checks.js";
import { isQuotable } from "../rules/shown.js";
import type { RuleId } from "../rules.js";
import { BoundedList } from "../state/expiring-map.js";

/** The target of a request: a token endpoint, an API route, or a page. */
export type Endpoint = "token" | "api" | "page";

/** One answered request. No headers, query or body. */
export interface JournalEntry {
  /** Counts from 1 in the order of arrival; `requestId` in the customer's log. */
  readonly id: number;
  /** Epoch milliseconds, by the emulator's clock, when the request arrived. */
  readonly at: number;
  readonly method: string;
  /**
   * Has no query. "…" replaces segments over 40 characters, and everything after 500 characters.
   */
  readonly path: string;
  /** 0 if a fault prevented the answer. */
  readonly status: number;
  readonly variant?: "A" | "B";
  readonly endpoint?: Endpoint;
  /** The operationId of the route, for instance `requestToken` or `listDevices`. */
  readonly operation?: string;
  /**
   * The tenant in the path or, in Variant B, of the client or token; "…" if it may be a credential.
   */
  readonly tenantId?: string;
  /**
   * The client of the request or of its token. Absent if it is not registered, because it may be a
   * secret in the wrong field, and if the request was answered before it was read (429).
   */
  readonly clientId?: string;
  /** The grant that a token request asked for. */
  readonly grant?: Grant;
  /** The rule by which it was refused. The customer's log has the reason. */
  readonly rule?: RuleId;
  /** The client bivariant sent it to find out which variant is served. It is refused on purpose. */
  readonly detectionProbe?: true;
  /** The fault that applied. If there were two, the later one. */
  readonly fault?: FaultName;
}

/** Handlers write here what they know about the request. */
export type RequestNote = { readonly id: number } & {
  -readonly [Name in Exclude<keyof JournalEntry, "id" | "at" | "method" | "path" | "status">]?:
    | JournalEntry[Name]
    | undefined;
};

/** A UUID is shorter than this, an access token is longer. */
const LONG_SEGMENT = /[^/]{41,}/g;
/** The most characters of a path, so that the number of entries bounds the size of the journal. */
const LONGEST_PATH = 500;

function shownPath(path: string): string {
  const shown = path.replace(LONG_SEGMENT, "…");
  return shown.length > LONGEST_PATH ? `${shown.slice(0, LONGEST_PATH)}…` : shown;
}

/** An anonymous request can have anything in its path, so the tenant may be a credential. */
export function shownTenant(tenantId: string): string {
  return isQuotable(tenantId) ? tenantId : "…";
}

/**
 * An entry must match every given member. An unknown name is refused, because it would match
 * nothing.
 */
export type JournalFilter = {
  readonly [Name in Exclude<keyof JournalEntry, "id" | "at" | "detectionProbe">]?:
    | JournalEntry[Name]
    | undefined;
} & {
  /** False matches every request that is not one. */
  readonly detectionProbe?: boolean | undefined;
  /** Only requests since this instant match (epoch milliseconds by the emulator's clock). */
  readonly since?: number | undefined;
};

const filterSchema: z.ZodType<JournalFilter> = z.strictObject({
  ...faultMatchFields,
  endpoint: z.enum(["token", "api", "page"]).optional(),
  path: z.string().optional(),
  status: z.int().optional(),
  rule: ruleIdSchema.optional(),
  detectionProbe: z.boolean().optional(),
  fault: z.enum(FAULT_NAMES).optional(),
  since: z.number().optional(),
});

/** @throws EmulatorError `option_invalid` */
function journalFilter(input: JournalFilter): (entry: JournalEntry) => boolean {
  const { path, ...wanted } = parseInput(filterSchema, input, "journal filter");
  return entryMatcher({ ...wanted, path: path && shownPath(path) });
}

/** A wanted tenant is redacted as in the entries, so that a long tenant id still finds them. */
export function entryMatcher<Entry extends { readonly at: number }>(
  filter: Readonly<Record<string, unknown>> & Pick<JournalFilter, "tenantId" | "since">,
): (entry: Entry) => boolean {
  const { since = Number.NEGATIVE_INFINITY, tenantId, ...same } = filter;
  const wanted = { ...same, tenantId: tenantId && shownTenant(tenantId) };
  const members = Object.entries(wanted).filter(([, value]) => value !== undefined);
  return (entry) =>
    entry.at >= since &&
    members.every(([name, value]) => (entry[name as keyof Entry] ?? false) === value);
}

/** If there are more entries, the oldest are forgotten. */
const MOST_ENTRIES = 10_000;

/**
 * Keeps the newest 10000 requests, in the order of their answers. Every method with a filter throws
 * `EmulatorError` `option_invalid` if the filter has a name that no entry has.
 *
 * @example
 * import { expect } from "vitest";
 *
 * await Promise.all(Array.from({ length: 100 }, () => service.call("listDevices")));
 * expect(emulator.journal.tokenRequests({ tenantId: "acme" })).toHaveLength(1);
 * expect(emulator.journal.apiCalls({ status: 200 })).toHaveLength(100);
 */
export class Journal {
  readonly #entries = new BoundedList<JournalEntry>(MOST_ENTRIES);
  /** Each is called with every new entry, and with undefined after a reset. */
  #waiting = new Set<(entry: JournalEntry | undefined) => void>();
  #arrived = 0;

  /** The requests that match, oldest first. */
  entries(filter: JournalFilter = {}): JournalEntry[] {
    return this.#entries.newest().filter(journalFilter(filter));
  }

  /** The POSTs to either token endpoint, refused ones and those of detection included. */
  tokenRequests(filter: Omit<JournalFilter, "endpoint"> = {}): JournalEntry[] {
    return this.entries({ ...filter, endpoint: "token" });
  }

  /** The calls to API routes, refused ones included. */
  apiCalls(filter: Omit<JournalFilter, "endpoint"> = {}): JournalEntry[] {
    return this.entries({ ...filter, endpoint: "api" });
  }

  /** The newest entry that matches. */
  last(filter: JournalFilter = {}): JournalEntry | undefined {
    return this.entries(filter).at(-1);
  }

  /** How many requests match. */
  count(filter: JournalFilter = {}): number {
    return this.entries(filter).length;
  }

  /**
   * Resolves with the matching requests, oldest first, as soon as `count` of them were answered.
   * Earlier requests count too. A reset does not end the waiting, but the count starts again at 0.
   *
   * @throws EmulatorError `journal_timeout`, or the signal's reason.
   * @example
   * import { expect } from "vitest";
   *
   * const [renewal] = await emulator.journal.waitFor({ endpoint: "token", since: Date.now() });
   * expect(renewal).toMatchObject({ status: 200 });
   */
  async waitFor(filter: JournalFilter = {}, options: WaitOptions = {}): Promise<JournalEntry[]> {
    const matches = journalFilter(filter);
    const { count, signal, timeoutMs } = parseInput(waitSchema, options, "waitFor");
    signal?.throwIfAborted();
    let seen = this.#entries.newest().filter(matches);
    if (seen.length >= count) return seen;
    const waiting = this.#waiting;
    return new Promise<JournalEntry[]>((resolve, reject) => {
      const see = (entry: JournalEntry | undefined) => {
        if (entry === undefined) seen = [];
        else if (matches(entry) && seen.push(entry) >= count) end(() => resolve(seen));
      };
      const end = (settle: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        waiting.delete(see);
        settle();
      };
      const abort = () => end(() => reject(signal?.reason));
      const timer = setTimeout(() => {
        const came = `${seen.length} of ${count} such ${count === 1 ? "request" : "requests"} came`;
        const late = new EmulatorError(
          "journal_timeout",
          `waitFor: ${came} within ${timeoutMs} ms`,
        );
        end(() => reject(late));
      }, timeoutMs);
      signal?.addEventListener("abort", abort, { once: true });
      waiting.add(see);
    });
  }

  /**
   * Called after a reset: calls of `waitFor` on the former journal go on here, and count from 0
   * again. @internal
   */
  replace(former: Journal): void {
    this.#waiting = former.#waiting;
    for (const see of this.#waiting) see(undefined);
  }

  /** Removes all entries. */
  clear(): void {
    this.#entries.clear();
  }

  /** Returns the note of a request that has just arrived; its handlers add to it. @internal */
  arrived(): RequestNote {
    this.#arrived += 1;
    return { id: this.#arrived };
  }

  /** Adds an entry without those members that are undefined. @internal */
  record(at: number, { method, url }: Request, status: number, { id, ...note }: RequestNote): void {
    const { tenantId } = note;
    const shown = { ...note, tenantId: tenantId && shownTenant(tenantId) };
    const given = Object.fromEntries(
      Object.entries(shown).filter(([, value]) => value !== undefined),
    );
    const entry: JournalEntry = {
      id,
      at,
      method,
      path: shownPath(new URL(url).pathname),
      status,
      ...given,
    };
    this.#entries.add(entry);
    for (const see of this.#waiting) see(entry);
  }
}

/** How long to wait, and for how many requests. */
export interface WaitOptions {
  /** Default: 1. */
  readonly count?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Measured in real time, not by the emulator's clock. Default: 4000. */
  readonly timeoutMs?: number | undefined;
}

const waitSchema = z.strictObject({
  count: z.int().min(1).default(1),
  signal: z.instanceof(AbortSignal, { error: "must be an AbortSignal" }).optional(),
  // Test runners end a test after five seconds. A shorter time makes them report this error
  // instead.
  timeoutMs: z.number().min(0).max(LONGEST_TIMER_MS).default(4000),
});
