/** `bivariant demo`: the main job against four emulated deployments, on this machine, without any settings. */
import type { Command } from "commander";
import type { Context, Finish } from "../context.js";
import { demoLines } from "../demo/demo-lines.js";
import type { DemoRow } from "../demo/demo-row.js";
import { demoDeployments } from "../demo/deployments.js";
import { visitDeployment } from "../demo/visit-deployment.js";
import { exitCodes } from "../exit-codes.js";
import { freshCredentials } from "../fresh-credentials.js";

export function addDemo(program: Command, { output, signal }: Context, finish: Finish): void {
  program
    .command("demo")
    .description("Visit four emulated deployments with both credentials: A only, B only, both, neither.")
    .action(async () => {
      const credentials = await freshCredentials();
      const rows: DemoRow[] = [];
      for (const deployment of demoDeployments) {
        const visit = await visitDeployment(deployment, credentials, signal);
        rows.push(visit.row);
        if (!output.json) output.lines(demoLines(visit, output.paint));
      }
      if (output.json) output.value(rows);
      finish(rows.every(({ asExpected }) => asExpected) ? exitCodes.done : exitCodes.checkSaidNo);
    })
    .addHelpText(
      "after",
      `
Needs no settings and no network: the emulator listens on loopback, with a key and a secret made for this run. The
plugin's credential comes first, so a deployment that serves both variants is used as Variant A.

Examples:
  $ bivariant demo
  $ bivariant demo --json           one row a deployment: served, asked, variant, evidence, devices, error, ...

Exits 0 when all four came out as expected, else 1.`,
    );
}
