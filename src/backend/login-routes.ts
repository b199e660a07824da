/** GET login: sends a person to the authorization endpoint of their deployment (Variant B). */

import { isLoginRequiredError } from "../errors.js";
import { beginLogin, completeLogin } from "../login.js";
import type { Context } from "./context.js";
import { requireWayBack } from "./deployments.js";
import { type ErrorAnswer, errorAnswer, isWorthTelling, Refusal } from "./error-answer.js";
import { type BegunEntry, loginLifetimeMs } from "./pending-logins.js";
import { randomToken } from "./records.js";
import {
  cookieHeader,
  cookieName,
  isAllowedOrigin,
  isSecure,
  type OriginOptions,
  ownOrigin,
  readCookie,
} from "./request-checks.js";
import type { SessionSubject } from "./sessions.js";

export async function answerLogin(request: Request, context: Context): Promise<Response> {
  const { settings, browsers } = context;
  const { searchParams } = new URL(request.url);
  const tenantId = single(searchParams, "tenant");
  const returnTo = parseReturnTo(single(searchParams, "return_to"), request, settings);
  const deployment = await settings.deployments.find({
    purpose: "login",
    ...(tenantId !== null && { tenantId }),
  });
  if (deployment?.login === undefined)
    throw new Refusal(tenantId === null ? "tenant_missing" : "tenant_unknown");
  const { baseUrl } = deployment;
  const { url, login } = await beginLogin({
    ...settings.auth,
    ...{ baseUrl, tenantId: deployment.tenantId, credential: deployment.login },
  });
  requireWayBack(login.redirectUri, ownOrigin(request, settings));
  const secure = isSecure(request, settings);
  const id = await browsers.begin(readCookie(request, cookieName("login", secure)), {
    ...{ login, tenantId: deployment.tenantId, baseUrl, returnTo },
  });
  const maxAgeSeconds = loginLifetimeMs / 1_000;
  return redirect(302, url, cookieHeader({ use: "login", isSecure: secure, value: id, maxAgeSeconds }));
}

/** @throws Refusal `request_invalid` when there are several */
function single(parameters: URLSearchParams, name: string): string | null {
  const values = parameters.getAll(name);
  if (values.length > 1) throw new Refusal("request_invalid", { message: `Send ${name} once.` });
  return values[0] ?? null;
}

export async function answerCallback(request: Request, context: Context): Promise<Response> {
  const { settings, browsers } = context;
  const secure = isSecure(request, settings);
  const id = readCookie(request, cookieName("login", secure));
  const states = new URL(request.url).searchParams.getAll("state");
  // RFC 6749 section 10.12: only a state that this very browser was given counts, and only once.
  const { entry, returnTo } = await browsers.take(id, states.length === 1 ? states[0] : undefined);
  if (id === undefined || returnTo === undefined) throw new Refusal("state_mismatch");
  if (entry === undefined) return redirect(303, withLoginError(returnTo, "state_mismatch"));
  let subject: SessionSubject;
  try {
    subject = await complete(request, context, entry);
  } catch (error) {
    const { status, code: generic } = errorAnswer(error, settings.now());
    const code = isLoginRequiredError(error) ? error.code : generic;
    if (isWorthTelling(error)) context.told(error, { status, code, route: "callback" });
    return redirect(303, withLoginError(returnTo, code));
  }
  const value = await browsers.complete(id, subject, returnTo);
  const maxAgeSeconds = loginLifetimeMs / 1_000;
  return redirect(303, returnTo, cookieHeader({ use: "login", isSecure: secure, value, maxAgeSeconds }));
}

async function complete(
  request: Request,
  context: Context,
  { login, tenantId, baseUrl, expiresAt }: BegunEntry,
): Promise<SessionSubject> {
  const { settings } = context;
  const callbackUrl = new URL(login.redirectUri);
  // RFC 9700 section 4.4.2.2: what came to another deployment's redirect URI is not sent to this one.
  if (below(callbackUrl.pathname, settings.path) !== below(new URL(request.url).pathname, settings.path))
    throw new Refusal("state_mismatch");
  if (settings.now() >= expiresAt) throw new Refusal("login_expired");
  const deployment = await settings.deployments.find({ purpose: "login", tenantId, baseUrl });
  if (deployment?.login === undefined) throw new Refusal("tenant_unknown");
  // The redirect URI as browsers know it, which behind a proxy the request's URL is not.
  callbackUrl.search = new URL(request.url).search;
  const auth = await completeLogin({
    ...settings.auth,
    ...{ baseUrl, tenantId, credential: deployment.login },
    ...{ callbackUrl: callbackUrl.href, login, person: randomToken() },
  });
  try {
    return await context.subjectOf(auth, deployment);
  } catch (error) {
    await auth.forget().catch((fault) => context.failed(fault));
    throw error;
  }
}

/** The route and what follows it, whatever a proxy has put before; what follows may itself be called callback. */
function below(pathname: string, path: string): string {
  const segments = `${pathname}/`;
  const at = segments.indexOf(`${path}/callback/`);
  return segments.slice(at < 0 ? segments.indexOf("/callback/") : at + path.length);
}

/** Whoever comes along has it remembered, before anybody logged in. In characters of the whole address. */
const longest = 2_048;

/**
 * The address to go back to, absolute, so that no browser can read a path in it as another host.
 *
 * @param path of the backend's routes: coming back to one of them would log in for ever
 * @throws Refusal `return_to_refused`
 */
export function parseReturnTo(
  value: string | null,
  request: Request,
  options: OriginOptions & { readonly path: string },
): string {
  const own = ownOrigin(request, options);
  const given = value ?? "/";
  // Browsers drop tabs and newlines inside an address and take a backslash for a slash.
  const isPlain = !/[\\\p{Cc}]/u.test(given) && given.trim() === given;
  const isPath = given.startsWith("/") && !given.startsWith("//");
  if (!isPlain || (!isPath && !/^https?:\/\//i.test(given)) || !URL.canParse(given, own))
    throw new Refusal("return_to_refused");
  const url = new URL(given, own);
  const isOwnRoute = url.origin === own && `${url.pathname}/`.startsWith(`${options.path}/`);
  if (
    url.href.length > longest ||
    !isAllowedOrigin(url.origin, request, options) ||
    url.username !== "" ||
    url.password !== "" ||
    isOwnRoute
  )
    throw new Refusal("return_to_refused");
  return url.href;
}

/** What bivariant/page writes into the address that its login comes back to: which of a browser's logins it is. */
const markName = "bivariant_login";

/** The mark of the page that began a login; empty for one that wrote none. */
export function markOf(returnTo: string): string {
  return new URL(returnTo).searchParams.get(markName) ?? "";
}

/** The same address, with what went wrong where only its page can read it. */
export function withLoginError(returnTo: string, code: string): string {
  const url = new URL(returnTo);
  url.hash = `login_error=${code}`;
  return url.href;
}

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
