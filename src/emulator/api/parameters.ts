// Reads parameters as OpenAPI 3.1.1 writes them (Parameter Object, "Style Examples"), from what was
// sent.
import type { Finding } from "../rules/checks.js";
import { Described, Malformed, parseJsonText, type Schemas } from "./schemas.js";

/** How a parameter is written; what is not named is the default of its place. */
export interface ParameterForm {
  readonly in: "path" | "query" | "header" | "cookie";
  readonly name: string;
  readonly style?: string;
  readonly explode?: boolean;
  /** The media type of `content`. */
  readonly content?: string;
}

/** A parameter as the module emulation.ts describes it. */
export interface DocumentedParameter extends ParameterForm {
  readonly required?: true;
  readonly allowEmptyValue?: true;
  readonly schema?: unknown;
}

/** Names and values in the order of a request, both as they were sent. */
export type Pairs = readonly (readonly [name: string, value: string])[];

/** What a request carries outside of its body. */
export interface SentParameters {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Pairs;
  readonly headers: Headers;
  readonly cookies: Pairs;
}

export function sentParameters(
  path: Readonly<Record<string, string>>,
  request: Request,
): SentParameters {
  const { headers, url } = request;
  const cookies = (headers.get("cookie") ?? "").split(";").map((pair) => pair.trim());
  return {
    path,
    query: pairsOf(new URL(url).search.slice(1)),
    headers,
    cookies: cookies.flatMap(pairsOf1),
  };
}

/** The pairs of a query or a form. */
export function pairsOf(text: string): Pairs {
  return text.split("&").flatMap(pairsOf1);
}

function pairsOf1(text: string): [string, string][] {
  const at = text.indexOf("=");
  if (text === "") return [];
  return at === -1 ? [[text, ""]] : [[text.slice(0, at), text.slice(at + 1)]];
}

type Decode = (text: string) => string;

/** @throws Malformed */
function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Malformed("malformed percent-encoding");
  }
}
/** In a query and in a form a plus sign is a space too, as browsers write it. */
export const queryDecoded: Decode = (text) => percentDecoded(text.replaceAll("+", " "));
const DECODERS: Readonly<Record<ParameterForm["in"], Decode>> = {
  path: percentDecoded,
  query: queryDecoded,
  header: (text) => text,
  cookie: percentDecoded,
};

/** What was read: no value if the parameter is absent. */
type Reading = { readonly value?: unknown } | { readonly finding: Finding };

/** Reads a documented parameter, with the documented types, and checks it. */
export function readParameter(
  parameter: DocumentedParameter,
  sent: SentParameters,
  names: readonly string[],
  schemas: Schemas,
): Reading {
  const { in: place, name, content, required, schema } = parameter;
  const shownName = `${place} ${name}`;
  try {
    const described = new Described(schemas, [schema]);
    const pairs = sentOf(parameter, sent);
    const values =
      content === undefined
        ? readValues(parameter, pairs, described, names)
        : readContent(parameter, content, pairs, described);
    const [first] = values;
    if (first === undefined)
      return required ? { finding: { expected: shownName, actual: "absent" } } : {};
    if (parameter.allowEmptyValue && first === "") return { value: first };
    const value = described.firstAllowed(values);
    const finding = schemas.check(shownName, schema, value);
    return finding === undefined ? { value } : { finding };
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    const form = content ?? styleOf(parameter);
    return { finding: { expected: `${shownName}, written as ${form}`, actual: error.message } };
  }
}

const USUAL_STYLES = { path: "simple", query: "form", header: "simple", cookie: "form" } as const;

function styleOf({ in: place, style = USUAL_STYLES[place] }: ParameterForm): string {
  return style;
}

/**
 * The pairs among which a parameter is: all of its place, and for one of a path or a header its
 * own.
 */
function sentOf(
  parameter: ParameterForm,
  { path, query, headers, cookies }: SentParameters,
): Pairs {
  const { in: place, name } = parameter;
  if (place === "query") return query;
  if (place === "cookie") return cookies;
  const text = place === "path" ? path[name] : headers.get(name);
  return text === undefined || text === null ? [] : [[name, text]];
}

