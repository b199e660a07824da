// A request as Node received it, where it is so plain that nothing has to be made of it first.
import type { IncomingMessage } from "node:http";
import { type BodyReading, decodeBody, MAXIMUM_BODY_BYTES, type ReadBody } from "./read-body.js";
import type { ReceivedRequest } from "./received-request.js";

/** A host and its port; every other spelling is for somebody who parses it. */
const PLAIN_HOST = /^[a-z0-9.-]+(:\d+)?$/i;
const CONTENT_LENGTH = /^\d{1,6}$/;

export class IncomingRequest implements ReceivedRequest {
  readonly #incoming: IncomingMessage;

  private constructor(incoming: IncomingMessage) {
    this.#incoming = incoming;
  }

  /** Undefined: it is not plain. Node's parser sees to it that a body is as long as its Content-Length says. */
  static of(incoming: IncomingMessage): IncomingRequest | undefined {
    const { host, "content-length": length, "transfer-encoding": encoding } = incoming.headers;
    if (host === undefined || !PLAIN_HOST.test(host) || encoding !== undefined) return undefined;
    if (length === undefined || !CONTENT_LENGTH.test(length)) return undefined;
    return Number(length) <= MAXIMUM_BODY_BYTES ? new IncomingRequest(incoming) : undefined;
  }

  /** Of the raw ones: of a repeated header Node's own record may hold the first alone. */
  header(name: string): string | null {
    const { rawHeaders } = this.#incoming;
    let joined: string | null = null;
    for (let at = 0; at < rawHeaders.length; at += 2) {
      if (rawHeaders[at]?.toLowerCase() !== name) continue;
      const value = rawHeaders[at + 1] ?? "";
      joined = joined === null ? value : `${joined}, ${value}`;
    }
    return joined;
  }

  readBody(reading: BodyReading = {}): Promise<ReadBody> {
    const incoming = this.#incoming;
    return new Promise((resolve) => {
      const chunks: Buffer[] = [];
      const end = (isWhole: boolean) => resolve(decodeBody(chunks, isWhole, reading));
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.once("end", () => end(true));
      incoming.once("error", () => end(false));
    });
  }
}
