/**
 * Chooses the variant if credentials of both are configured, and explains an answer from the wrong
 * endpoint.
 */
import { beginEvents, type Emit, emit as emitEvent } from "./auth/auth.js";
import { credentialMissing, type MachineCredential } from "./auth/credentials/credential.js";
import { SharedTask } from "./auth/lifecycle/shared-task.js";
import type { Renewal } from "./auth/lifecycle/token-lifecycle.js";
import type { TokenEndpointState } from "./auth/request/rate-limit-gate.js";
import type { RecentlyUsed } from "./auth/shared/recently-used.js";
import type { SharedKey, SharedState } from "./auth/shared/shared-state.js";
import type { ResolvedAuthOptions } from "./client-options.js";
import { deadlineIn, zero } from "./clock.js";
import {
  type Detection,
  type Evidence,
  locate,
  UnexpectedResponseError,
  type Variant,
  VariantError,
} from "./errors.js";
import { type Answer, untilAborted } from "./http/exchange.js";
import { ifPossible } from "./http/lazy.js";
import { type DetectOptions, detect } from "./variants/detect.js";
import type { Target } from "./variants/target.js";

export { detectBoth } from "./variants/detect.js";

/** A stored detection is repeated after this time, because a deployment may change its variant. */
const detectionLifetimeMs = 60 * 60 * 1_000;

/** A detection of a variant for which the tenant has no credential is repeated after this time. */
const repeatedAfterMs = 60_000;

/**
 * The longest detection, in time limits: calls of the store and three questions, without the wait
 * for a rate limit.
 */
const longestDetection = 7;

export interface DetectionContext {
  readonly target: Target;
  /** In order of preference. */
  readonly credentials: readonly MachineCredential[];
  readonly options: ResolvedAuthOptions;
  readonly stateOf: (variant: Variant, target: Target) => TokenEndpointState;
  /**
   * Reads the settings, unless a valid token is held.
   * @throws ConfigurationError, also `credential_missing`
   */
  readonly prepare: (credential: MachineCredential, target: Target) => Promise<void>;
  /** What the processes that use the store share. */
  readonly shared: SharedState;
  /**
   * The last detections, by deployment and tenant: for a connector without a store, and while the
   * store is down.
   */
  readonly verdicts: RecentlyUsed<{ detection?: Detection | undefined }>;
  /** Detections in flight, by deployment and tenant. */
  readonly inFlight: Map<string, SharedTask<Detection>>;
}

/**
 * Chooses between credentials of both variants. Their functions are called only after the
 * detection, and only as far as needed: that of the variant that was found and, if the tenant has
 * none of that kind, that of the other. The other is then used as if it were configured alone.
 */
export async function chooseCredential(
  context: DetectionContext,
  signal: AbortSignal | undefined,
  isRepeated = false,
): Promise<{ readonly credential: MachineCredential; readonly detection: Detection | undefined }> {
  const { target, credentials, options, shared } = context;
  const detection = await chooseByDetection(context, signal);
  const { served } = detection;
  const thatAre = (says: string) => credentials.filter(({ variant }) => served[variant] === says);
  const error = thatAre("yes").length === 0 ? noVariant(detection) : undefined;
  if (error?.code === "variant_not_served") throw error;
  // A tenant that has only one of the two needs no verdict, so without a verdict both are looked
  // at.
  const candidates = error ? credentials : [...thatAre("yes"), ...thatAre("unknown")];
  const [credential, other] = await existing(candidates, !error, context, signal);
  if (credential === undefined) {
    const isOld = Math.abs(options.clock.now() - detection.detectedAt) >= repeatedAfterMs;
    // A customer that moved to the other variant since then has a credential for that one alone.
    if (isOld && !isRepeated && (await existing(thatAre("no"), true, context, signal)).length > 0) {
      remember(context, undefined);
      const { emit } = beginEvents({ variant: "A", ...target }, options);
      await untilAborted(shared.delete(storeKey(context), emit), signal);
      return chooseCredential(context, signal, true);
    }
    throw credentialMissing(target, candidates.map(({ variant }) => variant).join(" or "));
  }
  if (error && (other || served[credential.variant] === "no")) throw error;
  return { credential, detection: served[credential.variant] === "yes" ? detection : undefined };
}

/** Returns those of the candidates that the tenant has, or the first of them. */
async function existing(
  candidates: readonly MachineCredential[],
  isOneEnough: boolean,
  context: DetectionContext,
  signal: AbortSignal | undefined,
) {
  const found: MachineCredential[] = [];
  for (const candidate of candidates) {
    try {
      await untilAborted(context.prepare(candidate, context.target), signal);
      found.push(candidate);
      if (isOneEnough) break;
    } catch (fault) {
      if ((fault as { code?: unknown }).code !== "credential_missing") throw fault;
    }
  }
  return found;
}

