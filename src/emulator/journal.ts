// The requests that the emulator saw, for tests to assert on; redacted by holding nothing that could need it.
import { BoundedList } from "./stores/bounded-list.js";

/** One answered request. No headers, query or body. */
export interface JournalEntry {
  /** Epoch milliseconds, by the emulator's clock, when the request arrived. */
  readonly at: number;
  readonly method: string;
  /** Without the query; segments of more than 40 characters are cut, for they may be credentials. */
  readonly path: string;
  readonly status: number;
  readonly variant?: "A" | "B";
  /** The operationId of the route, for instance `requestToken` or `listDevices`. */
  readonly operation?: string;
  /** The tenant of the path or, in Variant B, of the client or token. */
  readonly tenantId?: string;
}

/** What a handler adds to the entry of the request it answers. */
export interface RequestNote {
  variant?: "A" | "B";
  operation?: string;
  tenantId?: string;
}

/** Which entries to return; what is left out does not matter. */
export interface JournalFilter {
  readonly tenantId?: string;
  readonly variant?: "A" | "B";
  readonly operation?: string;
  readonly status?: number;
}

/** Entries beyond this are forgotten, oldest first. */
const CAPACITY = 10_000;
/** A UUID fits, an access token does not. */
const LONGEST_SEGMENT = 40;

/**
 * Keeps the newest 10000 requests, in the order in which they were answered.
 *
 * @example
 * await Promise.all(Array.from({ length: 100 }, () => service.call("listDevices")));
 * expect(emulator.journal.tokenRequests({ tenantId: "acme" })).toHaveLength(1);
 */
export class Journal {
  readonly #entries = new BoundedList<JournalEntry>(CAPACITY);

  entries(filter: JournalFilter = {}): JournalEntry[] {
    const wanted = Object.entries(filter).filter(([, value]) => value !== undefined);
    return this.#entries
      .newest()
      .filter((entry) => wanted.every(([key, value]) => entry[key as keyof JournalFilter] === value));
  }

  /** The POSTs to either token endpoint, refused ones included. */
  tokenRequests(filter: Omit<JournalFilter, "operation"> = {}): JournalEntry[] {
    return this.entries({ ...filter, operation: "requestToken" }).filter(({ method }) => method === "POST");
  }

  clear(): void {
    this.#entries.clear();
  }

  /** @internal */
  record(at: number, request: Request, status: number, note: RequestNote): void {
    const path = new URL(request.url).pathname.split("/").map(cutSegment).join("/");
    this.#entries.add({ at, method: request.method, path, status, ...note });
  }
}

function cutSegment(segment: string): string {
  return segment.length > LONGEST_SEGMENT ? "…" : segment;
}
