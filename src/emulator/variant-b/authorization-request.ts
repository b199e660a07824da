// Reads an authorization request and decides whether to show a login page, an error page, or neither.
import type { Deployment } from "../deployment.js";
import { isCodeChallenge } from "../pkce.js";
import type { Finding, Refusal } from "../refusal.js";
import type { ApiClient } from "../registrations/api-clients.js";
import { isSameRedirectUri } from "../registrations/redirect-uri.js";
import { scopeSchema } from "../registrations/scope.js";
import { shown } from "../shown.js";

/** Not shown; the authorization endpoint that clients of the emulator are configured with. */
export const AUTHORIZATION_PATH = "/v1/auth/authorize";

/** What a person is asked to allow: RFC 6749 section 4.1.1 with RFC 7636 section 4.3. */
export interface AuthorizationRequest {
  readonly client: ApiClient;
  readonly redirectUri: string;
  readonly state: string | undefined;
  readonly codeChallenge: string;
  /** Undefined: whatever the person has. */
  readonly scopes: ReadonlySet<string> | undefined;
}

/** Where an answer goes once client and redirect URI are known to be right. */
export type Callback = Pick<AuthorizationRequest, "client" | "redirectUri" | "state">;

/** `callback` is absent where the client must not be told (RFC 6749 section 4.1.2.1). */
export interface RefusedAuthorization {
  readonly refusal: Refusal;
  readonly callback?: Callback;
}

export function readAuthorizationRequest(
  { apiClients }: Deployment,
  parameters: URLSearchParams,
): AuthorizationRequest | RefusedAuthorization {
  const names = [...parameters.keys()];
  const repeated = names.find((name, index) => names.indexOf(name) < index);
  if (repeated !== undefined) {
    const finding = { expected: "each parameter once", actual: shown(repeated) };
    return { refusal: { rule: "authorization.duplicate-parameter", ...finding } };
  }
  // RFC 6749 section 3.1: "Parameters sent without a value MUST be treated as if they were omitted".
  const read = (name: string) => parameters.get(name) || undefined;
  const client = apiClients.find(read("client_id") ?? "");
  if (client === undefined) {
    // Not quoted: whoever swaps two settings sends the secret as client_id.
    const actual = read("client_id") === undefined ? "absent" : "a client_id that is not registered";
    const finding = { expected: "a registered API client", actual };
    return { refusal: { rule: "authorization.client", ...finding } };
  }
  const redirectUri = read("redirect_uri");
  if (redirectUri === undefined || !client.redirectUris.some((uri) => isSameRedirectUri(uri, redirectUri))) {
    const expected = `one of ${client.redirectUris.map(shown).join(", ")}`;
    return { refusal: { rule: "authorization.redirect-uri", expected, actual: shown(redirectUri) } };
  }
  const callback = { client, redirectUri, state: read("state") };
  const told = (rule: Refusal["rule"], finding: Finding) => ({ refusal: { rule, ...finding }, callback });
  if (read("response_type") !== "code") {
    const actual = shown(read("response_type"));
    return told("authorization.response-type", { expected: "code", actual });
  }
  if (read("code_challenge_method") !== "S256") {
    const actual = shown(read("code_challenge_method"));
    return told("authorization.challenge-method", { expected: "S256", actual });
  }
  const codeChallenge = read("code_challenge");
  if (!isCodeChallenge(codeChallenge)) {
    const actual = codeChallenge === undefined ? "absent" : "another string";
    return told("authorization.challenge", { expected: "43 characters of base64url", actual });
  }
  const requested = read("scope")?.split(" ");
  const isGrantable = (scope: string) =>
    scopeSchema.safeParse(scope).success && (client.scopes?.has(scope) ?? true);
  if (requested?.every(isGrantable) === false) {
    const expected = client.scopes === undefined ? "scopes" : `some of ${[...client.scopes].join(" ")}`;
    return told("authorization.scope", { expected, actual: shown(read("scope")) });
  }
  return { ...callback, codeChallenge, scopes: requested ? new Set(requested) : client.scopes };
}
