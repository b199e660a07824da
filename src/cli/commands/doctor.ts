/** `bivariant doctor`: what works, what does not, and what to do about it. */
import type { Command } from "commander";
import { ConfigurationError, isBivariantError, isConfigurationError } from "../../errors.js";
import type { Context, Finish } from "../context.js";
import { examine } from "../doctor/examine.js";
import type { Finding } from "../doctor/finding.js";
import { findingLines, summaryLine } from "../doctor/finding-lines.js";
import type { Patient } from "../doctor/patient.js";
import { readJwks } from "../doctor/read-jwks.js";
import { exitCodes, exitCodesHelp } from "../exit-codes.js";
import { whichIdentityHelp } from "../login/use-login.js";
import { wantedLogin } from "../login/wanted-login.js";
import { makeFetch } from "../make-fetch.js";
import { Progress } from "../progress.js";
import { addSettings } from "../settings/add-settings.js";
import { readAccount } from "../settings/read-account.js";
import { readPlugin } from "../settings/read-plugin.js";
import { type ConnectionSettings, readSettings } from "../settings/read-settings.js";
import { identitySettings } from "../settings/setting-table.js";

export function addDoctor(program: Command, context: Context, finish: Finish): void {
  const { output, env, signal } = context;
  const command = program
    .command("doctor")
    .description(
      "Examine a deployment and the credential or login for it. Sends one token request and one API call.",
    )
    .option("--jwks <path>", "the JWKS that the customer registered, to compare with the private key")
    .action(async (flags: Record<string, unknown>) => {
      const settings = readSettings(flags, env);
      const { baseUrl, tenant, timeoutMs = 10_000, allowInsecureHttp } = settings;
      // Everything else that is wrong is found out; without an address there is nobody to examine.
      if (baseUrl === undefined)
        throw new ConfigurationError("base_url_invalid", "There is no base URL.", { option: "baseUrl" });
      const login = await readLogin(settings, env);
      const variant = settings.login ? "B" : settings.variant;
      const isMachine = variant !== "A" && login === undefined;
      const patient: Patient = {
        ...{ baseUrl, tenantId: tenant, variant, allowInsecureHttp, timeoutMs, signal },
        plugin: variant === "B" ? undefined : await readPlugin(settings).catch(notUsable),
        account: isMachine ? await readAccount(settings).catch(notUsable) : undefined,
        login,
        registeredJwks: flags.jwks === undefined ? undefined : await readJwks(String(flags.jwks)),
        fetch: makeFetch(env),
        checksCertificates: env.NODE_TLS_REJECT_UNAUTHORIZED !== "0",
      };
      const findings: Finding[] = [];
      await new Progress(output).during("examining", async () => {
        for await (const finding of examine(patient)) {
          findings.push(finding);
          if (!output.json) output.lines(findingLines(finding, output.paint, output.columns));
        }
      });
      signal.throwIfAborted();
      const isWell = findings.every(({ verdict }) => verdict !== "fail");
      if (output.json) output.value({ ok: isWell, findings });
      else output.lines(["", summaryLine(findings, output.paint)]);
      finish(isWell ? exitCodes.done : exitCodes.checkSaidNo);
    });
  addSettings(command, identitySettings).addHelpText(
    "after",
    `
Example:
  $ bivariant doctor --base-url https://customer.example --tenant acme --jwks registered.json

Looks at the base URL, reachability, TLS, the clock, the key, the registered JWKS, aud, an assertion (decoded, not
sent), the variant, one token request and one API call. A stored login whose token is still good needs no token
request. Each is pass, fail or unknown, and says why. Nothing printed is secret.

${whichIdentityHelp}

With --json: { "ok", "findings": [{ "check", "verdict", "evidence", "remedy"?, "causes"? }] }, always with all checks.
Exits 1 when a check failed, 0 when none did: look at those that are unknown too.

${exitCodesHelp}`,
  );
}

/** One request: a doctor who waits out a rate limit would hide what he is asked to find. */
async function readLogin(settings: ConnectionSettings, env: Context["env"]): Promise<Patient["login"]> {
  try {
    return (await wantedLogin({ ...settings, rateLimitDeadlineMs: 0 }, { env, onEvent: () => {} }))?.found;
  } catch (error) {
    // Told with the rest, unless the command contradicts itself.
    if (!isBivariantError(error) || error.code === "option_invalid") throw error;
    return error;
  }
}

/** A credential that is begun and wrong is something to tell with the rest. */
function notUsable(error: unknown): ConfigurationError {
  if (isConfigurationError(error)) return error;
  throw error;
}
