// Reads a seed file, YAML or JSON, and says of each mistake in which line it is.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";
import type * as Yaml from "yaml";
import type { Document, ErrorCode } from "yaml";
import { z } from "zod";
import { routeTable } from "../api/route-table.js";
import { createDeployment } from "../create-deployment.js";
import { defaultOptions } from "../default-options.js";
import { EmulatorError } from "../emulator-error.js";
import { type EmulatorOptions, parseEmulatorOptions } from "../emulator-options.js";
import { isNearly } from "../known-members.js";
import { ISSUE_PATH, isName, KNOWN_KEYS, parseInput } from "../parse-input.js";
import { TestKeys } from "../registrations/test-keys.js";
import { RuleSwitches } from "../rule-switches.js";
import { rules } from "../rules.js";

const schema = z.looseObject({
  options: z
    .record(z.string(), z.unknown())
    .refine((options) => !("seed" in options), "seed: belongs beside the options, not into them")
    .optional(),
});

/**
 * The options of `createEmulator` that a file holds: `options` as they are, everything else as `seed`.
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

/** The same of a text; `name` stands in messages. @throws EmulatorError `seed_invalid` */
export function parseSeedFile(text: string, name: string): EmulatorOptions {
  const { LineCounter, parseDocument } = loadYaml();
  const lineCounter = new LineCounter();
  // No warnings: what the parser would warn of, it would quote. "silent" would hide a second document too.
  const document = parseDocument(text, {
    lineCounter,
    prettyErrors: false,
    stringKeys: true,
    logLevel: "error",
  });
  const lineAt = (offset: number) => Math.max(1, lineCounter.linePos(offset).line);
  const faults = [...document.errors, ...document.warnings].map(
    ({ pos, code }) => `${name}:${lineAt(pos[0])}: ${yamlFaults[code]}`,
  );
  // A file that an editor is about to write is empty for a moment.
  if (document.contents === null) faults.push(`${name}:1: it is empty; write {} to register nothing`);
  if (faults.length > 0) throw invalid(faults);
  try {
    return check(document.toJS() ?? {});
  } catch (error) {
    if (!(error instanceof EmulatorError)) throw invalid([`${name}:1: it cannot be read`]);
    const issues = error.issues.map(
      (issue) => `${name}:${lineAt(offsetOf(document, issue))}: ${hideUnknown(issue)}`,
    );
    throw invalid(issues);
  }
}

/** @throws EmulatorError whose issues begin with the path of what is at fault. */
function check(content: unknown): EmulatorOptions {
  const { options = {}, ...seed } = parseInput(schema, content, "seed_invalid", "seed file");
  const settings = within("options", () => parseEmulatorOptions(options));
  const whole = parseEmulatorOptions({ ...settings, seed });
  // Registered once to find every mistake; the one key saves making a new one for each plugin.
  const testKeys = new TestKeys(undefined);
  const jwksFor = () => testKeys.jwksFor({ tenantId: "", clientId: "" });
  const lasting = { publicUrl: () => "http://seed.localhost", testKeys: { jwksFor } };
  const { rules, routes = [], refreshPath = defaultOptions.refreshPath, ...rest } = whole;
  within("options", () => new RuleSwitches(rules));
  within("options", () => routeTable(routes, refreshPath));
  createDeployment(rest, lasting);
  return whole;
}

function within<Value>(member: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof EmulatorError)) throw error;
    throw invalid(
      error.issues.map((issue) => (ISSUE_PATH.test(issue) ? `${member}.${issue}` : `${member}: ${issue}`)),
    );
  }
}

/** Where the deepest part of an issue's path begins that the document has. */
function offsetOf(document: Document, issue: string): number {
  const { isNode } = loadYaml();
  const path = ISSUE_PATH.exec(issue)?.[1]?.split(".") ?? [];
  const unknown = /Unrecognized keys?: (?:"([^"]+)"|(…))/.exec(issue);
  if (unknown !== null) path.push(unknown[1] ?? "…");
  for (let depth = path.length; depth > 0; depth--) {
    const at = path.slice(0, depth);
    // A key may have no value.
    const node = document.getIn(at, true) ?? keyIn(document, at.slice(0, -1), at.at(-1) ?? "");
    if (isNode(node) && node.range) return node.range[0];
  }
  return 0;
}

