// The frame of every page: one head, one stylesheet, and headers that let nothing in that is not ours.
import { html } from "hono/html";
import type { Deployment } from "../deployment.js";
import { STYLESHEET_PATH } from "./asset-paths.js";
import { linkTo } from "./page-route.js";

/** What `html` of hono gives: interpolated values are escaped. */
export type Markup = ReturnType<typeof html>;

export interface Page {
  readonly title: string;
  /** `card`: one small box in the middle. `app`: the whole window. `admin`: what is at /_emulator. */
  readonly layout: "card" | "app" | "admin";
  readonly body: Markup;
  readonly status?: number;
  /** Path of the page's only script, under the base URL. */
  readonly script?: string;
  /** Path of its stylesheet, under the base URL. Default: the one of all pages. */
  readonly stylesheet?: string;
  /** Directives beside the common ones. */
  readonly policy?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** No inline script or style, no frame around a page that asks for a password, nothing from elsewhere. */
const COMMON_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "frame-ancestors 'none'",
];

export async function renderPage(deployment: Deployment, page: Page): Promise<Response> {
  const { title, layout, body, script, stylesheet = STYLESHEET_PATH } = page;
  const markup = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${linkTo(deployment, stylesheet)}">
${script === undefined ? "" : html`<script src="${linkTo(deployment, script)}" defer></script>`}
</head>
<body class="${layout}">
${body}
</body>
</html>`;
  return new Response(String(markup), {
    status: page.status ?? 200,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy": [...COMMON_POLICY, ...(page.policy ?? [])].join("; "),
      "referrer-policy": "same-origin",
      "x-content-type-options": "nosniff",
      ...page.headers,
    },
  });
}
