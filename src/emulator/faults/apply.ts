// Applies faults to a request: before its handler, after it, or in its place.
import type { Connection, Sending } from "../http/connection.js";
import { isObject, parseJson, parseObject, readBody } from "../http/messages.js";
import type { Exchange } from "../http/operation.js";
import { asGrant } from "../oauth.js";
import { callerOf } from "../variant-b/token-endpoint.js";
import { canHaveContent, type Fault, type FaultMatch, type FaultOf } from "./faults.js";

/** At this speed a client gives up before it has the whole token answer. */
const DEFAULT_BYTES_PER_SECOND = 10;
const DEFAULT_RETRY_AFTER_SECONDS = 1;

/** Answers a request of a token endpoint or of the API. */
export async function underFaults(
  asked: Exchange,
  handle: () => Promise<Response>,
): Promise<Response> {
  const { deployment, note } = asked;
  const { faults } = deployment;
  const isApi = note.endpoint === "api";
  // This must precede the handler, which consumes the body.
  const caller = await identifyCaller(asked);
  const first = faults.strike(isApi ? "resource" : "before-token", factsOf(asked, caller));
  if (first !== undefined) {
    note.fault = first.name;
    note.tenantId ??= caller.tenantId;
    note.grant ??= caller.grant;
    if (caller.isKnown) note.clientId ??= caller.clientId;
    const instead = answerInstead(asked, first);
    if (instead !== undefined) return instead;
    if (first.name === "slow" && !isApi) {
      await wait(first.delayMs ?? 0, asked.connection.gone, faults.ended.signal);
      if (asked.connection.gone.aborted) return noAnswer(asked.sending);
    }
  }
  const answer = await handle();
  const last = isApi ? first : faults.strike("after-commit", factsOf(asked, caller));
  if (last === undefined) return answer;
  note.fault = last.name;
  return answerInstead(asked, last) ?? changed(asked, last, answer);
}

function factsOf({ request, note }: Exchange, caller: Caller): FaultMatch {
  const { variant, operation } = note;
  return {
    variant,
    operation,
    method: request.method,
    path: new URL(request.url).pathname,
    tenantId: caller.tenantId ?? note.tenantId,
    clientId: caller.clientId ?? note.clientId,
    grant: caller.grant ?? note.grant,
  };
}

/** The answer of a fault that does not need the real one. */
function answerInstead({ deployment, sending }: Exchange, fault: Fault): Response | undefined {
  if (fault.name === "status") return statusAnswer(fault);
  if (fault.name === "rate-limited") return rateLimitedAnswer(fault, deployment.clock());
  return fault.name === "reset" ? noAnswer(sending) : undefined;
}

async function changed(
  { deployment, sending }: Exchange,
  fault: Fault,
  answer: Response,
): Promise<Response> {
  switch (fault.name) {
    case "lost-answer":
      return noAnswer(sending);
    case "malformed-json":
      return withJson(answer, brokenJson);
    case "content-type":
      answer.headers.set("content-type", fault.contentType);
      break;
    case "fields":
      return withJson(answer, (text) => otherFields(text, fault));
    case "truncated":
      sending.cutAfter = fault.bytes ?? "half";
      break;
    case "skewed-date":
      sending.skewMs = fault.byMs;
      break;
    case "slow": {
      const { delayMs = 0, bytesPerSecond } = fault;
      const drips =
        bytesPerSecond ?? (fault.delayMs === undefined ? DEFAULT_BYTES_PER_SECOND : undefined);
      sending.slow = { delayMs, bytesPerSecond: drips, released: deployment.faults.ended.signal };
    }
  }
  return answer;
}

/** The response is only for the type: it is never sent. */
function noAnswer(sending: Sending): Response {
  sending.reset = true;
  return new Response(null);
}

/** The client that the request claims to come from, registered or not. */
interface Caller extends Pick<FaultMatch, "tenantId" | "clientId" | "grant"> {
  /** Whether the client is registered. Only then may the journal show its id. */
  readonly isKnown: boolean;
}

/** RFC 6750 section 2.1. */
const ANY_BEARER = /^Bearer +(\S+)$/i;

/** Reads a copy of the request, so that the handler can still read the body. */
async function identifyCaller({ deployment, note, request }: Exchange): Promise<Caller> {
  // So far this is the tenant in the path, if there is one.
  const { endpoint, tenantId } = note;
  if (endpoint === "api") {
    const value = ANY_BEARER.exec(request.headers.get("authorization") ?? "")?.[1];
    const token = deployment.accessTokens.find(value);
    return {
      tenantId: tenantId ?? token?.tenantId,
      clientId: token?.clientId,
      isKnown: token !== undefined,
    };
  }
  const body = await readBody(request.clone());
  if (!("text" in body)) return { isKnown: false };
  if (tenantId === undefined) {
    const fields = parseObject(body.text) ?? {};
    const caller = callerOf(deployment, fields);
    const { client_id: claimed, code, refresh_token: token, grant_type } = fields;
    const implied = typeof code === "string" ? "authorization_code" : token && "refresh_token";
    const grant = asGrant(grant_type ?? implied);
    const clientId = typeof claimed === "string" ? claimed : undefined;
    return { tenantId: caller.tenantId, clientId, grant, isKnown: caller.clientId !== undefined };
  }
  const form = new URLSearchParams(body.text);
  const clientId = form.get("client_id") ?? undefined;
  const isKnown = deployment.plugins.find(tenantId, clientId ?? "") !== undefined;
  return { tenantId, clientId, grant: asGrant(form.get("grant_type")), isKnown };
}

