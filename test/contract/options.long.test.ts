/**
 * Whatever an emulator is told about the open facts, a run finds out, and no case breaks for it.
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

const same = (...all: readonly EmulatorOptions[]): Row[] => all.map((given) => ({ given }));

/** For each option its values, or some of them where there is no end of values. */
const rows: Partial<Record<OptionId, readonly Row[]>> = {
  variants: same({ variants: ["A"] }, { variants: ["B"] }, { variants: ["A", "B"] }),
  rateLimit: same({ rateLimit: { requests: 12, windowSeconds: 30, retryAfter: "seconds" } }),
  "rateLimit.retryAfter": same(
    { rateLimit: { requests: 12, windowSeconds: 60, retryAfter: "date" } },
    { rateLimit: { requests: 12, windowSeconds: 60, retryAfter: false } },
  ),
  tokenLifetimeSeconds: same({ tokenLifetimeSeconds: 600 }, { tokenLifetimeSeconds: 3600 }),
  // Two minutes are described for Variant A, and nothing for Variant B.
  codeLifetimeSeconds: [
    { given: { codeLifetimeSeconds: 60 }, breaks: ["code-lifetime.within"] },
    { given: { codeLifetimeSeconds: 120 } },
    { given: { codeLifetimeSeconds: 600 }, breaks: ["code.lifetime"] },
  ],
  successStatus: same({ successStatus: 201 }, { successStatus: 200 }),
  userIdType: same({ userIdType: "number" }, { userIdType: "string" }),
  rateLimitedAttemptSpendsCode: same(
    { rateLimitedAttemptSpendsCode: true },
    { rateLimitedAttemptSpendsCode: false },
  ),
  clientErrorBody: [
    {
      given: { clientErrorBody: { message: "refused", code: 7 } },
      learnt: { clientErrorBody: { message: "string", code: 0 } },
    },
  ],
  clientErrorStatus: same({ clientErrorStatus: 400 }, { clientErrorStatus: 403 }),
  bearerBody: [
    { given: { bearerBody: { reason: "expired" } }, learnt: { bearerBody: { reason: "string" } } },
    {
      given: { bearerBody: { reason: "expired" }, bearerStatus: 403 },
      learnt: { bearerBody: { reason: "string" }, bearerStatus: 403, unauthorizedStatuses: [403] },
    },
  ],
  missingCapabilityBody: [
    {
      given: { missingCapabilityBody: { hint: "ask" } },
      learnt: { missingCapabilityBody: { hint: "string" } },
    },
  ],
  devices: [
    {
      given: { devices: [{ id: "door", open: true }] },
      learnt: { devices: ["device-1", "device-2", "device-3"].map((id) => ({ id, open: true })) },
    },
  ],
  unauthenticatedAttemptSpendsCode: same(
    { unauthenticatedAttemptSpendsCode: false },
    { unauthenticatedAttemptSpendsCode: true },
  ),
  requireKid: same({ requireKid: false }, { requireKid: true }),
  refusedPluginError: same(
    { refusedPluginError: "invalid_client" },
    { refusedPluginError: "invalid_grant" },
  ),
  malformedError: same({ malformedError: "invalid_request" }, { malformedError: "invalid_grant" }),
  fixedTextFullStop: same({ fixedTextFullStop: false }, { fixedTextFullStop: true }),
  revoShape: same({ revoShape: "flat" }, { revoShape: "nested" }),
  launchState: same({ launchState: "opaque_code" }, { launchState: "launch-parameter" }),
  refreshPath: same({ refreshPath: "/v1/auth/refresh" }, { refreshPath: "/v1/auth/token" }),
  "refreshTokens.rotation": same(
    { refreshTokens: { rotation: false } },
    { refreshTokens: { rotation: true } },
  ),
  "refreshTokens.reuseDetection": same(
    { refreshTokens: { reuseDetection: false } },
    { refreshTokens: { reuseDetection: true } },
  ),
  tokenResponseExtras: [
    { given: { tokenResponseExtras: { expires_in: 3600, token_type: "Bearer" } } },
    {
      given: { tokenResponseExtras: { region: "north", quota: 7 } },
      learnt: { tokenResponseExtras: { region: "string", quota: 0 } },
    },
  ],
  issuerInCallback: same({ issuerInCallback: true }, { issuerInCallback: false }),
  narrowingDelayMs: same({ narrowingDelayMs: 0 }, { narrowingDelayMs: 120_000 }),
  bearerStatus: [
    { given: { bearerStatus: 403 }, learnt: { bearerStatus: 403, unauthorizedStatuses: [403] } },
    { given: { bearerStatus: 401 }, learnt: { bearerStatus: 401, unauthorizedStatuses: [401] } },
  ],
  pluginTokenRefusedStatus: same(
    { pluginTokenRefusedStatus: 403 },
    { pluginTokenRefusedStatus: 404 },
  ),
  envelope: same({ envelope: { full: "data" } }, { envelope: { true: "result" } }),
};

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

test.each(Object.values(rows).flat())(
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
  const known = [...Object.keys(rows), ...chooseNothing];
  expect(Object.keys(emulatorOptions).filter((id) => !known.includes(id))).toEqual([]);
});
