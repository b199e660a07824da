// The whole state: back to the seed, written down, put back.
import { html } from "hono/html";
import { EmulatorError } from "../emulator-error.js";
import { linkTo, type Markup } from "../pages/page.js";
import type { EmulatorSnapshot } from "../snapshot/snapshot.js";
import { ADMIN_PATH, type AdminAction, type AdminPage, type AdminView } from "./admin-site.js";
import { confirmation } from "./confirmation.js";
import { form, outcomePlace } from "./form.js";

export const statePage: AdminPage = { path: "/state", title: "State", body };

export const resetAction: AdminAction = {
  path: "/reset",
  page: statePage,
  act: (site) => site.reset(),
};

export const restoreAction: AdminAction = {
  path: "/restore",
  page: statePage,
  upload: "snapshot",
  act: (site, fields) => site.restore(readSnapshot(fields.get("snapshot") ?? "")),
};

export const SNAPSHOT_PATH = "/snapshot.json";

function body(view: AdminView): Markup {
  const file = html`<div class="field"><label for="snapshot">Snapshot</label><input id="snapshot" name="snapshot" type="file" accept="application/json,.json" required></div>`;
  return html`<section class="panel"><h2>Reset</h2>
<p>Back to the seed at once: registrations, tokens, codes, sessions, clock, rules, faults, logs.</p>
${outcomePlace(view, "was-reset")}${confirmation(view, {
  id: "reset",
  action: "/reset",
  place: "was-reset",
  ask: "Reset to the seed…",
  says: "Everything that was registered, issued or recorded since is gone then. A snapshot that you download first can be put back, without the logs.",
  button: "Yes, reset everything",
})}</section>
<section class="panel"><h2>Snapshot</h2>
<p>Everything but the logs and private keys, as JSON. Nothing in it can be presented as a credential.</p>
<p><a class="button" href="${linkTo(view.deployment, ADMIN_PATH + SNAPSHOT_PATH)}" download>Download a snapshot</a></p></section>
<section class="panel"><h2>Restore</h2>
<p>Puts a snapshot in the place of the present state; options and logs stay.</p>
${form(view, { id: "restore", action: "/restore", isUpload: true, content: html`${file}<button>Restore</button>` })}</section>`;
}

export function snapshotFile({ site }: AdminView): Response {
  return Response.json(site.snapshot(), {
    headers: {
      "content-disposition": 'attachment; filename="emulator-snapshot.json"',
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
    },
  });
}

function readSnapshot(text: string): EmulatorSnapshot {
  try {
    return JSON.parse(text) as EmulatorSnapshot;
  } catch {
    throw new EmulatorError("snapshot_invalid", "snapshot", { issues: ["snapshot: is not JSON"] });
  }
}
