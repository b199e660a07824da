/** `bivariant token`: an access token on stdout, and nothing else there. */
import type { Command } from "commander";
import { wireText } from "../../errors.js";
import type { Context, Finish } from "../context.js";
import { exitCodes, exitCodesHelp } from "../exit-codes.js";
import { whichIdentityHelp } from "../login/use-login.js";
import { openService } from "../open-service.js";
import { addSettings } from "../settings/add-settings.js";
import { identitySettings } from "../settings/setting-table.js";

export function addToken(program: Command, context: Context, finish: Finish): void {
  const { output } = context;
  const command = program
    .command("token")
    .description("Print an access token: the one secret that this program prints. Details go to stderr.")
    .action(async (flags: Record<string, unknown>) => {
      const { service, token } = await openService(flags, context);
      const { variant } = service;
      // From the wire: no text of a server moves the cursor of a terminal.
      const tenant = wireText(token.tenant, [token.value]) ?? service.tenantId;
      if (output.json)
        output.value({
          access_token: token.value,
          expires_at: token.expiresAt,
          variant,
          tenant: tenant || null,
        });
      else {
        const seconds = Math.round((token.expiresAt - Date.now()) / 1000);
        output.note(
          `Variant ${variant}${tenant === "" ? "" : `, tenant ${tenant}`}; expires ${new Date(token.expiresAt).toISOString()} (in ${seconds} s).`,
        );
        output.lines([token.value]);
      }
      finish(exitCodes.done);
    });
  addSettings(command, identitySettings).addHelpText(
    "after",
    `
Example, which keeps the token out of the process list (bash):
  $ curl -H @<(printf 'Authorization: Bearer %s' "$(bivariant token)") https://customer.example/v1/devices

With --json: { "access_token", "expires_at", "variant", "tenant" }; expires_at in epoch milliseconds.

${whichIdentityHelp}

${exitCodesHelp}`,
  );
}
