/** A duration as a caller gave it, in milliseconds that a timer can keep. */
import { ConfigurationError } from "../errors.js";

/** Above this `setTimeout` fires at once. */
const longestTimerMs = 2 ** 31 - 1;

/** @throws ConfigurationError `option_invalid` */
export function requireDuration(option: string, value: unknown, fallback: number, least: number): number {
  if (value === undefined) return fallback;
  if (typeof value === "number" && value >= least && value <= longestTimerMs) return value;
  throw new ConfigurationError(
    "option_invalid",
    `${option} is no number of milliseconds from ${least} to ${longestTimerMs}.`,
    { option },
  );
}
