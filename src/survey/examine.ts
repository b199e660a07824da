/**
 * Examines one customer: detection, token and call, and what the doctor finds when one of them
 * fails.
 */
import { driverOf, type MachineCredential } from "../auth/credentials/credential.js";
import { machineTokens } from "../auth/machine-tokens.js";
import { TokenEndpointState } from "../auth/request/rate-limit-gate.js";
import { RecentlyUsed } from "../auth/shared/recently-used.js";
import { SharedState } from "../auth/shared/shared-state.js";
import type { ServiceOptions } from "../client-options.js";
import { deadlineIn } from "../clock.js";
import { examineAssertion } from "../doctor/assertion.js";
import { examineCall, explainRefusal } from "../doctor/call.js";
import { asInvalid, readSecretFrom } from "../doctor/credentials.js";
import { examineReach, judgeDetection } from "../doctor/deployment.js";
import {
  type Check,
  type DoctorInput,
  type Finding,
  fail,
  type Wording,
} from "../doctor/finding.js";
import {
  type BivariantError,
  ConfigurationError,
  type Detection,
  isBivariantError,
  isConfigurationError,
  isRateLimitedError,
  type RateLimitedError,
  type Variant,
} from "../errors.js";
import { type Answer, whenAborted } from "../http/exchange.js";
import { openInput } from "../input-file.js";
import { withoutUndefined } from "../options.js";
import { type Service, serviceMaker } from "../service.js";
import { detect } from "../variants/detect.js";
import type { Target } from "../variants/target.js";
import type { Customer } from "./customers.js";
import type { SurveyResult } from "./result.js";

interface ExamineOptions {
  readonly resolved: ServiceOptions;
  readonly customerTimeoutMs: number;
  readonly variables: Readonly<Record<string, string | undefined>>;
}

const column = (name: string) => `the column ${name}`;
const columnOf: Readonly<Record<string, string>> = {
  baseUrl: "baseUrl",
  tenant: "tenantId",
  tenantId: "tenantId",
  variant: "variant",
  aKeyId: "aKeyId",
  keyId: "aKeyId",
  privateKey: "aPrivateKeyFile or aPrivateKeyVariable",
  clientSecret: "bClientSecretFile or bClientSecretVariable",
};
const ways = {
  A: "aClientId, and aPrivateKeyFile or aPrivateKeyVariable",
  B: "bClientId, and bClientSecretFile or bClientSecretVariable",
};

const wording: Wording = {
  namesOf: (setting) => column(columnOf[setting] ?? setting),
  waysToSet: (variant) =>
    variant === undefined
      ? `Fill for Variant A ${ways.A}; for Variant B ${ways.B}.`
      : `Fill ${ways[variant]}.`,
  whereToSet: ({ option = "" }) =>
    columnOf[option] === undefined ? undefined : `Correct ${column(columnOf[option])}.`,
};

/** The gates of this many tenants are remembered, for rows of the same tenant. */
const mostGates = 1_000;
/** This many credentials are remembered, so that a key which customers share is imported once. */
const mostCredentials = 100;

/** Returns a function that examines a customer. It rejects only after an abort. */
export function examiner(
  options: ExamineOptions,
): (customer: Customer, signal: AbortSignal) => Promise<SurveyResult> {
  const { resolved, customerTimeoutMs } = options;
  const { clock } = resolved;
  const context: Context = {
    ...options,
    states: new RecentlyUsed<TokenEndpointState>(mostGates, ({ gate }) => gate.isOpen),
    credentials: new RecentlyUsed<MachineCredential>(mostCredentials),
    shared: new SharedState(resolved),
    serviceOf: serviceMaker(resolved),
  };
  return async (customer, signal) => {
    const startedAt = clock.monotonic();
    const limit = new AbortController();
    const forget = whenAborted(signal, () => limit.abort(signal.reason));
    const timer = clock.setTimeout(() => limit.abort(), customerTimeoutMs);
    const found: Found = {
      detection: { evidence: [], served: { A: "unknown", B: "unknown" }, detectedAt: 0 },
      findings: [],
      works: false,
    };
    let end: Finding | undefined;
    try {
      await examine(customer, found, limit.signal, context);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      end = limit.signal.aborted ? outOfTime(customerTimeoutMs) : faultOf(error);
    } finally {
      clock.clearTimeout(timer);
      forget();
    }
    return resultOf(customer, found, end, {
      at: clock.now(),
      durationMs: Math.round(clock.monotonic() - startedAt),
    });
  };
}

