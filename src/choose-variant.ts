/** Chooses the variant if credentials of both are configured, and explains an answer from the wrong endpoint. */
import { emit, emitter, type ResolvedAuthOptions } from "./auth/auth.js";
import { credentialMissing, type MachineCredential } from "./auth/credentials/credential.js";
import { ifPossible } from "./auth/lazy.js";
import { learnFromAnswer, type TokenEndpointState } from "./auth/token-endpoint.js";
import { orLost, type Renewal, SharedTask } from "./auth/token-lifecycle.js";
import {
  type Detection,
  type Evidence,
  UnexpectedResponseError,
  type Variant,
  VariantError,
} from "./errors.js";
import { deadlineIn } from "./http/backoff.js";
import { type Answer, untilAborted } from "./http/exchange.js";
import { detect } from "./variants/detect.js";
import type { Target } from "./variants/target.js";

/** A stored detection is repeated after this time, because a deployment may change its variant. */
const detectionLifetimeMs = 60 * 60 * 1_000;

/** In time limits: a read of the store and three questions. The wait for a rate limit is beside that. */
const longestDetection = 4;

export interface DetectionContext {
  readonly target: Target;
  /** In order of preference. */
  readonly credentials: readonly MachineCredential[];
  readonly options: ResolvedAuthOptions;
  readonly stateOf: (variant: Variant, target: Target) => TokenEndpointState;
  /** Reads the settings, unless a valid token is held. @throws ConfigurationError, also `credential_missing` */
  readonly prepare: (credential: MachineCredential) => Promise<void>;
  /** Detections in flight, by store key. */
  readonly inFlight: Map<string, SharedTask<Detection>>;
}

/**
 * Chooses between credentials of both variants. Their functions are called only after the detection, and only as far as
 * needed: that of the variant that was found and, if the tenant has none of that kind, that of the other. The other is
 * then used as if it were configured alone.
 */
export async function chooseCredential(
  context: DetectionContext,
  signal: AbortSignal | undefined,
): Promise<{ readonly credential: MachineCredential; readonly detection: Detection | undefined }> {
  const { target, credentials } = context;
  const detection = await chooseByDetection(context, signal);
  const { served } = detection;
  const thatAre = (says: string) => credentials.filter(({ variant }) => served[variant] === says);
  const error = thatAre("yes").length === 0 ? noVariant(detection) : undefined;
  if (error?.code === "variant_not_served") throw error;
  // A tenant that has only one of the two needs no verdict, so without a verdict both are looked at.
  const candidates = error ? credentials : [...thatAre("yes"), ...thatAre("unknown")];
  const existing: MachineCredential[] = [];
  for (const candidate of candidates) {
    try {
      await untilAborted(context.prepare(candidate), signal);
      existing.push(candidate);
      if (!error) break;
    } catch (fault) {
      if ((fault as { code?: unknown }).code !== "credential_missing") throw fault;
    }
  }
  const [credential, other] = existing;
  if (credential === undefined)
    throw credentialMissing(target, candidates.map(({ variant }) => variant).join(" or "));
  if (error && (other || served[credential.variant] === "no")) throw error;
  return { credential, detection: served[credential.variant] === "yes" ? detection : undefined };
}

/** Resolves with a detection, which may be stored, in flight or new. */
async function chooseByDetection(
  context: DetectionContext,
  signal: AbortSignal | undefined,
): Promise<Detection> {
  const { inFlight, options } = context;
  const key = storeKey(context);
  const shared = inFlight.get(key);
  if (options.shareInFlight && shared !== undefined) {
    const longestMs = options.rateLimitDeadlineMs + longestDetection * options.timeoutMs;
    const found = await orLost(shared.join(signal), longestMs);
    if (found !== undefined) return found;
    if (inFlight.get(key) === shared) inFlight.delete(key);
    return chooseByDetection(context, signal);
  }
  const started = new SharedTask(
    (abort) => detectOnce(context, abort),
    () => {
      if (inFlight.get(key) === started) inFlight.delete(key);
    },
  );
  inFlight.set(key, started);
  return started.join(signal);
}

async function detectOnce(context: DetectionContext, signal: AbortSignal): Promise<Detection> {
  const stored = await readDetection(context);
  if (stored !== undefined) return stored;
  const detection = await ask(context, orderOf(context), true, { signal, requestId: undefined });
  // Without a variant, and after a rate limit or a server failure, the next connect asks again.
  const isFound = Object.values(detection.served).includes("yes");
  if (!isFound || !detection.evidence.every(isLasting)) return detection;
  const expiresAt = detection.detectedAt + detectionLifetimeMs;
  await ifPossible(() =>
    context.options.store?.set(storeKey(context), JSON.stringify(detection), { expiresAt }),
  );
  return detection;
}

