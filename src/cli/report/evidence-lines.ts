/** The evidence of a detection, one request a line pair: what was asked, what came back, what it says. */
import type { Detection, Evidence } from "../../errors.js";
import type { Paint } from "../paint.js";

export function evidenceLines(evidence: readonly Evidence[], paint: Paint): string[] {
  if (evidence.length === 0) return ["  (nothing was asked)"];
  const rows = evidence.map(({ variant, question, status, contentType }) => ({
    asked: `Variant ${variant}, ${question}`,
    answer: `${status} ${contentType ?? ""}`.trimEnd(),
  }));
  const widths = {
    asked: Math.max(...rows.map(({ asked }) => asked.length)),
    answer: Math.max(...rows.map(({ answer }) => answer.length)),
  };
  return evidence.flatMap(({ says, reason, url }, index) => {
    const { asked = "", answer = "" } = rows[index] ?? {};
    const verdict = paintVerdict(says, paint, says.padEnd("unknown".length));
    return [
      `  ${asked.padEnd(widths.asked)}  ${answer.padEnd(widths.answer)}  ${verdict}  ${reason}`,
      paint("dim", `    POST ${url}`),
    ];
  });
}

export function paintVerdict(says: Detection["served"]["A"], paint: Paint, text: string = says): string {
  return paint(says === "yes" ? "green" : says === "no" ? "dim" : "yellow", text);
}
