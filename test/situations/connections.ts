// Which variant a deployment serves, customers with credentials of either kind, and settings that cannot work.
import { serviceAccount, servicePlugin } from "../../src/index.js";
import type { Answer } from "./honest-server.js";
import { account, type Expected, plugin, type Row, type Way } from "./situation.js";

const both = "connect, both variants" as const;
const preferB = "connect, Variant B preferred" as const;
const notServed: Expected = "VariantError variant_not_served";
const unclear: Expected = "VariantError variant_unknown";

const fixed = "The token request was rejected";
const yes: Answer = { status: 400, json: { error: "unsupported_grant_type", error_description: fixed } };
const page = (status: number): Answer => ({ status, text: "<h1>Hi</h1>", type: "text/html" });
const as = (variant: "A" | "B") => ({ expected: "works" as const, outcome: { variant } });

/** Each kind of server that tells nothing, by its answer to every question. */
const silentServers: Readonly<Record<string, Answer>> = {
  "pages everywhere": page(200),
  "JSON with 200 everywhere": { json: {} },
  "an empty 401 everywhere": { status: 401 },
  "JSON with 401 everywhere": { status: 401, json: { error: "unauthorized" } },
  "JSON with 400 everywhere": { status: 400, json: { message: "bad" } },
  "a 403 everywhere": page(403),
  "a 405 everywhere": { status: 405 },
  "a 429 everywhere": { status: 429 },
  "a 500 everywhere": page(500),
  "a 503 everywhere": { status: 503 },
  "a redirect everywhere": { status: 302, headers: { location: "{base}/login" } },
};

const moved = { probe: [yes, { status: 404 }], token: page(404) };
const choices: readonly Row[] = [
  { name: "A alone is served", way: both, world: { serves: "A" }, ...as("A"), sent: { probe: 1 } },
  { name: "B alone is served", way: both, world: { serves: "B" }, ...as("B"), sent: { probe: 3 } },
  { name: "both are served", way: both, ...as("A"), sent: { probe: 1, token: 1 } },
  { name: "both are served", way: preferB, ...as("B"), sent: { probe: 2, token: 1 } },
  { name: "A alone is served", way: preferB, world: { serves: "A" }, ...as("A") },
  { name: "neither is served", way: both, world: { serves: "" }, expected: notServed, sent: { token: 0 } },
  { name: "everything is gone", way: both, at: "probe", answers: { status: 410 }, expected: notServed },
  { name: "the text without a full stop", way: both, at: "probe", answers: [yes], ...as("A") },
  ...[400, 401, 415, 422].map((status): Row => {
    const answers = [{ status: 404 }, { status, json: { title: "No" } }];
    return {
      name: `B refuses with ${status}`,
      way: both,
      at: "probe",
      world: { serves: "B" },
      answers,
      ...as("B"),
    };
  }),
  ...Object.entries(silentServers).map(([name, answers]): Row => {
    return {
      name,
      way: both,
      at: "probe",
      answers,
      expected: unclear,
      sent: { token: 0 },
      says: /variant: "A"/,
    };
  }),
  {
    name: "a reset",
    way: both,
    at: "probe",
    answers: { fault: "reset" },
    expected: "TransportError network_failed",
  },
  {
    ...{ name: "silence", way: both, at: "probe", answers: { fault: "silence" }, options: { timeoutMs: 60 } },
    expected: "TransportError timed_out",
  },
  { name: "B is named", way: both, options: { variant: "B" }, ...as("B"), sent: { probe: 0 } },
  { name: "A is named", way: preferB, options: { variant: "A" }, ...as("A"), sent: { probe: 0 } },
  {
    name: "B alone is served",
    way: "connect, Variant A",
    world: { serves: "B" },
    expected: notServed,
    says: /serves Variant B/,
  },
  {
    name: "A alone is served",
    way: "connect, Variant B",
    world: { serves: "A" },
    expected: notServed,
    says: /serves Variant A/,
  },
  {
    name: "neither is served",
    way: "connect, Variant A",
    world: { serves: "" },
    expected: notServed,
    says: /tenant id/,
  },
  {
    name: "the deployment moved",
    way: both,
    world: { answers: moved },
    expected: "VariantError variant_changed",
  },
];

const down = (): never => {
  throw Object.assign(new RangeError("the vault is down"), { code: "EVAULT" });
};
const none = () => undefined;
/** Credentials as functions, which may have none for a tenant. */
const functions = (a: () => unknown, b: () => unknown) => ({
  credentials: [servicePlugin(a as () => typeof plugin), serviceAccount(b as () => typeof account)],
});
const later = async <T>(value: T): Promise<T> => value;
const missing: Expected = "ConfigurationError credential_missing";
const invalid: Expected = "ConfigurationError credential_invalid";
const customers: readonly Row[] = [
  ...[
    { name: "functions of both kinds", a: () => plugin, b: () => account, serves: "A", ...as("A") },
    { name: "functions of both kinds", a: () => plugin, b: () => account, serves: "B", ...as("B") },
    { name: "functions that are asynchronous", a: () => later(plugin), b: none, serves: "A", ...as("A") },
    { name: "a customer with a plugin only", a: () => plugin, b: none, serves: "A", ...as("A") },
    { name: "a customer with an account only", a: none, b: () => account, serves: "B", ...as("B") },
    { name: "an account only where both are served", a: none, b: () => account, serves: "AB", ...as("B") },
    { name: "a plugin only where B is served", a: () => plugin, b: none, serves: "B", expected: missing },
    { name: "a customer with no credential", a: none, b: none, serves: "A", expected: missing },
    { name: "a vault that is down and not needed", a: () => plugin, b: down, serves: "A", ...as("A") },
    { name: "a vault that is down", a: down, b: () => account, serves: "A", expected: invalid },
    { name: "settings that are not an object", a: () => 7, b: none, serves: "A", expected: invalid },
  ].map(({ name, a, b, serves, ...rest }): Row => {
    const says = rest.expected === missing ? { says: /acme/ } : {};
    const row = { ...rest, expected: rest.expected as Expected, ...says };
    return {
      ...row,
      name: `${name}, ${serves || "none"} served`,
      way: both,
      world: { serves },
      options: functions(a, b),
    };
  }),
];

/** Settings that cannot work are rejected before anything is sent. */
const mistake = (name: string, code: string, options: object, way: Way = both): Row => {
  return { name, way, options, expected: `ConfigurationError ${code}`, sent: { probe: 0, token: 0 } };
};
const mistakes: readonly Row[] = [
  mistake("retries below 0", "option_invalid", { retries: -1 }),
  mistake("retries as a text", "option_invalid", { retries: "2" }),
  mistake("bearerStatuses as a number", "option_invalid", { bearerStatuses: 401 }),
  { name: "no tenant id", way: "connect, Variant B", options: { tenantId: undefined }, expected: "works" },
];

export const connections: readonly Row[] = [...choices, ...customers, ...mistakes];
