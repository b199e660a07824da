// Most requests are plain posts to a token endpoint: those are answered without what only the others need.
import type { App } from "./app.js";
import type { Deployment } from "./deployment.js";
import type { JsonAnswer } from "./http/json-answer.js";
import type { ReceivedRequest } from "./http/received-request.js";

/**
 * Undefined: it is none, or a fault may strike it. The answer and what is recorded are the same on either way; only
 * routing, faults and a Response are left out on this one.
 */
export function answerTokenPost(
  app: App,
  deployment: Deployment,
  path: string,
  request: ReceivedRequest,
): Promise<JsonAnswer> | undefined {
  if (deployment.faults.isArmedFor("before-token", "after-commit")) return undefined;
  const found = app.tokenEndpointAt(path);
  if (found === undefined) return undefined;
  return answer(deployment, path, request, found);
}

async function answer(
  deployment: Deployment,
  path: string,
  request: ReceivedRequest,
  { endpoint, tenantId }: NonNullable<ReturnType<App["tokenEndpointAt"]>>,
): Promise<JsonAnswer> {
  const { clock, journal } = deployment;
  const at = clock();
  const note = journal.arrived();
  note.variant = endpoint.variant;
  note.endpoint = "token";
  note.operation = "requestToken";
  const customerLog = deployment.customerLog.of(note);
  const own = { ...deployment, customerLog };
  const { status, headers, body } = await endpoint.answer(own, request, note, {
    tenantId,
    isUnversioned: false,
  });
  journal.record(at, { method: "POST", path }, status, note);
  return { status, headers: { ...headers, date: new Date(clock()).toUTCString() }, body };
}
