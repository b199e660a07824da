// The forms of the pages at /_emulator: how their fields are rendered, and read back. They need no
// script.
import { html } from "hono/html";
import { issueError } from "../errors.js";
import { parseObject } from "../http/messages.js";
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

interface Field {
  readonly name: string;
  readonly label?: string;
  readonly hint?: string;
  /** The text in the field, unless refused input is shown again. */
  readonly value?: string;
  /** A secret is never shown, not even the one that was typed. Default: "text". */
  readonly kind?: "text" | "secret" | "json";
}

/** `of` is the id of the form. */
export function formField(view: AdminView, of: string, field: Field): Markup {
  const { name, label = name, hint = "", value = "", kind = "text" } = field;
  const failed = view.failed?.id === of ? view.failed : undefined;
  const shown = failed?.typed.get(name) ?? value;
  const id = `${of}-${name}`;
  const attributes = html` id="${id}" name="${name}" aria-describedby="${id}-hint${failed ? " issues" : ""}"${failed ? html` aria-invalid="true"` : ""}`;
  const controls = {
    text: () => html`<input${attributes} autocomplete="off" value="${shown}">`,
    secret: () => html`<input${attributes} type="password" autocomplete="new-password" value="">`,
    json: () => html`<textarea${attributes} rows="3" autocomplete="off" spellcheck="false">
${shown}</textarea>`,
  };
  return html`<div class="field"><label for="${id}">${label}</label>${controls[kind]()}
<p class="quiet" id="${id}-hint">${hint}</p></div>`;
}

/** The field in which a person writes the members of a record or a fault. */
export function membersField(value: object, hint: string): Field {
  return { name: "members", kind: "json", hint, value: JSON.stringify(value) };
}

/** @throws EmulatorError `option_invalid` */
export function readMembers(sent: URLSearchParams): Readonly<Record<string, unknown>> {
  const members = parseObject(sent.get("members") ?? "");
  if (members !== undefined) return members;
  throw issueError("option_invalid", "members: must be a JSON object");
}
