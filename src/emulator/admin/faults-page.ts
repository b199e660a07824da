// The armed faults, and a form for each fault that arms it.
import { html } from "hono/html";
import type { FaultReport } from "../faults/faults.js";
import { type FaultName, faultMoments, faultSchema } from "../faults/faults.js";
import { linkTo, type Markup } from "../pages/page.js";
import { form, readSchemaFields, schemaFields } from "./form.js";
import { ADMIN_PATH, type AdminPage, type AdminView, livePart, panel } from "./view.js";

export const faultsPage: AdminPage = {
  path: "/faults",
  title: "Faults",
  body,
  parts: { faults: armed },
  actions: {
    "/faults": ({ emulator }, fields) => {
      const name = (fields.get("name") ?? "") as FaultName;
      const known = faultNames.includes(name) ? readSchemaFields(fields, shapeOf(name)) : {};
      emulator.faults.add({ ...known, name } as Parameters<typeof emulator.faults.add>[0]);
    },
    "/faults/remove": ({ emulator: { faults } }, fields) => {
      const id = fields.get("remove");
      if (id === null) faults.clear();
      else faults.remove(id);
    },
  },
};

const faultNames = Object.keys(faultMoments) as FaultName[];
const HINTS = {
  at: "Default: the first, or resource with an operation of the API.",
  count: "A number of requests, or always. Default: 1.",
  seed: "Makes the draws repeatable.",
  headers: '{"x-request-id": "1"}.',
  retryAfter: "Seconds, date, absent, or any other text as it is. Default: 1.",
  fields: 'null removes a field: {"expires_in": null}.',
  byMs: "Milliseconds; negative is the past.",
};

/** A fault without moments, `duplicate-auth-code`, has no member `at`. */
function shapeOf(name: FaultName): Parameters<typeof readSchemaFields>[1] {
  return { schema: faultSchema(name), omit: faultMoments[name].length === 0 ? ["name", "at"] : ["name"] };
}

function body(view: AdminView): Markup {
  const asked = view.query.get("name");
  const name = faultNames.find((known) => known === asked) ?? "status";
  const choose = (other: FaultName) =>
    html`<li><a href="${linkTo(view.deployment, `${ADMIN_PATH}/faults`)}?name=${other}#arm"${other === name ? html` aria-current="true"` : ""}>${other}</a></li>`;
  const fields = schemaFields(view, "arm", { ...shapeOf(name), hints: HINTS });
  const content = html`${fields}<button class="primary">Arm it</button>`;
  const choices = html`<nav aria-label="Faults"><ul class="choices">${faultNames.map(choose)}</ul></nav>
${form(view, { id: "arm", action: `/faults?name=${name}`, hidden: { name }, content })}`;
  return html`${panel("armed", "Armed", livePart(view, "faults", armed))}${panel("arm-name", `Arm: ${name}`, choices)}`;
}

function armed(view: AdminView): Markup {
  const reports = view.emulator.faults.list();
  if (reports.length === 0) return html`<p class="quiet">No fault is armed.</p>`;
  const row = ({ id, fault: { name, ...rest }, fired, left }: FaultReport) =>
    html`<li><div class="row"><code class="rule">${name}</code> <span class="quiet">fired ${fired}, ${left === "always" ? "always armed" : `${left} left`}</span>
<button class="end" name="remove" value="${id}" aria-label="Remove ${name}, ${id}">Remove</button></div>
<p class="quiet"><code>${JSON.stringify(rest)}</code></p></li>`;
  const content = html`<ul class="rules">${reports.map(row)}</ul><div><button>Remove all</button></div>`;
  return form(view, { id: "disarm", action: "/faults/remove", content });
}
