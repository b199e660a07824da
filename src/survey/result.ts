/** What a survey says of one customer. */
import type { Finding } from "../doctor/finding.js";
import type { Detection, Evidence, Variant } from "../errors.js";

/** `moved` is another variant than before. A customer may have moved and broken. */
export type Change = "moved" | "broke" | "recovered" | "new";

/** What a survey found out about one customer. It holds no secret. */
export interface SurveyResult {
  /** Null if the customer has none. */
  readonly tenantId: string | null;
  readonly baseUrl: string;
  /**
   * The variant that is served: if both are, that of the credential, and Variant A before Variant
   * B. Null if unknown.
   */
  readonly variant: Variant | null;
  /**
   * Whether all went well that was tried: a variant was found and, with a credential, a token and a
   * call.
   */
  readonly works: boolean;
  /** Whether there was a credential to try. */
  readonly called: boolean;
  /** If it does not work: a stable name of what failed, what was found, and what to do. */
  readonly code?: string;
  readonly problem?: string;
  readonly remedy?: string;
  readonly served: Detection["served"];
  /** The questions of the detection, and their answers. */
  readonly evidence: readonly Evidence[];
  /** What the doctor found. Address, TLS, clock and key are checked only if something failed. */
  readonly findings: readonly Finding[];
  readonly aClientId?: string;
  readonly bClientId?: string;
  /** The other columns of the row, and its line. */
  readonly other?: Readonly<Record<string, string>>;
  readonly line?: number;
  /** Epoch milliseconds at the end, and how long it took. */
  readonly at: number;
  readonly durationMs: number;
  /** What is different from the earlier result, if there is one. */
  readonly changes?: readonly Change[];
}

/** `served` is a variant that was found for a customer without a credential. */
export type State = "works" | "served" | "fails";

export function stateOf({ works, called }: Pick<SurveyResult, "works" | "called">): State {
  if (!works) return "fails";
  return called ? "works" : "served";
}
