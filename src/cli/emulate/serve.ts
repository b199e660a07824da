/** An emulated deployment from its start to a clean stop: variables on stdout, requests on stderr. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type CustomerLogEntry,
  createEmulator,
  type Emulator,
  type EmulatorOptions,
  type JournalEntry,
} from "../../emulator/index.js";
import type { Output, Paint } from "../output.js";
import { exportLines } from "../settings.js";
import { stateOfFile, watchFile } from "./watch-file.js";

export interface ServeSettings {
  readonly port: number;
  readonly host: string;
  /** Called at the start, and whenever the watched file changes. */
  readonly readOptions: () => EmulatorOptions;
  /** The seed file, if it is watched. */
  readonly watched?: string;
}

/** Resolves after it was asked to stop, when its port is free and its files are deleted. @throws EmulatorError */
export async function serve(
  settings: ServeSettings,
  output: Output,
  interruption: AbortSignal,
): Promise<void> {
  const { port, host, readOptions, watched } = settings;
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  // Before there is anything to clean up, so that no signal ends the process without it.
  for (const name of ["SIGTERM", "SIGHUP"]) process.on(name, stop);
  interruption.addEventListener("abort", stop);
  if (interruption.aborted) stop();
  let folder: string | undefined;
  let close = async () => {};
  let watching: Promise<void> | undefined;
  try {
    // Before the file is read, so that a change in between is seen as a change.
    const before = watched === undefined ? "" : stateOfFile(watched);
    const options = readOptions();
    const emulator = createEmulator(options);
    ({ close } = await emulator.listen({ port, host }));
    // `mkdtemp` gives the folder mode 0700.
    const files = await mkdtemp(join(tmpdir(), "bivariant-"));
    folder = files;
    await announce(emulator, options, files, output);
    const { variants = ["A", "B"] } = options;
    output.note(`Serving Variant ${variants.join(" and Variant ")}.`);
    if (watched !== undefined) {
      output.note(`Watching ${watched}.`);
      const reload = reloader(emulator, settings, options, files, output);
      watching = watchFile(watched, before, reload, stopping.signal);
    }
    output.note("Press Ctrl-C to stop. The files above are then deleted.");
    await printTraffic(emulator, output, stopping.signal);
  } finally {
    stop();
    await watching;
    // The secrets first: a second Ctrl-C does not wait for requests in progress.
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    await close();
    for (const name of ["SIGTERM", "SIGHUP"]) process.off(name, stop);
    interruption.removeEventListener("abort", stop);
  }
}

/** Clients depend on these, so a running emulator does not change them. */
const lasting = ["publicUrl", "randomSeed"] as const;

