// A request as far as the token endpoints look at it, whichever way it came in.
import { type BodyReading, type ReadBody, readBody } from "./read-body.js";

export interface ReceivedRequest {
  /** All values of a header, as `Headers` joins them; null if there is none. `name` is in lower case. */
  header(name: string): string | null;
  /** Can be called once. */
  readBody(reading?: BodyReading): Promise<ReadBody>;
}

/** One of the platform's own. */
export class FetchedRequest implements ReceivedRequest {
  readonly #request: Request;
  /** A request's signal follows its caller's only while both live: what waits for a body holds them. */
  readonly held: unknown;

  /** `given`: what the caller made, where `request` was made of it. */
  constructor(request: Request, given?: unknown) {
    this.#request = request;
    this.held = given;
  }

  header(name: string): string | null {
    return this.#request.headers.get(name);
  }

  readBody(reading?: BodyReading): Promise<ReadBody> {
    return readBody(this.#request, reading);
  }
}
