/** GET login and GET callback: a person's way to the authorization endpoint of their deployment and back (Variant B). */
import { isLoginRequiredError } from "../errors.js";
import { beginLogin, completeLogin } from "../people.js";
import { requireOwnRedirectUri } from "./deployments.js";
import { errorAnswer, isWorthReporting, Refusal } from "./error-answer.js";
import type { TakenLogin } from "./pending-logins.js";
import type { SessionSubject } from "./person-auths.js";
import { randomToken } from "./records.js";
import { isAllowedOrigin, type OriginOptions, ownOrigin } from "./request-checks.js";
import type { Context } from "./sessions.js";

export async function answerLogin(request: Request, { settings, logins }: Context): Promise<Response> {
  const { searchParams } = new URL(request.url);
  const tenant = single(searchParams, "tenant");
  const returnTo = parseReturnTo(single(searchParams, "return_to"), request, settings);
  const deployment = await settings.deployments.find({
    purpose: "login",
    ...(tenant !== null && { tenantId: tenant }),
  });
  if (deployment?.login === undefined)
    throw new Refusal(tenant === null ? "tenant_missing" : "tenant_unknown");
  const { baseUrl, tenantId, login: credential } = deployment;
  const { url, login } = await beginLogin({ ...settings.auth, baseUrl, tenantId, credential });
  requireOwnRedirectUri(login.redirectUri, ownOrigin(request, settings));
  return redirect(302, url, await logins.start(request, { login, tenantId, baseUrl }, returnTo));
}

export async function answerCallback(request: Request, context: Context): Promise<Response> {
  const { settings, logins } = context;
  const states = new URL(request.url).searchParams.getAll("state");
  const taken = await logins.take(request, states.length === 1 ? states[0] : undefined);
  if (taken === undefined) throw new Refusal("state_mismatch");
  if (typeof taken === "string") return redirect(303, withLoginError(taken, "state_mismatch"));
  let subject: SessionSubject;
  try {
    subject = await complete(request, context, taken);
  } catch (error) {
    const { status, code: generic } = errorAnswer(error, settings.now());
    const code = isLoginRequiredError(error) ? error.code : generic;
    if (isWorthReporting(error)) settings.report(error, { status, code, route: "callback" });
    return redirect(303, withLoginError(taken.returnTo, code));
  }
  return redirect(303, taken.returnTo, [await taken.complete(subject)]);
}

async function complete(
  request: Request,
  { settings, people }: Context,
  { login, tenantId, baseUrl, isLate }: TakenLogin,
): Promise<SessionSubject> {
  const callbackUrl = new URL(login.redirectUri);
  const { pathname, search } = new URL(request.url);
  // RFC 9700 section 4.4.2.2: a code for another deployment's redirect URI must not be sent to this one (mix-up).
  if (routeOf(callbackUrl.pathname, settings.path) !== routeOf(pathname, settings.path))
    throw new Refusal("state_mismatch");
  if (isLate) throw new Refusal("login_expired");
  const deployment = await settings.deployments.find({ purpose: "login", tenantId, baseUrl });
  if (deployment?.login === undefined) throw new Refusal("tenant_unknown");
  // Behind a proxy the request's URL is not the redirect URI that browsers know.
  callbackUrl.search = search;
  const auth = await completeLogin({
    ...settings.auth,
    ...{ baseUrl, tenantId, credential: deployment.login },
    ...{ callbackUrl: callbackUrl.href, login, person: randomToken() },
  });
  try {
    return await people.add(auth, deployment);
  } catch (error) {
    await auth.forget().catch(settings.report);
    throw error;
  }
}

/** The path from the route callback on. A proxy may have changed what is before; a segment below may be named callback. */
function routeOf(pathname: string, path: string): string {
  const segments = `${pathname}/`;
  const at = segments.indexOf(`${path}/callback/`);
  return segments.slice(at < 0 ? segments.indexOf("/callback/") : at + path.length);
}

/** @throws Refusal `request_invalid` when there are several */
function single(parameters: URLSearchParams, name: string): string | null {
  const values = parameters.getAll(name);
  if (values.length > 1) throw new Refusal("request_invalid", { message: `Send ${name} once.` });
  return values[0] ?? null;
}

/** The longest return_to, in characters of the whole address. It is stored before anyone has logged in. */
const longestReturnTo = 2_048;

/**
 * The address that a login comes back to: only a page of the application itself (RFC 9700 section 4.11, open redirectors).
 * It is absolute, so that no browser reads a path in it as another host. It must not be one of the backend's routes,
 * which would log in for ever.
 *
 * @throws Refusal `return_to_refused`
 */
function parseReturnTo(
  value: string | null,
  request: Request,
  options: OriginOptions & { readonly path: string },
): string {
  const own = ownOrigin(request, options);
  const given = value ?? "/";
  // Browsers drop tabs and newlines inside an address and read a backslash as a slash.
  const isPlain = !/[\\\p{Cc}]/u.test(given) && given.trim() === given;
  const isPath = given.startsWith("/") && !given.startsWith("//");
  if (!isPlain || (!isPath && !/^https?:\/\//i.test(given)) || !URL.canParse(given, own))
    throw new Refusal("return_to_refused");
  const url = new URL(given, own);
  const isOwnRoute = url.origin === own && `${url.pathname}/`.startsWith(`${options.path}/`);
  if (
    url.href.length > longestReturnTo ||
    !isAllowedOrigin(url.origin, request, options) ||
    url.username !== "" ||
    url.password !== "" ||
    isOwnRoute
  )
    throw new Refusal("return_to_refused");
  return url.href;
}

/** The same address with the error in the fragment, which only its page can read. */
function withLoginError(returnTo: string, code: string): string {
  const url = new URL(returnTo);
  url.hash = `login_error=${code}`;
  return url.href;
}

function redirect(status: 302 | 303, location: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location, "referrer-policy": "no-referrer" });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status, headers });
}
