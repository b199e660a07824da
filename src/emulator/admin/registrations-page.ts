// One page for each kind of record, with forms that register, change and unregister one.
import { html } from "hono/html";
import { parseObject } from "../http/messages.js";
import type { Markup } from "../pages/page.js";
import type { RegisteredKey } from "../registrations/keys.js";
import { unregister } from "../state/deployment.js";
import { sha256 } from "../state/expiring-map.js";
import { confirmation, foldedForm, form, formField, membersField, readMembers } from "./form.js";
import { type AdminPage, type AdminView, facts } from "./view.js";

interface RecordKind {
  readonly path: string;
  readonly title: string;
  readonly note: string;
  readonly unregistering: string;
  /** What stands in the form that registers one. */
  readonly example: object;
  /** The member that is typed into a field of its own. */
  readonly secret?: "clientSecret" | "password";
  /** The members that stand in the form that changes one. */
  readonly changed: readonly string[];
  readonly registry: "plugins" | "serviceAccounts" | "apiClients" | "operators";
}

type Members = Readonly<Record<string, unknown>>;

const scopes = ["devices:read"];

const kinds: readonly RecordKind[] = [
  {
    path: "/plugins",
    title: "Plugins",
    note:
      "A change takes effect with the next request, also for tokens already issued. " +
      "Fewer scopes or devices take effect after narrowingDelayMs. " +
      "A plugin that is registered without jwks gets a test key.",
    unregistering:
      "Its tokens, launches and codes are refused for good, its token requests from now on.",
    example: { tenantId: "acme", clientId: "reports", type: "service", scopes },
    changed: ["scopes", "devices"],
    registry: "plugins",
  },
  {
    path: "/accounts",
    title: "Service accounts",
    note: "A secret takes effect with the next request, scopes with the next token.",
    unregistering:
      "Its secret is refused from the next request on, and its tokens are revoked for good.",
    example: { tenantId: "acme", clientId: "worker", scopes },
    secret: "clientSecret",
    changed: ["scopes"],
    registry: "serviceAccounts",
  },
  {
    path: "/clients",
    title: "API clients",
    note:
      "A change takes effect with the next login. " +
      "A client without a secret is public, and one without a tenant serves the people of " +
      "every tenant.",
    unregistering:
      "All consent given to it and all its tokens are revoked for good, and logins in " +
      "progress end.",
    example: { clientId: "portal", redirectUris: ["https://portal.example/callback"] },
    secret: "clientSecret",
    changed: ["redirectUris", "scopes"],
    registry: "apiClients",
  },
  {
    path: "/operators",
    title: "Operators",
    note:
      "Capabilities take effect with the next call: " +
      "a token permits only what its person may do.",
    unregistering:
      "The person is signed out, and every token that acts for them is revoked for good.",
    example: { tenantId: "acme", userId: "ada", firstname: "Ada", capabilities: scopes },
    secret: "password",
    changed: ["capabilities"],
    registry: "operators",
  },
];

export const registrationPages: readonly AdminPage[] = kinds.map((kind) => {
  const { path, title, registry, secret } = kind;
  const identityIn = (sent: URLSearchParams) => parseObject(sent.get("identity") ?? "");
  return {
    path,
    title,
    body: (view) => body(view, kind),
    actions: {
      [`${path}/register`]({ deployment }, sent) {
        const typed = secret && sent.get(secret);
        const hidden = secret && typed ? { [secret]: typed } : {};
        deployment[registry].register({ ...readMembers(sent), ...hidden });
      },
      [`${path}/update`]: ({ deployment }, sent) =>
        deployment[registry].update({ ...readMembers(sent), ...identityIn(sent) }),
      [`${path}/unregister`]: ({ deployment }, sent) =>
        unregister(deployment, registry, identityIn(sent)),
    },
  };
});

function body(view: AdminView, kind: RecordKind): Markup {
  const { path, note, example, secret, registry } = kind;
  const { noun } = view.deployment[registry].kind;
  const records: readonly object[] = view.deployment[registry].list();
  const members = membersField(
    example,
    "A JSON object: what code can register, this form can too.",
  );
  const content = html`${formField(view, "register", members)}
${secret === undefined ? "" : formField(view, "register", { name: secret, kind: "secret" })}
<button class="primary">Register</button>`;
  const shape = { id: "register", action: `${path}/register`, content };
  return html`<p>${note}</p>
<section class="panel">${foldedForm(view, `Register a new ${noun}`, shape)}</section>
${records.length === 0 ? html`<p class="quiet">No ${noun} is registered.</p>` : records.map((record) => registration(view, kind, { ...record }))}`;
}

function registration(
  view: AdminView,
  { path, changed, secret, unregistering, registry }: RecordKind,
  { keys, secretDigest, passwordDigest, formerGrants: _, grant, ...own }: Members,
): Markup {
  const record: Members = { ...own, ...(grant as object | undefined) };
  const { key } = view.deployment[registry].kind;
  const names = key.map((name) => record[name]);
  const identity = JSON.stringify(Object.fromEntries(key.map((name, at) => [name, names[at]])));
  // It is a valid id, whatever characters the names contain.
  const suffix = Buffer.from(JSON.stringify(names)).toString("base64url");
  const id = (of: string) => `${of}-${suffix}`;
  const heading = String(record.name ?? record.userId ?? record.clientId);
  const lock =
    secret === undefined
      ? { keys: html`${(keys as readonly RegisteredKey[]).map(keyLine)}` }
      : { [secret]: (passwordDigest ?? secretDigest) === undefined ? "not set" : "set" };
  const shown = Object.entries(record).map(([name, value]) => [name, shownValue(value)]);
  const now = changed.map((name) => [name, record[name] ? itemsOf(record[name]) : null]);
  const members = membersField(Object.fromEntries(now), "A JSON object; null lifts a limit.");
  const change = {
    id: id("update"),
    action: `${path}/update`,
    hidden: { identity },
    content: html`${formField(view, id("update"), members)}<button>Save</button>`,
  };
  const enabled = JSON.stringify({ enabled: record.enabled !== true });
  const toggle = {
    ...change,
    id: id("enabled"),
    hidden: { identity, members: enabled },
    content: html`<button>${record.enabled === true ? "Disable" : "Enable"}</button>`,
  };
  const texts = {
    ask: "Unregister…",
    warning: unregistering,
    button: `Yes, unregister ${heading}`,
  };
  const removal = { id: id("unregister"), action: `${path}/unregister`, hidden: { identity } };
  return html`<section class="panel" aria-labelledby="${id("name")}">
<div class="row"><h2 id="${id("name")}">${heading}</h2>${record.enabled === false ? html`<span class="mark bad">disabled</span>` : ""}</div>
${facts({ ...Object.fromEntries(shown), ...lock })}
${"enabled" in record ? form(view, toggle) : ""}${foldedForm(view, "Change", change)}${confirmation(view, texts, removal)}</section>`;
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
  const thumbprint = sha256(JSON.stringify({ e, kty, n }));
  return html`<p><code>${kid ?? "no kid"}</code> <span class="quiet">SHA-256 <code>${thumbprint}</code></span></p>`;
}
