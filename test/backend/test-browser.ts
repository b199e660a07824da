// A browser as far as cookies and origins go. It talks to one backend in the same process.

export type Handler = (request: Request) => Promise<Response>;

export class TestBrowser {
  readonly cookies: Map<string, string>;
  /** Every `Set-Cookie` header received. */
  readonly setCookies: string[] = [];
  readonly #handler: Handler;
  readonly #origin: string;

  constructor(handler: Handler, origin: string, cookies: Iterable<[string, string]> = []) {
    this.#handler = handler;
    this.#origin = origin;
    this.cookies = new Map(cookies);
  }

  get(target: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.send("GET", target, { headers });
  }

  /** Sends a request from the backend's own page. */
  post(
    target: string,
    body: unknown = {},
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return this.send("POST", target, {
      headers: { "content-type": "application/json", origin: this.#origin, ...headers },
      body: JSON.stringify(body),
    });
  }

  /** Requests `/auth/me` with this session as the bearer token, or else with the cookies. */
  me(session?: string): Promise<Response> {
    return this.get(
      "/auth/me",
      session === undefined ? {} : { authorization: `Bearer ${session}` },
    );
  }

  /** The scheme is in lower case, because its case does not matter (RFC 9110 section 11.1). */
  logOut(session: string | undefined, body: object = {}): Promise<Response> {
    return this.post("/auth/logout", body, { authorization: `bearer ${session}` });
  }

  async send(method: string, target: string, init: RequestInit = {}): Promise<Response> {
    const response = await this.#handler(this.request(method, target, init));
    for (const line of response.headers.getSetCookie()) this.#take(line);
    return response;
  }

  /** Makes a request with this browser's cookies, for `connect` and `session`. */
  request(method: string, target: string, init: RequestInit = {}): Request {
    const headers = new Headers(init.headers);
    const pairs = [...this.cookies].map(([name, value]) => `${name}=${value}`);
    if (pairs.length > 0 && !headers.has("cookie")) headers.set("cookie", pairs.join("; "));
    return new Request(new URL(target, this.#origin), { ...init, method, headers });
  }

  #take(line: string): void {
    this.setCookies.push(line);
    const [pair = "", ...attributes] = line.split("; ");
    const [name = "", value = ""] = pair.split("=");
    if (attributes.includes("Max-Age=0")) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}

/** The stable code of an error answer. */
export async function errorOf(response: Response): Promise<string> {
  return ((await response.clone().json()) as { error: string }).error;
}

/** The status and the stable code of an error answer, such as "401 session_missing". */
export async function refusalOf(answer: Response | Promise<Response>): Promise<string> {
  const response = await answer;
  return `${response.status} ${await errorOf(response)}`;
}
