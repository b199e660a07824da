// Checks of rules, the refusals that they report, and the switches that skip them.
import { z } from "zod";
import { isName, mostAlike } from "../../option-names.js";
import { EmulatorError, type EmulatorErrorCode, issueError } from "../errors.js";
import { emulatorRules, type RuleAnswer, type RuleId } from "../rules.js";

/** The expected and the received value, in words that are safe to log (see `shown`). */
export interface Finding {
  readonly expected: string;
  readonly actual: string;
}

/** A finding with the rule that it breaks. */
export interface Refusal extends Finding {
  readonly rule: RuleId;
  /** The answer, if an option chooses another than the rule's own. */
  readonly answer?: RuleAnswer;
}

/** The error of an in-process call where a page would refuse. `who` is the page. */
export function refusalError(
  code: EmulatorErrorCode,
  who: string,
  refusal: Refusal,
): EmulatorError {
  const { rule, expected, actual } = refusal;
  const message = `${who}: ${emulatorRules[rule].says} Expected ${expected}, got ${actual}.`;
  return new EmulatorError(code, message, { issues: [rule] });
}

export function answerTo({ rule, answer }: Refusal): RuleAnswer {
  return answer ?? emulatorRules[rule].answer;
}

/**
 * For each rule, in order, a check that returns how the subject breaks it. It never throws on
 * received values.
 */
export type Checks<Subject> = Readonly<
  Partial<Record<RuleId, (subject: Subject) => Finding | undefined>>
>;

/** Returns the finding of a check, unless the expectation holds. */
export function unless(holds: boolean, expected: string, actual: string): Finding | undefined {
  return holds ? undefined : { expected, actual };
}

/** Returns the refusal of the first rule that is broken and not switched off. */
export function firstRefusal<Subject>(
  switches: EmulatorRules,
  checks: Checks<Subject>,
  subject: Subject,
): Refusal | undefined {
  for (const rule of Object.keys(checks) as RuleId[]) {
    const finding = switches.isEnforced(rule) ? checks[rule]?.(subject) : undefined;
    if (finding !== undefined) return { rule, ...finding };
  }
  return undefined;
}

/** For a rule's id, false switches the rule off. */
export type RuleSettings = Readonly<Partial<Record<RuleId, boolean>>>;

/**
 * The switches of one emulator. The check of a rule that is off is skipped; its `off` in `rules`
 * describes the effect. A rule without `off` has no switch. A change counts from the next check on,
 * also for requests in flight.
 *
 * @example
 * emulator.rules.enforce("assertion.replay", false); // what a server without a jti store would do
 */
export class EmulatorRules {
  readonly #off = new Set<RuleId>();

  /** @internal */
  constructor(settings: RuleSettings = {}) {
    for (const [rule, enforced] of Object.entries(settings)) this.enforce(rule as RuleId, enforced);
  }

  /** Whether a request that breaks the rule is refused. */
  isEnforced(rule: RuleId): boolean {
    return !this.#off.has(rule);
  }

  /** @throws EmulatorError `option_invalid` for an unknown rule, or one without a switch. */
  enforce(rule: RuleId, enforced: boolean): void {
    const problem = switchProblem(rule, enforced);
    if (problem !== undefined) throw issueError("option_invalid", `rules: ${problem}`);
    if (enforced) this.#off.delete(rule);
    else this.#off.add(rule);
  }

  /** The rules that are off. */
  off(): RuleId[] {
    return [...this.#off];
  }

  /** Returns the refusal of a broken rule, or undefined if the rule is off. @internal */
  refusal(rule: RuleId, finding: Finding): Refusal | undefined {
    return this.isEnforced(rule) ? { rule, ...finding } : undefined;
  }
}

/**
 * Returns why the switch is refused. An unknown name that looks like no rule may be a secret and is
 * not quoted.
 */
function switchProblem(rule: unknown, enforced: unknown): string | undefined {
  if (!isRuleId(rule)) {
    const text = typeof rule === "string" && isName(rule) ? rule : "";
    const name = text === "" ? "what was given" : `"${text}"`;
    const meant = mostAlike(text, Object.keys(emulatorRules));
    return `${name} is not a rule; ${meant ? `use ${meant}` : "`bivariant emulate --rules` lists them"}`;
  }
  if (typeof enforced !== "boolean") return `${rule} must be true or false`;
  const isFixed = !enforced && emulatorRules[rule].off === undefined;
  return isFixed ? `${rule} has no switch: it is always enforced` : undefined;
}

function isRuleId(value: unknown): value is RuleId {
  return typeof value === "string" && Object.hasOwn(emulatorRules, value);
}

/** An unknown rule is refused, because in a filter it would silently match nothing. */
export const ruleIdSchema: z.ZodType<RuleId> = z.custom<RuleId>(
  isRuleId,
  "must be a rule's id; `bivariant emulate --rules` lists them",
);
