// Reads a request body up to a bound, so that no request can make the emulator hold more.

/** Bytes. A token request with an RS256 assertion takes about 1 KiB. */
export const MAXIMUM_BODY_BYTES = 65_536;

/** Bytes, for a rule that is off: no request can make the emulator hold more. */
const UNRULED_BODY_BYTES = 16 * 1_048_576;

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const anyText = new TextDecoder("utf-8");

/** What of the bounds is not looked at. */
export interface BodyReading {
  readonly isAnySizeRead?: boolean;
  /** What broke off is read as far as it came, what is not UTF-8 with replacement characters. */
  readonly isAnyTextRead?: boolean;
}

/** The body as text; or why there is none. Unreadable: it broke off, or is not UTF-8. */
export type ReadBody = { readonly text: string } | { readonly fault: "too large" | "unreadable" };

export async function readBody(request: Request, reading: BodyReading = {}): Promise<ReadBody> {
  const maximumBytes = reading.isAnySizeRead ? UNRULED_BODY_BYTES : MAXIMUM_BODY_BYTES;
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
    return decodeBody(chunks, false, reading);
  }
  return decodeBody(chunks, true, reading);
}

/** `isWhole`: nothing broke off. */
function decodeBody(
  chunks: readonly Uint8Array[],
  isWhole: boolean,
  { isAnyTextRead = false }: BodyReading,
): ReadBody {
  if (!isWhole && !isAnyTextRead) return { fault: "unreadable" };
  try {
    const bytes = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
    return { text: (isAnyTextRead ? anyText : strictUtf8).decode(bytes) };
  } catch {
    return { fault: "unreadable" };
  }
}
