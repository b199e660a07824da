// One page for each kind of record, with forms that register, change and unregister one. They have
// the fields that people try out by hand; code and seeds can set all.
import { createHash } from "node:crypto";
import { html } from "hono/html";
import type { Markup } from "../pages/page.js";
import type { RegisteredKey } from "../registrations/keys.js";
import { unregister } from "../state/deployment.js";
import { confirmation, type Field, foldedForm, form, formField } from "./form.js";
import { type AdminPage, type AdminView, facts } from "./view.js";

interface RecordKind {
  readonly path: string;
  readonly title: string;
  readonly one: string;
  readonly note: string;
  readonly unregistering: string;
  readonly identity: readonly string[];
  /** The fields that only a registration has, besides the identity. */
  readonly fixed: readonly Field[];
  readonly changeable: readonly Field[];
  readonly registry: "plugins" | "serviceAccounts" | "apiClients" | "operators";
}

const SCOPE = "Each is area:read, area:write or area:execute.";
const scopes: Field = { name: "scopes", kind: "list", hint: SCOPE };
const clientSecret: Field = { name: "clientSecret", kind: "secret" };
const limitingScopes: Field = { name: "scopes", kind: "limit", hint: `Empty: all. ${SCOPE}` };

const kinds: readonly RecordKind[] = [
  {
    path: "/plugins",
    title: "Plugins",
    one: "plugin",
    note:
      "A change takes effect with the next request, also for tokens already issued. " +
      "Fewer scopes or devices take effect after narrowingDelayMs. " +
      "A plugin that is registered here gets a test key.",
    unregistering:
      "Its tokens, launches and codes are refused for good, its token requests from now on.",
    identity: ["tenantId", "clientId"],
    fixed: [
      { name: "type", choices: ["service", "user_interface"] },
      { name: "pageUrl", hint: "User-interface plugins only." },
    ],
    changeable: [scopes, { name: "devices", kind: "limit", hint: "Empty: every device." }],
    registry: "plugins",
  },
  {
    path: "/accounts",
    title: "Service accounts",
    one: "service account",
    note: "A secret takes effect with the next request, scopes with the next token.",
    unregistering:
      "Its secret is refused from the next request on, and its tokens are revoked for good.",
    identity: ["tenantId", "clientId"],
    fixed: [{ ...clientSecret, required: true }],
    changeable: [limitingScopes],
    registry: "serviceAccounts",
  },
  {
    path: "/clients",
    title: "API clients",
    one: "API client",
    note:
      "A change takes effect with the next login. " +
      "A client without a secret is public, and one without a tenant serves the people of " +
      "every tenant.",
    unregistering:
      "All consent given to it and all its tokens are revoked for good, and logins in " +
      "progress end.",
    identity: ["clientId"],
    fixed: [clientSecret, { name: "tenantId" }],
    changeable: [{ name: "redirectUris", kind: "list", required: true }, limitingScopes],
    registry: "apiClients",
  },
  {
    path: "/operators",
    title: "Operators",
    one: "operator",
    note:
      "Capabilities take effect with the next call: " +
      "a token permits only what its person may do.",
    unregistering:
      "The person is signed out, and every token that acts for them is revoked for good.",
    identity: ["tenantId", "userId"],
    fixed: [{ name: "firstname" }, { name: "lastname" }, { name: "password", kind: "secret" }],
    changeable: [{ name: "capabilities", kind: "list", hint: SCOPE }],
    registry: "operators",
  },
];

/**
 * Reads the fields that were sent. An empty one is left out of a registration, and empties a list
 * in a change.
 */
function read(sent: URLSearchParams, fields: readonly Field[], isChange: boolean): object {
  const members = new Map<string, string | string[] | null>();
  for (const { name, kind = "text" } of fields) {
    const text = (sent.get(name) ?? "").trim();
    const items = text.split("\n").flatMap((line) => line.trim() || []);
    if (text !== "") members.set(name, kind === "list" || kind === "limit" ? items : text);
    else if (isChange && sent.has(name)) members.set(name, kind === "limit" ? null : []);
  }
  return Object.fromEntries(members);
}

const identityFields = ({ identity }: RecordKind) =>
  identity.map((name): Field => ({ name, required: true }));

