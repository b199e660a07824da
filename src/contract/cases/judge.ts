/** Judges answers: what counts as a refusal of each endpoint. */
import { emulatorRules, type RuleId } from "../../emulator/rules.js";
import {
  accepts,
  type CaseDefinition,
  defineCases,
  type Row,
  ruleOf,
  type Verdict,
  verdict,
} from "../case.js";
import { NotTried } from "../errors.js";
import type { Answer } from "../exchange.js";
import { type Kit, shownAnswer, type Variant } from "../kit.js";

/**
 * A request that cannot be read or lacks a field is one or the other: see the unknown
 * malformed-request-error.
 */
export const malformedErrors = ["invalid_grant", "invalid_request"] as const;

/** The answer of the emulator's table to a request that breaks the rule, in words. */
export function expectedAnswer(rule: RuleId, errors: readonly string[] = errorsOf(rule)): string {
  const { status } = emulatorRules[rule].answer;
  return `The request is refused with ${[status, errors.join(" or ")].join(" ").trimEnd()}.`;
}

function errorsOf(rule: RuleId): readonly string[] {
  return [emulatorRules[rule].answer.error ?? []].flat();
}

/** A request that breaks the rule must get the rule's answer (section 7.1). */
export function refusedByA(
  answer: Answer,
  rule: RuleId,
  errors: readonly string[] = errorsOf(rule),
): Verdict {
  const { status, fields } = answer;
  const isRight = errors.length === 0 || errors.some((error) => error === fields?.error);
  if (hasToken(answer)) return accepts(observedOf(answer));
  return verdict(isRight && status === emulatorRules[rule].answer.status, observedOf(answer));
}

/**
 * Codes and bodies of Variant B's refusals are not shown (section 7.3), so any 4xx without a token
 * will do.
 */
export function refusedByB(answer: Answer): Verdict {
  if (isAccepted(answer)) return accepts(observedOf(answer));
  return verdict(isRefusal(answer) && !hasToken(answer), observedOf(answer));
}

export function observedOf(answer: Answer): string {
  return hasToken(answer) ? `${answer.status} with an access token.` : `${shownAnswer(answer)}.`;
}

/** Whatever the status says. */
function hasToken({ fields }: Answer): boolean {
  return typeof fields?.access_token === "string";
}

export function isRefusal({ status }: Answer): boolean {
  return status >= 400 && status < 500;
}

/** Whether a call got past the bearer token. */
export function isAccepted({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}

/** Returns the answer to a right call. @throws NotTried that begins with `otherwise` */
export function requireAccepted(answer: Answer, otherwise: string): Answer {
  if (isAccepted(answer)) return answer;
  throw new NotTried(`${otherwise} (${shownAnswer(answer)}).`);
}

export interface Group<Control, Sent> extends Row {
  /** Makes sure that a right request succeeds. @throws NotTried */
  readonly control: (kit: Kit) => Promise<Control>;
  readonly judge: (sent: Sent, rule: RuleId, errors?: readonly string[]) => Verdict;
  /** Instead of `expected`, where that depends on the rule. */
  readonly expects?: (rule: RuleId, errors?: readonly string[]) => string;
  /** The promise in words. Default: that the request is refused. */
  readonly saying?: (note: string) => string;
}

export interface Refusal<Control, Sent> extends Row {
  /** The request that breaks the rule: "a token request by PUT". */
  readonly note: string;
  /** The errors that the description allows. Default: that of the rule. */
  readonly errors?: readonly string[];
  readonly send: (kit: Kit, note: string, control: Control) => Promise<Sent>;
}

/** Cases about requests that the rule of the case refuses. */
export function refusals<Control, Sent>(
  variant: Variant,
  { control, judge, expects, saying = isRefused, ...common }: Group<Control, Sent>,
  rows: Readonly<Record<string, Refusal<Control, Sent>>>,
): readonly CaseDefinition[] {
  const all = Object.entries(rows).map(([id, { note, send, errors, ...row }]) => {
    const rule = ruleOf(id) as RuleId;
    const run = async (kit: Kit) => judge(await send(kit, note, await control(kit)), rule, errors);
    const expected = expects?.(rule, errors);
    return [id, { says: saying(note), ...(expected && { expected }), ...row, run }] as const;
  });
  return defineCases(variant, common, Object.fromEntries(all));
}

const isRefused = (note: string) => `${note.charAt(0).toUpperCase()}${note.slice(1)} is refused.`;

/** How the token endpoint's answers to such requests are judged in each variant. */
export const byA: Pick<Group<unknown, Answer>, "judge" | "expects"> = {
  judge: refusedByA,
  expects: expectedAnswer,
};
export const byB: Pick<Group<unknown, Answer>, "judge" | "expected"> = {
  judge: refusedByB,
  expected: "A 4xx without a token: Variant B's errors are not shown (section 7.3).",
};

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
  const observed = `more than ${ages[works] ?? 0} s and at most ${ages[fails] ?? "any number of"} s`;
  return { observed: seconds === undefined ? observed : `${seconds} s`, seconds };
}
