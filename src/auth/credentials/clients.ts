/**
 * The two credentials of Variant B: `serviceAccount` without a user, and `apiClient` with one
 * (section 4.2).
 */
import type { Cause, ConfigurationError } from "../../errors.js";
import { isLoopback } from "../../http/exchange.js";
import { isPlain, settingNames, withoutUndefined } from "../../options.js";
import { isUnderBase, type Target, tokenEndpointOfB } from "../../variants/target.js";
import {
  clientErrors,
  credentialInvalid,
  fingerprintOf,
  givenSettings,
  type MachineCredential,
  machineCredential,
  type PersonCredential,
  type PreparedPersonCredential,
  personCredential,
  type Refusal,
  readSettings,
  requireText,
  type Settings,
  sendJson,
} from "./credential.js";

/** What {@link serviceAccount} takes (section 2.5 of the description). */
export interface ServiceAccountSettings {
  /** The service client id, shown in the admin area under Service accounts. */
  readonly clientId: string;
  readonly clientSecret: string;
}

/**
 * The credential of a service account: machine-to-machine use of Variant B.
 *
 * @throws ConfigurationError `option_invalid` at once for an unknown name; `credential_invalid`
 * before the first request
 * @see the description, sections 2.5, 4.2 and 5.10; RFC 6749 section 4.4
 * @example
 * import { readFile } from "node:fs/promises";
 *
 * const clientSecret = (await readFile("client-secret.txt", "utf8")).trim();
 * const account = serviceAccount({ clientId: "reports", clientSecret });
 * const service = await connect({ baseUrl, tenantId, credentials: [account] });
 */
export function serviceAccount(settings: Settings<ServiceAccountSettings>): MachineCredential<"B"> {
  const given = givenSettings("serviceAccount", settings, { clientId: true, clientSecret: true });
  return machineCredential("B", {
    callsFunction: typeof settings === "function",
    async prepare(target) {
      const { clientId, clientSecret } = await readSettings(given, target, "B");
      requireText(clientId, "clientId", "B");
      requireText(clientSecret, "clientSecret", "B");
      const fields = {
        grant_type: "client_credentials",
        client_id: clientId,
        client_secret: clientSecret,
      };
      return {
        clientId,
        fingerprint: await fingerprintOf(clientId, clientSecret),
        send: (attempt) =>
          sendJson(tokenEndpointOfB(target), JSON.stringify(fields), [clientSecret], attempt),
        explain: (refusal) => explain(refusal, [clientId, clientSecret], wrongAccount),
      };
    },
  });
}

/** What {@link apiClient} takes (section 2.5 of the description). */
export interface ApiClientSettings {
  /** The id shown in the admin area under API clients. */
  readonly clientId: string;
  /**
   * The callback address, exactly as registered. Default with `createBackend`: its route `callback`
   * and the tenant id, such as `https://planner.example/auth/callback/acme`.
   */
  readonly redirectUri?: string | undefined;
  /**
   * A URL, or a path under the base URL. The description does not show it: ask the operator of the
   * deployment.
   */
  readonly authorizationEndpoint: string;
  /**
   * Parameters besides those of the standards (RFC 6749 section 4.1.1; RFC 7636 section 4.3), for
   * instance `scope`.
   */
  readonly authorizationParameters?: Readonly<Record<string, string>> | undefined;
  /** If set, the callback must have this `iss` (RFC 9207). The description does not show it. */
  readonly issuer?: string | undefined;
  /**
   * It is sent only if set, since the description does not show whether a code exchange needs one.
   */
  readonly clientSecret?: string | undefined;
  /**
   * A path under the base URL, with a leading slash. The description does not show it. Default: the
   * token path.
   */
  readonly refreshPath?: string | undefined;
  /**
   * The fields of a refresh, which the description does not show. Default: those of RFC 6749
   * section 6, as JSON.
   */
  readonly refreshBody?: ((refreshToken: string) => Readonly<Record<string, unknown>>) | undefined;
  /**
   * Whether to send a refresh token again after its answer was lost. Set it for deployments that
   * accept a rotated token for a while. Elsewhere a second use looks like a theft and ends the
   * login. Default: false.
   */
  readonly resendLostRefresh?: boolean | undefined;
}

/** What a login needs in addition to a token request. */
export interface PreparedApiClient extends PreparedPersonCredential {
  readonly redirectUri: string | undefined;
  readonly authorizationEndpoint: string;
  readonly authorizationParameters: Readonly<Record<string, string>>;
  readonly issuer: string | undefined;
}

