// Variant B's authorization endpoint: the request, the login in progress, the person's decision,
// and the callback.
import { z } from "zod";
import { EmulatorError, parseInput } from "../errors.js";
import { AUTHORIZATION_PATH } from "../http/paths.js";
import { isCodeChallenge, repeatedParameter, wrongScope } from "../oauth.js";
import { type Flow, recordAuthorization, recordCallback } from "../records/flow.js";
import type { ApiClient } from "../registrations/clients.js";
import { isSameRedirectUri } from "../registrations/fields.js";
import { isPasswordOf, type Operator } from "../registrations/operators.js";
import { type Checks, firstRefusal, type Refusal, refusalError, unless } from "../rules/checks.js";
import { shown, shownUri } from "../rules/shown.js";
import { emulatorRules, type RuleId } from "../rules.js";
import type { AuthorizationRequest, Deployment } from "../state/deployment.js";

/**
 * A number of characters. It is limited because anyone can begin a login, and its request is
 * stored.
 */
const MAXIMUM_QUERY_LENGTH = 4096;

/** The place for the answer once client and redirect URI are known to be right. */
type Callback = Pick<AuthorizationRequest, "client" | "redirectUri" | "state">;

/** `callback` is absent if the answer must not go to the client (RFC 6749 section 4.1.2.1). */
type RefusedAuthorization = Refusal & { readonly callback?: Callback };

/** The checks that come before client and redirect URI are known. */
const queryChecks: Checks<URLSearchParams> = {
  "authorization.length"(parameters) {
    const { length } = String(parameters);
    return unless(
      length <= MAXIMUM_QUERY_LENGTH,
      `at most ${MAXIMUM_QUERY_LENGTH} characters`,
      `${length}`,
    );
  },
  "authorization.duplicate-parameter": repeatedParameter,
};

interface ReceivedRequest {
  readonly client: ApiClient;
  readonly read: (name: string) => string | undefined;
}

/** The client receives these errors, because its redirect URI is known to be right. */
const requestChecks: Checks<ReceivedRequest> = {
  "authorization.response-type": ({ read }) =>
    unless(read("response_type") === "code", "code", shown(read("response_type"))),
  "authorization.challenge-method": ({ read }) =>
    unless(read("code_challenge_method") === "S256", "S256", shown(read("code_challenge_method"))),
  "authorization.challenge"({ read }) {
    const challenge = read("code_challenge");
    const actual = challenge === undefined ? "absent" : "another string";
    return unless(isCodeChallenge(challenge), "43 characters of base64url", actual);
  },
  "authorization.scope": ({ client, read }) => wrongScope(read("scope"), client.scopes),
};

export function readAuthorizationRequest(
  { apiClients, switches }: Deployment,
  parameters: URLSearchParams,
): AuthorizationRequest | RefusedAuthorization {
  const malformed = firstRefusal(switches, queryChecks, parameters);
  if (malformed !== undefined) return malformed;
  // RFC 6749 section 3.1: "Parameters sent without a value MUST be treated as if they were
  // omitted".
  const read = (name: string) => parameters.get(name) || undefined;
  const client = apiClients.find(read("client_id") ?? "");
  if (client === undefined) {
    // It is not quoted, because a caller that swaps two settings sends the secret as client_id.
    const actual =
      read("client_id") === undefined ? "absent" : "a client_id that is not registered";
    return { rule: "authorization.client", expected: "a registered API client", actual };
  }
  const redirectUri = read("redirect_uri");
  if (
    redirectUri === undefined ||
    !client.redirectUris.some((uri) => isSameRedirectUri(uri, redirectUri))
  ) {
    const expected = `one of ${client.redirectUris.map(shown).join(", ")}`;
    return { rule: "authorization.redirect-uri", expected, actual: shownUri(redirectUri) };
  }
  const callback = { client, redirectUri, state: read("state") };
  const refusal = firstRefusal(switches, requestChecks, { client, read });
  if (refusal !== undefined) return { ...refusal, callback };
  const requested = read("scope")?.split(" ");
  const scopes = requested ? new Set(requested) : client.scopes;
  return { ...callback, codeChallenge: read("code_challenge") ?? "", scopes };
}

/**
 * Logs a refused request. Returns the callback with the error, or undefined if only the person may
 * see it.
 */
export function refuseAuthorization(
  deployment: Deployment,
  flow: Flow,
  refused: RefusedAuthorization,
): string | undefined {
  const { rule, callback } = refused;
  deployment.customerLog.record(callback?.client ?? {}, refused);
  if (callback === undefined) return undefined;
  const url = refusedCallback(deployment, callback, rule);
  recordCallback(deployment, flow, url, { rule });
  return url;
}

/** The description does not show this lifetime. */
const PENDING_LIFETIME_MS = 600_000;
/**
 * Returns the id of the login, which is of no use without the session of the browser that began it.
 */
export function beginPending(
  { clock, pendingLogins }: Deployment,
  request: AuthorizationRequest,
): string {
  const expiresAt = clock() + PENDING_LIFETIME_MS;
  return pendingLogins.mint({ request, isDecided: false, expiresAt });
}

export function findPending(
  { clock, pendingLogins, switches }: Deployment,
  id: string,
): AuthorizationRequest | Refusal {
  const pending = pendingLogins.find(id);
  const isOpen = pending !== undefined && !pending.isDecided && clock() < pending.expiresAt;
  if (pending !== undefined && (isOpen || !switches.isEnforced("login.pending")))
    return pending.request;
  const late = pending?.isDecided ? "one that was decided" : "one that is too old";
  const actual = pending === undefined ? "an unknown one" : late;
  return { rule: "login.pending", expected: "a login in progress", actual };
}

