/** Judges answers: what counts as a refusal of each endpoint. */
import { emulatorRules, type RuleId } from "../../emulator/rules.js";
import {
  accepts,
  breaks,
  type CaseCosts,
  type CaseDefinition,
  defineCases,
  holds,
  type Verdict,
} from "../case.js";
import type { Answer } from "../exchange.js";
import { type Kit, shownAnswer, type Variant } from "../kit.js";
import type { Need } from "../target.js";

/**
 * A request that cannot be read or lacks a field is one or the other: see the unknown
 * malformed-request-error.
 */
export const malformedErrors = ["invalid_grant", "invalid_request"] as const;

/** The answer of the emulator's table to a request that breaks the rule, in words. */
export function expectedAnswer(rule: RuleId, errors: readonly string[] = errorsOf(rule)): string {
  const { status } = emulatorRules[rule].answer;
  return (
    "The request is refused with " +
    `${status}${errors.length > 0 ? ` ${errors.join(" or ")}` : ""}.`
  );
}

function errorsOf(rule: RuleId): readonly string[] {
  const { error } = emulatorRules[rule].answer;
  return error === undefined ? [] : [error];
}

/** A request that breaks the rule must get the rule's answer (section 7.1). */
export function refusedByA(
  answer: Answer,
  rule: RuleId,
  errors: readonly string[] = errorsOf(rule),
): Verdict {
  const { status, fields } = answer;
  const isRight =
    status === emulatorRules[rule].answer.status &&
    (errors.length === 0 || errors.some((error) => error === fields?.error)) &&
    !hasToken(answer);
  return (isRight ? holds : hasToken(answer) ? accepts : breaks)(observedOf(answer));
}

/**
 * Codes and bodies of Variant B's refusals are not shown (section 7.3), so any 4xx without a token
 * will do.
 */
export function refusedByB(answer: Answer): Verdict {
  const isRefused = answer.status >= 400 && answer.status < 500 && !hasToken(answer);
  return (isRefused ? holds : isAccepted(answer) ? accepts : breaks)(observedOf(answer));
}

export function observedOf(answer: Answer): string {
  return hasToken(answer) ? `${answer.status} with an access token.` : `${shownAnswer(answer)}.`;
}

/** Whatever the status says. */
function hasToken({ fields }: Answer): boolean {
  return typeof fields?.access_token === "string";
}

/** Whether a call got past the bearer token. */
export function isAccepted({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}

export interface Group<Control, Sent> extends Pick<CaseDefinition, "needs"> {
  readonly costs: Partial<CaseCosts>;
  /** Makes sure that a right request succeeds. @throws NotTried */
  readonly control: (kit: Kit) => Promise<Control>;
  readonly judge: (sent: Sent, rule: RuleId, errors?: readonly string[]) => Verdict;
  readonly expected: string | ((rule: RuleId, errors?: readonly string[]) => string);
  /** The promise in words. Default: that the request is refused. */
  readonly says?: (note: string) => string;
}

export interface Refusal<Control, Sent> extends Pick<Partial<CaseDefinition>, "safe"> {
  /** The request that breaks the rule: "a token request by PUT". */
  readonly note: string;
  /** Besides those of the group. */
  readonly needs?: readonly Need[];
  readonly costs?: Partial<CaseCosts>;
  /** The errors that the description allows. Default: that of the rule. */
  readonly errors?: readonly string[];
  readonly send: (kit: Kit, note: string, control: Control) => Promise<Sent>;
}

/** Cases about requests that a rule refuses whose id is the case's, or begins it. */
export function refusals<Control, Sent>(
  variant: Variant,
  { control, judge, expected, says = isRefused, ...group }: Group<Control, Sent>,
  rows: Readonly<Record<string, Refusal<Control, Sent>>>,
): readonly CaseDefinition[] {
  const all = Object.entries(rows).map(
    ([id, { note, send, errors, needs = [], costs, ...row }]) => {
      const rule = ruleOf(id);
      const about = {
        rule,
        section: emulatorRules[rule].section,
        says: says(note),
        expected: typeof expected === "string" ? expected : expected(rule, errors),
        needs: [...group.needs, ...needs],
        costs: { ...group.costs, ...costs },
      };
      const run = async (kit: Kit) =>
        judge(await send(kit, note, await control(kit)), rule, errors);
      return [id, { ...about, ...row, run }] as const;
    },
  );
  return defineCases(variant, Object.fromEntries(all));
}

const isRefused = (note: string) => `${note.charAt(0).toUpperCase()}${note.slice(1)} is refused.`;

/** The rule whose id is that of the case, or its beginning. */
export function ruleOf(id: string): RuleId {
  return (Object.hasOwn(emulatorRules, id) ? id : id.slice(0, id.lastIndexOf("."))) as RuleId;
}

/** How the token endpoint's answers to such requests are judged in each variant. */
export const byA: Pick<Group<unknown, Answer>, "judge" | "expected"> = {
  judge: refusedByA,
  expected: expectedAnswer,
};
export const byB: typeof byA = {
  judge: refusedByB,
  expected: "A 4xx without a token: Variant B's errors are not shown (section 7.3).",
};

/** What is expected where the description shows nothing. */
export const open = "Any answer: the description leaves it open.";

/**
 * Ages are tried so far from a plausible lifetime, in seconds, because a server's clock has whole
 * seconds.
 */
const marginSeconds = 6;

/**
 * Finds, by halving, how long something works. Each plausible lifetime (in seconds, ascending) is
 * tried just before and just after its end. `seconds` is undefined if the lifetime lies between two
 * of them.
 */
export async function findLifetime(
  plausible: readonly number[],
  worksAfter: (seconds: number) => Promise<boolean>,
): Promise<{ readonly observed: string; readonly seconds: number | undefined }> {
  const ages = plausible.flatMap((seconds) => [seconds - marginSeconds, seconds + marginSeconds]);
  let works = -1;
  let fails = ages.length;
  while (fails - works > 1) {
    const middle = Math.floor((works + fails) / 2);
    if (await worksAfter(ages[middle] ?? 0)) works = middle;
    else fails = middle;
  }
  const seconds = plausible[works / 2];
  const observed =
    `more than ${ages[works] ?? 0} s and at most ` + `${ages[fails] ?? "any number of"} s`;
  return { observed: seconds === undefined ? observed : `${seconds} s`, seconds };
}
