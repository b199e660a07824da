/** Tokens of a machine's credential: from the store if another process asked already, else from the token endpoint. */
import { isBivariantError, isStoreError, type Variant } from "../errors.js";
import { type StopSignal, type TimeLimitOptions, waitWithin } from "../http/time-limit.js";
import type { Target } from "../variants/target.js";
import { type AccessToken, createAccessToken } from "./auth.js";
import type { ResolvedAuthOptions } from "./auth-options.js";
import type { CredentialDriver } from "./credentials/credential.js";
import { type EventBody, emitter } from "./events.js";
import { RefusalBackoff } from "./refusal-backoff.js";
import type { Renewal, TokenSource } from "./token-lifecycle.js";
import { requestToken, type TokenEndpointState } from "./token-request.js";
import type { TokenStore } from "./token-store.js";

export interface MachineTokenSourceContext {
  readonly variant: Variant;
  readonly target: Target;
  readonly driver: CredentialDriver;
  readonly state: TokenEndpointState;
  readonly options: ResolvedAuthOptions;
  /** Turns an error that the other variant would explain into one that says so. */
  readonly explain?: ((error: unknown, signal: StopSignal) => Promise<unknown>) | undefined;
}

export class MachineTokenSource implements TokenSource {
  readonly needsPerson = false;
  readonly #context: MachineTokenSourceContext;
  readonly #closing: RefusalBackoff;
  readonly #tell: (event: EventBody) => void;
  #acceptedFingerprint: string | undefined;

  constructor(context: MachineTokenSourceContext) {
    this.#context = context;
    this.#closing = new RefusalBackoff(context.options.now);
    this.#tell = emitter({ variant: context.variant, ...context.target }, context.options);
  }

  async renew(renewal: Renewal): Promise<AccessToken> {
    const { signal, isBackground, heldValue, refusedValue, isFresh } = renewal;
    const { variant, target, driver, state, options, explain } = this.#context;
    const storeFailed = (code: string) => this.#tell({ type: "store_failed", code });
    const { shareInFlight } = options;
    const prepare = () => driver.prepare(target, { shareInFlight });
    const prepared = await prepare();
    const key = JSON.stringify([
      "token",
      variant,
      target.baseUrl,
      target.tenantId,
      prepared.clientId,
      "client_credentials",
    ]);
    const limit = { variant, baseUrl: target.baseUrl, timeoutMs: options.timeoutMs };
    const stored = await readStoredToken(options.store, key, limit, storeFailed);
    const isOther = stored?.value !== refusedValue && stored?.value !== heldValue;
    if (stored !== undefined && isOther && isFresh(stored)) return stored;
    const round = this.#closing.check(prepared.fingerprint);
    let isRefused = false;
    const refused = (fingerprint: string) => {
      isRefused = true;
      return this.#closing.refused(round, fingerprint);
    };
    try {
      const acceptedFingerprint = this.#acceptedFingerprint;
      const tell = this.#tell;
      const granted = await requestToken(
        prepared,
        { variant, target, state, options, tell, prepare, acceptedFingerprint, refused, isBackground },
        signal,
      );
      const token = createAccessToken(granted.fields);
      this.#closing.accepted();
      this.#acceptedFingerprint = granted.prepared.fingerprint;
      // Not awaited: a slow store must not make callers wait for a token that is there.
      const written = writeStoredToken(options.store, key, token, storeFailed);
      options.waitUntil?.(written);
      tell({ type: "token_renewed", clientId: prepared.clientId, expiresAt: token.expiresAt });
      return token;
    } catch (cause) {
      if (signal.aborted) throw cause;
      const error = explain === undefined ? cause : await explain(cause, signal);
      if (signal.aborted) throw error;
      if (isRefused) {
        this.#closing.keep(error);
        const code = isBivariantError(error) ? error.code : "unknown";
        this.#tell({ type: "closed_after_refusal", code, retryAt: this.#closing.closedUntil });
      }
      throw error;
    }
  }
}

/** The token under a key; `undefined` when there is none, when it cannot be read, or when the store fails or is silent. */
export async function readStoredToken(
  store: TokenStore | undefined,
  key: string,
  limit: TimeLimitOptions,
  failed: (code: string) => void,
): Promise<AccessToken | undefined> {
  if (store === undefined) return undefined;
  try {
    const entry = await waitWithin(limit, async () => store.get(key));
    if (entry === undefined) return undefined;
    const fields = JSON.parse(entry.value) as Record<string, unknown>;
    const { value, expiresAt, issuedAt } = fields;
    if (typeof value !== "string" || value === "") return undefined;
    if (typeof expiresAt !== "number" || typeof issuedAt !== "number") return undefined;
    return createAccessToken({ ...fields, value, expiresAt, issuedAt } as Parameters<
      typeof createAccessToken
    >[0]);
  } catch (error) {
    failed(isStoreError(error) ? error.code : "store_unavailable");
    return undefined;
  }
}

/** Writes a token. A machine's token can be had again, so a failing store is told and harms nobody. */
export async function writeStoredToken(
  store: TokenStore | undefined,
  key: string,
  token: AccessToken,
  failed: (code: string) => void,
): Promise<void> {
  if (store === undefined) return;
  try {
    await store.set(key, JSON.stringify({ ...token, value: token.value }), { expiresAt: token.expiresAt });
  } catch (error) {
    failed(isStoreError(error) ? error.code : "store_unavailable");
  }
}
