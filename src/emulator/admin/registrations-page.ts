// A page for each kind of record: its registrations, and forms that register, change and unregister one.
import { createHash } from "node:crypto";
import { html } from "hono/html";
import type { z } from "zod";
import type { Markup } from "../pages/page.js";
import {
  type ApiClient,
  apiClientSchema,
  apiClientUpdateSchema,
  type ServiceAccount,
  serviceAccountSchema,
  serviceAccountUpdateSchema,
} from "../registrations/clients.js";
import type { RegisteredKey } from "../registrations/keys.js";
import { displayName, type Operator, operatorSchema } from "../registrations/operators.js";
import { type Plugin, pluginSchema, pluginUpdateSchema } from "../registrations/plugins.js";
import type { Deployment } from "../state.js";
import { confirmation, foldedForm, formId, outcomePlace } from "./form.js";
import { readSchemaFields, schemaFields } from "./schema-form.js";
import {
  type AdminAction,
  type AdminPage,
  type AdminView,
  facts,
  type RecordNoun,
  type RecordVerb,
} from "./view.js";

interface RecordKind<Item> {
  readonly path: string;
  readonly title: string;
  readonly one: string;
  /** Completes the names of the emulator's methods, as in registerPlugin. */
  readonly noun: RecordNoun;
  /** When a change takes effect. */
  readonly note: string;
  readonly unregistering: string;
  /** The members that identify a record. */
  readonly identity: readonly string[];
  readonly schema: z.ZodType;
  readonly update: z.ZodType;
  readonly hints: Readonly<Record<string, string>>;
  list(deployment: Deployment): readonly Item[];
  heading(item: Item): string;
  /** The members of a registration, without secrets; null for a member that is not set. */
  values(item: Item): Readonly<Record<string, unknown>>;
  /** What else is shown. */
  more(item: Item): Readonly<Record<string, string | Markup>>;
}

const SCOPES = "Each is area:read, area:write or area:execute.";
const ROLES = 'As [{"name": …, "group": …}].';

const plugins: RecordKind<Plugin> = {
  path: "/plugins",
  title: "Plugins",
  one: "plugin",
  noun: "Plugin",
  note: "A change takes effect with the next request, also for tokens already issued; a narrowing after narrowingDelayMs. A plugin without jwks gets a test key.",
  unregistering:
    "Its token requests and its tokens are refused from the next request on. Its tokens, launches and codes stay refused if it is registered again.",
  identity: ["tenantId", "clientId"],
  schema: pluginSchema,
  update: pluginUpdateSchema,
  hints: {
    jwks: 'As {"keys": [ … ]}, RSA of 2048 bits or more.',
    scopes: SCOPES,
    devices: "Without a list: every device.",
    pageUrl: "User-interface plugins only.",
    roles: ROLES,
  },
  list: (deployment) => deployment.plugins.list(),
  heading: ({ name }) => name,
  values: ({ tenantId, clientId, type, enabled, name, pageUrl, roles, grant }) => ({
    ...{ tenantId, clientId, type, enabled, name, pageUrl, roles },
    ...{ scopes: [...grant.scopes], devices: grant.devices ? [...grant.devices] : null },
  }),
  more: ({ keys }) => ({ keys: html`${keys.map(keyLine)}` }),
};

const serviceAccounts: RecordKind<ServiceAccount> = {
  path: "/accounts",
  title: "Service accounts",
  one: "service account",
  noun: "ServiceAccount",
  note: "A secret takes effect with the next request, scopes with the next token.",
  unregistering: "Its secret is refused from the next request on, and its tokens are revoked for good.",
  identity: ["tenantId", "clientId"],
  schema: serviceAccountSchema,
  update: serviceAccountUpdateSchema,
  hints: { scopes: `${SCOPES} Without a list: every route of Variant B.` },
  list: (deployment) => deployment.serviceAccounts.list(),
  heading: ({ clientId }) => clientId,
  values: ({ tenantId, clientId, scopes }) => ({ tenantId, clientId, scopes: scopes ? [...scopes] : null }),
  more: () => ({ clientSecret: "set" }),
};

const apiClients: RecordKind<ApiClient> = {
  path: "/clients",
  title: "API clients",
  one: "API client",
  noun: "ApiClient",
  note: "A secret takes effect with the next request; everything else with the next login.",
  unregistering:
    "It is unknown from the next request on. All consent given to it is revoked for good, with its tokens, and logins in progress end.",
  identity: ["clientId"],
  schema: apiClientSchema,
  update: apiClientUpdateSchema,
  hints: {
    clientSecret: "Without a secret: a public client.",
    scopes: `${SCOPES} Without a list: whatever the person has.`,
    tenantId: "Without one: the people of every tenant.",
  },
  list: (deployment) => deployment.apiClients.list(),
  heading: ({ name }) => name,
  values: ({ clientId, name, tenantId = null, redirectUris, scopes, secretDigest }) => ({
    ...{ clientId, name, tenantId, redirectUris, scopes: scopes ? [...scopes] : null },
    ...(secretDigest === undefined && { clientSecret: null }),
  }),
  more: ({ secretDigest }) => (secretDigest === undefined ? {} : { clientSecret: "set" }),
};

