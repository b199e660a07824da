// The customer's log: every refusal with its real reason, which the answer does not contain.
import { z } from "zod";
import { parseInput } from "../errors.js";
import type { KnownIdentity } from "../registrations/fields.js";
import { answerTo, type Refusal, ruleIdSchema } from "../rules/checks.js";
import { isQuotable } from "../rules/shown.js";
import { emulatorRules, type RuleId } from "../rules.js";
import { BoundedList } from "../state/expiring-map.js";
import { entryMatcher, type RequestNote, shownTenant } from "./journal.js";

/** One refusal. It contains no secret, assertion or token. */
export interface CustomerLogEntry {
  /** Epoch milliseconds, by the emulator's clock. */
  readonly at: number;
  /** The `id` of the request in the journal. Absent if `launch` or `login` refused in-process. */
  readonly requestId?: number;
  /**
   * Absent if the request has no tenant (Variant B, unknown client); "…" if it may be a credential.
   */
  readonly tenantId?: string;
  readonly clientId?: string;
  /** The answer to the caller. */
  readonly outcome: { readonly status: number; readonly error?: string };
  readonly rule: RuleId;
  /** The section of the description or, if it says nothing about this, of a standard. */
  readonly section: string;
  readonly expected: string;
  readonly actual: string;
  readonly remedy: string;
  /** Nothing is misconfigured: a client asked which variant is served. */
  readonly detectionProbe?: true;
}

/** An entry must match every given member. */
export type CustomerLogFilter = {
  readonly [Name in "tenantId" | "clientId" | "rule" | "requestId"]?:
    | CustomerLogEntry[Name]
    | undefined;
} & {
  /** Only refusals since this instant match (epoch milliseconds by the emulator's clock). */
  readonly since?: number | undefined;
};

const schema: z.ZodType<CustomerLogFilter> = z.strictObject({
  tenantId: z.string().optional(),
  clientId: z.string().optional(),
  rule: ruleIdSchema.optional(),
  requestId: z.number().optional(),
  since: z.number().optional(),
});

const PROBED = "Nothing to correct: this is a detection probe, which asks which variant is served.";

/** If there are more entries, the oldest are forgotten. */
const CAPACITY = 1000;

/**
 * Keeps the newest 1000 refusals: "The real reason appears only in the customer's log" (section
 * 7.1).
 *
 * @example
 * import { expect } from "vitest";
 *
 * expect(emulator.customerLog.last({ tenantId: "acme" })).toMatchObject({
 *   rule: "assertion.audience",
 * });
 * const refused = emulator.journal.last({ status: 400 });
 * emulator.customerLog.entries({ requestId: refused?.id }); // why that request was refused
 */
export class CustomerLog {
  readonly #clock: () => number;
  readonly #entries: BoundedList<CustomerLogEntry>;
  readonly #request: RequestNote | undefined;

  /** @internal */
  constructor(clock: () => number, entries?: BoundedList<CustomerLogEntry>, request?: RequestNote) {
    this.#clock = clock;
    this.#entries = entries ?? new BoundedList(CAPACITY);
    this.#request = request;
  }

  /**
   * The matching refusals, oldest first.
   * @throws EmulatorError `option_invalid` if a name is unknown
   */
  entries(filter: CustomerLogFilter = {}): CustomerLogEntry[] {
    const wanted = parseInput(schema, filter, "customer log filter");
    return this.#entries.newest().filter(entryMatcher({ ...wanted }));
  }

  /** The newest refusal that matches. */
  last(filter: CustomerLogFilter = {}): CustomerLogEntry | undefined {
    return this.entries(filter).at(-1);
  }

  /** Removes all entries. */
  clear(): void {
    this.#entries.clear();
  }

  /**
   * Returns this log for one request, whose journal entry then also has the rule of its refusal.
   * @internal
   */
  of(request: RequestNote): CustomerLog {
    return new CustomerLog(this.#clock, this.#entries, request);
  }

  /** Returns the refusal. @internal */
  record(caller: KnownIdentity, refusal: Refusal): Refusal {
    const { rule, expected, actual } = refusal;
    const { section, remedy } = emulatorRules[rule];
    const { tenantId, clientId } = caller;
    const request = this.#request;
    if (request !== undefined) request.rule = rule;
    this.#entries.add({
      at: this.#clock(),
      ...(request !== undefined && { requestId: request.id }),
      ...(tenantId !== undefined && { tenantId: shownTenant(tenantId) }),
      ...(clientId && isQuotable(clientId) && { clientId }),
      outcome: answerTo(refusal),
      rule,
      section,
      expected,
      actual,
      remedy: request?.detectionProbe ? PROBED : remedy,
      ...(request?.detectionProbe && { detectionProbe: true }),
    });
    return refusal;
  }
}
