/** Whether a call is made for a person who logged in, and with which login. */
import type { PersonAuth } from "../../auth/auth.js";
import { ConfigurationError, LoginRequiredError, VariantError } from "../../errors.js";
import { detectVariant } from "../../index.js";
import type { ConnectionSettings } from "../settings/read-settings.js";
import { namesOf } from "../settings/setting-table.js";
import type { LoginOptions, LoginOptionsContext } from "./login-options.js";
import { wantedLogin } from "./wanted-login.js";

/** For the `--help` of the commands that ask for a token. */
export const whichIdentityHelp: string = `Who asks, in Variant B: with a client secret the service account. Without one the login that bivariant login stored
for the same base URL, tenant and client id; with --login that login alone. The login's client is --b-login-client-id,
or --b-client-id where that is not given. A login that is over exits 3: run bivariant login. With a plugin configured
too, the deployment is asked which variant it serves, as ever.`;

export interface UsedLogin {
  readonly auth: PersonAuth<"B">;
  /** What must not be printed. */
  readonly secrets: readonly string[];
}

/**
 * The stored login, where it is wanted. "plugin" where Variant A was found to be served instead; `undefined` where the
 * credentials of machines decide.
 *
 * @throws LoginRequiredError for one that is over, or asked for and not there
 * @throws VariantError when a plugin is configured too, and neither variant is known to be served
 */
export async function useLogin(
  settings: ConnectionSettings,
  context: LoginOptionsContext & { readonly signal: AbortSignal },
): Promise<UsedLogin | "plugin" | undefined> {
  const wanted = await wantedLogin(settings, context);
  if (wanted === undefined) return undefined;
  const { options, found } = wanted;
  const { variant, login: isNamed, aClientId, aPrivateKey, aPrivateKeyFile, aKeyId } = settings;
  const hasPlugin = [aClientId, aPrivateKey, aPrivateKeyFile, aKeyId].some((one) => one !== undefined);
  if (isNamed !== true && variant === undefined && hasPlugin)
    if (await servesA(settings, options, context.signal)) return "plugin";
  if (found instanceof LoginRequiredError || found instanceof ConfigurationError) throw found;
  return { auth: found, secrets: options.secrets };
}

/** The plugin is preferred, as `connect` prefers it, unless its variant is surely not what answers there. */
async function servesA(
  settings: ConnectionSettings,
  { baseUrl, fetch, timeoutMs, allowInsecureHttp }: LoginOptions,
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
