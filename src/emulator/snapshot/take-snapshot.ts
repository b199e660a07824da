// Writes a deployment's state down.
import { createHash } from "node:crypto";
import type { Deployment } from "../deployment.js";
import { toPlainJson } from "./plain-json.js";
import { type EmulatorSnapshot, SNAPSHOT_FORMAT, SNAPSHOT_VERSION } from "./snapshot.js";
import { stateOf } from "./state-of.js";

export function takeSnapshot(deployment: Deployment): EmulatorSnapshot {
  const parts = Object.entries(stateOf(deployment));
  const state = toPlainJson(Object.fromEntries(parts.map(([name, part]) => [name, part.dump()])));
  const takenAt = deployment.clock();
  return { format: SNAPSHOT_FORMAT, version: SNAPSHOT_VERSION, takenAt, state, digest: digestOf(state) };
}

export function digestOf(state: unknown): string {
  return createHash("sha256").update(JSON.stringify(state)).digest("base64url");
}
