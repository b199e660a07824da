/** Variant B with a user: authorization code with PKCE, and a refresh token (sections 4.2 and 5.8 of the description). */
import { type Cause, ConfigurationError } from "../../errors.js";
import { isLoopback, isUnderBase, type Target, tokenEndpointOfB } from "../../variants/target.js";
import { withoutUndefined } from "../auth-options.js";
import {
  fingerprintOf,
  type PersonCredential,
  type PreparedPersonCredential,
  personCredential,
  type Refusal,
  readSettings,
  requireText,
  type Settings,
  sendJson,
} from "./credential.js";

export interface ApiClientSettings {
  /** From the admin area, API clients. */
  readonly clientId: string;
  /** The callback address, exactly as registered. */
  readonly redirectUri: string;
  /** Not shown in the description: ask the operator of the deployment. A URL, or a path under the base URL. */
  readonly authorizationEndpoint: string;
  /** Sent beside the standard parameters (RFC 6749 section 4.1.1; RFC 7636 section 4.3), `scope` for instance. */
  readonly authorizationParameters?: Readonly<Record<string, string>> | undefined;
  /** Compared with the callback's `iss` if set (RFC 9207). Not shown in the description. */
  readonly issuer?: string | undefined;
  /** Sent only if set: the description does not show whether a code exchange takes one. */
  readonly clientSecret?: string | undefined;
  /** Under the base URL, with a leading slash. Not shown in the description. Default: the token path. */
  readonly refreshPath?: string | undefined;
  /** Not shown in the description. Default: the fields of RFC 6749 section 6, as JSON. */
  readonly refreshBody?: ((refreshToken: string) => Readonly<Record<string, unknown>>) | undefined;
  /**
   * Whether to send a refresh token again after its answer was lost: for deployments that accept a rotated one for a
   * while. Elsewhere a second use looks like a theft, and ends the login. Default: false.
   */
  readonly resendLostRefresh?: boolean | undefined;
}

/** What a login needs in addition to a token request. */
export interface PreparedApiClient extends PreparedPersonCredential {
  readonly redirectUri: string;
  readonly authorizationEndpoint: string;
  readonly authorizationParameters: Readonly<Record<string, string>>;
  readonly issuer: string | undefined;
}

/**
 * The credential of a registered API client: a user logs in. It needs a code from a login: pass it to `beginLogin` and
 * `completeLogin`, or to `createBackend`, not to `connect`.
 *
 * @see the description, sections 2.5, 4.2 and 5.8
 * @example
 * apiClient({ clientId: "portal", redirectUri: "https://portal.example/callback", authorizationEndpoint })
 */
export function apiClient(settings: Settings<ApiClientSettings>): PersonCredential<"B"> {
  return personCredential("B", {
    ...(typeof settings === "object" && settings !== null && { look: () => requireValid(settings) }),
    async prepare(target): Promise<PreparedApiClient> {
      const checked = requireValid(await readSettings(settings, target, "B"));
      const { clientId, clientSecret, redirectUri, refreshBody } = checked;
      const secret = clientSecret === undefined ? {} : { client_secret: clientSecret };
      const secrets = clientSecret === undefined ? [] : [clientSecret];
      const refreshUrl =
        checked.refreshPath === undefined
          ? tokenEndpointOfB(target)
          : urlUnderBase("refreshPath", checked.refreshPath, target, "/v1/auth/refresh");
      const standardBody = (refreshToken: string) => ({
        grant_type: "refresh_token",
        refresh_token: refreshToken,
        client_id: clientId,
        ...secret,
      });
      return {
        clientId,
        fingerprint: await fingerprintOf(clientId, clientSecret ?? ""),
        redirectUri,
        authorizationEndpoint: checked.authorizationEndpoint.startsWith("/")
          ? urlUnderBase("authorizationEndpoint", checked.authorizationEndpoint, target, "/v1/auth/authorize")
          : checked.authorizationEndpoint,
        authorizationParameters: withoutUndefined(checked.authorizationParameters ?? {}),
        issuer: checked.issuer,
        resendLostRefresh: checked.resendLostRefresh ?? false,
        explain: (refusal) => explain(refusal, clientId, clientSecret !== undefined),
        // Section 4.2: without a grant_type.
        sendCode: ({ code, codeVerifier }, attempt) => {
          const fields = {
            code,
            code_verifier: codeVerifier,
            client_id: clientId,
            redirect_uri: redirectUri,
            ...secret,
          };
          const secretsSent = [...secrets, code, codeVerifier];
          return sendJson(tokenEndpointOfB(target), JSON.stringify(fields), secretsSent, attempt);
        },
        refreshRequest: (refreshToken) => {
          const body = serializedBody(() => (refreshBody ?? standardBody)(refreshToken));
          return (attempt) => sendJson(refreshUrl, body, [...secrets, refreshToken], attempt);
        },
      };
    },
  });
}

