// Renders the forms of the pages at /_emulator from zod schemas, and reads them back. They need no script.
import { html } from "hono/html";
import { z } from "zod";
import { EmulatorError } from "../errors.js";
import { type Markup, postForm } from "../pages/page.js";
import { ADMIN_PATH, type AdminView } from "./view.js";

interface FormShape {
  /** Unique on the page. */
  readonly id: string;
  /** Under `ADMIN_PATH`. */
  readonly action: string;
  readonly content: Markup;
  readonly hidden?: Readonly<Record<string, string>>;
  readonly className?: string;
}

export function form(view: AdminView, { id, action, content, hidden, className = "" }: FormShape): Markup {
  const all = { form_token: view.formToken, form: id, ...hidden };
  return postForm(view.deployment, ADMIN_PATH + action, all, content, html` id="${id}" class="${className}"`);
}

/** A form that is folded until the person opens it, and is open again after it was sent. */
export function foldedForm(view: AdminView, summary: string, shape: FormShape): Markup {
  const isOpen = view.failed?.id === shape.id || view.query.get("saved") === shape.id;
  return html`<details${isOpen ? html` open` : ""}><summary>${summary}</summary>${form(view, shape)}</details>`;
}

/** Asks again before an action that cannot be undone. `warning` says what is lost; `button` names the action. */
export function confirmation(
  view: AdminView,
  texts: { readonly ask: string; readonly warning: string; readonly button: string },
  shape: Omit<FormShape, "content">,
): Markup {
  const content = html`<p>${texts.warning}</p><button class="danger">${texts.button}</button>`;
  return html`<details class="confirm"><summary>${texts.ask}</summary>${form(view, { ...shape, content })}</details>`;
}

/** Returns a valid id, whatever characters the names of a registration contain. */
export function formId(kind: string, names: readonly string[]): string {
  return `${kind}-${Buffer.from(JSON.stringify(names)).toString("base64url")}`;
}

export function outcome({ failed, query }: AdminView): Markup | "" {
  if (failed === undefined) {
    return query.has("saved") ? html`<p class="outcome done" role="status">Done.</p>` : "";
  }
  return html`<div class="outcome alarm" role="alert" id="issues"><p>Nothing was changed:</p>
<ul>${failed.issues.map((issue) => html`<li>${issue}</li>`)}</ul></div>`;
}

type Kind = "choice" | "boolean" | "number" | "text" | "secret" | "lines" | "json";

interface FormField {
  readonly form: string;
  readonly name: string;
  readonly label?: string;
  /** The text in the field, unless refused input is shown again. */
  readonly value?: string;
  readonly hint?: string;
  readonly required?: boolean;
  /** Default: "text". A field of the kind "secret" shows neither the current value nor what was typed. */
  readonly kind?: Kind;
  readonly choices?: readonly string[];
}

const PRIVATE_KEY = /PRIVATE KEY|"(d|p|q|dp|dq|qi|oth|k)"\s*:/;

export function formField(view: AdminView, field: FormField): Markup {
  const { form: of, name, label = name, value = "", hint, required, kind = "text" } = field;
  const failed = view.failed?.id === of ? view.failed : undefined;
  const typed = failed?.typed.get(name) ?? value;
  // A private key that was typed instead of a public one is not shown again.
  const shown = kind === "secret" || PRIVATE_KEY.test(typed) ? "" : typed;
  const id = `${of}-${name}`;
  // "devices.0: must be …" belongs to the field `devices`.
  const isOwn = (issue: string) => `${/^[\w.]+/.exec(issue)?.[0]}.`.startsWith(`${name}.`);
  const isAtFault = failed?.issues.some(isOwn) === true;
  const described = [hint && `${id}-hint`, isAtFault && "issues"].filter(Boolean).join(" ");
  const attributes = html` id="${id}" name="${name}"${described === "" ? "" : html` aria-describedby="${described}"`}${isAtFault ? html` aria-invalid="true"` : ""}${required ? html` required` : ""}`;
  return html`<div class="field"><label for="${id}">${label}</label>${control(kind, attributes, shown, field.choices)}
${hint ? html`<p class="quiet" id="${id}-hint">${hint}</p>` : ""}</div>`;
}

function control(kind: Kind, attributes: Markup, shown: string, choices: readonly string[] = []): Markup {
  if (kind === "choice" || kind === "boolean") {
    const option = (one: string) =>
      html`<option value="${one}"${one === shown ? html` selected` : ""}>${one || "default"}</option>`;
    return html`<select${attributes}>${choices.map(option)}</select>`;
  }
  if (kind === "lines" || kind === "json") {
    return html`<textarea${attributes} rows="3" autocomplete="off" spellcheck="false">
${shown}</textarea>`;
  }
  const [type, autocomplete] = kind === "secret" ? ["password", "new-password"] : ["text", "off"];
  return html`<input${attributes} type="${type}" autocomplete="${autocomplete}" spellcheck="false" value="${shown}">`;
}

