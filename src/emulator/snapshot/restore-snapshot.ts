// Puts a snapshot's state into a deployment that has just begun.
import { z } from "zod";
import type { Deployment } from "../deployment.js";
import { EmulatorError } from "../emulator-error.js";
import { parseInput } from "../parse-input.js";
import { fromPlainJson } from "./plain-json.js";
import { SNAPSHOT_FORMAT, SNAPSHOT_VERSION } from "./snapshot.js";
import { stateOf } from "./state-of.js";
import { digestOf } from "./take-snapshot.js";

const schema = z.object({
  format: z.literal(SNAPSHOT_FORMAT),
  version: z.literal(
    SNAPSHOT_VERSION,
    `must be ${SNAPSHOT_VERSION}: take it anew with this version of the package`,
  ),
  state: z.record(z.string(), z.unknown()),
  digest: z.string(),
});

/** @throws EmulatorError `snapshot_invalid` */
export function restoreSnapshot(deployment: Deployment, snapshot: unknown): void {
  const { state, digest } = parseInput(schema, snapshot, "snapshot_invalid", "snapshot");
  if (digestOf(state) !== digest) {
    const issue = "state: was changed or cut off; for a state of your own write a seed";
    throw new EmulatorError("snapshot_invalid", `snapshot: ${issue}`, { issues: [issue] });
  }
  for (const [name, part] of Object.entries(stateOf(deployment))) {
    // An emulator with other options may lack a part, or have one more.
    if (state[name] !== undefined) part.load(fromPlainJson(state[name]));
  }
}
