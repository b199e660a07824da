// The pages on which a person steers the emulator: the overview with clock and reset, the faults,
// and the rules.
import { html } from "hono/html";
import { issueError } from "../errors.js";
import { FAULT_NAMES, type Fault, type FaultName, type FaultReport } from "../faults/faults.js";
import { AUTHORIZATION_PATH, TOKEN_PATH_A, TOKEN_PATH_B } from "../http/paths.js";
import { linkTo, type Markup } from "../pages/page.js";
import { emulatorRules, type RuleId } from "../rules.js";
import { confirmation, form, formField, membersField, readMembers } from "./form.js";
import {
  ADMIN_PATH,
  type AdminPage,
  type AdminView,
  facts,
  instant,
  livePart,
  panel,
  sectionName,
} from "./view.js";

export const overviewPage: AdminPage = {
  path: "",
  title: "Overview",
  body: overview,
  parts: { clock: currentTime },
  actions: { "/clock": steerClock, "/reset": ({ reset }) => reset() },
};

function steerClock({ deployment: { time: clock } }: AdminView, fields: URLSearchParams): void {
  const typed = (fields.get("clock") ?? "").trim();
  const move = fields.get("do");
  if (move === "freeze") clock.freeze();
  else if (move === "resume") clock.resume();
  else if (move === "reset") clock.reset();
  else if (move === "set") clock.set(/^-?\d+$/.test(typed) ? Number(typed) : typed);
  else if (typed !== "" && Number.isFinite(Number(typed))) clock.advance(Number(typed) * 1000);
  else throw issueError("option_invalid", "clock: must be a number of seconds");
}

