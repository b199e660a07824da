/** The rules that the emulator enforces, for reading. */
import { rules } from "../../emulator/index.js";
import type { Paint } from "../paint.js";

export function ruleLines(paint: Paint): string[] {
  return Object.entries(rules).flatMap(([id, { section, says, answer, remedy }]) => [
    `${paint("bold", id)} (section ${section}) answers ${answer.status}${answer.error === undefined ? "" : ` ${answer.error}`}`,
    `  ${says}`,
    `  ${paint("dim", remedy)}`,
  ]);
}
