// Request bodies, media types, and the reading of names and values.

/** A token request with an RS256 assertion takes about 1 KiB. */
export const MAXIMUM_BODY_BYTES = 65_536;

/** RFC 6749 sections 5.1 and 5.2. */
export const NOT_STORED = { "cache-control": "no-store", pragma: "no-cache" } as const;

/** Why there is no body. "unreadable" means that it broke off or is not UTF-8. */
type BodyFault = { readonly fault: "too large" | "unreadable" };

/**
 * Reads up to `MAXIMUM_BODY_BYTES` of text, so that no request can make the emulator store more.
 */
export async function readBody(request: Request): Promise<{ readonly text: string } | BodyFault> {
  const body = await readBytes(request, MAXIMUM_BODY_BYTES);
  try {
    return "fault" in body
      ? body
      : { text: new TextDecoder("utf-8", { fatal: true }).decode(body.bytes) };
  } catch {
    return { fault: "unreadable" };
  }
}

export async function readBytes(
  request: Request,
  most: number,
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer> } | BodyFault> {
  const length = request.headers.get("content-length");
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    // A server ends a body at its content-length. To read it whole costs a fraction of what its
    // stream costs.
    if (length !== null && Number(length) <= most) {
      const bytes = new Uint8Array(await request.arrayBuffer());
      return bytes.byteLength > most ? { fault: "too large" } : { bytes };
    }
    const reader = request.body?.getReader();
    for (
      let chunk = await reader?.read();
      chunk?.value !== undefined;
      chunk = await reader?.read()
    ) {
      size += chunk.value.byteLength;
      if (size > most) {
        // This is not awaited, so that a sender that never stops cannot delay the answer.
        reader?.cancel().catch(() => {});
        return { fault: "too large" };
      }
      chunks.push(chunk.value);
    }
    return { bytes: new Uint8Array(Buffer.concat(chunks)) };
  } catch {
    return { fault: "unreadable" };
  }
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = parseJson(text);
  return isObject(value) ? value : undefined;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member by a name of the caller's, which finds nothing of a prototype. */
export function ownMember<Value>(
  members: Readonly<Record<string, Value>>,
  name: string,
): Value | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}

/** The values of each name, in the order of the names. */
export function grouped<Name, T>(
  pairs: readonly (readonly [name: Name, value: T])[],
): Map<Name, T[]> {
  const values = new Map<Name, T[]>();
  for (const [name, value] of pairs) {
    const own = values.get(name);
    if (own === undefined) values.set(name, [value]);
    else own.push(value);
  }
  return values;
}

/** A media type without its parameters. */
export function essence(mediaType: string): string {
  return (mediaType.split(";", 1)[0] ?? "").trim().toLowerCase();
}

/** The media type and the ranges that it is in, such as image/*, the narrowest first. */
export function rangesOf(mediaType: string): string[] {
  const type = essence(mediaType);
  return [type, `${type.split("/", 1)[0]}/*`, "*/*"];
}

/**
 * Whether the type is the given one, in UTF-8. Other parameters are ignored (RFC 9110 section
 * 8.3.1).
 */
export function isMediaType(header: string | null, expected: string): boolean {
  const [, ...parameters] = (header ?? "").split(";");
  if (essence(header ?? "") !== expected) return false;
  return parameters.every((parameter) => {
    const [name = "", value = ""] = parameter.split("=");
    return name.trim().toLowerCase() !== "charset" || /^"?utf-?8"?$/i.test(value.trim());
  });
}
