// The documented answers of operations, in the media type that a request accepts.

import { essence, rangesOf } from "../http/messages.js";

/** A row of the module emulation.ts; `body` is absent if the document shows none. */
interface DocumentedAnswer {
  readonly status: number;
  readonly contentType?: string;
  readonly body?: unknown;
  /** The other documented media types. */
  readonly others?: readonly { readonly contentType: string; readonly body: unknown }[];
}

export type Answers = { readonly [V in "A" | "B"]?: Readonly<Record<string, DocumentedAnswer>> };

/** `notShown` is the body if the document shows none. */
export function documentedAnswer(
  answer: DocumentedAnswer,
  notShown: unknown,
  accept: string | null,
): Response {
  const { status } = answer;
  const { contentType, body } = accepted(answer, accept);
  // The constructor of Response refuses a body for these two.
  if (contentType === undefined || status === 204 || status === 205)
    return new Response(null, { status });
  const isJson = JSON_OR_ANY.test(contentType);
  const headers = { "content-type": contentType.includes("*") ? "application/json" : contentType };
  if (isJson) return Response.json(body === undefined ? notShown : body, { status, headers });
  return new Response(typeof body === "string" ? body : "", { status, headers });
}

const JSON_OR_ANY = /\/(?:[\w.+*-]+\+)?json\s*(?:;|$)|\*/i;

/**
 * A value of a consumer's own: bytes, and a text where the document has no JSON, as they are;
 * anything else as JSON.
 */
export function valueAnswer(
  status: number,
  body: unknown,
  documented = "application/json",
): Response {
  if (body instanceof Blob) {
    const type = documented.includes("*") ? "application/octet-stream" : documented;
    return new Response(body, { status, headers: { "content-type": body.type || type } });
  }
  const isDocumented = typeof body === "string" || JSON_OR_ANY.test(documented);
  const contentType = isDocumented ? documented : "application/json";
  return documentedAnswer({ status, contentType, body }, body, null);
}

/**
 * If nothing that is documented is accepted, the first is served, as RFC 9110 section 12.4.1
 * allows.
 */
function accepted(
  { others = [], ...first }: DocumentedAnswer,
  accept: string | null,
): { readonly contentType?: string; readonly body?: unknown } {
  if (accept === null || others.length === 0) return first;
  const weights = new Map(accept.split(",").map(weighted));
  const weightOf = (contentType = "") => {
    const own = rangesOf(contentType).map((range) => weights.get(range));
    return own.find((weight) => weight !== undefined) ?? 0;
  };
  const all = [first, ...others];
  const most = Math.max(...all.map(({ contentType }) => weightOf(contentType)));
  return all.find(({ contentType }) => most > 0 && weightOf(contentType) === most) ?? first;
}

function weighted(range: string): readonly [type: string, weight: number] {
  const [, weight = "1"] = /;\s*q=([\d.]+)/i.exec(range) ?? [];
  return [essence(range), Number(weight)];
}
