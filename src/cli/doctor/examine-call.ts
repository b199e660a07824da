/** One token request and one API call. */
import { createAuth } from "../../auth/create-auth.js";
import { serviceAccount } from "../../auth/service-account.js";
import { servicePlugin } from "../../auth/service-plugin.js";
import { createService } from "../../create-service.js";
import { type BivariantError, type Cause, isBivariantError, type Variant } from "../../errors.js";
import type { Patient } from "./examine.js";
import { type Finding, fail, pass, unknown } from "./finding.js";

export async function examineCall(patient: Patient, variant: Variant | undefined): Promise<Finding[]> {
  const credential = credentialOf(patient, variant);
  if (credential === undefined)
    return [
      unknown("token", "No token was asked for: there is no credential for a variant that is there."),
      unknown("api_call", "Not tried, for want of a token."),
    ];
  const { baseUrl, tenantId, fetch, timeoutMs, signal, allowInsecureHttp } = patient;
  try {
    // One request: a doctor who waits out a rate limit or retries would hide what he is asked to find.
    const auth = createAuth({
      baseUrl,
      tenantId,
      credential,
      fetch,
      timeoutMs,
      allowInsecureHttp,
      rateLimitDeadlineMs: 0,
    });
    const token = await auth.getAccessToken({ signal });
    const lifetimeSeconds = Math.round((token.expiresAt - (token.issuedAt ?? Date.now())) / 1000);
    const differs = token.tenant !== undefined && token.tenant !== tenantId;
    const findings = [
      differs
        ? fail("token", `A token came, but for the tenant ${token.tenant}.`, "Correct the tenant id.")
        : pass("token", `A token came; it lives ${lifetimeSeconds} s.`),
    ];
    const service = createService(auth, { fetch, timeoutMs });
    const outcome = await service.call("listDevices", { signal });
    return [
      ...findings,
      outcome.ok
        ? pass("api_call", `listDevices was answered ${outcome.status}.`)
        : refused("api_call", outcome.error, outcome.error.causes),
    ];
  } catch (error) {
    if (!isBivariantError(error)) throw error;
    const { causes } = error as { causes?: readonly Cause[] };
    return [refused("token", error, causes), unknown("api_call", "Not tried, for want of a token.")];
  }
}

function credentialOf({ plugin, account }: Patient, variant: Variant | undefined) {
  if (variant === "A" && plugin !== undefined) return servicePlugin(plugin);
  return variant === "B" && account !== undefined ? serviceAccount(account) : undefined;
}

function refused(check: string, error: BivariantError, causes: readonly Cause[] = []): Finding {
  const [first, ...others] = causes;
  if (first === undefined) return fail(check, `${error.code}: ${error.message}`, "See the evidence.");
  const less = others.length === 0 ? "" : ` Less likely: ${others.map(({ summary }) => summary).join("; ")}.`;
  return fail(check, `${error.code}: ${first.summary}. ${first.evidence}${less}`, first.remedy);
}
