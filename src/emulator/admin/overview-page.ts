// The first page at /_emulator: what is served, the clock, the tenants, and the reset.
import { html } from "hono/html";
import { EmulatorError } from "../errors.js";
import { linkTo, type Markup } from "../pages/page.js";
import { AUTHORIZATION_PATH, TOKEN_PATH_A, TOKEN_PATH_B } from "../paths.js";
import { confirmation, form, textField } from "./form.js";
import { type AdminPage, type AdminView, facts, instant, livePart, panel } from "./view.js";

export const overviewPage: AdminPage = {
  path: "",
  title: "Overview",
  body,
  parts: { clock: currentTime },
  actions: { "/clock": steerClock, "/reset": ({ emulator }) => emulator.reset() },
};

function steerClock({ emulator: { clock } }: AdminView, fields: URLSearchParams): void {
  const typed = (fields.get("clock") ?? "").trim();
  const move = fields.get("do");
  if (move === "freeze") clock.freeze();
  else if (move === "resume") clock.resume();
  else if (move === "reset") clock.reset();
  else if (move === "set") clock.set(/^-?\d+$/.test(typed) ? Number(typed) : typed);
  else if (typed !== "" && Number.isFinite(Number(typed))) clock.advance(Number(typed) * 1000);
  else throw new EmulatorError("option_invalid", "clock", { issues: ["clock: must be a number of seconds"] });
}

function body(view: AdminView): Markup {
  const texts = {
    ask: "Reset to the seed…",
    warning: "Everything that was registered, issued or recorded since the start is lost.",
    button: "Yes, reset everything",
  };
  const reset = confirmation(view, texts, { id: "reset", action: "/reset" });
  return html`${panel("served", "What is served", served(view))}${panel("clock", "Clock", clockForms(view))}
${panel("tenants", "Tenants", tenants(view))}${panel("seed", "Reset", reset)}`;
}

function served({ deployment }: AdminView): Markup {
  const { variants } = deployment.settings;
  const url = (path: string) => html`<code>${deployment.publicUrl()}${path}</code>`;
  return facts({
    Variants: variants.join(" and "),
    "Base URL": url(""),
    ...(variants.includes("A") && { "Token endpoint, Variant A": url(TOKEN_PATH_A) }),
    ...(variants.includes("B") && {
      "Token endpoint, Variant B": url(TOKEN_PATH_B),
      "Authorization endpoint": url(AUTHORIZATION_PATH),
    }),
  });
}

function currentTime({ emulator: { clock } }: AdminView): Markup {
  return html`<p>${instant(clock.now())} <span class="mark ${clock.frozen ? "bad" : "good"}">${clock.frozen ? "frozen" : "running"}</span></p>`;
}

function clockForms(view: AdminView): Markup {
  const button = (id: string, text: string) => html`<button name="do" value="${id}">${text}</button>`;
  const toggle = view.emulator.clock.frozen ? button("resume", "Resume") : button("freeze", "Freeze");
  const line = (id: string, field: object, submit: Markup) => {
    const content = html`${textField(view, { form: id, name: "clock", ...field })}${submit}`;
    return form(view, { id, action: "/clock", className: "line", content });
  };
  const seconds = { label: "Advance by seconds", value: "120", hint: "A negative number goes back." };
  const at = { label: "Set to", required: true, hint: "2026-03-01T12:00:00Z, or epoch milliseconds." };
  return html`${livePart(view, "clock", currentTime)}
${form(view, { id: "run", action: "/clock", className: "row", content: html`${toggle} ${button("reset", "Reset")}` })}
${line("advance", seconds, button("advance", "Advance"))}${line("set", at, button("set", "Set"))}`;
}

function tenants({ deployment }: AdminView): Markup {
  const { plugins, serviceAccounts, apiClients, operators, settings } = deployment;
  const records = [plugins, serviceAccounts, apiClients, operators].flatMap((registry) => [
    ...registry.list().map(({ tenantId }) => tenantId),
  ]);
  const ids = [...new Set(records.filter((id) => id !== undefined))];
  if (ids.length === 0) {
    return html`<p class="quiet">Nothing is registered yet. Register in code, by a seed, or on the pages of this menu.</p>`;
  }
  const host = (id: string) =>
    html` <a href="${linkTo(deployment, `/host/${encodeURIComponent(id)}`)}">Host application</a>`;
  return html`<ul>${ids.map((id) => html`<li><code>${id}</code>${settings.variants.includes("A") ? host(id) : ""}</li>`)}</ul>`;
}
