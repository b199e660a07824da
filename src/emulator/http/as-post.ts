// Takes a token request of another method for the POST that it should have been, where that rule is off.

/** A GET has no body (RFC 9110 section 9.3.1): its query becomes one. Other methods bring their own. */
export function asPost(request: Request, encoding: "form" | "json"): Request {
  if (request.method !== "GET" && request.method !== "HEAD") return request;
  const url = new URL(request.url);
  const headers = new Headers(request.headers);
  headers.delete("content-length");
  headers.set("content-type", encoding === "form" ? "application/x-www-form-urlencoded" : "application/json");
  const query = url.searchParams;
  const body = encoding === "form" ? String(query) : JSON.stringify(Object.fromEntries(query));
  return new Request(url, { method: "POST", headers, body });
}
