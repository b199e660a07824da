// Lets the faults that strike a request do what they do, before its handler, after it, or in its place.

import type { Connection } from "../http/connection.js";
import type { RequestNote } from "../journal.js";
import type { Deployment } from "../state.js";
import {
  malformedJson,
  otherContentType,
  otherFields,
  rateLimitedAnswer,
  statusAnswer,
} from "./altered-answer.js";
import type { Fault, FaultOf } from "./fault.js";
import type { StruckFacts } from "./faults.js";
import { type Caller, identifyCaller } from "./identify-caller.js";
import type { Sending } from "./sending.js";
import { wait } from "./wait.js";

/** A token answer then takes longer than clients wait. */
const DEFAULT_BYTES_PER_SECOND = 10;

/** A request of a token endpoint or of an API route, and where to write what becomes of it. */
export interface FaultyRequest {
  readonly deployment: Deployment;
  readonly request: Request;
  readonly endpoint: "token" | "api";
  /** Of the path, where the path names one. */
  readonly tenantId: string | undefined;
  readonly note: RequestNote;
  readonly sending: Sending;
  readonly connection: Connection;
}

export async function underFaults(asked: FaultyRequest, handle: () => Promise<Response>): Promise<Response> {
  const { deployment, request, endpoint, tenantId, note } = asked;
  const { faults } = deployment;
  const isArmed =
    endpoint === "api" ? faults.isArmedFor("resource") : faults.isArmedFor("before-token", "after-commit");
  // A fault that is armed meanwhile strikes the next request.
  if (!isArmed) return handle();
  // Before the handler takes the body away.
  const caller = await identifyCaller(deployment, endpoint, tenantId, request);
  const first = faults.strike(endpoint === "api" ? "resource" : "before-token", factsOf(asked, caller));
  if (first !== undefined) {
    noteStruck(note, first, caller);
    const instead = await beforeHandler(asked, first);
    if (instead !== undefined) return instead;
  }
  const answer = await handle();
  const last = endpoint === "api" ? first : faults.strike("after-commit", factsOf(asked, caller));
  if (last === undefined) return answer;
  noteStruck(note, last, undefined);
  return afterHandler(asked, last, answer);
}

function factsOf({ request, tenantId, note }: FaultyRequest, caller: Caller | undefined): StruckFacts {
  const { variant, operation } = note;
  return {
    variant,
    operation,
    method: request.method,
    path: new URL(request.url).pathname,
    tenantId: tenantId ?? caller?.tenantId ?? note.tenantId,
    clientId: caller?.clientId ?? note.clientId,
    grant: caller?.grant ?? note.grant,
  };
}

function noteStruck(note: RequestNote, { name }: Fault, caller: Caller | undefined): void {
  note.fault = name;
  if (caller === undefined) return;
  note.tenantId ??= caller.tenantId;
  note.grant ??= caller.grant;
  if (caller.isKnown) note.clientId ??= caller.clientId;
}

/** The answer, if the request is not to be looked at. */
async function beforeHandler(
  { deployment, endpoint, sending, connection }: FaultyRequest,
  fault: Fault,
): Promise<Response | undefined> {
  if (fault.name === "status") return statusAnswer(fault);
  if (fault.name === "rate-limited") return rateLimitedAnswer(fault, deployment.clock());
  if (fault.name === "reset") return noAnswer(sending);
  if (fault.name !== "slow" || endpoint === "api") return undefined;
  await wait(fault.delayMs ?? 0, connection.gone, deployment.faults.released);
  return connection.gone.aborted ? noAnswer(sending) : undefined;
}

async function afterHandler(asked: FaultyRequest, fault: Fault, answer: Response): Promise<Response> {
  const { sending } = asked;
  switch (fault.name) {
    case "status":
      return statusAnswer(fault);
    case "reset":
    case "lost-answer":
      return noAnswer(sending);
    case "truncated":
      sending.cutAfter = fault.bytes ?? "half";
      return answer;
    case "slow":
      slowDown(asked, fault);
      return answer;
    case "malformed-json":
      return malformedJson(answer);
    case "content-type":
      return otherContentType(answer, fault);
    case "fields":
      return otherFields(answer, fault);
    case "skewed-date":
      sending.skewMs = fault.byMs;
      return answer;
    default:
      return answer;
  }
}

/** What is given instead is never sent. */
function noAnswer(sending: Sending): Response {
  sending.reset = true;
  return new Response(null);
}

function slowDown(
  { deployment, sending }: FaultyRequest,
  { bytesPerSecond, delayMs }: FaultOf<"slow">,
): void {
  const speed = bytesPerSecond ?? (delayMs === undefined ? DEFAULT_BYTES_PER_SECOND : undefined);
  sending.slow = { delayMs: delayMs ?? 0, bytesPerSecond: speed, released: deployment.faults.released };
}
