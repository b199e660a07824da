/** A run as JUnit XML, which CI systems show as tests. */
import type { ContractResult } from "../case.js";
import type { Exchange } from "../exchange.js";
import { type Movement, movedSettings, movementLines, onlyMoved } from "./baseline.js";
import {
  byVariant,
  countResults,
  type RunAbout,
  refusedCredentials,
  requireAbout,
} from "./summary.js";

/**
 * One suite for each variant, one test for each case. A case that breaks is a failure, one that was
 * not tried is skipped, and what was learnt is in the output of its test. Each credential that was
 * refused is a test with an error. Each case that moved since a baseline is a failure in a suite of
 * its own. Times are in seconds.
 *
 * @throws ContractError `option_invalid` for an unknown name in `about`
 * @example
 * import { writeFile } from "node:fs/promises";
 *
 * const startedAt = Date.now();
 * const results: ContractResult[] = [];
 * for await (const result of runContract({ baseUrl, tenantId, plugin: { clientId, privateKey } }))
 *   results.push(result);
 * const seconds = (Date.now() - startedAt) / 1_000;
 * const requests = new Set(results.flatMap(({ evidence }) => evidence)).size;
 * await writeFile("contract.xml", junitReport(results, { baseUrl, startedAt, requests, seconds }));
 */
export function junitReport(results: readonly ContractResult[], about: RunAbout): string {
  requireAbout("junitReport", about);
  const counted = new Set<Exchange>();
  const suites = byVariant(results).flatMap(([variant, ofVariant]) => {
    const refused = refusedCredentials(ofVariant).map(
      ({ text }) =>
        `    <testcase classname="${variant}.credential" name="A credential is accepted" time="0.000">
      <error message="${xml(text)}"/>
    </testcase>`,
    );
    const cases = [...refused, ...ofVariant.map((one) => testCase(one, counted))];
    const name = `Variant ${variant} of ${about.baseUrl}`;
    return [
      `  <testsuite name="${xml(name)}" ${counts(ofVariant)} ` +
        `timestamp="${new Date(about.startedAt).toISOString().slice(0, 19)}">`,
      ...cases,
      "  </testsuite>",
    ];
  });
  const moved = onlyMoved(about.moved);
  return `${[
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="bivariant contract" ${counts(results, moved.length)} time="${about.seconds.toFixed(3)}">`,
    ...suites,
    ...(moved.length === 0 ? [] : movedSuite(moved)),
    "</testsuites>",
  ].join("\n")}\n`;
}

function movedSuite(moved: readonly Movement[]): readonly string[] {
  const settings = movedSettings(moved).join("\n");
  return [
    `  <testsuite name="Moved since the baseline" ${counts([], moved.length)}>`,
    ...moved.map((one) => {
      const lines = movementLines(one).join("\n");
      return `    <testcase classname="moved.${one.variant}" name="${xml(`${one.id}: ${one.kind}`)}" time="0.000">
      <failure message="${xml(lines.replace("\n", "; "))}">${xml(lines)}</failure>
    </testcase>`;
    }),
    ...(settings === "" ? [] : [`    <system-out>${xml(settings)}</system-out>`]),
    "  </testsuite>",
  ];
}

function counts(results: readonly ContractResult[], moved = 0): string {
  const { breaks, "not tried": notTried } = countResults(results);
  const errors = refusedCredentials(results).length;
  return (
    `tests="${results.length + errors + moved}" failures="${breaks + moved}" ` +
    `errors="${errors}" skipped="${notTried}"`
  );
}

/** An exchange that several cases rely on counts for the first. */
function testCase(one: ContractResult, counted: Set<Exchange>): string {
  const { id, variant, section, says, expected, observed, result, evidence } = one;
  const facts = [says, `Expected: ${expected}`, `Observed: ${observed}`, `Section: ${section}`];
  const own = evidence.filter((exchange) => !counted.has(exchange));
  for (const exchange of own) counted.add(exchange);
  const seconds = own.reduce((sum, { milliseconds }) => sum + milliseconds, 0) / 1000;
  const [group = id] = id.split(".");
  const lines = [
    `    <testcase classname="${xml(`${variant}.${group}`)}" name="${xml(`${id}: ${says}`)}" ` +
      `time="${seconds.toFixed(3)}">`,
  ];
  if (result === "not tried") lines.push(`      <skipped message="${xml(observed)}"/>`);
  if (result === "breaks")
    lines.push(
      `      <failure message="${xml(facts.join(" "))}">${xml(facts.join("\n"))}</failure>`,
    );
  const output = [
    ...(result === "learnt" ? [`Learnt: ${observed}`] : []),
    ...evidence.map(exchangeLine),
  ];
  if (output.length > 0) lines.push(`      <system-out>${xml(output.join("\n"))}</system-out>`);
  return [...lines, "    </testcase>"].join("\n");
}

function exchangeLine({ note, method, url, status, body, milliseconds }: Exchange): string {
  return (
    `${method} ${url} (${note}): ${status === 0 ? "no answer" : status}, ${body}, ` +
    `${milliseconds} ms`
  );
}

/** Escapes markup, and replaces characters that XML 1.0 does not allow (section 2.2). */
function xml(text: string): string {
  const allowed = text.replace(
    /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu,
    "\ufffd",
  );
  return allowed.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
