/** `survey`: asks many customers, some at a time, and yields each result as it comes. */
import { type AuthOptions, resolveServiceOptions } from "../client-options.js";
import { whenAborted } from "../http/exchange.js";
import type { NamesOf } from "../option-names.js";
import {
  requireDuration,
  requireOptions,
  requireSignal,
  requireTypes,
  requireWhole,
  withoutUndefined,
} from "../options.js";
import { type CheckOptions, type Customer, checkCustomers } from "./customers.js";
import { SurveyError } from "./errors.js";
import { examiner } from "./examine.js";
import type { SurveyResult } from "./result.js";
import type { WrongRow } from "./rows.js";
import { digestOf, StateFile } from "./state-file.js";

/** The options of {@link survey}. */
export interface SurveyOptions
  extends CheckOptions,
    Pick<AuthOptions, "fetch" | "clock" | "timeoutMs" | "retryDeadlineMs"> {
  /** How many customers are examined at a time. Default: 16. */
  readonly concurrency?: number | undefined;
  /** The time limit of one customer, with its waits for a rate limit. Default: 120 000. */
  readonly customerTimeoutMs?: number | undefined;
  /**
   * The file from which an interrupted survey goes on: customers whose result is there are not
   * asked again. Delete it after the last result. It must not be that of another running survey.
   */
  readonly stateFile?: string | undefined;
  /** The variables that customers may name for their secrets. Default: those of the process. */
  readonly variables?: Readonly<Record<string, string | undefined>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

const optionNames: NamesOf<SurveyOptions> = {
  allowInsecureHttp: true,
  fetch: true,
  clock: true,
  timeoutMs: true,
  retryDeadlineMs: true,
  concurrency: true,
  customerTimeoutMs: true,
  stateFile: true,
  variables: true,
  signal: true,
};

export const usualConcurrency = 16;
export const usualCustomerTimeoutMs = 120_000;

/**
 * Finds out for each customer which variant its deployment serves, with the evidence, and whether
 * its credential gets a token and can call. Results come as the customers end, in any order. What
 * is wrong with a customer is in its result.
 *
 * @throws SurveyError `customers_invalid` before anything is sent; `state_invalid`,
 * `state_unavailable`
 * @throws ConfigurationError `option_invalid` before anything is sent; the reason of `signal`
 * @example
 * for await (const { tenantId, variant, works, remedy } of survey(customers))
 *   console.log(tenantId, variant, works, remedy);
 */
export function survey(
  customers: Iterable<Customer>,
  options: SurveyOptions = {},
): AsyncIterableIterator<SurveyResult> {
  requireOptions("survey", options, optionNames);
  requireTypes(options, "string", ["stateFile"]);
  const { stateFile, variables = process.env } = options;
  const concurrency = requireWhole("concurrency", options.concurrency, usualConcurrency, 1);
  const resolved = resolveServiceOptions(options);
  const customerTimeoutMs = requireDuration(
    "customerTimeoutMs",
    options.customerTimeoutMs,
    usualCustomerTimeoutMs,
    1,
  );
  const checked = checkCustomers([...customers], resolved);
  if (checked.wrong.length > 0) throw wrongCustomers(checked.wrong);
  const examine = examiner({ resolved, customerTimeoutMs, variables });
  const signal = requireSignal(options.signal);
  return run(checked.customers, { examine, concurrency, stateFile, signal });
}

const mostIssues = 100;

export function wrongCustomers(wrong: readonly WrongRow[]): SurveyError {
  const shown = wrong.slice(0, mostIssues).map(({ line, problem }) => `Line ${line} ${problem}`);
  const more =
    wrong.length > mostIssues ? [`${wrong.length - mostIssues} more rows are wrong.`] : [];
  const rows = wrong.length === 1 ? "1 row is wrong" : `${wrong.length} rows are wrong`;
  return new SurveyError("customers_invalid", `${rows}. Nothing was sent.`, [...shown, ...more]);
}

interface Run {
  readonly concurrency: number;
  readonly examine: ReturnType<typeof examiner>;
  readonly stateFile: string | undefined;
  readonly signal: AbortSignal | undefined;
}

async function* run(customers: readonly Customer[], options: Run) {
  const { examine, stateFile, signal } = options;
  signal?.throwIfAborted();
  const state = stateFile === undefined ? undefined : await StateFile.open(stateFile);
  try {
    const left = new Map(customers.map((one) => [digestOf(one), one]));
    for await (const { digest, result } of state?.read() ?? []) {
      const customer = left.get(digest);
      if (customer === undefined) continue;
      left.delete(digest);
      yield withRow(result, customer);
    }
    const one = async ([digest, customer]: readonly [string, Customer], stop: AbortSignal) => {
      const result = await examine(customer, stop);
      await state?.append(digest, result);
      return result;
    };
    return yield* asTheyEnd(left, one, options);
  } finally {
    await state?.close();
  }
}

/**
 * Runs a task for each item, some at a time, and yields each result as it comes. A slower reader
 * holds the tasks up.
 */
async function* asTheyEnd<Item, Result>(
  items: Iterable<Item>,
  task: (item: Item, stop: AbortSignal) => Promise<Result>,
  { concurrency, signal }: Pick<Run, "concurrency" | "signal">,
) {
  const stop = new AbortController();
  const end = () => stop.abort(signal?.reason);
  const forget = signal && whenAborted(signal, end);
  if (signal?.aborted) end();
  const running = new Map<Item, Promise<readonly [Item, Result]>>();
  const next = async () => {
    const [item, result] = await Promise.race(running.values());
    running.delete(item);
    return result;
  };
  try {
    for (const item of items) {
      stop.signal.throwIfAborted();
      running.set(
        item,
        task(item, stop.signal).then((result) => [item, result] as const),
      );
      if (running.size === concurrency) yield await next();
    }
    while (running.size > 0) yield await next();
    return undefined;
  } finally {
    forget?.();
    stop.abort(new Error("The survey has ended."));
    await Promise.allSettled(running.values());
  }
}

/** The row may have moved to another line since, and its other columns may have changed. */
function withRow(result: SurveyResult, { line, other }: Customer): SurveyResult {
  return withoutUndefined({ ...result, line, other }) as SurveyResult;
}