function overview(view: AdminView): Markup {
  const texts = {
    ask: "Reset to the seed…",
    warning: "Everything that was registered, issued or recorded since the start is lost.",
    button: "Yes, reset everything",
  };
  const reset = confirmation(view, texts, { id: "reset", action: "/reset" });
  return html`${panel("served", "What is served", served(view))}${panel("clock", "Clock", clockForms(view))}
${panel("tenants", "Host applications", tenants(view))}${panel("seed", "Reset", reset)}`;
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

function currentTime({ deployment: { time: clock } }: AdminView): Markup {
  return html`<p>${instant(clock.now())} <span class="mark ${clock.frozen ? "bad" : "good"}">${clock.frozen ? "frozen" : "running"}</span></p>`;
}

function clockForms(view: AdminView): Markup {
  const button = (id: string, text: string) =>
    html`<button name="do" value="${id}">${text}</button>`;
  const field = {
    name: "clock",
    label: "Seconds or instant",
    hint: "Seconds to advance by, also negative ones. Or 2026-03-01T12:00:00Z or epoch milliseconds to set.",
    value: "120",
  };
  const toggle = view.deployment.time.frozen
    ? button("resume", "Resume")
    : button("freeze", "Freeze");
  const content = html`${formField(view, "steer", field)}
<div class="row">${button("advance", "Advance")} ${button("set", "Set")} ${toggle} ${button("reset", "Reset")}</div>`;
  return html`${livePart(view, "clock", currentTime)}${form(view, { id: "steer", action: "/clock", content })}`;
}

function tenants({ deployment }: AdminView): Markup {
  const { plugins, operators, settings } = deployment;
  const records = settings.variants.includes("A") ? [...plugins.list(), ...operators.list()] : [];
  const ids = [...new Set(records.map(({ tenantId }) => tenantId))];
  if (ids.length === 0) {
    return html`<p class="quiet">No tenant has a plugin or an operator of Variant A. Register in code, by a seed, or on the pages of this menu.</p>`;
  }
  const host = (id: string) =>
    html`<li><a href="${linkTo(deployment, `/host/${encodeURIComponent(id)}`)}"><code>${id}</code></a></li>`;
  return html`<ul>${ids.map(host)}</ul>`;
}

export const faultsPage: AdminPage = {
  path: "/faults",
  title: "Faults",
  body: faultForms,
  parts: { faults: armed },
  actions: {
    "/faults": ({ deployment: { faults } }, fields) =>
      faults.add({ ...readMembers(fields), name: fields.get("name") } as Fault),
    "/faults/remove": ({ deployment: { faults } }, fields) => {
      const id = fields.get("remove");
      if (id === null) faults.clear();
      else faults.remove(id);
    },
  },
};

/** Its other members, for each fault, as they first stand in the form. */
const EXAMPLES: Readonly<Record<FaultName, object>> = {
  status: { status: 503, match: { operation: "listDevices" }, count: 3 },
  "rate-limited": { retryAfter: 7 },
  reset: { probability: 0.5, seed: 1, count: "always" },
  truncated: { bytes: 3 },
  slow: { delayMs: 2000 },
  "malformed-json": {},
  "content-type": { contentType: "text/html" },
  fields: { fields: { expires_in: null } },
  "lost-answer": { match: { grant: "refresh_token" } },
  "duplicate-auth-code": {},
  "skewed-date": { byMs: -60_000 },
};

function faultForms(view: AdminView): Markup {
  const asked = view.query.get("name");
  const name = FAULT_NAMES.find((known) => known === asked) ?? "status";
  const choose = (other: FaultName) =>
    html`<li><a href="${linkTo(view.deployment, `${ADMIN_PATH}/faults`)}?name=${other}#arm"${other === name ? html` aria-current="true"` : ""}>${other}</a></li>`;
  const hint = "A JSON object: what the fault needs, and at, count, match, probability and seed.";
  const members = membersField(EXAMPLES[name], hint);
  const content = html`${formField(view, "arm", members)}<button class="primary">Arm it</button>`;
  const choices = html`<nav aria-label="Faults"><ul class="choices">${FAULT_NAMES.map(choose)}</ul></nav>
${form(view, { id: "arm", action: `/faults?name=${name}`, hidden: { name }, content })}`;
  return html`${panel("armed", "Armed", livePart(view, "faults", armed))}${panel("arm-name", `Arm: ${name}`, choices)}`;
}

function armed(view: AdminView): Markup {
  const reports = view.deployment.faults.list();
  if (reports.length === 0) return html`<p class="quiet">No fault is armed.</p>`;
  const row = ({ id, fault: { name, ...rest }, fired, left }: FaultReport) =>
    html`<li><div class="row"><code class="rule">${name}</code> <span class="quiet">fired ${fired}, ${left === "always" ? "always armed" : `${left} left`}</span>
<button class="end" name="remove" value="${id}" aria-label="Remove ${name}, ${id}">Remove</button></div>
<p class="quiet"><code>${JSON.stringify(rest)}</code></p></li>`;
  const content = html`<ul class="rules">${reports.map(row)}</ul><div><button>Remove all</button></div>`;
  return form(view, { id: "disarm", action: "/faults/remove", content });
}

export const rulesPage: AdminPage = {
  path: "/rules",
  title: "Rules",
  body: switches,
  actions: {
    "/rules": ({ deployment }, fields) =>
      deployment.switches.enforce(
        (fields.get("rule") ?? "") as RuleId,
        fields.get("enforce") === "true",
      ),
  },
};

const ids = Object.keys(emulatorRules) as RuleId[];
/** A group is the part of an id before the dot. */
const groups = [...new Set(ids.map((id) => id.split(".")[0] ?? ""))];

function switches(view: AdminView): Markup {
  const off = view.deployment.switches.off();
  const group = (name: string) =>
    html`<fieldset class="panel"><legend>${name}</legend><ul class="rules">${ids.filter((id) => id.startsWith(`${name}.`)).map((id) => rule(view, id))}</ul></fieldset>`;
  const links = off.map((id) => html`<a href="#${id}"><code>${id}</code></a> `);
  return html`<p>${off.length === 0 ? `All ${ids.length} rules are enforced.` : html`<span class="mark bad">${off.length} off</span> ${links}`}</p>
${groups.map(group)}`;
}

function rule(view: AdminView, id: RuleId): Markup {
  const { says, section, off, answer } = emulatorRules[id];
  const isOn = view.deployment.switches.isEnforced(id);
  const button = isOn ? "Switch off" : "Enforce";
  const content = html`<button aria-label="${button} ${id}">${button}</button>`;
  const shape = {
    id,
    action: "/rules",
    hidden: { rule: id, enforce: String(!isOn) },
    className: "end",
  };
  return html`<li><div class="row"><code class="rule">${id}</code>
<span class="quiet">${sectionName(section)} · ${answer.status} ${answer.error ?? ""}</span>${off === undefined ? "" : form(view, { ...shape, content })}</div>
<p>${says}</p>${off === undefined ? "" : html`<p class="quiet">${isOn ? "While off: " : html`<span class="mark bad">off</span> `}${off}</p>`}</li>`;
}
