// A form of a page at /_emulator: its token, what was wrong with the last input, and what was typed.
import { html } from "hono/html";
import { linkTo, type Markup } from "../pages/page.js";
import { ADMIN_PATH, type AdminView } from "./admin-site.js";

interface FormShape {
  /** Unique on the page; the browser comes back to it. */
  readonly id: string;
  /** Under `ADMIN_PATH`. */
  readonly action: string;
  readonly content: Markup;
  readonly hidden?: Readonly<Record<string, string>>;
  readonly className?: string;
  readonly isUpload?: boolean;
  /** The id of a place on the page that tells the outcome, and that the browser comes back to. Default: the form. */
  readonly place?: string;
}

export function form(view: AdminView, shape: FormShape): Markup {
  const { id, action, content, hidden = {}, className = "", isUpload = false, place } = shape;
  const target = linkTo(view.deployment, ADMIN_PATH + action);
  const all = Object.entries({ form_token: view.formToken, form: place ?? id, ...hidden });
  return html`<form method="post" action="${target}" id="${id}" class="${className}"${isUpload ? html` enctype="multipart/form-data"` : ""}>
${all.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${place === undefined ? outcome(view, id) : ""}${content}
</form>`;
}

/** Ids made of whatever a registration is called. */
export function formId(kind: string, ...names: readonly string[]): string {
  return `${kind}-${Buffer.from(JSON.stringify(names)).toString("base64url")}`;
}

/** Where forms that may be gone afterwards tell their outcome. */
export function outcomePlace(view: AdminView, id: string): Markup {
  return html`<div id="${id}" class="outcome">${outcome(view, id)}</div>`;
}

export function outcome({ failed, query }: AdminView, id: string): Markup | "" {
  if (failed?.id === id) {
    return html`<div class="alarm" role="alert" id="${id}-issues">
<p>Nothing was changed:</p><ul>${failed.issues.map((issue) => html`<li>${issue}</li>`)}</ul></div>`;
  }
  return query.get("saved") === id ? html`<p class="done" role="status">Done.</p>` : "";
}

interface Field {
  readonly form: string;
  readonly name: string;
  readonly label: string;
  /** What it holds unless somebody typed something else. */
  readonly value?: string;
  readonly hint?: string;
  readonly rows?: number;
  readonly list?: string;
  readonly required?: boolean;
  /** What its value is called in issues. Default: `name`. */
  readonly faultName?: string;
}

/** A line of text, or an area of `rows` lines. */
export function textField(view: AdminView, field: Field): Markup {
  const { name, label, value = "", hint, rows, list } = field;
  const id = `${field.form}-${name}`;
  const shown = typedIn(view, field.form)?.get(name) ?? value;
  const isAtFault = hasIssue(view, field.form, field.faultName ?? name);
  const described = [hint && `${id}-hint`, isAtFault && `${field.form}-issues`].filter(Boolean).join(" ");
  const attributes = html` id="${id}" name="${name}" spellcheck="false" autocomplete="off"
${described === "" ? "" : html` aria-describedby="${described}"`}${isAtFault ? html` aria-invalid="true"` : ""}${field.required ? html` required` : ""}`;
  const input =
    rows === undefined
      ? html`<input${attributes} value="${shown}"${list === undefined ? "" : html` list="${list}"`}>`
      : html`<textarea${attributes} rows="${rows}">
${shown}</textarea>`;
  return html`<div class="field"><label for="${id}">${label}</label>
${hint === undefined ? "" : html`<p class="quiet" id="${id}-hint">${hint}</p>`}${input}</div>`;
}

/** A line for a secret, which is never shown: not what is held, and not what was typed. */
export function secretField(view: AdminView, { form: of, name, label, required }: Field): Markup {
  const isAtFault = hasIssue(view, of, name);
  return html`<div class="field"><label for="${of}-${name}">${label}</label>
<input type="password" id="${of}-${name}" name="${name}" autocomplete="new-password"
${isAtFault ? html` aria-invalid="true" aria-describedby="${of}-issues"` : ""}${required ? html` required` : ""}></div>`;
}

interface Choice {
  readonly form: string;
  readonly name: string;
  readonly label: string;
  /** Each value, and what is shown for it. */
  readonly choices: readonly (readonly [value: string, shown: string])[];
}

export function selectField(view: AdminView, { form: of, name, label, choices }: Choice): Markup {
  const typed = typedIn(view, of)?.get(name);
  const option = ([value, shown]: readonly [string, string]) =>
    html`<option value="${value}"${value === typed ? html` selected` : ""}>${shown}</option>`;
  return html`<div class="field"><label for="${of}-${name}">${label}</label>
<select id="${of}-${name}" name="${name}">${choices.map(option)}</select></div>`;
}

/** What was typed into this form, if it was refused. */
export function typedIn({ failed }: AdminView, id: string): URLSearchParams | undefined {
  return failed?.id === id ? failed.typed : undefined;
}

/** "devices.0: must be …" is about the field `devices`. */
function hasIssue({ failed }: AdminView, id: string, field: string): boolean {
  const paths = failed?.id === id ? failed.issues.map((issue) => /^[\w.]+/.exec(issue)?.[0]) : [];
  return paths.some((path) => `${path}.`.startsWith(`${field}.`));
}
