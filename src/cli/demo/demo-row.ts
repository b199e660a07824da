/** What came of one deployment of the demo: a row of `demo --json`. */
import type { Evidence, Variant } from "../../index.js";

export interface DemoRow {
  readonly name: string;
  /** What the emulator serves. */
  readonly served: readonly Variant[];
  /** What was asked about, in order; asking ends with the first variant that is there. */
  readonly asked: readonly Variant[];
  /** The verdict. */
  readonly variant: Variant | null;
  readonly evidence: readonly Evidence[];
  readonly tokenLifetimeSeconds: number | null;
  /** Variant B's answer shows no lifetime; then the description's default is assumed. */
  readonly isLifetimeAssumed: boolean;
  readonly devices: number | null;
  /** The devices themselves, as the API gave them. */
  readonly data: unknown;
  /** As `--json` shows an error anywhere. */
  readonly error: Record<string, unknown> | null;
  readonly asExpected: boolean;
}
