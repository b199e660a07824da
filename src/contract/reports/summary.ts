/** What all reports of a run need: its counts, and why cases were not tried. */
import type { NamesOf } from "../../option-names.js";
import type { CaseOutcome, ContractResult } from "../case.js";
import { requireOptions } from "../errors.js";
import { type Movement, onlyMoved } from "./baseline.js";

/** The run that a report is about. */
export interface RunAbout {
  readonly baseUrl: string;
  readonly tenantId?: string | undefined;
  /** When the run began, in epoch milliseconds. */
  readonly startedAt: number;
  readonly requests: number;
  readonly seconds: number;
  /** The run ended before its last case. */
  readonly interrupted?: boolean | undefined;
  /** What `compareRuns` returned, if there is a baseline. */
  readonly moved?: readonly Movement[] | undefined;
}

const aboutNames: NamesOf<RunAbout> = {
  baseUrl: true,
  tenantId: true,
  startedAt: true,
  requests: true,
  seconds: true,
  interrupted: true,
  moved: true,
};

/** @throws ContractError `option_invalid` for a name that no report takes */
export function requireAbout(of: string, about: RunAbout): void {
  requireOptions(of, about, aboutNames);
}

export function countResults(
  results: readonly ContractResult[],
): Readonly<Record<CaseOutcome, number>> {
  const counts = { holds: 0, breaks: 0, learnt: 0, "not tried": 0 };
  for (const { result } of results) counts[result]++;
  return counts;
}

/** The variants that have results, each with its own. */
export function byVariant(
  results: readonly ContractResult[],
): readonly (readonly [variant: "A" | "B", own: readonly ContractResult[]])[] {
  const all = (["A", "B"] as const).map(
    (variant) => [variant, results.filter((one) => one.variant === variant)] as const,
  );
  return all.filter(([, own]) => own.length > 0);
}

/** The cases that were not tried by what they said they need, the most frequent first. */
export function groupNotTried(
  results: readonly ContractResult[],
): readonly { readonly says: string; readonly cases: readonly ContractResult[] }[] {
  const groups = new Map<string, ContractResult[]>();
  for (const one of results)
    if (one.result === "not tried")
      groups.set(one.observed, [...(groups.get(one.observed) ?? []), one]);
  return [...groups]
    .map(([says, cases]) => ({ says, cases }))
    .sort((left, right) => right.cases.length - left.cases.length);
}

/** The credentials that were refused: which, why, and how many cases could not be tried for it. */
export function refusedCredentials(
  results: readonly ContractResult[],
): readonly { readonly variant: "A" | "B"; readonly text: string }[] {
  return byVariant(results.filter(({ reason }) => reason === "refused")).flatMap(
    ([variant, refused]) =>
      groupNotTried(refused).map(({ says, cases: { length } }) => ({
        variant,
        text:
          `${says} ${length} ${length === 1 ? "case" : "cases"} of Variant ${variant} could ` +
          "not be tried for it.",
      })),
  );
}

/** `52 hold, 0 break, 12 learnt, 30 not tried; 2 moved; 57 requests, 1.4 s` */
export function summaryText(results: readonly ContractResult[], about: RunAbout): string {
  const { requests, seconds, moved } = about;
  const compared = moved === undefined ? "" : ` ${onlyMoved(moved).length} moved;`;
  return (
    `${countsText(results)};${compared} ${requests} ` +
    `${requests === 1 ? "request" : "requests"}, ${seconds.toFixed(1)} s`
  );
}

export function countsText(results: readonly ContractResult[]): string {
  const { holds, breaks, learnt, "not tried": notTried } = countResults(results);
  return `${holds} hold, ${breaks} break, ${learnt} learnt, ${notTried} not tried`;
}
