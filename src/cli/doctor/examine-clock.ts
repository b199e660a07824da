/** How far this machine's clock is from the deployment's, by the `Date` of an answer. */
import type { Answer } from "../../http/exchange.js";
import { type Finding, fail, pass, unknown } from "./finding.js";

/** Section 2.2 of the description: "30 seconds of clock tolerance". */
const toleranceMs = 30_000;
/** As the client does: below this the tolerance is left to do its work. */
const correctBeyondMs = 15_000;

/** `correctionMs`: what to add to this machine's clock for an assertion. */
export function examineClock({
  headers,
  sentAt,
  receivedAt,
}: Pick<Answer, "headers" | "sentAt" | "receivedAt">): { finding: Finding; correctionMs: number } {
  const date = Date.parse(headers.get("date") ?? "");
  if (Number.isNaN(date) || headers.has("age")) {
    const why = Number.isNaN(date) ? "The answer carries no Date" : "The answer was kept by a cache";
    const evidence = `${why}: the clocks cannot be compared.`;
    return {
      finding: unknown("clock", evidence, "Compare this machine's clock with another."),
      correctionMs: 0,
    };
  }
  // `Date` is cut to whole seconds: on average it is half a second old.
  const offsetMs = date + 500 - (sentAt + receivedAt) / 2;
  const errorMs = (receivedAt - sentAt) / 2 + 1_000;
  const distanceMs = Math.abs(offsetMs);
  const evidence =
    distanceMs <= errorMs
      ? `The server's clock and this machine's agree, give or take ${seconds(errorMs)} s.`
      : `The server's clock is ${seconds(distanceMs)} s ${offsetMs > 0 ? "ahead of" : "behind"} this machine's, give or take ${seconds(errorMs)} s; the service tolerates 30 s.`;
  const correctionMs = distanceMs > correctBeyondMs ? offsetMs : 0;
  if (distanceMs <= toleranceMs - errorMs) return { finding: pass("clock", evidence), correctionMs };
  const remedy =
    "Correct the clock of the signing machine. Until then the client makes its assertions by the server's Date.";
  const isBeyond = distanceMs > toleranceMs + errorMs;
  return { finding: (isBeyond ? fail : unknown)("clock", evidence, remedy), correctionMs };
}

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}
