/**
 * The authorization request and response of a login (Variant B). Loaded lazily, with oauth4webapi.
 */
import {
  AuthorizationResponseError,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomState,
  validateAuthResponse,
} from "oauth4webapi";
import { LoginRequiredError, wireText } from "../../errors.js";
import { invalidOption, requireCode } from "../../options.js";
import type { PreparedApiClient } from "../credentials/clients.js";

export interface AuthorizationRequest {
  readonly url: string;
  readonly state: string;
  readonly codeVerifier: string;
}

/**
 * Makes the address of the login page (RFC 6749 section 4.1.1, RFC 7636 section 4.3). The endpoint
 * keeps its query.
 */
export async function authorizationRequest(
  prepared: PreparedApiClient & { readonly redirectUri: string },
): Promise<AuthorizationRequest> {
  const state = generateRandomState();
  const codeVerifier = generateRandomCodeVerifier();
  const url = new URL(prepared.authorizationEndpoint);
  const parameters = {
    ...prepared.authorizationParameters,
    response_type: "code",
    client_id: prepared.clientId,
    redirect_uri: prepared.redirectUri,
    state,
    code_challenge: await calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return { url: url.href, state, codeVerifier };
}

/**
 * Reads the code from the callback of a login.
 *
 * @throws LoginRequiredError `state_mismatch`, `login_denied`, `login_refused`
 * @see RFC 6749 section 4.1.2, RFC 9207 section 2.4
 */
export function readCallback(
  callbackUrl: unknown,
  state: string,
  { clientId, issuer, authorizationEndpoint }: PreparedApiClient,
): string {
  const parameters = parametersOf(callbackUrl);
  const states = parameters.getAll("state");
  // The state is checked first: nothing in an answer to another login's request may be used.
  if (states.length !== 1 || states[0] !== state)
    throw new LoginRequiredError(
      "state_mismatch",
      "The callback carries " +
        (states.length === 0
          ? "no state"
          : "a state that differs from the one this login began with") +
        ". It may be forged, or a second tab began another login. Ask the person to log in again.",
    );
  // The description does not show which issuer `iss` must name, so it is checked only if the option
  // is set.
  if (issuer === undefined) parameters.delete("iss");
  const server =
    issuer === undefined
      ? { issuer: authorizationEndpoint }
      : { issuer, authorization_response_iss_parameter_supported: true };
  try {
    validateAuthResponse(server, { client_id: clientId }, parameters, state);
    const codes = parameters.getAll("code");
    return requireCode(codes.length === 1 ? codes[0] : undefined);
  } catch (error) {
    throw refused(error);
  }
}

function parametersOf(callbackUrl: unknown): URLSearchParams {
  try {
    return new URLSearchParams(new URL(String(callbackUrl)).searchParams);
  } catch {
    throw invalidOption("callbackUrl", "must be an absolute URL");
  }
}

/** The error of oauth4webapi is not kept as the cause: its own cause contains the code. */
function refused(error: unknown): LoginRequiredError {
  const code =
    error instanceof AuthorizationResponseError
      ? wireText(error.error, secretsOf(error.cause))
      : undefined;
  if (code === "access_denied")
    return new LoginRequiredError(
      "login_denied",
      "The login was denied (access_denied). Ask the person whether to log in again.",
    );
  const problem =
    code === undefined ? "is not a valid authorization response" : `reports an error (${code})`;
  return new LoginRequiredError(
    "login_refused",
    `The answer of the authorization endpoint ${problem}. Ask the person to log in again.`,
  );
}

function secretsOf(parameters: URLSearchParams): string[] {
  return ["code", "state", "access_token", "id_token"].flatMap((name) => parameters.getAll(name));
}
