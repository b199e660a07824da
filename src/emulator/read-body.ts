// Reads a request body up to a bound, so that no request can make the emulator hold more.

/** Bytes. A token request with an RS256 assertion takes about 1 KiB. */
export const MAXIMUM_BODY_BYTES = 65_536;

/** The body as text; or why there is none. Unreadable: it broke off, or is not UTF-8. */
export async function readBody(
  request: Request,
): Promise<{ text: string } | { fault: "too large" | "unreadable" }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    const reader = request.body?.getReader();
    for (let chunk = await reader?.read(); chunk?.value !== undefined; chunk = await reader?.read()) {
      size += chunk.value.byteLength;
      if (size > MAXIMUM_BODY_BYTES) {
        // Not awaited: a sender that never stops must not delay the answer.
        reader?.cancel().catch(() => {});
        return { fault: "too large" };
      }
      chunks.push(chunk.value);
    }
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks)) };
  } catch {
    return { fault: "unreadable" };
  }
}
