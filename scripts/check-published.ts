// Checks that documents which others published can be used: each is generated, compiled with
// `strict`, and every operation is called through the typed client against the emulator, with
// strict validation. Exits with 1 if something fails for another reason than a known one.
// `npm run check:published -- --only figma,galaxy`, `-- --json`, or with the paths of documents of
// your own. `-- --ajv` holds the validator against Ajv over all of their schemas instead.
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { againstAjv, type Comparison } from "./published/against-ajv.js";
import { publishedDocuments } from "./published/documents.js";
import { type DocumentResult, roundTrips } from "./published/round-trips.js";

const HEADS = ["document", "version", "format", "operations", "round trips", "cast"];

/** A line for each document, and below it one for each failure. */
export function tableOf(results: readonly DocumentResult[]): string {
  const cellsOf = ({ document, version, format, operations, roundTrips, cast }: DocumentResult) =>
    [document, version, format, operations, roundTrips, cast].map(String);
  const all = [HEADS, ...results.map(cellsOf)];
  const widths = HEADS.map((_, column) =>
    Math.max(...all.map((cells) => cells[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) =>
        column < 3 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("  ");
  const rows = results.flatMap((result) => [
    line(cellsOf(result)),
    ...result.failures.map(
      ({ operation, at, reason, known }) =>
        `  ${operation ?? "FAILED"} (${at}): ${known ?? `FAILED: ${reason}`}`,
    ),
  ]);
  return [line(HEADS), ...rows, summaryOf(results)].join("\n");
}

function summaryOf(results: readonly DocumentResult[]): string {
  const total = (key: "operations" | "roundTrips" | "cast") =>
    results.reduce((sum, result) => sum + result[key], 0);
  const failures = results.flatMap((result) => result.failures);
  const known = failures.filter((failure) => failure.known !== undefined).length;
  const whole = results.filter((result) =>
    result.failures.every(({ operation }) => operation !== undefined),
  );
  return (
    `${results.length} documents, ${whole.length} of them generated and compiled; ` +
    `${total("operations")} operations, ${total("roundTrips")} round trips (${total("cast")} ` +
    `with a cast), ${known} known failures, ${failures.length - known} others`
  );
}

/** A line for each difference, and for each schema that was not compared. */
export function comparisonOf(all: readonly Comparison[]): string {
  const total = (key: "schemas" | "values" | "allowed" | "withoutSample") =>
    all.reduce((sum, one) => sum + one[key], 0);
  const lines = all.flatMap(({ document, notCompared, differences }) => [
    ...notCompared.map((reason) => `${document}: not compared: ${reason}`),
    ...differences.map(
      ({ schema, value, allowedBy, isSample }) =>
        `${document}: ${schema}: ${isSample ? "the sample" : "a value"} is ` +
        `${isSample ? "not allowed by both" : `allowed by ${allowedBy} only`}: ` +
        `${JSON.stringify(value).slice(0, 300)}`,
    ),
  ]);
  const differences = all.reduce((sum, one) => sum + one.differences.length, 0);
  const summary =
    `${all.length} documents; ${total("schemas")} schemas, ` +
    `${total("withoutSample")} without a sample; ` +
    `${total("values")} values, ${total("allowed")} of them allowed; ` +
    `${differences} differences from Ajv`;
  return [...lines, summary].join("\n");
}

/** @returns the exit code */
async function main(): Promise<number> {
  const options = {
    json: { type: "boolean" },
    only: { type: "string" },
    ajv: { type: "boolean" },
  } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const parts = values.only?.split(",") ?? [""];
  const own = positionals.map((path) => ({ name: path, path, version: "" }));
  const all = own.length > 0 ? own : publishedDocuments();
  const chosen = all.filter(({ name }) => parts.some((part) => name.includes(part)));
  const show = (text: string) =>
    void (process.stderr.isTTY && process.stderr.write(`\r\u001b[K${text}`));
  if (values.ajv) {
    const found: Comparison[] = [];
    for (const one of chosen) found.push(await againstAjv(one));
    console.log(values.json ? JSON.stringify(found, undefined, 2) : comparisonOf(found));
    return found.some(({ differences }) => differences.length > 0) ? 1 : 0;
  }
  const results = await roundTrips(chosen, show);
  show("");
  console.log(values.json ? JSON.stringify(results, undefined, 2) : tableOf(results));
  return results.some(({ failures }) => failures.some(({ known }) => known === undefined)) ? 1 : 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) process.exitCode = await main();
