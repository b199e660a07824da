/** POST launch: exchanges the code of a launch (Variant A) for a token, and opens a session. */
import { z } from "zod";
import { isRelaunchRequiredError } from "../errors.js";
import { redeemLaunch } from "../people.js";
import { Refusal } from "./error-answer.js";
import { randomToken } from "./records.js";
import { isSecure, readJson } from "./request-checks.js";
import { type Context, openSession } from "./sessions.js";

const launchBody = z.object({
  // RFC 6749 appendix A.11. The length is ours: codes are much shorter.
  code: z.string().regex(/^[\x20-\x7e]{1,4096}$/),
  // RFC 7636 section 4.1.
  codeVerifier: z.string().regex(/^[A-Za-z0-9._~-]{43,128}$/),
  tenantId: z.string().min(1).max(256),
  hostOrigin: z.string().min(1).max(512),
});

export async function answerLaunch(request: Request, context: Context): Promise<Response> {
  const { code, codeVerifier, tenantId, hostOrigin } = await readJson(request, launchBody);
  const { settings, people } = context;
  // Checked before the code is spent on a session that could not be returned.
  if (settings.session.cookie) isSecure(request, settings);
  const deployment = await settings.deployments.find({ purpose: "launch", tenantId, hostOrigin });
  if (deployment?.launch === undefined) throw new Refusal("host_unknown");
  const { launch: credential, baseUrl } = deployment;
  const auth = await redeemLaunch({
    ...settings.auth,
    ...{ baseUrl, tenantId: deployment.tenantId, credential },
    ...{ code, codeVerifier, person: randomToken() },
  }).catch((error: unknown) => {
    // A refusal of the service has a cause. Without one, the store says that the code was sent before (section 3).
    const wasSentBefore =
      isRelaunchRequiredError(error) && error.code === "launch_refused" && error.cause === undefined;
    throw wasSentBefore ? new Refusal("code_spent") : error;
  });
  try {
    if (request.signal.aborted) throw new Refusal("client_gone");
    return await openSession(request, context, await people.add(auth, deployment));
  } catch (error) {
    await auth.forget().catch(settings.report);
    throw error;
  }
}
