/** Which variant is served, as far as it can be told without a credential. */
import { isBivariantError, type Variant } from "../../errors.js";
import { detectVariant } from "../../variants/detect.js";
import type { Patient } from "./examine.js";
import { type Finding, fail, pass, unknown } from "./finding.js";

const naming = "If you know the variant, name it with --variant or BIVARIANT_VARIANT.";

/** The variant to try a token with: the one that was named, else the first that is there and has a credential. */
export async function examineDetection(
  patient: Patient,
): Promise<{ variant: Variant | undefined; findings: Finding[] }> {
  const { baseUrl, tenantId, fetch, signal, timeoutMs, allowInsecureHttp } = patient;
  if (tenantId === undefined)
    return {
      variant: patient.variant,
      findings: [unknown("detection", "Without a tenant id Variant A cannot be asked about.", naming)],
    };
  try {
    const { served, evidence } = await detectVariant({
      baseUrl,
      tenantId,
      fetch,
      signal,
      timeoutMs,
      allowInsecureHttp,
    });
    const told = evidence.map((one) => `${one.variant}: ${one.status}, ${one.reason}`).join("; ");
    const has = { A: patient.plugin !== undefined, B: patient.account !== undefined };
    const there = (["A", "B"] as const).filter((variant) => served[variant] === "yes");
    const variant = patient.variant ?? there.find((one) => has[one]);
    if (patient.variant !== undefined && served[patient.variant] === "no")
      return {
        variant,
        findings: [
          fail(
            "detection",
            `Variant ${patient.variant} is named, but not served. ${told}`,
            "Name the other variant, or check the tenant id: a wrong one looks the same.",
          ),
        ],
      };
    if (there.length === 0)
      return {
        variant,
        findings: [
          fail(
            "detection",
            `No variant was found. ${told}`,
            `Check the base URL and the tenant id: a wrong one looks the same. ${naming}`,
          ),
        ],
      };
    const found = `Variant ${there.join(" and Variant ")} is served. ${told}`;
    return variant === undefined
      ? {
          variant,
          findings: [fail("detection", found, `Configure a credential for Variant ${there.join(" or ")}.`)],
        }
      : { variant, findings: [pass("detection", found)] };
  } catch (error) {
    if (!isBivariantError(error)) throw error;
    return {
      variant: patient.variant,
      findings: [fail("detection", `${error.code}: ${error.message}`, naming)],
    };
  }
}
