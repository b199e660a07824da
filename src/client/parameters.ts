/**
 * Writes parameters as OpenAPI 3.1.1 says (Parameter Object, "Style Examples"), and rejects what no
 * request can carry and what a style leaves undefined, before anything is sent.
 */
import type { ParameterEntry } from "../../generated/operations.js";
import { ConfigurationError } from "../errors.js";
import { invalidOption, isPlain, isText, percentEncode } from "../options.js";
import { hasDotSegment, type Target } from "../variants/target.js";
import type { CallParameters, Values } from "./request.js";
import { jsonOf, jsonType, plain } from "./text-and-json.js";

type Place = ParameterEntry["in"];
type Entries = readonly ParameterEntry[] | undefined;

/**
 * Builds the URL of a call with the Auth's `tenantId`. Another one is rejected, because a token is
 * for one tenant.
 */
export function requestUrl(
  template: string,
  { path, query }: CallParameters,
  target: Target,
  entries: Entries,
  querySerializer: (query: Values) => string = (values) =>
    writeAll("query", values, entries).join("&"),
): string {
  // Without it the path would continue the host name, and the bearer would reach another one.
  if (!template.startsWith("/")) throw invalidOption("api", 'must have paths that begin with "/"');
  // A fragment stays with the client (RFC 9110 section 7.1), and a query after it would too.
  const route = template.replace(/#.*/, "");
  const sent = route.replace(braces, (_match, prefix: string, name: string, star: string) => {
    if (name === "tenantId") return percentEncode(tenantIdOf(path, target));
    const style = prefix === "." ? "label" : prefix === ";" ? "matrix" : "simple";
    const entry = entryOf(entries, "path", name) ?? {
      in: "path",
      name,
      style,
      explode: star === "*",
    };
    // Without a value the segment would be empty, which leads to another route.
    const text = writeParameter(entry, path?.[name]) || undefined;
    if (text === undefined)
      throw wrongPath("missing", name, "is missing or empty. Pass it in params.path");
    return text;
  });
  // The check is of the written value, because a list with one entry or a label's dot can also
  // result in "..".
  if (hasDotSegment(sent)) throw wouldFold(template, sent.split("/").findIndex(hasDotSegment));
  const search = query === undefined ? "" : querySerializer(query);
  // A serializer of the caller may return this. The fetch would drop what follows "#", and replace
  // the half pair.
  if (/[#\p{Surrogate}]/u.test(search))
    throw invalidOption("querySerializer", 'must encode "#", and not return half a surrogate pair');
  return target.baseUrl + sent + (search === "" ? "" : (route.includes("?") ? "&" : "?") + search);
}

/** A name in a path. openapi-fetch lets a path say the style and `*` too. */
const braces = /\{([.;]?)([^{}*]+)(\*?)\}/g;

function tenantIdOf(path: Values | undefined, { tenantId }: Target): string {
  const given = path?.tenantId;
  if (given === undefined && tenantId === "") throw wrongPath("missing", "tenantId", "is missing");
  if (given === undefined || given === tenantId) return tenantId;
  const problem = "is not the tenant of the token. Leave it out, or connect to that tenant";
  throw wrongPath("invalid", "tenantId", problem);
}

/**
 * Names the parameter of the first segment that would be folded. A value adds no segment, as its
 * slashes are encoded.
 */
function wouldFold(template: string, index: number): ConfigurationError {
  const segment = template.split("/")[index] ?? "";
  const name = [...segment.matchAll(braces)][0]?.[2] ?? segment;
  const problem =
    'must not result in a path segment "." or "..", encoded or not: ' +
    "proxies fold those, and the bearer would reach another path. Pass an id, not a path";
  return wrongPath("invalid", name, problem);
}

function wrongPath(kind: "missing" | "invalid", name: string, problem: string): ConfigurationError {
  const message = `The path parameter "${name}" ${problem}.`;
  return new ConfigurationError(`path_parameter_${kind}`, message, {
    option: `params.path.${name}`,
  });
}

/**
 * The headers of `params`, written. A value that is null or undefined removes a header, so its name
 * is kept.
 */
export function parameterHeaders(header: Values | undefined, entries: Entries): Values | undefined {
  // Anything but an object is refused later, with the other headers.
  if (typeof header !== "object" || header === null || Symbol.iterator in header) return header;
  const written = Object.entries(header).map(([name, value]) => [
    name,
    writeParameter(entryOf(entries, "header", name) ?? { in: "header", name }, value),
  ]);
  return Object.fromEntries(written);
}

/** The cookies of `params` after those of the header, or undefined if there are none. */
export function cookieHeader(cookie: Values, entries: Entries, own?: string): string | undefined {
  const written = writeAll("cookie", cookie, entries);
  if (written.length === 0) return own;
  if (/[^ -:<-~\x80-\xff]/.test(written.join("")))
    throw invalidOption(
      "params.cookie",
      "holds a character that no cookie has, or a semicolon",
      "Encode it.",
    );
  // A browser leaves out a header that it forbids, and the call would arrive without its parameter.
  if (!new Request("http://localhost", { headers: { cookie: "a=b" } }).headers.has("cookie"))
    throw invalidOption(
      "params.cookie",
      "cannot be sent from a browser",
      "Make the call on a server.",
    );
  return (own === undefined ? written : [own, ...written]).join("; ");
}

/**
 * @throws ConfigurationError `option_invalid` for a parameter that is required and missing; the
 * path is checked above
 */
export function requireParameters(
  operationId: string,
  entries: readonly ParameterEntry[],
  params: CallParameters,
  headers: Readonly<Record<string, string>>,
): void {
  for (const entry of entries) {
    const { in: place, name, required } = entry;
    if (!required) continue;
    const given = new Map(Object.entries(params[place] ?? {}));
    const value = plain(given.get(name));
    // A list or an object without members is not written.
    const isEmpty =
      entry.content === undefined &&
      typeof value === "object" &&
      Object.values(value ?? {}).every((one) => one === undefined || one === null);
    const isThere =
      place === "header"
        ? headers[name.toLowerCase()] !== undefined
        : place === "cookie" &&
          headers.cookie?.split(/; */).some((one) => one.startsWith(`${name}=`));
    if (!isThere && (value === undefined || value === null || isEmpty))
      throw invalidOption(optionOf(entry), `is missing, but ${operationId} requires it`);
  }
}

function writeAll(place: Place, values: Values, entries: Entries): string[] {
  const written: string[] = [];
  for (const name of Object.keys(values)) {
    const text = writeParameter(entryOf(entries, place, name) ?? { in: place, name }, values[name]);
    if (text !== undefined) written.push(text);
  }
  return written;
}

function entryOf(entries: Entries = [], place: Place, name: string): ParameterEntry | undefined {
  for (const entry of entries) {
    if (entry.in !== place) continue;
    const isHeader = place === "header" && entry.name.toLowerCase() === name.toLowerCase();
    if (entry.name === name || isHeader) return entry;
  }
  return undefined;
}

const usualStyles = { path: "simple", query: "form", header: "simple", cookie: "form" } as const;
/**
 * What is before the first value, and between values that are exploded. Any other style joins
 * parameters of a query.
 */
const separators: Readonly<Record<string, readonly [first: string, between: string]>> = {
  simple: ["", ","],
  label: [".", "."],
  matrix: [";", ";"],
};
/**
 * What joins the values of a list. A value or a name may not hold it, since a reader could not tell
 * one from the other.
 */
const delimiters: Readonly<Record<string, readonly [encoded: string, held: RegExp]>> = {
  spaceDelimited: ["%20", / /],
  pipeDelimited: ["%7C", /\|/],
};

/**
 * Writes a value as RFC 6570 does, or in a style beyond it. Returns undefined for what RFC 6570
 * calls undefined: no value, and a list or an object without members. Members that are null or
 * undefined are left out. `option` names the value in errors if it is not that of a parameter.
 *
 * @throws ConfigurationError `option_invalid`; in a path `path_parameter_invalid`
 */
export function writeParameter(
  entry: ParameterEntry,
  given: unknown,
  option?: string,
): string | undefined {
  if (given === undefined || given === null) return undefined;
  const { in: place, style = usualStyles[place], content } = entry;
  const isJson = content !== undefined && jsonType.test(content);
  const value = isJson ? jsonText(given, option ?? optionOf(entry), place) : plain(given);
  const isScalar = typeof value !== "object" || value === null;
  // The members of another class, such as a Map, are not what it holds.
  const isObject = isPlain(value);
  const isMany = isObject || Array.isArray(value);
  const isDefined =
    style in delimiters
      ? isMany && entry.explode !== true
      : isObject || (style !== "deepObject" && (isScalar || isMany));
  if (content === undefined ? !isDefined : !isScalar) {
    const problem =
      `cannot be written: the document does not define how ${content ?? style} ` +
      "writes such a value";
    throw refused(entry, problem, option);
  }
  try {
    if (!isScalar) return writeMembers(entry, style, value, option);
    const isRaw = place === "header" || (place === "cookie" && content !== undefined && !isJson);
    const text = textOf(value, entry, option);
    const [first] = separators[style] ?? [""];
    return first + named(keyOf(entry), isRaw ? text : encode(text, entry), style);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    throw refused(entry, "holds half a surrogate pair, which no URL can hold", option);
  }
}

function writeMembers(
  entry: ParameterEntry,
  style: string,
  value: object,
  option: string | undefined,
): string | undefined {
  const { in: place, explode = style === "form" } = entry;
  const isList = Array.isArray(value);
  const isDeep = style === "deepObject";
  const key = keyOf(entry);
  const encodeName = place === "header" ? String : percentEncode;
  const [joint, held] = delimiters[style] ?? [
    ",",
    isDeep ? /[[\]]/ : place === "header" ? /,/ : undefined,
  ];
  const written: string[] = [];
  // Twice as fast as Object.entries.
  for (const of of Object.keys(value)) {
    const member = (value as Values)[of];
    if (member === undefined || member === null) continue;
    const text = textOf(plain(member), entry, option);
    if (held?.test(isDeep ? of : isList ? text : of + text)) {
      const problem = `holds the delimiter of its style, ${style}`;
      throw refused(entry, problem, option);
    }
    const encoded = place === "header" ? text : encode(text, entry);
    if (isDeep) written.push(`${key}%5B${percentEncode(of)}%5D=${encoded}`);
    else if (isList) written.push(explode ? named(key, encoded, style) : encoded);
    else if (explode) written.push(pair(encodeName(of), encoded, style));
    else written.push(encodeName(of), encoded);
  }
  if (written.length === 0) return undefined;
  const [first, between] = separators[style] ?? ["", "&"];
  return isDeep || explode
    ? first + written.join(between)
    : first + named(key, written.join(joint), style);
}

function keyOf({ in: place, name }: ParameterEntry): string {
  return place === "cookie" && cookieName.test(name) ? name : percentEncode(name);
}

function named(key: string, text: string, style: string): string {
  return style === "simple" || style === "label" ? text : pair(key, text, style);
}

/** RFC 6265 section 4.1.1. */
const cookieName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;

function pair(key: string, text: string, style: string): string {
  return style === "matrix" && text === "" ? key : `${key}=${text}`;
}

function textOf(value: unknown, entry: ParameterEntry, option: string | undefined): string {
  if (isText(value)) return String(value);
  // An invalid date is null as JSON.
  if (typeof value === "number" || value === null)
    throw refused(entry, "holds NaN, Infinity or an invalid date", option);
  const { in: place, style = usualStyles[place] } = entry;
  const problem = `must hold text and numbers only: the style ${style} nests no lists or objects`;
  const isQuery = place === "query" && option === undefined;
  throw refused(entry, problem, option, isQuery ? "Pass querySerializer to write it." : undefined);
}

function optionOf({ in: place, name }: ParameterEntry): string {
  return `params.${place}.${name}`;
}

function refused(
  entry: ParameterEntry,
  problem: string,
  option = optionOf(entry),
  remedy?: string,
): ConfigurationError {
  return entry.in === "path"
    ? wrongPath("invalid", entry.name, problem)
    : invalidOption(option, problem, remedy);
}

function jsonText(value: unknown, option: string, place: Place): string {
  const text = jsonOf(value, option);
  // A header carries no characters beyond a byte.
  const escaped = (one: string) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return place === "header" ? text.replace(/[^ -~]/g, escaped) : text;
}

/** `allowReserved` is for queries: in a path it would add segments. */
function encode(text: string, { in: place, allowReserved }: ParameterEntry): string {
  return allowReserved && place !== "path" ? encodeReserved(text) : percentEncode(text);
}

/**
 * Reserved expansion (RFC 6570 section 3.2.3). What ends a query or a value is encoded
 * nevertheless, since the value would not arrive (OpenAPI 3.1.1, appendix C).
 */
function encodeReserved(text: string): string {
  return encodeURI(text)
    .replace(/%25(?=[0-9a-f]{2})/gi, "%")
    .replace(/[#&=+]/g, encodeURIComponent);
}
