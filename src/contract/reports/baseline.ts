/** Two runs compared: what a deployment does other than before. */
import { z } from "zod";
import type { ContractResult } from "../case.js";
import { ContractError } from "../errors.js";

/** The part of a result that is compared. */
export type ComparedResult = Pick<ContractResult, "id" | "variant" | "result" | "observed" | "settings">;

export interface Movement {
  readonly id: string;
  readonly variant: "A" | "B";
  /** `new` and `gone`: only the later or only the earlier run has the case. */
  readonly kind: "moved" | "new" | "gone";
  readonly before?: ComparedResult | undefined;
  readonly after?: ComparedResult | undefined;
}

/**
 * Compares two runs by the results, what was observed and the settings that follow. Two cases that were both not tried
 * are equal, whatever the reason.
 *
 * @example
 * const moved = compareRuns(JSON.parse(await readFile("before.json", "utf8")).results, results);
 */
export function compareRuns(
  before: readonly ComparedResult[],
  after: readonly ComparedResult[],
): readonly Movement[] {
  const later = new Map(after.map((one) => [keyOf(one), compared(one)]));
  const earlier = new Map(before.map((one) => [keyOf(one), compared(one)]));
  return [...new Set([...later.keys(), ...earlier.keys()])].flatMap((key): Movement[] => {
    const [old, now] = [earlier.get(key), later.get(key)];
    if (old === undefined) return now ? [{ id: now.id, variant: now.variant, kind: "new", after: now }] : [];
    const { id, variant } = old;
    if (now === undefined) return [{ id, variant, kind: "gone", before: old }];
    const isSame =
      old.result === "not tried" ? now.result === "not tried" : JSON.stringify(old) === JSON.stringify(now);
    return isSame ? [] : [{ id, variant, kind: "moved", before: old, after: now }];
  });
}

const baseline = z.object({
  results: z.array(
    z.object({
      id: z.string(),
      variant: z.enum(["A", "B"]),
      result: z.enum(["holds", "breaks", "learnt", "not tried"]),
      observed: z.string(),
      settings: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
});

/** Reads what `bivariant contract --json` printed. @throws ContractError `baseline_invalid` */
export function parseBaseline(text: string): readonly ComparedResult[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ContractError("baseline_invalid", "The baseline is not JSON.");
  }
  const parsed = baseline.safeParse(value);
  if (parsed.success) return parsed.data.results as readonly ComparedResult[];
  const [issue] = parsed.error.issues;
  const at = issue?.path.join(".") || "the document";
  const message = `The baseline is not the result of a contract run (${at}: ${issue?.message}).`;
  throw new ContractError("baseline_invalid", message, [at]);
}

const keyOf = ({ variant, id }: ComparedResult) => `${variant} ${id}`;

const compared = ({ id, variant, result, observed, settings }: ComparedResult): ComparedResult => ({
  ...{ id, variant, result, observed, settings },
});
