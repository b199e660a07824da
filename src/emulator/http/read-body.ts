// Reads a request body up to a bound, so that no request can make the emulator hold more.

/** Bytes. A token request with an RS256 assertion takes about 1 KiB. */
export const MAXIMUM_BODY_BYTES = 65_536;

/** Bytes, for a rule that is off: no request can make the emulator hold more. */
const UNRULED_BODY_BYTES = 16 * 1_048_576;

/** Marks a request whose body cannot be longer than its Content-Length says: Node's parser sees to it. */
export const PARSED_BY_NODE: unique symbol = Symbol("parsed by Node");

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const anyText = new TextDecoder("utf-8");

/** What of the bounds is not looked at. */
export interface BodyReading {
  readonly isAnySizeRead?: boolean;
  /** What broke off is read as far as it came, what is not UTF-8 with replacement characters. */
  readonly isAnyTextRead?: boolean;
}

/** The body as text; or why there is none. Unreadable: it broke off, or is not UTF-8. */
export async function readBody(
  request: Request,
  { isAnySizeRead = false, isAnyTextRead = false }: BodyReading = {},
): Promise<{ text: string } | { fault: "too large" | "unreadable" }> {
  const maximumBytes = isAnySizeRead ? UNRULED_BODY_BYTES : MAXIMUM_BODY_BYTES;
  if (!isAnyTextRead && isKnownToFit(request, maximumBytes)) return readWhole(request);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    const reader = request.body?.getReader();
    for (let chunk = await reader?.read(); chunk?.value !== undefined; chunk = await reader?.read()) {
      size += chunk.value.byteLength;
      if (size > maximumBytes) {
        // Not awaited: a sender that never stops must not delay the answer.
        reader?.cancel().catch(() => {});
        return { fault: "too large" };
      }
      chunks.push(chunk.value);
    }
  } catch {
    if (!isAnyTextRead) return { fault: "unreadable" };
  }
  try {
    const decoder = isAnyTextRead ? anyText : strictUtf8;
    return { text: decoder.decode(Buffer.concat(chunks)) };
  } catch {
    return { fault: "unreadable" };
  }
}

/** In-process anybody can write any Content-Length. */
function isKnownToFit(request: Request, maximumBytes: number): boolean {
  if (!(PARSED_BY_NODE in request)) return false;
  const length = request.headers.get("content-length");
  return length !== null && Number(length) <= maximumBytes;
}

async function readWhole(request: Request): Promise<{ text: string } | { fault: "unreadable" }> {
  try {
    return { text: strictUtf8.decode(await request.arrayBuffer()) };
  } catch {
    return { fault: "unreadable" };
  }
}
