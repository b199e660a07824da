/** What a page is given when its session begins, or when it comes back to it. */
import type { Context } from "./context.js";
import { cookieHeader } from "./cookies.js";
import { isSecure } from "./request-origin.js";
import { cookieToken, csrfTokenOf } from "./request-session.js";
import type { SessionSubject } from "./session-subject.js";
import type { SessionRecord } from "./sessions.js";

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
