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
import { type Kit, shownAnswer } from "../kit.js";

/** A request that cannot be read or lacks a field is one or the other: see the unknown malformed-request-error. */
export const malformedErrors = ["invalid_grant", "invalid_request"] as const;

/** The answer of the emulator's table to a request that breaks the rule, in words. */
export function expectedAnswer(rule: RuleId, errors: readonly string[] = errorsOf(rule)): string {
  const { status } = emulatorRules[rule].answer;
  return `The request is refused with ${status}${errors.length > 0 ? ` ${errors.join(" or ")}` : ""}.`;
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

/** Codes and bodies of Variant B's refusals are not shown (section 7.3), so any 4xx without a token will do. */
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

interface Group<Control, Sent> extends Pick<CaseDefinition, "needs"> {
  readonly costs: Partial<CaseCosts>;
  /** Makes sure that a right request succeeds. @throws NotTried */
  readonly control: (kit: Kit) => Promise<Control>;
  readonly judge: (sent: Sent) => Verdict;
  readonly expected: string;
}

interface Refusal<Control, Sent> extends Partial<Pick<CaseDefinition, "needs" | "safe">> {
  /** The request that breaks the rule: "a token request by PUT". */
  readonly note: string;
  readonly costs?: Partial<CaseCosts>;
  readonly send: (kit: Kit, note: string, control: Control) => Promise<Sent>;
}

/** Cases of Variant B, each about a request that the rule refuses whose id is the case's, or begins it. */
export function refusals<Control, Sent>(
  { control, judge, ...group }: Group<Control, Sent>,
  rows: Readonly<Record<string, Refusal<Control, Sent>>>,
): readonly CaseDefinition[] {
  const all = Object.entries(rows).map(([id, { note, send, ...row }]) => {
    const rule = (Object.hasOwn(emulatorRules, id) ? id : id.slice(0, id.lastIndexOf("."))) as RuleId;
    const says = `${note.charAt(0).toUpperCase()}${note.slice(1)} is refused.`;
    const run = async (kit: Kit) => judge(await send(kit, note, await control(kit)));
    return [id, { rule, section: emulatorRules[rule].section, says, ...group, ...row, run }];
  });
  return defineCases("B", Object.fromEntries(all));
}

/** How the token endpoint's answers to such requests are judged. */
export const byB: Pick<Group<unknown, Answer>, "judge" | "expected"> = {
  judge: refusedByB,
  expected: "A 4xx without a token: Variant B's errors are not shown (section 7.3).",
};

/** What is expected where the description shows nothing. */
export const open = "Any answer: the description leaves it open.";

/** Ages are tried so far from a plausible lifetime, in seconds, because a server's clock has whole seconds. */
const marginSeconds = 6;

/**
 * Finds, by halving, how long something works. Each plausible lifetime (in seconds, ascending) is tried just before
 * and just after its end. `seconds` is undefined if the lifetime lies between two of them.
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
