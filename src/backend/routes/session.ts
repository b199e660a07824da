/** POST session: gives a page the session of the login that was completed in this browser, or of its cookie. */
import { z } from "zod";
import type { Context } from "../context.js";
import { cookieName, readCookie } from "../cookies.js";
import { readJson } from "../read-json.js";
import { isSecure } from "../request-origin.js";
import { cookieToken } from "../request-session.js";
import { continueSession, openSession } from "../session-answer.js";
import { SessionError } from "../session-error.js";

export async function answerSession(request: Request, context: Context): Promise<Response> {
  await readJson(request, z.object({}));
  const { settings, browsers, sessions } = context;
  const secure = isSecure(request, settings);
  const id = readCookie(request, cookieName("login", secure));
  const subject = await browsers.fetch(id);
  if (subject !== undefined) return openSession(request, context, subject);
  const token = settings.session.cookie ? cookieToken(request, settings) : undefined;
  if (token === undefined)
    throw new SessionError("session_missing", "There is no session here. Begin a new one.");
  const session = await sessions.find(token);
  await context.requirePerson(session);
  return continueSession(token, session);
}
