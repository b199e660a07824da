/**
 * What the command line uses of the core and of `doctor/` beside the public entries. Not an entry
 * of the package. All of it is light, because every command loads it; each tool has an
 * `internal.ts` of its own.
 */
export type { ServiceEvent } from "./auth/auth.js";
export { personRequired } from "./client/call-error.js";
export { jsonType } from "./client/text-and-json.js";
export {
  type AccountSettings,
  namesClient,
  type PluginSettings,
  readSecretFrom,
} from "./doctor/credentials.js";
export { questionOf } from "./doctor/finding.js";
export { defaultFetch, isLoopback, transportError } from "./http/exchange.js";
export { openInput, readAtMost, realPath } from "./input-file.js";
export { parseBaseUrl } from "./variants/target.js";
export { version } from "./version.js";

type SigningKeyModule = typeof import("./auth/credentials/signing-key.js");

/** Loaded when it is called, since it needs jose. */
export const importSigningKey: SigningKeyModule["importSigningKey"] = async (...given) =>
  (await import("./auth/credentials/signing-key.js")).importSigningKey(...given);