/** @throws ConfigurationError `credential_invalid` */
function serializedBody(makeFields: () => unknown): string {
  try {
    const fields = makeFields();
    if (typeof fields === "object" && fields !== null && !(fields instanceof Promise))
      return JSON.stringify(fields);
  } catch (cause) {
    throw invalid("refreshBody", "failed, so no refresh token was sent; see the cause", cause);
  }
  throw invalid("refreshBody", "must return an object with the fields to send");
}

/** Parameters that `beginLogin` generates itself: the checks of the callback depend on them. */
const reservedParameters = [
  "response_type",
  "client_id",
  "redirect_uri",
  "state",
  "code_challenge",
  "code_challenge_method",
];

function requireValid(settings: ApiClientSettings): ApiClientSettings {
  const { redirectUri, authorizationEndpoint, authorizationParameters = {}, refreshBody } = settings;
  for (const name of ["clientId", "redirectUri", "authorizationEndpoint"] as const)
    requireText(settings[name], name, "B");
  for (const name of ["clientSecret", "issuer"] as const)
    if (settings[name] !== undefined) requireText(settings[name], name, "B");
  // RFC 6749 section 3.1.2: absolute, without a fragment. Apps other than web pages use schemes of their own.
  if (!URL.canParse(redirectUri) || redirectUri.includes("#"))
    throw invalid("redirectUri", "must be an absolute URL without a fragment");
  if (!authorizationEndpoint.startsWith("/")) requireSecureUrl(authorizationEndpoint);
  else if (authorizationEndpoint.includes("#")) throw badEndpoint();
  if (Object.prototype.toString.call(authorizationParameters) !== "[object Object]")
    throw invalid("authorizationParameters", "must be an object");
  for (const [name, value] of Object.entries(authorizationParameters) as [string, unknown][]) {
    if (value !== undefined && typeof value !== "string")
      throw invalid("authorizationParameters", `must have a text under ${JSON.stringify(name)}`);
    if (reservedParameters.includes(name))
      throw invalid("authorizationParameters", `must not contain ${name}, which the login generates`);
  }
  if (refreshBody !== undefined && typeof refreshBody !== "function")
    throw invalid("refreshBody", "must be a function");
  return settings;
}

function requireSecureUrl(endpoint: string): void {
  if (!URL.canParse(endpoint) || endpoint.includes("#")) throw badEndpoint();
  const { protocol, hostname } = new URL(endpoint);
  if (protocol !== "https:" && !(protocol === "http:" && isLoopback(hostname)))
    throw invalid("authorizationEndpoint", "must use https, or be on this machine");
}

function badEndpoint(): ConfigurationError {
  return invalid("authorizationEndpoint", "must be a URL or a path under the base URL, without a fragment");
}

function urlUnderBase(option: string, path: string, { baseUrl }: Target, example: string): string {
  const url = typeof path === "string" && path.startsWith("/") ? baseUrl + path : undefined;
  if (url === undefined || !URL.canParse(url) || !isUnderBase(new URL(url), baseUrl))
    throw invalid(option, `must be a path under the base URL, such as ${example}`);
  return url;
}

/** Read by RFC 6749 section 5.2, which is an assumption: the description does not show Variant B's errors. */
function explain(
  { error, status }: Pick<Refusal, "error" | "status">,
  clientId: string,
  hasSecret: boolean,
): readonly Cause[] {
  if (error !== "invalid_client" && error !== "unauthorized_client" && status !== 401) return [];
  const evidence = `${error ?? status} for ${clientId}, sent with${hasSecret ? " the configured" : "out a"} client secret, interpreted by RFC 6749 section 5.2: the description does not show Variant B's errors.`;
  return hasSecret
    ? [
        {
          id: "client_secret_mismatch",
          summary: "The client secret does not belong to this API client, or the API client has no secret",
          evidence,
          remedy:
            "Compare both in the admin area under API clients. For a client without a secret leave clientSecret out; the secret of a service account is not valid here.",
        },
      ]
    : [
        {
          id: "client_secret_missing",
          summary: "The API client has a secret, or no API client has this id",
          evidence,
          remedy:
            "Compare the client id in the admin area under API clients. If it has a secret there, pass it as clientSecret.",
        },
      ];
}

function invalid(option: string, problem: string, cause?: unknown): ConfigurationError {
  const message = `${option} ${problem}.`;
  return new ConfigurationError("credential_invalid", message, { option, variant: "B", cause });
}