function readContent(
  { in: place, name }: ParameterForm,
  content: string,
  pairs: Pairs,
  described: Described,
): unknown[] {
  const texts = textsOf(name, pairs);
  const isJson = JSON_TYPE.test(content);
  if (texts.length === 0) return [];
  // What is not JSON stands in a cookie as it is.
  const text = onlyOne(texts);
  const decoded = place === "cookie" && !isJson ? text : DECODERS[place](text);
  return [isJson ? parseJsonText(decoded) : described.valueOf(decoded)];
}

export const JSON_TYPE: RegExp = /^[^/;]+\/(?:[^/;]+\+)?json\s*(?:;|$)/i;

/** The texts with a name. A name that cannot be decoded is not a documented one. */
function textsOf(name: string, pairs: Pairs): string[] {
  return pairs.filter(([key]) => key === name || decodedName(key) === name).map(([, text]) => text);
}

export function decodedName(key: string): string | undefined {
  try {
    return queryDecoded(key);
  } catch {
    return undefined;
  }
}

function onlyOne(texts: readonly string[]): string {
  const [text = ""] = texts;
  if (texts.length > 1) throw new Malformed(`sent ${texts.length} times`);
  return text;
}

/**
 * The values that a parameter of a style may have, those of the documented types first; none if it
 * was not sent. `names` are those of other parameters, which are not members of an exploded object.
 *
 * @throws Malformed if it cannot be read as any of them
 */
export function readValues(
  form: ParameterForm,
  pairs: Pairs,
  described: Described,
  names: readonly string[],
  decode: Decode = DECODERS[form.in],
): unknown[] {
  if (styleOf(form) === "deepObject") return deepValues(form.name, pairs, described, decode);
  const wire = wireOf(form, pairs, decode);
  const { types } = described;
  const isAny = types.size === 0;
  const hasScalar = isAny || [...types].some((type) => type !== "array" && type !== "object");
  const readers = [
    ...(hasScalar ? [() => wire.scalar().map((text) => described.valueOf(text))] : []),
    ...(isAny || types.has("array") ? [() => listsOf(wire.list(), described)] : []),
    ...(isAny || types.has("object") ? [() => wire.object(described, names)] : []),
  ];
  let problem: Malformed | undefined;
  const values = readers.flatMap((read) => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      problem ??= error;
      return [];
    }
  });
  if (values.length === 0 && problem !== undefined) throw problem;
  return values;
}

/** A list whose only text is empty may also be one without items. */
function listsOf(texts: readonly string[] | undefined, { items }: Described): unknown[] {
  if (texts === undefined) return [];
  const list = texts.map((text) => items.valueOf(text));
  return texts.length === 1 && texts[0] === "" ? [list, []] : [list];
}

/**
 * The three things that the text of a style can be; undefined or nothing if the parameter was not
 * sent.
 */
interface Wire {
  scalar(): readonly string[];
  list(): readonly string[] | undefined;
  object(described: Described, names: readonly string[]): unknown[];
}

const DELIMITERS: Readonly<Record<string, RegExp>> = {
  spaceDelimited: /%20|\+| /,
  pipeDelimited: /%7C|\|/i,
};

