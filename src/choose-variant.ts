/** Which variant to use where credentials of both are in hand, and what a misplaced answer says of the choice. */
import type { ResolvedAuthOptions } from "./auth/auth-options.js";
import { emit, emitter } from "./auth/events.js";
import { SharedTask } from "./auth/token-lifecycle.js";
import type { TokenEndpointState } from "./auth/token-request.js";
import {
  type Detection,
  type Evidence,
  UnexpectedResponseError,
  type Variant,
  VariantError,
} from "./errors.js";
import type { Answer } from "./http/exchange.js";
import type { StopSignal } from "./http/time-limit.js";
import { detect } from "./variants/detect.js";
import type { Target } from "./variants/target.js";

/** A verdict is asked for again after this: deployments move, if rarely. */
const verdictLifetimeMs = 60 * 60 * 1_000;

export interface DetectionContext {
  readonly target: Target;
  /** The variants there are credentials for, in order of preference. */
  readonly order: readonly Variant[];
  readonly options: ResolvedAuthOptions;
  readonly stateOf: (variant: Variant, target: Target) => TokenEndpointState;
  /** Detections in flight, by store key. */
  readonly inFlight: Map<string, SharedTask<Detection>>;
}

/**
 * Gives a detection with a `yes`: from the store, from one in flight, or by asking.
 *
 * @throws VariantError when there is none
 * @throws TransportError, RateLimitedError
 */
export async function chooseByDetection(
  context: DetectionContext,
  signal: AbortSignal | undefined,
): Promise<Detection> {
  const key = storeKey(context);
  let shared = context.options.shareInFlight ? context.inFlight.get(key) : undefined;
  if (shared === undefined) {
    const started = new SharedTask(
      (abort) => detectOnce(context, abort),
      () => {
        if (context.inFlight.get(key) === started) context.inFlight.delete(key);
      },
    );
    shared = started;
    context.inFlight.set(key, started);
  }
  return shared.join(signal);
}

async function detectOnce(context: DetectionContext, signal: StopSignal): Promise<Detection> {
  const stored = await readVerdict(context);
  if (stored !== undefined) return stored;
  const detection = await ask(context, context.order, true, signal);
  if (!Object.values(detection.served).includes("yes")) throw noVariant(detection, context.order);
  await writeVerdict(context, detection);
  return detection;
}

async function ask(
  { target, options, stateOf }: DetectionContext,
  order: readonly Variant[],
  untilYes: boolean,
  signal: StopSignal,
): Promise<Detection> {
  const { gate, clock } = stateOf("A", target);
  const deadlineAt = options.now() + options.rateLimitDeadlineMs;
  const leave = order.includes("A") ? await gate.enter({ deadlineAt, signal }) : () => {};
  try {
    const onAnswer = (variant: Variant, answer: Answer) => {
      if (variant !== "A") return;
      const tellOfA = emitter({ variant, ...target }, options);
      const offsetMs = clock.observe(answer);
      if (offsetMs !== undefined)
        tellOfA({ type: "clock_off", offsetMs: Math.round(offsetMs), errorMs: Math.round(clock.errorMs) });
      if (answer.status !== 429) return gate.passed(answer);
      gate.refused(answer);
      tellOfA({ type: "rate_limited", retryAt: gate.opensAt });
    };
    const detection = await detect(target, order, { ...options, signal, untilYes, onAnswer });
    emit(options.onEvent, { type: "variant_detected", ...target, at: options.now(), detection });
    return detection;
  } finally {
    leave();
  }
}

/**
 * The first variant in order of preference that is there, as long as all before it gave an answer that lasts: a rate
 * limit or a failing server says nothing of next time.
 */
function chosen({ served, evidence }: Detection, order: readonly Variant[]): Variant | undefined {
  const lasts = (variant: Variant) => {
    const answers = evidence.filter((one) => one.variant === variant);
    return answers.length > 0 && answers.every(lastsLong);
  };
  const first = order.find((variant) => served[variant] === "yes" || !lasts(variant));
  return first !== undefined && served[first] === "yes" ? first : undefined;
}

