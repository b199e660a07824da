/** A request with the bearer: renewed and sent again once after a 401, and never out of the base URL. */
import type { AccessToken, Auth } from "../auth/auth.js";
import type { EventBody } from "../auth/events.js";
import {
  isLoginRequiredError,
  isRelaunchRequiredError,
  type LoginRequiredError,
  type RelaunchRequiredError,
  UnexpectedResponseError,
} from "../errors.js";
import type { Fetch } from "../variants/target.js";
import { canBeSentAgain, mostRedirects, type PlainRequest, redirected } from "./redirects.js";

/** A younger token that is refused is not too old: the route refuses it, and renewing would storm. */
const youngTokenMs = 30_000;

export interface BearerFetchContext {
  readonly auth: Auth;
  readonly fetch: Fetch;
  readonly now: () => number;
  readonly tell: (event: EventBody) => void;
}

export interface BearerRequest<T> {
  /** Checked by the caller to lie under the base URL. */
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: BodyInit | null | undefined;
  /** Ends the wait for a token. */
  readonly signal: AbortSignal | undefined;
  /** Bounds one request in time, not the wait for a token before it. */
  readonly limit: <R>(send: (signal: AbortSignal) => Promise<R>) => Promise<R>;
  /** Reads what is wanted of an answer, within the limit. */
  readonly read: (response: Response) => Promise<T>;
  readonly operationId?: string | undefined;
  /** What else goes into the RequestInit, such as undici's `dispatcher`. */
  readonly init?: RequestInit | undefined;
  readonly anonymous?: boolean | undefined;
}

export interface BearerAnswer<T> {
  readonly response: Response;
  /** Whether the bearer went to who gave the answer: a redirect may have led out of the base. */
  readonly withBearer: boolean;
  readonly content: T;
  /** Of a 401: what to ask the person for, without whom there is no other token. */
  readonly required?: RelaunchRequiredError | LoginRequiredError | undefined;
}

/**
 * Sends a request with the bearer. After a 401 a token older than 30 s is invalidated, renewed, and the call sent
 * again once if its body can be; a second 401, or one on a young token, is the answer. A 403 is never sent again. Where
 * only a person can get another token the 401 is the answer too, and says what to ask them for.
 */
export async function bearerFetch<T>(
  request: BearerRequest<T>,
  context: BearerFetchContext,
): Promise<BearerAnswer<T>> {
  if (request.anonymous) return send(request, undefined, context);
  const { auth, now, tell } = context;
  const token = await auth.getAccessToken({ signal: request.signal });
  const answer = await send(request, token, context);
  if (answer.response.status !== 401 || !answer.withBearer) return answer;
  const ageMs = now() - (token.issuedAt ?? 0);
  // A clock that was set back makes every token look young: that must not keep a refused one.
  if (ageMs >= 0 && ageMs <= youngTokenMs) return answer;
  if (auth.needsPerson) return { ...answer, required: auth.refused?.(token) };
  auth.invalidate(token);
  if (!canBeSentAgain(request.body)) return answer;
  let renewed: AccessToken;
  try {
    renewed = await auth.getAccessToken({ signal: request.signal });
  } catch (error) {
    if (isRelaunchRequiredError(error) || isLoginRequiredError(error)) return { ...answer, required: error };
    throw error;
  }
  if (renewed.value === token.value) return answer;
  if (!answer.response.bodyUsed) answer.response.body?.cancel().catch(() => {});
  tell({ type: "call_replayed", method: request.method, ...operation(request) });
  return send(request, renewed, context);
}

function send<T>(
  request: BearerRequest<T>,
  token: AccessToken | undefined,
  context: BearerFetchContext,
): Promise<BearerAnswer<T>> {
  return request.limit(async (signal) => {
    const { response, withBearer } = await follow(request, token, context, signal);
    return { response, withBearer, content: await request.read(response) };
  });
}

function operation({ operationId }: { operationId?: string | undefined }): { operationId?: string } {
  return operationId === undefined ? {} : { operationId };
}

async function follow(
  {
    url,
    method,
    headers,
    body,
    init,
  }: Pick<BearerRequest<unknown>, "url" | "method" | "headers" | "body" | "init">,
  token: AccessToken | undefined,
  { auth, fetch }: BearerFetchContext,
  signal: AbortSignal,
): Promise<Omit<BearerAnswer<unknown>, "content">> {
  let request: PlainRequest = { url, method, body, bearer: token !== undefined };
  let sent = headers;
  // A redirect may take the body away: it must not come back from the init.
  const { body: _body, ...rest } = init ?? {};
  for (let hops = 0; ; hops++) {
    const response = await fetch(request.url, {
      ...rest,
      method: request.method,
      headers:
        request.bearer && token !== undefined ? { ...sent, authorization: `Bearer ${token.value}` } : sent,
      ...(request.body === undefined || request.body === null ? {} : { body: request.body }),
      redirect: "manual",
      signal,
    });
    const isRefused = init?.redirect === "error" && response.status >= 300 && response.status < 400;
    if (response.type === "opaqueredirect" || isRefused)
      throw new UnexpectedResponseError(
        "response_redirected",
        isRefused
          ? 'The API answered with a redirect, which redirect: "error" refuses.'
          : "The API answered with a redirect, which a browser does not let be followed by hand.",
        { status: response.status, variant: auth.variant },
      );
    const next = init?.redirect === "manual" ? undefined : redirected(response, request, auth.baseUrl);
    if (next === undefined || hops >= mostRedirects) return { response, withBearer: request.bearer };
    response.body?.cancel().catch(() => {});
    sent = withoutStaleHeaders(sent, next);
    request = next;
  }
}

/** What goes along out of the base: what is asked for, not who asks. */
const harmlessHeaders: readonly string[] = ["accept", "accept-language", "range"];

/** Out of the base nothing goes along that identifies the caller; without a body nothing that describes one. */
function withoutStaleHeaders(
  headers: Readonly<Record<string, string>>,
  { bearer, body }: PlainRequest,
): Readonly<Record<string, string>> {
  const isStale = (name: string) =>
    (!bearer && !harmlessHeaders.includes(name)) ||
    ((body === undefined || body === null) && name.startsWith("content-"));
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isStale(name)));
}