/**
 * The credential of a registered API client: a user logs in. It needs a code from a login, so pass
 * it to `beginLogin` and `completeLogin`, or to `createBackend`, not to `connect`.
 *
 * @throws ConfigurationError `option_invalid` at once for an unknown name; `credential_invalid`
 * before the first request
 * @see the description, sections 2.5, 4.2 and 5.8; RFC 6749 section 4.1
 * @example
 * const redirectUri = "https://portal.example/callback";
 * const credential = apiClient({ clientId: "portal", redirectUri, authorizationEndpoint });
 * const { url, login } = await beginLogin({ baseUrl, credential });
 */
export function apiClient(settings: Settings<ApiClientSettings>): PersonCredential<"B"> {
  const given = givenSettings("apiClient", settings, {
    ...settingNames,
    clientId: true,
    redirectUri: true,
    authorizationEndpoint: true,
    authorizationParameters: true,
    issuer: true,
    clientSecret: true,
    refreshPath: true,
    refreshBody: true,
    resendLostRefresh: true,
  });
  return personCredential("B", {
    callsFunction: typeof settings === "function",
    ...(typeof settings === "object" &&
      settings !== null && { check: () => requireValid(settings) }),
    async prepare(target, options): Promise<PreparedApiClient> {
      const read = await readSettings(given, target, "B");
      const redirectUri = read.redirectUri ?? options.redirectUri;
      const checked = requireValid({ ...read, redirectUri });
      const { clientId, clientSecret, issuer, authorizationEndpoint, refreshPath } = checked;
      const secrets = clientSecret === undefined ? [] : [clientSecret];
      // JSON leaves out a secret that is undefined.
      const ofClient = { client_id: clientId, client_secret: clientSecret };
      const tokenEndpoint = tokenEndpointOfB(target);
      const refreshUrl =
        refreshPath === undefined
          ? tokenEndpoint
          : urlUnderBase("refreshPath", refreshPath, target, "/v1/auth/refresh");
      const standardBody = (refresh_token: string) => {
        return { grant_type: "refresh_token", refresh_token, ...ofClient };
      };
      const loginPath = "/v1/auth/authorize";
      const likely = clientSecret === undefined ? missingSecret : wrongSecret;
      return {
        clientId,
        fingerprint: await fingerprintOf(clientId, clientSecret ?? ""),
        redirectUri,
        authorizationEndpoint: authorizationEndpoint.startsWith("/")
          ? urlUnderBase("authorizationEndpoint", authorizationEndpoint, target, loginPath)
          : authorizationEndpoint,
        authorizationParameters: withoutUndefined(checked.authorizationParameters ?? {}),
        issuer,
        resendLostRefresh: checked.resendLostRefresh === true,
        explain: (refusal) => explain(refusal, [clientId, ...secrets], likely),
        // Section 4.2 shows no grant_type.
        sendCode({ code, codeVerifier: code_verifier }, attempt) {
          const fields = { code, code_verifier, redirect_uri: redirectUri, ...ofClient };
          const known = [...secrets, code, code_verifier];
          return sendJson(tokenEndpoint, JSON.stringify(fields), known, attempt);
        },
        refreshRequest(refreshToken) {
          const body = serializedBody(checked.refreshBody ?? standardBody, refreshToken);
          return (attempt) => sendJson(refreshUrl, body, [...secrets, refreshToken], attempt);
        },
      };
    },
  });
}

/** @throws ConfigurationError `credential_invalid` */
function serializedBody(
  makeFields: (refreshToken: string) => unknown,
  refreshToken: string,
): string {
  try {
    const fields = makeFields(refreshToken);
    // JSON writes a Map or URLSearchParams as `{}`.
    if (isPlain(fields)) return JSON.stringify(fields);
  } catch (cause) {
    const problem = "failed, so no refresh token was sent; see the cause";
    throw invalid("refreshBody", problem, cause, [refreshToken]);
  }
  throw invalid("refreshBody", "must return an object with the fields to send");
}

/**
 * The parameters that `beginLogin` generates itself, since the checks of the callback depend on
 * them.
 */
const reservedParameters =
  "response_type client_id redirect_uri state code_challenge code_challenge_method".split(" ");

