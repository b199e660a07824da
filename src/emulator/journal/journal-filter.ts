// Which entries of the journal a test asks for.
import { z } from "zod";
import { type Fault, type FaultName, faultMoments } from "../faults/fault.js";
import { GRANTS, type Grant } from "../grant.js";
import { parseInput } from "../parse-input.js";
import { ruleIdSchema } from "../rules/rule-id-schema.js";
import type { RuleId } from "../rules.js";
import { type Endpoint, type JournalEntry, shownPath, shownTenant } from "./journal-entry.js";

/** What is left out does not matter. A name that is none is refused: it would match nothing, and pass unnoticed. */
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
  /** Epoch milliseconds by the emulator's clock: what arrived at that instant or later. */
  readonly since?: number | undefined;
}

const text = z.string().optional();
const FAULT_NAMES = Object.keys(faultMoments) as Fault["name"][];
const schema: z.ZodType<JournalFilter> = z.strictObject({
  tenantId: text,
  clientId: text,
  variant: z.enum(["A", "B"]).optional(),
  endpoint: z.enum(["token", "api", "page"]).optional(),
  operation: text,
  grant: z.enum(GRANTS).optional(),
  method: text,
  path: text,
  status: z.number().int().optional(),
  rule: ruleIdSchema.optional(),
  fault: z.enum(FAULT_NAMES).optional(),
  since: z.number().optional(),
});

/** @throws EmulatorError `option_invalid` */
export function journalFilter(input: JournalFilter): (entry: JournalEntry) => boolean {
  const { since, tenantId, path, ...same } = parseInput(schema, input, "option_invalid", "journal filter");
  // As they are shown, so that a long tenant id finds its own.
  const shown = { ...same, tenantId: tenantId && shownTenant(tenantId), path: path && shownPath(path) };
  const wanted = Object.entries(shown).filter(([, value]) => value !== undefined);
  return (entry) =>
    (since === undefined || entry.at >= since) &&
    wanted.every(([name, value]) => entry[name as keyof JournalEntry] === value);
}
