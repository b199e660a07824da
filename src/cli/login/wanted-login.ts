/** The stored login that the settings ask for: by `--login`, by a client of its own, or by a client id without a secret. */
import type { PersonAuth } from "../../auth/auth.js";
import { ConfigurationError, LoginRequiredError } from "../../errors.js";
import { hasOwnLoginClient } from "../settings/read-login-client.js";
import type { ConnectionSettings } from "../settings/read-settings.js";
import { namesOf } from "../settings/setting-table.js";
import { isSame, type LoginName, loginsOf } from "./login-index.js";
import { type LoginOptions, type LoginOptionsContext, loginOptions } from "./login-options.js";
import { findLogin, openLoginStore } from "./login-store.js";

export interface WantedLogin {
  readonly options: LoginOptions;
  /** The login, or why there is none to use. */
  readonly found: PersonAuth<"B"> | LoginRequiredError | ConfigurationError;
}

/**
 * `undefined` where a machine is meant: a service account, also one that only lacks its secret, or a plugin.
 *
 * @throws ConfigurationError, StoreError
 */
export async function wantedLogin(
  settings: ConnectionSettings,
  context: LoginOptionsContext,
): Promise<WantedLogin | undefined> {
  const isNamed = settings.login === true;
  if (isNamed && settings.variant === "A")
    throw new ConfigurationError(
      "option_invalid",
      "--login uses Variant B, and Variant A is named. Leave one out.",
      { option: "variant" },
    );
  if (!isNamed && !isMeant(settings)) return undefined;
  const options = await loginOptions(settings, context);
  const opened = await openLoginStore(settings, context.env);
  const found = opened && (await findLogin({ ...options, store: opened.store }));
  if (typeof found === "object") return { options, found };
  if (found === "over")
    return { options, found: new LoginRequiredError("login_expired", "The stored login is over.") };
  const all = opened === undefined ? [] : await loginsOf(opened.store, options);
  const others = all.filter((one) => !isSame(one, options));
  const none = `No login is stored for this base URL, tenant and client id (${namesOf("storeFile")}).`;
  const hint = others.length === 0 ? undefined : elsewhere(others);
  if (isNamed || hasOwnLoginClient(settings)) {
    const message = hint === undefined ? none : `${none} ${hint}`;
    return { options, found: new LoginRequiredError("login_expired", message) };
  }
  // Without a login it is a service account that lacks its secret: told by whoever reads that.
  if (hint === undefined) return undefined;
  const error = new ConfigurationError("credential_missing", `${none} ${hint}`, {
    option: "tenantId",
    variant: "B",
  });
  return { options, found: error };
}

/** Whether the credential of Variant B that is configured is a person's. */
function isMeant(settings: ConnectionSettings): boolean {
  const { variant, bClientId, bClientSecret, bClientSecretFile } = settings;
  if (variant === "A") return false;
  const hasSecret = bClientSecret !== undefined || bClientSecretFile !== undefined;
  if (hasOwnLoginClient(settings)) return bClientId === undefined && !hasSecret;
  return bClientId !== undefined && !hasSecret;
}

/** With Variant B the tenant is a name of the person's own, and part of what a login is found by. */
function elsewhere(others: readonly LoginName[]): string {
  const tenants = others.flatMap(({ tenantId }) => tenantId || []);
  const ways = [
    ...(tenants.length < others.length ? ["without a tenant"] : []),
    ...(tenants.length === 0 ? [] : [`for the tenant ${tenants.join(", ")}`]),
  ];
  return `There is one ${ways.join(", and ")}: name the tenant as at that login, or log in again with this one.`;
}