function requireValid(settings: ApiClientSettings): ApiClientSettings {
  const {
    redirectUri,
    authorizationEndpoint,
    authorizationParameters = {},
    refreshBody,
    resendLostRefresh = false,
  } = settings;
  if (authorizationEndpoint === undefined)
    throw invalid(
      "authorizationEndpoint",
      "is missing. Ask the operator: the description does not show it",
    );
  for (const name of ["clientId", "authorizationEndpoint"] as const)
    requireText(settings[name], name, "B");
  for (const name of ["redirectUri", "clientSecret", "issuer"] as const)
    if (settings[name] !== undefined) requireText(settings[name], name, "B");
  // RFC 6749 section 3.1.2 demands this. Any scheme is allowed, since native apps use their own.
  if (redirectUri !== undefined && (!URL.canParse(redirectUri) || redirectUri.includes("#")))
    throw invalid("redirectUri", "must be an absolute URL without a fragment");
  const isPath = authorizationEndpoint.startsWith("/");
  if (authorizationEndpoint.includes("#") || !(isPath || URL.canParse(authorizationEndpoint)))
    throw invalid(
      "authorizationEndpoint",
      "must be a URL or a path under the base URL, without a fragment",
    );
  if (!isPath && !isSecure(new URL(authorizationEndpoint)))
    throw invalid("authorizationEndpoint", "must use https, or be on this machine");
  if (!isPlain(authorizationParameters))
    throw invalid("authorizationParameters", "must be an object");
  for (const [name, value] of Object.entries(authorizationParameters) as [string, unknown][]) {
    if (value !== undefined && typeof value !== "string")
      throw invalid("authorizationParameters", `must have a string under ${JSON.stringify(name)}`);
    if (reservedParameters.includes(name))
      throw invalid(
        "authorizationParameters",
        `must not contain ${name}, which the login generates`,
      );
  }
  if (refreshBody !== undefined && typeof refreshBody !== "function")
    throw invalid("refreshBody", "must be a function");
  if (typeof resendLostRefresh !== "boolean")
    throw invalid("resendLostRefresh", "must be true or false");
  return settings;
}

function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

function urlUnderBase(option: string, path: string, { baseUrl }: Target, example: string): string {
  const url = typeof path === "string" && path.startsWith("/") ? baseUrl + path : undefined;
  if (url === undefined || !URL.canParse(url) || !isUnderBase(new URL(url), baseUrl))
    throw invalid(option, `must be a path under the base URL, such as ${example}`);
  return url;
}

/**
 * Assumes the errors of RFC 6749 section 5.2, since the description does not show those of Variant
 * B.
 */
function explain(
  { error, status, grant }: Refusal,
  [clientId, secret]: readonly string[],
  likely: Omit<Cause, "evidence">,
): readonly Cause[] {
  // A code may be spent or expired. A machine's request has no code, so the client must be the
  // reason of its refusal.
  const isOfCode = grant === "authorization_code" && (error !== undefined || status !== 401);
  if (isOfCode && !clientErrors.has(error)) return [];
  const evidence =
    `${error ?? status} for ${clientId}, interpreted by RFC 6749 section 5.2: ` +
    "the description does not show Variant B's errors.";
  const isPadded = [clientId, secret].some((one) => one !== one?.trim());
  return [{ ...likely, evidence, remedy: (isPadded ? trim : "") + likely.remedy }];
}

const trim =
  "White space surrounds clientId or clientSecret, such as the line break of a file: trim it. ";
const wrongAccount = {
  id: "client_secret_mismatch",
  summary:
    "The client id or the client secret does not belong to a service account of this deployment",
  remedy: "Compare the client id, and make a new secret, in the admin area under Service accounts.",
};
const wrongSecret = {
  id: "client_secret_mismatch",
  summary: "The client secret does not belong to this API client, or the API client has no secret",
  remedy:
    "Compare both in the admin area under API clients. " +
    "Leave clientSecret out for a client without one; that of a service account is not valid here.",
};
const missingSecret = {
  id: "client_secret_missing",
  summary: "The API client has a secret, or no API client has this id",
  remedy:
    "Compare the client id in the admin area under API clients. " +
    "Pass its clientSecret if it has one.",
};

function invalid(
  option: string,
  problem: string,
  cause?: unknown,
  known: string[] = [],
): ConfigurationError {
  return credentialInvalid(`${option} ${problem}.`, { option, variant: "B", cause, known });
}
