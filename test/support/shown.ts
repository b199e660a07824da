// Returns everything that logs, inspections and serialisers show of a value, as one string.
import { inspect } from "node:util";

/** Leaves out the `body` of an ApiError, which is the only field that may echo a secret. */
export function shown(value: unknown, seen: Set<unknown> = new Set()): string {
  if (typeof value !== "object" || value === null) return String(value);
  if (seen.has(value)) return "";
  seen.add(value);
  const parts = [stringOf(value), jsonOf(value), inspectionOf(value)];
  if (value instanceof Error)
    parts.push(value.name, value.message, value.stack ?? "", shown(value.cause, seen));
  for (const key of Reflect.ownKeys(value)) {
    if (key === "body" && value instanceof Error) continue;
    const own = Object.getOwnPropertyDescriptor(value, key);
    parts.push(String(key), own !== undefined && "value" in own ? shown(own.value, seen) : "");
  }
  return parts.join("\n");
}

function inspectionOf(value: object): string {
  if (!("body" in value && value instanceof Error))
    return inspect(value, { showHidden: true, depth: 10 });
  const body = Object.getOwnPropertyDescriptor(value, "body");
  if (body === undefined || body.enumerable) return inspect(value, { showHidden: true, depth: 10 });
  // Without showHidden an inspection must not show the body.
  return inspect(value, { depth: 10 });
}

function jsonOf(value: object): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

function stringOf(value: object): string {
  try {
    return String(value);
  } catch {
    return "";
  }
}
