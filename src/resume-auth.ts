/** A person's Auth again, from the store: after a restart, or in another process. */
import type { PersonAuth, PersonAuthOptions } from "./auth/person-auth.js";
import type { Variant } from "./errors.js";

export interface ResumeAuthOptions<V extends Variant = Variant> extends PersonAuthOptions<V> {
  readonly person: string;
}

/** `undefined` when nothing rests under that name. */
export async function resumeAuth<V extends Variant>(
  _options: ResumeAuthOptions<V>,
): Promise<PersonAuth<V> | undefined> {
  throw new Error("not built yet");
}
