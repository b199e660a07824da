/** The rules that the emulator enforces and the options that settle what the description leaves open, for reading. */
import { options, rules } from "../../emulator/index.js";
import type { Paint } from "../paint.js";

export function ruleLines(paint: Paint): string[] {
  return Object.entries(rules).flatMap(([id, { section, says, answer, remedy, off }]) => [
    `${paint("bold", id)} (section ${section}) answers ${answer.status}${answer.error === undefined ? "" : ` ${answer.error}`}`,
    `  ${says}`,
    `  ${paint("dim", remedy)}`,
    ...(off === undefined ? [] : [`  ${paint("dim", `Off: ${off}`)}`]),
  ]);
}

export function optionLines(paint: Paint): string[] {
  return Object.entries(options).flatMap(([id, { section, says, default: value }]) => [
    `${paint("bold", id)} (section ${section}) is ${JSON.stringify(value)}`,
    `  ${says}`,
  ]);
}
