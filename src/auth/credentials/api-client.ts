/** Variant B, with a user: authorization code with PKCE, and a refresh token. */
import { type Cause, ConfigurationError } from "../../errors.js";
import { isUnderBase, parseBaseUrl, type Target, tokenEndpointOfB } from "../../variants/target.js";
import { withoutUndefined } from "../auth-options.js";
import {
  fingerprintOf,
  type PersonCredential,
  type PreparedPersonCredential,
  personCredential,
  type Refusal,
  readSettings,
  requireText,
  type SentAttempt,
  type Settings,
  type TokenAttempt,
} from "./credential.js";

export interface ApiClientSettings {
  /** From the admin area, API clients. */
  readonly clientId: string;
  /** The callback address, exactly as registered. */
  readonly redirectUri: string;
  /** Not shown in the description: ask whoever runs the deployment. A URL, or a path under the base URL. */
  readonly authorizationEndpoint: string;
  /** Sent beside the standard parameters (RFC 6749 section 4.1.1; RFC 7636 section 4.3), `scope` for instance. */
  readonly authorizationParameters?: Readonly<Record<string, string>> | undefined;
  /** Held against the callback's `iss` if given (RFC 9207). Not shown in the description. */
  readonly issuer?: string | undefined;
  /** Sent only if given: the description does not show whether a code exchange takes one. */
  readonly clientSecret?: string | undefined;
  /** Under the base URL, with a leading slash. Not shown in the description. Default: the token path. */
  readonly refreshPath?: string | undefined;
  /** Not shown in the description. Default: the fields of RFC 6749 section 6, as JSON. */
  readonly refreshBody?: ((refreshToken: string) => Readonly<Record<string, unknown>>) | undefined;
  /**
   * Whether a refresh token is sent again whose answer was lost: for deployments that keep a rotated one alive for a
   * while. Elsewhere that looks like a theft, and ends the login. Default: false.
   */
  readonly resendLostRefresh?: boolean | undefined;
}

/** What a login needs beside what a token request does. */
export interface PreparedApiClient extends PreparedPersonCredential {
  readonly redirectUri: string;
  readonly authorizationEndpoint: string;
  readonly authorizationParameters: Readonly<Record<string, string>>;
  readonly issuer: string | undefined;
}

/**
 * The credential of a registered API client: a user logs in. It needs a code from a login: give it to `beginLogin` and
 * `completeLogin`, or to `createBackend`, not to `connect`.
 *
 * @see the description, sections 2.5, 4.2 and 5.8
 * @example
 * apiClient({ clientId: "portal", redirectUri: "https://portal.example/callback", authorizationEndpoint })
 */
export function apiClient(settings: Settings<ApiClientSettings>): PersonCredential<"B"> {
  return personCredential("B", {
    ...(typeof settings === "object" && settings !== null && { look: () => checked(settings) }),
    async prepare(target): Promise<PreparedApiClient> {
      const read = await readSettings(settings, target, "B");
      const { clientId, clientSecret, refreshBody } = checked(read);
      const secret = clientSecret === undefined ? {} : { client_secret: clientSecret };
      const secrets = clientSecret === undefined ? [] : [clientSecret];
      const refreshUrl = refreshUrlOf(read.refreshPath, target);
      const standardBody = (refreshToken: string) => ({
        grant_type: "refresh_token",
        refresh_token: refreshToken,
        client_id: clientId,
        ...secret,
      });
      return {
        clientId,
        fingerprint: await fingerprintOf(clientId, clientSecret ?? ""),
        redirectUri: read.redirectUri,
        authorizationEndpoint: endpointOf(read.authorizationEndpoint, target),
        authorizationParameters: withoutUndefined(read.authorizationParameters ?? {}),
        issuer: read.issuer,
        resendLostRefresh: read.resendLostRefresh ?? false,
        explain: (refusal) => explainClientRefusal(refusal, { clientId, hasSecret: secrets.length > 0 }),
        // Section 4.2: no grant_type.
        sendCode: ({ code, codeVerifier }, attempt) => {
          const redirect_uri = read.redirectUri;
          const body = { code, code_verifier: codeVerifier, client_id: clientId, redirect_uri, ...secret };
          const secretsSent = [...secrets, code, codeVerifier];
          return sendJson(tokenEndpointOfB(target), JSON.stringify(body), secretsSent, attempt);
        },
        refreshRequest: (refreshToken) => {
          const body = madeBody(() => (refreshBody ?? standardBody)(refreshToken));
          return (attempt) => sendJson(refreshUrl, body, [...secrets, refreshToken], attempt);
        },
      };
    },
  });
}

/** @throws ConfigurationError `credential_invalid` */
function madeBody(make: () => unknown): string {
  try {
    const body = make();
    if (typeof body === "object" && body !== null && !(body instanceof Promise)) return JSON.stringify(body);
  } catch (cause) {
    throw invalid("refreshBody", "failed; see the cause. No refresh token was sent", cause);
  }
  throw invalid("refreshBody", "gave no object with the fields to send");
}

