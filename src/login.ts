/** Variant B: sending a person to the authorization endpoint, and what comes back from there. */
import type { PersonAuth, PersonAuthOptions } from "./auth/person-auth.js";

/** What must be remembered between the two halves of a login, on the server and bound to the browser. Plain JSON; secret. */
export interface PendingLogin {
  readonly state: string;
  readonly codeVerifier: string;
  readonly redirectUri: string;
  readonly clientId: string;
}

export interface BegunLogin {
  /** Where to send the person. */
  readonly url: string;
  readonly login: PendingLogin;
}

export interface CompleteLoginOptions extends PersonAuthOptions<"B"> {
  /** The address that the person came back to, with its query. */
  readonly callbackUrl: string | URL;
  /** From `beginLogin`. */
  readonly login: PendingLogin;
  /** Ends the wait; an exchange that was sent runs to its end. */
  readonly signal?: AbortSignal | undefined;
}

export async function beginLogin(_options: PersonAuthOptions<"B">): Promise<BegunLogin> {
  throw new Error("not built yet");
}

export async function completeLogin(_options: CompleteLoginOptions): Promise<PersonAuth<"B">> {
  throw new Error("not built yet");
}
