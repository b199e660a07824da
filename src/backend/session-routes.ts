/** POST session: gives a page the session of the login that was completed in this browser, or of its cookie. */
import { z } from "zod";
import type { Context } from "./context.js";
import { Refusal, SessionError } from "./error-answer.js";
import { cookieHeader, cookieName, isSecure, readCookie, readJson } from "./request-checks.js";
import { cookieToken, csrfTokenOf, type SessionRecord, type SessionSubject } from "./sessions.js";

const body = z.object({
  /** What the page wrote into the address that its login came back to. */
  login: z.string().max(256).nullish(),
  /** Whose session it must be. */
  tenant: z.string().max(256).nullish(),
});

export async function answerSession(request: Request, context: Context): Promise<Response> {
  const { login, tenant } = await readJson(request, body);
  const { settings, browsers, sessions } = context;
  const secure = isSecure(request, settings);
  const id = readCookie(request, cookieName("login", secure));
  const wanted = { mark: login ?? undefined, tenantId: tenant ?? undefined };
  const opened = await browsers.fetch(id, wanted, (subject) => {
    // Nobody is there to receive it: the next who asks may be.
    if (request.signal.aborted) throw new Refusal("client_gone");
    return openSession(request, context, subject);
  });
  if (opened !== undefined) return opened;
  const token = settings.session.cookie ? cookieToken(request, settings) : undefined;
  const session = token && (await sessions.find(token));
  // One of another tenant is not what the page asked for: it begins one of its own.
  if (!token || !session || (tenant ?? session.tenantId) !== session.tenantId)
    throw new SessionError("session_missing", "There is no session here. Begin a new one.");
  await context.requirePerson(session);
  return continueSession(token, session);
}

export async function answerMe(request: Request, context: Context): Promise<Response> {
  const { variant, tenantId, operator, roles, expiresAt } = (await context.personOf(request)).session;
  return Response.json({
    variant,
    tenantId,
    ...(operator && { operator }),
    ...(roles && { roles }),
    expiresAt,
  });
}

export async function answerLogout(request: Request, context: Context): Promise<Response> {
  await readJson(request, z.object({}));
  const { settings, sessions, auths } = context;
  const { token, session } = await context.sessionOf(request);
  // The tokens first: if that fails the session is still there, and the person can log out again.
  await auths.forget(session);
  await sessions.end(token);
  const headers = new Headers();
  if (settings.session.cookie) {
    const secure = isSecure(request, settings);
    headers.set(
      "set-cookie",
      cookieHeader({ use: "session", isSecure: secure, value: "", maxAgeSeconds: 0 }),
    );
  }
  return new Response(null, { status: 204, headers });
}

/** Opens a session and answers with it; of the service's tokens nothing is in it. */
export async function openSession(
  request: Request,
  context: Context,
  subject: SessionSubject,
): Promise<Response> {
  const { sessions, settings } = context;
  if (!settings.session.cookie) {
    const { token, session } = await sessions.open(subject);
    return Response.json({ session: token, ...told(session) });
  }
  const secure = isSecure(request, settings);
  const before = cookieToken(request, settings);
  const { token, session } = await sessions.open(subject);
  // The cookie before is replaced: nobody can use its session or its tokens again.
  if (before !== undefined) await endQuietly(before, context);
  const maxAgeSeconds = Math.floor(settings.session.lifetimeMs / 1_000);
  const cookie = cookieHeader({ use: "session", isSecure: secure, value: token, maxAgeSeconds });
  return continueSession(token, session, { "set-cookie": cookie });
}

/** The answer for a page whose session is in a cookie that it cannot read. */
export async function continueSession(
  token: string,
  session: SessionRecord,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return Response.json({ csrf: await csrfTokenOf(token), ...told(session) }, { headers });
}

function told({ variant, tenantId, operator, expiresAt }: SessionRecord): object {
  return { variant, tenantId, ...(operator && { operator }), expiresAt };
}

async function endQuietly(token: string, context: Context): Promise<void> {
  try {
    await context.forget(await context.sessions.find(token));
    await context.sessions.end(token);
  } catch {
    // Unknown or over: there is nothing to end.
  }
}
