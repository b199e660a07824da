/** `bivariant call <operationId>`: one call, the same on either variant, its data as JSON. */
import type { Command } from "commander";
import { operations } from "../../../generated/operations.js";
import { checkOperationId } from "../call/check-operation-id.js";
import { readHeaders } from "../call/read-headers.js";
import { readJsonBody } from "../call/read-json-body.js";
import { readParameters } from "../call/read-parameters.js";
import { withoutSecrets } from "../call/without-secrets.js";
import type { Context, Finish } from "../context.js";
import { exitCodeOf, exitCodes, exitCodesHelp } from "../exit-codes.js";
import { whichIdentityHelp } from "../login/use-login.js";
import { openService } from "../open-service.js";
import { addSettings } from "../settings/add-settings.js";
import { identitySettings } from "../settings/setting-table.js";

interface CallFlags extends Record<string, unknown> {
  readonly param?: readonly string[];
  readonly header?: readonly string[];
  readonly envelope?: string;
  readonly data?: string;
  readonly dataFile?: string;
}

/** The typed `call` as it is when the operation is known only at run time. */
type AnyCall = (
  operationId: string,
  init: object,
) => Promise<{ ok: true; data: unknown } | { ok: false; error: { body: unknown } }>;

export function addCall(program: Command, context: Context, finish: Finish): void {
  const { output, signal } = context;
  const command = program
    .command("call")
    .description("Call an operation by its id and print its data as JSON.")
    .argument("<operationId>", "such as listDevices")
    .option(
      "--param <name=value>",
      "path or query parameter, by the operation's path; may be repeated",
      collect,
    )
    .option("--header <name:value>", "request header; may be repeated", collect)
    .option("--envelope <value>", "value of the request header X-Envelope")
    .option("--data <json>", "request body")
    .option("--data-file <path>", "file with the request body, JSON")
    .action(async (operationId: string, flags: CallFlags) => {
      checkOperationId(operationId);
      const headers = readHeaders(flags.header ?? []);
      const body = await readJsonBody(flags);
      // Before a token is asked for, though the path is known only once the variant is.
      readParameters(flags.param ?? [], "");
      const { service, progress, secrets } = await openService(flags, context);
      const { path = "" } =
        (operations[service.variant] as Record<string, { path: string }>)[operationId] ?? {};
      const params = readParameters(flags.param ?? [], path);
      const { envelope } = flags;
      const call = service.call.bind(service as never) as unknown as AnyCall;
      const outcome = await progress.during(`waiting for ${operationId}`, () =>
        call(operationId, {
          params,
          headers,
          signal,
          ...(body === undefined ? {} : { body }),
          ...(envelope === undefined ? {} : { envelope }),
        }),
      );
      if (outcome.ok) output.value(outcome.data);
      else output.error(outcome.error, withoutSecrets(outcome.error.body, secrets));
      finish(outcome.ok ? exitCodes.done : exitCodeOf(outcome.error));
    });
  addSettings(command, identitySettings).addHelpText(
    "after",
    `
Examples:
  $ bivariant call listDevices
  $ bivariant call listDevices --variant B --envelope full

The data is printed as JSON with and without --json; an answer without a body is null. A refused call exits 6 and
tells its causes; what the answer said is shown unless it is long or repeats a secret. One that was refused because its
login is over exits 3.

${whichIdentityHelp}

${exitCodesHelp}`,
  );
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
