// Reads a Content-Type header as far as the token endpoints need it.

/** True for the given type in UTF-8; parameters other than charset are ignored (RFC 9110 section 8.3.1). */
export function isMediaType(header: string | null, expected: string): boolean {
  const [type = "", ...parameters] = (header ?? "").split(";");
  if (type.trim().toLowerCase() !== expected) return false;
  return parameters.every((parameter) => {
    const [name = "", value = ""] = parameter.split("=");
    return name.trim().toLowerCase() !== "charset" || /^"?utf-?8"?$/i.test(value.trim());
  });
}
