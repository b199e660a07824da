// What the customer's log shows: every refusal with its real reason, which the anonymous caller is not told.
import type { Refusal } from "./refusal.js";
import { type RuleId, rules } from "./rules.js";
import { isQuotable } from "./shown.js";
import { BoundedList } from "./stores/bounded-list.js";

/** One refusal. Holds no secret, assertion or token. */
export interface CustomerLogEntry {
  /** Epoch milliseconds, by the emulator's clock. */
  readonly at: number;
  /** Absent where the request named none (Variant B, unknown client). */
  readonly tenantId?: string;
  readonly clientId?: string;
  /** What the caller was told. */
  readonly outcome: { readonly status: number; readonly error?: string };
  readonly rule: RuleId;
  /** The section of the description, or the standard where it is silent. */
  readonly section: string;
  readonly expected: string;
  readonly actual: string;
  readonly remedy: string;
}

/** Entries beyond this are forgotten, oldest first. */
const CAPACITY = 1000;

/**
 * "The real reason appears only in the customer's log" (description, section 7.1). Keeps the newest 1000 refusals.
 *
 * @example
 * emulator.customerLog.entries({ tenantId: "acme" }).at(-1)?.rule; // "assertion.audience"
 */
export class CustomerLog {
  readonly #entries = new BoundedList<CustomerLogEntry>(CAPACITY);

  /** The refusals that match every given field, oldest first. */
  entries(filter: { tenantId?: string; clientId?: string; rule?: RuleId } = {}): CustomerLogEntry[] {
    return this.#entries
      .newest()
      .filter(
        (entry) =>
          (filter.tenantId === undefined || entry.tenantId === filter.tenantId) &&
          (filter.clientId === undefined || entry.clientId === filter.clientId) &&
          (filter.rule === undefined || entry.rule === filter.rule),
      );
  }

  clear(): void {
    this.#entries.clear();
  }

  /** @internal */
  record(
    at: number,
    caller: { readonly tenantId?: string | undefined; readonly clientId?: string | undefined },
    refusal: Refusal,
  ): void {
    const { answer, section, remedy } = rules[refusal.rule];
    const { rule, expected, actual } = refusal;
    this.#entries.add({
      at,
      ...(caller.tenantId !== undefined && isQuotable(caller.tenantId) && { tenantId: caller.tenantId }),
      ...(caller.clientId !== undefined && isQuotable(caller.clientId) && { clientId: caller.clientId }),
      outcome: answer,
      rule,
      section,
      expected,
      actual,
      remedy,
    });
  }
}
