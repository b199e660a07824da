/** A call's body in the one media type that its operation takes. */
import { ConfigurationError } from "../errors.js";

/**
 * Serialises a body. What is bytes, text or a form already goes as it is, unless JSON is asked for.
 *
 * @throws ConfigurationError `option_invalid`
 */
export function requestBody(body: unknown, contentType: string | undefined): BodyInit | undefined {
  if (body === undefined) return undefined;
  const type = contentType ?? "application/json";
  if (type === "application/x-www-form-urlencoded") {
    if (body instanceof URLSearchParams || typeof body === "string") return body.toString();
    return new URLSearchParams(formFields(body)).toString();
  }
  if (/^application\/(?:[\w.-]+\+)?json$/.test(type)) return jsonOf(body);
  return body as BodyInit;
}

/** One entry per field and value; fields without a value are left out. */
function formFields(body: unknown): [string, string][] {
  if (typeof body !== "object" || body === null)
    throw new ConfigurationError("option_invalid", "body is no object, but the operation takes a form.", {
      option: "body",
    });
  return Object.entries(body).flatMap(([name, value]: [string, unknown]) => {
    const values = Array.isArray(value) ? value : [value];
    return values
      .filter((one) => one !== undefined && one !== null)
      .map((one): [string, string] => [name, typeof one === "object" ? jsonOf(one) : String(one)]);
  });
}

function jsonOf(body: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(body);
  } catch {
    // The engine's message may quote the body.
  }
  if (text !== undefined) return text;
  throw new ConfigurationError(
    "option_invalid",
    "body cannot be written as JSON: it is a function, holds a bigint or itself, or its toJSON fails.",
    { option: "body" },
  );
}
