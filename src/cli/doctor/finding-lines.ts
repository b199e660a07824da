/** A finding as a person should see it. */
import type { Paint } from "../paint.js";
import type { Finding } from "./finding.js";

const styles = { pass: "green", fail: "red", unknown: "yellow" } as const;

export function findingLines({ check, verdict, evidence, remedy }: Finding, paint: Paint): string[] {
  const lines = [`${paint(styles[verdict], verdict.padEnd(8))}${check.padEnd(14)}${evidence}`];
  return remedy === undefined ? lines : [...lines, `${" ".repeat(22)}-> ${remedy}`];
}
