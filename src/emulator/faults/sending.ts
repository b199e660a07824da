// What a fault makes of the sending of an answer, once there is one.
import type { Connection } from "../http/connection.js";
import { statusWithContent } from "./content.js";
import { drip } from "./drip.js";
import { wait } from "./wait.js";

/** Written by a fault, read when the answer is sent; empty for an answer that is sent as it is. */
export interface Sending {
  /** No answer: the connection is reset. */
  reset?: boolean;
  /** Bytes of the body that are sent at most; "half" of them. */
  cutAfter?: number | "half";
  slow?: {
    readonly delayMs: number;
    readonly bytesPerSecond: number | undefined;
    /** Ends the slowness, not the answer. */
    readonly released: AbortSignal;
  };
  /** Milliseconds that `Date` is off. */
  skewMs?: number;
}

/** Waits for as long as the answer is held back; false if none is to be sent, or nobody waits for it any more. */
export async function holdBack({ reset, slow }: Sending, connection: Connection): Promise<boolean> {
  if (reset === true) return false;
  if (slow === undefined) return true;
  await wait(slow.delayMs, connection.gone, slow.released);
  return !connection.gone.aborted;
}

export async function sendAnswer(
  answer: Response,
  { cutAfter, slow }: Sending,
  connection: Connection,
): Promise<Response> {
  if (cutAfter === undefined && slow?.bytesPerSecond === undefined) return answer;
  const body = new Uint8Array(await answer.arrayBuffer());
  if (cutAfter === undefined) {
    if (body.length === 0) return new Response(null, answer);
    return connection.send(headOf(answer, body.length), (ended) => slowly(body, slow, ended), "complete");
  }
  // Of an empty body too something is missing.
  const length = Math.max(1, body.length);
  const sent = Math.min(cutAfter === "half" ? Math.floor(length / 2) : cutAfter, length - 1);
  return connection.send(headOf(answer, length), () => once(body.subarray(0, sent)), "cut");
}

/** Status and headers for a body of this length. */
function headOf({ status, headers: own }: Response, length: number): Response {
  const headers = new Headers(own);
  headers.set("content-length", String(length));
  return new Response(null, { status: statusWithContent(status), headers });
}

function slowly(body: Uint8Array, slow: Sending["slow"], ended: AbortSignal): AsyncIterable<Uint8Array> {
  return slow?.bytesPerSecond === undefined
    ? once(body)
    : drip(body, slow.bytesPerSecond, ended, slow.released);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}
