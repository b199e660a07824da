/** An authorization code exchanged for a person's token: sent once, whatever happens. */
import {
  ConfigurationError,
  isStoreError,
  LoginRequiredError,
  RateLimitedError,
  RelaunchRequiredError,
  TokenRequestError,
  TransportError,
  UnexpectedResponseError,
  type Variant,
  wireText,
} from "../errors.js";
import { type StopSignal, wasNotSent } from "../http/time-limit.js";
import { createAccessToken } from "./auth.js";
import { type CodeGrant, fingerprintOf } from "./credentials/credential.js";
import { emitter } from "./events.js";
import { type PersonContext, PersonLifecycle } from "./person-tokens.js";
import { writeGrant } from "./stored-grant.js";
import { SharedTask } from "./token-lifecycle.js";
import { type Answered, assertionBounds, attemptToken } from "./token-request.js";
import { parseRefreshToken, parseTokenAnswer } from "./token-response.js";

/** Longer than any code lives (section 8 of the description: two minutes). */
const spentMarkLifetimeMs = 3_600_000;

/** The signal ends the caller's wait; an exchange that was sent runs to its end and is stored. */
export function exchangeCode(
  context: PersonContext,
  grant: CodeGrant,
  signal: AbortSignal | undefined,
): Promise<PersonLifecycle> {
  if (signal?.aborted) return Promise.reject(signal.reason);
  const exchange: SharedTask<PersonLifecycle> = new SharedTask((abort) =>
    run(context, grant, abort, () => exchange.keep()),
  );
  return exchange.join(signal);
}

async function run(
  context: PersonContext,
  grant: CodeGrant,
  signal: StopSignal,
  keep: () => void,
): Promise<PersonLifecycle> {
  const { variant, target, options, state, prepared, key, person } = context;
  const tell = emitter({ variant, ...target }, options);
  const deadlineAt = options.now() + options.rateLimitDeadlineMs;
  const leave = await state.gate.enter({ deadlineAt, signal });
  let answered: Answered;
  try {
    const unmark = await markSpent(context, grant.code);
    if (signal.aborted) {
      // Nobody waits, and nothing was sent: whoever comes again may send it.
      await unmark();
      throw signal.reason;
    }
    keep();
    tell({ type: "token_requested", clientId: prepared.clientId, attempt: 1 });
    answered = await sendOnce(context, grant, tell);
  } finally {
    leave();
  }
  const { answer, sent } = answered;
  const fields = await readAnswer(context, answered);
  if (fields.tenant !== undefined && variant === "A" && fields.tenant !== target.tenantId)
    tell({ type: "tenant_differs", tenant: wireText(fields.tenant, [...sent.secrets, fields.value]) ?? "" });
  if (sent.issuedAtSeconds !== undefined)
    state.clock.accepted({
      issuedAtSeconds: sent.issuedAtSeconds,
      sentAt: answer.sentAt,
      bounds: assertionBounds,
      correctedByMs: answered.correctedByMs,
      isByOwnClock: answered.isByOwnClock,
    });
  const granted = {
    ...{ token: createAccessToken(fields), id: crypto.randomUUID(), since: answer.sentAt },
    refreshToken: prepared.refreshRequest === undefined ? undefined : parseRefreshToken(answer),
  };
  let isSaved = true;
  try {
    // Over whatever rests there: what it was of an earlier launch or login ends with this one.
    await writeGrant(options.store, key, granted);
  } catch (error) {
    // The code is spent: what it gave is served from memory, and stored when it is renewed.
    isSaved = false;
    tell({ type: "store_failed", code: isStoreError(error) ? error.code : "store_unavailable" });
  }
  tell({ type: "token_renewed", clientId: prepared.clientId, expiresAt: granted.token.expiresAt });
  return new PersonLifecycle(context, person, granted, isSaved);
}

/**
 * Of all who were given the same code one sends it: in any process that shares the store, and in this one with the same
 * credential, store or not. Gives what takes the mark back.
 */
async function markSpent(
  { variant, target, options, prepared, state }: PersonContext,
  code: string,
): Promise<() => Promise<void>> {
  const before = () =>
    again(variant, "refused", "This code was sent before, and a code is spent on the first attempt.");
  const digest = await fingerprintOf(code);
  const key = JSON.stringify(["code", variant, target.baseUrl, target.tenantId, prepared.clientId, digest]);
  if (!state.spentCodes.spend(key, options.now(), spentMarkLifetimeMs)) throw before();
  try {
    const expiresAt = options.now() + spentMarkLifetimeMs;
    await options.store.set(key, "spent", { ifVersion: null, expiresAt });
  } catch (error) {
    if (isStoreError(error) && error.code === "store_conflict") throw before();
    state.spentCodes.unspend(key);
    throw error;
  }
  return async () => {
    try {
      await options.store.delete(key);
      state.spentCodes.unspend(key);
    } catch {
      // It stays marked: whoever sends it again is refused, and no code is sent twice.
    }
  };
}

