/** Which variant is served, as far as it can be told without a credential. */
import { type Detection, isBivariantError, type Variant } from "../../errors.js";
import { detectVariant } from "../../variants/detect.js";
import { namesOf } from "../settings/setting-table.js";
import type { Reach } from "./examine-reach.js";
import { type Finding, fail, pass, unknown } from "./finding.js";
import { onlyVariant, type Patient } from "./patient.js";

const naming = `If you know the variant, name it: ${namesOf("variant")}.`;
const checking = "Check the base URL and the tenant id: a wrong one looks the same.";

/** The variant to ask for a token: where there is but one credential its own, as the client does; else what is found. */
export interface Examined {
  readonly variant: Variant | undefined;
  readonly finding: Finding;
}

export async function examineDetection(patient: Patient, { isReached }: Reach): Promise<Examined> {
  const { baseUrl, tenantId, fetch, signal, timeoutMs, allowInsecureHttp } = patient;
  const only = onlyVariant(patient);
  if (!isReached)
    return { variant: only, finding: unknown("detection", "Not asked, for want of an answer.") };
  if (tenantId === undefined)
    return only === "B"
      ? { variant: only, finding: unknown("detection", "Not asked: Variant B alone needs no tenant id.") }
      : {
          variant: undefined,
          finding: fail(
            "detection",
            "Not asked, for want of a tenant id, which is part of Variant A's path.",
            `Set it with ${namesOf("tenant")}.`,
          ),
        };
  try {
    const target = { baseUrl, tenantId, allowInsecureHttp };
    const detection = await detectVariant({ ...target, fetch, signal, timeoutMs });
    return only === undefined ? choose(patient, detection) : confirm(only, detection, patient);
  } catch (error) {
    if (!isBivariantError(error)) throw error;
    return { variant: undefined, finding: fail("detection", `${error.code}: ${error.message}`, checking) };
  }
}

/** There is a credential for one variant only. */
function confirm(only: Variant, { served, evidence }: Detection, { variant }: Patient): Examined {
  const other = only === "A" ? "B" : "A";
  const told = tell(evidence);
  const use = variant === undefined ? "The only credential is for" : "What is named is";
  if (served[only] === "yes")
    return { variant: only, finding: pass("detection", `Variant ${only} is served. ${told}`) };
  if (served[only] === "unknown")
    return {
      variant: only,
      finding: unknown(
        "detection",
        `Whether Variant ${only} is served cannot be told. ${told} ${use} Variant ${only}: it is tried.`,
      ),
    };
  return {
    variant: undefined,
    finding: fail(
      "detection",
      `Variant ${only} is not served${served[other] === "yes" ? `, but Variant ${other} is` : ""}. ${told} ${use} Variant ${only}.`,
      served[other] === "yes"
        ? `Configure a credential for Variant ${other}: ${waysToConfigure[other]}. ${checking}`
        : checking,
    ),
  };
}

/** There are credentials for both variants, or none at all. */
function choose({ plugin }: Patient, { served, evidence }: Detection): Examined {
  const there = (["A", "B"] as const).filter((variant) => served[variant] === "yes");
  const told = tell(evidence);
  const [first] = there;
  if (first !== undefined) {
    const found = there.length === 2 ? "Variant A and Variant B are served." : `Variant ${first} is served.`;
    const chosen =
      there.length === 2 && plugin !== undefined ? " Variant A is used, which is preferred." : "";
    return { variant: first, finding: pass("detection", `${found} ${told}${chosen}`) };
  }
  const isSure = served.A === "no" && served.B === "no";
  return {
    variant: undefined,
    finding: fail(
      "detection",
      `${isSure ? "Neither variant is served." : "Which variant is served cannot be told."} ${told}`,
      isSure ? checking : `${naming} ${checking}`,
    ),
  };
}

/** The last answer of a variant is the one that decided. */
function tell(evidence: Detection["evidence"]): string {
  const last = new Map(evidence.map((one) => [one.variant, one]));
  return [...last.values()]
    .map(({ variant, status, reason }) => {
      const told = reason.includes(String(status)) ? reason : `${status}, ${reason}`;
      return `Variant ${variant}: ${told}.`;
    })
    .join(" ");
}

/** Where the credential of a variant is set. */
export const waysToConfigure: Readonly<Record<Variant, string>> = {
  A: `${namesOf("aClientId")}, and ${namesOf("aPrivateKeyFile")}`,
  B: `${namesOf("bClientId")}, and ${namesOf("bClientSecretFile")}, or log in as a person with bivariant login`,
};
