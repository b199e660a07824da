/**
 * `bivariant call <operationId>`: one call, the same on either variant, with its data as JSON, text
 * or bytes.
 */
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type Command, Option } from "commander";
import { operations } from "../../../generated/operations.js";
import { ConfigurationError, type Variant } from "../../errors.js";
import { jsonType } from "../../internal.js";
import { collect, invalidFlag, readJsonOf } from "../arguments.js";
import { exitCodeOf, reportError } from "../error-report.js";
import { type Output, printableText } from "../output.js";
import type { Context } from "../run.js";
import { openService } from "../service.js";
import { addSettings, identitySettings, readSettings } from "../settings.js";
import { identityHelp } from "../stored-login.js";

interface CallFlags {
  readonly api?: string;
  readonly param?: readonly string[];
  readonly header?: readonly string[];
  readonly envelope?: string;
  readonly data?: string;
  readonly dataFile?: string;
}

/** `service.call` for an operation that is known only at run time. */
type AnyCall = (
  operationId: string,
  init: object,
) => Promise<
  { ok: true; data: unknown; response: Response } | { ok: false; error: { body: unknown } }
>;

export function define(command: Command, context: Context): void {
  const { output, signal, finish } = context;
  command
    .argument("<operationId>", "such as listDevices")
    .option(
      "--api <path>",
      "operations of your own documents: the folder that bivariant generate wrote, or its " +
        "operations module",
    )
    .option(
      "--param <name=value>",
      "path or query parameter of the operation; may be repeated",
      collect,
    )
    .option("--header <name:value>", "request header; may be repeated", collect)
    .option("--envelope <value>", "value of the request header X-Envelope")
    .addOption(new Option("--data <json>", "request body").conflicts("dataFile"))
    .option("--data-file <path>", "file with the request body, as JSON");
  addSettings(command, identitySettings, context)
    .action(async (operationId: string, flags: CallFlags) => {
      const { param = [], header = [], envelope } = flags;
      // All arguments are checked before a token is requested.
      const api: AnyApi = flags.api === undefined ? { operations } : await loadApi(flags.api);
      const { A, B } = api.operations;
      checkOperationId(operationId, { ...A, ...B });
      const headers = readHeaders(header);
      const body = await readBody(flags, signal);
      const values = readParameters(param);
      const settings = await readSettings(command, context);
      const { service, secrets } = await openService(settings, context, api as never, (variant) =>
        checkOperationId(operationId, api.operations[variant], variant),
      );
      const template = api.operations[service.variant]?.[operationId]?.path ?? "";
      const params: Record<"path" | "query", object> = { path: {}, query: {} };
      const inPath = [...template.matchAll(/\{([^{}]+)\}/g)].map(([, name = ""]) => name);
      for (const [name, value] of values) {
        const place = params[inPath.includes(name) ? "path" : "query"];
        // An assignment to `__proto__` would be lost.
        Object.defineProperty(place, name, { value, enumerable: true });
        const meant = inPath.find((one) => one.toLowerCase() === name.toLowerCase());
        if (meant !== undefined && meant !== name)
          output.note(
            `--param ${name} is sent as a query parameter. The path parameter is ${meant}.`,
          );
      }
      const call = service.call.bind(service as never) as unknown as AnyCall;
      const outcome = await output.during(`waiting for ${operationId}`, () =>
        call(operationId, {
          params,
          headers,
          signal,
          ...(body !== undefined && { body }),
          ...(envelope !== undefined && { envelope }),
        }),
      );
      if (outcome.ok) {
        const location = outcome.response.headers.get("location");
        if (location !== null)
          output.note(printableText(`Location: ${printableBody(location, secrets)}`));
        return printData(output, outcome.data, outcome.response);
      }
      reportError(output, outcome.error, printableBody(outcome.error.body, secrets));
      finish(exitCodeOf(outcome.error));
    })
    .addHelpText(
      "after",
      `
Examples:
  $ bivariant call listDevices
  $ bivariant call listDevices --variant B --envelope full
  $ bivariant call getDevice --param deviceId=7 --api generated

--api takes what bivariant generate wrote from your own documents: the folder,
or the path of its operations.js or operations.ts. Node.js loads .ts files from
version 22.18 on; for an older one compile them, and pass --api compiled:
  $ npx tsc generated/operations.ts --module nodenext --outDir compiled

A --param whose name is not in the operation's path is sent as a query
parameter. Each run requests a new token, unless a login is stored.

The data is printed as JSON with and without --json; an answer without a body is
null. The Location of an answer is noted on stderr. Events and JSON lines are
printed as they arrive, a line of JSON each, until Ctrl-C. Other text is printed
as it is, and with --json as a JSON string. Bytes are written as they are:
redirect them to a file. A refused call exits 6 and shows its likely causes and
the body of the answer, unless the body is long or repeats a secret.

${identityHelp}`,
    );
}

type OperationTable = Readonly<Record<string, { readonly path: string }>>;

interface AnyApi {
  readonly operations: { readonly [V in Variant]?: OperationTable };
}

/**
 * Imports the operations module that `bivariant generate` wrote.
 * @throws ConfigurationError `option_invalid`
 */
