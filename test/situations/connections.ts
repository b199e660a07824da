// Which variant a deployment serves.
import type { Answer, Answers } from "./honest-server.js";
import type { Expected, Row, Way } from "./situation.js";

const both = "connect, both variants" as const;
const preferB = "connect, Variant B preferred" as const;
const onlyA = "connect, Variant A" as const;
const onlyB = "connect, Variant B" as const;
const notServed: Expected = "VariantError variant_not_served";
const unclear: Expected = "VariantError variant_unknown";

const fixed = "The token request was rejected";
const yes: Answer = {
  status: 400,
  json: { error: "unsupported_grant_type", error_description: fixed },
};
const page = (status: number): Answer => ({ status, text: "<h1>Hi</h1>", type: "text/html" });

/** Servers whose answers do not show what they serve. Each answers every question alike. */
const silentServers: Readonly<Record<string, Answer>> = {
  "pages everywhere": page(200),
  "JSON with 401 everywhere": { status: 401, json: { error: "unauthorized" } },
  "a 429 everywhere": { status: 429 },
};

const row = (name: string, way: Way, expected: Expected, more: Partial<Row>): Row => {
  return { name, way, expected, ...more };
};
/** The call reaches the variant that is served. */
const chosen = (name: string, way: Way, variant: "A" | "B", more: Partial<Row> = {}): Row =>
  row(name, way, "works", { outcome: { variant }, ...more });
const probed = (name: string, answers: Answers, expected: Expected, more: Partial<Row> = {}) =>
  row(name, both, expected, { at: "probe", answers, sent: { token: 0 }, ...more });
const serving = (serves: string) => ({ world: { serves } });
const choices: readonly Row[] = [
  chosen("A alone is served", both, "A", { ...serving("A"), sent: { probe: 1 } }),
  chosen("B alone is served", both, "B", { ...serving("B"), sent: { probe: 3 } }),
  chosen("both are served", both, "A", { sent: { probe: 1, token: 1 } }),
  chosen("both are served", preferB, "B", { sent: { probe: 2, token: 1 } }),
  chosen("A alone is served", preferB, "A", serving("A")),
  chosen("the text without a full stop", both, "A", { at: "probe", answers: [yes] }),
  ...[400, 401, 415, 422].map((status) => {
    const answers = [{ status: 404 }, { status, json: { title: "No" } }];
    return chosen(`B refuses with ${status}`, both, "B", { ...serving("B"), at: "probe", answers });
  }),
  chosen("B is named", both, "B", { options: { variant: "B" }, sent: { probe: 0 } }),
  probed("neither is served", [], notServed, serving("")),
  ...Object.entries(silentServers).map(([name, answer]) =>
    probed(name, answer, unclear, { says: /variant: "A"/ }),
  ),
  row("B alone is served", onlyA, notServed, { ...serving("B"), says: /serves Variant B/ }),
  row("A alone is served", onlyB, notServed, { ...serving("A"), says: /serves Variant A/ }),
  row("neither is served", onlyA, notServed, { ...serving(""), says: /tenant id/ }),
];

const noTenant = row("no tenant id", onlyB, "works", { options: { tenantId: undefined } });

export const connections: readonly Row[] = [...choices, noTenant];