async function sendOnce(
  context: PersonContext,
  grant: CodeGrant,
  tell: ReturnType<typeof emitter>,
): Promise<Answered> {
  const { variant, prepared } = context;
  try {
    const outcome = await attemptToken(
      (attempt) => prepared.sendCode(grant, attempt),
      { ...context, tell },
      {},
    );
    if ("fault" in outcome) throw outcome.fault;
    return outcome;
  } catch (fault) {
    // Not a byte was sent: but the code is marked, so that nobody can take the second attempt for a first.
    if (fault instanceof TransportError && !wasNotSent(fault))
      throw again(
        variant,
        "outcome_unknown",
        "The code was sent and no answer came: it may be spent.",
        fault,
      );
    if (fault instanceof UnexpectedResponseError)
      throw again(variant, "outcome_unknown", "The code was sent and the answer cannot be read.", fault);
    throw fault;
  }
}

async function readAnswer(
  context: PersonContext,
  { answer, sent }: Answered,
): Promise<ReturnType<typeof parseTokenAnswer>> {
  const { variant, state, options, prepared } = context;
  if (answer.status === 429)
    throw again(
      variant,
      "refused",
      "The tenant's rate limit was hit with the code on its way: a code is sent once.",
      new RateLimitedError("The tenant's rate limit at the token endpoint was hit.", {
        variant,
        retryAt: state.gate.opensAt,
      }),
    );
  try {
    return parseTokenAnswer(answer, variant, sent.secrets);
  } catch (error) {
    if (error instanceof UnexpectedResponseError) {
      if (error.status === 200 || error.status >= 500)
        throw again(
          variant,
          "outcome_unknown",
          "The code was sent and the answer does not tell what came of it.",
          error,
        );
      throw error;
    }
    if (!(error instanceof TokenRequestError)) throw error;
    const refused = await explained(context, error, { answer, sent });
    // What is wrong with the client does not go away with another code.
    if (error.error === "invalid_grant" || (variant === "B" && error.error === undefined))
      throw again(variant, "refused", refused.message, refused);
    throw refused;
  }

  async function explained(
    { state: { clock } }: PersonContext,
    { message, status, error, errorDescription, errorUri }: TokenRequestError,
    { answer: { sentAt }, sent: { issuedAtSeconds } }: Pick<Answered, "answer" | "sent">,
  ): Promise<TokenRequestError> {
    const bounds =
      issuedAtSeconds === undefined ? "no" : clock.outOfBounds(issuedAtSeconds, sentAt, assertionBounds);
    const causes =
      (await prepared.explain?.({
        grant: "authorization_code",
        error,
        status,
        clock: clock.offsetMs === undefined ? "unknown" : bounds === "no" ? "in_bounds" : "out_of_bounds",
        clockOffsetMs: clock.offsetMs,
        workedBefore: false,
        hasOwnFetch: options.hasOwnFetch,
      })) ?? [];
    const [first] = causes;
    return new TokenRequestError(
      first === undefined ? message : `${message} Most likely: ${first.summary}. ${first.remedy}`,
      { variant, status, error, errorDescription, errorUri, causes },
    );
  }
}

/** The person is needed again: a code cannot be had without one. */
function again(
  variant: "A" | "B",
  what: "refused" | "outcome_unknown",
  why: string,
  cause?: unknown,
): RelaunchRequiredError | LoginRequiredError {
  return variant === "A"
    ? new RelaunchRequiredError(`launch_${what}`, `${why} Ask the person to open the plugin again.`, {
        cause,
      })
    : new LoginRequiredError(`login_${what}`, `${why} Ask the person to log in again.`, { cause });
}

/** No code of the description's is near this long; what is longer comes from whoever wants to waste memory. */
const longestCode = 4_096;

/** RFC 6749 appendix A.11: visible ASCII. @throws ConfigurationError `option_invalid` */
export function requireCode(code: unknown, variant: Variant): string {
  if (typeof code === "string" && code.length <= longestCode && /^[\x20-\x7e]+$/.test(code)) return code;
  throw invalid("code", "is missing, too long, or holds what no authorization code does", variant);
}

/** RFC 7636 section 4.1. @throws ConfigurationError `option_invalid` */
export function requireCodeVerifier(verifier: unknown, variant: Variant): string {
  if (typeof verifier === "string" && /^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return verifier;
  throw invalid("codeVerifier", "is no PKCE verifier: 43 to 128 letters, digits and -._~", variant);
}

function invalid(option: string, why: string, variant: Variant): ConfigurationError {
  return new ConfigurationError("option_invalid", `${option} ${why}.`, { option, variant });
}
