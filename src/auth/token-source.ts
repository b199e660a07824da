/** Where a lifecycle's next token comes from: a machine's credential, or a person's grant. */
import type { StopSignal } from "../http/time-limit.js";
import type { AccessToken } from "./access-token.js";

export interface Renewal {
  /** Aborted when nobody waits any more; of no effect on what was sent and must run to its end. */
  readonly signal: StopSignal;
  /** A token is still served meanwhile, and nobody waits. */
  readonly isBackground: boolean;
  /** The value of the token that is served now: the store may hold no newer one. */
  readonly heldValue: string | undefined;
  /** The value of a token that the API refused: the store may still hold it. */
  readonly refusedValue: string | undefined;
  /** Whether a token that another process stored needs no renewal yet. */
  readonly isFresh: (token: AccessToken) => boolean;
  /** Something was sent that must run to its end whoever waits. To be called after the first `await`. */
  readonly keep: () => void;
}

export interface TokenSource {
  /** There is no other token without the person: near expiry nothing is renewed, and a 401 is the answer. */
  readonly needsPerson: boolean;
  renew(renewal: Renewal): Promise<AccessToken>;
}