async function loadApi(given: string) {
  const files = [given, join(given, "operations.js"), join(given, "operations.ts")];
  const file = files.find((one) => existsSync(one) && statSync(one).isFile());
  if (file === undefined)
    throw invalidFlag(
      "--api",
      `names neither a module nor a folder with operations.js or .ts: ${given}`,
    );
  const loading = import(pathToFileURL(resolve(file)).href);
  const module = await loading.catch(({ code, name }: NodeJS.ErrnoException) => {
    const isSource = file.endsWith(".ts");
    const compile =
      `npx tsc ${isSource ? file : "generated/operations.ts"} --module nodenext ` +
      "--outDir compiled";
    const remedy = isSource
      ? `Use Node.js 22.18 or newer, or compile it and pass --api compiled: ${compile}`
      : `In a package of "type": "module" it must be an ES module, as this makes it: ${compile}`;
    throw invalidFlag(
      "--api",
      `names a module that cannot be loaded (${code ?? name}): ${file}. ${remedy}`,
    );
  });
  if (module.operations?.A ?? module.operations?.B) return module;
  throw invalidFlag("--api", `names a module that bivariant generate did not write: ${file}`);
}

/**
 * Without a variant the id is looked for in both tables, so with one the other variant has it.
 * @throws ConfigurationError `operation_unknown`
 */
function checkOperationId(operationId: string, table: OperationTable = {}, asked?: Variant): void {
  // The others answer with a token, which only `bivariant token` may print.
  const callable = Object.entries(table).flatMap(([id, { path }]) =>
    tokenPaths.includes(path) ? [] : id,
  );
  if (callable.includes(operationId)) return;
  const other = asked === "A" ? "B" : "A";
  const unknown =
    asked === undefined
      ? "Neither variant has an operation with this id. Use one of: "
      : `Variant ${asked} has no operation with this id. Variant ${other} has it: ` +
        `pass --variant ${other} if the service runs both. Variant ${asked} has: `;
  throw new ConfigurationError(
    "operation_unknown",
    Object.hasOwn(table, operationId)
      ? `${operationId} cannot be called, because its answer is a token. Use bivariant token.`
      : `${unknown}${callable.join(", ")}.`,
    { option: "operationId" },
  );
}

const tokenPaths: readonly string[] = [
  operations.A.requestToken.path,
  operations.B.requestToken.path,
];

/** The client adds the token itself, and other secrets must not come from the command line. */
const secretHeaders = /^(?:authorization|proxy-authorization|cookie|x-api-key)$/i;

/** @throws ConfigurationError `option_invalid`; it does not show the value */
function readHeaders(given: readonly string[]): Record<string, string> {
  const headers = new Headers();
  for (const one of given) {
    const colon = one.indexOf(":");
    const name = one.slice(0, Math.max(colon, 0)).trim();
    if (secretHeaders.test(name))
      throw invalidFlag(
        "--header",
        `must not be ${name.toLowerCase()}: other users can see the command line. ` +
          "The client adds the bearer itself.",
      );
    try {
      headers.append(name, one.slice(colon + 1).trim());
    } catch {
      throw invalidFlag("--header", "must be name:value, with characters that a header may hold.");
    }
  }
  return Object.fromEntries(headers);
}

/**
 * A name that is repeated gets a list of its values.
 * @throws ConfigurationError `option_invalid`
 */
function readParameters(given: readonly string[]): Map<string, string | string[]> {
  const values = new Map<string, string | string[]>();
  for (const one of given) {
    const [name = ""] = one.split("=", 1);
    if (name === "" || name === one) throw invalidFlag("--param", "must be name=value.");
    const value = one.slice(name.length + 1);
    const before = values.get(name);
    values.set(name, before === undefined ? value : [before, value].flat());
  }
  return values;
}

/** @throws ConfigurationError `option_invalid`; it shows nothing of the body */
async function readBody({ data, dataFile }: CallFlags, signal: AbortSignal) {
  if (dataFile !== undefined) return (await readJsonOf("--data-file", dataFile, signal)).value;
  try {
    return data === undefined ? undefined : JSON.parse(data);
  } catch {
    // The message of the parser quotes the text.
    throw invalidFlag("--data", "is not valid JSON.");
  }
}

/**
 * Prints the data of a call by its form.
 * @throws ConfigurationError `option_invalid` for bytes on a terminal and with `--json`
 */
async function printData(output: Output, data: unknown, { headers }: Response) {
  if (data instanceof Blob) {
    const what = `the answer, ${data.size} bytes of ${data.type || "no media type"}`;
    if (output.json)
      throw invalidFlag(
        "--json",
        `cannot show ${what}. Leave it out. Redirect the output: > <file>`,
      );
    if (output.isTerminal)
      throw new ConfigurationError(
        "option_invalid",
        `A terminal cannot show ${what}. Redirect the output: > <file>`,
        { option: "stdout" },
      );
    return output.raw(new Uint8Array(await data.arrayBuffer()));
  }
  if (isStream(data)) {
    // An error that ends the stream is a line of its own too.
    output.indent = 0;
    for await (const one of data) output.value(one);
    return;
  }
  const isOtherText =
    typeof data === "string" && !jsonType.test(headers.get("content-type") ?? "text/json");
  if (!isOtherText || output.json) return output.value(data);
  if (output.isTerminal)
    output.lines(printableText(data.replace(/\r\n/g, "\n").replace(/\n$/, "")));
  else output.raw(data);
}

function isStream(data: unknown): data is AsyncIterable<unknown> {
  return typeof data === "object" && data !== null && Symbol.asyncIterator in data;
}

const longestBody = 4_000;

/** Returns the body, or a sentence that replaces it if it is long or repeats a secret. */
function printableBody(body: unknown, secrets: readonly string[]): unknown {
  if (body instanceof Blob) return `(not shown: ${body.size} bytes)`;
  const text = JSON.stringify(body) ?? "";
  if (text.length > longestBody) return `(not shown: ${text.length} characters)`;
  const forms = secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
  return forms.some((form) => text.includes(form)) ? "(not shown: it repeats a secret)" : body;
}
