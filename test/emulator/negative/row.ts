// One row of the table of negative requests, and how it is played.
import { type EmulatorOptions, emulatorRules, type RuleId } from "../../../src/emulator/index.js";
import type { Changed } from "../deployment.js";
import { type Answer, readAnswer } from "./answer.js";
import { World } from "./world.js";

export type Request = (world: World) => Promise<Response>;

/** What the last request of a row must get. */
interface Expected {
  /** The rules that it breaks, in the order of precedence: the log names the first. */
  readonly breaks: readonly RuleId[];
  readonly answer: Answer;
  /** Rules that refuse nothing here but shape the answer. */
  readonly shapedBy?: readonly RuleId[];
  /** Set if the answer is the same without the rules, for example since the client is unknown. */
  readonly remains?: true;
  readonly options?: EmulatorOptions;
}
type More = Partial<Omit<Expected, "breaks" | "answer">>;

export interface Row extends Expected {
  /** A noun phrase, with the section of an RFC, if there is one, in brackets. */
  readonly name: string;
  /** Sends all requests of the row and resolves with the last response. */
  readonly request: Request;
}

export function refusing(
  answer: Answer,
  breaks: RuleId | readonly RuleId[],
  more: More = {},
): Expected {
  return { answer, breaks: typeof breaks === "string" ? [breaks] : breaks, ...more };
}

export function accepting(answer: Answer, more: More = {}): Expected {
  return { answer, breaks: [], ...more };
}

export function group(expected: Expected, requests: Readonly<Record<string, Request>>): Row[] {
  return Object.entries(requests).map(([name, request]) => ({ ...expected, name, request }));
}

type Change = Changed | ((world: World) => Changed);

/** Rows that send one token request of Variant A. */
export function tokenRequests(
  expected: Expected,
  changes: Readonly<Record<string, Change>>,
): Row[] {
  return Object.entries(changes).map(([name, change]) => {
    const changed = (world: World) => (typeof change === "function" ? change(world) : change);
    return { ...expected, name, request: (world) => world.requestToken(changed(world)) };
  });
}

export function titleOf({ name, breaks: [rule], answer }: Row): string {
  if (rule !== undefined) return `${name}: refused by ${rule}`;
  return `${name}: ${answer.status < 400 ? "accepted" : `answered ${answer.status}`}`;
}

export interface Played {
  readonly answer: Answer;
  /** The rules that the journal and the customer log name for the last request. */
  readonly rule: RuleId | undefined;
  readonly logged: RuleId | undefined;
}

/** A world for each object of options: to make one takes five times as long as to reset it. */
const worlds = new Map<EmulatorOptions | undefined, World>();

export async function play(
  row: Row,
  off: readonly RuleId[] = [],
  isOverHttp = false,
): Promise<Played> {
  const world = worlds.get(row.options) ?? new World(row.options);
  worlds.set(row.options, world);
  world.reset();
  const { journal, customerLog, rules } = world.emulator;
  for (const rule of off) rules.enforce(rule, false);
  const server = isOverHttp ? await world.emulator.listen() : undefined;
  if (server !== undefined)
    world.transport = (path, init) => fetch(new URL(path, server.url), init);
  try {
    const answer = await readAnswer(await row.request(world));
    return { answer, rule: journal.last()?.rule, logged: customerLog.last()?.rule };
  } finally {
    await server?.close();
  }
}

export const ruleIds = Object.keys(emulatorRules) as readonly RuleId[];
/** A rule has no switch if the emulator could not answer without its check. */
export const switchable: ReadonlySet<RuleId> = new Set(
  ruleIds.filter((rule) => emulatorRules[rule].off !== undefined),
);
