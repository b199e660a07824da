// Small pieces that several pages at /_emulator are made of.
import { html } from "hono/html";
import type { FlowIdentity } from "../flow/flow-record.js";
import type { JournalEntry } from "../journal/journal-entry.js";
import { linkTo, type Markup } from "../pages/page.js";
import { ADMIN_PATH, type AdminView } from "./admin-site.js";

/** An instant by the emulator's clock, in UTC; what no calendar reaches as a number. */
export function instant(at: number): Markup {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return html`<code>${at} ms</code>`;
  const iso = date.toISOString();
  return html`<time datetime="${iso}">${iso.replace("T", " ").replace("Z", "")}</time>`;
}

/** A part of a page that the script replaces by what is served under this name. */
export function livePart(view: AdminView, name: string, content: Markup): Markup {
  return html`<div data-live="${linkTo(view.deployment, `${ADMIN_PATH}/live/${name}`)}">${content}</div>`;
}

export function facts(rows: Readonly<Record<string, string | Markup>>): Markup {
  return html`<dl class="facts">${Object.entries(rows).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

export function whose({ tenantId, clientId, userId }: FlowIdentity): Markup | "" {
  const names = [tenantId, clientId, userId].filter((name) => name !== undefined);
  return names.length === 0 ? "" : html`<span class="quiet">${names.join(" · ")}</span>`;
}

/** How a request was answered; 0 is not at all. */
export function statusMark(status: number): Markup {
  const kind = status >= 200 && status < 400 ? "good" : "bad";
  return html`<span class="mark ${kind}">${status === 0 ? "no answer" : status}</span>`;
}

export function requestLine({ method, path }: JournalEntry): Markup {
  return html`<code>${method} ${path}</code>`;
}

/** A section of the description by its number; a standard, or that nothing says so, as it is. */
export function sectionName(section: string): string {
  return /^\d/.test(section) ? `section ${section}` : section;
}
