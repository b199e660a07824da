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

  constructor(request: Request) {
    this.#request = request;
  }

  header(name: string): string | null {
    return this.#request.headers.get(name);
  }

  readBody(reading?: BodyReading): Promise<ReadBody> {
    return readBody(this.#request, reading);
  }
}
