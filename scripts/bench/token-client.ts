// Posts token requests over keep-alive connections, one at a time on each.
import { type Dispatcher, interceptors, Pool } from "undici";

const headers = { "content-type": "application/x-www-form-urlencoded" };

export class TokenClient {
  readonly #path: string;
  readonly #connections: number;
  readonly #pool: Pool;
  readonly #retrying: Dispatcher;

  constructor(url: string, connections: number) {
    const { origin, pathname } = new URL(url);
    this.#path = pathname;
    this.#connections = connections;
    this.#pool = new Pool(origin, { connections });
    // A server closes idle connections, which a client that is busy signing learns only when it
    // writes.
    this.#retrying = this.#pool.compose(interceptors.retry({ methods: ["POST"], minTimeout: 10 }));
  }

  /** @throws for an answer without a token */
  async post(forms: readonly string[]): Promise<void> {
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let body = forms[next++]; body !== undefined; body = forms[next++]) {
        const answer = await this.#retrying.request({
          path: this.#path,
          method: "POST",
          headers,
          body,
        });
        const text = await answer.body.text();
        if (answer.statusCode !== 200 || !text.includes('"access_token":"'))
          throw new Error(`no token: ${text}`);
      }
    };
    await Promise.all(Array.from({ length: this.#connections }, worker));
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}
