/** `bivariant token`: an access token, alone on stdout. */
import type { Command } from "commander";
import { wireText } from "../../errors.js";
import type { Context } from "../run.js";
import { openService } from "../service.js";
import { addSettings, identitySettings, readSettings } from "../settings.js";
import { identityHelp } from "../stored-login.js";

export function define(command: Command, context: Context): void {
  const { output } = context;
  addSettings(command, identitySettings, context)
    .action(async () => {
      const settings = await readSettings(command, context);
      const { service, token } = await openService(settings, context);
      const { variant } = service;
      const { value, expiresAt } = token;
      // The name comes from the server, so control characters are removed.
      const tenant = wireText(token.tenant, [value]) ?? service.tenantId;
      if (output.json)
        return output.value({
          access_token: value,
          expires_at: expiresAt,
          variant,
          tenant: tenant || null,
        });
      const seconds = Math.round((expiresAt - Date.now()) / 1000);
      output.note(
        `Variant ${variant}${tenant === "" ? "" : `, tenant ${tenant}`}; ` +
          `expires ${new Date(expiresAt).toISOString()} (in ${seconds} s).`,
      );
      output.lines(value);
    })
    .addHelpText(
      "after",
      `
Example that keeps the token out of the process list (bash):
  $ curl https://customer.example/v1/devices \\
      -H @<(printf 'Authorization: Bearer %s' "$(bivariant token)")

Each run requests a new token, unless a login is stored.

With --json: { "access_token", "expires_at", "variant", "tenant" }, with
expires_at in epoch milliseconds.

${identityHelp}`,
    );
}
