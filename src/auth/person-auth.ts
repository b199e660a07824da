/** What an Auth of a person adds, and what every way to one is told. */
import type { LoginRequiredError, RelaunchRequiredError, Variant } from "../errors.js";
import type { AccessToken } from "./access-token.js";
import type { Auth } from "./auth.js";
import type { AuthOptions } from "./auth-options.js";
import type { PersonCredential } from "./credential.js";

/** An `Auth` that stands for a person: had by a launch (Variant A) or a login (Variant B). */
export interface PersonAuth<V extends Variant = Variant> extends Auth {
  readonly variant: V;
  /** Under which name this person's tokens rest in the store; give it to `resumeAuth` to find them again. */
  readonly person: string;
  refused(token: AccessToken): RelaunchRequiredError | LoginRequiredError;
  /** Forgets the tokens, here and in the store: the end of a session. A token in use elsewhere lives until it expires. */
  forget(): Promise<void>;
}

/** Which person's tokens, for which tenant of which deployment, by which credential. */
export interface PersonAuthOptions<V extends Variant = Variant> extends AuthOptions {
  readonly baseUrl: string;
  /** With a credential of Variant B a local key only, which may be left out. */
  readonly tenantId?: string | undefined;
  readonly credential: PersonCredential<V>;
  /**
   * A name for whoever the tokens are for, unique in the store: the id of your own session, for instance. Never a user
   * id alone, which would let one login replace another. Default: random.
   */
  readonly person?: string | undefined;
}