async function sendJson(
  url: string,
  body: string,
  secrets: readonly string[],
  { fetch, signal, userAgent }: TokenAttempt,
): Promise<SentAttempt> {
  const response = await fetch(url, {
    method: "POST",
    headers: { accept: "application/json", "content-type": "application/json", "user-agent": userAgent },
    body,
    redirect: "manual",
    signal,
  });
  return { response, secrets };
}

/** Parameters that `beginLogin` makes itself: another value would break what is checked on the way back. */
const reserved = [
  "response_type",
  "client_id",
  "redirect_uri",
  "state",
  "code_challenge",
  "code_challenge_method",
];

function checked(settings: ApiClientSettings): ApiClientSettings {
  requireText(settings.clientId, "clientId", "B");
  requireText(settings.redirectUri, "redirectUri", "B");
  requireText(settings.authorizationEndpoint, "authorizationEndpoint", "B");
  if (settings.clientSecret !== undefined) requireText(settings.clientSecret, "clientSecret", "B");
  if (settings.issuer !== undefined) requireText(settings.issuer, "issuer", "B");
  // RFC 6749 section 3.1.2: absolute, without a fragment. Custom schemes are for apps that are no web pages.
  if (!URL.canParse(settings.redirectUri) || settings.redirectUri.includes("#"))
    throw invalid("redirectUri", "is no absolute URL without a fragment");
  checkEndpoint(settings.authorizationEndpoint);
  const { authorizationParameters = {} } = settings;
  if (Object.prototype.toString.call(authorizationParameters) !== "[object Object]")
    throw invalid("authorizationParameters", "is no object");
  for (const [name, value] of Object.entries(authorizationParameters) as [string, unknown][])
    if (value !== undefined && typeof value !== "string")
      throw invalid("authorizationParameters", `has no text for ${JSON.stringify(name)}`);
  const taken = Object.keys(authorizationParameters).filter((name) => reserved.includes(name));
  if (taken.length > 0)
    throw invalid("authorizationParameters", `names ${taken.join(", ")}, which the login makes`);
  if (settings.refreshBody !== undefined && typeof settings.refreshBody !== "function")
    throw invalid("refreshBody", "is no function");
  return settings;
}

/** A path is checked again when the base URL is known. */
function checkEndpoint(endpoint: string): void {
  if ((!endpoint.startsWith("/") && !URL.canParse(endpoint)) || endpoint.includes("#"))
    throw invalid(
      "authorizationEndpoint",
      "is neither a URL nor a path under the base URL, without a fragment",
    );
  if (endpoint.startsWith("/")) return;
  const { protocol, origin } = new URL(endpoint);
  if (protocol !== "https:" && !isLoopbackHttp(origin))
    throw invalid("authorizationEndpoint", "is neither https nor on this machine");
}

function endpointOf(endpoint: string, target: Target): string {
  if (!endpoint.startsWith("/")) return endpoint;
  return underBase(endpoint, target, "authorizationEndpoint", "/v1/auth/authorize");
}

function isLoopbackHttp(origin: string): boolean {
  try {
    return parseBaseUrl(origin) !== "";
  } catch {
    return false;
  }
}

function refreshUrlOf(path: string | undefined, target: Target): string {
  if (path === undefined) return tokenEndpointOfB(target);
  return underBase(path, target, "refreshPath", "/v1/auth/refresh");
}

function underBase(path: string, { baseUrl }: Target, option: string, example: string): string {
  const url = typeof path === "string" && path.startsWith("/") ? baseUrl + path : undefined;
  if (url === undefined || !URL.canParse(url) || !isUnderBase(new URL(url), baseUrl))
    throw invalid(option, `is no path under the base URL, such as ${example}`);
  return url;
}

function invalid(option: string, why: string, cause?: unknown): ConfigurationError {
  return new ConfigurationError("credential_invalid", `${option} ${why}.`, { option, variant: "B", cause });
}

const whoIsRefused: readonly (string | undefined)[] = ["invalid_client", "unauthorized_client"];

/** Variant B's errors are not shown: read by RFC 6749 section 5.2, which is an assumption and said to be one. */
export function explainClientRefusal(
  { error, status }: Pick<Refusal, "error" | "status">,
  { clientId, hasSecret }: { readonly clientId: string; readonly hasSecret: boolean },
): readonly Cause[] {
  if (!whoIsRefused.includes(error) && status !== 401) return [];
  const evidence = `${error ?? status} for ${clientId}, ${hasSecret ? "sent with the client secret that was given" : "sent without a client secret"}, read as RFC 6749 section 5.2 means it: the description does not show Variant B's errors.`;
  return [
    hasSecret
      ? {
          id: "client_secret_mismatch",
          summary: "The client secret is not that of this API client, or the API client has none",
          evidence,
          remedy:
            "Compare both in the admin area under API clients. For a client without a secret leave clientSecret out; that of a service account does not belong here.",
        }
      : {
          id: "client_secret_missing",
          summary: "The API client has a secret, or there is no API client of this id",
          evidence,
          remedy:
            "Compare the client id in the admin area under API clients. If it has a secret there, give it as clientSecret.",
        },
  ];
}
