/** How many requests a survey sends for a customer. */
import type { Customer } from "./customers.js";

/** How many requests one customer gets at most, by their purpose. */
export interface PlannedRequests {
  /**
   * The questions of the detection. That to Variant A counts against the tenant's rate limit, as
   * does its token request.
   */
  readonly detection: number;
  readonly token: number;
  readonly call: number;
  /** One to the base URL, only if something failed. */
  readonly doctor: number;
  readonly total: number;
}

/**
 * Returns the most requests that a customer gets, apart from those that are sent again after a rate
 * limit or a failing server.
 *
 * @example
 * const most = customers.reduce((sum, customer) => sum + plannedRequests(customer).total, 0);
 */
export function plannedRequests(customer: Customer): PlannedRequests {
  const detection = customer.tenantId === undefined ? 2 : 3;
  const call = (customer.aClientId ?? customer.bClientId) === undefined ? 0 : 1;
  return { detection, token: call, call, doctor: 1, total: detection + 2 * call + 1 };
}
