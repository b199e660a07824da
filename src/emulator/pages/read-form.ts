// Reads what a form or a script of our own pages sent.
import { isMediaType } from "../http/media-type.js";
import { readBody } from "../http/read-body.js";

/** The fields, or undefined for what no form of ours sends; `isAnyTypeRead` reads whatever comes as a form. */
export async function readForm(
  request: Request,
  isAnyTypeRead = false,
): Promise<URLSearchParams | undefined> {
  const type = request.headers.get("content-type");
  if (!isAnyTypeRead && !isMediaType(type, "application/x-www-form-urlencoded")) return undefined;
  const body = await readBody(request);
  return "text" in body ? new URLSearchParams(body.text) : undefined;
}

/** The object, or undefined for what no script of ours sends; `isAnyTypeRead` reads whatever comes as JSON. */
export async function readJson(
  request: Request,
  isAnyTypeRead = false,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (!isAnyTypeRead && !isMediaType(request.headers.get("content-type"), "application/json")) {
    return undefined;
  }
  const body = await readBody(request);
  try {
    const value: unknown = "text" in body ? JSON.parse(body.text) : undefined;
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
