/** POST logout: the end of a session, and of the tokens behind it. */
import { z } from "zod";
import type { Context } from "../context.js";
import { cookieHeader } from "../cookies.js";
import { readJson } from "../read-json.js";
import { isSecure } from "../request-origin.js";

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
