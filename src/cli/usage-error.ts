/** A mistake in the arguments, told without the values that were typed: one of them may be a secret. */
import type { Command, CommanderError } from "commander";
import { ConfigurationError } from "../errors.js";

/** `program` and `argv`: to name the command whose help says more. */
export function usageError(
  { code, message }: CommanderError,
  program: Command,
  argv: readonly string[],
): ConfigurationError {
  const suggestion = /\(Did you mean (?:one of )?([^)?]+)\?\)/.exec(message)?.[1];
  const meant = suggestion === undefined ? "" : ` Did you mean ${suggestion}?`;
  return new ConfigurationError(
    "option_invalid",
    `${text(code, message)}${meant} See ${named(program, argv)} --help.`,
  );
}

/** The command that was meant, in the program's own words: nothing that was typed is repeated. */
function named(program: Command, argv: readonly string[]): string {
  const names = [program.name()];
  let command = program;
  for (const word of argv) {
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined) continue;
    command = next;
    names.push(next.name());
  }
  return names.join(" ");
}

function text(code: string, message: string): string {
  switch (code) {
    case "commander.unknownOption": {
      // `--name=value` and `-nvalue` carry a value: of the first only the name is shown, of the second nothing.
      const name = /'(--[a-z][a-z-]*|-[a-zA-Z](?=['=]))/.exec(message)?.[1];
      return name === undefined ? "There is an unknown option." : `Unknown option ${name}.`;
    }
    case "commander.unknownCommand":
      return "There is no such command.";
    case "commander.help":
      return "Name a command.";
    case "commander.missingArgument":
    case "commander.optionMissingArgument":
    case "commander.missingMandatoryOptionValue":
    case "commander.excessArguments": {
      const line = message.replace(/^error: /, "").split("\n")[0] ?? "";
      return `${line.charAt(0).toUpperCase()}${line.slice(1).replace(/\.$/, "")}.`;
    }
    default:
      return "The arguments are wrong.";
  }
}
