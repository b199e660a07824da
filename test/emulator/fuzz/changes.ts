// What happens to a deployment between two requests, as data: the clock jumps, an administrator changes something.
import fc from "fast-check";
import { EmulatorError, type EmulatorOptions, type RuleId, rules } from "../../../src/emulator/index.js";
import type { World } from "./world.js";

export type Change =
  | { readonly change: "clock"; readonly byMs: number }
  | { readonly change: "clock-to"; readonly instant: number }
  | { readonly change: "clock-runs" }
  | { readonly change: "plugin"; readonly clientId: string; readonly update: object }
  | { readonly change: "unregister"; readonly what: "reporter" | "planner" | "worker" | "vault" }
  | { readonly change: "operator"; readonly capabilities: readonly string[] }
  | { readonly change: "rule"; readonly rule: RuleId; readonly enforced: boolean }
  | { readonly change: "snapshot-and-restore" };

const JUMPS_MS = [
  -31_536_000_000, -3_600_000, -1, 1, 999, 29_000, 31_000, 119_999, 120_001, 300_000, 331_000, 600_001,
  3_600_000, 43_200_000, 2_592_000_001, 7_776_000_001,
];
/** As far as a Date reaches, and the turns of its epochs. */
const INSTANTS = [0, -1, 2 ** 31 * 1000, 253_402_300_800_000, 8.64e15, -8.64e15];
const UPDATES: readonly object[] = [
  { enabled: false },
  { enabled: true },
  { scopes: [] },
  { scopes: ["devices:read"] },
  { devices: ["device-2"] },
  { devices: [] },
  { devices: null },
  { roles: [] },
];
const RULES = Object.keys(rules) as RuleId[];

export const anyChange: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ change: fc.constant("clock" as const), byMs: fc.constantFrom(...JUMPS_MS) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ change: fc.constant("clock-to" as const), instant: fc.constantFrom(...INSTANTS) }),
  },
  { weight: 1, arbitrary: fc.constant({ change: "clock-runs" as const }) },
  {
    weight: 4,
    arbitrary: fc.record({
      change: fc.constant("plugin" as const),
      clientId: fc.constantFrom("reporter", "planner"),
      update: fc.constantFrom(...UPDATES),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      change: fc.constant("unregister" as const),
      what: fc.constantFrom("reporter" as const, "planner" as const, "worker" as const, "vault" as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      change: fc.constant("operator" as const),
      capabilities: fc.constantFrom<string[]>([], ["devices:read"], ["schedules:execute"]),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      change: fc.constant("rule" as const),
      rule: fc.constantFrom(...RULES),
      enforced: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ change: "snapshot-and-restore" as const }) },
);

/** Options whose other values lead to other code; most of the time none. */
export const anyOptions: fc.Arbitrary<EmulatorOptions> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  {
    weight: 4,
    arbitrary: fc.constantFrom<EmulatorOptions>(
      { rateLimit: { requests: 3, windowSeconds: 60, retryAfter: "date" } },
      { refreshTokens: { rotation: false } },
      { refreshTokens: { reuseDetection: false, idleSeconds: 1 } },
      { revoShape: "flat" },
      { launchState: "opaque_code" },
      { narrowingDelayMs: 60_000 },
      { unauthenticatedAttemptSpendsCode: false, requireKid: false },
    ),
  },
);

export function apply({ emulator }: World, change: Change): void {
  if (change.change === "clock") unless("option_invalid", () => emulator.clock.advance(change.byMs));
  else if (change.change === "clock-to") emulator.clock.set(change.instant);
  else if (change.change === "clock-runs") emulator.clock.resume();
  else if (change.change === "plugin")
    unless("not_registered", () =>
      emulator.updatePlugin({ tenantId: "acme", clientId: change.clientId, ...change.update }),
    );
  else if (change.change === "unregister") unless("not_registered", () => unregister(emulator, change.what));
  else if (change.change === "operator")
    emulator.updateOperator({ tenantId: "acme", userId: "ada", capabilities: change.capabilities });
  else if (change.change === "rule") emulator.rules.enforce(change.rule, change.enforced);
  else emulator.restore(JSON.parse(JSON.stringify(emulator.snapshot())));
}

function unregister(emulator: World["emulator"], clientId: string): void {
  if (clientId === "worker") emulator.unregisterServiceAccount({ clientId });
  else if (clientId === "vault") emulator.unregisterApiClient({ clientId });
  else emulator.unregisterPlugin({ tenantId: "acme", clientId });
}

/** Beyond the end of time the clock says so and stays; what is gone is not changed. */
function unless(code: EmulatorError["code"], change: () => void): void {
  try {
    change();
  } catch (error) {
    if (!(error instanceof EmulatorError && error.code === code)) throw error;
  }
}
