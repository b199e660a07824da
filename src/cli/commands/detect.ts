/** `bivariant detect`: which variant a deployment serves, with the evidence. */
import type { Command } from "commander";
import { detectVariant } from "../../index.js";
import { exitCodes } from "../error-report.js";
import { evidenceLines, paintVerdict } from "../output.js";
import { proxyFetch } from "../proxy-fetch.js";
import type { Context } from "../run.js";
import { addSettings, namesOf, readSettings, targetSettings } from "../settings.js";

export function define(command: Command, context: Context): void {
  const { output, env, signal, finish } = context;
  addSettings(command, targetSettings, context)
    .action(async () => {
      const settings = await readSettings(command, context);
      const { baseUrl = "", tenant: tenantId = "", timeoutMs, allowInsecureHttp } = settings;
      const detection = await output.during("asking which variant is served", () =>
        detectVariant({
          baseUrl,
          tenantId,
          fetch: proxyFetch(env),
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
        output.lines(
          `Variant A  ${paintVerdict(served.A, paint)}`,
          `Variant B  ${paintVerdict(served.B, paint)}`,
          "",
          "Evidence",
          ...evidenceLines(evidence, paint),
        );
        if (!isServed)
          output.note(
            "No variant was found. A wrong tenant id looks the same. " +
              `If you know the variant, name it for the other commands with ${namesOf("variant")}.`,
          );
      }
      if (!isServed) finish(exitCodes.variant);
    })
    .addHelpText(
      "after",
      `
Example:
  $ bivariant detect --base-url https://customer.example --tenant acme

The tenant id is required, because it is part of Variant A's path: with a wrong
one, Variant A may look as if it were not served. Variant B has no tenant in its
paths. If you know the variant, nothing needs to be asked: pass --variant A or
--variant B to the other commands, or set BIVARIANT_VARIANT.

With --json: { "served": { "A", "B" }, "evidence": [...], "detectedAt" }, with
detectedAt in epoch milliseconds. Exits 0 if a variant is served, 4 if none is
known to be.`,
    );
}
