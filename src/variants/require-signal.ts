/** A signal as a caller gave it: of any realm, and looked at before anything begins that it should be able to end. */
import { ConfigurationError } from "../errors.js";

/** `null` is none, as in a RequestInit. @throws ConfigurationError `option_invalid` */
export function requireSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal === null) return undefined;
  const { aborted, addEventListener } = signal as Partial<AbortSignal>;
  if (typeof aborted === "boolean" && typeof addEventListener === "function") return signal as AbortSignal;
  throw new ConfigurationError("option_invalid", "signal is no AbortSignal.", { option: "signal" });
}
