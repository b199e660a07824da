// The forms of the pages at /_emulator: how their fields are rendered, and read back. They need no
// script.
import { html } from "hono/html";
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

export function form(view: AdminView, shape: FormShape): Markup {
  const { id, action, content, hidden, className = "" } = shape;
  const all = { form_token: view.formToken, form: id, ...hidden };
  const attributes = html` id="${id}" class="${className}"`;
  return postForm(view.deployment, ADMIN_PATH + action, all, content, attributes);
}

/** A form that is folded until the person opens it, and is open again after it was sent. */
export function foldedForm(view: AdminView, summary: string, shape: FormShape): Markup {
  const isOpen = view.failed?.id === shape.id || view.query.get("saved") === shape.id;
  const open = isOpen ? html` open` : "";
  return html`<details${open}><summary>${summary}</summary>${form(view, shape)}</details>`;
}

/**
 * Asks again before an action that cannot be undone. `warning` says what is lost; `button` names
 * the action.
 */
export function confirmation(
  view: AdminView,
  texts: { readonly ask: string; readonly warning: string; readonly button: string },
  shape: Omit<FormShape, "content">,
): Markup {
  const content = html`<p>${texts.warning}</p><button class="danger">${texts.button}</button>`;
  return html`<details class="confirm"><summary>${texts.ask}</summary>
${form(view, { ...shape, content })}</details>`;
}

export function outcome({ failed, query }: AdminView): Markup | "" {
  if (failed === undefined) {
    return query.has("saved") ? html`<p class="outcome done" role="status">Done.</p>` : "";
  }
  return html`<div class="outcome alarm" role="alert" id="issues"><p>Nothing was changed:</p>
<ul>${failed.issues.map((issue) => html`<li>${issue}</li>`)}</ul></div>`;
}

export interface Field {
  readonly name: string;
  readonly label?: string;
  readonly hint?: string;
  readonly required?: boolean;
  /**
   * "list": one item per line; "limit": the same, and without items it permits everything. A secret
   * is never shown, not even the one that was typed. Default: "text".
   */
  readonly kind?: "text" | "secret" | "list" | "limit" | "json";
  /** If given, the person chooses one of them. */
  readonly choices?: readonly string[];
}

/**
 * `value` is the text in the field, unless refused input is shown again. `of` is the id of the
 * form.
 */
export function formField(view: AdminView, of: string, field: Field, value = ""): Markup {
  const { name, label = name, hint = "", required, kind = "text", choices } = field;
  const failed = view.failed?.id === of ? view.failed : undefined;
  const shown = kind === "secret" ? "" : (failed?.typed.get(name) ?? value);
  const id = `${of}-${name}`;
  // "devices.0: must be …" belongs to the field `devices`.
  const isOwn = (issue: string) => `${/^\w+/.exec(issue)?.[0]}` === name;
  const isAtFault = failed?.issues.some(isOwn) === true;
  const marks = html`${isAtFault ? html` aria-invalid="true"` : ""}${required ? html` required` : ""}`;
  const describedBy = `${id}-hint${isAtFault ? " issues" : ""}`;
  const attributes = html` id="${id}" name="${name}" aria-describedby="${describedBy}"${marks}`;
  const option = (one: string) =>
    html`<option value="${one}"${one === shown ? html` selected` : ""}>${one}</option>`;
  const [type, autocomplete] = kind === "secret" ? ["password", "new-password"] : ["text", "off"];
  const isList = kind === "list" || kind === "limit";
  const control =
    choices !== undefined
      ? html`<select${attributes}>${choices.map(option)}</select>`
      : isList || kind === "json"
        ? html`<textarea${attributes} rows="3" autocomplete="off" spellcheck="false">
${shown}</textarea>`
        : html`<input${attributes} type="${type}" autocomplete="${autocomplete}" value="${shown}">`;
  return html`<div class="field"><label for="${id}">${label}</label>${control}
<p class="quiet" id="${id}-hint">${hint}${isList ? " One per line." : ""}</p></div>`;
}
