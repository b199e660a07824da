// Finds the operation for a method and a path. A parameter may be a part of a segment, as in
// /reports/{id}.json.
import { grouped } from "./messages.js";

/** What a request is matched by. The path may have `{parameters}`. */
export interface Routed {
  readonly method: string;
  readonly path: string;
}

export interface PathParameters {
  /** The decoded parameters of the path. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The parameters of the path as they were sent. */
  readonly encoded: Readonly<Record<string, string>>;
}

interface Found<T> extends PathParameters {
  readonly operation: T;
}

/** A template's parameters, each in braces. */
const PARAMETER = /\{[^{}/]+\}/g;

/**
 * Whether a path can be told from others: not a fragment or a query, which no path holds, nor
 * `{a}{b}` without a literal.
 */
export function canBeRouted(path: string): boolean {
  return (
    /^\/[^?#]*$/.test(path) && !/[{}]/.test(path.replace(PARAMETER, "")) && !path.includes("}{")
  );
}

export class Router<T extends Routed> {
  /**
   * The operations by their number of segments. A segment is the list of its literals, and a
   * parameter stands between every two of them.
   */
  readonly #byDepth: Map<
    number,
    { readonly operation: T; readonly segments: readonly string[][] }[]
  >;

  constructor(operations: readonly T[]) {
    const rows = operations.map((operation) => {
      const segments = operation.path.split("/").map((segment) => segment.split(PARAMETER));
      return [segments.length, { operation, segments }] as const;
    });
    this.#byDepth = grouped(rows);
  }

  /**
   * The operations at a path, in the order in which they were given, with the decoded parameters of
   * the path.
   */
  at(path: string): readonly Found<T>[] {
    const sent = path.split("/");
    return (this.#byDepth.get(sent.length) ?? []).flatMap(({ operation, segments }) => {
      const values: string[] = [];
      if (!segments.every((literals, index) => takeValues(sent[index] ?? "", literals, values)))
        return [];
      const names = operation.path.match(PARAMETER) ?? [];
      const pairs = names.map((braced, index) => [nameIn(braced), values[index] ?? ""] as const);
      const parameters = pairs.map(([name, value]) => [name, decoded(value)]);
      return [
        {
          operation,
          parameters: Object.fromEntries(parameters),
          encoded: Object.fromEntries(pairs),
        },
      ];
    });
  }
}

/** A template may also name the style, as in {;color*}. */
function nameIn(braced: string): string {
  return braced.slice(1, -1).replace(/^[.;]/, "").replace(/\*$/, "");
}

/**
 * Adds the values between the literals, none of them empty, and returns whether the segment has
 * this form.
 */
function takeValues(segment: string, literals: readonly string[], values: string[]): boolean {
  const [first = ""] = literals;
  if (literals.length === 1) return segment === first;
  const last = literals.at(-1) ?? "";
  const end = segment.length - last.length;
  if (!segment.startsWith(first) || !segment.endsWith(last)) return false;
  let at = first.length;
  for (const literal of literals.slice(1, -1)) {
    const next = segment.indexOf(literal, at + 1);
    if (next === -1) return false;
    values.push(segment.slice(at, next));
    at = next + literal.length;
  }
  values.push(segment.slice(at, Math.max(at, end)));
  return end > at;
}

/** A parameter that is not valid UTF-8 stays as it was sent. */
export function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
