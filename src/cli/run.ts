/**
 * One run of the command line: the program with its subcommands, and the only place that catches
 * errors.
 */
import { Command, CommanderError } from "commander";
import { version } from "../internal.js";
import { refuseSecrets, usageError } from "./arguments.js";
import {
  type ExitCode,
  exitCodeOf,
  exitCodes,
  exitCodesHelp,
  reportError,
  signalExitCodes,
} from "./error-report.js";
import { Output, type Streams } from "./output.js";
import type { Surroundings } from "./settings.js";

/** Every command uses this instead of the process. */
export interface Context extends Surroundings {
  readonly output: Output;
  /** Sets the exit code of a command that ends without an error; 0 if it is never called. */
  readonly finish: (exitCode: ExitCode) => void;
}

/** The reason of the signal is the exit code. */
export type Process = Streams & Surroundings;

interface CommandEntry {
  readonly says: string;
  readonly load: () => Promise<{ define(command: Command, context: Context): void }>;
}

/** Only the command that runs is loaded: help must not wait for the emulator, zod or jose. */
const commands: Readonly<Record<string, CommandEntry>> = {
  demo: {
    says: "Visit four emulated deployments with both credentials: A only, B only, both, neither.",
    load: () => import("./commands/demo.js"),
  },
  detect: {
    says:
      "Find out which variant a deployment serves, with at most three requests and no " +
      "credential.",
    load: () => import("./commands/detect.js"),
  },
  token: {
    says: "Print an access token on stdout, and its details on stderr.",
    load: () => import("./commands/token.js"),
  },
  call: {
    says: "Call an operation by its id and print the data: JSON, text, events or bytes.",
    load: () => import("./commands/call.js"),
  },
  login: {
    says: "Log in to Variant B in the browser, so that token and call act for you.",
    load: () => import("./commands/login.js"),
  },
  doctor: {
    says:
      "Check a deployment and the credential or login for it, with one token request and " +
      "one API call.",
    load: () => import("./commands/doctor.js"),
  },
  survey: {
    says: "Find out which of many customers runs which variant, and which of them work.",
    load: () => import("./commands/survey.js"),
  },
  keys: {
    says: "Make a key for a plugin, print its JWKS, and write its registration sheet.",
    load: () => import("./commands/keys.js"),
  },
  emulate: {
    says: "Serve an emulated deployment until Ctrl-C.",
    load: () => import("./commands/emulate.js"),
  },
  contract: {
    says:
      "Try the promises of the description on a deployment, and report what holds and " +
      "what breaks.",
    load: () => import("./commands/contract.js"),
  },
  generate: {
    says: "Generate types, operation table, zod schemas and unknowns from OpenAPI documents.",
    load: () => import("./commands/generate.js"),
  },
  diff: {
    says:
      "Show what changed between two states of the documents, or what differs between " +
      "the variants.",
    load: () => import("./commands/diff.js"),
  },
  unknowns: {
    says: "List what the description of the service does not show.",
    load: () => import("./commands/unknowns.js"),
  },
};

/** Runs a command. Errors go to stderr as text or, with `--json`, to stdout as an object. */
export async function run(argv: readonly string[], process: Process): Promise<ExitCode> {
  const { stdout, stderr, env, signal } = process;
  const json = argv.includes("--json");
  const output = new Output({ stdout, stderr }, env, json);
  let exitCode: ExitCode = exitCodes.done;
  const finish = (code: ExitCode) => {
    exitCode = code;
  };
  const program = createProgram({ output, env, signal, finish });
  try {
    refuseSecrets(argv);
    // Commander's own help command would print the help of a command that is not loaded.
    const words = argv[0] === "help" ? [...argv.slice(1), "--help"] : argv;
    const name = words.find((word) => !word.startsWith("-"));
    const isKnown = name === undefined || Object.hasOwn(commands, name);
    // Commander would print the program's help for a command that does not exist.
    const parsed = isKnown ? words : words.filter((word) => word !== "--help" && word !== "-h");
    await program.parseAsync(parsed, { from: "user" });
    return exitCode;
  } catch (error) {
    if (signal.aborted) {
      const exitCode: ExitCode = signal.reason;
      // Any other exit code means that the output is closed, so nothing can be written.
      if (Object.values<ExitCode>(signalExitCodes).includes(exitCode))
        if (json)
          output.value({ error: { code: "interrupted", message: "Interrupted.", exitCode } });
        else output.note("Interrupted.");
      return exitCode;
    }
    const isUsage = error instanceof CommanderError;
    if (isUsage && error.exitCode === 0) return exitCodes.done;
    // An incomplete command has printed its help already.
    if (isUsage && error.code === "commander.help" && !json) return exitCodes.configuration;
    const reported = isUsage ? usageError(error, program, argv) : error;
    reportError(output, reported);
    return exitCodeOf(reported);
  }
}

function createProgram(context: Context): Command {
  const { output } = context;
  const program = new Command("bivariant")
    .description("One client for a service that is described in two contradicting ways.")
    .version(version)
    .helpCommand(false)
    .option(
      "--json",
      "print only JSON on stdout, errors included (except for --help and --version)",
    )
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => output.raw(text),
      writeErr: (text) => output.say(text.trimEnd()),
      // Commander's messages quote values, which may be secrets. `usageError` writes its own.
      outputError: () => {},
    })
    .exitOverride()
    .addHelpText(
      "after",
      `
Start with:
  $ bivariant demo                  all four deployments, on this machine
  $ bivariant emulate               an emulated one, to try the rest on

Secrets come from files or the environment, never from the command line. With
--json an error is { "error": { "code", "message", ... } } on stdout.`,
    )
    .addHelpText("afterAll", `\n${exitCodesHelp}`)
    .hook("preSubcommand", async (_, command) => {
      (await commands[command.name()]?.load())?.define(command, context);
    });
  for (const [name, { says }] of Object.entries(commands)) program.command(name).description(says);
  return program;
}
