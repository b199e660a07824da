/** What a case is: a promise of the description as data, and how it is tried. */
import { unknowns } from "../../generated/unknowns.js";
import { emulatorRules, type RuleId } from "../emulator/rules.js";
import type { NotTriedReason } from "./errors.js";
import type { Exchange } from "./exchange.js";
import type { Kit } from "./kit.js";
import type { DeploymentSettings } from "./learning/settings.js";
import type { Need } from "./target.js";

/** A promise that a deployment keeps or breaks, or an open fact that it shows. Plain data. */
export interface ContractCase {
  /** Stable. That of the rule or unknown, with a suffix where it has several cases. */
  readonly id: string;
  /** The rule of the emulator's table that it tries. */
  readonly rule?: RuleId | undefined;
  /** The id of the unknown that it learns, as `bivariant unknowns` lists them. */
  readonly unknown?: string | undefined;
  readonly variant: "A" | "B";
  /** The section of the description, or the standard where the description is silent. */
  readonly section: string;
  /** What is done and what should come of it, in one sentence. */
  readonly says: string;
  /** The members of the target without which it cannot be tried. */
  readonly needs: readonly Need[];
  readonly costs: CaseCosts;
  /**
   * Whether it may be tried on a live tenant without being named. False for one that could lock,
   * revoke or change something, or that uses up the rate limit.
   */
  readonly safe: boolean;
  /**
   * Whether it is tried only if it is named, because it tells little for the requests that it
   * costs.
   */
  readonly extra: boolean;
}

export interface CaseCosts {
  /** The requests that it sends at most, if it is tried alone. */
  readonly requests: number;
  /** How many of these requests take a slot of the token endpoint's rate limit. */
  readonly slots: number;
  /** Launches, each of which yields an authorization code of Variant A. */
  readonly codes: number;
  /** Logins of a person in Variant B. */
  readonly logins: number;
  /** How long it waits. */
  readonly seconds: number;
}

/** `holds`, `breaks`, `learnt` (an open fact was observed) or `not tried`. */
export type CaseOutcome = "holds" | "breaks" | "learnt" | "not tried";

export interface Verdict {
  readonly result: CaseOutcome;
  /**
   * What came back, without a value that could be secret; of a case that was not tried, the reason.
   */
  readonly observed: string;
  /** Of a case that was not tried. */
  readonly reason?: NotTriedReason | undefined;
  /** What the rule of the case refuses was accepted, as if there were no such rule. */
  readonly accepted?: true | undefined;
  /** The options that follow from it. */
  readonly settings?: DeploymentSettings | undefined;
}

/** What a case found out about a deployment: plain data without a secret. */
export interface ContractResult
  extends Omit<ContractCase, "needs" | "costs" | "safe" | "extra">,
    Verdict {
  readonly expected: string;
  /**
   * The requests that it sent, and those of earlier cases that it relies on, with their answers,
   * redacted.
   */
  readonly evidence: readonly Exchange[];
}

/** A case with its code. */
export interface CaseDefinition extends ContractCase {
  readonly expected: string;
  /** @throws NotTried */
  readonly run: (kit: Kit) => Promise<Verdict>;
}

export const holds = (observed: string): Verdict => ({ result: "holds", observed });
export const breaks = (observed: string): Verdict => ({ result: "breaks", observed });
export const verdict = (isRight: boolean, observed: string): Verdict =>
  (isRight ? holds : breaks)(observed);
/** Breaks, because what the rule refuses was accepted. */
export const accepts = (observed: string): Verdict => ({
  result: "breaks",
  observed,
  accepted: true,
});
export const learnt = (observed: string, settings?: DeploymentSettings): Verdict => ({
  result: "learnt",
  observed,
  settings,
});

const free: CaseCosts = { requests: 0, slots: 0, codes: 0, logins: 0, seconds: 0 };

/** What is said of a case, where the id and the cases that it is defined with do not say it. */
export interface Row extends Partial<Omit<ContractCase, "costs" | "needs">> {
  readonly needs?: ContractCase["needs"] | undefined;
  readonly expected?: string;
  readonly costs?: Partial<CaseCosts>;
}

/** A row that says all that a case needs. */
export type CaseRow = Row & Pick<CaseDefinition, "says" | "run">;

/**
 * Makes cases of rows by id, with what they have in common. The rule or the unknown of a case is
 * the one that its id, or the beginning of its id, names.
 */
export function defineCases(
  variant: "A" | "B",
  common: Row,
  rows: Readonly<Record<string, CaseRow>>,
): readonly CaseDefinition[] {
  return Object.entries(rows).map(([id, row]) => {
    const rule = ruleOf(id);
    const unknown = unknowns.find((one) => namesOf(id).includes(one.id));
    return {
      id,
      variant,
      rule,
      unknown: unknown?.id,
      section: (rule ? emulatorRules[rule] : unknown)?.section ?? "",
      expected: unknown ? "Any answer: the description leaves it open." : row.says,
      safe: true,
      extra: false,
      ...common,
      ...row,
      needs: [...(common.needs ?? []), ...(row.needs ?? [])],
      costs: { ...free, ...common.costs, ...row.costs },
    };
  });
}

/** The rule whose id is that of the case, or its beginning. */
export function ruleOf(id: string): RuleId | undefined {
  return namesOf(id).find((name) => Object.hasOwn(emulatorRules, name)) as RuleId | undefined;
}

const namesOf = (id: string) => [id, id.slice(0, Math.max(0, id.lastIndexOf(".")))];
