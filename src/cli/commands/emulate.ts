/** `bivariant emulate`: an emulated deployment on this machine, until it is stopped. */
import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type Command, Option } from "commander";
import type {
  CustomerLogEntry,
  Emulator,
  EmulatorOptions,
  EmulatorSeed,
  JournalEntry,
} from "../../emulator/index.js";
import type { DocumentedApi } from "../../generate/internal.js";
import { collect, invalidFlag, portOption, readFileOf, wholeNumber } from "../arguments.js";
import { FileWatcher, lookEveryMs } from "../file-watcher.js";
import type { Output, Paint } from "../output.js";
import type { Context } from "../run.js";
import { exportLines } from "../settings.js";

/** Loaded when the command runs: its help must not wait for hono and zod. */
type EmulatorModule = typeof import("../../emulator/index.js");

type TextFlag = "publicUrl" | "refs" | "settings" | "seedFile" | "pageUrl";
type DocumentFlag = "variantA" | "variantB";

interface EmulateFlags extends Readonly<Partial<Record<TextFlag | DocumentFlag, string>>> {
  readonly tenant: string;
  readonly aClientId: string;
  readonly bClientId: string;
  readonly variant?: "A" | "B" | "both";
  readonly port: number;
  readonly host: string;
  readonly watch?: true;
  readonly randomSeed?: number;
  readonly scope?: readonly string[];
  readonly withoutRule?: readonly string[];
  readonly rules?: true;
}

export function define(command: Command, { output, signal }: Context): void {
  const variant = new Option(
    "--variant <A|B|both>",
    "what to serve; both, unless a file says otherwise",
  );
  const seedFile = new Option(
    "--seed-file <path>",
    "YAML or JSON file with the registrations and options",
  );
  command
    .addOption(variant.choices(["A", "B", "both"]))
    .option("--variant-a <path>", "OpenAPI document of Variant A with operations to serve")
    .option("--variant-b <path>", "the same for Variant B")
    .option("--refs <folder>", "folder that references may reach (default: that of the document)")
    .addOption(portOption("port to listen on"))
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option(
      "--public-url <url>",
      "base URL that clients use, if it differs (behind a proxy, with a prefix)",
    )
    .option("--settings <path>", "JSON file with options, as bivariant contract writes it")
    // These flags conflict with a seed file, because both say what is registered.
    .addOption(seedFile.conflicts(["tenant", "aClientId", "bClientId", "scope", "pageUrl"]))
    .option("--watch", "read the seed file again whenever it changes")
    .option(
      "--random-seed <number>",
      "generate ids, keys, codes and tokens that are the same in every run",
      wholeNumber(0, 999_999_999, "a whole number"),
    )
    .option("--tenant <id>", "tenant of all registrations", "acme")
    .option("--a-client-id <id>", "client id of the service plugin", "emulated-plugin")
    .option("--b-client-id <id>", "client id of the service account", "emulated-account")
    .option(
      "--scope <scope>",
      "scope of the plugins and of the operator; may be repeated (default: " +
        "devices:read and those of the documents)",
      collect,
    )
    .option(
      "--page-url <url>",
      "also register a user-interface plugin with this page, to launch from the host page",
    )
    .option("--without-rule <id>", "switch this rule off, see --rules; may be repeated", collect)
    .option("--rules", "print the enforced rules and the options instead of serving")
    .action(async (flags: EmulateFlags) => {
      const emulator = await import("../../emulator/index.js");
      const { createEmulator, emulatorRules: rules, emulatorOptions: options } = emulator;
      if (flags.rules && output.json) return output.value({ rules, options });
      if (flags.rules) return output.lines(...ruleLines(emulator, output.paint));
      const { seedFile, watch, variant, publicUrl, randomSeed } = flags;
      if (watch && seedFile === undefined)
        throw invalidFlag("--watch", "needs the file to watch: pass --seed-file too.");
      const api = await documentedApi(flags, signal);
      const { readSettingsFile } = await import("../settings-file.js");
      const settings: EmulatorOptions = flags.settings
        ? await readSettingsFile(flags.settings, signal, createEmulator)
        : {};
      const off = Object.fromEntries((flags.withoutRule ?? []).map((rule) => [rule, false]));
      const readOptions = async (): Promise<EmulatorOptions> => {
        const given =
          seedFile === undefined
            ? { seed: defaultSeed(flags, api) }
            : emulator.parseSeedFile(
                await readFileOf("--seed-file", seedFile, signal),
                basename(seedFile),
              );
        return {
          ...settings,
          ...given,
          ...(variant && { variants: variant === "both" ? ["A", "B"] : [variant] }),
          ...(publicUrl !== undefined && { publicUrl }),
          ...(randomSeed !== undefined && { randomSeed }),
          ...(api && { api }),
          rules: { ...settings.rules, ...given.rules, ...off },
        };
      };
      await serve(flags, readOptions, emulator, output, signal).catch((error) => {
        const [issue = ""] = error instanceof emulator.EmulatorError ? error.issues : [];
        const flag = flagTable.find(([path]) => path.test(issue))?.[1];
        if (seedFile !== undefined || flag === undefined) throw error;
        throw invalidFlag(flag, `${issue.replace(/^[^:]*: /, "")}.`);
      });
    })
    .addHelpText(
      "after",
      `
stdout holds the variables that point bivariant at it; stderr shows each
request, and the real reason of each refusal. Keys and secrets are made for this
run, in a private temporary folder that is deleted at the end.

Without a seed file these are registered: emulated-plugin and emulated-account
(for call and token), emulated-client and the operator ada (for login and the
host page). A seed file holds plugins, serviceAccounts, apiClients, operators,
clock, faults and options, each as createEmulator takes them. The variables are
those of the first registration of each kind.

A settings file holds options too, as a JSON object, with those of connect and
apiClient among them. It is read once. The options of a seed file win over it,
and flags win over both. Each switch of a rule counts by itself.

With --variant-a or --variant-b the operations of an OpenAPI document are
served: each answers the example of its document, or else a value that its
schema allows. openapi-typescript is not needed.

Examples, in two terminals:
  $ bivariant emulate --variant B --port 8080
  $ export BIVARIANT_...            the printed lines
  $ bivariant call listDevices
  $ bivariant login                 as ada

With --json every line on stdout is a JSON object: { "served", "environment",
"keys", "operations" } at the start and whenever the seed file was read,
otherwise { "request" } or { "refusal" }. Exits 0 when it is stopped, 2 if it
cannot listen, or the seed file or a document is wrong.`,
    );
}

