/** POST session: gives a page the session of the login that was completed in this browser, or of its cookie. */
import { z } from "zod";
import type { Context } from "../context.js";
import { cookieName, readCookie } from "../cookies.js";
import { readJson } from "../read-json.js";
import { Refusal } from "../refusal.js";
import { isSecure } from "../request-origin.js";
import { cookieToken } from "../request-session.js";
import { continueSession, openSession } from "../session-answer.js";
import { SessionError } from "../session-error.js";

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
