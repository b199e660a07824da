/** What the process says on leaving: one number per thing that a script can do about it. */

import { personRequired } from "../client/refused-call.js";
import { EmulatorError } from "../emulator/index.js";
import {
  isApiError,
  isConfigurationError,
  isRateLimitedError,
  isStoreError,
  isTokenRequestError,
  isTransportError,
  isUnexpectedResponseError,
  isVariantError,
} from "../errors.js";
import { GenerateError } from "../generate/generate-error.js";

export const exitCodes = {
  done: 0,
  checkSaidNo: 1,
  configuration: 2,
  tokenRefused: 3,
  variant: 4,
  network: 5,
  apiRefused: 6,
  /** A fault of this program, EX_SOFTWARE of sysexits.h: never to be mistaken for a check that said no. */
  fault: 70,
  /** 128 and the number of SIGINT, as shells have it. */
  interrupted: 130,
  /** 128 and the number of SIGPIPE: whoever read the output has gone. */
  outputClosed: 141,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** For every `--help`. */
export const exitCodesHelp: string = `Exit codes:
  0  done
  1  a check said no
  2  usage or configuration
  3  token refused, rate limited past the deadline, or login over
  4  variant not served, or it cannot be told
  5  network: no answer, or an answer that the description does not know
  6  API call refused`;

/**
 * The exit code of an error. An unexpected response counts as network: what answered is most often a proxy, a login
 * page or another server, and what helps is looking at the address.
 */
export function exitCodeOf(error: unknown): ExitCode {
  if (
    isConfigurationError(error) ||
    isStoreError(error) ||
    error instanceof EmulatorError ||
    error instanceof GenerateError
  )
    return exitCodes.configuration;
  if (isTokenRequestError(error) || isRateLimitedError(error)) return exitCodes.tokenRefused;
  // A call too that was refused because its login is over.
  if (personRequired(error) !== undefined) return exitCodes.tokenRefused;
  if (isVariantError(error)) return exitCodes.variant;
  if (isTransportError(error) || isUnexpectedResponseError(error)) return exitCodes.network;
  if (isApiError(error)) return exitCodes.apiRefused;
  return exitCodes.fault;
}
