// The steps of a launch (description, section 5.3) and of a login (section 5.8), up to the token endpoint.

import type { Refusal } from "../checks.js";
import type { JsonAnswer } from "../http/messages.js";
import { isSameRedirectUri, scopeSchema } from "../registrations/fields.js";
import type { RuleId } from "../rules.js";
import type { AuthorizationRequest, Deployment, LaunchIdentity, SignedIn } from "../state.js";
import type { OpenFlow } from "./flow-record.js";

const TO_FRONT = { from: "browser", to: "front" } as const;
const TO_BROWSER = { from: "front", to: "browser" } as const;
const TO_CLIENT = { from: "front", to: "client" } as const;

/** Begins a flow with a launch from the host's page or by `emulator.launch` ("process"). */
export function recordLaunch(
  { flows, clock, plugins, operators }: Deployment,
  { tenantId, clientId, userId }: LaunchIdentity,
  opened: { readonly url: string; readonly opaqueCode: string } | Refusal,
  from: "page" | "process",
): void {
  const at = clock();
  const plugin = plugins.find(tenantId, clientId);
  const operator = operators.find(tenantId, userId);
  const flow = flows.begin("launch", {
    tenantId: plugin?.tenantId ?? operator?.tenantId,
    clientId: plugin?.clientId,
    userId: operator?.userId,
  });
  if (from === "page") {
    const loadedAt = flows.pageLoadedAt({ tenantId, userId }) ?? at;
    flow.add({ ...TO_BROWSER, at: loadedAt, name: "Host page loaded", fields: { tenantId, userId } });
    flow.add({ ...TO_FRONT, at, name: "Plugin chosen", fields: { clientId } });
  }
  if ("rule" in opened) {
    flow.add({ ...TO_BROWSER, at, name: "Launch refused", refused: opened.rule });
    return;
  }
  const { opaque_code, state } = Object.fromEntries(new URL(opened.url).searchParams);
  const fields = { opaque_code, state };
  flow.add({ ...TO_BROWSER, at, name: "Plugin launched", fields }, opened.opaqueCode);
}

/** The message of the plugin's page and the host's answer. */
export function recordAuthCode(
  { flows, clock }: Deployment,
  asked: { readonly opaqueCode: unknown; readonly codeChallenge: unknown },
  answer:
    | { readonly code: string; readonly state: string; readonly tenantId: string; readonly posts?: number }
    | Refusal,
): void {
  const flow = flows.find(asked.opaqueCode);
  const at = clock();
  const sent = { challenge: asked.codeChallenge, opaque_code: asked.opaqueCode };
  flow?.add({ ...TO_FRONT, at, name: "plugin:pkce-init", fields: sent });
  if ("rule" in answer) {
    flow?.add({ ...TO_BROWSER, at, name: "Code refused", refused: answer.rule });
    return;
  }
  const { code, state, tenantId, posts } = answer;
  const name = posts === undefined ? "host:auth-code" : `host:auth-code, posted ${posts} times`;
  flow?.add({ ...TO_BROWSER, at, name, fields: { code, state, tenantId } }, code);
}

/** RFC 6749 section 4.1.1 and RFC 7636 section 4.3. Other parameters are not recorded. */
const AUTHORIZATION_PARAMETERS = [
  "response_type",
  "client_id",
  "redirect_uri",
  "scope",
  "state",
  "code_challenge",
  "code_challenge_method",
];

/** Begins a flow with an authorization request; `id` identifies the pending login, if pages follow. */
export function recordAuthorization(
  { flows, clock }: Deployment,
  parameters: URLSearchParams,
  read:
    | AuthorizationRequest
    | { readonly refusal: Refusal; readonly callback?: Pick<AuthorizationRequest, "client"> },
  id?: string,
): OpenFlow {
  const isRefused = "refusal" in read;
  const client = isRefused ? read.callback?.client : read.client;
  const flow = flows.begin("login", { tenantId: client?.tenantId, clientId: client?.clientId });
  flow.publish(...publicParameters(parameters, client?.redirectUris ?? []));
  const at = clock();
  const fields = pick(parameters, AUTHORIZATION_PARAMETERS);
  flow.add({ ...TO_FRONT, at, name: "Authorization request", fields }, id);
  if (isRefused && read.callback === undefined) {
    flow.add({ ...TO_BROWSER, at, name: "Error page", refused: read.refusal.rule });
  }
  return flow;
}

/** A registered redirect URI and well-formed scopes: other values may be secrets in the wrong field. */
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
  { tenantId, userId }: { readonly tenantId?: string | undefined; readonly userId: string },
  password: string | undefined,
  person: SignedIn | Refusal,
): void {
  const flow = flows.find(id);
  const at = clock();
  const isRefused = "rule" in person;
  if (!isRefused) flow?.identify({ tenantId: person.tenantId, userId: person.userId });
  flow?.add({ ...TO_FRONT, at, name: "Login", fields: { tenantId, userId, password } });
  if (isRefused) flow?.add({ ...TO_BROWSER, at, name: "Login page again", refused: person.rule });
}

/** The redirect to the client, after the person's decision if there was one. */
export function recordCallback(
  { clock, publicUrl }: Deployment,
  flow: OpenFlow | undefined,
  callbackUrl: string,
  outcome: {
    readonly person?: SignedIn | undefined;
    readonly decision?: "allow" | "deny";
    readonly rule?: RuleId;
  },
): void {
  const at = clock();
  const { person, decision, rule = "login.consent" } = outcome;
  if (person !== undefined) flow?.identify({ tenantId: person.tenantId, userId: person.userId });
  if (decision !== undefined) flow?.add({ ...TO_FRONT, at, name: "Consent", fields: { decision } });
  const fields = pick(new URL(callbackUrl).searchParams, [
    "code",
    "state",
    "iss",
    "error",
    "error_description",
  ]);
  flow?.publish(fields.error, fields.error_description, publicUrl());
  const refused = fields.code === undefined ? rule : undefined;
  flow?.add({ ...TO_CLIENT, at, name: "Callback", fields, refused }, fields.code);
}

/** Records a token request that belongs to the open flow; the returned function records the answer and returns it. */
export function recordTokenRequest(
  { flows, clock }: Deployment,
  read: object,
): (answer: JsonAnswer, refused?: RuleId) => JsonAnswer {
  const code = "code" in read ? read.code : undefined;
  const flow = flows.find(code ?? ("refresh_token" in read ? read.refresh_token : undefined));
  if (flow === undefined) return (answer) => answer;
  const name = code === undefined ? "Refresh" : "Code exchange";
  flow.add({ at: clock(), name, from: "client", to: "token", fields: wireFields({ ...read }) });
  return (answer, refused) => {
    const fields = JSON.parse(answer.body) as Readonly<Record<string, string>>;
    flow.publish(fields.error, fields.error_description);
    const verdict = refused === undefined ? "Token response" : "Refused";
    const step = { at: clock(), name: `${verdict}, ${answer.status}`, from: "token", to: "client" } as const;
    flow.add({ ...step, fields, refused }, fields.refresh_token);
    return answer;
  };
}

/** The fields as they were sent: Variant B's code exchange has no grant_type (section 4.2). */
function wireFields({ grant, ...fields }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return grant === "refresh_token" ? { grant_type: grant, ...fields } : fields;
}

function pick(parameters: URLSearchParams, names: readonly string[]): Record<string, string | undefined> {
  return Object.fromEntries(names.map((name) => [name, parameters.get(name) ?? undefined]));
}