/** The flags that fill the default seed, by the path with which an issue about it begins. */
const flagTable: readonly (readonly [RegExp, string])[] = [
  [/^publicUrl:/, "--public-url"],
  [/^plugins\.0\.clientId:/, "--a-client-id"],
  [/^serviceAccounts\.0\.clientId:/, "--b-client-id"],
  [/\.tenantId:/, "--tenant"],
  [/\.scopes\b/, "--scope"],
  [/\.pageUrl:/, "--page-url"],
];

/** @throws GenerateError, ConfigurationError `option_invalid` */
async function documentedApi({ variantA, variantB, refs }: EmulateFlags, signal: AbortSignal) {
  if ((variantA ?? variantB ?? refs) === undefined) return undefined;
  if ((variantA ?? variantB) === undefined)
    throw invalidFlag("--refs", "needs a document: pass --variant-a or --variant-b too.");
  const { readApi } = await import("../../generate/internal.js");
  return readApi({ A: variantA, B: variantB }, { refs, signal });
}

/** The operations of the option `api`. */
function operationsIn({ variants = ["A", "B"], api }: EmulatorOptions) {
  return variants.flatMap((variant) => {
    const table = (api?.operations[variant] ?? {}) as DocumentedApi["operations"]["A"];
    return Object.entries(table).map(([operationId, row]) => ({ variant, operationId, ...row }));
  });
}

/** Makes one registration of each kind. */
function defaultSeed(flags: EmulateFlags, api: DocumentedApi | undefined): EmulatorSeed {
  const { tenant: tenantId, aClientId, bClientId, pageUrl, randomSeed } = flags;
  const documented = Object.values(api?.operations.A ?? {}).flatMap(({ scope }) => scope ?? []);
  const { scope: scopes = [...new Set(["devices:read", ...documented])] } = flags;
  const secret =
    randomSeed === undefined
      ? randomBytes(32)
      : createHash("sha256").update(`client secret ${randomSeed}`).digest();
  return {
    plugins: [
      { clientId: aClientId, tenantId, type: "service", scopes },
      ...(pageUrl === undefined
        ? []
        : [
            {
              clientId: "emulated-page",
              tenantId,
              type: "user_interface",
              pageUrl,
              scopes,
            } as const,
          ]),
    ],
    serviceAccounts: [
      { clientId: bClientId, clientSecret: secret.toString("base64url"), tenantId },
    ],
    apiClients: [
      { clientId: "emulated-client", redirectUris: ["http://127.0.0.1/callback"], tenantId },
    ],
    operators: [
      { tenantId, userId: "ada", firstname: "Ada", lastname: "Lovelace", capabilities: scopes },
    ],
  };
}

function sourceOf(section: string): string {
  return /^\d/.test(section)
    ? `Section ${section}.`
    : section.replace(/^not shown(.*)/, "Not in the description$1.");
}

