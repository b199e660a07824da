// Applies every rule of the client assertion, in order; the last step spends its jti.
import { firstRefusal } from "../../check.js";
import type { Deployment } from "../../deployment.js";
import type { Refusal } from "../../refusal.js";
import type { Plugin } from "../../registrations/plugin.js";
import { ACCEPTED_AFTER_ISSUE_SECONDS, claimChecks } from "./claim-checks.js";
import { decodeAssertion } from "./decode-assertion.js";
import { headerChecks } from "./header-checks.js";
import { checkSigningKey } from "./signing-key.js";

/** Beyond the last instant at which an assertion is accepted, so that no rounding opens a gap. */
const MEMORY_MARGIN_SECONDS = 30;

/** The refusal, or undefined: the assertion is accepted, and accepted only this once. */
export async function checkAssertion(
  assertion: string | undefined,
  against: {
    plugin: Plugin;
    tokenUrl: string;
    deployment: Deployment;
  },
): Promise<Refusal | undefined> {
  if (assertion === undefined) {
    return { rule: "assertion.present", expected: "a client_assertion", actual: "absent" };
  }
  const decoded = decodeAssertion(assertion);
  if (decoded === undefined) {
    return { rule: "assertion.form", expected: "a JWT in compact form", actual: "something else" };
  }
  const { header, claims } = decoded;
  const { plugin, tokenUrl } = against;
  const { clock, switches, usedAssertionIds } = against.deployment;
  const headerRefusal = firstRefusal(switches, headerChecks, header);
  if (headerRefusal !== undefined) return headerRefusal;
  const keyRefusal = await checkSigningKey(assertion, header.kid, plugin.keys);
  if (keyRefusal !== undefined) return keyRefusal;

  // Nothing below awaits: of concurrent posts of one assertion exactly one gets past the use of the jti.
  const now = clock();
  const claimRefusal = firstRefusal(switches, claimChecks, {
    claims,
    clientId: plugin.clientId,
    tokenUrl,
    now,
  });
  if (claimRefusal !== undefined) return claimRefusal;
  // Kept until iat can no longer be young enough, not until exp: tolerance accepts it after exp too.
  const forgetAt = (Number(claims.iat) + ACCEPTED_AFTER_ISSUE_SECONDS + MEMORY_MARGIN_SECONDS) * 1000;
  const id = { tenantId: plugin.tenantId, clientId: plugin.clientId, jti: String(claims.jti) };
  if (usedAssertionIds.use(id, forgetAt, now)) return undefined;
  return { rule: "assertion.replay", expected: "a jti not used before", actual: "a jti that was used" };
}
