/** Secrets in the arguments: other users of the machine read them in the process list, and shells keep them. */
import { ConfigurationError } from "../errors.js";

const privateKeyHome = {
  flags: /^--(?:a-)?(?:private-)?key$/,
  instead: "Set BIVARIANT_A_PRIVATE_KEY_FILE or BIVARIANT_A_PRIVATE_KEY, or give --a-private-key-file.",
};

const homes: readonly { readonly flags: RegExp; readonly instead: string }[] = [
  {
    flags: /^--(?:b-)?(?:client-)?secret$/,
    instead:
      "Set BIVARIANT_B_CLIENT_SECRET_FILE or BIVARIANT_B_CLIENT_SECRET, or give --b-client-secret-file.",
  },
  {
    flags: /^--(?:b-)?login-(?:client-)?secret$/,
    instead:
      "Set BIVARIANT_B_LOGIN_CLIENT_SECRET_FILE or BIVARIANT_B_LOGIN_CLIENT_SECRET, or give --b-login-client-secret-file.",
  },
  privateKeyHome,
  {
    flags: /^--store-key$/,
    instead: "Set BIVARIANT_STORE_KEY_FILE or BIVARIANT_STORE_KEY, or give --store-key-file.",
  },
  {
    flags:
      /^--(?:(?:access|bearer|refresh)-)?token$|^--(?:password|code|code-verifier|authorization|client-assertion)$/,
    instead: "The token is fetched with the configured credential; see bivariant token --help.",
  },
];

/**
 * Refuses options that would carry a secret, and a key wherever it stands. Nothing of the value is shown.
 *
 * @throws ConfigurationError `option_invalid`
 */
export function refuseSecrets(argv: readonly string[]): void {
  for (const argument of argv) {
    const name = argument.split("=", 1)[0] ?? "";
    const home = homes.find(({ flags }) => flags.test(name));
    if (home !== undefined) throw refused(`${name} is not taken: ${why}. ${home.instead}`, name);
    if (/PRIVATE KEY-----/.test(argument))
      throw refused(`A private key stands in the arguments: ${why}. ${privateKeyHome.instead}`);
  }
}

const why = "a secret on the command line is seen by other users and kept by the shell";

function refused(message: string, option?: string): ConfigurationError {
  return new ConfigurationError("option_invalid", message, option === undefined ? {} : { option });
}
