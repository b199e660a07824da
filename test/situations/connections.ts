// Which variant a deployment serves, and customers with credentials of either kind.
import { serviceAccount, servicePlugin } from "../../src/index.js";
import type { Answer, Answers } from "./honest-server.js";
import { account, type Expected, plugin, type Row, type Way } from "./situation.js";

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
  "an empty 401 everywhere": { status: 401 },
  "JSON with 401 everywhere": { status: 401, json: { error: "unauthorized" } },
  "JSON with 400 everywhere": { status: 400, json: { message: "bad" } },
  "a 403 everywhere": page(403),
  "a 405 everywhere": { status: 405 },
  "a 429 everywhere": { status: 429 },
  "a 503 everywhere": { status: 503 },
  "a redirect everywhere": { status: 302, headers: { location: "{base}/login" } },
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
const moved = { probe: [yes, { status: 404 }], token: page(404) };
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
  probed("a reset", { fault: "reset" }, "TransportError network_failed"),
  probed("silence", { fault: "silence" }, "TransportError timed_out"),
  row("B alone is served", onlyA, notServed, { ...serving("B"), says: /serves Variant B/ }),
  row("A alone is served", onlyB, notServed, { ...serving("A"), says: /serves Variant A/ }),
  row("neither is served", onlyA, notServed, { ...serving(""), says: /tenant id/ }),
  row("the deployment moved", both, "VariantError variant_changed", { world: { answers: moved } }),
];

const down = (): never => {
  throw Object.assign(new RangeError("the vault is down"), { code: "EVAULT" });
};
const none = () => undefined;
/** Credentials as functions, which may have none for a tenant. */
const functions = (a: () => unknown, b: () => unknown, serves: string) => ({
  ...serving(serves),
  options: {
    credentials: [
      servicePlugin(a as () => typeof plugin),
      serviceAccount(b as () => typeof account),
    ],
  },
});
const needed = async () => plugin;
const number = () => 7;
const [a, b] = [() => plugin, () => account];
const isMissing = { says: /acme/ };
const missing: Expected = "ConfigurationError credential_missing";
const invalid: Expected = "ConfigurationError credential_invalid";
const customers: readonly Row[] = [
  chosen("functions of both kinds for B", both, "B", functions(a, b, "B")),
  chosen("a function that is asynchronous", both, "A", functions(needed, none, "A")),
  chosen("an account only where both are served", both, "B", functions(none, b, "AB")),
  chosen("a vault that is down and not needed", both, "A", functions(a, down, "A")),
  row("a vault that is down", both, invalid, functions(down, b, "A")),
  row("settings that are not an object", both, invalid, functions(number, none, "A")),
  row("a plugin only where B is served", both, missing, {
    ...functions(a, none, "B"),
    ...isMissing,
  }),
  row("no credential", both, missing, { ...functions(none, none, "A"), ...isMissing }),
];

const noTenant = row("no tenant id", onlyB, "works", { options: { tenantId: undefined } });

export const connections: readonly Row[] = [...choices, ...customers, noTenant];