/** Resolves with a detection, which may be stored, in flight or new. */
async function chooseByDetection(
  context: DetectionContext,
  signal: AbortSignal | undefined,
): Promise<Detection> {
  const { inFlight, options } = context;
  const key = nameOf(context);
  const shared = inFlight.get(key);
  if (options.shareInFlight && shared !== undefined) {
    const longestMs = options.retryDeadlineMs + longestDetection * options.timeoutMs;
    return shared.join(signal, longestMs, (error) =>
      error === undefined ? chooseByDetection(context, signal) : undefined,
    );
  }
  const started = new SharedTask(
    options.clock,
    (abort) => detectOnce(context, abort),
    () => {
      if (inFlight.get(key) === started) inFlight.delete(key);
    },
  );
  inFlight.set(key, started);
  return started.join(signal);
}

/**
 * One process asks, and those that share its store wait for the answer. A rate limit of one variant
 * says nothing about the other, so a variant whose gate is closed is asked last: only if the other
 * one is not found, and after the wait.
 */
async function detectOnce(
  context: DetectionContext,
  signal: AbortSignal | undefined,
): Promise<Detection> {
  const { target, shared, options, stateOf } = context;
  const order = orderOf(context);
  const { emit, requestId } = beginEvents({ variant: order[0] ?? "A", ...target }, options);
  const deadline = deadlineIn(options.retryDeadlineMs, options.clock);
  const stored = await readDetection(context, emit);
  if (stored !== undefined) return stored;
  const askAndStore = async (variants: readonly Variant[], before: Detection | undefined) => {
    const detection = await ask(context, variants, true, { signal, requestId, before });
    // Without a variant, and after a rate limit or a server failure, the next connect asks again.
    if (!decides(detection, order) || !detection.evidence.every(isLasting)) return detection;
    remember(context, detection);
    const expiresAt = detection.detectedAt + detectionLifetimeMs;
    await shared.write(storeKey(context), detection, expiresAt, emit);
    return detection;
  };
  const askOnce = (variants: readonly Variant[], before?: Detection) => {
    const task = async () => {
      signal?.throwIfAborted();
      return (await readDetection(context, emit)) ?? askAndStore(variants, before);
    };
    const locked = () => shared.exclusively(storeKey(context), task, emit);
    // Detections share a lock only in a store. One in memory would stay locked if a worker runtime
    // stopped its request.
    return atGates(context, variants, signal, deadline, locked);
  };
  const states = order.map((variant) => stateOf(variant, target));
  await Promise.all(states.map((state) => state.adopt(shared, emit)));
  const open = order.filter((_, index) => states[index]?.gate.isOpen);
  let detection = open.length > 0 ? await askOnce(open) : undefined;
  for (const variant of order.filter((one) => !open.includes(one)))
    if (!Object.values(detection?.served ?? {}).includes("yes"))
      detection = await askOnce([variant], detection);
  return detection as Detection;
}

type Asking = Pick<Renewal, "signal" | "requestId"> & Pick<DetectOptions, "before">;

/**
 * Enters the rate-limit gates of the variants that are asked, always in one order and before any
 * lock. Token requests wait for a detection that has entered a gate, so several gates are entered
 * only while they are open.
 */
async function atGates<T>(
  { target, stateOf }: DetectionContext,
  variants: readonly Variant[],
  signal: AbortSignal | undefined,
  deadline: () => number,
  task: () => Promise<T>,
): Promise<T> {
  const entered: (() => void)[] = [];
  try {
    for (const variant of [...variants].sort())
      entered.push(await stateOf(variant, target).gate.enter({ deadline, signal }));
    return await task();
  } finally {
    for (const leave of entered) leave();
  }
}

/** Sends the questions. The gates must have been entered. */
async function ask(
  { target, options, shared, stateOf }: DetectionContext,
  order: readonly Variant[],
  untilYes: boolean,
  { signal, before, requestId }: Asking,
): Promise<Detection> {
  const startedAt = options.clock.monotonic();
  const onAnswer = (variant: Variant, answer: Answer) =>
    stateOf(variant, target).learn(
      answer,
      shared,
      beginEvents({ variant, ...target }, options, requestId).emit,
    );
  const questions = detect(target, order, { ...options, signal, before, untilYes, onAnswer });
  const detection = await questions.catch((error) => {
    throw locate(error, target, { requestId });
  });
  const durationMs = options.clock.monotonic() - startedAt;
  const context = { ...target, requestId, at: options.clock.now() };
  emitEvent(options.onEvent, { type: "variant_detected", ...context, detection, durationMs });
  return detection;
}

/**
 * Whether the same question would get the same answer later. A rate limit or a server failure may
 * pass.
 */
