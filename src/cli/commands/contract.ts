/**
 * `bivariant contract`: the promises of the description, tried on a deployment, with reports for
 * people and machines.
 */
import type { Command } from "commander";
import {
  ContractError,
  type ContractResult,
  type ContractTarget,
  contractCases,
  htmlReport,
  junitReport,
  learnFrom,
  parseBaseline,
  runContract,
} from "../../contract/index.js";
import {
  chooseCases,
  compareChosen,
  countResults,
  groupNotTried,
  longestWaitSeconds,
  type Movement,
  movedSettings,
  movementLines,
  needed,
  onlyMoved,
  type RunAbout,
  refusedCredentials,
  summaryText,
} from "../../contract/internal.js";
import { defaultFetch } from "../../internal.js";
import { collect, invalidFlag, portOption, readFileOf, wholeNumber } from "../arguments.js";
import { readTarget, withPerson } from "../contract-target.js";
import { type ExitCode, exitCodes } from "../error-report.js";
import { type Output, type Paint, printableText } from "../output.js";
import { proxyFetch } from "../proxy-fetch.js";
import { checkReports, writeWhole } from "../report-files.js";
import type { Context } from "../run.js";
import { addSettings, identitySettings, readSettings, type Settings } from "../settings.js";

interface Flags {
  readonly port: number;
  readonly target?: string;
  readonly login?: true;
  readonly only?: readonly string[];
  readonly safe?: true;
  readonly maxRequests?: number;
  readonly list?: true;
  readonly junit?: string;
  readonly html?: string;
  readonly learn?: string;
  readonly baseline?: string;
}

const settingNames = [
  ...identitySettings.filter((name) => !/^(?:variant|login|audience|store.*)$/.test(name)),
  "authorizationEndpoint",
] as const;

export function define(command: Command, context: Context): void {
  const { output } = context;
  command
    .argument("[baseUrl]", "address of the deployment; the same as --base-url")
    .option(
      "--target <file>",
      "JSON file with what else may be used, such as a second key or a second tenant",
    )
    .option("--login", "a person logs in at this machine, once for each case that needs it")
    .addOption(portOption())
    .option(
      "--only <id>",
      "try this case or group, even if it is not safe; may be repeated",
      collect,
    )
    .option("--safe", "leave out every case that costs a launch, a login or a wait")
    .option(
      "--max-requests <number>",
      "budget of requests (default: 60, and 1000 for a deployment on this machine)",
      wholeNumber(1, 100_000, "a whole number"),
    )
    .option("--list", "print the cases with what they need and cost, and send nothing")
    .option("--junit <file>", "write the results as JUnit XML")
    .option("--html <file>", "write the results as a page for people, with the evidence")
    .option(
      "--learn <file>",
      "write what was learnt as an OpenAPI Overlay, and beside it as a settings file",
    )
    .option(
      "--baseline <file>",
      "compare with the output of an earlier --json; exit 1 if something moved",
    );
  addSettings(command, settingNames, context)
    .action(async (given: string | undefined, flags: Flags) => {
      if (flags.list) return listCases(output, flags);
      if (given !== undefined && command.getOptionValueSource("baseUrl") === "cli")
        throw invalidFlag("--base-url", "repeats the argument. Remove one.");
      const settings = await readSettings(command, context);
      await tryContract(
        given === undefined ? settings : { ...settings, baseUrl: given },
        flags,
        context,
      );
    })
    .addHelpText(
      "after",
      `
Examples:
  $ bivariant contract https://customer.example --tenant acme --html report.html
  $ bivariant contract --json > before.json
  $ bivariant contract --baseline before.json --junit contract.xml
  $ bivariant contract --only assertion --only code.lifetime \\
      --target target.json

Requests are paced, and a 429 is waited out. A case that could lock, revoke or
change something, that uses up the rate limit or waits long is tried only if
--only names it. --list shows all cases.

--target takes a JSON object with members of ContractTarget, for example
  { "secondKey": { "privateKeyFile": "second.pem" },
    "closedRoute": "GET /api/v1/acme/tenant-settings" }
where privateKeyFile and clientSecretFile are paths relative to the file. A
launch, a denied capability, and narrowing a grant or disabling a plugin during
the run need a program: see runContract of bivariant/contract.

--login needs --b-login-client-id and --authorization-endpoint. Register the
redirect URI http://127.0.0.1/callback.

With --json: { "results": [{ "id", "rule"?, "unknown"?, "variant", "section",
"says", "result", "expected", "observed", "reason"?, "settings"?, "evidence" }],
"summary", "moved"? }. Nothing that is printed or written holds a secret.

Exits 0 if everything that was tried holds, 1 if something breaks or moved, 3 if
a credential was refused, 4 if no variant is served, 5 if the target does not
answer. On Ctrl-C the reports so far are written.`,
    );
}

const listCommand = "bivariant contract --list";

