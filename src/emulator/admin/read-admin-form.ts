// Reads the form that somebody posted at /_emulator, with the file that it may upload.
import { readBody } from "../http/read-body.js";

/** The fields, a file as text; undefined for what is too large, broke off, or is no form. */
export async function readAdminForm(
  request: Request,
  upload: string | undefined,
): Promise<URLSearchParams | undefined> {
  const body = await readBody(request, { isAnySizeRead: upload !== undefined });
  if (!("text" in body)) return undefined;
  if (upload === undefined) return new URLSearchParams(body.text);
  const headers = { "content-type": request.headers.get("content-type") ?? "" };
  const form = await new Response(body.text, { headers }).formData().catch(() => undefined);
  if (form === undefined) return undefined;
  const fields = new URLSearchParams();
  for (const [name, value] of form)
    fields.append(name, typeof value === "string" ? value : await value.text());
  return fields;
}