/**
 * The person named in the login form. The tenant may be left out if only one tenant has the user
 * id.
 */
export type ClaimedPerson = Pick<LoginRequest, "tenantId" | "userId">;

export function findPerson(
  { operators }: Deployment,
  client: ApiClient,
  { tenantId, userId }: ClaimedPerson,
): Operator | Refusal {
  const isClaimed = (operator: Operator) =>
    operator.userId === userId && operator.tenantId === (tenantId ?? operator.tenantId);
  const [person, second] = operators.list(client.tenantId).filter(isClaimed);
  if (person !== undefined && second === undefined) return person;
  const expected = `an operator of ${client.tenantId === undefined ? "one tenant" : shown(client.tenantId)}`;
  const actual = person === undefined ? "no such operator" : "one in each of several tenants";
  return { rule: "login.credentials", expected, actual };
}

export function authenticatePerson(
  deployment: Deployment,
  client: ApiClient,
  claimed: ClaimedPerson,
  password: string,
): Operator | Refusal {
  const person = findPerson(deployment, client, claimed);
  if ("rule" in person || isPasswordOf(person, password)) return person;
  const finding = { expected: "the operator's password", actual: "another password" };
  return deployment.switches.refusal("login.credentials", finding) ?? person;
}

/**
 * Returns the URL that the browser is sent to, with a code (RFC 6749 section 4.1.2) if the person
 * allowed it.
 */
export function decide(
  deployment: Deployment,
  request: AuthorizationRequest,
  decision: "allow" | "deny",
  person: Operator | undefined,
): string {
  const { authorizationCodes, clock, customerLog, settings, switches } = deployment;
  const { client, redirectUri, codeChallenge, scopes } = request;
  const { clientId } = client;
  if (person !== undefined && (decision === "allow" || !switches.isEnforced("login.consent"))) {
    const { tenantId, userId } = person;
    const expiresAt = clock() + settings.codeLifetimeSeconds * 1000;
    const bound = { tenantId, userId, clientId, redirectUri, codeChallenge, scopes, expiresAt };
    return callbackUrl(deployment, request, { code: authorizationCodes.mint(bound) });
  }
  const caller = { tenantId: person?.tenantId ?? client.tenantId, clientId };
  const finding = { expected: "the person's consent", actual: "the person refused" };
  customerLog.record(caller, { rule: "login.consent", ...finding });
  return refusedCallback(deployment, request, "login.consent");
}

/**
 * Returns the callback with an error, for a broken rule or a refusal by the person (section
 * 4.1.2.1).
 */
function refusedCallback(deployment: Deployment, callback: Callback, rule: RuleId): string {
  const { answer, says } = emulatorRules[rule];
  return callbackUrl(deployment, callback, { error: answer.error ?? "", error_description: says });
}

function callbackUrl(
  { settings, publicUrl }: Deployment,
  { redirectUri, state }: Callback,
  answer: Readonly<Record<string, string>>,
): string {
  const parameters = new URLSearchParams(answer);
  if (state !== undefined) parameters.set("state", state);
  // RFC 9207 section 2 defines iss.
  if (settings.issuerInCallback) parameters.set("iss", publicUrl());
  // URL would rewrite the query, but it must be retained (RFC 6749 section 3.1.2), and a client may
  // compare it.
  const joint = redirectUri.includes("?") ? (/[?&]$/.test(redirectUri) ? "" : "&") : "?";
  // A header may hold only ASCII (RFC 9110 section 5.5), so URL escapes all other characters.
  const ascii = /^[\x21-\x7e]*$/.test(redirectUri) ? redirectUri : new URL(redirectUri).href;
  return ascii + joint + parameters;
}

/** A login without a browser: the URL, the person and their decision. */
export interface LoginRequest {
  /** The URL of the authorization endpoint to which the app sends the person. */
  readonly url: string;
  readonly userId: string;
  /** Needed if operators of several tenants have the user id. */
  readonly tenantId?: string | undefined;
  /** Default: "allow". */
  readonly decision?: "allow" | "deny" | undefined;
}

/**
 * Implements `Emulator.login`. An error for the app is not thrown but is in the callback, in place
 * of `code`.
 */
export function loginInProcess(deployment: Deployment, input: unknown): { callbackUrl: string } {
  const { customerLog, publicUrl } = deployment;
  const base = `${publicUrl()}/`;
  const schema = z.strictObject({
    url: z.string().refine((url) => URL.canParse(url, base), "must be a URL"),
    userId: z.string(),
    tenantId: z.string().optional(),
    decision: z.enum(["allow", "deny"]).default("allow"),
  });
  const login = parseInput(schema, input, "login");
  const url = new URL(login.url, base);
  if (!url.pathname.endsWith(AUTHORIZATION_PATH)) {
    const message = `the URL is not the authorization endpoint ${AUTHORIZATION_PATH}`;
    throw new EmulatorError("login_refused", message);
  }
  const refused = (refusal: Refusal) =>
    refusalError("login_refused", "the page refuses the login", refusal);
  const read = readAuthorizationRequest(deployment, url.searchParams);
  const flow = recordAuthorization(deployment, url.searchParams, read);
  if ("rule" in read) {
    const callbackUrl = refuseAuthorization(deployment, flow, read);
    if (callbackUrl === undefined) throw refused(read);
    return { callbackUrl };
  }
  const person = findPerson(deployment, read.client, login);
  if ("rule" in person) {
    const caller = { tenantId: login.tenantId, clientId: read.client.clientId };
    customerLog.record(caller, person);
    throw refused(person);
  }
  const { decision } = login;
  const callbackUrl = decide(deployment, read, decision, person);
  recordCallback(deployment, flow, callbackUrl, { decision, person });
  return { callbackUrl };
}
