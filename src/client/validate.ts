/** The seam for response validation: `bivariant/validate` plugs in here, and brings zod along. */
import type { EventBody } from "../auth/events.js";
import type { Variant } from "../errors.js";

export interface ValidatedAnswer {
  readonly variant: Variant;
  readonly operationId: string;
  readonly status: number;
  readonly data: unknown;
}

/**
 * Looks at the data of a success; tells an event or throws.
 *
 * @throws UnexpectedResponseError `response_shape`
 */
export type Validate = (answer: ValidatedAnswer, tell: (event: EventBody) => void) => void;
