// The first page at /_emulator: what is served, the clock, the tenants, and the reset.
import { html } from "hono/html";
import { EmulatorError } from "../errors.js";
import { linkTo, type Markup } from "../pages/page.js";
import { AUTHORIZATION_PATH, TOKEN_PATH_A, TOKEN_PATH_B } from "../paths.js";
import { confirmation, form, outcomePlace, textField } from "./form.js";
import { type AdminAction, type AdminPage, type AdminView, facts, instant, livePart } from "./view.js";

export const overviewPage: AdminPage = { path: "", title: "Overview", body };

export const clockAction: AdminAction = {
  path: "/clock",
  page: overviewPage,
  act({ emulator: { clock } }, fields) {
    const read = (name: string) => (fields.get(name) ?? "").trim();
    switch (fields.get("do")) {
      case "freeze":
        return clock.freeze();
      case "resume":
        return clock.resume();
      case "reset":
        return clock.reset();
      case "set":
        return clock.set(/^-?\d+$/.test(read("instant")) ? Number(read("instant")) : read("instant"));
      default: {
        const seconds = read("seconds") === "" ? Number.NaN : Number(read("seconds"));
        if (Number.isFinite(seconds)) return clock.advance(seconds * 1000);
        throw new EmulatorError("option_invalid", "clock", { issues: ["seconds: must be a number"] });
      }
    }
  },
};

export const resetAction: AdminAction = {
  path: "/reset",
  page: overviewPage,
  act: ({ emulator }) => emulator.reset(),
};

function body(view: AdminView): Markup {
  return html`<section class="panel" aria-labelledby="served"><h2 id="served">What is served</h2>${served(view)}</section>
<section class="panel" aria-labelledby="clock"><h2 id="clock">Clock</h2>${clockForms(view)}</section>
<section class="panel" aria-labelledby="tenants"><h2 id="tenants">Tenants</h2>${tenants(view)}</section>
<section class="panel"><h2>Reset</h2>
<p>Goes back to the seed: registrations, tokens, codes, sessions, clock, rules, faults, journal and log.</p>
${outcomePlace(view, "was-reset")}${confirmation(view, {
  id: "reset",
  action: "/reset",
  place: "was-reset",
  ask: "Reset to the seed…",
  warning: "Everything that was registered, issued or recorded since the start is lost.",
  button: "Yes, reset everything",
})}</section>`;
}

function served({ deployment }: AdminView): Markup {
  const { variants } = deployment.settings;
  const base = deployment.publicUrl();
  return facts({
    Variants: variants.join(" and "),
    "Base URL": html`<code>${base}</code>`,
    ...(variants.includes("A") && { "Token endpoint, Variant A": html`<code>${base}${TOKEN_PATH_A}</code>` }),
    ...(variants.includes("B") && {
      "Token endpoint, Variant B": html`<code>${base}${TOKEN_PATH_B}</code>`,
      "Authorization endpoint": html`<code>${base}${AUTHORIZATION_PATH}</code>`,
    }),
  });
}

export function currentTime({ emulator: { clock } }: AdminView): Markup {
  return html`<p class="now">${instant(clock.now())} <span class="mark ${clock.frozen ? "bad" : "good"}">${clock.frozen ? "frozen" : "running"}</span></p>`;
}

function clockForms(view: AdminView): Markup {
  const [button, text] = view.emulator.clock.frozen ? ["resume", "Resume"] : ["freeze", "Freeze"];
  const seconds = { form: "advance", name: "seconds", label: "Advance by seconds", value: "120" };
  const set = { form: "set", name: "instant", label: "Set to", issuePath: "clock", required: true };
  return html`${livePart(view, "clock", currentTime(view))}
${form(view, {
  id: "run",
  action: "/clock",
  className: "row",
  content: html`<button name="do" value="${button}">${text}</button> <button name="do" value="reset">Reset</button>`,
})}
${form(view, {
  id: "advance",
  action: "/clock",
  className: "line",
  content: html`${textField(view, { ...seconds, hint: "A negative number goes back." })}<button name="do" value="advance">Advance</button>`,
})}
${form(view, {
  id: "set",
  action: "/clock",
  className: "line",
  content: html`${textField(view, { ...set, hint: "2026-03-01T12:00:00Z, or epoch milliseconds." })}<button name="do" value="set">Set</button>`,
})}`;
}

/** Counts the registrations of each tenant. An API client may belong to none, and then serves the people of all. */
function tenants({ deployment }: AdminView): Markup {
  const { plugins, serviceAccounts, apiClients, operators } = deployment;
  const lists = [plugins, serviceAccounts, apiClients, operators].map((records) =>
    records.list().map(({ tenantId }) => tenantId),
  );
  const ids = [...new Set(lists.flat())].sort(
    (a, b) => (a === undefined ? 1 : 0) - (b === undefined ? 1 : 0),
  );
  if (ids.length === 0) {
    return html`<p class="quiet">Nothing is registered yet. Register in code, by a seed, or on the pages above.</p>`;
  }
  const isHosted = deployment.settings.variants.includes("A");
  const row = (
    id: string | undefined,
  ) => html`<tr><th scope="row">${id === undefined ? "every tenant" : html`<code>${id}</code>`}</th>
<td>${isHosted && id !== undefined ? html`<a href="${linkTo(deployment, `/host/${encodeURIComponent(id)}`)}">Host application</a>` : ""}</td>
${lists.map((list) => html`<td>${list.filter((tenantId) => tenantId === id).length}</td>`)}</tr>`;
  return html`<div class="scroll" tabindex="0" role="group" aria-labelledby="tenants"><table><thead><tr><th>Tenant</th><td></td><th>Plugins</th><th>Service accounts</th>
<th>API clients</th><th>Operators</th></tr></thead><tbody>${ids.map(row)}</tbody></table></div>`;
}
