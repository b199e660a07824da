/** POST launch: the code of a launch (Variant A), exchanged at once and sent exactly once. */
import { z } from "zod";
import { isRateLimitedError } from "../errors.js";
import { redeemLaunch } from "../redeem-launch.js";
import type { Context } from "./context.js";
import { Refusal } from "./error-answer.js";
import { randomToken } from "./records.js";
import { isSecure, readJson } from "./request-checks.js";
import { openSession } from "./session-routes.js";

const body = z.object({
  // RFC 6749 appendix A.11; nothing that is longer is a code.
  code: z.string().regex(/^[\x20-\x7e]{1,4096}$/),
  // RFC 7636 section 4.1.
  codeVerifier: z.string().regex(/^[A-Za-z0-9._~-]{43,128}$/),
  tenantId: z.string().min(1).max(256),
  hostOrigin: z.string().min(1).max(512),
});

export async function answerLaunch(request: Request, context: Context): Promise<Response> {
  const { code, codeVerifier, tenantId, hostOrigin } = await readJson(request, body);
  const { settings } = context;
  // Before the code is spent on a session that could not be given out.
  if (settings.session.cookie) isSecure(request, settings);
  // What the page says only chooses among the deployments that are configured.
  const deployment = await settings.deployments.find({ purpose: "launch", tenantId, hostOrigin });
  if (deployment?.launch === undefined) throw new Refusal("host_unknown");
  // "The code is spent on the first exchange attempt" (section 3 of the description): there is no second.
  if (!(await context.spend(deployment, code))) throw new Refusal("code_spent");
  const { launch: credential, baseUrl } = deployment;
  const options = { ...settings.auth, baseUrl, tenantId: deployment.tenantId, credential };
  const auth = await redeemLaunch({ ...options, code, codeVerifier, person: randomToken() }).catch(
    async (error) => {
      // The gate was closed before the code was sent: the page may post it again.
      if (isRateLimitedError(error)) await context.unspend(deployment, code);
      throw error;
    },
  );
  try {
    // A session that nobody is there to receive must not begin.
    if (request.signal.aborted) throw new Refusal("client_gone");
    return await openSession(request, context, await context.subjectOf(auth, deployment));
  } catch (error) {
    await auth.forget().catch((fault) => context.failed(fault));
    throw error;
  }
}
