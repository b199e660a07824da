// Answers a call to an API route, once its bearer token was found to allow it.

import type { Refusal } from "../checks.js";
import type { RequestNote } from "../journal.js";
import type { Deployment } from "../state.js";
import { asTold, callAnswer, refusalAnswer } from "./call-answers.js";
import { checkCall } from "./check-call.js";
import { findToken } from "./find-token.js";
import { type ApiRoute, devicesOf, variantOf } from "./routes.js";

export async function answerApiCall(
  deployment: Deployment,
  route: ApiRoute,
  parameters: Readonly<Record<string, string>>,
  request: Request,
  note: RequestNote,
): Promise<Response> {
  const variant = variantOf(route);
  const pathTenantId = variant === "A" ? parameters.tenantId : undefined;
  const refuse = (refusal: Refusal, caller: { tenantId?: string | undefined; clientId?: string }) => {
    const told = asTold(deployment, refusal);
    deployment.customerLog.record(deployment.clock(), caller, told);
    return refusalAnswer(deployment, told);
  };
  const authorization = request.headers.get("authorization");
  const token = findToken(deployment, { variant, tenantId: pathTenantId, authorization });
  if (token !== undefined && "rule" in token) return refuse(token, { tenantId: pathTenantId });
  if (token !== undefined) {
    const { tenantId, clientId } = token;
    Object.assign(note, { tenantId, clientId });
    const refusal = checkCall(deployment, token, route, devicesNamed(route, parameters, request));
    if (refusal !== undefined) return refuse(refusal, { tenantId, clientId });
  }
  const respond = route.respond ?? (() => ({ operationId: route.operationId, parameters }));
  // The path's tenant is the token's, unless the rule that says so is off. Nobody is empty.
  const tenantId = pathTenantId ?? token?.tenantId ?? "";
  const clientId = token?.clientId ?? "";
  const devices = devicesOf(deployment.settings.devices, tenantId);
  const call = { variant, tenantId, clientId, userId: token?.userId, parameters, request, devices };
  return callAnswer(deployment, await respond(call), request);
}

/** Named in the path or, for a parameter that the path does not have, any number of times in the query. */
function devicesNamed(
  { deviceParameter }: ApiRoute,
  parameters: Readonly<Record<string, string>>,
  request: Request,
): string[] {
  if (deviceParameter === undefined) return [];
  const inPath = parameters[deviceParameter];
  return inPath === undefined ? new URL(request.url).searchParams.getAll(deviceParameter) : [inPath];
}