function statusAnswer({ status, body, headers: given }: FaultOf<"status">): Response {
  const headers = new Headers(given);
  const type = headers.get("content-type");
  if (body === undefined) {
    if (canHaveContent(status)) headers.set("content-length", "0");
    return new Response(null, { status, headers });
  }
  // A page, as gateways send it, must not get the quotes of a JSON string.
  const isText = typeof body === "string" && type !== null && !/json/i.test(type);
  if (type === null) headers.set("content-type", "application/json");
  return new Response(isText ? body : JSON.stringify(body), { status, headers });
}

/** `now` is in epoch milliseconds, from the clock that the `Date` header uses too. */
function rateLimitedAnswer(fault: FaultOf<"rate-limited">, now: number): Response {
  const { retryAfter = DEFAULT_RETRY_AFTER_SECONDS } = fault;
  const date = new Date((Math.ceil(now / 1000) + DEFAULT_RETRY_AFTER_SECONDS) * 1000);
  const headers = new Headers({ "cache-control": "no-store", "content-length": "0" });
  const value = retryAfter === "date" ? date.toUTCString() : String(retryAfter);
  if (retryAfter !== "absent") headers.set("retry-after", value);
  return new Response(null, { status: 429, headers });
}

/** Replaces the body of an answer. A status that allows no body becomes 200. */
async function withJson(answer: Response, edit: (text: string) => string): Promise<Response> {
  const headers = new Headers(answer.headers);
  headers.delete("content-length");
  if (!headers.has("content-type")) headers.set("content-type", "application/json");
  return new Response(edit(await answer.text()), { status: statusWithContent(answer), headers });
}

const statusWithContent = ({ status }: Response) => (canHaveContent(status) ? status : 200);

function brokenJson(text: string): string {
  const half = text.slice(0, Math.ceil(text.length / 2));
  // Half of a number may be a number, and half of an empty text is empty: make those invalid.
  return parseJson(half) === undefined && half !== "" ? half : `${half}{"`;
}

function otherFields(text: string, { fields }: FaultOf<"fields">): string {
  const value = parseJson(text);
  const merged = (one: unknown) => {
    if (!isObject(one)) return one;
    const members = Object.entries({ ...one, ...fields });
    return Object.fromEntries(members.filter(([name]) => fields[name] !== null));
  };
  return JSON.stringify(Array.isArray(value) ? value.map(merged) : merged(parseObject(text) ?? {}));
}

/**
 * Waits as long as the answer is delayed. False if no answer must be sent, or the caller has left.
 */
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
  const isCut = cutAfter !== undefined;
  if (!isCut && body.length === 0) return new Response(null, answer);
  // An empty body is announced with one byte, so that it can be cut too.
  const length = Math.max(1, body.length);
  const most = cutAfter === "half" ? Math.floor(length / 2) : (cutAfter ?? length);
  const sent = isCut ? body.subarray(0, Math.min(most, length - 1)) : body;
  const headers = new Headers(answer.headers);
  headers.set("content-length", String(length));
  const head = new Response(null, { status: statusWithContent(answer), headers });
  return connection.send(head, (ended) => drip(sent, slow, ended), isCut ? "cut" : "complete");
}

/** More drops per second would make no visible difference. */
const DROPS_PER_SECOND = 10;

/** Yields the body at once unless `slow` is given. `ended` is aborted when the reader has left. */
async function* drip(
  body: Uint8Array,
  slow: Sending["slow"],
  ended: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const rate = slow?.bytesPerSecond ?? Number.POSITIVE_INFINITY;
  const size = Math.min(body.length, Math.ceil(rate / DROPS_PER_SECOND));
  for (let at = 0; at < body.length; at += size) {
    if (slow !== undefined) await wait((size / rate) * 1000, ended, slow.released);
    if (ended.aborted) return;
    if (slow?.released.aborted) return yield body.subarray(at);
    yield body.subarray(at, at + size);
  }
}

/** Real milliseconds; resolves at once when any of the signals is aborted. */
function wait(ms: number, ...ends: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    if (ends.some(({ aborted }) => aborted)) return resolve();
    const done = () => {
      clearTimeout(timer);
      for (const end of ends) end.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    for (const end of ends) end.addEventListener("abort", done);
  });
}