function lastsLong({ status }: Evidence): boolean {
  return status !== 429 && status < 500;
}

/** Whether the same question may be answered otherwise in a while. */
function isPassing({ evidence }: Detection): boolean {
  return !evidence.every(lastsLong);
}

function noVariant(detection: Detection, order: readonly Variant[]): VariantError {
  const isServedNowhere = order.every((variant) => detection.served[variant] === "no");
  const naming = 'If you know the variant, name it: variant: "A" or variant: "B" (BIVARIANT_VARIANT).';
  return isServedNowhere
    ? new VariantError(
        "variant_not_served",
        `Neither variant is served there. ${told(detection)} A wrong tenant id looks the same; check tenantId and baseUrl. ${naming}`,
        { detection },
      )
    : new VariantError(
        "variant_unknown",
        `Which variant is served there cannot be told. ${told(detection)} ${isPassing(detection) ? "Connect again later: a rate limit or a failing server says nothing of the variant." : "Look at what answers at baseUrl first."} ${naming}`,
        { detection },
      );
}

function told({ evidence }: Detection): string {
  return evidence
    .map(
      ({ variant, question, url, status, contentType, reason }) =>
        `${variant}, ${question} (${url}): ${status}${contentType === undefined ? "" : ` ${contentType}`}, ${reason}.`,
    )
    .join(" ");
}

/**
 * Looks at both variants when the token endpoint gave a misplaced answer, which the other variant would explain, and
 * says so in the error. A held service never changes its variant.
 */
export async function explainByDetection(
  error: UnexpectedResponseError,
  variant: Variant,
  isDetected: boolean,
  context: DetectionContext,
  signal: StopSignal,
): Promise<unknown> {
  // Without a tenant there is nothing to ask Variant A about.
  if (context.target.tenantId === "") return error;
  const other = variant === "A" ? "B" : "A";
  let detection: Detection;
  try {
    detection = await ask(context, [variant, other], false, signal);
  } catch {
    return error;
  }
  if (isDetected && detection.served[variant] !== "yes" && detection.served[other] === "yes") {
    await context.options.store?.delete(storeKey(context)).catch(() => {});
    return new VariantError(
      "variant_changed",
      `The deployment served Variant ${variant} when it was asked, and now serves Variant ${other}. ${told(detection)} Connect again to choose anew.`,
      { detection, variant },
    );
  }
  if (detection.served[variant] === "no")
    return new VariantError(
      "variant_not_served",
      `Variant ${variant} is not served there${detection.served[other] === "yes" ? `, but Variant ${other} is: configure a credential for it` : "; a wrong tenant id looks the same"}. ${told(detection)}`,
      { detection, variant },
    );
  const { code, message, status, issues } = error;
  return new UnexpectedResponseError(code, message, { status, issues, variant, detection });
}

function storeKey({ target }: DetectionContext): string {
  return JSON.stringify(["detection", target.baseUrl, target.tenantId]);
}

async function readVerdict(context: DetectionContext): Promise<Detection | undefined> {
  try {
    const entry = await context.options.store?.get(storeKey(context));
    if (entry === undefined) return undefined;
    const detection = JSON.parse(entry.value) as Detection;
    const isFresh = context.options.now() < detection.detectedAt + verdictLifetimeMs;
    return isFresh && chosen(detection, context.order) !== undefined ? detection : undefined;
  } catch {
    // A store that fails costs a detection, nothing else.
    return undefined;
  }
}

async function writeVerdict(context: DetectionContext, detection: Detection): Promise<void> {
  const expiresAt = detection.detectedAt + verdictLifetimeMs;
  try {
    await context.options.store?.set(storeKey(context), JSON.stringify(detection), { expiresAt });
  } catch {
    // As above.
  }
}
