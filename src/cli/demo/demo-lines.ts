/** One deployment of the demo, for reading. */
import type { Paint } from "../paint.js";
import { errorLines } from "../report/error-lines.js";
import { evidenceLines } from "../report/evidence-lines.js";
import { printableJson } from "../report/printable-json.js";
import type { Visit } from "./visit-deployment.js";

export function demoLines({ row, error }: Visit, paint: Paint): string[] {
  const { name, asked, variant, evidence, devices, data, asExpected } = row;
  return [
    paint("bold", `A deployment that serves ${name}`),
    `  asked     ${asked.map((one) => `Variant ${one}`).join(", then ") || "nothing"}${variant !== null ? "; asking ends with the first that is there" : ""}`,
    "  evidence",
    ...evidenceLines(evidence, paint).map((line) => `  ${line}`),
    `  verdict   ${variant === null ? paint("yellow", "no variant") : paint("green", `Variant ${variant}`)}`,
    ...(variant === null
      ? []
      : [
          `  token     lives ${row.tokenLifetimeSeconds} s${row.isLifetimeAssumed ? " (assumed: the answer shows no lifetime)" : ""}`,
          `  devices   ${devices ?? "not a list"}`,
          ...(Array.isArray(data) ? data.map((device: unknown) => `    ${printableJson(device)}`) : []),
        ]),
    ...(error === undefined ? [] : errorLines(error, paint).map((line) => `  ${line}`)),
    asExpected ? `  ${paint("green", "as expected")}` : `  ${paint("red", "NOT as expected")}`,
    "",
  ];
}
