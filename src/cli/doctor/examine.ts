/** The whole examination, in the order in which one fault explains the next. */
import type { Fetch } from "../../variants/variant.js";
import type { AccountSettings } from "../settings/read-account.js";
import type { PluginSettings } from "../settings/read-plugin.js";
import { examineCall } from "./examine-call.js";
import { examineDetection } from "./examine-detection.js";
import { examineKey } from "./examine-key.js";
import { examineReach } from "./examine-reach.js";
import type { Finding } from "./finding.js";

/** What there is to examine. Whatever is left out is not examined, and said to be unknown. */
export interface Patient {
  readonly baseUrl: string;
  readonly tenantId: string | undefined;
  readonly variant: "A" | "B" | undefined;
  readonly allowInsecureHttp: boolean | undefined;
  readonly plugin: PluginSettings | undefined;
  readonly account: AccountSettings | undefined;
  /** The JWKS that the customer registered, as parsed JSON. */
  readonly registeredJwks: unknown;
  /** Left out: the global one. */
  readonly fetch: Fetch | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Yields findings as they come. One token request at most is sent, and one API call. */
export async function* examine(patient: Patient): AsyncGenerator<Finding> {
  const reach = await examineReach(patient);
  yield* reach.findings;
  if (patient.plugin !== undefined) yield* await examineKey(patient, patient.plugin);
  if (!reach.isReached) return;
  const { variant, findings } = await examineDetection(patient);
  yield* findings;
  yield* await examineCall(patient, variant);
}
