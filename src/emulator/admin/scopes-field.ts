// Choosing scopes: a box for each one that anybody here knows of, and a line for others.
import { html } from "hono/html";
import type { Markup } from "../pages/page.js";
import type { AdminView } from "./admin-site.js";
import { textField, typedIn } from "./form.js";

const FORM_OF_SCOPES = "Each has the form area:read, area:write or area:execute.";

interface ScopesField {
  readonly form: string;
  readonly legend: string;
  readonly granted: ReadonlySet<string>;
  readonly faultName: string;
  readonly button: Markup;
  /** A box that says whether there is a limit at all: where it is not ticked, the scopes do not matter. */
  readonly limit?: { readonly label: string; readonly hint: string; readonly isLimited: boolean };
}

/** The boxes are `scopes`, the line is `more`; issues call both by `faultName`. */
export function scopesField(
  view: AdminView,
  { form, legend, granted, faultName, button, limit }: ScopesField,
): Markup {
  const typed = typedIn(view, form);
  const checked = typed === undefined ? granted : new Set(typed.getAll("scopes"));
  const box = (scope: string, index: number) =>
    html`<li><input type="checkbox" id="${form}-${index}" name="scopes" value="${scope}"${checked.has(scope) ? html` checked` : ""}>
<label for="${form}-${index}"><code>${scope}</code></label></li>`;
  const isLimited = typed === undefined ? limit?.isLimited === true : typed.has("limited");
  const switched =
    limit &&
    html`<p class="box"><input type="checkbox" id="${form}-limited" name="limited" value="yes"${isLimited ? html` checked` : ""}>
<label for="${form}-limited">${limit.label}</label></p><p class="quiet">${limit.hint}</p>`;
  return html`<fieldset><legend>${legend}</legend>${switched ?? ""}
<ul class="boxes">${[...new Set([...knownScopes(view), ...granted])].sort().map(box)}</ul>
${textField(view, { form, name: "more", label: "Others", hint: FORM_OF_SCOPES, faultName })}
<div>${button}</div></fieldset>`;
}

export function readScopes(fields: URLSearchParams): string[] {
  return [...new Set([...fields.getAll("scopes"), ...words(fields.get("more"))])];
}

/** Null: no limit. */
export function readLimitedScopes(fields: URLSearchParams): string[] | null {
  return fields.has("limited") ? readScopes(fields) : null;
}

export function words(text: string | null): string[] {
  return (text ?? "").split(/[\s,]+/).filter((word) => word !== "");
}

function knownScopes({ site, deployment }: AdminView): string[] {
  const { plugins, operators, apiClients, serviceAccounts } = deployment;
  return [
    ...site.routes().flatMap(({ scope }) => scope ?? []),
    ...plugins
      .list()
      .flatMap(({ grant, formerGrants }) =>
        [grant, ...formerGrants.map((former) => former.grant)].flatMap(({ scopes }) => [...scopes]),
      ),
    ...operators.list().flatMap(({ capabilities }) => [...capabilities]),
    ...[...apiClients.list(), ...serviceAccounts.list()].flatMap(({ scopes = [] }) => [...scopes]),
  ];
}
