/** What there is to examine. */
import type { PersonAuth } from "../../auth/auth.js";
import type { BivariantError, ConfigurationError, Variant } from "../../errors.js";
import type { Fetch } from "../../variants/target.js";
import type { AccountSettings } from "../settings/read-account.js";
import type { PluginSettings } from "../settings/read-plugin.js";

export interface Patient {
  readonly baseUrl: string;
  readonly tenantId: string | undefined;
  /** As named by the user: the only one that there are credentials for then. */
  readonly variant: Variant | undefined;
  readonly allowInsecureHttp: boolean | undefined;
  /** Nothing where none is begun; why it cannot be used where it is begun and wrong. */
  readonly plugin: PluginSettings | ConfigurationError | undefined;
  readonly account: AccountSettings | ConfigurationError | undefined;
  /** The stored login, where that is who asks in Variant B; or why there is none to use. */
  readonly login: PersonAuth<"B"> | BivariantError | undefined;
  readonly registeredJwks: RegisteredJwks | undefined;
  /** Left out: the global one. */
  readonly fetch: Fetch | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Certificates are checked, unless the environment forbids that. */
  readonly checksCertificates: boolean;
}

/** The JWKS that the customer registered, as parsed JSON; or that it is no JSON. */
export type RegisteredJwks = { readonly value: unknown } | { readonly isNoJson: true };

/** The variant whose credential is used without asking, as the client does: named, or the only one there is. */
export function onlyVariant({ variant, plugin, account, login }: Patient): Variant | undefined {
  if (variant !== undefined) return variant;
  if ((plugin === undefined) === ((account ?? login) === undefined)) return undefined;
  return plugin === undefined ? "B" : "A";
}
