/** Whether a call is made for a person who logged in, and with which login. */
import type { PersonAuth } from "../../auth/person-auth.js";
import { ConfigurationError, LoginRequiredError, VariantError } from "../../errors.js";
import { detectVariant } from "../../index.js";
import type { ConnectionSettings } from "../settings/read-settings.js";
import { namesOf } from "../settings/setting-table.js";
import { type LoginOptionsContext, loginOptions } from "./login-options.js";
import { findLogin, openLoginStore } from "./login-store.js";

/** For the `--help` of the commands that ask for a token. */
export const whichIdentityHelp: string = `Who asks, in Variant B: with a client secret the service account. Without one the login that bivariant login stored
for the same base URL, tenant and client id; with --login that login alone. A login that is over exits 3: run
bivariant login. With a plugin configured too, the deployment is asked which variant it serves, as ever.`;

export interface UsedLogin {
  readonly auth: PersonAuth<"B">;
  /** What must not be printed. */
  readonly secrets: readonly string[];
}

/**
 * The stored login, where it is wanted: by `--login`, or because Variant B's client id stands without a secret.
 * "plugin" where Variant A was found to be served instead; `undefined` where the credentials of machines decide.
 *
 * @throws LoginRequiredError for one that is over, or asked for and not there
 * @throws VariantError when a plugin is configured too, and neither variant is known to be served
 */
export async function useLogin(
  settings: ConnectionSettings,
  context: LoginOptionsContext & { readonly signal: AbortSignal },
): Promise<UsedLogin | "plugin" | undefined> {
  const { variant, login: isNamed = false, bClientId, bClientSecret, bClientSecretFile } = settings;
  if (isNamed && variant === "A")
    throw new ConfigurationError(
      "option_invalid",
      "--login uses Variant B, and Variant A is named. Leave one out.",
      { option: "variant" },
    );
  const hasSecret = bClientSecret !== undefined || bClientSecretFile !== undefined;
  if (!isNamed && (variant === "A" || bClientId === undefined || hasSecret)) return undefined;
  const options = await loginOptions(settings, context);
  const opened = await openLoginStore(settings, context.env);
  const found = opened && (await findLogin({ ...options, store: opened.store }));
  // Without a login it is a service account that lacks its secret: told by whoever reads that.
  if (found === undefined && !isNamed) return undefined;
  const { aClientId, aPrivateKey, aPrivateKeyFile, aKeyId } = settings;
  const hasPlugin = [aClientId, aPrivateKey, aPrivateKeyFile, aKeyId].some((one) => one !== undefined);
  if (!isNamed && variant === undefined && hasPlugin && (await servesA(settings, options, context.signal)))
    return "plugin";
  if (typeof found !== "object")
    throw new LoginRequiredError(
      "login_expired",
      found === "over"
        ? "The stored login is over."
        : `No login is stored for this base URL, tenant and client id (${namesOf("storeFile")}).`,
    );
  return { auth: found, secrets: options.secrets };
}

/** The plugin is preferred, as `connect` prefers it, unless its variant is surely not what answers there. */
async function servesA(
  settings: ConnectionSettings,
  { baseUrl, fetch, timeoutMs, allowInsecureHttp }: Awaited<ReturnType<typeof loginOptions>>,
  signal: AbortSignal,
): Promise<boolean> {
  const tenantId = settings.tenant ?? "";
  const detection = await detectVariant({ baseUrl, tenantId, fetch, timeoutMs, allowInsecureHttp, signal });
  const { served, evidence } = detection;
  if (served.A === "yes") return true;
  // A rate limit or a failing server says nothing of next time.
  const isPassing = evidence.some(
    ({ variant, status }) => variant === "A" && (status === 429 || status >= 500),
  );
  if (served.B === "yes" && !isPassing) return false;
  const isServedNowhere = served.A === "no" && served.B === "no";
  throw new VariantError(
    isServedNowhere ? "variant_not_served" : "variant_unknown",
    isServedNowhere
      ? "Neither variant is served there. A wrong tenant id looks the same."
      : `Which variant is served there cannot be told. If you know it, name it: ${namesOf("variant")}.`,
    { detection },
  );
}
