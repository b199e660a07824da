// The steps of a launch: the host application's page, the plugin's page, and the messages between them.
import type { Deployment } from "../deployment.js";
import type { LaunchAnswer, LaunchIdentity } from "../host/launch.js";
import type { JsonAnswer } from "../http/json-answer.js";
import type { SignedIn } from "../pages/browser-session.js";
import type { Refusal } from "../refusal.js";
import { isSameRedirectUri } from "../registrations/redirect-uri.js";
import { scopeSchema } from "../registrations/scope.js";
import type { RuleId } from "../rules.js";
import type { MalformedRequest, TokenRequest } from "../variant-a/read-token-request.js";
import type { AuthorizationRequest, RefusedAuthorization } from "../variant-b/authorization-request.js";
import type { ClaimedPerson } from "../variant-b/login.js";
import type { ClientRequest } from "../variant-b/read-client-request.js";
import type { OpenFlow } from "./flow-record.js";

/** Begins a flow, from the host's page or without one. */
export function recordLaunch(
  { flows, clock, plugins, operators }: Deployment,
  { tenantId, clientId, userId }: LaunchIdentity,
  opened: { readonly url: string; readonly opaqueCode: string } | Refusal,
  from: "page" | "process",
): void {
  const at = clock();
  const plugin = plugins.find(tenantId, clientId);
  const operator = operators.find(tenantId, userId);
  const registered = plugin?.tenantId ?? operator?.tenantId;
  const flow = flows.begin("launch", {
    tenantId: registered,
    clientId: plugin?.clientId,
    userId: operator?.userId,
  });
  const loadedAt = flows.pageLoadedAt({ tenantId, userId });
  if (from === "page") {
    const loaded = {
      at: loadedAt ?? at,
      from: "front",
      to: "browser",
      fields: { tenantId, userId },
    } as const;
    flow.add({ ...loaded, name: "Host page loaded" });
    flow.add({ at, name: "Plugin chosen", from: "browser", to: "front", fields: { clientId } });
  }
  const way = { at, from: "front", to: "browser" } as const;
  if ("rule" in opened) {
    flow.add({ ...way, name: "Launch refused", fields: {}, refused: opened.rule });
    return;
  }
  const { opaque_code, state } = Object.fromEntries(new URL(opened.url).searchParams);
  flow.add({ ...way, name: "Plugin launched", fields: { opaque_code, state } }, opened.opaqueCode);
}

/** The page's message and the host's. */
export function recordAuthCode(
  { flows, clock }: Deployment,
  asked: { readonly opaqueCode: unknown; readonly codeChallenge: unknown },
  answer: LaunchAnswer | Refusal,
): void {
  const flow = flows.find(asked.opaqueCode);
  const at = clock();
  const fields = { challenge: asked.codeChallenge, opaque_code: asked.opaqueCode };
  flow?.add({ at, name: "plugin:pkce-init", from: "browser", to: "front", fields });
  const way = { at, from: "front", to: "browser" } as const;
  if ("rule" in answer) {
    flow?.add({ ...way, name: "Code refused", fields: {}, refused: answer.rule });
    return;
  }
  const { code, state, tenantId } = answer;
  const name = answer.posts === undefined ? "host:auth-code" : `host:auth-code, posted ${answer.posts} times`;
  flow?.add({ ...way, name, fields: { code, state, tenantId } }, code);
}

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

/** Hands on the answer once it is recorded. */
type Answered = (answer: JsonAnswer, refused?: RuleId) => JsonAnswer;

/** What belongs to no flow is not looked at. */
export function recordTokenRequest(
  { flows, clock }: Deployment,
  read: TokenRequest | ClientRequest | MalformedRequest | Refusal,
): Answered {
  const code = "code" in read ? read.code : undefined;
  const flow = flows.find(code ?? ("refreshToken" in read ? read.refreshToken : undefined));
  if (flow === undefined) return (answer) => answer;
  const name = code === undefined ? "Refresh" : "Code exchange";
  flow.add({ at: clock(), name, from: "client", to: "token", fields: wireFields(read) });
  return (answer, refused) => {
    const fields = JSON.parse(answer.body) as Readonly<Record<string, unknown>>;
    const { error, error_description, refresh_token } = fields as Readonly<Record<string, string>>;
    flow.know(error, error_description);
    const verdict = refused === undefined ? "Token response" : "Refused";
    const step = { at: clock(), name: `${verdict}, ${answer.status}`, from: "token", to: "client" } as const;
    flow.add({ ...step, fields, ...(refused !== undefined && { refused }) }, refresh_token);
    return answer;
  };
}

/** By their names on the wire: Variant B's code exchange has no grant_type (description, section 4.2). */
function wireFields({ ...read }: object): Record<string, unknown> {
  const named = Object.entries(read).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value,
  ]);
  const { grant, ...fields } = Object.fromEntries(named) as Record<string, unknown>;
  return grant === "refresh_token" ? { grant_type: grant, ...fields } : fields;
}
