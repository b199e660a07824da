// Applies every rule of the client assertion, in order; the last step spends its jti.
import { firstRefusal, type Refusal, type RuleSwitches } from "../../checks.js";
import type { Plugin } from "../../registrations/plugins.js";
import type { RuleId } from "../../rules.js";
import type { Deployment } from "../../state.js";
import {
  ACCEPTED_AFTER_ISSUE_SECONDS,
  CLOCK_TOLERANCE_SECONDS,
  claimChecks,
  isNumericDate,
} from "./claim-checks.js";
import { type DecodedAssertion, decodeAssertion } from "./decode-assertion.js";
import { headerChecks } from "./header-checks.js";
import { checkSigningKey } from "./signing-key.js";

/** Beyond the last instant at which an assertion is accepted, so that no rounding opens a gap. */
const MEMORY_MARGIN_SECONDS = 30;
/** How long a jti is remembered where rules are off that would end the assertion. */
const UNRULED_MEMORY_SECONDS = 86_400;

interface Against {
  readonly plugin: Plugin;
  readonly tokenUrl: string;
  readonly deployment: Deployment;
}

/** The refusal, or undefined: the assertion is accepted, and accepted only this once. */
export async function checkAssertion(
  assertion: string | undefined,
  { plugin, tokenUrl, deployment }: Against,
): Promise<Refusal | undefined> {
  const { clock, switches, settings } = deployment;
  if (assertion === undefined) {
    return switches.refusal("assertion.present", { expected: "a client_assertion", actual: "absent" });
  }
  const decoded = decodeAssertion(assertion);
  if (decoded === undefined) {
    const finding = { expected: "a JWT in compact form", actual: "something else" };
    return switches.refusal("assertion.form", finding);
  }
  const { header, claims } = decoded;
  const headerRefusal = firstRefusal(switches, headerChecks, { header, isKidRequired: settings.requireKid });
  if (headerRefusal !== undefined) return headerRefusal;
  const keyRefusal = await checkSigningKey(assertion, header, plugin.keys, switches);
  if (keyRefusal !== undefined) return keyRefusal;

  // Nothing below awaits: of concurrent posts of one assertion exactly one gets past the use of the jti.
  const now = clock();
  const { clientId } = plugin;
  return (
    firstRefusal(switches, claimChecks, { claims, clientId, tokenUrl, now }) ??
    spendId(deployment, plugin, claims, now)
  );
}

function spendId(
  { switches, usedAssertionIds }: Deployment,
  { tenantId, clientId }: Plugin,
  claims: DecodedAssertion["claims"],
  now: number,
): Refusal | undefined {
  const { jti } = claims;
  if (!switches.isEnforced("assertion.replay") || typeof jti !== "string" || jti === "") return undefined;
  if (usedAssertionIds.use({ tenantId, clientId, jti }, forgetAt(switches, claims, now), now))
    return undefined;
  return { rule: "assertion.replay", expected: "a jti not used before", actual: "a jti that was used" };
}

/** Until iat can no longer be young enough, not until exp: tolerance accepts it after exp too. */
function forgetAt(switches: RuleSwitches, { iat, exp }: DecodedAssertion["claims"], now: number): number {
  const ends = (rule: RuleId, claim: unknown, seconds: number) =>
    switches.isEnforced(rule) && isNumericDate(claim) ? claim + seconds : undefined;
  const endSeconds =
    ends("assertion.issued-at", iat, ACCEPTED_AFTER_ISSUE_SECONDS) ??
    ends("assertion.expiry", exp, CLOCK_TOLERANCE_SECONDS) ??
    now / 1000 + UNRULED_MEMORY_SECONDS;
  return (endSeconds + MEMORY_MARGIN_SECONDS) * 1000;
}
