/** The command and its subcommands, and what all of them have in common. */
import { Command } from "commander";
import { version } from "../version.js";
import { addCall } from "./commands/call.js";
import { addDemo } from "./commands/demo.js";
import { addDetect } from "./commands/detect.js";
import { addDoctor } from "./commands/doctor.js";
import { addEmulate } from "./commands/emulate.js";
import { addGenerate } from "./commands/generate.js";
import { addKeys } from "./commands/keys.js";
import { addLogin } from "./commands/login.js";
import { addToken } from "./commands/token.js";
import { addUnknowns } from "./commands/unknowns.js";
import type { Context, Finish } from "./context.js";
import { exitCodesHelp } from "./exit-codes.js";

export function createProgram(context: Context, finish: Finish): Command {
  const program = new Command("bivariant")
    .description("One client for a service that is described in two contradicting ways.")
    .version(version)
    .option(
      "--json",
      "print JSON on stdout, errors included, and nothing else there (but for --help and --version)",
    )
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => context.output.lines([text.trimEnd()]),
      writeErr: (text) => context.output.raw(text),
      // Commander's own texts quote values; ours are told by whoever catches.
      outputError: () => {},
    })
    .exitOverride()
    .addHelpText(
      "after",
      `
Start with:
  $ bivariant demo                  all four deployments, on this machine
  $ bivariant emulate               an emulated deployment to try the other commands on

Secrets are never taken from the command line: they come from files or the environment.
With --json an error is { "error": { "code", "message", ... } } on stdout.

${exitCodesHelp}`,
    );
  for (const add of [
    addDemo,
    addDetect,
    addToken,
    addCall,
    addLogin,
    addDoctor,
    addKeys,
    addEmulate,
    addGenerate,
    addUnknowns,
  ])
    add(program, context, finish);
  return program;
}
