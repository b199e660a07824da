// Sends a row's requests to a deployment of its own, with rules off or on.
import type { EmulatorOptions, Fault, JournalEntry, RuleId } from "../../../src/emulator/index.js";
import { type Answer, readAnswer } from "./answer.js";
import type { Row } from "./row.js";
import { World } from "./world.js";

export interface Played {
  readonly answer: Answer;
  /** The rule that the journal names for the last request. */
  readonly rule: RuleId | undefined;
  /** The rule that the newest entry of the customer log names. */
  readonly logged: RuleId | undefined;
  /** The requests, oldest first. */
  readonly journal: readonly JournalEntry[];
}

interface Playing {
  /** Rules that are switched off. */
  readonly off?: readonly RuleId[];
  readonly faults?: readonly Fault[];
}

export async function play(row: Row, { off = [], faults = [] }: Playing = {}): Promise<Played> {
  const rules = { ...row.options?.rules, ...Object.fromEntries(off.map((rule) => [rule, false])) };
  const options: EmulatorOptions = { ...row.options, rules };
  const world = await World.open(options);
  for (const fault of faults) world.emulator.faults.add(fault);
  try {
    const answer = await readAnswer(await row.request(world));
    const { journal, customerLog } = world.emulator;
    const entries = journal.entries();
    return { answer, rule: entries.at(-1)?.rule, logged: customerLog.last()?.rule, journal: entries };
  } finally {
    await world.close();
  }
}