/** The key itself; for "…" the first one there that is not told. */
function keyIn(document: Document, path: string[], name: string): unknown {
  const { isMap, isScalar } = loadYaml();
  const parent = document.getIn(path, true);
  if (!isMap(parent)) return undefined;
  const isMeant = (key: string) => (name === "…" ? !isName(key) : key === name);
  return parent.items.find(({ key }) => isScalar(key) && isMeant(String(key.value)))?.key;
}

function invalid(issues: string[]): EmulatorError {
  return new EmulatorError("seed_invalid", issues.join("\n"), { issues });
}

const UNKNOWN_KEYS = /(?<=Unrecognized keys?: ).*(?=; known are )/;
const NO_RULE = /"([^"]*)"(?= is no rule)/;
const ruleIds = Object.keys(rules);

/** The issue without such a name: its line says where it is, and what is known instead is told. */
export function hideUnknown(issue: string): string {
  const known = issue.split(KNOWN_KEYS)[1]?.split(", ") ?? [];
  return issue
    .replace(UNKNOWN_KEYS, (keys) =>
      keys.replace(/"([^"]*)"/g, (told, key: string) => (isNearly(key, known) ? told : "…")),
    )
    .replace(NO_RULE, (told, name: string) => (isRulelike(name) ? told : "what is there"));
}

/** Of a known group, as assertion.colour, or nearly a rule's id. */
function isRulelike(name: string): boolean {
  const groups = new Set(ruleIds.map((id) => id.slice(0, id.indexOf(".") + 1)));
  return isNearly(name, ruleIds) || [...groups].some((group) => name.startsWith(group));
}

/** At once, for seed files are read at once: `import()` could not. Node keeps what it has loaded. */
export function loadYaml(): typeof Yaml {
  return createRequire(import.meta.url)("yaml") as typeof Yaml;
}

export const yamlFaults: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: "an alias has an anchor or a tag",
  BAD_ALIAS: "an alias or anchor is not right, or names nothing",
  BAD_COLLECTION_TYPE: "a tag does not fit what it stands before",
  BAD_DIRECTIVE: "a directive is not right",
  BAD_DQ_ESCAPE: "an escape sequence in double quotes is not right",
  BAD_INDENT: "the indentation is not right",
  BAD_PROP_ORDER: "an anchor or tag stands where it cannot",
  BAD_SCALAR_START: "a value begins with a character that needs quotes around it",
  BLOCK_AS_IMPLICIT_KEY: "a key is followed by another on its line, or by a list",
  BLOCK_IN_FLOW: "a block stands inside brackets or braces",
  DUPLICATE_KEY: "keys must be unique",
  IMPOSSIBLE: "it cannot be read here",
  KEY_OVER_1024_CHARS: "a key is too long",
  MISSING_CHAR:
    "a character is missing: a closing quote or bracket, a comma, a colon, or the space after one",
  MULTILINE_IMPLICIT_KEY: "a key is longer than its line, or its quote or bracket is not closed",
  MULTIPLE_ANCHORS: "a value has more than one anchor",
  MULTIPLE_DOCS: "the file holds more than one document",
  MULTIPLE_TAGS: "a value has more than one tag",
  NON_STRING_KEY: "a key must be a string: braces around a key make it none",
  RESOURCE_EXHAUSTION: "it is nested too deeply",
  TAB_AS_INDENT: "a tab is no indentation",
  TAG_RESOLVE_FAILED: "a tag is unknown, or the value is not what it says",
  UNEXPECTED_TOKEN: "something stands where it cannot, for instance after | or >, or a bracket too many",
};
