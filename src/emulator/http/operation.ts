// One operation of the deployment, and what it receives to answer a request.
import type { Endpoint, RequestNote } from "../records/journal.js";
import type { RuleId } from "../rules.js";
import type { Deployment } from "../state/deployment.js";
import type { Connection, Sending } from "./connection.js";
import type { PathParameters, Routed } from "./router.js";

/** A request, and how it is answered. */
export interface Exchange {
  readonly deployment: Deployment;
  readonly request: Request;
  readonly note: RequestNote;
  readonly sending: Sending;
  readonly connection: Connection;
}

/** A request at an operation. */
export interface Arrival extends Exchange, PathParameters {}

export interface Operation extends Routed {
  readonly endpoint: Endpoint;
  readonly variant: "A" | "B";
  /** The name of the operation in the journal. */
  readonly operation: string;
  readonly handler: (arrival: Arrival) => Promise<Response>;
  /** The rule that is broken by any other method on this path. */
  readonly methodRule?: RuleId;
}
