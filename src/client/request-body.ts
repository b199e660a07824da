/** A call's body in the one media type that its operation takes. */
import { ConfigurationError } from "../errors.js";

/** Serialises a body. What is bytes, text or a form already goes as it is, unless JSON is asked for. */
export function requestBody(body: unknown, contentType: string | undefined): BodyInit | undefined {
  if (body === undefined) return undefined;
  const type = contentType ?? "application/json";
  if (type === "application/x-www-form-urlencoded") {
    if (body instanceof URLSearchParams || typeof body === "string") return body.toString();
    return new URLSearchParams(formFields(body)).toString();
  }
  if (/^application\/(?:[\w.-]+\+)?json$/.test(type)) return JSON.stringify(body);
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
      .map((one): [string, string] => [name, typeof one === "object" ? JSON.stringify(one) : String(one)]);
  });
}
