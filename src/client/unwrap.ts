/** The data of an outcome, for those who prefer an exception to a look at `ok`. */
import { ConfigurationError } from "../errors.js";

interface Outcomes {
  readonly ok: boolean;
  readonly data?: unknown;
  readonly error?: unknown;
}

type DataOf<O extends Outcomes> = Extract<O, { readonly ok: true }>["data"];

/**
 * Gives the data of a call that succeeded, and throws the `ApiError` of one that did not.
 *
 * @throws ApiError
 * @example
 * const devices = unwrap(await service.call("listDevices"));
 * const same = await unwrap(service.call("listDevices"));
 */
export function unwrap<O extends Outcomes>(outcome: O): DataOf<O>;
export function unwrap<O extends Outcomes>(outcome: Promise<O>): Promise<DataOf<O>>;
export function unwrap<O extends Outcomes>(outcome: O | Promise<O>): DataOf<O> | Promise<DataOf<O>> {
  if (outcome instanceof Promise) return outcome.then((settled) => unwrap(settled));
  if (typeof outcome?.ok !== "boolean")
    throw new ConfigurationError("option_invalid", "unwrap takes what a call resolves with.", {
      option: "outcome",
    });
  if (outcome.ok) return outcome.data as DataOf<O>;
  throw outcome.error;
}
