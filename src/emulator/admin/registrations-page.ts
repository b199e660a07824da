// A page for each kind of record: its registrations, and forms that register, change and unregister one.
import { createHash } from "node:crypto";
import { html } from "hono/html";
import type { z } from "zod";
import type { Emulator } from "../emulator.js";
import type { Markup } from "../pages/page.js";
import { type ApiClient, apiClientSchema, apiClientUpdateSchema } from "../registrations/api-clients.js";
import type { RegisteredKey } from "../registrations/keys.js";
import { displayName, type Operator, operatorSchema } from "../registrations/operators.js";
import { type Plugin, pluginSchema, pluginUpdateSchema } from "../registrations/plugins.js";
import {
  type ServiceAccount,
  serviceAccountSchema,
  serviceAccountUpdateSchema,
} from "../registrations/service-accounts.js";
import type { Deployment } from "../state.js";
import { confirmation, foldedForm, formId, outcomePlace } from "./form.js";
import { readSchemaFields, schemaFields } from "./schema-form.js";
import { type AdminAction, type AdminPage, type AdminView, facts } from "./view.js";

interface RecordKind<Item> {
  readonly path: string;
  readonly title: string;
  readonly one: string;
  /** When a change takes effect. */
  readonly note: string;
  readonly unregistering: string;
  /** The members that name a record. */
  readonly identity: readonly string[];
  readonly schema: z.ZodType;
  readonly update: z.ZodType;
  readonly hints: Readonly<Record<string, string>>;
  list(deployment: Deployment): readonly Item[];
  heading(item: Item): string;
  mark?(item: Item): Markup;
  facts(item: Item): Readonly<Record<string, string | Markup>>;
  /** The current values of the members that an update takes, secrets left out. */
  values(item: Item): Readonly<Record<string, unknown>>;
  act(emulator: Emulator): Readonly<Record<"register" | "update" | "unregister", (input: never) => void>>;
}

const SCOPES = "Each is area:read, area:write or area:execute.";
const JWKS = 'Replaces all keys: {"keys": [ … ]}, RSA, at least 2048 bits.';

const plugins: RecordKind<Plugin> = {
  path: "/plugins",
  title: "Plugins",
  one: "plugin",
  note: "A change takes effect with the next request, also for tokens already issued; a narrowing after narrowingDelayMs.",
  unregistering:
    "Its token requests and its tokens are refused from the next request on. Its tokens, launches and codes stay refused if it is registered again.",
  identity: ["tenantId", "clientId"],
  schema: pluginSchema,
  update: pluginUpdateSchema,
  hints: {
    jwks: `${JWKS} Empty: unchanged; for a new plugin the emulator makes a key.`,
    scopes: SCOPES,
    devices: "Without a list: every device.",
    pageUrl: "User-interface plugins only.",
    roles: 'As [{"name": …, "group": …}].',
  },
  list: (deployment) => deployment.plugins.list(),
  heading: ({ name }) => name,
  mark: ({ enabled }) =>
    html`<span class="mark ${enabled ? "good" : "bad"}">${enabled ? "enabled" : "disabled"}</span>`,
  facts: ({ tenantId, clientId, type, keys }) => ({
    Tenant: html`<code>${tenantId}</code>`,
    client_id: html`<code>${clientId}</code>`,
    Type: type === "service" ? "service plugin" : "user-interface plugin",
    Keys: html`${keys.map(keyLine)}`,
  }),
  values: ({ tenantId, clientId, enabled, name, pageUrl, roles, grant: { scopes, devices } }) => ({
    ...{ tenantId, clientId, enabled, name, pageUrl, roles },
    ...{ scopes: [...scopes], devices: devices === undefined ? null : [...devices] },
  }),
  act: ({ registerPlugin: register, updatePlugin: update, unregisterPlugin: unregister }) => ({
    ...{ register, update, unregister },
  }),
};

const serviceAccounts: RecordKind<ServiceAccount> = {
  path: "/accounts",
  title: "Service accounts",
  one: "service account",
  note: "A secret takes effect with the next request, scopes with the next token.",
  unregistering: "Its secret is refused from the next request on, and its tokens are revoked for good.",
  identity: ["tenantId", "clientId"],
  schema: serviceAccountSchema,
  update: serviceAccountUpdateSchema,
  hints: { scopes: `${SCOPES} Without a list: every route of Variant B.` },
  list: (deployment) => deployment.serviceAccounts.list(),
  heading: ({ clientId }) => clientId,
  facts: ({ tenantId }) => ({ Tenant: html`<code>${tenantId}</code>`, Secret: "set" }),
  values: ({ tenantId, clientId, scopes }) => ({ tenantId, clientId, scopes: scopes ? [...scopes] : null }),
  act: (emulator) => ({
    register: emulator.registerServiceAccount,
    update: emulator.updateServiceAccount,
    unregister: emulator.unregisterServiceAccount,
  }),
};

