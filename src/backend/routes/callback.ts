/** GET callback: what the authorization endpoint sent the person back with (Variant B). */
import { isLoginRequiredError } from "../../errors.js";
import { completeLogin } from "../../people.js";
import type { Context } from "../context.js";
import { cookieHeader, cookieName, readCookie } from "../cookies.js";
import { errorAnswer, isWorthTelling } from "../error-answer.js";
import { type BegunEntry, loginLifetimeMs } from "../login-browsers.js";
import { redirect } from "../navigation-answer.js";
import { randomToken } from "../random-token.js";
import { Refusal } from "../refusal.js";
import { isSecure } from "../request-origin.js";
import { withLoginError } from "../return-to.js";
import type { SessionSubject } from "../session-subject.js";

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
