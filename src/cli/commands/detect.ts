/** `bivariant detect`: which variant a deployment serves, and how that is known. */
import type { Command } from "commander";
import { detectVariant } from "../../index.js";
import type { Context, Finish } from "../context.js";
import { exitCodes, exitCodesHelp } from "../exit-codes.js";
import { makeFetch } from "../make-fetch.js";
import { Progress } from "../progress.js";
import { evidenceLines, paintVerdict } from "../report/evidence-lines.js";
import { addSettings } from "../settings/add-settings.js";
import { readSettings } from "../settings/read-settings.js";
import { targetSettings } from "../settings/setting-table.js";

export function addDetect(program: Command, context: Context, finish: Finish): void {
  const { output, env, signal } = context;
  const command = program
    .command("detect")
    .description("Ask a deployment which variant it serves. Sends no credential, and at most three requests.")
    .action(async (flags: Record<string, unknown>) => {
      const { baseUrl = "", tenant = "", timeoutMs, allowInsecureHttp } = readSettings(flags, env);
      const detection = await new Progress(output).during("asking which variant is served", () =>
        detectVariant({
          baseUrl,
          tenantId: tenant,
          fetch: makeFetch(env),
          signal,
          timeoutMs,
          allowInsecureHttp,
        }),
      );
      const { served, evidence } = detection;
      const isServed = served.A === "yes" || served.B === "yes";
      if (output.json) output.value(detection);
      else {
        const { paint } = output;
        output.lines([
          `Variant A  ${paintVerdict(served.A, paint)}`,
          `Variant B  ${paintVerdict(served.B, paint)}`,
          "",
          "Evidence",
          ...evidenceLines(evidence, paint),
        ]);
        if (!isServed)
          output.note(
            "No variant was found. A wrong tenant id looks the same. If you know the variant, name it for the other commands: --variant or BIVARIANT_VARIANT.",
          );
      }
      finish(isServed ? exitCodes.done : exitCodes.variant);
    });
  addSettings(command, targetSettings).addHelpText(
    "after",
    `
Example:
  $ bivariant detect --base-url https://customer.example --tenant acme

With --json: { "served": { "A", "B" }, "evidence": [...], "detectedAt" } (epoch milliseconds), whatever is found.
Exits 0 when a variant is served, 4 when none is known to be.

${exitCodesHelp}`,
  );
}