const apiClients: RecordKind<ApiClient> = {
  path: "/clients",
  title: "API clients",
  one: "API client",
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
  facts: ({ clientId, tenantId, secretDigest }) => ({
    client_id: html`<code>${clientId}</code>`,
    Tenant: tenantId === undefined ? "every tenant" : html`<code>${tenantId}</code>`,
    Kind: secretDigest === undefined ? "public client, no secret" : "confidential client, secret set",
  }),
  values: ({ clientId, name, tenantId = null, redirectUris, scopes, secretDigest }) => ({
    ...{ clientId, name, tenantId, redirectUris, scopes: scopes ? [...scopes] : null },
    ...(secretDigest === undefined && { clientSecret: null }),
  }),
  act: ({ registerApiClient: register, updateApiClient: update, unregisterApiClient: unregister }) => ({
    ...{ register, update, unregister },
  }),
};

const operators: RecordKind<Operator> = {
  path: "/operators",
  title: "Operators",
  one: "operator",
  note: "Capabilities take effect with the next call: a token reaches nothing that its person cannot reach.",
  unregistering:
    "The person is signed out everywhere, and every token that acts for them is revoked for good.",
  identity: ["tenantId", "userId"],
  schema: operatorSchema,
  update: operatorSchema,
  hints: { capabilities: SCOPES, roles: 'As [{"name": …, "group": …}].' },
  list: (deployment) => deployment.operators.list(),
  heading: displayName,
  facts: ({ tenantId, userId, passwordDigest }) => ({
    Tenant: html`<code>${tenantId}</code>`,
    userId: html`<code>${userId}</code>`,
    Password: passwordDigest === undefined ? "none, signs in without one" : "set",
  }),
  values: ({ tenantId, userId, firstname, lastname, capabilities, roles }) => ({
    ...{ tenantId, userId, firstname, lastname, roles, capabilities: [...capabilities] },
  }),
  act: ({ registerOperator: register, updateOperator: update, unregisterOperator: unregister }) => ({
    ...{ register, update, unregister },
  }),
};

const kinds = [pageOf(plugins), pageOf(serviceAccounts), pageOf(apiClients), pageOf(operators)];

export const registrationPages: readonly AdminPage[] = kinds.map(({ page }) => page);
export const registrationActions: readonly AdminAction[] = kinds.flatMap(({ actions }) => actions);

/** The id of the place for the outcome of unregistering. */
const UNREGISTERED = "unregistered";

function pageOf<Item>(kind: RecordKind<Item>): { page: AdminPage; actions: AdminAction[] } {
  const { path, title, one, identity, schema, update } = kind;
  const page = { path, title, body: (view: AdminView) => body(view, kind) };
  const namesOf = (fields: URLSearchParams) =>
    Object.fromEntries(identity.map((name) => [name, fields.get(name) ?? ""]));
  const action = (
    name: "register" | "update" | "unregister",
    read: (fields: URLSearchParams) => unknown,
  ): AdminAction => ({
    path: `${path}/${name}`,
    page,
    act: ({ emulator }, fields) => kind.act(emulator)[name](read(fields) as never),
  });
  return {
    page,
    actions: [
      action("register", (fields) => readSchemaFields(fields, { schema, omit: [] })),
      action("update", (fields) => ({
        ...readSchemaFields(fields, { schema: update, omit: identity }),
        ...namesOf(fields),
      })),
      action("unregister", namesOf),
    ],
  };

  function body(view: AdminView, { hints, note, list }: RecordKind<Item>): Markup {
    const items = list(view.deployment);
    const form = "register";
    const content = html`<div class="fields">${schemaFields(view, { form, schema, omit: [], hints })}</div><button class="primary">Register</button>`;
    return html`<p>${note}</p>
<section class="panel">${foldedForm(view, `Register a new ${one}`, { id: form, action: `${path}/register`, content })}</section>
${outcomePlace(view, UNREGISTERED)}
${items.length === 0 ? html`<p class="quiet">No ${one} is registered.</p>` : items.map((item) => panel(view, item))}`;
  }

  function panel(view: AdminView, item: Item): Markup {
    const values = kind.values(item);
    const names = identity.map((name) => [name, String(values[name])]);
    const hidden = Object.fromEntries(names) as Record<string, string>;
    const id = (of: string) => formId(of, ...Object.values(hidden));
    const fields = schemaFields(view, {
      ...{ form: id("update"), schema: update, omit: identity, values, hints: kind.hints },
    });
    return html`<section class="panel" aria-labelledby="${id("name")}">
<div class="row"><h2 id="${id("name")}">${kind.heading(item)}</h2>${kind.mark?.(item) ?? ""}</div>
${facts(kind.facts(item))}
${foldedForm(view, "Change", {
  id: id("update"),
  action: `${path}/update`,
  hidden,
  content: html`<div class="fields">${fields}</div><button>Save</button>`,
})}
${confirmation(view, {
  id: id("unregister"),
  action: `${path}/unregister`,
  hidden,
  place: UNREGISTERED,
  ask: "Unregister…",
  warning: kind.unregistering,
  button: `Yes, unregister ${kind.heading(item)}`,
})}</section>`;
  }
}

/** A key with its thumbprint (RFC 7638). */
function keyLine({ kid, publicKey }: RegisteredKey): Markup {
  const { e, kty, n } = publicKey.export({ format: "jwk" });
  const thumbprint = createHash("sha256").update(JSON.stringify({ e, kty, n })).digest("base64url");
  return html`<span class="key"><code>${kid ?? "no kid"}</code> <span class="quiet">SHA-256 <code>${thumbprint}</code></span></span>`;
}
