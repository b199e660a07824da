// Parses a YAML or JSON file of a user, and reports each mistake in it with its line.
import { createRequire } from "node:module";
import type * as Yaml from "yaml";
import type { Document } from "yaml";
import { isName } from "../../option-names.js";
import { EmulatorError, ISSUE_PATH } from "../errors.js";

/**
 * The keys and names of a thousand plugins take half of it. The parser needs a kilobyte of memory
 * for a nested character.
 */
export const mostCharacters = 1_000_000;
/** The package is recursive, and would end the process at some thousands. */
const mostLevels = 100;
/** Each issue is looked up in the whole document. */
const mostIssues = 100;

/**
 * Returns what `check` makes of the content. `name` is the file name for messages.
 *
 * @throws EmulatorError `seed_invalid`: each issue of the EmulatorError that `check` throws, as
 * `name:line: issue`
 */
export function parseFile<Content>(
  text: string,
  name: string,
  check: (content: unknown) => Content,
): Content {
  if (text.length > mostCharacters)
    throw invalid([
      `${name}:1: the file has more than ${mostCharacters} characters; ` +
        "pass large seeds to createEmulator",
    ]);
  const deepLine = lineOfTooDeep(text);
  if (deepLine !== undefined)
    throw invalid([`${name}:${deepLine}: more than ${mostLevels} levels are nested; write fewer`]);
  const { LineCounter, parseDocument } = loadYaml();
  const lineCounter = new LineCounter();
  // The parser's own warnings and messages quote the text, which may be a secret. logLevel "silent"
  // would also hide that there is a second document.
  const quiet = {
    prettyErrors: false,
    stringKeys: true,
    logLevel: "error",
    uniqueKeys: false,
  } as const;
  const document = parseDocument(text, { lineCounter, ...quiet });
  const at = (offset: number) => `${name}:${Math.max(1, lineCounter.linePos(offset).line)}`;
  const faults = [...document.errors, ...document.warnings].map(
    ({ pos, code }) => `${at(pos[0])}: not valid YAML: ${code.toLowerCase().replaceAll("_", " ")}`,
  );
  if (document.contents === null)
    faults.push(`${name}:1: the file is empty; write {} to register nothing`);
  else if (faults.length === 0)
    faults.push(
      ...equalKeys(document).map((offset) => `${at(offset)}: not valid YAML: duplicate key`),
    );
  if (faults.length > 0) throw invalid(faults);
  try {
    return check(document.toJS());
  } catch (error) {
    if (!(error instanceof EmulatorError)) throw invalid([`${name}:1: the file cannot be read`]);
    const issues = error.issues.slice(0, mostIssues).map((issue) => {
      return `${at(offsetOf(document, issue))}: ${withoutUnknownNames(issue)}`;
    });
    const more = error.issues.length - issues.length;
    throw invalid(more > 0 ? [...issues, `${name}: ${more} more mistakes`] : issues);
  }
}

/** Returns the line at which too many collections are nested. */
function lineOfTooDeep(text: string): number | undefined {
  const { Lexer, Parser } = loadYaml();
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    // The tokens are not used: each document is one, with its collections in the stack until then.
    for (const _ of parser.next(lexeme));
    // The stack also holds the document and a scalar.
    if (parser.stack.length > mostLevels + 2)
      return text.slice(0, parser.offset).split("\n").length;
  }
  return undefined;
}

/**
 * Finds keys that a map has already. The parser's own check compares each key with all before it.
 */
function equalKeys(document: Document): number[] {
  const { isScalar, visit } = loadYaml();
  const found: number[] = [];
  visit(document, {
    Map(_, { items }) {
      const known = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (known.has(key.value)) found.push(key.range?.[0] ?? 0);
        known.add(key.value);
      }
    },
  });
  return found;
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

/**
 * Finds a key, which may lack a value. For "…" it is the first key with a name that issues do not
 * quote.
 */
function keyIn(document: Document, path: string[], name: string): unknown {
  const { isMap, isScalar } = loadYaml();
  const parent = document.getIn(path, true);
  if (!isMap(parent)) return undefined;
  const isMeant = (key: string) => (name === "…" ? !isName(key) : key === name);
  return parent.items.find(({ key }) => isScalar(key) && isMeant(String(key.value)))?.key;
}

/**
 * A secret in the wrong place may look like a rule. Keys are quoted only if they are plain words:
 * see `isName`.
 */
function withoutUnknownNames(issue: string): string {
  return issue
    .replace(/Unrecognized (keys?)/, "unknown $1")
    .replace(/"[^"]*" (is not a rule)/, "this $1");
}

function invalid(issues: string[]): EmulatorError {
  return new EmulatorError("seed_invalid", issues.join("\n"), { issues });
}

/** Loads the parser only with the first seed file, because loading takes 25 ms. */
function loadYaml(): typeof Yaml {
  return createRequire(import.meta.url)("yaml") as typeof Yaml;
}
