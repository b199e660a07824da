/** The life of a person's tokens: that of any other identity, with an end. */
import type { LoginRequiredError, RelaunchRequiredError, Variant } from "../errors.js";
import type { AccessToken } from "./access-token.js";
import type { PersonAuth } from "./person-auth.js";
import { PersonTokenSource, type PersonTokenSourceContext } from "./person-token-source.js";
import type { PersonGrant } from "./stored-grant.js";
import { TokenLifecycle } from "./token-lifecycle.js";

export class PersonLifecycle extends TokenLifecycle implements PersonAuth {
  declare readonly variant: Variant;
  readonly person: string;
  readonly #source: PersonTokenSource;

  /** `isSaved`: whether the grant rests in the store already. */
  constructor(context: PersonTokenSourceContext, person: string, grant: PersonGrant, isSaved: boolean) {
    const source = new PersonTokenSource(context, grant, isSaved);
    super({ variant: context.variant, target: context.target, options: context.options, source });
    this.person = person;
    this.#source = source;
    this.hold(grant.token);
  }

  refused(): RelaunchRequiredError | LoginRequiredError {
    return this.#source.refused();
  }

  /** A renewal that was on its way out when the end came brings no token back. */
  protected override hold(token: AccessToken): AccessToken {
    this.#source.requireAlive();
    return super.hold(token);
  }

  async forget(): Promise<void> {
    this.drop();
    await this.#source.forget();
  }
}
