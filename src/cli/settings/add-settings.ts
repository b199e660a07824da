/** Gives a command the flags of some settings, and names their environment variables in its help. */
import type { Command } from "commander";
import { type SettingName, settingTable } from "./setting-table.js";

export function addSettings(command: Command, names: readonly SettingName[]): Command {
  const variables: string[] = [];
  for (const name of names) {
    const { flag, env, text } = settingTable[name];
    if (flag !== undefined) command.option(flag, text);
    if (env !== undefined) variables.push(env);
  }
  return command.addHelpText(
    "after",
    `
Environment, where a flag is not given:
  ${variables.join("\n  ")}`,
  );
}
