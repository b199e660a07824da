/** The public object of a credential that needs a person; its settings are behind a symbol. */
import type { Variant } from "../errors.js";
import type { PersonCredential, Settings } from "./credential.js";

const settingsKey: unique symbol = Symbol.for("bivariant.person-credential") as never;

export function personCredential<V extends Variant, T extends object>(
  variant: V,
  settings: Settings<T>,
): PersonCredential<V> {
  const credential = { use: "person", variant, grant: "authorization_code" } as const;
  // Behind a function: an inspection that shows hidden properties too must not show a secret.
  Object.defineProperty(credential, settingsKey, { value: () => settings });
  return Object.freeze(credential);
}
