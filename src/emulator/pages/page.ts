// A page that the emulator serves to a browser: its frame, and the reading of its forms.
import { html } from "hono/html";
import { isMediaType, readBody } from "../http/messages.js";
import type { Deployment } from "../state/deployment.js";

/** A path under the base URL, for use in a link. */
export function linkTo({ publicUrl }: Deployment, path: string): string {
  return new URL(publicUrl()).pathname.replace(/\/$/, "") + path;
}

/** The files of all pages, which are served beside the pages at /_emulator. */
export const STYLESHEET_PATH = "/_emulator/style.css";
export const HOST_SCRIPT_PATH = "/_emulator/host.js";

export function textFile(type: string, text: string, headers: object = {}, status = 200): Response {
  const common = { "content-type": `${type}; charset=utf-8`, "cache-control": "no-store" };
  return new Response(text, {
    status,
    headers: { ...common, "x-content-type-options": "nosniff", ...headers },
  });
}

/** The result of hono's `html`, which escapes the values that it inserts. */
export type Markup = ReturnType<typeof html>;

export interface Page {
  readonly title: string;
  /**
   * `card`: a small box in the middle. `app`: the host application. `admin`: a page at /_emulator.
   */
  readonly layout: "card" | "app" | "admin";
  readonly body: Markup;
  readonly status?: number;
  /** The path of the page's only script, under the base URL. */
  readonly script?: string;
  /** Directives of the content security policy in addition to the common ones. */
  readonly policy?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** The session that the page belongs to. Its cookie, if it has one to set, begins it. */
  readonly session?: { readonly setCookie?: string };
}

/**
 * No inline script or style, nothing from another site, and no frame around a page that asks for a
 * password.
 */
const COMMON_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "frame-ancestors 'none'",
];

export async function renderPage(deployment: Deployment, page: Page): Promise<Response> {
  const { title, layout, body, script } = page;
  const markup = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${linkTo(deployment, STYLESHEET_PATH)}">
${script === undefined ? "" : html`<script src="${linkTo(deployment, script)}" defer></script>`}
</head>
<body class="${layout}">
${body}
</body>
</html>`;
  const headers = {
    "content-security-policy": [...COMMON_POLICY, ...(page.policy ?? [])].join("; "),
    "referrer-policy": "same-origin",
    ...(page.session?.setCookie && { "set-cookie": page.session.setCookie }),
    ...page.headers,
  };
  return textFile("text/html", String(markup), headers, page.status);
}

export function redirect(location: string, setCookie?: string, status = 303): Response {
  const headers = { location, "cache-control": "no-store", "referrer-policy": "no-referrer" };
  return new Response(null, {
    status,
    headers: { ...headers, ...(setCookie && { "set-cookie": setCookie }) },
  });
}

export function postForm(
  deployment: Deployment,
  path: string,
  hidden: Readonly<Record<string, string>>,
  content: Markup,
  attributes: Markup | "" = "",
): Markup {
  return html`<form method="post" action="${linkTo(deployment, path)}"${attributes}>
${Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}${content}
</form>`;
}

/**
 * `isRetry` means that the last password was wrong, and that the element with the id "failed" says
 * so.
 */
export function passwordField(isRetry: boolean): Markup {
  return html`<div class="field">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password"
aria-describedby="${isRetry ? "failed empty" : "empty"}"${isRetry ? html` aria-invalid="true" autofocus` : ""}>
<p class="quiet" id="empty">Leave it empty for an operator without a password.</p>
</div>`;
}

/** Reads a body of this media type, or returns undefined for a body that our pages do not send. */
export async function readText(request: Request, type: string): Promise<string | undefined> {
  if (!isMediaType(request.headers.get("content-type"), type)) return undefined;
  const body = await readBody(request);
  return "text" in body ? body.text : undefined;
}
