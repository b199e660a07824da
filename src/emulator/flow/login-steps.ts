// The steps of a login: the authorization request, what the person does, and the callback.
import type { Deployment } from "../deployment.js";
import type { SignedIn } from "../pages/browser-session.js";
import type { Refusal } from "../refusal.js";
import { isSameRedirectUri } from "../registrations/redirect-uri.js";
import { scopeSchema } from "../registrations/scope.js";
import type { RuleId } from "../rules.js";
import type { AuthorizationRequest, RefusedAuthorization } from "../variant-b/authorization-request.js";
import type { ClaimedPerson } from "../variant-b/login.js";
import type { OpenFlow } from "./flow-record.js";

/** RFC 6749 section 4.1.1 and RFC 7636 section 4.3; others are not looked at. */
const PARAMETERS = [
  "response_type",
  "client_id",
  "redirect_uri",
  "scope",
  "state",
  "code_challenge",
  "code_challenge_method",
];

/** Begins a flow; `id` is that of the login in progress, if pages follow. */
export function recordAuthorization(
  { flows, clock }: Deployment,
  parameters: URLSearchParams,
  read: AuthorizationRequest | RefusedAuthorization,
  id?: string,
): OpenFlow {
  const isRefused = "refusal" in read;
  const client = isRefused ? read.callback?.client : read.client;
  const flow = flows.begin("login", { tenantId: client?.tenantId, clientId: client?.clientId });
  flow.know(...publicParameters(parameters, client?.redirectUris ?? []));
  const at = clock();
  const fields = Object.fromEntries(PARAMETERS.map((name) => [name, parameters.get(name) ?? undefined]));
  flow.add({ at, name: "Authorization request", from: "browser", to: "front", fields }, id);
  if (isRefused && read.callback === undefined) {
    const page = { at, name: "Error page", from: "front", to: "browser", fields: {} } as const;
    flow.add({ ...page, refused: read.refusal.rule });
  }
  return flow;
}

/** A redirect URI that is registered, and what has the form of scopes. */
function publicParameters(parameters: URLSearchParams, registered: readonly string[]): string[] {
  const redirectUri = parameters.get("redirect_uri") ?? "";
  const scope = parameters.get("scope") ?? "";
  return [
    ...(registered.some((uri) => isSameRedirectUri(uri, redirectUri)) ? [redirectUri] : []),
    ...(scope.split(" ").every((name) => scopeSchema.safeParse(name).success) ? [scope] : []),
  ];
}

export function recordLogin(
  { flows, clock }: Deployment,
  id: string,
  { tenantId, userId }: ClaimedPerson,
  password: string | undefined,
  person: SignedIn | Refusal,
): void {
  const flow = flows.find(id);
  const at = clock();
  if (!("rule" in person)) flow?.identify({ tenantId: person.tenantId, userId: person.userId });
  const fields = { tenantId, userId, password };
  flow?.add({ at, name: "Login", from: "browser", to: "front", fields });
  if (!("rule" in person)) return;
  const page = { at, name: "Login page again", from: "front", to: "browser", fields: {} } as const;
  flow?.add({ ...page, refused: person.rule });
}

/** What the client is told; after the person's decision, if they were asked. */
export function recordCallback(
  { clock, publicUrl }: Deployment,
  flow: OpenFlow | undefined,
  callbackUrl: string,
  told: {
    readonly person?: SignedIn | undefined;
    readonly decision?: "allow" | "deny";
    readonly rule?: RuleId;
  },
): void {
  const at = clock();
  const { person, decision, rule = "login.consent" } = told;
  if (person !== undefined) flow?.identify({ tenantId: person.tenantId, userId: person.userId });
  if (decision !== undefined) {
    flow?.add({ at, name: "Consent", from: "browser", to: "front", fields: { decision } });
  }
  const parameters = new URL(callbackUrl).searchParams;
  const read = (name: string) => parameters.get(name) ?? undefined;
  const [error, error_description, code] = [read("error"), read("error_description"), read("code")];
  flow?.know(error, error_description, publicUrl());
  const fields = { code, state: read("state"), iss: read("iss"), error, error_description };
  const step = { at, name: "Callback", from: "front", to: "client", fields } as const;
  flow?.add(code === undefined ? { ...step, refused: rule } : step, code);
}
