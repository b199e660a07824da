// A page that the emulator serves to a browser: its route, its frame, and the reading of its forms.
import { html } from "hono/html";
import { isMediaType, parseObject, readBody } from "../http/messages.js";
import type { RequestNote } from "../journal.js";
import type { Deployment } from "../state.js";
import { hostScript } from "./scripts.js";
import { stylesheet } from "./stylesheet.js";

/** One request of a browser. */
export interface Visit {
  readonly deployment: Deployment;
  readonly request: Request;
  /** The parameters of the path, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly note: RequestNote;
}

export interface PageRoute {
  /** Undefined: served with any variant. */
  readonly variant?: "A" | "B";
  /** The name of the operation in the journal. */
  readonly operation: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  answer(visit: Visit): Response | Promise<Response>;
}

/** A path under the base URL, for use in a link. */
export function linkTo({ publicUrl }: Deployment, path: string): string {
  return new URL(publicUrl()).pathname.replace(/\/+$/, "") + path;
}

const STYLESHEET_PATH = "/_emulator/style.css";
export const HOST_SCRIPT_PATH = "/_emulator/host.js";
export const ASSET_PATHS: readonly string[] = [STYLESHEET_PATH, HOST_SCRIPT_PATH];

export const assetRoutes: readonly PageRoute[] = [
  asset(STYLESHEET_PATH, "text/css", stylesheet),
  asset(HOST_SCRIPT_PATH, "text/javascript", hostScript),
];

function asset(path: string, type: string, text: string): PageRoute {
  return { operation: "readAsset", method: "GET", path, answer: () => textFile(type, text, "no-cache") };
}

export function textFile(type: string, text: string, cacheControl = "no-store"): Response {
  const headers = { "content-type": `${type}; charset=utf-8`, "cache-control": cacheControl };
  return new Response(text, { headers: { ...headers, "x-content-type-options": "nosniff" } });
}

/** The result of hono's `html`, which escapes interpolated values. */
export type Markup = ReturnType<typeof html>;

export interface Page {
  readonly title: string;
  /** `card`: a small box in the middle. `app`: the host application. `admin`: a page at /_emulator. */
  readonly layout: "card" | "app" | "admin";
  readonly body: Markup;
  readonly status?: number;
  /** The path of the page's only script, under the base URL. */
  readonly script?: string;
  /** The path of the page's only stylesheet, under the base URL. Default: the shared one. */
  readonly stylesheet?: string;
  /** Directives of the content security policy beside the common ones. */
  readonly policy?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** No inline script or style, nothing from another site, and no frame around a page that asks for a password. */
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

/** Reads the fields of a form, or returns undefined for a body that a form of our pages cannot have. */
export async function readForm(request: Request): Promise<URLSearchParams | undefined> {
  if (!isMediaType(request.headers.get("content-type"), "application/x-www-form-urlencoded"))
    return undefined;
  const body = await readBody(request);
  return "text" in body ? new URLSearchParams(body.text) : undefined;
}

/** Reads a JSON object, or returns undefined for a body that a script of our pages does not send. */
export async function readJson(request: Request): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (!isMediaType(request.headers.get("content-type"), "application/json")) return undefined;
  const body = await readBody(request);
  return "text" in body ? parseObject(body.text) : undefined;
}
