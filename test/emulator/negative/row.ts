// One row of the table of negative requests, and how it is played.
import { type EmulatorOptions, emulatorRules, type RuleId } from "../../../src/emulator/index.js";
import { type Answer, readAnswer } from "./answer.js";
import { type ChangedA, World } from "./world.js";

export type Request = (world: World) => Promise<Response>;

/** The properties that the rows of one group share. */
export interface Group {
  /**
   * The rules that the last request breaks, in the order of precedence: the log names the first.
   * Default: none.
   */
  readonly breaks?: RuleId | readonly RuleId[];
  readonly answer: Answer;
  /** Rules that refuse nothing here but shape the answer. */
  readonly shapedBy?: readonly RuleId[];
  /**
   * Set if the answer stays the same while the rules are off, for example because the client is
   * unknown.
   */
  readonly remains?: true;
  readonly options?: EmulatorOptions;
}

export function refusing(
  answer: Answer,
  breaks: Group["breaks"],
  more: Partial<Group> = {},
): Group {
  return { answer, ...(breaks !== undefined && { breaks }), ...more };
}
export function accepting(answer: Answer, more: Partial<Group> = {}): Group {
  return { answer, ...more };
}
export function also(common: Group, more: Partial<Group>): Group {
  return { ...common, ...more };
}

/**
 * A noun phrase. It begins with the id of the test that it implements, if there is one (A: client
 * assertions and token requests of Variant A, C: codes, R: refresh tokens, L: the API and limits,
 * P: launches in the iframe), and ends with its source in brackets: F2
 * (fapi2-security-profile-final-), F1 (fapi1-advanced-final-) and OC (oidcc-) are modules of the
 * OpenID Foundation's conformance suite, numbers are RFCs and their sections.
 */
type Name = string;

export interface Row extends Omit<Group, "breaks"> {
  readonly name: Name;
  readonly breaks: readonly RuleId[];
  /**
   * Sends all requests of the row and resolves with the last response, which is the one that
   * counts.
   */
  readonly request: Request;
}

export function group(
  { breaks = [], ...common }: Group,
  requests: Readonly<Record<Name, Request>>,
): Row[] {
  const list = typeof breaks === "string" ? [breaks] : breaks;
  return Object.entries(requests).map(([name, request]) => ({
    name,
    breaks: list,
    request,
    ...common,
  }));
}

type Change = ChangedA | ((world: World) => ChangedA);

/** Rows that send one token request of Variant A. */
export function tokenRequests(common: Group, changes: Readonly<Record<Name, Change>>): Row[] {
  const requests = Object.entries(changes).map(([name, change]): [Name, Request] => [
    name,
    (world) => world.requestToken(typeof change === "function" ? change(world) : change),
  ]);
  return group(common, Object.fromEntries(requests));
}

export function titleOf({ name, breaks: [rule], answer }: Row): string {
  if (rule !== undefined) return `${name}: refused by ${rule}`;
  return `${name}: ${answer.status < 400 ? "accepted" : `answered ${answer.status}`}`;
}

export interface Played {
  readonly answer: Answer;
  /**
   * The rule that the journal names for the last request, and the newest one of the customer log.
   */
  readonly rule: RuleId | undefined;
  readonly logged: RuleId | undefined;
}

/**
 * A world for each object of options, since to make one takes five times as long as to reset it.
 */
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
/**
 * Rules that can be switched off. A rule has no switch if the emulator could not answer without its
 * check.
 */
export const switchable: ReadonlySet<RuleId> = new Set(
  ruleIds.filter((rule) => emulatorRules[rule].off !== undefined),
);
