/**
 * POST launch (Variant A), and GET login and GET callback (Variant B): the routes by which a person
 * signs in.
 */
import { z } from "zod";
import { watchedCredential } from "../auth/credentials/credential.js";
import {
  ConfigurationError,
  isConfigurationError,
  isStoreError,
  RelaunchRequiredError,
  wireText,
} from "../errors.js";
import { beginLogin, completeLogin, redeemLaunch } from "../people.js";
import type { Settings } from "./backend-options.js";
import { callbackRoute, defaultRedirectUri } from "./deployments.js";
import { Refusal, reportedAnswer } from "./error-answer.js";
import { delayingRefusals, watchedStore } from "./exchange-limits.js";
import type { TakenLogin } from "./pending-logins.js";
import { randomToken } from "./records.js";
import {
  cookieToken,
  isAllowedOrigin,
  isOwnNavigation,
  isSecure,
  ownOrigin,
  readJson,
} from "./request-checks.js";
import { type Context, openSession } from "./sessions.js";

const launchBody = z.object({
  // The characters are those of RFC 6749 appendix A.11. We chose the length; codes are much
  // shorter.
  code: z.string().regex(/^[\x20-\x7e]{1,4096}$/),
  // This is the syntax of RFC 7636 section 4.1.
  codeVerifier: z.string().regex(/^[A-Za-z0-9._~-]{43,128}$/),
  tenantId: z.string().min(1).max(256),
  hostOrigin: z.string().min(1).max(512),
});

export async function answerLaunch(request: Request, context: Context): Promise<Response> {
  const { code, codeVerifier, tenantId, hostOrigin } = await readJson(
    request,
    launchBody,
    context.settings,
  );
  const { settings, people, limited } = context;
  // This fails before the code is spent on a session that could not be returned.
  cookieToken(request, settings);
  const exchange = async (leave: () => () => void) => {
    const deployment = await settings
      .findDeployment({ purpose: "launch", tenantId, hostOrigin }, leave)
      .catch(asRefused);
    if (deployment?.launch === undefined) {
      const [tenant, host] = [tenantId, hostOrigin].map((text) =>
        wireText(text, [code, codeVerifier]),
      );
      return asRefused(
        notConfigured(`a launch of the tenant ${tenant} from the host application ${host}`),
      );
    }
    const { launch, baseUrl } = deployment;
    return redeemLaunch({
      ...settings.auth,
      store: watchedStore(settings.auth.store, leave),
      credential: watchedCredential(launch, leave),
      baseUrl,
      tenantId,
      code,
      codeVerifier,
      person: randomToken(),
    }).catch(asRefused);
  };
  const purpose = JSON.stringify(["launch", tenantId, hostOrigin]);
  const auth = await limited(purpose, request, exchange);
  return people.add(auth, hostOrigin, (subject) => openSession(request, context, subject));
}

/**
 * Answers a mistake in the configuration like a refused code, because anyone can ask for any
 * tenant.
 */
function asRefused(error: unknown): never {
  if (!isConfigurationError(error)) throw error;
  throw new RelaunchRequiredError(
    "launch_refused",
    `The launch is not possible: ${error.message}`,
    {
      cause: error,
    },
  );
}

function notConfigured(purpose: string): ConfigurationError {
  const message =
    `No deployment is configured for ${purpose}. ` +
    "If there should be one, add it to the option deployments.";
  return new ConfigurationError("credential_missing", message, { option: "deployments" });
}

export async function answerLogin(request: Request, context: Context): Promise<Response> {
  const { settings, logins } = context;
  const { searchParams, search } = new URL(request.url);
  // Another origin may not begin a login, or evict a pending one by it: the person is asked for a
  // click.
  if (!isOwnNavigation(request, settings))
    throw new Refusal("login_unconfirmed", { retryQuery: search.slice(1) });
  if (!settings.mayLogIn) throw new Refusal("login_not_configured");
  const tenant = single(searchParams, "tenant");
  const returnTo = parseReturnTo(single(searchParams, "return_to") ?? "/", request, settings);
  // This fails before it depends on the tenant.
  isSecure(request, settings);
  const { url, started } = await delayingRefusals(settings.clock, isConfigurationError, () =>
    begin(request, tenant, settings),
  ).catch((error: unknown) => {
    // Anyone can ask for any tenant, so a mistake in a customer's settings must look like an
    // unknown tenant.
    throw isConfigurationError(error) ? new Refusal("tenant_unknown", { cause: error }) : error;
  });
  return redirect(302, url, await logins.start(request, started, returnTo));
}

