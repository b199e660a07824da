/** `bivariant survey`: which of many customers runs which variant, and which of them work. */
import { rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Command } from "commander";
import { readAtMost } from "../../internal.js";
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
  limits,
  mostCharacters,
  stateOf,
  unfinished,
  usualConcurrency,
  usualCustomerTimeoutMs,
  wrongCustomers,
} from "../../survey/internal.js";
import { invalidFlag, openFileOf, readFileOf, wholeNumber } from "../arguments.js";
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
  const { env } = context;
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
  addSettings(command, ["timeoutMs", "retryDeadlineMs", "allowInsecureHttp"], env)
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

async function run(command: Command, file: string, flags: Flags, context: Context): Promise<void> {
  const { output, env, signal, finish } = context;
  const { timeoutMs, retryDeadlineMs, allowInsecureHttp } = await readSettings(command, context);
  const { concurrency, customerTimeoutMs, state: stateFile, csv, html, since } = flags;
  if (csv === "-" && output.json)
    throw invalidFlag("--csv", "cannot be - with --json. Name a file.");
  const reports = [
    ...(csv === undefined || csv === "-" ? [] : [{ flag: "--csv", path: csv }]),
    ...(html === undefined ? [] : [{ flag: "--html", path: html }]),
  ];
  await checkReports(reports, [file, stateFile ?? "-", since ?? "-"]);
  if (stateFile !== undefined && [file, since].includes(stateFile))
    throw invalidFlag("--state", "names a file that is read too. Name another file.");
  const folder = file === "-" ? "." : dirname(file);
  const text = await readCustomerFile(file, signal);
  const { customers, wrong } = await readCustomers(text, {
    folder,
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
  if (flags.dryRun) {
    printPlan(stateFile === undefined ? customers : await unfinished(customers, stateFile), output);
    return;
  }
  noteUnused(customers, context);
  const report = new Report(customers.length, comparison, csv === "-", flags, output);
  const startedAt = Date.now();
  if (output.json) output.indent = 0;
  const timer = setInterval(() => report.progress(), 500);
  try {
    const options = {
      timeoutMs,
      retryDeadlineMs,
      allowInsecureHttp,
      concurrency,
      customerTimeoutMs,
    };
    for await (const result of survey(customers, {
      ...options,
      ...{ stateFile, variables: env, fetch: proxyFetch(env), signal },
    }))
      report.add(result);
  } catch (error) {
    if (signal.aborted) report.interrupted(stateFile);
    throw error;
  } finally {
    clearInterval(timer);
    output.progress(undefined);
  }
  const byLine = report.results.sort((one, other) => (one.line ?? 0) - (other.line ?? 0));
  if (csv === "-") output.lines(resultsCsv(byLine).trimEnd());
  else if (csv !== undefined) await writeWhole("--csv", csv, resultsCsv(byLine));
  if (html !== undefined) {
    const seconds = (Date.now() - startedAt) / 1_000;
    const compared =
      since === undefined ? {} : { since: basename(since), gone: comparison?.gone() };
    await writeWhole("--html", html, resultsPage(byLine, { startedAt, seconds, ...compared }));
  }
  if (stateFile !== undefined) await rm(stateFile);
  report.end();
  if (report.failing > 0) finish(exitCodes.checkSaidNo);
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

async function readCustomerFile(path: string, signal: AbortSignal): Promise<string> {
  const source = openFileOf("<file>", path, signal);
  const bytes = await readAtMost(source, limits.file).catch(
    ({ code = "no code" }: NodeJS.ErrnoException) => {
      throw invalidFlag("<file>", `names a file that cannot be read (${code}): ${path}`);
    },
  );
  if (bytes !== undefined) return bytes.toString("utf8");
  const message = `The file has more than ${limits.file} bytes. Split it, and survey the parts.`;
  throw new SurveyError("customers_too_large", message);
}

function printPlan(customers: readonly Customer[], output: Output): void {
  const planned = customers.map((one) => ({ one, requests: plannedRequests(one) }));
  if (output.json) {
    for (const { one, requests } of planned)
      output.value(
        { tenantId: one.tenantId ?? null, baseUrl: one.baseUrl, line: one.line, requests },
        0,
      );
    return;
  }
  const total = planned.reduce((sum, { requests }) => sum + requests.total, 0);
  const rows = planned.map(
    ({ one, requests }) => `${String(requests.total).padStart(2)} requests  ${nameOf(one)}`,
  );
  output.lines(
    rows.join("\n"),
    "",
    `At most ${total} requests to ${customers.length} customers: ` +
      "up to 3 questions about the variant, a token and a call where there is a credential, and " +
      "1 more if something fails. Requests after a rate limit or a failing server come on top.",
  );
}

/**
 * The tenant and the address, cut where a line of 80 columns ends. Other outputs have them whole.
 */
function nameOf({
  tenantId,
  baseUrl,
}: {
  readonly tenantId?: string | null | undefined;
  readonly baseUrl: string;
}) {
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
class Report {
  /** Only for the files that are written at the end. */
  readonly results: SurveyResult[] = [];
  failing = 0;
  #done = 0;
  /** Those of the state file say nothing of the rate. */
  #asked = 0;
  readonly #total: number;
  readonly #comparison: Comparison | undefined;
  readonly #isSilent: boolean;
  readonly #keepsResults: boolean;
  readonly #output: Output;
  readonly #startedAt = Date.now();
  readonly #counts = new Map<string, number>();

  constructor(
    total: number,
    comparison: Comparison | undefined,
    isSilent: boolean,
    flags: Flags,
    output: Output,
  ) {
    this.#total = total;
    this.#comparison = comparison;
    this.#isSilent = isSilent;
    this.#keepsResults = (flags.csv ?? flags.html) !== undefined;
    this.#output = output;
  }

  add(given: SurveyResult): void {
    const changes = this.#comparison?.changesOf(given);
    const result = { ...given, ...(changes !== undefined && { changes }) };
    this.#done++;
    if (result.at >= this.#startedAt) this.#asked++;
    if (!result.works) this.failing++;
    for (const name of [`${stateOf(result)} ${result.variant}`, ...(changes ?? [])])
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    if (this.#keepsResults) this.results.push(result);
    if (this.#output.json) this.#output.value(result, 0);
    else if (!this.#isSilent) this.#output.lines(...linesOf(result, this.#output.paint));
  }

  progress(): void {
    const seconds = (Date.now() - this.#startedAt) / 1_000;
    const rate = this.#asked / seconds;
    const left =
      rate === 0 ? "" : `, about ${Math.ceil((this.#total - this.#done) / rate / 60)} min left`;
    const share = Math.floor((100 * this.#done) / this.#total);
    this.#output.progress(
      `${this.#done} of ${this.#total} (${share} %), ` +
        `${rate.toFixed(rate < 10 ? 1 : 0)}/s${left}, ${this.failing} fail`,
    );
  }

  interrupted(stateFile: string | undefined): void {
    const next =
      stateFile === undefined
        ? "With --state the next run would go on from here."
        : "Run the same command again to go on from here.";
    this.#output.note(`${this.#done} of ${this.#total} customers are done. ${next}`);
  }

  end(): void {
    if (this.#output.json || this.#isSilent) return;
    const number = (name: string) => String(this.#counts.get(name) ?? 0);
    const row = (title: string, cells: readonly string[]) =>
      `${title.padEnd(24)}${cells.map((cell) => cell.padStart(11)).join("")}`;
    const counts = (["works", "served", "fails"] as const).map((state) =>
      row(
        state === "served" ? "served (no credential)" : state,
        ["A", "B", "null"].map((variant) => number(`${state} ${variant}`)),
      ),
    );
    const since =
      this.#comparison === undefined
        ? []
        : [
            "",
            `Since then: ${[
              ...(Object.keys(changeWords) as Change[]).map(
                (change) => `${number(change)} ${changeWords[change]}`,
              ),
              `${this.#comparison.gone().length} gone`,
            ].join(", ")}.`,
          ];
    this.#output.lines("", row("", ["Variant A", "Variant B", "unknown"]), ...counts, ...since);
  }
}

function linesOf(result: SurveyResult, paint: Paint): string[] {
  const { variant, code, remedy, changes = [] } = result;
  const state = stateOf(result);
  const changed =
    changes.length === 0
      ? []
      : [`${" ".repeat(10)}${changes.map((one) => changeWords[one]).join(", ")}`];
  const why =
    code === undefined ? [] : [`${" ".repeat(10)}-> ${code}: ${printableText(remedy ?? "")}`];
  return [
    `${paint(styles[state], state.padEnd(7))}${(variant ?? "-").padEnd(3)}${nameOf(result)}`,
    ...changed,
    ...why,
  ];
}