const operators: RecordKind<Operator> = {
  path: "/operators",
  title: "Operators",
  one: "operator",
  noun: "Operator",
  note: "Capabilities take effect with the next call: a token reaches nothing that its person cannot reach.",
  unregistering:
    "The person is signed out everywhere, and every token that acts for them is revoked for good.",
  identity: ["tenantId", "userId"],
  schema: operatorSchema,
  update: operatorSchema,
  hints: { capabilities: SCOPES, roles: ROLES },
  list: (deployment) => deployment.operators.list(),
  heading: displayName,
  values: ({ tenantId, userId, firstname, lastname, capabilities, roles }) => ({
    ...{ tenantId, userId, firstname, lastname, roles, capabilities: [...capabilities] },
  }),
  more: ({ passwordDigest }) => ({ password: passwordDigest === undefined ? "not set" : "set" }),
};

const kinds = [pageOf(plugins), pageOf(serviceAccounts), pageOf(apiClients), pageOf(operators)];

export const registrationPages: readonly AdminPage[] = kinds.map(({ page }) => page);
export const registrationActions: readonly AdminAction[] = kinds.flatMap(({ actions }) => actions);

/** The id of the place for the outcome of unregistering. */
const UNREGISTERED = "unregistered";

function pageOf<Item>(kind: RecordKind<Item>): { page: AdminPage; actions: AdminAction[] } {
  const { path, title, noun, identity, schema, update } = kind;
  const page = { path, title, body: (view: AdminView) => body(view, kind) };
  const namesOf = (fields: URLSearchParams) =>
    Object.fromEntries(identity.map((name) => [name, fields.get(name) ?? ""]));
  const action = (
    verb: RecordVerb,
    read: (fields: URLSearchParams) => Record<string, unknown>,
  ): AdminAction => ({
    path: `${path}/${verb}`,
    page,
    // The emulator checks the input itself.
    act: ({ emulator }, fields) => emulator[`${verb}${noun}`](read(fields) as never),
  });
  const actions = [
    action("register", (fields) => readSchemaFields(fields, { schema, omit: [] })),
    action("update", (fields) => ({
      ...readSchemaFields(fields, { schema: update, omit: identity }),
      ...namesOf(fields),
    })),
    action("unregister", namesOf),
  ];
  return { page, actions };
}

function body<Item>(view: AdminView, kind: RecordKind<Item>): Markup {
  const { path, one, note, schema, hints } = kind;
  const items = kind.list(view.deployment);
  const id = "register";
  const fields = schemaFields(view, { form: id, schema, omit: [], hints });
  const content = html`${fields}<button class="primary">Register</button>`;
  return html`<p>${note}</p>
<section class="panel">${foldedForm(view, `Register a new ${one}`, { id, action: `${path}/register`, content })}</section>
${outcomePlace(view, UNREGISTERED)}
${items.length === 0 ? html`<p class="quiet">No ${one} is registered.</p>` : items.map((item) => panel(view, kind, item))}`;
}

function panel<Item>(view: AdminView, kind: RecordKind<Item>, item: Item): Markup {
  const { path, identity, hints } = kind;
  const values = kind.values(item);
  const heading = kind.heading(item);
  const hidden = Object.fromEntries(identity.map((name) => [name, String(values[name])]));
  const id = (of: string) => formId(of, ...Object.values(hidden));
  const rows = Object.entries(values).filter(([, value]) => value !== undefined);
  const shown = Object.fromEntries(rows.map(([name, value]) => [name, shownValue(value)]));
  const update = { form: id("update"), schema: kind.update, omit: identity, values, hints };
  const content = html`${schemaFields(view, update)}<button>Save</button>`;
  return html`<section class="panel" aria-labelledby="${id("name")}">
<div class="row"><h2 id="${id("name")}">${heading}</h2>${values.enabled === false ? html`<span class="mark bad">disabled</span>` : ""}</div>
${facts({ ...shown, ...kind.more(item) })}
${foldedForm(view, "Change", { id: id("update"), action: `${path}/update`, hidden, content })}
${confirmation(view, {
  id: id("unregister"),
  action: `${path}/unregister`,
  hidden,
  place: UNREGISTERED,
  ask: "Unregister…",
  warning: kind.unregistering,
  button: `Yes, unregister ${heading}`,
})}</section>`;
}

function shownValue(value: unknown): string {
  if (value === null) return "not set";
  if (!Array.isArray(value)) return String(value);
  return value.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join(", ") || "none";
}

/** A key with its thumbprint (RFC 7638). */
function keyLine({ kid, publicKey }: RegisteredKey): Markup {
  const { e, kty, n } = publicKey.export({ format: "jwk" });
  const thumbprint = createHash("sha256").update(JSON.stringify({ e, kty, n })).digest("base64url");
  return html`<span class="key"><code>${kid ?? "no kid"}</code> <span class="quiet">SHA-256 <code>${thumbprint}</code></span></span>`;
}