/** Replaces the state of the emulator by what the seed file now says. An error in the file leaves everything as it is. */
function reloader(
  emulator: Emulator,
  { readOptions, watched }: ServeSettings,
  first: EmulatorOptions,
  folder: string,
  output: Output,
): () => Promise<void> {
  let current = first;
  return async () => {
    let options: EmulatorOptions;
    try {
      options = readOptions();
      // An option that the file no longer names goes back to its default.
      const defaults = Object.fromEntries(Object.keys(current).map((name) => [name, undefined]));
      const { publicUrl: _, randomSeed: __, now: ___, ...changes } = { ...defaults, ...options };
      emulator.reset(changes);
      current = options;
    } catch (error) {
      output.note(`Not read again, the old state stays:\n${messageOf(error)}`);
      return;
    }
    const problem = await announce(emulator, options, folder, output).then(() => undefined, messageOf);
    output.note(`Read ${watched} again. Everything else starts anew.`);
    if (problem !== undefined) output.note(`Its files cannot be written:\n${problem}`);
    const unchanged = lasting.filter((name) => options[name] !== first[name]);
    if (unchanged.length > 0) output.note(`These change only with a restart: ${unchanged.join(", ")}.`);
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The private key of a plugin that was registered without a JWKS. */
interface KeyFile {
  readonly tenant: string;
  readonly clientId: string;
  readonly type: "service" | "user_interface";
  /** Holds a JWK. */
  readonly privateKeyFile: string;
}

/** Prints how clients, this command line and a person reach the emulator. */
async function announce(
  emulator: Emulator,
  options: EmulatorOptions,
  folder: string,
  output: Output,
): Promise<void> {
  const { variants = ["A", "B"], seed = {}, admin } = options;
  const servesA = variants.includes("A");
  const plugins = servesA ? (seed.plugins ?? []) : [];
  const keys = await Promise.all(
    plugins
      .filter(({ jwks }) => jwks === undefined)
      .map(async ({ tenantId, clientId, type }): Promise<KeyFile> => {
        const name = `${encodeURIComponent(tenantId)}.${encodeURIComponent(clientId)}.key.json`;
        const key = JSON.stringify(emulator.testKey({ tenantId, clientId }));
        return { tenant: tenantId, clientId, type, privateKeyFile: await writePrivate(folder, name, key) };
      }),
  );
  const environment = await environmentOf(emulator, options, folder, keys);
  if (output.json) return output.valueLine({ served: variants, environment, keys });
  output.lines(exportLines(environment));
  for (const { tenant, clientId, type, privateKeyFile } of keys)
    if (privateKeyFile !== environment.BIVARIANT_A_PRIVATE_KEY_FILE)
      output.note(`The key of ${clientId} (${type}, tenant ${tenant}): ${privateKeyFile}`);
  const tenants = servesA ? new Set((seed.operators ?? []).map(({ tenantId }) => tenantId)) : [];
  for (const tenant of tenants) output.note(`The host application: ${emulator.publicUrl}/host/${tenant}`);
  if (admin !== false) output.note(`The page to watch and control it: ${emulator.url}/_emulator`);
}

/** The variables for the first registration of each kind. Secrets are written into the folder and named by their files. */
async function environmentOf(
  { publicUrl }: Emulator,
  { variants = ["A", "B"], seed = {} }: EmulatorOptions,
  folder: string,
  keys: readonly KeyFile[],
): Promise<Readonly<Record<string, string>>> {
  const plugin = variants.includes("A") ? seed.plugins?.find(({ type }) => type === "service") : undefined;
  const account = variants.includes("B") ? seed.serviceAccounts?.[0] : undefined;
  const client = variants.includes("B") ? seed.apiClients?.[0] : undefined;
  const tenant = (plugin ?? account ?? client ?? seed.operators?.[0])?.tenantId;
  const environment: Record<string, string> = { BIVARIANT_BASE_URL: publicUrl };
  if (tenant !== undefined) environment.BIVARIANT_TENANT = tenant;
  if (plugin !== undefined) {
    environment.BIVARIANT_A_CLIENT_ID = plugin.clientId;
    const key = keys.find((one) => one.tenant === plugin.tenantId && one.clientId === plugin.clientId);
    if (key !== undefined) environment.BIVARIANT_A_PRIVATE_KEY_FILE = key.privateKeyFile;
  }
  if (account !== undefined) {
    environment.BIVARIANT_B_CLIENT_ID = account.clientId;
    environment.BIVARIANT_B_CLIENT_SECRET_FILE = await writePrivate(
      folder,
      "client-secret",
      account.clientSecret,
    );
  }
  if (client !== undefined) {
    environment.BIVARIANT_B_LOGIN_CLIENT_ID = client.clientId;
    if (client.clientSecret !== undefined)
      environment.BIVARIANT_B_LOGIN_CLIENT_SECRET_FILE = await writePrivate(
        folder,
        "login-client-secret",
        client.clientSecret,
      );
    // The description does not show this path. It is the emulator's.
    environment.BIVARIANT_B_AUTHORIZATION_ENDPOINT = `${publicUrl}/v1/auth/authorize`;
    // Apart from the user's own logins, because these end with the emulator.
    environment.BIVARIANT_STORE_FILE = join(folder, "logins.json");
    const keyFile = join(folder, "store-key");
    // Kept when the seed file is read again, because the stored logins need it.
    if (!existsSync(keyFile)) await writePrivate(folder, "store-key", randomBytes(32).toString("base64"));
    environment.BIVARIANT_STORE_KEY_FILE = keyFile;
  }
  return environment;
}

/** Writes or replaces a file with mode 0600, and resolves with its path. */
async function writePrivate(folder: string, name: string, content: string): Promise<string> {
  const path = join(folder, name);
  // Written under another name first, because another process may be reading the file.
  await writeFile(`${path}.new`, content, { mode: 0o600 });
  await rename(`${path}.new`, path);
  return path;
}

const lookEveryMs = 50;

/**
 * Prints the requests of the journal and the refusals of the customer log until the signal aborts: on stderr, so that
 * stdout holds the variables only; with `--json` as lines of JSON on stdout. Neither holds a secret.
 */
async function printTraffic(
  { journal, customerLog }: Emulator,
  output: Output,
  signal: AbortSignal,
): Promise<void> {
  const newRequests = newEntries(() => journal.entries());
  const newRefusals = newEntries(() => customerLog.entries());
  const print = () => {
    // The sort is stable: of the same instant, the request comes before its refusal.
    const seen = [
      ...newRequests().map((request) => ({ at: request.at, request })),
      ...newRefusals().map((refusal) => ({ at: refusal.at, refusal })),
    ].sort((one, other) => one.at - other.at);
    for (const { at: _, ...entry } of seen) {
      if (output.json) output.valueLine(entry);
      else
        output.raw(
          "request" in entry ? requestLine(entry.request, output.paintNote) : refusalLine(entry.refusal),
        );
    }
  };
  const timer = setInterval(print, lookEveryMs);
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  clearInterval(timer);
  print();
}

/** Returns the entries since the last call; all of them after a reset or when the list was cleared. */
function newEntries<Entry>(entries: () => readonly Entry[]): () => readonly Entry[] {
  let last: Entry | undefined;
  return () => {
    const all = entries();
    const added = last === undefined ? all : all.slice(all.lastIndexOf(last) + 1);
    last = all.at(-1) ?? last;
    return added;
  };
}

function requestLine({ at, method, path, status, variant, operation }: JournalEntry, paint: Paint): string {
  const what = variant === undefined ? "" : `  ${variant} ${operation ?? ""}`.trimEnd();
  const time = new Date(at).toISOString().slice(11, 23);
  return `${paint("dim", time)} ${method} ${path} ${paint(status < 400 ? "green" : "yellow", String(status))}${what}\n`;
}

function refusalLine({ rule, section, expected, actual, remedy }: CustomerLogEntry): string {
  return `  ${rule} (section ${section}): expected ${expected}, got ${actual}. ${remedy}\n`;
}
