/**
 * Variant B's two differences from RFC 6749 undone, and nothing else: the JSON body becomes a form, and the exchange of
 * a code, which names no grant_type (section 4.2), gets the standard's.
 */
import type { RequestListener } from "node:http";
import { text } from "node:stream/consumers";

/** Which fields of an answer reach the client; all when it is absent. */
export interface JsonToFormOptions {
  readonly target: string;
  readonly seen: { contentType: string | undefined; fields: unknown }[];
  readonly only?: () => readonly string[] | undefined;
}

/** A front that posts the fields it got as JSON to `target` as a form, and hands its answer back. */
export function jsonToForm({ target, seen, only }: JsonToFormOptions): RequestListener {
  return async (request, response) => {
    if (request.method !== "POST" || request.url !== "/v1/auth/token") return response.writeHead(404).end();
    const fields = JSON.parse(await text(request)) as Record<string, string>;
    seen.push({ contentType: request.headers["content-type"], fields });
    const form = new URLSearchParams(fields);
    if (form.has("code") && !form.has("grant_type")) form.set("grant_type", "authorization_code");
    const answer = await fetch(target, { method: "POST", body: form });
    const body = (await answer.json()) as Record<string, unknown>;
    const kept = answer.ok ? only?.() : undefined;
    const shown = Object.entries(body).filter(([name]) => kept === undefined || kept.includes(name));
    response
      .writeHead(answer.status, { "content-type": "application/json" })
      .end(JSON.stringify(Object.fromEntries(shown)));
  };
}
