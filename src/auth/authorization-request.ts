/** The address that a person is sent to, with a state and a PKCE challenge of its own. */
import { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } from "oauth4webapi";
import type { PreparedApiClient } from "./api-client.js";

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
