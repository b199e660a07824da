/** `bivariant login`: a person logs in to Variant B in the browser, and later commands act for them. */
import type { Command } from "commander";
import { z } from "zod";
import { ConfigurationError } from "../../errors.js";
import type { Context, Finish } from "../context.js";
import { exitCodes, exitCodesHelp } from "../exit-codes.js";
import { type LogInSettings, logIn } from "../login/log-in.js";
import { loginOptions } from "../login/login-options.js";
import { forgetLogin, openLoginStore } from "../login/login-store.js";
import { storePath } from "../login/store-path.js";
import { addSettings } from "../settings/add-settings.js";
import { hasOwnLoginClient } from "../settings/read-login-client.js";
import { readSettings } from "../settings/read-settings.js";
import { loginSettings, namesOf } from "../settings/setting-table.js";

export function addLogin(program: Command, context: Context, finish: Finish): void {
  const command = program
    .command("login")
    .description("Log in to Variant B in the browser, for token and call to act for you.")
    .option("--port <number>", "port of the loopback address to come back to (default: a free one)")
    .option("--wait-seconds <seconds>", "how long to wait for the login (default 300)")
    .option("--no-browser", "only print the address to open")
    .option("--logout", "forget the stored login, and log nobody in")
    .action(async (flags: Record<string, unknown>) => {
      if (flags.logout === true) await logOut(flags, context);
      else await logInAndTell(flags, context);
      finish(exitCodes.done);
    });
  addSettings(command, loginSettings).addHelpText(
    "after",
    `
Example:
  $ bivariant login --base-url https://customer.example --b-login-client-id portal \\
      --authorization-endpoint /v1/auth/authorize
  $ bivariant call listDevices --login --base-url https://customer.example --b-login-client-id portal
  $ bivariant login --logout --base-url https://customer.example --b-login-client-id portal

The API client is registered with the redirect URI http://127.0.0.1/callback, any port; where the deployment wants the
port too, name it with --port. The browser is opened when stdout is a terminal; the address is printed on stderr in any
case. A client secret is sent only if one is set: with --b-login-client-id only a secret of the same name's, without it
that of --b-client-id.
One login is kept for each base URL, tenant and client id: give the same to the other commands. It rests in a file that
only you can read, encrypted. Its key is BIVARIANT_STORE_KEY or in BIVARIANT_STORE_KEY_FILE; else it is made once, in
<store file>.key beside it (mode 0600): then whoever can read your files can read the login too. It is renewed without
prompting for as long as the deployment allows. A logout forgets it here; the deployment is not told.
With --json: { "variant", "base_url", "tenant", "expires_at", "store_file" }, expires_at in epoch milliseconds and of
the first access token; of a logout { "forgotten", "store_file" }. Never a token.

${exitCodesHelp}`,
  );
}

async function logInAndTell(flags: Record<string, unknown>, context: Context): Promise<void> {
  const { output, env } = context;
  const settings = readSettings(flags, env);
  const hasSecret = settings.bClientSecret !== undefined || settings.bClientSecretFile !== undefined;
  const { baseUrl, tenantId, expiresAt, file } = await logIn(settings, readFlags(flags), context);
  if (output.json)
    output.value({
      ...{ variant: "B", base_url: baseUrl, tenant: tenantId || null },
      ...{ expires_at: expiresAt, store_file: file },
    });
  else
    output.lines([
      `${output.paint("green", "Logged in")} to ${baseUrl}${tenantId === "" ? "" : `, tenant ${tenantId}`}.`,
      `The login is kept in ${file}.`,
    ]);
  if (hasSecret)
    output.note(
      `call and token ask as the service account while its client secret is set: give them --login.${
        hasOwnLoginClient(settings)
          ? ""
          : ` If this secret is that of the API client, set ${namesOf("bLoginClientId")} and ${namesOf("bLoginClientSecretFile")} instead.`
      }`,
    );
}

async function logOut(flags: Record<string, unknown>, { output, env }: Context): Promise<void> {
  const settings = readSettings(flags, env);
  const options = await loginOptions(settings, { env, onEvent: () => {} });
  const opened = await openLoginStore(settings, env);
  const isForgotten = opened !== undefined && (await forgetLogin({ ...options, store: opened.store }));
  if (output.json) output.value({ forgotten: isForgotten, store_file: storePath(settings, env) });
  else output.lines([isForgotten ? "Logged out: the login is forgotten." : "No login was stored."]);
}

const schema = z.object({
  port: z
    .string()
    .regex(/^\d{1,5}$/, "must be a port number")
    .transform(Number)
    .pipe(z.number().max(65_535, "must be a port number"))
    .default(0),
  waitSeconds: z
    .string()
    .regex(/^\d{1,5}$/, "must be whole seconds")
    .transform(Number)
    .pipe(z.number().min(1, "must be above 0").max(86_400, "must be at most 86400"))
    .default(300),
  browser: z.boolean().default(true),
});

/** @throws ConfigurationError `option_invalid`; it shows no value */
function readFlags(flags: Readonly<Record<string, unknown>>): LogInSettings {
  const { success, data, error } = schema.safeParse(flags);
  if (success) return { port: data.port, waitSeconds: data.waitSeconds, isBrowserWanted: data.browser };
  const [issue] = error.issues;
  const name = issue?.path[0] === "port" ? "--port" : "--wait-seconds";
  throw new ConfigurationError("option_invalid", `${name} ${issue?.message}.`, { option: name });
}
