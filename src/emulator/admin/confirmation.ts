// What cannot be undone, in two steps and without a script: the first tells what would go, the second does it.
import { html } from "hono/html";
import type { Markup } from "../pages/page.js";
import type { AdminView } from "./admin-site.js";
import { form } from "./form.js";

interface Question {
  /** Of the form; see `form`. */
  readonly id: string;
  readonly action: string;
  readonly hidden?: Readonly<Record<string, string>>;
  /** Where the outcome is told: this form may be gone then. */
  readonly place: string;
  /** The first step. */
  readonly ask: string;
  /** What would go. */
  readonly says: string;
  /** The second step: says itself what it does. */
  readonly button: string;
}

export function confirmation(view: AdminView, { ask, says, button, ...shape }: Question): Markup {
  const content = html`<p>${says}</p><button class="danger">${button}</button>`;
  return html`<details class="confirm"><summary>${ask}</summary>
${form(view, { ...shape, content })}</details>`;
}
