// The forms of the pages at /_emulator: the form token, the issues of the last input, and what was typed. No script needed.
import { html } from "hono/html";
import { linkTo, type Markup } from "../pages/page.js";
import { ADMIN_PATH, type AdminView } from "./view.js";

interface FormShape {
  /** Unique on the page. The browser scrolls to it after the action. */
  readonly id: string;
  /** Under `ADMIN_PATH`. */
  readonly action: string;
  readonly content: Markup;
  readonly hidden?: Readonly<Record<string, string>>;
  readonly className?: string;
  /** The id of an `outcomePlace`, for a form that may be gone after its action. Default: the form itself. */
  readonly place?: string;
}

export function form(view: AdminView, shape: FormShape): Markup {
  const { id, action, content, hidden = {}, className = "", place } = shape;
  const all = Object.entries({ form_token: view.formToken, form: place ?? id, ...hidden });
  return html`<form method="post" action="${linkTo(view.deployment, ADMIN_PATH + action)}" id="${id}" class="${className}">
${all.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${place === undefined ? outcome(view, id) : ""}${content}
</form>`;
}

/** A form that is folded away until it is needed, and open again after it was sent. */
export function foldedForm(view: AdminView, summary: string, shape: FormShape): Markup {
  const isOpen = view.failed?.id === shape.id || view.query.get("saved") === shape.id;
  return html`<details${isOpen ? html` open` : ""}><summary>${summary}</summary>
${form(view, shape)}</details>`;
}

interface Question extends Omit<FormShape, "content"> {
  /** Opens the question. */
  readonly ask: string;
  /** What would be lost. */
  readonly warning: string;
  /** The text of the button, which states what it does. */
  readonly button: string;
}

/** An action that cannot be undone, in two steps. */
export function confirmation(view: AdminView, { ask, warning, button, ...shape }: Question): Markup {
  const content = html`<p>${warning}</p><button class="danger">${button}</button>`;
  return html`<details class="confirm"><summary>${ask}</summary>
${form(view, { ...shape, content })}</details>`;
}

/** A valid id for any name of a registration. */
export function formId(kind: string, ...names: readonly string[]): string {
  return `${kind}-${Buffer.from(JSON.stringify(names)).toString("base64url")}`;
}

/** Shows the outcome of forms that may be gone after their action. */
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
  /** The id of the form. */
  readonly form: string;
  readonly name: string;
  readonly label: string;
  /** What it shows unless refused input is shown again. */
  readonly value?: string | undefined;
  readonly hint?: string | undefined;
  readonly required?: boolean;
  /** The path of its value in issues. Default: `name`. */
  readonly issuePath?: string;
}

interface TextField extends Field {
  /** Makes it an area of that many lines. */
  readonly rows?: number;
  /** Whether it is a secret: neither the current value nor what was typed is shown. */
  readonly isSecret?: boolean;
}

export function textField(view: AdminView, field: TextField): Markup {
  const { name, value = "", rows, isSecret = false } = field;
  const typed = typedIn(view, field.form)?.get(name) ?? value;
  // A private key in the place of a public one is not shown again.
  const shown = isSecret || PRIVATE_KEY.test(typed) ? "" : typed;
  return labelled(view, field, (attributes) =>
    rows === undefined
      ? html`<input${attributes} type="${isSecret ? "password" : "text"}" autocomplete="${isSecret ? "new-password" : "off"}" spellcheck="false" value="${shown}">`
      : html`<textarea${attributes} rows="${rows}" autocomplete="off" spellcheck="false">
${shown}</textarea>`,
  );
}

const PRIVATE_KEY = /PRIVATE KEY|"(d|p|q|dp|dq|qi|oth|k)"\s*:/;

/** `choices` maps each value to its text. */
export function selectField(
  view: AdminView,
  field: Field & { readonly choices: Readonly<Record<string, string>> },
): Markup {
  const chosen = typedIn(view, field.form)?.get(field.name) ?? field.value;
  const options = Object.entries(field.choices).map(
    ([value, text]) =>
      html`<option value="${value}"${value === chosen ? html` selected` : ""}>${text}</option>`,
  );
  return labelled(view, field, (attributes) => html`<select${attributes}>${options}</select>`);
}

export function checkbox(view: AdminView, { form: of, name, label }: Field): Markup {
  const isChecked = typedIn(view, of)?.has(name) ?? false;
  return html`<p class="box"><input type="checkbox" id="${of}-${name}" name="${name}" value="yes"${isChecked ? html` checked` : ""}>
<label for="${of}-${name}">${label}</label></p>`;
}

function labelled(view: AdminView, field: Field, control: (attributes: Markup) => Markup): Markup {
  const { form: of, name, label, hint, required } = field;
  const id = `${of}-${name}`;
  const isAtFault = hasIssue(view, of, field.issuePath ?? name);
  const described = [hint && `${id}-hint`, isAtFault && `${of}-issues`].filter(Boolean).join(" ");
  const attributes = html` id="${id}" name="${name}"${described === "" ? "" : html` aria-describedby="${described}"`}${isAtFault ? html` aria-invalid="true"` : ""}${required ? html` required` : ""}`;
  return html`<div class="field"><label for="${id}">${label}</label>${control(attributes)}
${hint === undefined ? "" : html`<p class="quiet" id="${id}-hint">${hint}</p>`}</div>`;
}

function typedIn({ failed }: AdminView, id: string): URLSearchParams | undefined {
  return failed?.id === id ? failed.typed : undefined;
}

/** "devices.0: must be …" belongs to the field `devices`. */
function hasIssue({ failed }: AdminView, id: string, path: string): boolean {
  const paths = failed?.id === id ? failed.issues.map((issue) => /^[\w.]+/.exec(issue)?.[0]) : [];
  return paths.some((at) => `${at}.`.startsWith(`${path}.`));
}