export const registrationPages: readonly AdminPage[] = kinds.map((kind) => {
  const { path, title, fixed, changeable, registry } = kind;
  const identity = identityFields(kind);
  return {
    path,
    title,
    body: (view) => body(view, kind),
    actions: {
      [`${path}/register`]: ({ deployment }, sent) =>
        deployment[registry].register(read(sent, [...identity, ...fixed, ...changeable], false)),
      [`${path}/update`]: ({ deployment }, sent) => {
        const enabled = sent.has("enabled") && { enabled: sent.get("enabled") === "true" };
        const change = {
          ...read(sent, changeable, true),
          ...read(sent, identity, false),
          ...enabled,
        };
        deployment[registry].update(change, deployment.clock());
      },
      [`${path}/unregister`]: ({ deployment }, sent) =>
        unregister(deployment, registry, read(sent, identity, false)),
    },
  };
});

function body(view: AdminView, kind: RecordKind): Markup {
  const { path, one, note, fixed, changeable, registry } = kind;
  const records: readonly object[] = view.deployment[registry].list();
  const fields = [...identityFields(kind), ...fixed, ...changeable];
  const content = html`<div class="fields">${fields.map((field) => formField(view, "register", field))}</div>
<button class="primary">Register</button>`;
  const shape = { id: "register", action: `${path}/register`, content };
  return html`<p>${note}</p>
<section class="panel">${foldedForm(view, `Register a new ${one}`, shape)}</section>
${records.length === 0 ? html`<p class="quiet">No ${one} is registered.</p>` : records.map((record) => registration(view, kind, { ...record }))}`;
}

function registration(
  view: AdminView,
  { path, identity, changeable, unregistering }: RecordKind,
  {
    keys,
    secretDigest,
    passwordDigest,
    formerGrants: _,
    grant,
    ...own
  }: Readonly<Record<string, unknown>>,
): Markup {
  const record: Readonly<Record<string, unknown>> = { ...own, ...(grant as object | undefined) };
  const hidden = Object.fromEntries(identity.map((name) => [name, String(record[name])]));
  // It is a valid id, whatever characters the names contain.
  const suffix = Buffer.from(JSON.stringify(Object.values(hidden))).toString("base64url");
  const id = (of: string) => `${of}-${suffix}`;
  const heading = String(record.name ?? record.userId ?? record.clientId);
  const secret = "userId" in record ? "password" : "clientSecret";
  const lock = Array.isArray(keys)
    ? { keys: html`${(keys as readonly RegisteredKey[]).map(keyLine)}` }
    : { [secret]: (passwordDigest ?? secretDigest) === undefined ? "not set" : "set" };
  const shown = Object.entries(record).map(([name, value]) => [name, shownValue(value)]);
  const field = (one: Field) =>
    formField(view, id("update"), one, itemsOf(record[one.name]).join("\n"));
  const content = html`<div class="fields">${changeable.map(field)}</div><button>Save</button>`;
  const action = `${path}/update`;
  const isEnabled = record.enabled === true;
  const toggle = {
    ...{ id: id("enabled"), action, hidden: { ...hidden, enabled: String(!isEnabled) } },
    content: html`<button>${isEnabled ? "Disable" : "Enable"}</button>`,
  };
  const texts = {
    ask: "Unregister…",
    warning: unregistering,
    button: `Yes, unregister ${heading}`,
  };
  return html`<section class="panel" aria-labelledby="${id("name")}">
<div class="row"><h2 id="${id("name")}">${heading}</h2>${record.enabled === false ? html`<span class="mark bad">disabled</span>` : ""}</div>
${facts({ ...Object.fromEntries(shown), ...lock })}
${"enabled" in record ? form(view, toggle) : ""}${foldedForm(view, "Change", { id: id("update"), action, hidden, content })}
${confirmation(view, texts, { id: id("unregister"), action: `${path}/unregister`, hidden })}</section>`;
}

function itemsOf(value: unknown): unknown[] {
  return Array.isArray(value) || value instanceof Set ? [...value] : [];
}

function shownValue(value: unknown): string {
  if (value === undefined) return "not set";
  if (typeof value !== "object") return String(value);
  const items = itemsOf(value).map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
  return items.join(", ") || "none";
}

/** A key with its thumbprint (RFC 7638). */
function keyLine({ kid, publicKey }: RegisteredKey): Markup {
  const { e, kty, n } = publicKey.export({ format: "jwk" });
  const thumbprint = createHash("sha256").update(JSON.stringify({ e, kty, n })).digest("base64url");
  return html`<p><code>${kid ?? "no kid"}</code> <span class="quiet">SHA-256 <code>${thumbprint}</code></span></p>`;
}
