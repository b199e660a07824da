/** `bivariant emulate`: an emulated deployment to point the client at, on this machine. */
import type { Command } from "commander";
import { rules } from "../../emulator/index.js";
import type { Context, Finish } from "../context.js";
import { readEmulateSettings } from "../emulate/emulate-settings.js";
import { ruleLines } from "../emulate/rule-lines.js";
import { serve } from "../emulate/serve.js";
import { exitCodes } from "../exit-codes.js";

export function addEmulate(program: Command, { output, signal }: Context, finish: Finish): void {
  program
    .command("emulate")
    .description(
      "Serve the emulated service until Ctrl-C, with one plugin and one service account registered.",
    )
    .option("--variant <A|B|both>", "what to serve (default both)")
    .option("--port <number>", "port to listen on (default: a free one)")
    .option("--host <address>", "address to listen on (default 127.0.0.1)")
    .option(
      "--public-url <url>",
      "base URL that clients use, where it is another (behind a proxy, with a prefix)",
    )
    .option("--tenant <id>", "tenant of both registrations (default acme)")
    .option("--a-client-id <id>", "client id of the plugin (default emulated-plugin)")
    .option("--b-client-id <id>", "client id of the service account (default emulated-account)")
    .option(
      "--scope <scope>",
      "scope granted to the plugin, may be repeated (default devices:read)",
      (one: string, before: readonly string[] = []) => [...before, one],
    )
    .option("--rules", "print the rules that it enforces, and serve nothing")
    .action(async (flags: Record<string, unknown>) => {
      if (flags.rules !== true) await serve(readEmulateSettings(flags), output, signal);
      else if (output.json) output.value(rules);
      else output.lines(ruleLines(output.paint));
      finish(exitCodes.done);
    })
    .addHelpText(
      "after",
      `
Prints the environment that points bivariant at it, then every request with its status, and under a refused one the
real reason, which the caller is not told. The plugin's key and the account's secret are made anew and written to a
private temporary folder, which is removed on leaving. Reads no environment.

Example, in two terminals:
  $ bivariant emulate --variant B --port 8080
  $ export BIVARIANT_...            the printed lines
  $ bivariant call listDevices

With --json every line is a JSON object: first { "served", "environment" }, then { "request" } or { "refusal" }.
Exits 0 when it was stopped, 2 when it cannot listen.`,
    );
}
