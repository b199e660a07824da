// One request that a rule is about, and the exact answer that it gets.
import type { EmulatorOptions, RuleId } from "../../../src/emulator/index.js";
import type { Answer } from "./answer.js";
import type { World } from "./world.js";

/**
 * The name begins with the published test it follows, where there is one: F2 (fapi2-security-profile-final-), F1
 * (fapi1-advanced-final-) and OC (oidcc-) are modules of the OpenID Foundation's conformance suite, numbers are RFCs.
 */
export interface Row {
  readonly name: string;
  /** Those that the last request breaks, in the order of precedence: the log names the first. None: it is accepted. */
  readonly rules: readonly RuleId[];
  /** Rules that refuse nothing here but have a part in the answer. */
  readonly shapedBy?: readonly RuleId[];
  /** The same answer with all its rules off: there is nothing to go on with. */
  readonly remains?: true;
  readonly options?: EmulatorOptions;
  /** Sends whatever is needed over HTTP; the last response is the one that counts. */
  readonly request: (world: World) => Promise<Response>;
  readonly answer: Answer;
}
