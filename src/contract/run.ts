/**
 * Tries the cases against one deployment, one after the other, and yields each result as it comes.
 */
import { mostAlike, type NamesOf } from "../option-names.js";
import type { CaseDefinition, ContractCase, ContractResult, Verdict } from "./case.js";
import { allCases } from "./cases/all.js";
import { ContractError, NotTried, requireOptions } from "./errors.js";
import type { RunOptions, WaitReason } from "./exchange.js";
import { Kit } from "./kit.js";
import { type ContractTarget, needed, parseTarget } from "./target.js";

/** The options of {@link runContract}. */
export interface ContractOptions {
  /**
   * Ids of cases, or beginnings of ids that end before a dot: `["assertion", "code.lifetime"]`.
   * These are tried even if they are not safe; no other is. Default: every safe case.
   */
  readonly only?: readonly string[] | undefined;
  /** Leaves out every case that costs a launch, a login or a wait. Default: false. */
  readonly safe?: boolean | undefined;
  /** Default: 60, and 1000 for a deployment on this machine. */
  readonly maxRequests?: number | undefined;
  /** The pause between two requests. Default: 200, and 0 for a deployment on this machine. */
  readonly paceMs?: number | undefined;
  /** Time limit of one request. Default: 10 000. */
  readonly timeoutMs?: number | undefined;
  /** How long a 429 is waited out for one request. Default: 60 000. */
  readonly retryDeadlineMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Sends every request of the run. Default: the global one. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /**
   * Epoch milliseconds. Default: `Date.now`. The time that `wait` was given is added if this does
   * not move by it.
   */
  readonly now?: (() => number) | undefined;
  /**
   * Waits, for a rate limit and for lifetimes to end. An emulator's clock can be moved instead.
   * Default: real time.
   */
  readonly wait?: ((ms: number) => Promise<unknown>) | undefined;
  /** Called before each wait, so that a person can be told. */
  readonly onWait?:
    | ((waiting: { readonly ms: number; readonly reason: WaitReason }) => void)
    | undefined;
  /** Allows plain http to another machine. Default: false. */
  readonly allowInsecureHttp?: boolean | undefined;
}

/** Every case, as data, in the order in which they are tried. */
export const contractCases: readonly ContractCase[] = allCases.map(
  ({ run: _, expected: __, ...data }) => data,
);

/**
 * Cases that wait longer than this are tried only if they are named, or if the option `wait` is
 * given.
 */
export const longestWaitSeconds = 5;

/**
 * Tries what the target allows to try. What a deployment does is a result, never an error.
 *
 * @throws ContractError before the first request; the reason of `signal`
 * @see the description, all sections
 * @example
 * const target = { baseUrl, tenantId, plugin: { clientId, privateKey } };
 * for await (const { id, result, observed } of runContract(target))
 *   console.log(id, result, observed);
 */
export async function* runContract(
  target: ContractTarget,
  options: ContractOptions = {},
): AsyncGenerator<ContractResult, void> {
  const { cases, kit } = await prepareRun(target, options);
  for (const one of cases) {
    options.signal?.throwIfAborted();
    yield await runCase(one, kit, options);
  }
}

/**
 * Checks everything that the caller gives. A key that cannot be used is an error of the caller, so
 * it is found before anything is sent.
 *
 * @throws ContractError
 */
export async function prepareRun(
  target: ContractTarget,
  options: ContractOptions,
): Promise<{ readonly cases: readonly CaseDefinition[]; readonly kit: Kit }> {
  requireOptions("a contract run", options, optionNames);
  const checked = parseTarget(target);
  const cases = chooseCases(options);
  const kit = new Kit(checked, resolveOptions(checked, options), options.only !== undefined);
  for (const [name, value] of Object.entries(checked))
    if (typeof value === "object" && "privateKey" in value) await kit.signer(value, name);
  return { cases, kit };
}

export const optionNames: NamesOf<ContractOptions> = {
  only: true,
  safe: true,
  maxRequests: true,
  paceMs: true,
  timeoutMs: true,
  retryDeadlineMs: true,
  signal: true,
  fetch: true,
  now: true,
  wait: true,
  onWait: true,
  allowInsecureHttp: true,
};

/**
 * Makes sure that a run can show something. Of two variants one need not be served; all that is
 * lent for one that is must be accepted.
 *
 * @throws NotTried if nothing answers, or a credential is refused
 */
export async function checkAccess(kit: Kit, cases: readonly CaseDefinition[]): Promise<void> {
  const { tenantId, plugin, pagePlugin, serviceAccount, apiClient } = kit.target;
  const tried = { A: tenantId !== undefined, B: true };
  const lent = {
    A: tried.A && Boolean(plugin ?? pagePlugin),
    B: Boolean(serviceAccount ?? apiClient),
  };
  const asked = lent.A || lent.B ? lent : tried;
  const variants = (["A", "B"] as const).filter(
    (variant) => asked[variant] && cases.some((one) => one.variant === variant),
  );
  const notServed: NotTried[] = [];
  for (const variant of variants) {
    try {
      await kit.requireServed(variant);
    } catch (error) {
      if (!(error instanceof NotTried && error.reason === "not_served")) throw error;
      notServed.push(error);
      continue;
    }
    if ((variant === "A" ? plugin : serviceAccount) !== undefined) await kit.granted(variant);
  }
  if (notServed.length === 0 || notServed.length < variants.length) return;
  throw new NotTried(notServed.map(({ message }) => message).join(" "));
}

/**
 * The cases that `only` names, else all that the option `safe` permits. `list` shows the caller all
 * cases.
 *
 * @throws ContractError `case_unknown`
 */