interface Context extends ExamineOptions {
  /** Gates and clocks of token endpoints, shared by the rows of a tenant. */
  readonly states: RecentlyUsed<TokenEndpointState>;
  /**
   * Credentials by the JSON of their settings, which holds the secret. They stay in memory only.
   */
  readonly credentials: RecentlyUsed<MachineCredential>;
  readonly shared: SharedState;
  readonly serviceOf: ReturnType<typeof serviceMaker>;
}

/** What has been found so far, and stays if the time limit ends the rest. */
interface Found {
  detection: Detection;
  findings: Finding[];
  works: boolean;
}

async function examine(customer: Customer, found: Found, signal: AbortSignal, context: Context) {
  const { allowInsecureHttp, fetch, timeoutMs } = context.resolved;
  const { baseUrl, tenantId, variant, aClientId, aKeyId, bClientId } = customer;
  const target = { baseUrl, tenantId: tenantId ?? "" };
  const obstacle = await detectAll(target, found, signal, context).catch((error: unknown) => {
    if (!isBivariantError(error)) throw error;
    return error;
  });
  const read = (secret: "aPrivateKey" | "bClientSecret") =>
    readSecret(customer, secret, signal, context);
  const plugin =
    variant === "B" || aClientId === undefined
      ? undefined
      : await read("aPrivateKey").then(
          (privateKey) => ({ clientId: aClientId, privateKey, keyId: aKeyId, audience: undefined }),
          asInvalid,
        );
  const account =
    variant === "A" || bClientId === undefined
      ? undefined
      : await read("bClientSecret").then(
          (clientSecret) => ({ clientId: bClientId, clientSecret }),
          asInvalid,
        );
  const input: DoctorInput = {
    wording,
    baseUrl,
    tenantId,
    variant,
    allowInsecureHttp,
    plugin,
    account,
    signal,
    login: undefined,
    noCredential: "",
    registeredJwks: undefined,
    fetch,
    timeoutMs,
    // The service that is opened here waits itself, at the gate that the detection passed.
    retryDeadlineMs: 0,
    note: () => {},
    checksCertificates: process.env.NODE_TLS_REJECT_UNAUTHORIZED !== "0",
    openService: (given) => {
      const settings = JSON.stringify(given.variant === "A" ? plugin : account);
      const credential = context.credentials.get(settings, () => given as MachineCredential);
      return openService(credential, target, context);
    },
  };
  const { finding, variant: chosen } = judge(input, found.detection.served, obstacle);
  found.findings.push(finding);
  if ((plugin ?? account) !== undefined && chosen !== undefined) {
    const canSign = !isConfigurationError(plugin);
    const earlier = { isReached: true, correctionMs: 0, canSign, variant: chosen };
    found.findings.push(...(await examineCall(input, earlier)));
  }
  found.works = found.findings.every(
    ({ verdict }, index) => verdict === "pass" || (index === 0 && verdict !== "fail"),
  );
  if (found.works) return;
  const reach = await examineReach(input);
  found.findings.push(...reach.findings);
  if (plugin !== undefined)
    found.findings.push(...(await examineAssertion(input, reach.correctionMs)).findings);
}

/**
 * Judges the detection. `obstacle` is the error that ended it: after a rate limit the answers so
 * far may still decide, after any other error nothing is known.
 */
function judge(
  input: DoctorInput,
  served: Detection["served"],
  obstacle: BivariantError | undefined,
): { readonly finding: Finding; readonly variant?: Variant | undefined } {
  if (obstacle !== undefined && !isRateLimitedError(obstacle))
    return { finding: explain(obstacle) };
  const judged = judgeDetection(served, input);
  const { verdict, remedy } = judged.finding;
  if (verdict !== "pass" && obstacle !== undefined) return { finding: explain(obstacle) };
  // Of hundreds of addresses one may be a stranger's, who must not get a credential.
  const hasCredential = (input.plugin ?? input.account) !== undefined;
  if (verdict === "unknown" && (input.variant === undefined || !hasCredential))
    return { finding: unproven };
  if (input.tenantId !== undefined || verdict !== "fail") return judged;
  const withTenant = `Add the tenantId, without which Variant A is not asked. ${remedy}`;
  return { finding: { ...judged.finding, remedy: withTenant } };
}

function explain(error: BivariantError): Finding {
  const about = { variant: undefined, correctionMs: 0, asked: "", wording } as const;
  return explainRefusal("detection", error, { ...about, adminArea: "Service accounts" });
}

/**
 * Asks about each variant, without a tenant about Variant B alone. After a 429 it asks again at the
 * end of the rate limit. If that is too late, the other variant is asked still, and the error is
 * returned.
 */
