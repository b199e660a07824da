/** `bivariant doctor`: what works, what does not, and what to do about it. */
import type { Command } from "commander";
import type { Context, Finish } from "../context.js";
import { examine } from "../doctor/examine.js";
import type { Finding } from "../doctor/finding.js";
import { findingLines } from "../doctor/finding-lines.js";
import { exitCodes, exitCodesHelp } from "../exit-codes.js";
import { makeFetch } from "../make-fetch.js";
import { Progress } from "../progress.js";
import { addSettings } from "../settings/add-settings.js";
import { readAccount } from "../settings/read-account.js";
import { readJsonFile } from "../settings/read-json-file.js";
import { readPlugin } from "../settings/read-plugin.js";
import { readSettings } from "../settings/read-settings.js";
import { connectionSettings } from "../settings/setting-table.js";

export function addDoctor(program: Command, context: Context, finish: Finish): void {
  const { output, env, signal } = context;
  const command = program
    .command("doctor")
    .description("Examine a deployment and the credentials for it. Sends one token request and one API call.")
    .option("--jwks <path>", "the JWKS that the customer registered, to compare with the private key")
    .action(async (flags: Record<string, unknown>) => {
      const settings = readSettings(flags, env);
      const { baseUrl = "", tenant, variant, timeoutMs = 10_000, allowInsecureHttp } = settings;
      const plugin = variant === "B" ? undefined : await readPlugin(settings);
      const account = variant === "A" ? undefined : await readAccount(settings);
      const registeredJwks =
        flags.jwks === undefined ? undefined : await readJsonFile(String(flags.jwks), "jwks");
      const fetch = makeFetch(env);
      const target = { baseUrl, tenantId: tenant, variant, allowInsecureHttp };
      const findings: Finding[] = [];
      await new Progress(output).during("examining", async () => {
        for await (const finding of examine({
          ...target,
          plugin,
          account,
          registeredJwks,
          fetch,
          timeoutMs,
          signal,
        })) {
          findings.push(finding);
          if (!output.json) output.lines(findingLines(finding, output.paint));
        }
      });
      signal.throwIfAborted();
      const isWell = findings.every(({ verdict }) => verdict !== "fail");
      if (output.json) output.value({ ok: isWell, findings });
      finish(isWell ? exitCodes.done : exitCodes.checkSaidNo);
    });
  addSettings(command, connectionSettings).addHelpText(
    "after",
    `
Example:
  $ bivariant doctor --base-url https://customer.example --tenant acme --jwks registered.json

Looks at the base URL, reachability, TLS, the clock, the key, the registered JWKS, aud, an assertion (decoded, not
sent), the variant, one token request and one API call. Each is pass, fail or unknown.
With --json: { "ok", "findings": [{ "check", "verdict", "evidence", "remedy" }] }. Exits 1 when a check failed.

${exitCodesHelp}`,
  );
}
