/** The answers to a browser that navigates: a redirect, or a page with a sentence where there is nowhere to go. */
import type { ErrorAnswer } from "./error-answer.js";

export function redirect(status: 302 | 303, location: string, cookie?: string): Response {
  const headers = new Headers({ location, "referrer-policy": "no-referrer" });
  if (cookie !== undefined) headers.set("set-cookie", cookie);
  return new Response(null, { status, headers });
}

/** Whether a person will look at the answer. */
export function wantsPage(request: Request): boolean {
  return (request.headers.get("accept") ?? "").toLowerCase().includes("text/html");
}

/** Holds only our own sentences: nothing of the request is in it. */
export function errorPage({ status, code, message, headers }: ErrorAnswer): Response {
  const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The login did not work</title>
<body>
<h1>The login did not work</h1>
<p>${message}</p>
<p><small>${code}</small></p>
</body>
</html>
`;
  return new Response(page, {
    status,
    headers: {
      ...headers,
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
      "referrer-policy": "no-referrer",
    },
  });
}
