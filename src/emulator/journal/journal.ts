// The requests that the emulator saw, for tests to assert on and to wait for.

import { BoundedList } from "../stores/bounded-list.js";
import { type JournalEntry, journalEntry, type RequestNote } from "./journal-entry.js";
import { type JournalFilter, journalFilter } from "./journal-filter.js";
import { JournalWaiters, type WaitOptions } from "./journal-waiters.js";

export type { RequestNote } from "./journal-entry.js";

/** Entries beyond this are forgotten, oldest first. */
const CAPACITY = 10_000;

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
  readonly #entries = new BoundedList<JournalEntry>(CAPACITY);
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
    this.#waiters.tell(entry);
  }
}