async function detectAll(target: Target, found: Found, signal: AbortSignal, context: Context) {
  const { resolved, shared } = context;
  const deadline = deadlineIn(resolved.retryDeadlineMs, resolved.clock);
  let limited: RateLimitedError | undefined;
  for (const variant of target.tenantId === "" ? (["B"] as const) : (["A", "B"] as const)) {
    const state = stateOf(variant, target, context);
    const onAnswer = (_: Variant, answer: Answer) => state.learn(answer, shared, () => {});
    const before = found.detection;
    do {
      try {
        const leave = await state.gate.enter({ deadline, signal });
        const asking = { ...resolved, signal, onAnswer, before, untilYes: false };
        found.detection = await detect(target, [variant], asking).finally(leave);
      } catch (error) {
        if (!isRateLimitedError(error)) throw error;
        limited = error;
        break;
      }
    } while (found.detection.evidence.some((one) => one.variant === variant && one.status === 429));
  }
  return limited;
}

function stateOf(variant: Variant, target: Target, { states, resolved }: Context) {
  const key = `${variant} ${target.baseUrl} ${target.tenantId}`;
  return states.get(key, () => new TokenEndpointState(variant, target, resolved));
}

function openService(credential: MachineCredential, target: Target, context: Context): Service {
  const { resolved: options, shared, serviceOf } = context;
  const { variant } = credential;
  const driver = driverOf(credential);
  const state = stateOf(variant, target, context);
  return serviceOf(machineTokens({ variant, target, driver, state, shared, options }));
}

/**
 * Reads a secret each time, since a file may change during a long survey.
 * @throws ConfigurationError
 */
async function readSecret(
  customer: Customer,
  secret: "aPrivateKey" | "bClientSecret",
  signal: AbortSignal,
  { variables }: Context,
) {
  const [file = "", variable] = [customer[`${secret}File`], customer[`${secret}Variable`]];
  const invalid = (message: string) => new ConfigurationError("credential_invalid", message);
  const what = secret === "aPrivateKey" ? "private key" : "client secret";
  if (variable === undefined)
    return readSecretFrom(openInput(file, signal), what, column(`${secret}File`), invalid);
  const value = variables[variable];
  if (value) return value;
  throw invalid(`The variable that ${secret}Variable names is not set. Set it.`);
}

function outOfTime(ms: number): Finding {
  return fail(
    "detection",
    `The customer took longer than its time limit of ${ms / 1_000} s.`,
    "Raise customerTimeoutMs, or lower concurrency. A rate limit is waited for within this time.",
    "customer_timed_out",
  );
}

/**
 * A fault of this program must not end the survey. Its message is not shown, because it may quote
 * anything.
 */
function faultOf(error: unknown): Finding {
  const name = error instanceof Error ? error.name : "not an Error";
  return fail("detection", `A fault of this program (${name}).`, "Please report it.", "internal");
}

/**
 * The checks by which a failure is named, the most telling first: without a connection or a key
 * nothing else works.
 */
const tellingChecks: readonly Check[] = [
  "tls",
  "reachability",
  "key",
  "audience",
  "detection",
  "token",
  "api_call",
];

function resultOf(
  customer: Customer,
  { detection: { evidence, served }, findings, works }: Found,
  end: Finding | undefined,
  time: Pick<SurveyResult, "at" | "durationMs">,
): SurveyResult {
  const { baseUrl, tenantId = null, variant: named, aClientId, bClientId, other, line } = customer;
  const called = (aClientId ?? bClientId) !== undefined;
  const failed = tellingChecks
    .map((check) => findings.find((one) => one.check === check && one.code !== undefined))
    .find((one) => one !== undefined);
  const reason = end ?? failed ?? (works ? undefined : unproven);
  const ofCredential = aClientId === undefined ? "B" : "A";
  const order = [named ?? (called ? ofCredential : "A"), "A", "B"] as const;
  const variant = order.find((one) => served[one] === "yes");
  return withoutUndefined({
    tenantId,
    baseUrl,
    variant: variant ?? (reason === undefined ? order[0] : null),
    works: reason === undefined,
    called,
    code: reason?.code,
    problem: reason?.evidence,
    remedy: reason?.remedy,
    served,
    evidence,
    findings: end === undefined ? findings : [...findings, end],
    aClientId,
    bClientId,
    other,
    line,
    ...time,
  }) as SurveyResult;
}

const unproven: Finding = fail(
  "detection",
  "It is unknown which variant is served, so no credential was sent.",
  "Check the base URL and the tenant id. If you know the variant, write it into the column " +
    "variant: its credential is then tried.",
  "variant_unknown",
);
