// What a run teaches: the overlay for the documents of this package, and a deployment's settings.
import { readFileSync } from "node:fs";
import { query } from "json-p3";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { type ContractResult, learnFrom, type Observation } from "../../src/contract/index.js";
import { inferSchema } from "../../src/contract/learning/schema.js";
import { createEmulator, type RuleId } from "../../src/emulator/index.js";
import { createRig } from "./rig.js";

type Variant = "A" | "B";

interface Action {
  readonly target: string;
  readonly "x-variant": Variant;
  readonly update?: unknown;
}

const documents = {
  A: parse(readFileSync("openapi/variant-a.yaml", "utf8")),
  B: parse(readFileSync("openapi/variant-b.yaml", "utf8")),
};

const words = { section: "1", says: "", expected: "", observed: "" };
const learnt = { id: "a-case", variant: "A", result: "learnt", ...words } as const;
const request = { note: "", method: "GET", url: "", fields: [], body: "", milliseconds: 1 };
const answered = { status: 200, headers: [] };
const listed = { operation: "listDevices", status: 200, headers: ["content-type"] } as const;

/** A result with answers, of which the body is given as a value. */
function result(
  one: Partial<Omit<ContractResult, "evidence">>,
  ...answers: (Partial<Observation> & { readonly body?: unknown })[]
): ContractResult {
  const { variant = "A" } = one;
  const evidence = answers.map(({ body, ...answer }) => {
    const json = { contentType: "application/json", schema: inferSchema(body) };
    const observation = { variant, ...listed, ...(body !== undefined && json), ...answer };
    return { ...request, ...answered, observation };
  });
  return { ...learnt, ...one, evidence };
}

const actionsOf = (results: Iterable<ContractResult>): readonly Action[] =>
  parse(learnFrom(results).overlay).actions;

const requestToken = { operation: "requestToken" } as const;
const bearer = { operation: "bearer" } as const;
const revoOfA = { tenant: "x", user: { email: "x" }, roles: [{ id: 1 }], site: 1 };
const tokenOfA = { access_token: "t", token_type: "Bearer", expires_in: 900 };

/** What a run observed, one thing after the other. `learnt.example.yaml` is the overlay. */
const results: readonly ContractResult[] = [
  result({ unknown: "device-body" }, { body: [{ id: "a" }] }, { body: [{ id: "b", room: null }] }),
  result({ variant: "B" }, { body: { items: [], next: "x" } }),
  // Headers of HTTP itself are left out.
  result(
    {},
    { headers: ["date", "retry-after", "server", "x-request-id", "ratelimit-limit", "!"] },
  ),
  result({}, { ...bearer, status: 401 }, { ...bearer, status: 403, body: { error: "x" } }),
  result(
    { unknown: "token-success-status" },
    { ...requestToken, status: 201, body: { ...tokenOfA, scope: "x", revo: revoOfA } },
  ),
  result({ unknown: "revo-spelling", settings: { revoShape: "nested" } }),
  result(
    { unknown: "user-id-type", settings: { userIdType: "number" } },
    { ...requestToken, status: 201, body: { revo: { user: { userId: 7 } } } },
  ),
  result({ settings: { tokenLifetimeSeconds: 900 } }),
  result({ settings: { rateLimit: { requests: 5, windowSeconds: 60 } } }),
  result({ variant: "B", settings: { codeLifetimeSeconds: 30 } }),
  // Of Variant B both statuses were seen, so that both are described.
  result(
    { variant: "B", unknown: "token-success-status" },
    { ...requestToken, status: 201, body: { access_token: "x", token_type: "x" } },
    { ...requestToken, body: { access_token: "x" } },
    { operation: "refresh", body: { access_token: "x", expires_in: 1 } },
  ),
  result(
    { variant: "B", unknown: "variant-b-errors" },
    { ...requestToken, status: 400, body: { code: 1 } },
    { ...requestToken, status: 400, body: { code: 2, hint: "x" } },
    { ...requestToken, status: 401, contentType: "text/html" },
  ),
];

const nothing: readonly ContractResult[] = [
  result({ unknown: "device-body", result: "not tried" }),
  result({ unknown: "variant-b-errors" }),
  result({ unknown: "'] | $.info" }),
  result({}, { status: 503, body: {} }, { status: 302 }),
];