function listCases(output: Output, { only, safe }: Flags) {
  const chosen = new Set(chooseCases({ only, safe }, listCommand).map(({ id }) => id));
  const cases = contractCases.filter(({ id }) => chosen.has(id));
  if (output.json) return output.value(cases);
  output.lines(
    ...cases.flatMap(({ id, variant, section, says, needs, costs, safe, extra }) => {
      const whyNamed = [
        !safe && "Not safe.",
        extra && "Extra: it tells little for that.",
        costs.seconds > longestWaitSeconds && "It waits long.",
      ].filter(Boolean);
      const spent = Object.entries(costs).filter(([, amount]) => amount > 0);
      const cost = spent.map(
        ([name, amount]) => `${amount} ${amount === 1 ? name.slice(0, -1) : name}`,
      );
      const note = whyNamed.length === 0 ? [] : [...whyNamed, "Tried only if --only names it."];
      return [
        `${output.paint("bold", id)} (Variant ${variant}, ${section})`,
        `  ${says}`,
        ...(needs.length > 0
          ? [`  Needs ${needs.map((name) => needed[name]).join(", and ")}.`]
          : []),
        `  ${[`Costs at most ${cost.join(", ") || "nothing"}.`, ...note].join(" ")}`,
      ];
    }),
    "",
    "A slot is a token request that counts for the rate limit of the token endpoint.",
    "A case that is not safe could lock, revoke or change something, or use up the rate limit.",
    "--only takes an id, or the group that ids begin with before a dot: assertion, code.lifetime.",
    `${cases.length} cases.`,
  );
}

async function tryContract(settings: Settings, flags: Flags, context: Context) {
  const { output, signal, finish } = context;
  const { only, safe, baseline, target: file, login, port } = flags;
  // Everything that can be wrong is checked before the first request.
  const chosen = chooseCases({ only, safe }, listCommand);
  const before = baseline === undefined ? undefined : await readBaseline(baseline, signal);
  const reports = reportsOf(flags);
  await checkReports(reports, [file, baseline]);
  const lent = await readTarget(settings, file);
  const person = login ? await withPerson(lent, port, context) : undefined;
  const target = person?.target ?? lent;
  const trying = output.during("trying the cases", () =>
    collectResults(target, settings, flags, context),
  );
  const { results, about: tried } = await trying.finally(() => person?.close());
  const isComparable = before !== undefined && !tried.interrupted;
  const moved = isComparable ? compareChosen(before, results, chosen, contractCases) : undefined;
  const about = { ...tried, moved };
  for (const { flag, path, make } of reports) await writeWhole(flag, path, make(results, about));
  const { requests, seconds, interrupted } = about;
  const summary = { ...countResults(results), requests, seconds, interrupted };
  const code = exitCodeOfRun(results, moved);
  for (const problem of problemsOf(results, code))
    output.say(`${output.paintNote("red", "error")} ${printableText(problem)}`);
  if (output.json) output.value({ results, summary, moved });
  else
    output.lines(
      "",
      ...notTriedLines(results, output.paint),
      ...movedLines(moved, baseline, output.paint),
      ...(flags.learn === undefined ? [] : learnFrom(results).conflicts),
      ...reports.map(({ path }) => `Written: ${path}`),
      output.paint("bold", summaryText(results, about)),
    );
  if (interrupted && !output.json) output.note("Interrupted.");
  finish(interrupted ? signal.reason : code);
}

