// Sends a row's requests to a deployment of its own, with rules off or on.
import type { EmulatorOptions, RuleId } from "../../../src/emulator/index.js";
import { type Answer, readAnswer } from "./answer.js";
import type { Row } from "./row.js";
import { World } from "./world.js";

export interface Played {
  readonly answer: Answer;
  /** The rule that the journal names for the last request. */
  readonly rule: RuleId | undefined;
  /** The rule that the newest entry of the customer log names. */
  readonly logged: RuleId | undefined;
}

export async function play(row: Row, off: readonly RuleId[] = []): Promise<Played> {
  const rules = { ...row.options?.rules, ...Object.fromEntries(off.map((rule) => [rule, false])) };
  const options: EmulatorOptions = { ...row.options, rules };
  const world = await World.open(options);
  try {
    const answer = await readAnswer(await row.request(world));
    const { journal, customerLog } = world.emulator;
    return { answer, rule: journal.entries().at(-1)?.rule, logged: customerLog.last()?.rule };
  } finally {
    await world.close();
  }
}