describe("the overlay", () => {
  test("holds statuses, headers, bodies, fields and limits, and removes the marks of what was answered", async () => {
    await expect(learnFrom(results).overlay).toMatchFileSnapshot("learnt.example.yaml");
  });

  test("has no action that matches nothing in the document of its variant", () => {
    for (const { target, "x-variant": variant } of actionsOf(results))
      expect(query(target, documents[variant]).length, target).toBeGreaterThan(0);
  });

  test("removes the other spelling, if revo is flat", () => {
    const target = "$.components.schemas.TokenResponse.properties['revo']";
    const [action] = actionsOf([result({ settings: { revoShape: "flat" } })]);
    expect(action).toMatchObject({ target, remove: true });
  });

  test("changes nothing for what was not answered, is not in the document, or is a fault or a redirect", () => {
    expect(actionsOf(nothing)).toEqual([
      { target: "$", description: expect.any(String), update: {} },
    ]);
  });

  test("leaves out a setting that no option can have, and names it", () => {
    const endless = result({ settings: { tokenLifetimeSeconds: 1e300 } });
    const { settings, conflicts } = learnFrom([endless]);
    expect(settings).toEqual({});
    expect(conflicts).toEqual([expect.stringMatching(/^tokenLifetimeSeconds /)]);
  });

  test("keeps what was answered in words, each once, in the document of its variant", () => {
    const answers = [
      result({ unknown: "clock-drift", observed: "Refused." }),
      result({ unknown: "clock-drift", observed: "Accepted." }),
      result({ unknown: "clock-drift", observed: "Refused." }),
      result({ unknown: "variant-b-code-rules", variant: "B", observed: "Two minutes." }),
    ];
    const words = actionsOf(answers).filter(({ target }) => target === "$.info");
    expect(words.map((action) => [action["x-variant"], action.update])).toEqual([
      ["A", { "x-answered": { "clock-drift": "Accepted. Refused." }, "x-observed": true }],
      ["B", { "x-answered": { "variant-b-code-rules": "Two minutes." }, "x-observed": true }],
    ]);
  });

  test("is the same for the same results in another order, or stored as JSON", () => {
    const learnt = learnFrom(results);
    expect(learnFrom(results.toReversed())).toEqual(learnt);
    expect(learnFrom(new Set(JSON.parse(JSON.stringify([...results, ...results]))))).toEqual(
      learnt,
    );
  });
});

