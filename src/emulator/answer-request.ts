// One request from its arrival to its answer and its entry in the journal.
import type { App } from "./app.js";
import { holdBack, type Sending, sendAnswer } from "./faults/sending.js";
import type { Connection } from "./http/connection.js";
import type { Deployment } from "./state.js";

export async function answerRequest(
  app: App,
  deployment: Deployment,
  request: Request,
  connection: Connection,
): Promise<Response> {
  const { clock, journal } = deployment;
  const at = clock();
  const note = journal.arrived();
  const sending: Sending = {};
  const customerLog = deployment.customerLog.of(note);
  const answer = await app.answer({ ...deployment, customerLog }, request, { note, sending, connection });
  // One clock: a client that learns the server's time from Date learns this one.
  answer.headers.set("date", new Date(clock() + (sending.skewMs ?? 0)).toUTCString());
  const isSent = await holdBack(sending, connection);
  const { method, url } = request;
  journal.record(at, { method, path: new URL(url).pathname }, isSent ? answer.status : 0, note);
  return isSent ? sendAnswer(answer, sending, connection) : connection.reset();
}
