/** A clock as a caller gave it: one that tells no number would make every token expired, or none. */
import { ConfigurationError } from "../errors.js";

/** Default: `Date.now`. @throws ConfigurationError `option_invalid` */
export function requireClock(now: unknown): () => number {
  if (now === undefined) return Date.now;
  const invalid = (why: string) => new ConfigurationError("option_invalid", `now ${why}.`, { option: "now" });
  if (typeof now !== "function") throw invalid("is no function");
  if (!Number.isFinite(now())) throw invalid("does not return epoch milliseconds");
  return now as () => number;
}
