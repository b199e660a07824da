/** `bivariant emulate`: an emulated deployment to point the client at, on this machine. */
import type { Command } from "commander";
import { options, rules } from "../../emulator/index.js";
import type { Context, Finish } from "../context.js";
import { readEmulateSettings } from "../emulate/emulate-settings.js";
import { optionLines, ruleLines } from "../emulate/rule-lines.js";
import { serve } from "../emulate/serve.js";
import { exitCodes } from "../exit-codes.js";

export function addEmulate(program: Command, { output, signal }: Context, finish: Finish): void {
  program
    .command("emulate")
    .description(
      "Serve the emulated service until Ctrl-C, with one registration of each kind or those of a file.",
    )
    .option("--variant <A|B|both>", "what to serve (default both)")
    .option("--port <number>", "port to listen on (default: a free one)")
    .option("--host <address>", "address to listen on (default 127.0.0.1)")
    .option(
      "--public-url <url>",
      "base URL that clients use, where it is another (behind a proxy, with a prefix)",
    )
    .option("--seed-file <path>", "YAML or JSON file with what is registered, and with options")
    .option("--watch", "read the seed file again whenever it changes")
    .option("--random-seed <number>", "make ids, keys, codes and tokens that are the same in every run")
    .option("--tenant <id>", "tenant of all registrations (default acme)")
    .option("--a-client-id <id>", "client id of the service plugin (default emulated-plugin)")
    .option("--b-client-id <id>", "client id of the service account (default emulated-account)")
    .option(
      "--scope <scope>",
      "scope granted to the plugins and within the operator's reach, may be repeated (default devices:read)",
      (one: string, before: readonly string[] = []) => [...before, one],
    )
    .option(
      "--page-url <url>",
      "register a user-interface plugin whose page is there, to launch from the host page",
    )
    .option("--rules", "print the rules that it enforces and its options, and serve nothing")
    .action(async (flags: Record<string, unknown>) => {
      if (flags.rules !== true) await serve(readEmulateSettings(flags), output, signal);
      else if (output.json) output.value({ rules, options });
      else {
        output.lines(["Rules, each of which can be switched off:", "", ...ruleLines(output.paint)]);
        output.lines(["", "Options, each for what the description leaves open:", ""]);
        output.lines(optionLines(output.paint));
      }
      finish(exitCodes.done);
    })
    .addHelpText(
      "after",
      `
Prints the environment that points bivariant at it, then every request with its status, and under a refused one the
real reason, which the caller is not told. Keys and secrets are made anew and written to a private temporary folder,
which is removed on leaving. Reads no environment.

Registered without a seed file: the service plugin emulated-plugin and the service account emulated-account (for call
and token), the API client emulated-client and the operator ada, who has no password (for login and the host page).
A seed file holds plugins, serviceAccounts, apiClients, operators, clock, faults and options, each as createEmulator
takes them. The environment names the first of each kind. A plugin without a jwks gets a key, whose file is printed; the
page at /_emulator shows what happens and changes what is registered, the clock, the faults and the rules.

Examples, in two terminals:
  $ bivariant emulate --variant B --port 8080
  $ export BIVARIANT_...            the printed lines
  $ bivariant call listDevices
  $ bivariant login                 as ada

  $ bivariant emulate --seed-file tenant.yaml --watch

With --json every line is a JSON object: { "served", "environment", "keys" } first and after each reading of the seed file,
else { "request" } or { "refusal" }. Exits 0 when it was stopped, 2 when it cannot listen or the seed file is wrong.`,
    );
}
