// One request as the journal shows it, redacted by holding nothing that could need it.
import type { FaultName } from "../faults/fault.js";
import type { Grant } from "../grant.js";
import type { RuleId } from "../rules.js";
import { isQuotable } from "../shown.js";

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
   * Of a registration or of the token that was presented; what nobody registered is not shown, for it may be a secret in
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

/** Of an anonymous request it is whatever stood in the path. */
export function shownTenant(tenantId: string): string {
  return isQuotable(tenantId) ? tenantId : "…";
}

function shownSegment(segment: string): string {
  return segment.length > LONGEST_SHOWN ? "…" : segment;
}
