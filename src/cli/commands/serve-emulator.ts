/** Runs an emulated deployment until it is stopped, with variables on stdout and requests on stderr. */
import { randomBytes } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import {
  type CustomerLogEntry,
  createEmulator,
  type Emulator,
  type EmulatorOptions,
  type JournalEntry,
} from "../../emulator/index.js";
import type { Output, Paint } from "../output.js";
import { exportLines } from "../settings.js";

export interface ServeSettings {
  readonly port: number;
  readonly host: string;
  /** Called at the start, and whenever the watched file changes. */
  readonly readOptions: () => EmulatorOptions;
  /** The seed file, if it is watched. */
  readonly watched: string | undefined;
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
  // Signals are handled before there is anything to clean up, so that none ends the process without it.
  for (const name of ["SIGTERM", "SIGHUP"]) process.on(name, stop);
  interruption.addEventListener("abort", stop);
  if (interruption.aborted) stop();
  let folder: string | undefined;
  let close = async () => {};
  let watching: Promise<void> | undefined;
  try {
    // The state is taken before the file is read, so that a change in between is noticed.
    const before = watched === undefined ? "" : stateOfFile(watched);
    const options = readOptions();
    const emulator = createEmulator(options);
    ({ close } = await emulator.listen({ port, host }));
    // The mode of this folder is 0700.
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
    // The secrets are deleted first, because a second Ctrl-C does not wait for requests in progress.
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    await close();
    for (const name of ["SIGTERM", "SIGHUP"]) process.off(name, stop);
    interruption.removeEventListener("abort", stop);
  }
}

/** The file must stay the same for this time, because an editor may save it in several steps. */
const watchEveryMs = 100;

/**
 * Calls `changed` once for each burst of changes since `before`, one call at a time. It checks the path,
 * to notice a rename or a change behind a link too. Resolves when the signal aborted and the last call ended.
 */
async function watchFile(
  file: string,
  before: string,
  changed: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let reported = before;
  let seen = before;
  while (!signal.aborted) {
    await wait(watchEveryMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    const now = stateOfFile(file);
    if (now === seen && now !== reported) {
      reported = now;
      await changed();
    }
    seen = now;
  }
}

/** Identifies the content of a file. It omits ctime, which changes with the mode and the links too. */
function stateOfFile(file: string): string {
  try {
    const { dev, ino, size, mtimeNs } = statSync(file, { bigint: true });
    return [dev, ino, size, mtimeNs].join(" ");
  } catch {
    // The next attempt to read the file reports the reason.
    return "absent";
  }
}

/** Resets the emulator to what the seed file now says. If the file has an error, nothing changes. */
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
      output.note(`Not read again, the old state stays:\n${(error as Error).message}`);
      return;
    }
    const problem = await announce(emulator, options, folder, output).catch((error: Error) => error);
    output.note(`Read ${watched} again. Everything else starts anew.`);
    if (problem) output.note(`Its files cannot be written:\n${problem.message}`);
    // Clients depend on these, so a running emulator does not change them.
    const lasting = (["publicUrl", "randomSeed"] as const).filter((name) => options[name] !== first[name]);
    if (lasting.length > 0) output.note(`These change only with a restart: ${lasting.join(", ")}.`);
  };
}

/** Prints the address and the credentials. The variables are for the first registration of each kind. */
async function announce(
  emulator: Emulator,
  options: EmulatorOptions,
  folder: string,
  output: Output,
): Promise<void> {
  const { variants = ["A", "B"], seed = {}, admin } = options;
  const { plugins = [], operators = [] } = variants.includes("A") ? seed : {};
  const { serviceAccounts: [account] = [], apiClients: [client] = [] } = variants.includes("B") ? seed : {};
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
  const tenant = (plugin ?? account ?? client ?? seed.operators?.[0])?.tenantId;
  const environment: Record<string, string> = { BIVARIANT_BASE_URL: emulator.publicUrl };
  if (tenant !== undefined) environment.BIVARIANT_TENANT = tenant;
  if (plugin !== undefined) environment.BIVARIANT_A_CLIENT_ID = plugin.clientId;
  if (keyFile !== undefined) environment.BIVARIANT_A_PRIVATE_KEY_FILE = keyFile;
  if (account !== undefined) {
    const { clientId, clientSecret } = account;
    environment.BIVARIANT_B_CLIENT_ID = clientId;
    environment.BIVARIANT_B_CLIENT_SECRET_FILE = await writePrivate(folder, "client-secret", clientSecret);
  }
  if (client !== undefined) {
    const { clientId, clientSecret } = client;
    environment.BIVARIANT_B_LOGIN_CLIENT_ID = clientId;
    if (clientSecret !== undefined) {
      const file = await writePrivate(folder, "login-client-secret", clientSecret);
      environment.BIVARIANT_B_LOGIN_CLIENT_SECRET_FILE = file;
    }
    // The description does not give this path, so the emulator has one of its own.
    environment.BIVARIANT_B_AUTHORIZATION_ENDPOINT = `${emulator.publicUrl}/v1/auth/authorize`;
    // These logins end with the emulator, so they are kept apart from the user's own.
    environment.BIVARIANT_STORE_FILE = join(folder, "logins.json");
    const storeKeyFile = join(folder, "store-key");
    // When the seed file is read again, the key stays, because the stored logins need it.
    if (!existsSync(storeKeyFile))
      await writePrivate(folder, "store-key", randomBytes(32).toString("base64"));
    environment.BIVARIANT_STORE_KEY_FILE = storeKeyFile;
  }
  if (output.json) return output.valueLine({ served: variants, environment, keys });
  output.lines(exportLines(environment));
  for (const { tenant, clientId, type, privateKeyFile } of keys)
    if (privateKeyFile !== keyFile)
      output.note(`The key of ${clientId} (${type}, tenant ${tenant}): ${privateKeyFile}`);
  for (const tenant of new Set(operators.map(({ tenantId }) => tenantId)))
    output.note(`The host application: ${emulator.publicUrl}/host/${tenant}`);
  if (admin !== false) output.note(`The page to watch and control it: ${emulator.url}/_emulator`);
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

/** Prints requests and refusals until the signal aborts. Without `--json` they go to stderr. */
async function printTraffic(emulator: Emulator, output: Output, signal: AbortSignal): Promise<void> {
  const { journal, customerLog } = emulator;
  const newRequests = newEntries(() => journal.entries());
  const newRefusals = newEntries(() => customerLog.entries());
  while (!signal.aborted) {
    await wait(lookEveryMs, undefined, { signal }).catch(() => {});
    // The sort is stable, so a request comes before its refusal even if both have the same time.
    const seen = [
      ...newRequests().map((request) => ({ at: request.at, request })),
      ...newRefusals().map((refusal) => ({ at: refusal.at, refusal })),
    ].sort((one, other) => one.at - other.at);
    for (const { at: _, ...entry } of seen)
      if (output.json) output.valueLine(entry);
      else if ("request" in entry) output.raw(requestLine(entry.request, output.paintNote));
      else output.raw(refusalLine(entry.refusal));
  }
}

/** Each call returns the entries added since the call before; after a reset it returns all of them. */
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
