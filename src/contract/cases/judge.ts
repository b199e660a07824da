/** Judges answers: what counts as a refusal of each endpoint. */
import { type RuleId, rules } from "../../emulator/rules.js";
import { breaks, holds, type Verdict } from "../case.js";
import type { Answer } from "../exchange.js";
import { shownAnswer } from "../kit.js";

/** The answer of the emulator's table to a request that breaks the rule, in words. */
export function expectedAnswer(rule: RuleId, errors: readonly string[] = errorsOf(rule)): string {
  const { status } = rules[rule].answer;
  return `The request is refused with ${status}${errors.length > 0 ? ` ${errors.join(" or ")}` : ""}.`;
}

function errorsOf(rule: RuleId): readonly string[] {
  const { error } = rules[rule].answer;
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
    status === rules[rule].answer.status && (errors.length === 0 || errors.includes(String(fields?.error)));
  return (isRight ? holds : breaks)(observedOf(answer));
}

/** Codes and bodies of Variant B's refusals are not shown (section 7.3), so any 4xx without a token will do. */
export function refusedByB(answer: Answer): Verdict {
  const isRefused = answer.status >= 400 && answer.status < 500;
  return (isRefused ? holds : breaks)(observedOf(answer));
}

export function observedOf(answer: Answer): string {
  return answer.accessToken === undefined
    ? `${shownAnswer(answer)}.`
    : `${answer.status} with an access token.`;
}

/** Ages are tried so far from a plausible lifetime, in seconds, because a server's clock has whole seconds. */
const marginSeconds = 6;

/**
 * Finds, by halving, how long something works. Each plausible lifetime (in seconds, ascending) is tried just before
 * and just after its end. `seconds` is absent if it lies between two of them.
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
  const [least, most] = [ages[works], ages[fails]];
  const bounds = [least && `more than ${least} s`, most && `at most ${most} s`].filter(Boolean);
  return { observed: seconds === undefined ? bounds.join(" and ") : `${seconds} s`, seconds };
}

/** Whether a call got past the bearer token. */
export function isAccepted({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}
