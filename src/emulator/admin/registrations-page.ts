// One page for each kind of record, with forms that register, change and unregister one.
import { createHash } from "node:crypto";
import { html } from "hono/html";
import type { z } from "zod";
import type { Markup } from "../pages/page.js";
import {
  apiClientSchema,
  apiClientUpdateSchema,
  serviceAccountSchema,
  serviceAccountUpdateSchema,
} from "../registrations/clients.js";
import type { RegisteredKey } from "../registrations/keys.js";
import { operatorSchema } from "../registrations/operators.js";
import { pluginSchema, pluginUpdateSchema } from "../registrations/plugins.js";
import { unregister } from "../state/deployment.js";
import { confirmation, foldedForm, formId, readSchemaFields, schemaFields } from "./form.js";
import { type AdminPage, type AdminView, facts } from "./view.js";

interface RecordKind {
  readonly path: string;
  readonly title: string;
  readonly one: string;
  readonly note: string;
  readonly unregistering: string;
  readonly identity: readonly string[];
  readonly schema: z.ZodType;
  readonly update: z.ZodType;
  readonly registry: "plugins" | "serviceAccounts" | "apiClients" | "operators";
}

const kinds: readonly RecordKind[] = [
  {
    path: "/plugins",
    title: "Plugins",
    one: "plugin",
    note: "A change takes effect with the next request, also for tokens already issued. Fewer scopes or devices take effect after narrowingDelayMs. A plugin without jwks gets a test key.",
    unregistering: "Its tokens, launches and codes are refused for good, its token requests from now on.",
    identity: ["tenantId", "clientId"],
    schema: pluginSchema,
    update: pluginUpdateSchema,
    registry: "plugins",
  },
  {
    path: "/accounts",
    title: "Service accounts",
    one: "service account",
    note: "A secret takes effect with the next request, scopes with the next token. Without a list of scopes an account may call every route of Variant B.",
    unregistering: "Its secret is refused from the next request on, and its tokens are revoked for good.",
    identity: ["tenantId", "clientId"],
    schema: serviceAccountSchema,
    update: serviceAccountUpdateSchema,
    registry: "serviceAccounts",
  },
  {
    path: "/clients",
    title: "API clients",
    one: "API client",
    note: "A secret takes effect with the next request, everything else with the next login. A client without a secret is public, and one without a tenant serves the people of every tenant. Without a list of scopes it may ask for every capability of the person.",
    unregistering:
      "All consent given to it and all its tokens are revoked for good, and logins in progress end.",
    identity: ["clientId"],
    schema: apiClientSchema,
    update: apiClientUpdateSchema,
    registry: "apiClients",
  },
  {
    path: "/operators",
    title: "Operators",
    one: "operator",
    note: "Capabilities take effect with the next call: a token permits only what its person may do.",
    unregistering: "The person is signed out, and every token that acts for them is revoked for good.",
    identity: ["tenantId", "userId"],
    schema: operatorSchema,
    update: operatorSchema,
    registry: "operators",
  },
];

const HINTS = {
  jwks: 'As {"keys": [ … ]}, RSA of 2048 bits or more.',
  scopes: "Each is area:read, area:write or area:execute.",
  capabilities: "Each is area:read, area:write or area:execute.",
  devices: "Without a list: every device.",
  pageUrl: "User-interface plugins only.",
  roles: 'As [{"name": …, "group": …}].',
};

export const registrationPages: readonly AdminPage[] = kinds.map((kind) => {
  const { path, title, identity, schema, update, registry } = kind;
  const namesOf = (fields: URLSearchParams) =>
    Object.fromEntries(identity.map((name) => [name, fields.get(name) ?? ""]));
  return {
    path,
    title,
    body: (view) => body(view, kind),
    actions: {
      [`${path}/register`]: ({ deployment }, fields) =>
        deployment[registry].register(readSchemaFields(fields, { schema, omit: [] })),
      [`${path}/update`]: ({ deployment }, fields) => {
        const changes = readSchemaFields(fields, { schema: update, omit: identity });
        deployment[registry].update({ ...changes, ...namesOf(fields) }, deployment.clock());
      },
      [`${path}/unregister`]: ({ deployment }, fields) => unregister(deployment, registry, namesOf(fields)),
    },
  };
});

function body(view: AdminView, kind: RecordKind): Markup {
  const { path, one, note, schema, registry } = kind;
  const records: readonly object[] = view.deployment[registry].list();
  const fields = schemaFields(view, "register", { schema, omit: [], hints: HINTS });
  const content = html`${fields}<button class="primary">Register</button>`;
  return html`<p>${note}</p>
<section class="panel">${foldedForm(view, `Register a new ${one}`, { id: "register", action: `${path}/register`, content })}</section>
${records.length === 0 ? html`<p class="quiet">No ${one} is registered.</p>` : records.map((record) => registration(view, kind, { ...record }))}`;
}

function registration(
  view: AdminView,
  { path, identity, update, unregistering }: RecordKind,
  { keys, secretDigest, passwordDigest, formerGrants: _, grant, ...own }: Readonly<Record<string, unknown>>,
): Markup {
  const record = { ...own, ...(grant as object | undefined) };
  const values = Object.fromEntries(Object.entries(record).map(([name, value]) => [name, plain(value)]));
  const hidden = Object.fromEntries(identity.map((name) => [name, String(values[name])]));
  const id = (of: string) => formId(of, Object.values(hidden));
  const heading = String(values.name ?? values.userId ?? values.clientId);
  const shown = Object.entries(values).map(([name, value]) => [name, shownValue(value)]);
  const secret = "userId" in record ? "password" : "clientSecret";
  const isSecretSet = (passwordDigest ?? secretDigest) !== undefined;
  const lock = Array.isArray(keys)
    ? { keys: html`${(keys as readonly RegisteredKey[]).map(keyLine)}` }
    : { [secret]: isSecretSet ? "set" : "not set" };
  // Null stands for a secret that is not set, which cannot be removed.
  const current = { ...values, ...(!isSecretSet && { [secret]: null }) };
  const shape = { schema: update, omit: identity, values: current, hints: HINTS };
  const content = html`${schemaFields(view, id("update"), shape)}<button>Save</button>`;
  const texts = { ask: "Unregister…", warning: unregistering, button: `Yes, unregister ${heading}` };
  return html`<section class="panel" aria-labelledby="${id("name")}">
<div class="row"><h2 id="${id("name")}">${heading}</h2>${values.enabled === false ? html`<span class="mark bad">disabled</span>` : ""}</div>
${facts({ ...Object.fromEntries(shown), ...lock })}
${foldedForm(view, "Change", { id: id("update"), action: `${path}/update`, hidden, content })}
${confirmation(view, texts, { id: id("unregister"), action: `${path}/unregister`, hidden })}</section>`;
}

/** Converts a member to the form's kind of value, which is null if the member is not set. */
function plain(value: unknown): unknown {
  return value instanceof Set ? [...value] : (value ?? null);
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
  return html`<p><code>${kid ?? "no kid"}</code> <span class="quiet">SHA-256 <code>${thumbprint}</code></span></p>`;
}
