// What the pages at /_emulator share: the shape of a page, and small pieces of markup.
import { html } from "hono/html";
import { linkTo, type Markup } from "../pages/page.js";
import type { KnownIdentity } from "../registrations/fields.js";
import type { Deployment } from "../state/deployment.js";

/** The path of the overview; every other path of the admin page is under it. */
export const ADMIN_PATH = "/_emulator";

export interface AdminView {
  readonly deployment: Deployment;
  /** Resets the emulator, which replaces the deployment. */
  readonly reset: () => void;
  readonly formToken: string;
  readonly query: URLSearchParams;
  /** The form whose input was refused, if there is one, and what was typed. */
  readonly failed?: {
    readonly id: string;
    readonly issues: readonly string[];
    readonly typed: URLSearchParams;
  };
}

type Part = (view: AdminView) => Markup;
type Action = (view: AdminView, fields: URLSearchParams) => void;

export interface AdminPage {
  /** Under `ADMIN_PATH`; empty for the overview. */
  readonly path: string;
  readonly title: string;
  readonly body: Part;
  /** The parts that the script keeps up to date, by name. */
  readonly parts?: Readonly<Record<string, Part>>;
  /** The actions of the page's forms, by path. An action throws an EmulatorError for bad input. */
  readonly actions?: Readonly<Record<string, Action>>;
}

/** A part of a page. The script replaces it with the answer of `/live/{name}`. */
export function livePart(view: AdminView, name: string, part: Part): Markup {
  return html`<div data-live="${linkTo(view.deployment, `${ADMIN_PATH}/live/${name}`)}">${part(view)}</div>`;
}

/** `id` is the id of the heading. */
export function panel(id: string, heading: string, content: Markup): Markup {
  return html`<section class="panel" aria-labelledby="${id}"><h2 id="${id}">${heading}</h2>${content}</section>`;
}

/** An instant of the emulator's clock in UTC, or in milliseconds where a Date cannot hold it. */
export function instant(at: number): Markup {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return html`<code>${at} ms</code>`;
  const iso = date.toISOString();
  return html`<time datetime="${iso}">${iso.replace("T", " ").replace("Z", "")}</time>`;
}

export function facts(rows: Readonly<Record<string, string | Markup>>): Markup {
  return html`<dl class="facts">${Object.entries(rows).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

export function identityLine({ tenantId, clientId, userId }: KnownIdentity): Markup | "" {
  const names = [tenantId, clientId, userId].filter((name) => name !== undefined);
  return names.length === 0 ? "" : html`<span class="quiet">${names.join(" · ")}</span>`;
}

/** The status of an answer; 0 means that no answer was sent. */
export function statusMark(status: number): Markup {
  const kind = status >= 200 && status < 400 ? "good" : "bad";
  return html`<span class="mark ${kind}">${status === 0 ? "no answer" : status}</span>`;
}

/** A section of the description by its number; the name of a standard stays as it is. */
export function sectionName(section: string): string {
  return /^\d/.test(section) ? `section ${section}` : section;
}
