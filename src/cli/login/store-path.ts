/** Where logins rest: a file of the person's own, unless told otherwise. */
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { ConnectionSettings } from "../settings/read-settings.js";

/** XDG Base Directory Specification: state is what outlives a restart; a relative XDG_STATE_HOME is to be ignored. */
export function storePath(
  { storeFile }: ConnectionSettings,
  env: Readonly<Record<string, string | undefined>>,
): string {
  if (storeFile !== undefined) return resolve(storeFile);
  const { XDG_STATE_HOME: given = "", HOME: home = "" } = env;
  const state = isAbsolute(given) ? given : join(home || homedir(), ".local", "state");
  return join(state, "bivariant", "grants.json");
}
