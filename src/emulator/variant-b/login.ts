// The steps of a login: who the person is, and what becomes of the request when they decide.

import type { Refusal } from "../checks.js";
import type { ApiClient } from "../registrations/api-clients.js";
import { isPasswordOf, type Operator } from "../registrations/operators.js";
import { shown } from "../shown.js";
import type { AuthorizationRequest, Deployment } from "../state.js";
import { allowedCallback, refusedCallback } from "./authorization-answer.js";

/** Who is at the login page, as they say; the tenant may be left out where the user id is in one only. */
export interface ClaimedPerson {
  readonly tenantId?: string | undefined;
  readonly userId: string;
}

/** The person, whatever their password. */
export function findPerson(
  { operators, switches }: Deployment,
  client: ApiClient,
  { tenantId, userId }: ClaimedPerson,
): Operator | Refusal {
  const isRuled = switches.isEnforced("login.credentials");
  const namesakes = operators
    .list(isRuled ? client.tenantId : undefined)
    .filter(
      (operator) => operator.userId === userId && operator.tenantId === (tenantId ?? operator.tenantId),
    );
  const [person, second] = namesakes;
  if (person !== undefined && (second === undefined || !isRuled)) return person;
  const expected = `an operator of ${client.tenantId === undefined ? "one tenant" : shown(client.tenantId)}`;
  const actual = person === undefined ? "no such operator" : "one in each of several tenants";
  return { rule: "login.credentials", expected, actual };
}

/** The person, if the password is theirs. */
export function authenticatePerson(
  deployment: Deployment,
  client: ApiClient,
  claimed: ClaimedPerson,
  password: string,
): Operator | Refusal {
  const person = findPerson(deployment, client, claimed);
  if ("rule" in person || isPasswordOf(person, password)) return person;
  const finding = { expected: "the operator's password", actual: "another password" };
  return deployment.switches.refusal("login.credentials", finding) ?? person;
}

/** The callback that the browser is sent to. */
export function decide(
  deployment: Deployment,
  request: AuthorizationRequest,
  decision: "allow" | "deny",
  person: Operator | undefined,
): string {
  const { clock, customerLog, switches } = deployment;
  const isAllowed = decision === "allow" || !switches.isEnforced("login.consent");
  if (isAllowed && person !== undefined) return allowedCallback(deployment, request, person);
  const caller = { tenantId: person?.tenantId ?? request.client.tenantId, clientId: request.client.clientId };
  const finding = { expected: "the person's consent", actual: "the person refused" };
  customerLog.record(clock(), caller, { rule: "login.consent", ...finding });
  return refusedCallback(deployment, request, "login.consent");
}
