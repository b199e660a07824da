/** Variant A: the code of a launch, exchanged for a token of the operator who launched the plugin. */
import type { PersonAuth, PersonAuthOptions } from "./auth/person-auth.js";

export interface RedeemLaunchOptions extends PersonAuthOptions<"A"> {
  /** The `code` of `host:auth-code`. */
  readonly code: string;
  /** The PKCE verifier that belongs to the challenge sent at launch. */
  readonly codeVerifier: string;
  /** Ends the wait; an exchange that was sent runs to its end. */
  readonly signal?: AbortSignal | undefined;
}

export async function redeemLaunch(_options: RedeemLaunchOptions): Promise<PersonAuth<"A">> {
  throw new Error("not built yet");
}