function ruleLines({ emulatorRules, emulatorOptions }: EmulatorModule, paint: Paint): string[] {
  return [
    "Rules:",
    "",
    ...Object.entries(emulatorRules).flatMap(([id, { section, says, answer, remedy, off }]) => [
      `${paint("bold", id)} answers ` +
        `${answer.status}${answer.error === undefined ? "" : ` ${answer.error}`}`,
      `  ${says} ${sourceOf(section)}`,
      `  ${paint("dim", `Remedy: ${remedy}`)}`,
      ...(off === undefined ? [] : [`  ${paint("dim", `Off: ${off}`)}`]),
    ]),
    "",
    "Options, each for something that the description leaves open:",
    "",
    ...Object.entries(emulatorOptions).flatMap(([id, { section, says, default: value }]) => [
      paint("bold", id),
      `  ${says} ${sourceOf(section)}`,
      `  ${paint("dim", `Default: ${JSON.stringify(value)}`)}`,
    ]),
  ];
}

/**
 * Serves until it is asked to stop; then its port is free and its files are deleted.
 * @throws EmulatorError
 */
async function serve(
  { port, host, watch, seedFile = "", settings }: EmulateFlags,
  readOptions: () => Promise<EmulatorOptions>,
  { createEmulator }: EmulatorModule,
  output: Output,
  signal: AbortSignal,
) {
  const watcher = new FileWatcher();
  if (watch) watcher.add(seedFile);
  const options = await readOptions();
  const emulator = createEmulator(options);
  // The mode of this folder is 0700.
  const folder = await mkdtemp(join(tmpdir(), "bivariant-"));
  let close = async () => {};
  try {
    ({ close } = await emulator.listen({ port, host }));
    output.indent = 0;
    const announceOptions = (now: EmulatorOptions) =>
      announce(emulator, now, folder, settings, output);
    await announceOptions(options);
    const { variants = ["A", "B"] } = options;
    output.note(`Serving Variant ${variants.join(" and Variant ")}.`);
    for (const { method, path, reason } of emulator.notServed)
      output.note(`Not served: ${method} ${path}, since ${reason}.`);
    for (const { method, path, reason } of emulator.notSampled)
      output.note(`No sample answer for ${method} ${path}: ${reason}.`);
    if (watch) output.note(`Watching ${seedFile}.`);
    output.note("Press Ctrl-C to stop. The files above are then deleted.");
    const printTraffic = trafficPrinter(emulator, output);
    const reload = reloader(emulator, readOptions, options, announceOptions, output);
    while (!signal.aborted) {
      await wait(lookEveryMs, undefined, { signal }).catch(() => {});
      printTraffic();
      if (watcher.hasChanged()) await reload();
    }
  } finally {
    // The secrets are deleted first, because a second Ctrl-C does not wait for requests in
    // progress.
    await rm(folder, { recursive: true, force: true });
    await close();
  }
}

/**
 * Resets the emulator to what the seed file now says. If the file has an error, nothing changes.
 */
function reloader(
  emulator: Emulator,
  readOptions: () => Promise<EmulatorOptions>,
  first: EmulatorOptions,
  announceAgain: (options: EmulatorOptions) => Promise<void>,
  output: Output,
): () => Promise<void> {
  let current = first;
  return async () => {
    let options: EmulatorOptions;
    try {
      options = await readOptions();
      // An option that the file no longer names goes back to its default.
      const defaults = Object.fromEntries(Object.keys(current).map((name) => [name, undefined]));
      const { publicUrl: _, randomSeed: __, now: ___, ...changes } = { ...defaults, ...options };
      emulator.reset(changes);
      current = options;
    } catch (error) {
      output.note(`Not read again, the old state stays:\n${(error as Error).message}`);
      return;
    }
    const problem = await announceAgain(options).catch((error: Error) => error);
    output.note("Read the seed file again. Everything else starts anew.");
    if (problem) output.note(`Its files cannot be written:\n${problem.message}`);
    // Clients depend on these, so a running emulator does not change them.
    const lasting = (["publicUrl", "randomSeed"] as const).filter(
      (name) => options[name] !== first[name],
    );
    if (lasting.length > 0) output.note(`These change only with a restart: ${lasting.join(", ")}.`);
  };
}

/**
 * Prints the address and the credentials. The variables are for the first registration of each
 * kind.
 */
