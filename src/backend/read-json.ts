/** The JSON body of a request: of the right type, bounded, and of the right shape. */
import type { z } from "zod";
import { Refusal } from "./refusal.js";

/** A code, a verifier and two names take a few hundred bytes. */
const mostBodyBytes = 65_536;

/**
 * A body that is left out is `{}`.
 *
 * @throws Refusal `type_not_supported`, `body_too_large`, `request_invalid`
 */
export async function readJson<S extends z.ZodObject>(request: Request, schema: S): Promise<z.infer<S>> {
  // A form of another site can send text/plain and forms without asking; application/json it cannot.
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") throw new Refusal("type_not_supported");
  const text = await readText(request);
  let body: unknown;
  try {
    body = text === "" ? {} : JSON.parse(text);
  } catch {
    throw new Refusal("request_invalid");
  }
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const fields = Object.keys(schema.shape);
  // By our own names for them: what was sent stays out of the answer.
  const wrong = fields.filter((field) => parsed.error.issues.some(({ path }) => path[0] === field));
  if (wrong.length === 0) throw new Refusal("request_invalid");
  const message = `Missing, or not as documented: ${wrong.join(", ")}. The body holds ${fields.join(", ")}.`;
  throw new Refusal("request_invalid", { message });
}

async function readText(request: Request): Promise<string> {
  if (Number(request.headers.get("content-length") ?? 0) > mostBodyBytes) throw new Refusal("body_too_large");
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let size = 0;
  const { signal } = request;
  let leave = () => {};
  try {
    const reader = request.body?.getReader();
    // A sender that is gone may never end its body: what is being read of it ends here.
    leave = () => reader?.cancel().catch(() => {});
    signal.addEventListener("abort", leave);
    if (signal.aborted) leave();
    for (let chunk = await reader?.read(); chunk?.value !== undefined; chunk = await reader?.read()) {
      size += chunk.value.byteLength;
      if (size > mostBodyBytes) {
        // Not awaited: a sender that never stops must not delay the answer.
        leave();
        throw new Refusal("body_too_large");
      }
      text += decoder.decode(chunk.value, { stream: true });
    }
    if (signal.aborted) throw new Refusal("client_gone");
    return text + decoder.decode();
  } catch (error) {
    // It broke off, was read by somebody else, or is no UTF-8.
    throw error instanceof Refusal ? error : new Refusal("request_invalid");
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
