/** Two runs compared: what a deployment does other than before. */
import { z } from "zod";
import type { ContractResult } from "../case.js";
import { ContractError } from "../errors.js";

/** The part of a result that is compared. */
export type ComparedResult = Pick<
  ContractResult,
  "id" | "variant" | "result" | "observed" | "reason" | "settings"
>;

export interface Movement {
  readonly id: string;
  readonly variant: "A" | "B";
  /**
   * `new` and `gone`: only the later or only the earlier run has the case. `untried` and `tried`:
   * only the earlier or only the later run tried it, because of what was lent, named or served;
   * that does not show that the deployment moved.
   */
  readonly kind: "moved" | "new" | "gone" | "untried" | "tried";
  readonly before?: ComparedResult | undefined;
  readonly after?: ComparedResult | undefined;
}

/**
 * Compares two runs by the results, what was observed and the settings that follow. Two cases that
 * were both not tried are equal, whatever the reason; for one that only one of them tried see
 * `kind`.
 *
 * @example
 * import { readFile } from "node:fs/promises";
 *
 * const results: ContractResult[] = [];
 * for await (const result of runContract({ baseUrl, tenantId, plugin: { clientId, privateKey } }))
 *   results.push(result);
 * const moved = compareRuns(parseBaseline(await readFile("before.json", "utf8")), results);
 */
export function compareRuns(
  before: readonly ComparedResult[],
  after: readonly ComparedResult[],
): readonly Movement[] {
  const later = new Map(after.map((one) => [keyOf(one), compared(one)]));
  const earlier = new Map(before.map((one) => [keyOf(one), compared(one)]));
  return [...new Set([...later.keys(), ...earlier.keys()])].flatMap((key): Movement[] => {
    const [old, now] = [earlier.get(key), later.get(key)];
    if (old === undefined)
      return now ? [{ id: now.id, variant: now.variant, kind: "new", after: now }] : [];
    const { id, variant } = old;
    if (now === undefined) return [{ id, variant, kind: "gone", before: old }];
    const [wasTried, isTried] = [old.result !== "not tried", now.result !== "not tried"];
    const isSame = JSON.stringify(old) === JSON.stringify(now);
    if (isSame || !(wasTried || isTried)) return [];
    const { reason } = isTried ? old : now;
    // What the deployment did can also be why a case is not tried: a right request was refused, or
    // had no answer.
    const isOfRun = reason !== undefined && reason !== "no_answer";
    const kind = isOfRun ? (isTried ? "tried" : "untried") : "moved";
    return [{ id, variant, kind, before: old, after: now }];
  });
}

type Identity = Pick<ComparedResult, "id" | "variant">;

/**
 * Leaves out the cases of the earlier run that were not chosen, unless there is no such case any
 * more.
 */
export function compareChosen(
  before: readonly ComparedResult[],
  after: readonly ComparedResult[],
  chosen: readonly Identity[],
  all: readonly Identity[],
): readonly Movement[] {
  const names = new Set(chosen.map(keyOf));
  const known = new Set(all.map(keyOf));
  const isComparable = (one: Identity) => names.has(keyOf(one)) || !known.has(keyOf(one));
  return compareRuns(before.filter(isComparable), after);
}

/** Those that say that the deployment does other than before, or that the cases are others. */
export function onlyMoved(movements: readonly Movement[] = []): readonly Movement[] {
  return movements.filter(({ kind }) => kind !== "tried" && kind !== "untried");
}

/** The settings that moved, such as `bearerStatus: 401 -> 403`: often many cases move for one. */
export function movedSettings(movements: readonly Movement[]): readonly string[] {
  const cases = onlyMoved(movements);
  const settings = (when: "before" | "after"): Readonly<Record<string, unknown>> =>
    Object.assign({}, ...cases.map((one) => one[when]?.settings));
  const [before, after] = [settings("before"), settings("after")];
  const shown = (value: unknown) => (value === undefined ? "not learnt" : JSON.stringify(value));
  return Object.keys({ ...before, ...after })
    .filter((name) => shown(before[name]) !== shown(after[name]))
    .map((name) => `${name}: ${shown(before[name])} -> ${shown(after[name])}`);
}

/** The former and the present answer of a case in one line each. */
export function movementLines({ before, after }: Movement): readonly string[] {
  const line = (when: string, one: ComparedResult | undefined) => {
    const settings = one?.settings === undefined ? "" : ` ${JSON.stringify(one.settings)}`;
    return one ? [`${when}  ${one.result}: ${one.observed}${settings}`] : [];
  };
  return [...line("before", before), ...line("now   ", after)];
}

const baseline = z.object({
  results: z.array(
    z.object({
      id: z.string(),
      variant: z.enum(["A", "B"]),
      result: z.enum(["holds", "breaks", "learnt", "not tried"]),
      observed: z.string(),
      reason: z.string().optional(),
      settings: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
});

/**
 * Reads what `bivariant contract --json` printed, or a list of results as JSON.
 *
 * @throws ContractError `baseline_invalid`
 * @example
 * import { readFile } from "node:fs/promises";
 * import { describe, test } from "vitest";
 *
 * const baseline = parseBaseline(await readFile("before.json", "utf8"));
 * await describeContract(
 *   { describe, test },
 *   { baseUrl, tenantId, plugin: { clientId, privateKey } },
 *   { baseline },
 * );
 */
export function parseBaseline(text: string): readonly ComparedResult[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
    if (Array.isArray(value)) value = { results: value };
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

const keyOf = ({ variant, id }: Identity) => `${variant} ${id}`;

const compared = (one: ComparedResult): ComparedResult => {
  const { id, variant, result, observed, reason, settings } = one;
  return { id, variant, result, observed, reason, settings };
};
