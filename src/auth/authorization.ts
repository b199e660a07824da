/** The address that a person is sent to, with a state and a PKCE challenge of its own. */
import {
  AuthorizationResponseError,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomState,
  validateAuthResponse,
} from "oauth4webapi";
import { ConfigurationError, LoginRequiredError, wireText } from "../errors.js";
import { requireCode } from "./code-exchange.js";
import type { PreparedApiClient } from "./credentials/api-client.js";

export interface AuthorizationRequest {
  readonly url: string;
  readonly state: string;
  readonly codeVerifier: string;
}

/** RFC 6749 section 4.1.1, RFC 7636 section 4.3; the endpoint's own query stays. */
export async function authorizationRequest({
  clientId,
  redirectUri,
  authorizationEndpoint,
  authorizationParameters,
}: PreparedApiClient): Promise<AuthorizationRequest> {
  const state = generateRandomState();
  const codeVerifier = generateRandomCodeVerifier();
  const url = new URL(authorizationEndpoint);
  const parameters = {
    ...authorizationParameters,
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: await calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return { url: url.href, state, codeVerifier };
}

/**
 * Gives the code of a callback that belongs to a login.
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
  // Before all else: whatever it says, an answer to somebody else's question is none to ours.
  if (states.length !== 1 || states[0] !== state)
    throw new LoginRequiredError(
      "state_mismatch",
      `The callback carries ${states.length === 0 ? "no state" : "another state"} than this login began with: it may be forged, or a second tab overtook it. Ask the person to log in again.`,
    );
  // Whom `iss` must name is not shown in the description: held against the option, where it is given.
  if (issuer === undefined) parameters.delete("iss");
  const server = { issuer: issuer ?? authorizationEndpoint, ...(issuer === undefined ? {} : required) };
  try {
    validateAuthResponse(server, { client_id: clientId }, parameters, state);
  } catch (error) {
    throw refused(error);
  }
  const codes = parameters.getAll("code");
  try {
    return requireCode(codes.length === 1 ? codes[0] : undefined, "B");
  } catch {
    throw refused(undefined);
  }
}

const required = { authorization_response_iss_parameter_supported: true };

function parametersOf(callbackUrl: unknown): URLSearchParams {
  try {
    return new URLSearchParams(new URL(String(callbackUrl)).searchParams);
  } catch {
    throw new ConfigurationError("option_invalid", "callbackUrl is no absolute URL.", {
      option: "callbackUrl",
      variant: "B",
    });
  }
}

/** oauth4webapi's errors hold the code in their cause: none gets out. */
function refused(error: unknown): LoginRequiredError {
  const told =
    error instanceof AuthorizationResponseError ? wireText(error.error, secretsOf(error.cause)) : undefined;
  if (told === "access_denied")
    return new LoginRequiredError(
      "login_denied",
      "The login was denied (access_denied). Ask the person whether to log in again.",
    );
  const why = told === undefined ? "is none that the standard knows" : `tells of an error (${told})`;
  return new LoginRequiredError(
    "login_refused",
    `The answer of the authorization endpoint ${why}. Ask the person to log in again.`,
  );
}

function secretsOf(parameters: URLSearchParams): string[] {
  return ["code", "state", "access_token", "id_token"].flatMap((name) => parameters.getAll(name));
}
