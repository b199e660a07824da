/** GET login: sends a person to the authorization endpoint of their deployment (Variant B). */
import { ConfigurationError } from "../../errors.js";
import { beginLogin } from "../../login.js";
import type { Context } from "../context.js";
import { cookieHeader, cookieName, readCookie } from "../cookies.js";
import { loginLifetimeMs } from "../login-browsers.js";
import { redirect } from "../navigation-answer.js";
import { Refusal } from "../refusal.js";
import { isSecure, ownOrigin } from "../request-origin.js";
import { parseReturnTo } from "../return-to.js";

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

/** A cookie set here is not sent to another host, and then no login could ever be completed. */
function requireWayBack(redirectUri: string, own: string): void {
  const { origin, pathname } = new URL(redirectUri);
  if (!/\/callback(?:\/|$)/.test(pathname))
    throw new ConfigurationError(
      "option_invalid",
      "The redirectUri of the login does not lead to the route callback: its path must end with /callback, or go on below it.",
      { option: "deployments" },
    );
  if (origin === own) return;
  throw new ConfigurationError(
    "option_invalid",
    `The redirectUri of the login is at another origin than this backend (${own}), so that the login cookie would not come back with the person. Use the same for both (localhost and 127.0.0.1 are two), or give publicUrl if a proxy changes it.`,
    { option: "deployments" },
  );
}
