/** Tokens of a machine's credential: from the store if another process asked already, else from the token endpoint. */
import { isBivariantError, type Variant } from "../errors.js";
import type { StopSignal } from "../http/time-limit.js";
import type { Target } from "../variants/target.js";
import { type AccessToken, createAccessToken } from "./access-token.js";
import type { ResolvedAuthOptions } from "./auth-options.js";
import { ClosingSchedule } from "./closing-schedule.js";
import type { CredentialDriver } from "./credential.js";
import { type EventBody, teller } from "./events.js";
import { readStoredToken, writeStoredToken } from "./stored-token.js";
import type { TokenEndpointState } from "./token-attempt.js";
import { requestToken } from "./token-request.js";
import type { Renewal, TokenSource } from "./token-source.js";

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
  readonly #closing: ClosingSchedule;
  readonly #tell: (event: EventBody) => void;
  #acceptedFingerprint: string | undefined;

  constructor(context: MachineTokenSourceContext) {
    this.#context = context;
    this.#closing = new ClosingSchedule(context.options.now);
    this.#tell = teller({ variant: context.variant, ...context.target }, context.options);
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
