/**
 * A run learns each option of an emulator that settles an open fact, and no case breaks for it.
 */
import { expect, test } from "vitest";
import { contractCases, type DeploymentSettings, learnFrom } from "../../src/contract/index.js";
import { type EmulatorOptions, emulatorOptions, type OptionId } from "../../src/emulator/index.js";
import { createRig } from "./rig.js";

const everything = contractCases.map(({ id }) => id);

interface Row {
  readonly given: EmulatorOptions;
  /** Default: what was given. */
  readonly learnt?: DeploymentSettings;
  /** Cases of promises that the option breaks. */
  readonly breaks?: readonly string[];
}

/** The values of a deployment that is as the description supposes. */
const usual: EmulatorOptions = {
  variants: ["A", "B"],
  tokenLifetimeSeconds: 3600,
  codeLifetimeSeconds: 120,
  successStatus: 200,
  userIdType: "string",
  rateLimitedAttemptSpendsCode: false,
  unauthenticatedAttemptSpendsCode: true,
  requireKid: true,
  refusedPluginError: "invalid_grant",
  malformedError: "invalid_grant",
  fixedTextFullStop: true,
  revoShape: "nested",
  launchState: "launch-parameter",
  refreshPath: "/v1/auth/token",
  refreshTokens: { rotation: true, reuseDetection: true },
  issuerInCallback: false,
  narrowingDelayMs: 0,
  bearerStatus: 401,
};

const limited = (more: object) => ({ rateLimit: { requests: 12, windowSeconds: 60, ...more } });
const bearer403 = { bearerStatus: 403, unauthorizedStatuses: [403] };
const openDoor = (id: string) => ({ id, open: true });
const doors = ["device-1", "device-2", "device-3"].map(openDoor);

/** Of texts and numbers in bodies only the type is learnt. */
const rows: readonly Row[] = [
  { given: usual },
  { given: { variants: ["A"] } },
  { given: { variants: ["B"] } },
  { given: limited({ windowSeconds: 30, retryAfter: "seconds" }) },
  { given: limited({ retryAfter: "date" }) },
  { given: limited({ retryAfter: false }) },
  { given: { tokenLifetimeSeconds: 600 } },
  // Two minutes are described for Variant A, and nothing for Variant B.
  { given: { codeLifetimeSeconds: 60 }, breaks: ["code-lifetime.within"] },
  { given: { codeLifetimeSeconds: 600 }, breaks: ["code.lifetime"] },
  { given: { successStatus: 201 } },
  { given: { userIdType: "number" } },
  { given: { rateLimitedAttemptSpendsCode: true } },
  {
    given: { clientErrorBody: { message: "refused", code: 7 } },
    learnt: { clientErrorBody: { message: "string", code: 0 } },
  },
  { given: { clientErrorStatus: 400 } },
  { given: { clientErrorStatus: 403 } },
  {
    given: { bearerBody: { reason: "expired" }, bearerStatus: 403 },
    learnt: { bearerBody: { reason: "string" }, ...bearer403 },
  },
  {
    given: { missingCapabilityBody: { hint: "ask" } },
    learnt: { missingCapabilityBody: { hint: "string" } },
  },
  { given: { devices: [openDoor("door")] }, learnt: { devices: doors } },
  { given: { unauthenticatedAttemptSpendsCode: false } },
  { given: { requireKid: false } },
  { given: { refusedPluginError: "invalid_client" } },
  { given: { malformedError: "invalid_request" } },
  { given: { fixedTextFullStop: false } },
  { given: { revoShape: "flat" } },
  { given: { launchState: "opaque_code" } },
  { given: { refreshPath: "/v1/auth/refresh" } },
  { given: { refreshTokens: { rotation: false } } },
  { given: { refreshTokens: { reuseDetection: false } } },
  { given: { tokenResponseExtras: { expires_in: 3600, token_type: "Bearer" } } },
  {
    given: { tokenResponseExtras: { region: "north", quota: 7 } },
    learnt: { tokenResponseExtras: { region: "string", quota: 0 } },
  },
  { given: { issuerInCallback: true } },
  { given: { narrowingDelayMs: 120_000 } },
  { given: { bearerStatus: 403 }, learnt: bearer403 },
  { given: { pluginTokenRefusedStatus: 403 } },
  { given: { pluginTokenRefusedStatus: 404 } },
  { given: { envelope: { full: "data" } } },
  { given: { envelope: { true: "result" } } },
];

/**
 * Options that choose no open fact: an address, who may use the page, operations, and what only
 * weeks would show.
 */
const chooseNothing: readonly OptionId[] = [
  "publicUrl",
  "admin",
  "api",
  "routes",
  "respond",
  "refreshTokens.lifetimeSeconds",
  "refreshTokens.idleSeconds",
];

test.each(rows)(
  "$given is learnt",
  async ({ given, learnt = given as DeploymentSettings, breaks = [] }) => {
    const { run } = createRig(given);
    const limit = given.rateLimit ? { rateLimit: undefined } : {};
    const results = await run({ only: everything }, limit);
    const broken = [...results.values()].filter(({ result }) => result === "breaks");
    expect(broken.map(({ id }) => id)).toEqual(breaks);
    expect(learnFrom(results.values()).settings).toMatchObject(learnt);
  },
);

test("every option that settles an open fact is in the table", () => {
  const idsOf = (name: string, value: unknown) => [
    name,
    ...Object.keys(Object(value)).map((key) => `${name}.${key}`),
  ];
  const given = rows.flatMap((row) => Object.entries(row.given));
  const known = new Set([...given.flatMap((one) => idsOf(...one)), ...chooseNothing]);
  expect(Object.keys(emulatorOptions).filter((id) => !known.has(id))).toEqual([]);
});
