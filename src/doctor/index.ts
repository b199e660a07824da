/** The doctor: examines a deployment and a credential, and yields one finding for each check. */
import { examineAssertion } from "./assertion.js";
import { examineCall } from "./call.js";
import { examineDetection, examineReach } from "./deployment.js";
import { type DoctorInput, type Finding, unknown } from "./finding.js";

export { asInvalid } from "./credentials.js";
export type { DoctorInput, Finding, Wording } from "./finding.js";

/** A check comes after those that can explain its failure. */
export async function* examine(input: DoctorInput): AsyncGenerator<Finding> {
  const reach = await examineReach(input);
  yield* reach.findings;
  const { canSign, jwks, findings } = await examineAssertion(input, reach.correctionMs);
  yield* findings;
  const { variant, other, finding } = await examineDetection(input, reach);
  yield finding;
  yield* await examineCall(input, { ...reach, canSign, jwks, variant });
  if (other !== undefined)
    yield unknown(
      "other_token",
      `The client uses the credential of Variant ${variant} here, so that of Variant ${other} ` +
        "was not tried.",
      `Try it with bivariant doctor --variant ${other}.`,
    );
}