async function announce(
  emulator: Emulator,
  options: EmulatorOptions,
  folder: string,
  settings: string | undefined,
  output: Output,
) {
  const { variants = ["A", "B"], seed = {}, admin } = options;
  const { plugins = [], operators = [] } = variants.includes("A") ? seed : {};
  const { serviceAccounts: [account] = [], apiClients: [client] = [] } = variants.includes("B")
    ? seed
    : {};
  const plugin = plugins.find(({ type }) => type === "service");
  const keys: { tenant: string; clientId: string; type: string; privateKeyFile: string }[] = [];
  let keyFile: string | undefined;
  for (const one of plugins.filter(({ jwks }) => jwks === undefined)) {
    const { tenantId: tenant, clientId, type } = one;
    const name = `${encodeURIComponent(tenant)}.${encodeURIComponent(clientId)}.key.json`;
    const privateKeyFile = await writePrivate(folder, name, JSON.stringify(emulator.testKey(one)));
    if (one === plugin) keyFile = privateKeyFile;
    keys.push({ tenant, clientId, type, privateKeyFile });
  }
  const secretFile = async (name: string, secret: string | undefined) =>
    secret === undefined ? undefined : writePrivate(folder, name, secret);
  const storeKeyFile = join(folder, "store-key");
  // When the seed file is read again, the key stays, because the stored logins need it.
  if (client !== undefined && !existsSync(storeKeyFile))
    await writePrivate(folder, "store-key", randomBytes(32).toString("base64"));
  const environment = {
    BIVARIANT_BASE_URL: emulator.publicUrl,
    BIVARIANT_TENANT: (plugin ?? account ?? client ?? seed.operators?.[0])?.tenantId,
    BIVARIANT_SETTINGS: settings && resolve(settings),
    BIVARIANT_A_CLIENT_ID: plugin?.clientId,
    BIVARIANT_A_PRIVATE_KEY_FILE: keyFile,
    BIVARIANT_B_CLIENT_ID: account?.clientId,
    BIVARIANT_B_CLIENT_SECRET_FILE: await secretFile("client-secret", account?.clientSecret),
    BIVARIANT_B_LOGIN_CLIENT_ID: client?.clientId,
    BIVARIANT_B_LOGIN_CLIENT_SECRET_FILE: await secretFile(
      "login-client-secret",
      client?.clientSecret,
    ),
    ...(client && {
      // The description does not give this path, so the emulator has one of its own.
      BIVARIANT_B_AUTHORIZATION_ENDPOINT: `${emulator.publicUrl}/v1/auth/authorize`,
      // These logins end with the emulator, so they are kept apart from the user's own.
      BIVARIANT_STORE_FILE: join(folder, "logins"),
      BIVARIANT_STORE_KEY_FILE: storeKeyFile,
    }),
  };
  const operations = operationsIn(options);
  if (output.json) return output.value({ served: variants, environment, keys, operations });
  output.lines(...exportLines(environment));
  for (const { tenant, clientId, type, privateKeyFile } of keys)
    if (privateKeyFile !== keyFile)
      output.note(`The key of ${clientId} (${type}, tenant ${tenant}): ${privateKeyFile}`);
  if (operations.length > 0)
    output.note("Operations of the documents, and the scope that they name:");
  for (const { variant, operationId, method, path, scope = "" } of operations)
    output.note(`  ${variant}  ${operationId}  ${method} ${path}  ${scope}`.trimEnd());
  for (const tenant of new Set(operators.map(({ tenantId }) => tenantId)))
    output.note(`The host application: ${emulator.publicUrl}/host/${tenant}`);
  if (admin !== false) output.note(`The page to watch and control it: ${emulator.url}/_emulator`);
}

/** Writes or replaces a file with mode 0600, and resolves with its path. */
async function writePrivate(folder: string, name: string, content: string) {
  const path = join(folder, name);
  // Written under another name first, because another process may be reading the file.
  await writeFile(`${path}.new`, content, { mode: 0o600 });
  await rename(`${path}.new`, path);
  return path;
}

/**
 * Each call of the result prints the new requests and their refusals. Without `--json` they go to
 * stderr.
 */
function trafficPrinter({ journal, customerLog }: Emulator, output: Output): () => void {
  let last: JournalEntry | undefined;
  const print = (value: object, line: string) =>
    output.json ? output.value(value) : output.say(line);
  return () => {
    const all = journal.entries();
    // After a reset the last entry is not there, so that all of them are new.
    const added = last === undefined ? all : all.slice(all.lastIndexOf(last) + 1);
    last = all.at(-1) ?? last;
    for (const request of added) {
      print({ request }, requestLine(request, output.paintNote));
      for (const refusal of customerLog.entries({ requestId: request.id }))
        print({ refusal }, refusalLine(refusal));
    }
  };
}

function requestLine(
  { at, method, path, status, variant, operation, detectionProbe }: JournalEntry,
  paint: Paint,
): string {
  const route = variant === undefined ? "" : `  ${variant} ${operation ?? ""}`.trimEnd();
  const what = detectionProbe ? `${route}  detection probe` : route;
  const time = new Date(at).toISOString().slice(11, 19);
  return (
    `${paint("dim", time)} ${method} ${path} ` +
    `${paint(status < 400 ? "green" : "yellow", String(status))}${what}`
  );
}

function refusalLine({ rule, section, expected, actual, remedy }: CustomerLogEntry): string {
  return `  ${rule} (section ${section}): expected ${expected}, got ${actual}. ${remedy}`;
}
