/** `bivariant survey`: which of many customers runs which variant, and which of them work. */
import { rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import type { Command } from "commander";
import {
  type Change,
  type Comparison,
  type Customer,
  compareWith,
  parseResults,
  plannedRequests,
  readCustomers,
  resultsCsv,
  resultsPage,
  SurveyError,
  type SurveyResult,
  survey,
} from "../../survey/index.js";
import {
  mostCharacters,
  stateOf,
  unfinished,
  usualConcurrency,
  usualCustomerTimeoutMs,
  wrongCustomers,
} from "../../survey/internal.js";
import { invalidFlag, readFileOf, wholeNumber } from "../arguments.js";
import { exitCodes } from "../error-report.js";
import { type Output, type Paint, printableText } from "../output.js";
import { proxyFetch } from "../proxy-fetch.js";
import { checkReports, writeWhole } from "../report-files.js";
import type { Context } from "../run.js";
import { addSettings, readSettings } from "../settings.js";

interface Flags {
  readonly skipWrongRows?: boolean;
  readonly dryRun?: boolean;
  readonly concurrency?: number;
  readonly customerTimeoutMs?: number;
  readonly state?: string;
  readonly csv?: string;
  readonly html?: string;
  readonly since?: string;
}

export function define(command: Command, context: Context): void {
  command
    .argument("<file>", "the customers: CSV, JSON lines or YAML; - for stdin")
    .option(
      "--skip-wrong-rows",
      "leave out rows that are wrong or double, instead of ending before the first request",
    )
    .option("--dry-run", "say how many requests each customer gets, and send none")
    .option("--state <path>", "go on from this file after an interruption; deleted at the end")
    .option("--csv <path>", "write the results as CSV; - for stdout, in place of the table")
    .option("--html <path>", "write the results as a page for people")
    .option("--since <path>", "compare with the output of an earlier --json or --csv")
    .option(
      "--concurrency <n>",
      `how many customers are examined at a time (default: ${usualConcurrency})`,
      wholeNumber(1, 1_000, "a whole number"),
    )
    .option(
      "--customer-timeout-ms <ms>",
      `time limit of one customer, with its waits (default: ${usualCustomerTimeoutMs})`,
      wholeNumber(1, 999_999_999, "a whole number of milliseconds"),
    );
  addSettings(command, ["timeoutMs", "retryDeadlineMs", "allowInsecureHttp"], context)
    .action((file: string, flags: Flags) => run(command, file, flags, context))
    .addHelpText(
      "after",
      `
Example:
  $ bivariant survey customers.csv --dry-run
  $ bivariant survey customers.csv --state customers.state --json > today.json
  $ bivariant survey customers.csv --since yesterday.json --html survey.html

The first line of a CSV names its columns; JSON lines and YAML have members of
these names:
  baseUrl, tenantId, variant, aClientId, aPrivateKeyFile, aPrivateKeyVariable,
  aKeyId,
  bClientId, bClientSecretFile, bClientSecretVariable
Only baseUrl is required, and tenantId for Variant A. Secrets are in files
(paths are relative to the file of the customers) or in the variables that the
row names. Other columns are repeated in the output.

Each customer is asked which variant it serves. Where a credential is given, one
token is requested and listDevices is called; a credential is sent only where
its variant was found, or is named in the row. If something fails, the doctor
looks for the reason. A rate limit is waited for, up to --retry-deadline-ms.

With --json: a line per customer as it ends, { "tenantId", "baseUrl", "variant",
"works", "called", "code"?, "problem"?, "remedy"?, "served", "evidence",
"findings", "aClientId"?, "bClientId"?, "other"?, "line", "at", "durationMs",
"changes"? }. No output holds a secret. Exits 0 if all customers work, otherwise
1.`,
    );
}

async function run(command: Command, file: string, flags: Flags, context: Context) {
  const { output, env, signal, finish } = context;
  const { timeoutMs, retryDeadlineMs, allowInsecureHttp } = await readSettings(command, context);
  const { concurrency, customerTimeoutMs, state: stateFile, csv, html, since } = flags;
  const isCsvPrinted = csv === "-";
  if (isCsvPrinted && output.json)
    throw invalidFlag("--csv", "cannot be - with --json. Name a file.");
  const reports = [
    ...(csv === undefined || isCsvPrinted ? [] : [{ flag: "--csv", path: csv }]),
    ...(html === undefined ? [] : [{ flag: "--html", path: html }]),
  ];
  await checkReports(reports, [file, stateFile, since]);
  if (stateFile !== undefined && [file, since].includes(stateFile))
    throw invalidFlag("--state", "names a file that is read too. Name another file.");
  const { customers, wrong } = await readCustomers(await readFileOf("<file>", file, signal), {
    folder: file === "-" ? "." : dirname(file),
    variables: env,
    allowInsecureHttp,
  });
  if (wrong.length > 0 && !flags.skipWrongRows) {
    const { code, message, issues } = wrongCustomers(wrong);
    throw new SurveyError(code, `${message} Correct them, or pass --skip-wrong-rows.`, issues);
  }
  for (const { line, problem } of wrong)
    output.note(`Skipped: line ${line} ${printableText(problem)}`);
  if (customers.length === 0)
    throw new SurveyError("customers_invalid", "There is no customer to ask.");
  const earlier = since && (await readFileOf("--since", since, signal, mostCharacters));
  const comparison = earlier === undefined ? undefined : compareWith(parseResults(earlier));
  if (flags.dryRun)
    return printPlan(stateFile ? await unfinished(customers, stateFile) : customers, output);
  noteUnused(customers, context);
  const report = reportOn(customers.length, comparison, isCsvPrinted, output);
  /** Only for the files that are written at the end. */
  const results: SurveyResult[] = [];
  const startedAt = Date.now();
  output.indent = 0;
  const timer = setInterval(report.progress, 500);
  try {
    for await (const found of survey(customers, {
      timeoutMs,
      retryDeadlineMs,
      allowInsecureHttp,
      concurrency,
      customerTimeoutMs,
      stateFile,
      variables: env,
      fetch: proxyFetch(env),
      signal,
    })) {
      const result = report.add(found);
      if ((csv ?? html) !== undefined) results.push(result);
    }
  } catch (error) {
    if (signal.aborted) report.interrupted(stateFile);
    throw error;
  } finally {
    clearInterval(timer);
    output.progress(undefined);
  }
  results.sort((one, other) => (one.line ?? 0) - (other.line ?? 0));
  if (isCsvPrinted) output.lines(resultsCsv(results).trimEnd());
  else if (csv !== undefined) await writeWhole("--csv", csv, resultsCsv(results));
  if (html !== undefined) {
    const seconds = (Date.now() - startedAt) / 1_000;
    const compared = since && { since: basename(since), gone: comparison?.gone() };
    await writeWhole("--html", html, resultsPage(results, { startedAt, seconds, ...compared }));
  }
  const failing = report.end();
  // Lost output is reported in the next turn. The same command can then go on from the state file.
  await turn();
  signal.throwIfAborted();
  if (stateFile !== undefined) await rm(stateFile);
  if (failing > 0) finish(exitCodes.checkSaidNo);
}

/**
 * One credential must not be sent to all customers, so the variables of the other commands do not
 * count here.
 */
function noteUnused(customers: readonly Customer[], { output, env }: Context): void {
  const found = ["BIVARIANT_A_CLIENT_ID", "BIVARIANT_B_CLIENT_ID"].filter((name) => env[name]);
  if (
    found.length === 0 ||
    customers.every((one) => (one.aClientId ?? one.bClientId) !== undefined)
  )
    return;
  output.note(
    `${found.join(" and ")} ${found.length === 1 ? "is" : "are"} not used: ` +
      "the credential of a customer is in its row, as aClientId and aPrivateKeyFile, or " +
      "bClientId and bClientSecretFile.",
  );
}

function printPlan(customers: readonly Customer[], output: Output): void {
  output.indent = 0;
  let total = 0;
  for (const one of customers) {
    const { tenantId = null, baseUrl, line } = one;
    const requests = plannedRequests(one);
    total += requests.total;
    if (output.json) output.value({ tenantId, baseUrl, line, requests });
    else output.lines(`${String(requests.total).padStart(2)} requests  ${nameOf(one)}`);
  }
  if (output.json) return;
  output.lines(
    "",
    `At most ${total} requests to ${customers.length} customers: ` +
      "up to 3 questions about the variant, a token and a call where there is a credential, and " +
      "1 more if something fails. Requests after a rate limit or a failing server come on top.",
  );
}

/**
 * The tenant and the address, cut where a line of 80 columns ends. Other outputs have them whole.
 */
function nameOf({ tenantId, baseUrl }: Pick<Customer | SurveyResult, "tenantId" | "baseUrl">) {
  const cut = (text: string, width: number) =>
    text.length > width ? `${text.slice(0, width - 1)}…` : text;
  return `${cut(tenantId ?? "-", 22).padEnd(22)} ${cut(baseUrl, 44)}`;
}

const styles = { works: "green", served: "yellow", fails: "red" } as const;
const changeWords: Readonly<Record<Change, string>> = {
  moved: "moved to another variant",
  broke: "broke",
  recovered: "recovered",
  new: "new",
};

/** Prints each result as it comes, and what they add up to. */
function reportOn(
  total: number,
  comparison: Comparison | undefined,
  isSilent: boolean,
  output: Output,
) {
  const startedAt = Date.now();
  const counts: Record<string, number> = {};
  let [done, failing] = [0, 0];
  /** Those of the state file say nothing of the rate. */
  let asked = 0;
  const number = (name: string) => String(counts[name] ?? 0);
  const row = (title: string, cells: readonly string[]) =>
    `${title.padEnd(24)}${cells.map((cell) => cell.padStart(11)).join("")}`;
  return {
    add(given: SurveyResult): SurveyResult {
      const changes = comparison?.changesOf(given);
      const result = { ...given, ...(changes && { changes }) };
      done++;
      if (result.at >= startedAt) asked++;
      if (!result.works) failing++;
      for (const name of [`${stateOf(result)} ${result.variant}`, ...(changes ?? [])])
        counts[name] = (counts[name] ?? 0) + 1;
      if (output.json) output.value(result);
      else if (!isSilent) output.lines(...linesOf(result, output.paint));
      return result;
    },
    progress() {
      const rate = (1_000 * asked) / (Date.now() - startedAt);
      const minutes = Math.ceil((total - done) / rate / 60);
      const left = asked === 0 ? "" : `, about ${minutes} min left`;
      output.progress(
        `${done} of ${total} (${Math.floor((100 * done) / total)} %), ` +
          `${rate.toFixed(rate < 10 ? 1 : 0)}/s${left}, ${failing} fail`,
      );
    },
    interrupted(stateFile: string | undefined) {
      const next =
        stateFile === undefined
          ? "With --state the next run would go on from here."
          : "Run the same command again to go on from here.";
      output.note(`${done} of ${total} customers are done. ${next}`);
    },
    /** Returns how many customers do not work. */
    end(): number {
      if (output.json || isSilent) return failing;
      const changes = Object.entries(changeWords).map(([name, word]) => `${number(name)} ${word}`);
      output.lines(
        "",
        row("", ["Variant A", "Variant B", "unknown"]),
        ...Object.keys(styles).map((state) =>
          row(
            state === "served" ? "served (no credential)" : state,
            ["A", "B", "null"].map((variant) => number(`${state} ${variant}`)),
          ),
        ),
      );
      if (comparison)
        output.lines(
          "",
          `Since then: ${[...changes, `${comparison.gone().length} gone`].join(", ")}.`,
        );
      return failing;
    },
  };
}

function linesOf(result: SurveyResult, paint: Paint): string[] {
  const { variant, code, remedy, changes = [] } = result;
  const state = stateOf(result);
  const more = [
    changes.map((one) => changeWords[one]).join(", "),
    code && `-> ${code}: ${printableText(remedy ?? "")}`,
  ].filter(Boolean);
  return [
    `${paint(styles[state], state.padEnd(7))}${(variant ?? "-").padEnd(3)}${nameOf(result)}`,
    ...more.map((line) => `${" ".repeat(10)}${line}`),
  ];
}
