/** `bivariant emulate`: an emulated deployment on this machine. */
import { createHash, randomBytes } from "node:crypto";
import { type Command, Option } from "commander";
import {
  type EmulatorOptions,
  type EmulatorSeed,
  options,
  readSeedFile,
  rules,
} from "../../emulator/index.js";
import { collect, invalidFlag, wholeNumber } from "../arguments.js";
import type { Paint } from "../output.js";
import type { Context } from "../run.js";
import { serve } from "./serve-emulator.js";

type TextFlag = "publicUrl" | "seedFile" | "tenant" | "aClientId" | "bClientId" | "pageUrl";

interface EmulateFlags extends Readonly<Partial<Record<TextFlag, string>>> {
  readonly variant?: "A" | "B" | "both";
  readonly port: number;
  readonly host: string;
  readonly watch?: true;
  readonly randomSeed?: number;
  readonly scope?: readonly string[];
  readonly rules?: true;
}

export function defineEmulate(command: Command, { output, signal }: Context): void {
  const port = wholeNumber(0, 65_535, "a port number");
  const number = wholeNumber(0, 999_999_999, "a whole number");
  const seedFile = new Option("--seed-file <path>", "YAML or JSON file with the registrations and options");
  command
    .addOption(new Option("--variant <A|B|both>", "what to serve (default both)").choices(["A", "B", "both"]))
    .option("--port <number>", "port to listen on (default: a free one)", port, 0)
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--public-url <url>", "base URL that clients use, if it differs (behind a proxy, with a prefix)")
    // These flags conflict with a seed file, because both say what is registered.
    .addOption(seedFile.conflicts(["tenant", "aClientId", "bClientId", "scope", "pageUrl"]))
    .option("--watch", "read the seed file again whenever it changes")
    .option(
      "--random-seed <number>",
      "generate ids, keys, codes and tokens that are the same in every run",
      number,
    )
    .option("--tenant <id>", "tenant of all registrations (default acme)")
    .option("--a-client-id <id>", "client id of the service plugin (default emulated-plugin)")
    .option("--b-client-id <id>", "client id of the service account (default emulated-account)")
    .option(
      "--scope <scope>",
      "scope of the plugins and of the operator; may be repeated (default devices:read)",
      collect,
    )
    .option(
      "--page-url <url>",
      "also register a user-interface plugin with this page, to launch from the host page",
    )
    .option("--rules", "print the enforced rules and the options instead of serving")
    .action(async (flags: EmulateFlags) => {
      if (flags.rules)
        return output.json ? output.value({ rules, options }) : output.lines(ruleLines(output.paint));
      const { port, host, seedFile, watch } = flags;
      if (watch && seedFile === undefined)
        throw invalidFlag("--watch", "needs the file to watch: pass --seed-file too.");
      const seed = seedFile === undefined ? defaultSeed(flags) : undefined;
      const readOptions = () => emulatorOptions(flags, seed);
      await serve({ port, host, readOptions, watched: watch && seedFile }, output, signal);
    })
    .addHelpText(
      "after",
      `
stdout holds the variables that point bivariant at it; stderr shows each request, and the real reason of each refusal. Keys
and secrets are made for this run, in a private temporary folder that is deleted at the end.

Without a seed file these are registered: emulated-plugin and emulated-account (for call and token), emulated-client and
the operator ada (for login and the host page). A seed file holds plugins, serviceAccounts, apiClients, operators, clock,
faults and options, each as createEmulator takes them. The variables are those of the first registration of each kind.

Examples, in two terminals:
  $ bivariant emulate --variant B --port 8080
  $ export BIVARIANT_...            the printed lines
  $ bivariant call listDevices
  $ bivariant login                 as ada

With --json every line on stdout is a JSON object: { "served", "environment", "keys" } at the start and whenever the seed
file was read, otherwise { "request" } or { "refusal" }. Exits 0 when it is stopped, 2 if it cannot listen or the seed
file is wrong.`,
    );
}

/** @throws EmulatorError `seed_invalid` */
function emulatorOptions(flags: EmulateFlags, seed: EmulatorSeed | undefined): EmulatorOptions {
  const { variant, publicUrl, randomSeed, seedFile } = flags;
  const variants = variant === "both" ? (["A", "B"] as const) : variant && [variant];
  return {
    ...(seedFile === undefined ? seed && { seed } : readSeedFile(seedFile)),
    ...(variants && { variants }),
    ...(publicUrl !== undefined && { publicUrl }),
    ...(randomSeed !== undefined && { randomSeed }),
  };
}

/** Makes one registration of each kind. */
function defaultSeed(flags: EmulateFlags): EmulatorSeed {
  const { tenant: tenantId = "acme", scope: scopes = ["devices:read"], pageUrl, randomSeed } = flags;
  const { aClientId = "emulated-plugin", bClientId = "emulated-account" } = flags;
  const page = { clientId: "emulated-page", tenantId, type: "user_interface", scopes, pageUrl } as const;
  const secret =
    randomSeed === undefined
      ? randomBytes(32)
      : createHash("sha256").update(`client secret ${randomSeed}`).digest();
  return {
    plugins: [
      { clientId: aClientId, tenantId, type: "service", scopes },
      ...(pageUrl === undefined ? [] : [page]),
    ],
    serviceAccounts: [{ clientId: bClientId, clientSecret: secret.toString("base64url"), tenantId }],
    apiClients: [{ clientId: "emulated-client", redirectUris: ["http://127.0.0.1/callback"], tenantId }],
    operators: [{ tenantId, userId: "ada", firstname: "Ada", lastname: "Lovelace", capabilities: scopes }],
  };
}

function ruleLines(paint: Paint): string[] {
  return [
    "Rules:",
    "",
    ...Object.entries(rules).flatMap(([id, { section, says, answer, remedy, off }]) => [
      `${paint("bold", id)} (section ${section}) answers ${answer.status}${answer.error === undefined ? "" : ` ${answer.error}`}`,
      `  ${says}`,
      `  ${paint("dim", remedy)}`,
      ...(off === undefined ? [] : [`  ${paint("dim", `Off: ${off}`)}`]),
    ]),
    "",
    "Options, each for something that the description leaves open:",
    "",
    ...Object.entries(options).flatMap(([id, { section, says, default: value }]) => [
      `${paint("bold", id)} (section ${section}) is ${JSON.stringify(value)}`,
      `  ${says}`,
    ]),
  ];
}
