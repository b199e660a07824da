/** The whole examination, in the order in which one fault explains the next. */
import { examineAssertion } from "./examine-assertion.js";
import { examineCall } from "./examine-call.js";
import { examineDetection } from "./examine-detection.js";
import { examineReach } from "./examine-reach.js";
import type { Finding } from "./finding.js";
import type { Patient } from "./patient.js";

/**
 * Yields one finding for every check, as they come: what cannot be looked at is unknown, with the reason. One token
 * request at most is sent, and one API call; the questions of the detection carry no credential.
 */
export async function* examine(patient: Patient): AsyncGenerator<Finding> {
  const reach = await examineReach(patient);
  yield* reach.findings;
  const assertion = await examineAssertion(patient, reach);
  yield* assertion.findings;
  const { variant, finding } = await examineDetection(patient, reach);
  yield finding;
  yield* await examineCall(patient, { ...reach, ...assertion, variant });
}