function wireOf(form: ParameterForm, all: Pairs, decode: Decode): Wire {
  const { name } = form;
  const style = styleOf(form);
  const isExploded = form.explode ?? style === "form";
  const isLabel = style === "label";
  // In these two styles the values stand alone; in all others the name is before each.
  const isNamed = style !== "simple" && !isLabel;
  const delimiter = isLabel && isExploded ? "." : (DELIMITERS[style] ?? ",");
  const membersOf = (flat: readonly string[]) => {
    if (flat.length % 2 === 1) throw new Malformed("a name without a value");
    return flat.flatMap((key, index) =>
      index % 2 === 0 ? [[key, flat[index + 1] ?? ""] as const] : [],
    );
  };
  const objectOf = (pairs: Pairs, described: Described) => {
    const members = new Map<string, unknown>();
    for (const [key, text] of pairs) {
      const decoded = decode(key);
      if (members.has(decoded)) throw new Malformed("a member that is sent twice");
      members.set(decoded, described.member(decoded).valueOf(decode(text)));
    }
    return [Object.fromEntries(members)];
  };
  const pairs = style === "matrix" ? matrixPairs(all) : all;
  const own = isNamed
    ? textsOf(name, pairs)
    : all.map(([, text]) => (isLabel ? afterStart(text, ".", "a dot") : text));
  // Spaces around the commas of a header are not part of the values (RFC 9110 section 5.6.1).
  const parts = () =>
    onlyOne(own)
      .split(delimiter)
      .map((part) => (form.in === "header" ? part.trim() : part));
  // An exploded cookie is written with ampersands, inside what for HTTP is one cookie.
  const isSplit = form.in === "cookie" && isExploded;
  const exploded = isSplit ? pairs.flatMap(([key, text]) => pairsOf(`${key}=${text}`)) : pairs;
  const isSpread = isNamed && isExploded;
  return {
    scalar: () => (own.length === 0 ? [] : [decode(onlyOne(own))]),
    list: () => {
      if (own.length === 0) return undefined;
      return (isSpread ? textsOf(name, exploded) : parts()).map(decode);
    },
    object(described, names) {
      if (isSpread) {
        const documented = new Set(described.names);
        const { isOpen } = described;
        const isMember = (key: string | undefined) =>
          key !== undefined && (documented.has(key) || (isOpen && !names.includes(key)));
        const members = exploded.filter(([key]) => isMember(decodedName(key)));
        return members.length === 0 ? [] : objectOf(members, described);
      }
      if (own.length === 0) return [];
      return objectOf(isExploded ? parts().map(memberText) : membersOf(parts()), described);
    },
  };
}

/** @throws Malformed */
function afterStart(text: string, start: string, what: string): string {
  if (text.startsWith(start)) return text.slice(start.length);
  throw new Malformed(`text that does not start with ${what}`);
}

function memberText(part: string): readonly [string, string] {
  const [pair] = pairsOf1(part);
  if (pair === undefined || !part.includes("=")) throw new Malformed("a name without a value");
  return pair;
}

/** ;color=blue;size=2 */
function matrixPairs(all: Pairs): Pairs {
  const [text = ""] = all.map(([, value]) => value);
  return afterStart(text, ";", "a semicolon").split(";").flatMap(pairsOf1);
}

type Tree = Map<string, Tree | string[]>;

/** Deeper members are not read: no style is defined for them, and one name can be of any depth. */
const DEEPEST_NAME = 10;

/**
 * color[R]=100. Objects and lists in it, which OpenAPI leaves undefined, are read as servers
 * usually do: a[b][c]=1&a[d][]=2.
 */
function deepValues(name: string, all: Pairs, described: Described, decode: Decode): unknown[] {
  const tree: Tree = new Map();
  for (const [key, text] of all) {
    const decoded = decodedName(key);
    if (decoded?.startsWith(`${name}[`) !== true || !decoded.endsWith("]")) continue;
    const keys = decoded.slice(name.length + 1, -1).split("][");
    if (keys.length > DEEPEST_NAME || keys.some((one) => /[[\]]/.test(one))) continue;
    let at = tree;
    for (const one of keys.slice(0, -1)) {
      const next = at.get(one) ?? new Map();
      if (!(next instanceof Map))
        throw new Malformed("a member that is both a value and an object");
      at.set(one, next);
      at = next;
    }
    const last = keys.at(-1) ?? "";
    const texts = at.get(last) ?? [];
    if (texts instanceof Map) throw new Malformed("a member that is both a value and an object");
    texts.push(decode(text));
    at.set(last, texts);
  }
  return tree.size === 0 ? [] : [valueOfTree(tree, described)];
}

function valueOfTree(node: Tree | string[], described: Described): unknown {
  const { items } = described;
  const isList = described.types.has("array");
  const itemsOf = (texts: readonly string[]) => texts.map((text) => items.valueOf(text));
  if (!(node instanceof Map)) return isList ? itemsOf(node) : described.valueOf(onlyOne(node));
  if (isList && [...node.keys()].every((key) => /^\d*$/.test(key))) {
    const values = [...node.values()];
    return values.flatMap((item) =>
      item instanceof Map ? valueOfTree(item, items) : itemsOf(item),
    );
  }
  const members = [...node].map(([key, member]) => [
    key,
    valueOfTree(member, described.member(key)),
  ]);
  return Object.fromEntries(members);
}
