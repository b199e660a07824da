/** GET login: sends a person to the authorization endpoint of their deployment (Variant B). */
import { beginLogin } from "../../people.js";
import type { Context } from "../context.js";
import { cookieHeader, cookieName, readCookie } from "../cookies.js";
import { loginLifetimeMs } from "../login-browsers.js";
import { redirect } from "../navigation-answer.js";
import { Refusal } from "../refusal.js";
import { isSecure, ownOrigin } from "../request-origin.js";
import { parseReturnTo } from "../return-to.js";
import { requireWayBack } from "../way-back.js";

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
