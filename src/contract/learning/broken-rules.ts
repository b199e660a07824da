/** Which broken cases an emulator can copy, by switching rules off, and which it cannot. */
import { emulatorRules, type RuleId } from "../../emulator/rules.js";
import type { ContractResult } from "../case.js";
import type { DeploymentSettings } from "./settings.js";

interface BrokenRules {
  /** The rules to switch off, sorted by name. */
  readonly rules: DeploymentSettings["rules"];
  /** Sentences about the broken cases that no setting copies. */
  readonly conflicts: readonly string[];
}

/**
 * What these cases send is accepted only if all these rules are off. A case that has one rule names
 * it itself.
 */
const rulesOfCases: Readonly<Record<string, readonly RuleId[]>> = {
  "route-scope": ["route.scope", "route.narrowed"],
};

/**
 * A rule is off if each of its cases that was tried was accepted, and no other setting is the
 * reason for it.
 */
export function brokenRulesOf(
  results: readonly ContractResult[],
  settings: DeploymentSettings,
): BrokenRules {
  const ofB = results.find(({ id }) => id === "tokenLifetimeSeconds.b")?.settings;
  const broken = results.filter(
    ({ id, result, accepted }) => (result === "breaks" || accepted) && !isCopied(id, settings, ofB),
  );
  const rulesOf = ({ id, rule }: ContractResult) => (rule ? [rule] : (rulesOfCases[id] ?? []));
  const isOff = (rule: RuleId) =>
    emulatorRules[rule]?.off !== undefined &&
    results.every((one) => one.rule !== rule || one.result === "not tried" || one.accepted);
  const off = new Set(
    broken
      .filter(({ accepted }) => accepted)
      .flatMap(rulesOf)
      .filter(isOff),
  );
  const isLeft = (one: ContractResult) =>
    rulesOf(one).length === 0 || rulesOf(one).some((rule) => !off.has(rule));
  const others = broken.filter(isLeft).map(({ id }) => id);
  const conflict =
    "The emulator cannot break these as the deployment does: " +
    `${[...new Set(others)].sort().join(", ")}.`;
  return {
    rules:
      off.size === 0 ? undefined : Object.fromEntries([...off].sort().map((rule) => [rule, false])),
    conflicts: others.length === 0 ? [] : [conflict],
  };
}

/**
 * These break too if an option has another value than the description. `ofB` is what was learnt of
 * the lifetime of Variant B's tokens; one that no `expires_in` shows is an hour "by default" only.
 */
function isCopied(
  id: string,
  settings: DeploymentSettings,
  ofB: DeploymentSettings | undefined,
): boolean {
  const { codeLifetimeSeconds, rateLimit, refreshTokens, tokenLifetimeSeconds } = settings;
  if (id === "bearer.lifetime.b" && settings.tokenResponseExtras?.expires_in === undefined)
    return (
      tokenLifetimeSeconds === ofB?.tokenLifetimeSeconds && Number(tokenLifetimeSeconds) > 3600
    );
  if (/revoked\.refresh-reuse$/.test(id) && refreshTokens?.reuseDetection === false) return true;
  if (id === "code.lifetime") return codeLifetimeSeconds !== undefined && codeLifetimeSeconds > 120;
  if (id === "code-lifetime.within")
    return codeLifetimeSeconds !== undefined && codeLifetimeSeconds < 120;
  return id === "token-request.rate-limit" && Boolean(rateLimit);
}