async function begin(request: Request, tenant: string | null, settings: Settings) {
  const own = ownOrigin(request, settings);
  const named = tenant === null ? {} : { tenantId: tenant };
  const deployment = await settings.findDeployment({ purpose: "login", ...named });
  if (deployment?.login === undefined) {
    if (tenant === null) throw new Refusal("tenant_missing");
    throw notConfigured(`a login of the tenant ${wireText(tenant)}`);
  }
  const { baseUrl, tenantId, login: credential } = deployment;
  const redirectUri = defaultRedirectUri(own, settings.path, tenantId);
  const { url, login } = await beginLogin({
    ...settings.auth,
    baseUrl,
    tenantId,
    credential,
    redirectUri,
  });
  settings.checkLogin(login, deployment, own);
  return { url, started: { login, tenantId, baseUrl } };
}

/** Completes a login, and redirects back to its page, whatever the outcome. */
export async function answerCallback(request: Request, context: Context): Promise<Response> {
  const { settings, logins } = context;
  const states = new URL(request.url).searchParams.getAll("state");
  const taken = await logins.take(request, states.length === 1 ? states[0] : undefined);
  if (taken === undefined) throw new Refusal("state_mismatch");
  if (typeof taken === "string") return redirect(303, withLoginError(taken, "state_mismatch"));
  try {
    return redirect(303, taken.returnTo, await complete(request, context, taken));
  } catch (error) {
    const { code, reason = code } = reportedAnswer(error, "callback", settings);
    // After most refusals the login stays, because nothing was done. A store that failed may be
    // back soon.
    const stays =
      (error instanceof Refusal && error.code !== "identify_failed") || isStoreError(error);
    const cookies = stays ? [] : await taken.end().catch(() => []);
    return redirect(303, withLoginError(taken.returnTo, reason), cookies);
  }
}

async function complete(
  request: Request,
  { settings, people, sessions, limited }: Context,
  taken: TakenLogin,
): Promise<readonly string[]> {
  const { login, tenantId, baseUrl } = taken;
  const callbackUrl = new URL(login.redirectUri);
  // RFC 9700 section 4.4.2.2: a code for another deployment's redirect URI must not be sent to this
  // one (mix-up).
  if (callbackRoute(login.redirectUri, settings.path) !== callbackRoute(request.url, settings.path))
    throw new Refusal("state_mismatch");
  if (taken.isLate) throw new Refusal("login_expired");
  const deployment = await settings.findDeployment({ purpose: "login", tenantId, baseUrl });
  const credential = deployment?.login;
  if (credential === undefined) throw new Refusal("tenant_unknown");
  // Behind a proxy the request's URL is not the redirect URI that browsers know.
  callbackUrl.search = new URL(request.url).search;
  const exchange = (leave: () => () => void) =>
    completeLogin({
      ...settings.auth,
      store: watchedStore(settings.auth.store, leave),
      credential: watchedCredential(credential, leave),
      baseUrl,
      tenantId,
      login,
      callbackUrl,
      person: randomToken(),
    });
  const auth = await limited(JSON.stringify(["login", tenantId, baseUrl]), request, exchange);
  return people.add(auth, undefined, async (subject) =>
    // A logout everywhere also ends a login whose page has not fetched its session yet.
    taken.complete({ ...subject, generation: (await sessions.generationOf(subject)) ?? null }),
  );
}

function single(parameters: URLSearchParams, name: string): string | null {
  const values = parameters.getAll(name);
  if (values.length > 1) throw new Refusal("request_invalid", { message: `Send ${name} once.` });
  return values[0] ?? null;
}

/** Accepts only the application's own pages (RFC 9700 section 4.11). The result is a whole URL. */
function parseReturnTo(given: string, request: Request, options: Settings): string {
  const own = ownOrigin(request, options);
  // Browsers drop tabs and newlines inside an address and read a backslash as a slash.
  // In a fragment neither matters.
  const isPlain = !/^[^#]*[\\\p{Cc}]/u.test(given) && given.trim() === given;
  // It must be a path or an http(s) address. "//host" and "javascript:" are refused.
  const url =
    isPlain &&
    /^(?:\/(?!\/)|https?:\/\/)/i.test(given) &&
    URL.canParse(given, own) &&
    new URL(given, own);
  if (url) {
    // Those of a page behind a proxy's login. The browser knows them.
    url.username = url.password = "";
    // The login matters more than the place within the page.
    if (url.href.length > 2_048) url.hash = "";
  }
  if (
    !url ||
    // Anyone can have it stored without logging in, so it must be short.
    url.href.length > 2_048 ||
    !isAllowedOrigin(url.origin, request, options) ||
    // A login that returns to one of our routes would start again and never end.
    (url.origin === own && `${url.pathname}/`.startsWith(`${options.path}/`))
  )
    throw new Refusal("return_to_refused");
  return url.href;
}

/** Adds the error as the fragment, which only the page can read. */
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
