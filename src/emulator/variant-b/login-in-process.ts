// What a person does at the authorization server's pages, as a method: for test runners without a browser.

import type { Refusal } from "../checks.js";
import { EmulatorError } from "../errors.js";
import { recordAuthorization, recordCallback } from "../flow/flow-steps.js";
import { AUTHORIZATION_PATH } from "../paths.js";
import { rules } from "../rules.js";
import type { Deployment } from "../state.js";
import { refusedCallback } from "./authorization-answer.js";
import { readAuthorizationRequest } from "./authorization-request.js";
import { decide, findPerson } from "./login.js";

/** Who logs in where, and whether they allow it. */
export interface LoginRequest {
  /** The URL at the authorization endpoint that the app sends the person to. */
  readonly url: string;
  readonly userId: string;
  /** Needed where the user id is an operator's in more than one tenant. */
  readonly tenantId?: string | undefined;
  /** Default: "allow". */
  readonly decision?: "allow" | "deny" | undefined;
}

/** The callback carries `code` or `error`: as in a browser, an error that the app is told about is no exception. */
export function loginInProcess(deployment: Deployment, login: LoginRequest): { callbackUrl: string } {
  const { clock, customerLog } = deployment;
  const url = new URL(login.url, deployment.publicUrl());
  if (!url.pathname.endsWith(AUTHORIZATION_PATH)) {
    throw new EmulatorError(
      "login_refused",
      `the URL is not the authorization endpoint ${AUTHORIZATION_PATH}`,
    );
  }
  const refuse = (refusal: Refusal, clientId: string | undefined) => {
    customerLog.record(clock(), { tenantId: login.tenantId, clientId }, refusal);
    const { says } = rules[refusal.rule];
    return new EmulatorError(
      "login_refused",
      `the page refuses the login: ${says} Expected ${refusal.expected}, got ${refusal.actual}.`,
      {
        issues: [refusal.rule],
      },
    );
  };
  const read = readAuthorizationRequest(deployment, url.searchParams);
  const flow = recordAuthorization(deployment, url.searchParams, read);
  if ("refusal" in read) {
    if (read.callback === undefined) throw refuse(read.refusal, undefined);
    customerLog.record(clock(), { clientId: read.callback.client.clientId }, read.refusal);
    const callbackUrl = refusedCallback(deployment, read.callback, read.refusal.rule);
    recordCallback(deployment, flow, callbackUrl, { rule: read.refusal.rule });
    return { callbackUrl };
  }
  const person = findPerson(deployment, read.client, login);
  if ("rule" in person) throw refuse(person, read.client.clientId);
  const { decision = "allow" } = login;
  const callbackUrl = decide(deployment, read, decision, person);
  recordCallback(deployment, flow, callbackUrl, { decision, person });
  return { callbackUrl };
}
