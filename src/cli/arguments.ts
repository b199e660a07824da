/** Mistakes in the arguments, reported without the values: one of them may be a secret. */
import { isUtf8 } from "node:buffer";
import { addAbortSignal, Readable } from "node:stream";
import { type Command, type CommanderError, InvalidArgumentError, Option } from "commander";
import { ConfigurationError } from "../errors.js";
import { openInput, readAtMost } from "../internal.js";

const processList = "Other users can see the command line, and the shell keeps it.";

const secretOptions = [
  { flags: /^--(?:a-)?(?:private-)?key$/, variable: "A_PRIVATE_KEY" },
  { flags: /^--(?:b-)?(?:client-)?secret$/, variable: "B_CLIENT_SECRET" },
  { flags: /^--(?:b-)?login-(?:client-)?secret$/, variable: "B_LOGIN_CLIENT_SECRET" },
  { flags: /^--store-key$/, variable: "STORE_KEY" },
] as const;
/** Options for secrets that this program obtains itself or does not use. */
const tokenOptions =
  /^--(?:(?:access|bearer|refresh)-)?token$|^--(?:password|code|code-verifier|authorization|client-assertion)$/;

/** Rejects options that would carry a secret, and private keys anywhere, without showing them. */
export function refuseSecrets(argv: readonly string[]): void {
  for (const argument of argv) {
    const [name = ""] = argument.split("=", 1);
    const variable = /PRIVATE KEY-----/.test(argument)
      ? "A_PRIVATE_KEY"
      : secretOptions.find(({ flags }) => flags.test(name))?.variable;
    if (variable !== undefined) {
      const flag = `--${variable.toLowerCase().replaceAll("_", "-")}-file`;
      throw new ConfigurationError(
        "option_invalid",
        "The arguments must not hold a secret. " +
          `${processList} Set BIVARIANT_${variable}_FILE or BIVARIANT_${variable}, or ` +
          `pass ${flag}.`,
      );
    }
    if (tokenOptions.test(name))
      throw invalidFlag(
        name,
        `is not an option. ${processList} The token is fetched with the configured credential; ` +
          "see bivariant token --help.",
      );
  }
}

/** `problem` is the rest of a sentence that starts with the flag. */
export function invalidFlag(flag: string, problem: string): ConfigurationError {
  return new ConfigurationError("option_invalid", `${flag} ${problem}`, { option: flag });
}

export function wholeNumber(least: number, most: number, unit: string): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be ${unit} from ${least} to ${most}.`);
  };
}

/** `--port`, by default that of a command that a browser comes back to. */
export function portOption(
  text = "port of the loopback address that the browser comes back to",
): Option {
  return new Option("--port <number>", text)
    .argParser(wholeNumber(0, 65_535, "a port number"))
    .default(0, "a free one");
}

/**
 * Opens the file that a flag names, or stdin for `-`. The signal ends it, since a pipe may have no
 * end.
 *
 * @throws ConfigurationError `option_invalid`
 */
export function openFileOf(flag: string, path: string, signal: AbortSignal): Readable {
  if (path !== "-") return openInput(path, signal);
  if (Readable.isDisturbed(process.stdin))
    throw invalidFlag(flag, "cannot read stdin, which another option reads. Name a file here.");
  return addAbortSignal(signal, process.stdin);
}

/** The largest document that `generate` reads has as many. */
const mostBytes = 64_000_000;

/**
 * Reads that file without a byte order mark.
 * @throws ConfigurationError `option_invalid`, also for more than `most` bytes
 */
export async function readFileOf(
  flag: string,
  path: string,
  signal: AbortSignal,
  most: number = mostBytes,
): Promise<string> {
  const source = openFileOf(flag, path, signal);
  const bytes = await readAtMost(source, most).catch(
    ({ code = "no code" }: NodeJS.ErrnoException) => {
      throw invalidFlag(flag, `names a file that cannot be read (${code}): ${path}`);
    },
  );
  if (bytes === undefined)
    throw invalidFlag(flag, `names a file that has more than ${most} bytes: ${path}`);
  // Other bytes would become replacement characters.
  if (!isUtf8(bytes))
    throw invalidFlag(flag, `names a file that is not UTF-8: ${path}. Save it as UTF-8.`);
  return bytes.toString("utf8").replace(/^\ufeff/, "");
}

/**
 * Reads such a file as JSON. The message has the line of a mistake, and nothing of the text.
 * @throws ConfigurationError `option_invalid`
 */
export async function readJsonOf(
  flag: string,
  path: string,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly value: unknown }> {
  const text = await readFileOf(flag, path, signal);
  try {
    return { text, value: JSON.parse(text) };
  } catch (error) {
    const offset = /at position (\d+)/.exec((error as Error).message)?.[1];
    const line = offset === undefined ? "" : `:${text.slice(0, Number(offset)).split("\n").length}`;
    throw invalidFlag(flag, `names a file that is not valid JSON: ${path}${line}`);
  }
}

/** Parses an option that may be repeated, for commander. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** Turns an error of commander into one that quotes no value. */
export function usageError(
  { code, message }: CommanderError,
  program: Command,
  argv: readonly string[],
): ConfigurationError {
  let command = program;
  for (const word of argv) command = command.commands.find((one) => one.name() === word) ?? command;
  const suggestion = /\(Did you mean (?:one of )?([^()?]+)\?\)/.exec(message)?.[1];
  const meant = suggestion === undefined ? "" : ` Did you mean ${suggestion}?`;
  const names: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
  return new ConfigurationError(
    "option_invalid",
    `${problemOf(code, message, command)}${meant} See ${names.join(" ")} --help.`,
  );
}

function problemOf(code: string, message: string, command: Command): string {
  switch (code) {
    case "commander.unknownOption": {
      // `--name=value` and `-nvalue` hold a value. Only the name of the first can be shown safely.
      const [, long, short] = /'(?:(--[a-z][a-z-]*)|(-[a-zA-Z])['=])/.exec(message) ?? [];
      const name = long ?? short;
      return name === undefined ? "There is an unknown option." : `Unknown option ${name}.`;
    }
    case "commander.unknownCommand":
      return "There is no such command.";
    case "commander.help":
      return "Name a command.";
    case "commander.invalidArgument": {
      const flag = /^error: option '(--[a-z-]+)/.exec(message)?.[1];
      const variable = command.options.find(({ long }) => long === flag)?.envVar;
      const separator = " is invalid. ";
      // The value comes before the last separator. The reason after it was written by this program.
      const reason = message.slice(message.lastIndexOf(separator) + separator.length);
      return `${flag}${variable === undefined ? "" : ` or ${variable}`} is not valid. ${reason}`;
    }
    // These messages name options and arguments, but quote no value.
    case "commander.missingArgument":
    case "commander.optionMissingArgument":
    case "commander.missingMandatoryOptionValue":
    case "commander.conflictingOption":
    case "commander.excessArguments": {
      const line = message.replace(/^error: /, "").split("\n")[0] ?? "";
      // A command with arguments of its own gets other words, such as name=value for --param.
      const takesAddress =
        command.registeredArguments.length === 0 &&
        command.options.some(({ long }) => long === "--base-url");
      const hint =
        code === "commander.excessArguments" && takesAddress
          ? " Pass the address of a deployment as --base-url."
          : "";
      return `${line.charAt(0).toUpperCase()}${line.slice(1).replace(/\.$/, "")}.${hint}`;
    }
    default:
      return "The arguments are wrong.";
  }
}
