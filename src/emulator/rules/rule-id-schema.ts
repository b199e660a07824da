// The id of a rule, as filters of the journal and of the customer's log take it.
import { z } from "zod";
import { type RuleId, rules } from "../rules.js";

/** What is no rule would match nothing, and pass unnoticed. */
export const ruleIdSchema: z.ZodType<RuleId> = z.custom<RuleId>(
  (value) => typeof value === "string" && Object.hasOwn(rules, value),
  "must be a rule's id; `bivariant emulate --rules` lists them",
);
