/** A signal as a caller gave it: of any realm, and looked at before anything begins that it should be able to end. */
import { ConfigurationError } from "../errors.js";

/** `null` is none, as in a RequestInit. @throws ConfigurationError `option_invalid` */
export function requireSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal === null) return undefined;
  const { aborted, addEventListener, removeEventListener } = signal as Partial<AbortSignal>;
  const isHeard = typeof addEventListener === "function" && typeof removeEventListener === "function";
  if (typeof aborted === "boolean" && isHeard) return signal as AbortSignal;
  throw new ConfigurationError("option_invalid", "signal is no AbortSignal.", { option: "signal" });
}