export function chooseCases(
  { only, safe }: Pick<ContractOptions, "only" | "safe">,
  list = "contractCases",
): readonly CaseDefinition[] {
  if (only === undefined)
    return allCases.filter(
      ({ costs }) => !safe || costs.codes + costs.logins + costs.seconds === 0,
    );
  const isNamed = (name: string) => (one: CaseDefinition) =>
    one.id === name || one.id.startsWith(`${name}.`);
  const unknown = only.filter((name) => !allCases.some(isNamed(name)));
  if (unknown.length === 0)
    return allCases.filter((one) => only.some((name) => isNamed(name)(one)));
  const groupsOf = (id: string) =>
    id.split(".").map((_, at, parts) => parts.slice(0, at + 1).join("."));
  const known = allCases.flatMap(({ id }) => groupsOf(id));
  const names = unknown.map((name) => {
    const meant = mostAlike(name, known);
    return `${JSON.stringify(name)}${meant === undefined ? "" : ` (did you mean ${meant}?)`}`;
  });
  throw new ContractError(
    "case_unknown",
    `No case is named ${names.join(", ")}. ${list} lists them.`,
  );
}

/** Tries one. The cases of a run share their tokens, so they are tried one after the other. */
export async function runCase(
  definition: CaseDefinition,
  kit: Kit,
  options: ContractOptions,
): Promise<ContractResult> {
  const { needs: _, costs: __, safe: ___, extra: ____, run, ...about } = definition;
  kit.begin();
  const verdict = await tryCase(definition, kit, options).catch((error: unknown): Verdict => {
    if (error instanceof NotTried)
      return { result: "not tried", observed: error.message, reason: error.reason };
    options.signal?.throwIfAborted();
    if (error instanceof ContractError) throw error;
    // What a deployment does is never an error, however odd its answers are.
    const name = error instanceof Error ? error.name : "a fault";
    return { result: "not tried", observed: `The answers cannot be judged (${name}).` };
  });
  return { ...about, ...withoutSecrets(verdict, kit), evidence: kit.evidence() };
}

/** What was observed may quote an error of the server, which may repeat what it got. */
function withoutSecrets(verdict: Verdict, { secrets }: Kit): Verdict {
  const isShown = !secrets.areIn(JSON.stringify([verdict.observed, verdict.settings]));
  if (isShown) return verdict;
  return { ...verdict, observed: "Not shown: the answer repeats a secret.", settings: undefined };
}

async function tryCase(definition: CaseDefinition, kit: Kit, options: ContractOptions) {
  const { needs, costs, safe, extra, variant } = definition;
  const missing = needs.filter((name) => kit.target[name] === undefined);
  if (missing.length > 0)
    throw new NotTried(`It needs ${missing.map((name) => needed[name]).join(", and ")}.`, "needs");
  if (!safe && !kit.isNamed)
    throw new NotTried(
      "It may lock, revoke or change something, or use up the rate limit. Name it to try it.",
      "unnamed",
    );
  if (extra && !kit.isNamed)
    throw new NotTried("It tells little for the requests it costs. Name it to try it.", "unnamed");
  if (costs.seconds > longestWaitSeconds && !kit.isNamed && options.wait === undefined)
    throw new NotTried(`It waits for ${costs.seconds} s. Name it to try it.`, "unnamed");
  if (kit.exchanges.down !== undefined) throw new NotTried(kit.exchanges.down, "down");
  if (definition.unknown !== "current-variant") await kit.requireServed(variant);
  kit.begin();
  return definition.run(kit);
}

function resolveOptions(target: ContractTarget, options: ContractOptions): RunOptions {
  const { protocol, hostname } = new URL(target.baseUrl);
  const isLocal = /^(?:(?:.*\.)?localhost|\[::1\]|127(?:\.\d{1,3}){3})$/.test(hostname);
  if (protocol === "http:" && !isLocal && !options.allowInsecureHttp) {
    const message =
      "baseUrl is plain http to another machine, which would get the credentials. " +
      "Use https, or allowInsecureHttp.";
    throw new ContractError("target_invalid", message, ["baseUrl"]);
  }
  const { maxRequests = isLocal ? 1_000 : 60, paceMs = isLocal ? 0 : 200 } = options;
  const { timeoutMs = 10_000, retryDeadlineMs = 60_000, signal, now: given = Date.now } = options;
  for (const [name, value] of Object.entries({ maxRequests, paceMs, timeoutMs, retryDeadlineMs }))
    if (
      !Number.isSafeInteger(value) ||
      value < (name === "paceMs" || name === "retryDeadlineMs" ? 0 : 1)
    )
      throw new ContractError(
        "option_invalid",
        `\`${name}\` must be a whole number, and not negative.`,
        [name],
      );
  const fetch = options.fetch ?? ((url: string, init: RequestInit) => globalThis.fetch(url, init));
  const waiting = options.wait ?? ((ms: number) => sleep(ms, signal));
  // A `wait` that moves the server's clock passes no time here, and the next assertion must not be
  // an old one.
  let skippedMs = 0;
  const now = () => given() + skippedMs;
  const wait = async (ms: number, reason: WaitReason) => {
    options.onWait?.({ ms, reason });
    const startedAt = given();
    await waiting(ms);
    skippedMs += Math.max(0, ms - (given() - startedAt));
  };
  return { fetch, now, wait, paceMs, maxRequests, timeoutMs, retryDeadlineMs, signal };
}

/** Timers of more milliseconds than this would end at once. */
const longestTimerMs = 2 ** 31 - 1;

async function sleep(ms: number, signal: AbortSignal | undefined) {
  for (let left = ms; left > 0; left -= longestTimerMs)
    await timer(Math.min(left, longestTimerMs), signal);
}

function timer(ms: number, signal: AbortSignal | undefined) {
  return new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timeout);
      reject(signal?.reason);
    };
    const timeout = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
