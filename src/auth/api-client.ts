/** Variant B, with a user: authorization code with PKCE, and a refresh token. */
import type { PersonCredential, Settings } from "./credential.js";
import { personCredential } from "./person-credential.js";

export interface ApiClientSettings {
  /** From the admin area, API clients. */
  readonly clientId: string;
  /** The callback address, exactly as registered. */
  readonly redirectUri: string;
  /** Not shown in the description: ask whoever runs the deployment. */
  readonly authorizationEndpoint: string;
  /** Sent beside the standard parameters (RFC 6749 section 4.1.1; RFC 7636 section 4.3). */
  readonly authorizationParameters?: Readonly<Record<string, string>>;
  /** Sent only if given: the description does not show whether a code exchange takes one. */
  readonly clientSecret?: string;
  /** Not shown in the description. Default: the token path. */
  readonly refreshPath?: string;
  /** Not shown in the description. Default: the fields of RFC 6749 section 6, as JSON. */
  readonly refreshBody?: (refreshToken: string) => Readonly<Record<string, unknown>>;
}

/**
 * The credential of a registered API client: a user logs in. It needs a code from a login, so `connect` does not
 * take it.
 *
 * @see the description, sections 2.5, 4.2 and 5.8
 * @example
 * apiClient({ clientId: "portal", redirectUri: "https://portal.example/callback", authorizationEndpoint })
 */
export function apiClient(settings: Settings<ApiClientSettings>): PersonCredential<"B"> {
  return personCredential("B", settings);
}
