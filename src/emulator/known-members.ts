// The members that a schema takes at a place, and whether a name is nearly one of them: what is told of an unknown one.
import type { z } from "zod";

/** None where it takes any, or where no object stands. */
export function knownMembers(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  return [...new Set(objectsAt(schema, path).flatMap((shape) => Object.keys(shape)))];
}

type Shape = Readonly<Record<string, z.core.$ZodType>>;

/** The shapes of every object that may stand there; more than one where the schema has alternatives. */
function objectsAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): Shape[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const [member, ...rest] = path;
  switch (def.type) {
    case "object": {
      if (member === undefined) return [def.shape];
      const at = def.shape[String(member)];
      return at === undefined ? [] : objectsAt(at, rest);
    }
    case "array":
      return member === undefined ? [] : objectsAt(def.element, rest);
    case "record":
      return member === undefined ? [] : objectsAt(def.valueType, rest);
    case "union":
      return def.options.flatMap((option) => objectsAt(option, path));
    case "pipe":
      return objectsAt(def.in, path);
    case "optional":
    case "nullable":
    case "default":
    case "readonly":
      return objectsAt(def.innerType, path);
    default:
      return [];
  }
}

/** Edits of one letter. */
const MOST_EDITS = 2;
/** Of a name that is a part of a known one. */
const SHORTEST_PART = 4;

/**
 * A slip of the pen, as `scope` for `scopes` or `client_id` for `clientId`: what it tells is what everybody knows. Another
 * name may be a secret that came into a key's place.
 */
export function isNearly(name: string, known: readonly string[]): boolean {
  const written = name.toLowerCase();
  return known.some((one) => {
    const meant = one.toLowerCase();
    if (written.length >= SHORTEST_PART && meant.includes(written)) return true;
    return meant.length > MOST_EDITS * 2 && edits(written, meant) <= MOST_EDITS;
  });
}

/** Levenshtein's distance: insertions, deletions and replacements of one letter. */
function edits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