/** Runs the cases and prints them. On Ctrl-C it resolves with what was found until then. */
async function collectResults(
  target: ContractTarget,
  { timeoutMs, retryDeadlineMs, allowInsecureHttp, env }: Settings,
  { only, safe, maxRequests }: Flags,
  { output, signal }: Context,
) {
  const results: ContractResult[] = [];
  const startedAt = Date.now();
  const fetch = proxyFetch(env) ?? defaultFetch;
  let requests = 0;
  const running = runContract(target, {
    only,
    safe,
    maxRequests,
    timeoutMs,
    retryDeadlineMs,
    allowInsecureHttp,
    signal,
    fetch(url, init) {
      requests++;
      return fetch(url, init);
    },
    onWait({ ms, reason }) {
      if (ms >= 1_000) output.note(`Waiting ${Math.ceil(ms / 1_000)} s ${waits[reason]}.`);
    },
  });
  try {
    for await (const result of running) {
      results.push(result);
      if (!output.json && result.result !== "not tried")
        output.lines(...resultLines(result, output.paint));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  const seconds = Math.round((Date.now() - startedAt) / 100) / 10;
  const { baseUrl, tenantId } = target;
  const interrupted = signal.aborted ? true : undefined;
  return { results, about: { baseUrl, tenantId, startedAt, requests, seconds, interrupted } };
}

const waits = {
  pace: "between two requests",
  rate_limit: "for the rate limit",
  case: "for a time that a case needs",
} as const;

const colours = { holds: "green", breaks: "red", learnt: "yellow", "not tried": "dim" } as const;

const idWidth = 30;

/** A long id has a line of its own, so that all observations begin at one column. */
function resultLines(one: ContractResult, paint: Paint): string[] {
  const { id, result, says, expected, section } = one;
  const observed = printableText(one.observed);
  const gap =
    id.length > idWidth ? `\n${" ".repeat(10 + idWidth)}` : " ".repeat(2 + idWidth - id.length);
  const line = `${paint(colours[result], result.padEnd(6))}  ${id}${gap}${observed}`;
  if (result !== "breaks") return [line];
  const facts = Object.entries({ case: says, expected, observed, section });
  return [line, ...facts.map(([name, value]) => `        ${name.padEnd(8)}  ${value}`)];
}

/** The ids of cases that need something are in the other reports. */
function notTriedLines(results: readonly ContractResult[], paint: Paint): string[] {
  const groups = groupNotTried(results);
  if (groups.length === 0) return [];
  const lines = groups.flatMap(({ says, cases }) => {
    const { reason } = cases[0] ?? {};
    const hint = reason === "unnamed" ? " (--only)" : "";
    const line = `${String(cases.length).padStart(4)}  ${printableText(says)}${hint}`;
    return reason === "needs"
      ? [line]
      : [line, `      ${cases.map(({ id }) => paint("dim", id)).join(" ")}`];
  });
  return ["Not tried:", ...lines, ""];
}

function movedLines(moved: readonly Movement[] | undefined, baseline = "", paint: Paint): string[] {
  if (moved === undefined) return [];
  const cases = onlyMoved(moved);
  const settings = movedSettings(moved);
  const ids = (sought: Movement["kind"], title: string) => {
    const found = moved.filter(({ kind }) => kind === sought).map(({ id }) => id);
    return found.length === 0 ? [] : [`${title} ${baseline}:`, `  ${found.join(" ")}`];
  };
  return [
    ...(cases.length === 0 ? [`Nothing moved since ${baseline}.`] : [`Moved since ${baseline}:`]),
    ...(settings.length === 0
      ? []
      : ["  Settings", ...settings.map((line) => printableText(`    ${line}`))]),
    ...cases.flatMap((one) => [
      `  ${paint("bold", one.id)} (Variant ` +
        `${one.variant})${one.kind === "moved" ? "" : `, ${one.kind}`}`,
      ...movementLines(one).map((line) => printableText(`    ${line}`)),
    ]),
    ...ids("untried", "No longer tried (above is why; it does not count as moved) since"),
    ...ids("tried", "Tried now, and not in"),
    "",
  ];
}

interface Report {
  readonly flag: string;
  readonly path: string;
  readonly make: (results: readonly ContractResult[], about: RunAbout) => string;
}

function reportsOf({ junit, html, learn }: Flags): readonly Report[] {
  const one = (flag: string, path: string | undefined, make: Report["make"]): readonly Report[] =>
    path === undefined ? [] : [{ flag, path, make }];
  const settingsPath = learn?.replace(/(?:\.[^./\\]*)?$/, ".settings.json");
  const settings: Report["make"] = (results) =>
    `${JSON.stringify(learnFrom(results).settings, null, 2)}\n`;
  return [
    ...one("--junit", junit, junitReport),
    ...one("--html", html, htmlReport),
    ...one("--learn", learn, (results) => learnFrom(results).overlay),
    ...one("--learn", settingsPath, settings),
  ];
}

/** @throws ConfigurationError, ContractError with the path */
async function readBaseline(path: string, signal: AbortSignal) {
  const text = await readFileOf("--baseline", path, signal);
  try {
    return parseBaseline(text);
  } catch (error) {
    if (!(error instanceof ContractError)) throw error;
    throw new ContractError(
      error.code,
      `${error.message} Check the path in --baseline: ${path}`,
      [],
    );
  }
}

/** What the caller must mend before more can be tried. */
function problemsOf(results: readonly ContractResult[], code: ExitCode): string[] {
  const refused = refusedCredentials(results).map(({ variant, text }) => {
    const check = variant === "A" ? "Check it, and --tenant." : "Check it.";
    return `credential_refused: ${text} ${check}`;
  });
  const silent = results.find(({ reason }) => reason === "down" || reason === "no_answer");
  if (code !== exitCodes.network || silent === undefined) return refused;
  return [...refused, `no_answer: ${silent.observed}`];
}

/**
 * Judges a run for scripts. What needs no credential, or only an API client, meets no rate limit of
 * tokens.
 */
function exitCodeOfRun(
  results: readonly ContractResult[],
  moved: readonly Movement[] | undefined,
): ExitCode {
  if (countResults(results).breaks > 0 || onlyMoved(moved).length > 0) return exitCodes.checkSaidNo;
  const has = (sought: ContractResult["reason"]) => results.some(({ reason }) => reason === sought);
  if (has("refused")) return exitCodes.tokenRefused;
  const judged = results.filter(
    ({ result, unknown }) => result !== "not tried" && unknown !== "current-variant",
  );
  if (has("down") || (judged.length === 0 && has("no_answer"))) return exitCodes.network;
  const ofTokens = contractCases.filter(
    ({ needs: all }) => all.includes("plugin") || all.includes("serviceAccount"),
  );
  const hasJudged = ofTokens.some(({ id }) => judged.some((one) => one.id === id));
  if (!hasJudged && has("rate_limited")) return exitCodes.tokenRefused;
  return judged.length === 0 && has("not_served") ? exitCodes.variant : exitCodes.done;
}