/** Sends the questions, under the rate-limit gate of Variant A's token endpoint. */
async function ask(
  { target, options, stateOf }: DetectionContext,
  order: readonly Variant[],
  untilYes: boolean,
  { signal, requestId = options.newRequestId() }: Pick<Renewal, "signal" | "requestId">,
): Promise<Detection> {
  const startedAt = performance.now();
  const state = stateOf("A", target);
  const eventsForA = emitter({ variant: "A", ...target }, options)(requestId);
  const onAnswer = (variant: Variant, answer: Answer) => {
    if (variant === "A") learnFromAnswer(state, answer, eventsForA.emit);
  };
  const deadline = deadlineIn(options.rateLimitDeadlineMs, options);
  const leave = order.includes("A") ? await state.gate.enter({ deadline, signal }) : () => {};
  try {
    const detection = await detect(target, order, { ...options, signal, untilYes, onAnswer });
    const durationMs = performance.now() - startedAt;
    const context = { ...target, requestId, at: options.now() };
    emit(options.onEvent, { type: "variant_detected", ...context, detection, durationMs });
    return detection;
  } finally {
    leave();
  }
}

/** Whether the same question would get the same answer later. A rate limit or a server failure may pass. */
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
  const problem = servesNeither ? "serves neither variant" : "does not show which variant it serves";
  const naming = 'If you know the variant, name it: variant: "A" or variant: "B" (BIVARIANT_VARIANT).';
  const message = `The deployment ${problem}. ${evidenceText(detection)} ${advice} ${naming}`;
  return new VariantError(servesNeither ? "variant_not_served" : "variant_unknown", message, { detection });
}

function evidenceText({ evidence }: Detection): string {
  const sentences = evidence.map(({ variant, question, url, status, contentType = "", reason }) => {
    const answer = `${status} ${contentType}`.trimEnd();
    return `${variant}, ${question} (${url}): ${answer}, ${reason}.`;
  });
  return sentences.join(" ");
}

/**
 * Asks for both variants after a token endpoint answered like a server that does not know the path, and returns the error
 * that explains it best. A held service never changes its variant.
 */
export async function explainByDetection(
  error: UnexpectedResponseError,
  variant: Variant,
  wasDetected: boolean,
  context: DetectionContext,
  renewal: Pick<Renewal, "signal" | "requestId">,
): Promise<unknown> {
  // Variant A's path cannot be built without a tenant.
  if (context.target.tenantId === "") return error;
  const other = variant === "A" ? "B" : "A";
  const detection = await ifPossible(() => ask(context, [variant, other], false, renewal));
  if (detection === undefined) return error;
  const { served } = detection;
  if (wasDetected && served[variant] !== "yes" && served[other] === "yes") {
    await ifPossible(() => context.options.store?.delete(storeKey(context)));
    const problem = `The deployment served Variant ${variant} when it was detected, and now serves Variant ${other}.`;
    const message = `${problem} ${evidenceText(detection)} Connect again to choose anew.`;
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

const orderOf = ({ credentials }: DetectionContext) => credentials.map(({ variant }) => variant);

function storeKey({ target }: DetectionContext): string {
  return JSON.stringify(["detection", target.baseUrl, target.tenantId]);
}

/** If the store fails, the only cost is one more detection. */
function readDetection(context: DetectionContext): Promise<Detection | undefined> {
  const { options } = context;
  return ifPossible(async () => {
    const entry = await options.store?.get(storeKey(context));
    if (entry === undefined) return undefined;
    const detection = JSON.parse(entry.value) as Detection;
    const isFresh = options.now() < detection.detectedAt + detectionLifetimeMs;
    return isFresh && decides(detection, orderOf(context)) ? detection : undefined;
  });
}

/** Whether a stored detection found a variant, and asked about every variant that is preferred to it. */
function decides({ served, evidence }: Detection, order: readonly Variant[]): boolean {
  const isAsked = (variant: Variant) => evidence.some((one) => one.variant === variant);
  const first = order.find((variant) => served[variant] === "yes" || !isAsked(variant));
  return first !== undefined && served[first] === "yes";
}