interface SchemaShape {
  readonly schema: z.ZodType;
  /** Members that the form sends hidden, or not at all. */
  readonly omit: readonly string[];
  /** The current values, for an update. If absent, the form registers something new. */
  readonly values?: Readonly<Record<string, unknown>>;
  readonly hints?: Readonly<Record<string, string>>;
}

interface Member {
  /** Its path in the input, such as "match.tenantId". */
  readonly path: string;
  readonly kind: Kind;
  readonly required: boolean;
  /** Whether `null` is a value of its own. */
  readonly nullable: boolean;
  readonly choices: readonly string[];
}

/** Renders a field for each member, with the name that it has in code. `id` is the id of the form. */
export function schemaFields(view: AdminView, id: string, shape: SchemaShape): Markup {
  return html`<div class="fields">${membersOf(shape).map((member) => memberField(view, id, shape, member))}</div>`;
}

function memberField(view: AdminView, form: string, shape: SchemaShape, member: Member): Markup {
  const { values, hints = {} } = shape;
  const { path, kind, required, nullable, choices } = member;
  const value = values?.[path];
  const isUnchanged = values !== undefined && (kind === "json" || kind === "secret");
  const format = kind === "lines" ? "One per line." : kind === "json" && "JSON.";
  const hint = [hints[path], format, isUnchanged && "Empty: unchanged."].filter(Boolean).join(" ");
  const all = required || values !== undefined ? choices : ["", ...choices];
  const field = { form, name: path, required, hint, value: textOf(kind, value), kind, choices: all };
  // Distinguishes a list that was emptied from a list that was never set.
  const isList = kind === "lines" && Array.isArray(value);
  const marker = isList ? html`<input type="hidden" name="${path}.list" value="yes">` : "";
  const isRemovable = nullable && values !== undefined && value !== null;
  const remove = html`<p class="box"><input type="checkbox" id="${form}-${path}.remove" name="${path}.remove" value="yes">
<label for="${form}-${path}.remove">Remove ${path}</label></p>`;
  return html`<div>${formField(view, field)}${marker}${isRemovable ? remove : ""}</div>`;
}

function textOf(kind: Kind, value: unknown): string {
  if (value === undefined || value === null) return "";
  if (kind === "lines" && Array.isArray(value)) return value.join("\n");
  return kind === "json" ? JSON.stringify(value) : String(value);
}

/**
 * Reads the input for the schema's own check. An empty field is left out, an emptied list is an empty list, and a member
 * that is to be removed is null.
 *
 * @throws EmulatorError `option_invalid` for text that is not JSON.
 */
export function readSchemaFields(fields: URLSearchParams, shape: SchemaShape): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const member of membersOf(shape)) {
    const value = readMember(member, fields);
    if (value === undefined) continue;
    const [name = "", part] = member.path.split(".");
    input[name] = part === undefined ? value : { ...(input[name] as object | undefined), [part]: value };
  }
  return input;
}

function readMember({ path, kind, nullable }: Member, fields: URLSearchParams): unknown {
  if (nullable && fields.has(`${path}.remove`)) return null;
  const text = (fields.get(path) ?? "").trim();
  if (text === "") return fields.has(`${path}.list`) ? [] : undefined;
  if (kind === "boolean") return text === "true";
  if (kind === "lines") return text.split("\n").flatMap((line) => line.trim() || []);
  // Text that is not a number stays text, so that the schema reports it.
  if (kind === "number") return Number.isNaN(Number(text)) ? text : Number(text);
  if (kind !== "json") return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new EmulatorError("option_invalid", path, { issues: [`${path}: is not JSON`] });
  }
}

/** The part of JSON Schema that zod emits for our schemas. */
interface JsonSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

function membersOf({ schema, omit }: SchemaShape): Member[] {
  const whole = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as JsonSchema;
  return objectMembers(whole, "").filter(({ path }) => !omit.includes(path));
}

function objectMembers({ properties = {}, required = [] }: JsonSchema, prefix: string): Member[] {
  return Object.entries(properties).flatMap(([name, schema]) =>
    schemaMembers(prefix + name, schema, required.includes(name)),
  );
}

function schemaMembers(path: string, schema: JsonSchema, required: boolean): Member[] {
  const choices = schema.anyOf ?? [schema];
  const types = choices.map(({ type }) => type);
  const [inner = schema] = choices.filter(({ type }) => type !== "null");
  const nullable = types.includes("null");
  const member = (kind: Kind, named: readonly string[] = []) => [
    { path, kind, required, nullable, choices: named },
  ];
  if (types.includes("boolean")) return member("boolean", ["true", "false"]);
  if (types.includes("number") || types.includes("integer")) return member("number");
  if (inner.enum !== undefined) return member("choice", inner.enum);
  if (types.includes("string")) return member(/secret|password/i.test(path) ? "secret" : "text");
  if (inner.items?.type === "string") return member("lines");
  const parts = objectMembers(inner, `${path}.`);
  const isFlat = parts.length > 0 && parts.every(({ kind }) => kind === "text" || kind === "choice");
  return isFlat ? parts : member("json");
}
