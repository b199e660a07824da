/**
 * The exchange of an authorization code for a person's token. A code is sent once, whatever
 * happens.
 */
import { deadlineIn } from "../../clock.js";
import {
  ConfigurationError,
  codeOf,
  locate,
  TokenRequestError,
  TransportError,
} from "../../errors.js";
import { beginEvents, type Emit, storeFailed } from "../auth.js";
import { type CodeGrant, clientErrors, fingerprintOf } from "../credentials/credential.js";
import { SharedTask } from "../lifecycle/shared-task.js";
import { reportEnd } from "../lifecycle/token-lifecycle.js";
import {
  AnswerLost,
  explainRefusal,
  type IssuedTokens,
  mayBeOutOfBounds,
  readTokensOnce,
  sendOnce,
  type TokenEndpoint,
} from "../request/token-request.js";
import type { PersonContext } from "./person-context.js";
import { PersonLifecycle } from "./person-refresh.js";
import { findGrant, personRequiredError, writeGrant } from "./stored-grant.js";

/**
 * A code lives two minutes (section 8 of the description), or at most ten (RFC 6749 section 4.1.2).
 */
const spentMarkLifetimeMs = 660_000;
/**
 * The most marks in memory, because strangers can post made-up codes. The store still holds older
 * ones.
 */
const mostSpentCodes = 10_000;

/**
 * The signal ends only the caller's wait. An exchange that was sent runs to its end and is stored.
 */
export function exchangeCode(
  context: PersonContext,
  grant: CodeGrant,
  signal: AbortSignal | undefined,
): Promise<PersonLifecycle> {
  if (signal?.aborted) return Promise.reject(signal.reason);
  const { variant, target, options, prepared } = context;
  const { emit, requestId } = beginEvents({ variant, ...target }, options);
  const { clock } = options;
  return new SharedTask(clock, async (abort) => {
    const exchange = (emit: Emit) => exchangeOnce({ ...context, emit }, grant, abort);
    try {
      const { isSaved, ...granted } = await reportEnd(emit, clock, abort, exchange);
      return new PersonLifecycle(context, granted, isSaved);
    } catch (error) {
      throw locate(error, { variant, ...target }, { clientId: prepared.clientId, requestId });
    }
  }).join(signal);
}

/** `isSaved`: whether the grant is in the store. */
async function exchangeOnce(
  context: PersonContext & TokenEndpoint,
  grant: CodeGrant,
  signal: AbortSignal | undefined,
) {
  const { options, state, shared, emit } = context;
  let { prepared } = context;
  let hasWaited = false;
  const learn = async () => {
    await state.adopt(shared, emit);
    hasWaited ||= !state.gate.isOpen;
  };
  const deadline = deadlineIn(options.retryDeadlineMs, options.clock);
  let tokens: IssuedTokens | undefined;
  while (tokens === undefined) {
    const leave = await state.gate.enter({ deadline, signal, learn });
    try {
      // A key may be rotated meanwhile.
      if (hasWaited) prepared = await context.prepare();
      const unmark = await markSpent(context, grant.code);
      // Another request may have met the rate limit while this one wrote to the store.
      const isClosed = !state.gate.isOpen;
      // Nothing was sent, so the code may be sent later.
      if (signal?.aborted || isClosed) await unmark();
      signal?.throwIfAborted();
      if (isClosed) continue;
      emit({ type: "token_requested", clientId: prepared.clientId, attempt: 1 });
      tokens = await sendCode({ ...context, prepared }, grant).catch(async (error: unknown) => {
        // The code did not reach the service.
        if (error instanceof TransportError || error instanceof ConfigurationError) await unmark();
        throw error;
      });
    } finally {
      leave();
    }
  }
  const { token, refreshToken } = tokens;
  const granted = {
    token,
    id: crypto.randomUUID(),
    since: token.issuedAt,
    refreshToken: prepared.refreshRequest === undefined ? undefined : refreshToken,
  };
  let isSaved = true;
  try {
    // An earlier launch or login that is stored under this name ends with this one. The write
    // replaces no later state, even if a client of the store sends it again after its connection
    // was lost.
    const before = await findGrant(context);
    await writeGrant(context, granted, before === undefined ? null : before.version || undefined);
  } catch (error) {
    // The code is spent, so its token is served from memory, and written by `flush` or the next
    // renewal.
    isSaved = false;
    emit(storeFailed(error));
  }
  return { ...granted, isSaved };
}

/**
 * Marks a code as spent, both in the store, for all processes that share it, and in this process,
 * for all users of the credential. Returns a function that removes both marks.
 *
 * @throws RelaunchRequiredError `launch_refused`, LoginRequiredError `login_refused` when the code
 * was marked before
 */
async function markSpent(context: PersonContext, code: string) {
  const { variant, target, options, store, prepared, state } = context;
  const { spentCodes } = state;
  const problem = "This code was sent before, and a code is spent on the first attempt.";
  const alreadySent = () => personRequiredError(variant, "refused", problem);
  const digest = await fingerprintOf(code);
  const key = JSON.stringify([
    "code",
    variant,
    target.baseUrl,
    target.tenantId,
    prepared.clientId,
    digest,
  ]);
  const { clock } = options;
  // Here a mark lives by monotonic time, since a clock that is set ahead would end it too soon.
  const now = clock.monotonic();
  // All marks live equally long, so the oldest come first.
  for (const [oldest, until] of spentCodes) {
    if (until > now && spentCodes.size < mostSpentCodes) break;
    spentCodes.delete(oldest);
  }
  if (spentCodes.has(key)) throw alreadySent();
  spentCodes.set(key, now + spentMarkLifetimeMs);
  try {
    const expiresAt = clock.now() + spentMarkLifetimeMs;
    await store.set(key, "spent", { ifVersion: null, expiresAt });
  } catch (error) {
    if (codeOf(error) === "store_conflict") throw alreadySent();
    spentCodes.delete(key);
    throw error;
  }
  return async () => {
    try {
      await store.delete(key);
      spentCodes.delete(key);
    } catch {
      // The code stays marked, so that it is never sent twice.
    }
  };
}

/**
 * If the request fails, the code stays marked, since a second attempt must not look like a first.
 */
async function sendCode(
  context: PersonContext & TokenEndpoint,
  grant: CodeGrant,
): Promise<IssuedTokens> {
  const { variant, state, prepared } = context;
  let wasInBounds = true;
  try {
    const reply = await sendOnce(context, (attempt) => prepared.sendCode(grant, attempt));
    wasInBounds = !mayBeOutOfBounds(context, reply);
    if (reply.answer.status !== 429) return readTokensOnce(context, reply);
  } catch (fault) {
    const isLost = fault instanceof AnswerLost;
    const error = isLost ? fault.cause : fault;
    const refused = await explainRefusal(context, prepared, error, {
      grant: "authorization_code",
      workedBefore: false,
      wasInBounds,
    });
    if (isLost) {
      const problem =
        "The code was sent, and no answer shows whether it was accepted: it may be spent.";
      throw personRequiredError(variant, "outcome_unknown", problem, refused);
    }
    if (!(refused instanceof TokenRequestError)) throw refused;
    // With any other refusal the client is at fault, and another code would not help.
    if (refused.error === "invalid_grant" || (variant === "B" && !clientErrors.has(refused.error)))
      throw personRequiredError(variant, "refused", refused.message, refused);
    throw refused;
  }
  const problem = "The tenant's rate limit was hit, and a code is sent only once.";
  throw personRequiredError(variant, "refused", problem, state.gate.error());
}
