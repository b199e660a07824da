/** Every option that a reset can change, at its default: what a seed file that names none of them says. */
import type { EmulatorOptions } from "../../emulator/index.js";

/** "Everything else starts anew" but the address, the clock and the keys. */
type Lasting = "publicUrl" | "now" | "randomSeed";

/** A member for each, which the compiler sees to: an option that is missing here would outlive the file that set it. */
export const optionsLeftOut: Readonly<Record<Exclude<keyof EmulatorOptions, Lasting>, undefined>> = {
  variants: undefined,
  rateLimit: undefined,
  routes: undefined,
  narrowingDelayMs: undefined,
  tokenLifetimeSeconds: undefined,
  codeLifetimeSeconds: undefined,
  refreshTokens: undefined,
  refreshPath: undefined,
  launchState: undefined,
  issuerInCallback: undefined,
  unauthenticatedAttemptSpendsCode: undefined,
  requireKid: undefined,
  refusedPluginError: undefined,
  fixedTextFullStop: undefined,
  revoShape: undefined,
  tokenResponseExtras: undefined,
  bearerStatus: undefined,
  pluginTokenRefusedStatus: undefined,
  envelope: undefined,
  devices: undefined,
  rules: undefined,
  admin: undefined,
  seed: undefined,
};
