// Generates from published documents, compiles the result, and calls every operation through the
// client against the emulator, over HTTP and with strict validation.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createEmulator, type EmulatorOptions } from "../../src/emulator/index.js";
import type { Document } from "../../src/generate/document/document.js";
import { readDocument } from "../../src/generate/document/read-document.js";
import { pointerTo } from "../../src/generate/document/source-file.js";
import { generate } from "../../src/generate/index.js";
import { listOperations, type Operation } from "../../src/generate/operations/list-operations.js";
import { connect, serviceAccount } from "../../src/index.js";
import { type ValidationSchemas, validator } from "../../src/validate.js";
import { KNOWN_REASONS, type PublishedDocument } from "./documents.js";
import { typedCalls } from "./typed-calls.js";

/**
 * An operation that made no round trip, or a document of which nothing is generated or does not
 * compile.
 */
export interface Failure {
  readonly operation?: string;
  /** File, line and column. */
  readonly at: string;
  readonly reason: string;
  /** A mistake of the document, or a limit that is known. */
  readonly known?: string | undefined;
}

export interface DocumentResult {
  readonly document: string;
  /** The version of the package. */
  readonly version: string;
  /** What the document says it is, such as "openapi 3.0.3". */
  readonly format: string;
  readonly operations: number;
  readonly roundTrips: number;
  /**
   * Of the round trips those with a body that is cast, since no value has the documented type and
   * its schema allows it.
   */
  readonly cast: number;
  readonly failures: readonly Failure[];
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export async function roundTrips(
  published: readonly PublishedDocument[],
  progress: (line: string) => void = () => {},
): Promise<readonly DocumentResult[]> {
  // Below node_modules, so that packages resolve and no editor or type check reads it.
  const cache = join(ROOT, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "published-"));
  const step = (what: string, index: number) =>
    progress(`${what} ${index + 1} of ${published.length}: ${published[index]?.name}`);
  try {
    const prepared: Prepared[] = [];
    for (const [index, one] of published.entries()) {
      step("generating", index);
      prepared.push(await prepare(one, join(folder, String(index))));
    }
    progress("compiling");
    const hasCode = prepared.some(({ document }) => document !== undefined);
    const messages = hasCode ? compile(folder) : new Map<number, readonly Message[]>();
    const results: DocumentResult[] = [];
    for (const [index, one] of prepared.entries()) {
      step("calling", index);
      results.push(await resultOf(one, messages.get(index) ?? []));
    }
    return results;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Prepared {
  readonly published: PublishedDocument;
  readonly folder: string;
  /** Why nothing was generated. */
  readonly refusal?: string;
  readonly document?: Document;
  readonly operations: readonly Operation[];
  /** Why an operation cannot be called, by its id. */
  readonly notCalled: ReadonlyMap<string, string>;
  readonly untyped: readonly string[];
}

async function prepare(published: PublishedDocument, folder: string): Promise<Prepared> {
  const { path } = published;
  try {
    await generate({ documents: { B: path }, out: folder });
    const document = await readDocument("B", path);
    const operations = listOperations(document);
    const { module, ...calls } = typedCalls(document, operations);
    writeFileSync(join(folder, "calls.ts"), module);
    for (const file of readdirSync(folder).filter((name) => name.endsWith(".ts"))) {
      const text = readFileSync(join(folder, file), "utf8");
      writeFileSync(join(folder, file), text.replace("// @ts-nocheck\n", ""));
    }
    return { published, folder, document, operations, ...calls };
  } catch (error) {
    return {
      published,
      folder,
      refusal: messageOf(error),
      operations: [],
      notCalled: new Map(),
      untyped: [],
    };
  }
}

interface Message {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** What the compiler says with the options of this repository, by the number of the document. */
function compile(folder: string): ReadonlyMap<number, readonly Message[]> {
  const compilerOptions = { paths: { bivariant: [join(ROOT, "src/index.ts")] }, noEmit: true };
  const config = {
    extends: join(ROOT, "tsconfig.json"),
    compilerOptions,
    include: ["*/*.ts"],
    exclude: [],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const args = [join(ROOT, "node_modules/typescript-7/bin/tsc"), "-p", folder, "--pretty", "false"];
  const options = { cwd: folder, encoding: "utf8", maxBuffer: 2 ** 28 } as const;
  const { stdout, status } = spawnSync(process.execPath, args, options);
  const found = new Map<number, Message[]>();
  // The last line of a message says what is wrong, the first only that no overload fits.
  for (const [, number, file = "", line, first = "", rest = ""] of stdout.matchAll(
    /^(\d+)\/([^(\n]+)\((\d+),\d+\): error (.*)\n((?: .*\n)*)/gm,
  )) {
    const text = rest.trimEnd().split("\n").at(-1)?.trim() || first;
    const all = found.get(Number(number)) ?? [];
    found.set(Number(number), [...all, { file, line: Number(line), text }]);
  }
  if (status !== 0 && found.size === 0) throw new Error(`The compiler failed: ${stdout}`);
  return found;
}

async function resultOf(prepared: Prepared, messages: readonly Message[]): Promise<DocumentResult> {
  const { published, folder, refusal, document, operations, notCalled, untyped } = prepared;
  const { name, path, version } = published;
  const [format = ""] =
    /\b(?:openapi|swagger)["']?\s*:\s*["']?[\d.]+/.exec(readFileSync(path, "utf8")) ?? [];
  const shown = { document: name, version, format: format.replace(/["':]/g, "") };
  const whole: Failure[] = refusal === undefined ? [] : [{ at: name, reason: refusal }];
  const reasons = new Map(notCalled);
  const lines = existingLines(folder, document);
  for (const { file, line, text } of messages) {
    const called =
      file === "calls.ts" ? /^ {4}("(?:[^"\\]|\\.)*"): /.exec(lines[line - 1] ?? "") : undefined;
    const id: unknown = called?.[1] && JSON.parse(called[1]);
    if (typeof id === "string")
      reasons.set(id, `its arguments have not the documented type: ${text}`);
    else whole.push({ at: `${name}, ${file}:${line}`, reason: text });
  }
  if (document !== undefined) {
    try {
      for (const [id, reason] of await callAll(folder, operations))
        if (!reasons.has(id)) reasons.set(id, reason);
    } catch (error) {
      whole.push({ at: name, reason: messageOf(error) });
      for (const { id } of operations) reasons.set(id, "not called");
    }
  }
  const known = KNOWN_REASONS[name] ?? {};
  const failures = operations.flatMap(({ id, method, path: template }): Failure[] => {
    const reason = reasons.get(id);
    if (reason === undefined) return [];
    const pointer = pointerTo("/paths", template, method.toLowerCase());
    const at = document?.positionOf(document.origins.before(pointer));
    return [{ operation: id, at: `${document?.file}:${at}`, reason, known: known[id] }];
  });
  const stale = Object.keys(known).filter(
    (id) => !failures.some(({ operation }) => operation === id),
  );
  for (const id of stale)
    whole.push({ at: name, reason: `${id} is a known failure, but it makes a round trip` });
  const roundTrips = operations.length - failures.length;
  const cast = untyped.filter((id) => failures.every(({ operation }) => operation !== id)).length;
  return {
    ...shown,
    operations: operations.length,
    roundTrips,
    cast,
    failures: [...whole, ...failures],
  };
}

function existingLines(folder: string, document: Document | undefined): readonly string[] {
  return document === undefined ? [] : readFileSync(join(folder, "calls.ts"), "utf8").split("\n");
}

interface Outcome {
  readonly ok: boolean;
  readonly status: number;
  readonly data?: unknown;
  readonly error?: { readonly message: string; readonly body?: unknown };
}
type Calls = Readonly<Record<string, (() => Promise<Outcome>) | undefined>>;

/** Why an operation made no round trip, by its id. */
async function callAll(
  folder: string,
  operations: readonly Operation[],
): Promise<ReadonlyMap<string, string>> {
  const load = <T>(file: string) => import(pathToFileURL(join(folder, file)).href) as Promise<T>;
  const api = await load<NonNullable<EmulatorOptions["api"]>>("operations.ts");
  const schemas = await load<{ schemas: ValidationSchemas }>("schemas.ts");
  const { callsOf } = await load<{ callsOf: (service: unknown) => Calls }>("calls.ts");
  const scopes = [...new Set(operations.flatMap(({ scope }) => scope ?? []))];
  const account = { clientId: "worker", clientSecret: "not a real secret" };
  const seed = { serviceAccounts: [{ ...account, tenantId: "acme", scopes }] };
  const emulator = createEmulator({ variants: ["B"], api, seed });
  const reasons = new Map<string, string>();
  for (const { operationId, reason } of [...emulator.notServed, ...emulator.notSampled])
    reasons.set(operationId, reason);
  const { url, close } = await emulator.listen();
  try {
    const credentials = [serviceAccount(account)];
    const validate = validator("strict", schemas);
    const options = {
      tenantId: "acme",
      variant: "B",
      credentials,
      validate,
      maxRetries: 0,
    } as const;
    const calls = callsOf(await connect({ ...options, baseUrl: url, api: api as never }));
    for (const { id } of operations) {
      const call = calls[id];
      const reason = call && (await reasonOf(call));
      if (reason === undefined || reasons.has(id)) continue;
      const refusal = emulator.customerLog.last({
        requestId: emulator.journal.last({ operation: id })?.id,
      });
      const why = refusal === undefined ? "" : ` (${refusal.expected}: ${refusal.actual})`;
      reasons.set(id, reason + why);
    }
  } finally {
    await close();
  }
  return reasons;
}

/** Calls, and reads the whole answer. */
async function reasonOf(call: () => Promise<Outcome>): Promise<string | undefined> {
  try {
    const { ok, data, status, error } = await call();
    if (!ok) return `${status}: ${JSON.stringify(error?.body) ?? error?.message}`;
    if (Symbol.asyncIterator in Object(data)) for await (const _ of data as AsyncIterable<unknown>);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

function messageOf(error: unknown): string {
  const { code, message } = error as { readonly code?: string; readonly message?: string };
  return `${code ?? "error"}: ${message ?? error}`;
}