function isLasting({ status }: Evidence): boolean {
  return status !== 429 && status < 500;
}

function noVariant(detection: Detection): VariantError {
  const servesNeither = Object.values(detection.served).every((says) => says === "no");
  const advice = servesNeither
    ? "A wrong tenant id looks the same: check tenantId and baseUrl."
    : detection.evidence.every(isLasting)
      ? "Check which server answers at baseUrl first."
      : "Connect again later: a rate limit or a failing server does not show the variant.";
  const problem = servesNeither
    ? "serves neither variant"
    : "does not show which variant it serves";
  const naming =
    'If you know the variant, name it: variant: "A" or variant: "B" (BIVARIANT_VARIANT).';
  const message = `The deployment ${problem}. ${evidenceText(detection)} ${advice} ${naming}`;
  return new VariantError(servesNeither ? "variant_not_served" : "variant_unknown", message, {
    detection,
  });
}

function evidenceText({ evidence }: Detection): string {
  const sentences = evidence.map(({ variant, question, url, status, contentType = "", reason }) => {
    const answer = `${status} ${contentType}`.trimEnd();
    return `${variant}, ${question} (${url}): ${answer}, ${reason}.`;
  });
  return sentences.join(" ");
}

/**
 * Asks for both variants after a token endpoint answered like a server that does not know the path,
 * and returns the error that explains it best. A held service never changes its variant.
 */
export async function explainByDetection(
  error: UnexpectedResponseError,
  variant: Variant,
  wasDetected: boolean,
  context: DetectionContext,
  renewal: Asking & Pick<Renewal, "emit">,
): Promise<unknown> {
  // Variant A's path cannot be built without a tenant.
  if (context.target.tenantId === "") return error;
  const other = variant === "A" ? "B" : "A";
  const order = [variant, other] as const;
  // An explanation is not worth a wait for the end of a rate limit.
  const detection = await ifPossible(() =>
    atGates(context, order, renewal.signal, zero, () => ask(context, order, false, renewal)),
  );
  if (detection === undefined) return error;
  const { served } = detection;
  if (wasDetected && served[variant] !== "yes" && served[other] === "yes") {
    remember(context, undefined);
    await context.shared.delete(storeKey(context), renewal.emit);
    const problem =
      `The deployment served Variant ${variant} when it was detected, and now ` +
      `serves Variant ${other}.`;
    const message =
      `${problem} ${evidenceText(detection)} Connect again, so that the variant is ` +
      "chosen again.";
    return new VariantError("variant_changed", message, { detection, variant });
  }
  if (served[variant] === "no") {
    const advice =
      served[other] === "yes"
        ? `, but it serves Variant ${other}: configure a credential for that`
        : ". Check tenantId and baseUrl: a wrong tenant id looks the same";
    const message = `The deployment does not serve Variant ${variant}${advice}. ${evidenceText(detection)}`;
    return new VariantError("variant_not_served", message, { detection, variant });
  }
  const { code, message, status, issues } = error;
  return new UnexpectedResponseError(code, message, { status, issues, variant, detection });
}

/** The key is unambiguous because a base URL has no space, even if a tenant id has one. */
const nameOf = ({ target }: DetectionContext) => `${target.baseUrl} ${target.tenantId}`;
const orderOf = ({ credentials }: DetectionContext) => credentials.map(({ variant }) => variant);

function storeKey({ target }: DetectionContext): SharedKey {
  return ["detection", target.baseUrl, target.tenantId];
}

async function readDetection(context: DetectionContext, emit: Emit) {
  const { options, shared, verdicts } = context;
  const ifUsable = (detection: Detection) => {
    // A detection of the future was stored by a wrong clock, and must not count until that time
    // comes.
    const isFresh = Math.abs(options.clock.now() - detection.detectedAt) < detectionLifetimeMs;
    return isFresh && decides(detection, orderOf(context)) ? detection : undefined;
  };
  const stored = await shared.read(storeKey(context), (json) => ifUsable(json as Detection), emit);
  if (stored !== undefined) remember(context, stored);
  if (shared.isShared && !shared.isDown) return stored;
  const own = verdicts.peek(nameOf(context))?.detection;
  return stored ?? (own && ifUsable(own));
}

function remember(context: DetectionContext, detection: Detection | undefined): void {
  context.verdicts.get(nameOf(context), () => ({})).detection = detection;
}

/**
 * Whether a stored detection found a variant, and asked about every variant that is preferred to
 * it.
 */
function decides({ served, evidence }: Detection, order: readonly Variant[]): boolean {
  const isAsked = (variant: Variant) => evidence.some((one) => one.variant === variant);
  const first = order.find((variant) => served[variant] === "yes" || !isAsked(variant));
  return first !== undefined && served[first] === "yes";
}