describe("the settings hold", () => {
  const settingsOf = (...results: ContractResult[]) => learnFrom(results).settings;
  const set = (refreshTokens: object) => ({ refreshTokens });

  test("what all cases learnt, with groups and lists merged, under sorted names", () => {
    const settings = settingsOf(
      result({ settings: { successStatus: 201, unauthorizedStatuses: [403] } }),
      result({ settings: { successStatus: 201, refreshTokens: { rotation: true } } }),
      result({ settings: { unauthorizedStatuses: [401], requireKid: undefined, envelope: {} } }),
      result({ settings: { refreshTokens: { reuseDetection: false } } }),
    );
    const refreshTokens = { rotation: true, reuseDetection: false };
    const merged = { refreshTokens, successStatus: 201, unauthorizedStatuses: [401, 403] };
    expect(JSON.stringify(settings)).toBe(JSON.stringify({ envelope: {}, ...merged }));
  });

  test("no option for which cases learnt different values; the conflict names each case and its value", () => {
    const { settings, conflicts } = learnFrom([
      result({ id: "status.a", settings: { successStatus: 201, requireKid: false } }),
      result({ id: "status.b", variant: "B", settings: { successStatus: 200 } }),
      result({ id: "status.c", variant: "B", settings: { successStatus: 200 } }),
    ]);
    expect(settings).toEqual({ requireKid: false });
    expect(conflicts).toEqual([
      "successStatus was learnt as 201 by status.a, 200 by status.b, 200 by status.c.",
    ]);
  });

  test.each([
    ["A", ["A"], []],
    ["B", [], ["B"]],
    ["A,B", ["A"], ["B"]],
    [undefined, ["A"], undefined],
  ])("the variants %s, if both were asked", (expected, ofA, ofB) => {
    const unknown = "current-variant";
    const results = [result({ unknown, settings: { variants: ofA as ["A"] } })];
    if (ofB) results.push(result({ unknown, variant: "B", settings: { variants: ofB as ["B"] } }));
    expect(settingsOf(...results).variants?.join()).toBe(expected);
  });

  test("a rule as off only if each of its cases that was tried was accepted", () => {
    const breaks = { result: "breaks" } as const;
    const accepted = { ...breaks, accepted: true } as const;
    const one = (id: string, rule: RuleId, more: object) => result({ id, rule, ...more });
    const { settings, conflicts } = learnFrom([
      one("code.plugin", "code.plugin", accepted),
      one("assertion.id.missing", "assertion.id", accepted),
      one("assertion.id.number", "assertion.id", { result: "not tried" }),
      // Refused in another way, accepted in part, and without a switch.
      one("assertion.issuer", "assertion.issuer", breaks),
      one("assertion.expiry.missing", "assertion.expiry", accepted),
      one("assertion.expiry.past", "assertion.expiry", { result: "holds" }),
      one("code.known", "code.known", accepted),
      result({ id: "token-response.a", ...breaks }),
      // The lifetime that was learnt is the reason.
      one("code.lifetime", "code.lifetime", accepted),
      result({ settings: { codeLifetimeSeconds: 600 } }),
    ]);
    expect(settings).toEqual({
      codeLifetimeSeconds: 600,
      rules: { "assertion.id": false, "code.plugin": false },
    });
    const left = "assertion.expiry.missing, assertion.issuer, code.known, token-response.a";
    expect(conflicts).toEqual([`The emulator cannot break these as the deployment does: ${left}.`]);
    expect(createEmulator(settings).rules.off()).toEqual(["assertion.id", "code.plugin"]);
  });

  const revoked = { id: "bearer.revoked.code-reuse", rule: "bearer.revoked", accepted: true };
  const ofRefresh = { id: "bearer.revoked.refresh-reuse", rule: "bearer.revoked" };
  const reusable = { ...ofRefresh, accepted: true, settings: set({ reuseDetection: false }) };
  const anHourLater = { id: "bearer.lifetime.b", rule: "bearer.lifetime", accepted: true };
  const lifetime = { tokenLifetimeSeconds: 7200 };
  const twoHours = { id: "tokenLifetimeSeconds.b", settings: lifetime };
  const extras = { tokenResponseExtras: { expires_in: 7200 } };
  const outliving = { ...twoHours, settings: { ...lifetime, ...extras } };
  const inA = { settings: lifetime };
  const scope = { id: "route-scope", result: "breaks", accepted: true };
  const narrowed = { id: "route.narrowed", rule: "route.narrowed", result: "holds" };
  const kept = { ...ofRefresh, result: "holds" };
  const never = [anHourLater, inA, { id: twoHours.id }];
  test.each<[name: string, given: object[], off?: RuleId[] | undefined, left?: string]>([
    ["that a reused code revokes nothing", [revoked], ["bearer.revoked"]],
    ["nothing if only a reused refresh token revokes", [revoked, kept], undefined, revoked.id],
    ["nothing more if refresh tokens may be reused", [reusable]],
    ["nothing for a token of two hours, if it then expires", [anHourLater, twoHours]],
    ["that a token outlives its expires_in", [anHourLater, outliving], ["bearer.lifetime"]],
    ["that a token never expires, whatever the lifetime in Variant A", never, ["bearer.lifetime"]],
    ["both rules that a scope of no plugin can break", [scope], ["route.narrowed", "route.scope"]],
    ["no more of a scope if they hold elsewhere", [scope, narrowed], ["route.scope"], scope.id],
  ])("of rules, %s", (_, given, off, left) => {
    const { settings, conflicts } = learnFrom(given.map((one) => result(one)));
    expect(settings.rules).toEqual(off && Object.fromEntries(off.map((rule) => [rule, false])));
    const conflict = `The emulator cannot break these as the deployment does: ${left}.`;
    expect(conflicts).toEqual(left === undefined ? [] : [conflict]);
  });

  test("bodies without what they held, except an error code and a lifetime", () => {
    const bearerBody = { error: "invalid_token", "ada@example.com": { door: "Front" } };
    const tokenResponseExtras = { expires_in: 900, owner: "Ada", error: "Ada" };
    expect(settingsOf(result({ settings: { bearerBody, tokenResponseExtras } }))).toEqual({
      bearerBody: { error: "invalid_token" },
      tokenResponseExtras: { expires_in: 900, owner: "string", error: "string" },
    });
  });

  test("invented devices of the shape, which the emulator takes and from which the same are learnt", () => {
    const devices = [
      { id: "Front door", battery: 3, room: null },
      { id: "Back door", room: { name: "Hall" } },
    ];
    const settings = settingsOf(result({}, { body: devices }));
    expect(settings.devices).toEqual([
      { id: "device-1", battery: 0, room: { name: "string" } },
      { id: "device-2", battery: 0, room: null },
      { id: "device-3", room: { name: "string" } },
    ]);
    expect(settingsOf(result({}, { body: settings.devices }))).toEqual(settings);
    expect(() => createEmulator(settings)).not.toThrow();
  });

  test.each([
    ["a number as id", [{ id: 1 }]],
    ["a device without id", [{ id: "a" }, { name: "b" }]],
    ["an object keyed by tenant", { acme: [{ id: "a" }] }],
    ["an empty list", []],
  ])("no devices for %s", (_, body) => {
    expect(settingsOf(result({}, { body })).devices).toBeUndefined();
  });
});

test("results, overlay and settings of a run hold no value of the deployment, even where values are names", async () => {
  const email = "canary.ada@example.com";
  const name = "Canary front door";
  const owners = { [email]: { since: "canary" } };
  const reports = { "canary text": "canary-operator" };
  const rig = createRig({
    devices: {
      acme: [
        { id: "canary-device-1", name, owners },
        { id: "canary-device-2", name, acme: { reports } },
      ],
    },
    bearerStatus: 403,
    bearerBody: { detail: "canary body", by: { [email]: true } },
    clientErrorBody: { detail: "canary body", [email]: { clientId: "canary-operator" } },
    tokenResponseExtras: { owner: "canary-operator", [email]: true },
  });
  const results = [...(await rig.run()).values()];
  const outputs = JSON.stringify([results, learnFrom(results)]).toLowerCase();
  for (const value of ["canary", "a secret of the", "eyjhbgcioi"])
    expect(outputs.includes(value), value).toBe(false);
});
