// Reads a seed file, YAML or JSON, and reports each mistake with its line.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";
import type * as Yaml from "yaml";
import type { Document } from "yaml";
import { z } from "zod";
import { routeTable } from "../api/routes.js";
import { EmulatorRules } from "../checks.js";
import { EmulatorError, ISSUE_PATH, isName, parseInput } from "../errors.js";
import { type EmulatorOptions, parseEmulatorOptions, withDefaults } from "../options.js";
import { TestKeys } from "../registrations/keys.js";
import { createDeployment } from "../state.js";
import { applySeed, invalidSeed, issuesOf } from "./seed.js";

const schema = z.looseObject({
  options: z
    .record(z.string(), z.unknown())
    .refine((options) => !("seed" in options), "seed: belongs at the top level of the file")
    .optional(),
});

/**
 * Reads the options of `createEmulator` from a file. All members of the file but `options` become its `seed`.
 *
 * @throws EmulatorError `seed_invalid`: one issue for each mistake, as `file:line: where: what`; no value is quoted.
 *
 * @example
 * // tenant.yaml
 * // options: { variants: [A], tokenLifetimeSeconds: 600 }
 * // plugins:
 * //   - { clientId: reporter, tenantId: acme, type: service, scopes: [devices:read] }
 * const emulator = createEmulator(readSeedFile("tenant.yaml"));
 */
export function readSeedFile(path: string): EmulatorOptions {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new EmulatorError("seed_invalid", `cannot read the seed file ${path}`, { cause });
  }
  return parseSeedFile(text, basename(path));
}

/** Does the same with a string; `name` is the file name for messages. @throws EmulatorError `seed_invalid` */
export function parseSeedFile(text: string, name: string): EmulatorOptions {
  const { LineCounter, parseDocument } = loadYaml();
  const lineCounter = new LineCounter();
  // The parser's own warnings and messages quote the text, which may be a secret. logLevel "silent" would also hide
  // that there is a second document.
  const quiet = { prettyErrors: false, stringKeys: true, logLevel: "error" } as const;
  const document = parseDocument(text, { lineCounter, ...quiet });
  const at = (offset: number) => `${name}:${Math.max(1, lineCounter.linePos(offset).line)}`;
  const faults = [...document.errors, ...document.warnings].map(
    ({ pos, code }) => `${at(pos[0])}: not valid YAML: ${code.toLowerCase().replaceAll("_", " ")}`,
  );
  if (document.contents === null) faults.push(`${name}:1: the file is empty; write {} to register nothing`);
  if (faults.length > 0) throw invalid(faults);
  try {
    return check(document.toJS() ?? {});
  } catch (error) {
    if (!(error instanceof EmulatorError)) throw invalid([`${name}:1: the file cannot be read`]);
    throw invalid(
      error.issues.map((issue) => `${at(offsetOf(document, issue))}: ${withoutUnknownNames(issue)}`),
    );
  }
}

/** @throws EmulatorError with issues that begin with the path of the mistake. */
function check(content: unknown): EmulatorOptions {
  const { options = {}, ...seed } = parseInput(schema, content, "seed_invalid", "seed file");
  const problems = issuesOf("options", () => {
    const settings = withDefaults(parseEmulatorOptions(options));
    new EmulatorRules(settings.rules);
    routeTable(settings);
  });
  // A trial deployment finds every mistake in the registrations. One key for all plugins saves generating many.
  const testKeys = new TestKeys(undefined);
  const jwksFor = () => testKeys.jwksFor({ tenantId: "", clientId: "" });
  const trial = { publicUrl: () => "http://seed.localhost", testKeys: { jwksFor } };
  try {
    // Wrong options do not hide the mistakes in the registrations, which are then checked with the defaults.
    const whole = parseEmulatorOptions({ ...(problems.length === 0 ? options : {}), seed });
    applySeed(createDeployment(withDefaults(whole), trial), seed);
    if (problems.length === 0) return whole;
  } catch (error) {
    if (!(error instanceof EmulatorError)) throw error;
    problems.push(...error.issues);
  }
  throw invalidSeed(problems);
}

/** Returns the offset of the deepest part of an issue's path that the document has. */
function offsetOf(document: Document, issue: string): number {
  const { isNode } = loadYaml();
  const path = ISSUE_PATH.exec(issue)?.[1]?.split(".") ?? [];
  const unknown = /Unrecognized keys?: (?:"([^"]+)"|…)/.exec(issue);
  if (unknown !== null) path.push(unknown[1] ?? "…");
  for (let depth = path.length; depth > 0; depth--) {
    const parents = path.slice(0, depth - 1);
    const name = path[depth - 1] ?? "";
    const node = document.getIn([...parents, name], true) ?? keyIn(document, parents, name);
    if (isNode(node) && node.range) return node.range[0];
  }
  return 0;
}

/** Finds a key, which may lack a value. For "…" it is the first key with a name that issues do not quote. */
function keyIn(document: Document, path: string[], name: string): unknown {
  const { isMap, isScalar } = loadYaml();
  const parent = document.getIn(path, true);
  if (!isMap(parent)) return undefined;
  const isMeant = (key: string) => (name === "…" ? !isName(key) : key === name);
  return parent.items.find(({ key }) => isScalar(key) && isMeant(String(key.value)))?.key;
}

/** A secret in the wrong place may look like a rule. Keys are quoted only if they are plain words: see `isName`. */
function withoutUnknownNames(issue: string): string {
  return issue.replace(/Unrecognized (keys?)/, "unknown $1").replace(/"[^"]*"(?= is not a rule)/, "this");
}

function invalid(issues: string[]): EmulatorError {
  return new EmulatorError("seed_invalid", issues.join("\n"), { issues });
}

/** Loads the parser only with the first seed file, because loading takes 25 ms. */
function loadYaml(): typeof Yaml {
  return createRequire(import.meta.url)("yaml") as typeof Yaml;
}
