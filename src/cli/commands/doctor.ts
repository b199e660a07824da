/** `bivariant doctor`: what works, what does not, and what to do about it. */
import type { Command } from "commander";
import {
  asInvalid,
  type DoctorInput,
  examine,
  type Finding,
  type Wording,
} from "../../doctor/index.js";
import { ConfigurationError, isBivariantError } from "../../errors.js";
import { createAuth, createService, type MachineCredential, type Service } from "../../index.js";
import { readJsonOf } from "../arguments.js";
import { noCredential, readAccount, readPlugin } from "../credentials.js";
import { exitCodes } from "../error-report.js";
import type { Paint } from "../output.js";
import { proxyFetch } from "../proxy-fetch.js";
import type { Context } from "../run.js";
import {
  addSettings,
  identitySettings,
  namesOf,
  readSettings,
  type Settings,
  usualMs,
  waysToSet,
  whereToSet,
} from "../settings.js";
import { identityHelp, wantedLogin } from "../stored-login.js";

export function define(command: Command, context: Context): void {
  const { output, signal, finish } = context;
  command.option(
    "--jwks <path>",
    "the JWKS that the customer registered, to compare with the private key",
  );
  addSettings(command, identitySettings, context)
    .action(async ({ jwks }: { jwks?: string }) => {
      const settings = await readSettings(command, context);
      const input = await readInput(settings, jwks, context);
      const findings: Finding[] = [];
      await output.during("examining", async () => {
        for await (const finding of examine(input)) {
          findings.push(finding);
          if (!output.json) output.lines(...findingLines(finding, output.paint));
        }
      });
      signal.throwIfAborted();
      const isOk = findings.every(({ verdict }) => verdict !== "fail");
      if (output.json) output.value({ ok: isOk, findings });
      else output.lines("", summaryLine(findings, output.paint));
      if (!isOk) finish(exitCodes.checkSaidNo);
    })
    .addHelpText(
      "after",
      `
Example:
  $ bivariant doctor --base-url https://customer.example --tenant acme \\
      --jwks registered.json

Checks the base URL, reachability, TLS, the clock, the key, the registered JWKS,
aud, an assertion (decoded, not sent), the variant, one token request and one
API call. A stored login whose token is still valid needs no token request. Each
check is pass, fail or unknown, with its evidence. No secret is printed. The
question about the variant counts against the rate limit of the tenant: if the
limit is reached, the doctor waits for it, up to --retry-deadline-ms.

With --jwks the causes of a refused token request are ranked by what the
comparison of the keys has shown.

${identityHelp}

With --json: { "ok", "findings": [{ "check", "verdict", "evidence", "remedy"?,
"code"?, "causes"? }] }, with all checks in each report; the check other_token
is there only if the credential of the other variant was not tried. Exits 1 if a
check failed, otherwise 0: look at the unknown ones too.`,
    );
}

const styles = { pass: "green", fail: "red", unknown: "yellow" } as const;

/**
 * Puts the finding on one line and its remedy on another. The output wraps them below their
 * columns.
 */
function findingLines({ check, verdict, evidence, remedy }: Finding, paint: Paint): string[] {
  const head = `${paint(styles[verdict], verdict.padEnd(8))}${check.padEnd(14)}${evidence}`;
  return remedy === undefined ? [head] : [head, `${" ".repeat(22)}-> ${remedy}`];
}

function summaryLine(findings: readonly Finding[], paint: Paint): string {
  const count = (verdict: Finding["verdict"]) =>
    findings.filter((one) => one.verdict === verdict).length;
  const failed = findings.filter(({ verdict }) => verdict === "fail").map(({ check }) => check);
  const counts = `${count("pass")} pass, ${count("fail")} fail, ${count("unknown")} unknown.`;
  return failed.length === 0
    ? counts
    : `${counts} ${paint("red", `Failed: ${failed.join(", ")}.`)}`;
}

const wording: Wording = { namesOf, waysToSet, whereToSet };

/** An error in a credential becomes part of the input, so that the other checks still run. */
async function readInput(
  settings: Settings,
  jwks: string | undefined,
  { output, signal }: Context,
): Promise<DoctorInput> {
  const { baseUrl, tenant: tenantId, timeoutMs, retryDeadlineMs } = { ...usualMs, ...settings };
  if (baseUrl === undefined)
    throw new ConfigurationError("base_url_invalid", "The base URL is missing.", {
      option: "baseUrl",
    });
  const login = await readLogin(settings);
  const variant = settings.login ? "B" : settings.variant;
  const { allowInsecureHttp, unauthorizedStatuses, env } = settings;
  const fetch = proxyFetch(env);
  return {
    wording,
    baseUrl,
    tenantId,
    variant,
    allowInsecureHttp,
    openService: (identity, clock) => {
      const auth =
        "getAccessToken" in identity
          ? identity
          : // Retries would hide a failing server. The doctor waits for a rate limit.
            createAuth({
              baseUrl,
              tenantId,
              allowInsecureHttp,
              fetch,
              timeoutMs,
              clock,
              retryDeadlineMs: 0,
              credential: identity as MachineCredential,
            });
      return createService(auth, { fetch, timeoutMs, unauthorizedStatuses, clock }) as Service;
    },
    timeoutMs,
    retryDeadlineMs,
    note: (text) => output.note(text),
    signal,
    login,
    noCredential: noCredential(settings),
    plugin: variant === "B" ? undefined : await readPlugin(settings).catch(asInvalid),
    account:
      variant === "A" || login !== undefined
        ? undefined
        : await readAccount(settings).catch(asInvalid),
    registeredJwks: jwks === undefined ? undefined : await readJsonOf("--jwks", jwks, signal),
    fetch,
    checksCertificates: env.NODE_TLS_REJECT_UNAUTHORIZED !== "0",
  };
}

/** Does not wait until a rate limit ends, because that would hide the limit from the report. */
async function readLogin(settings: Settings) {
  try {
    return (await wantedLogin({ ...settings, retryDeadlineMs: 0 }))?.found;
  } catch (error) {
    if (!isBivariantError(error) || error.code === "option_invalid") throw error;
    return error;
  }
}
