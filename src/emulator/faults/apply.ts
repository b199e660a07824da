// Lets the faults that strike a request do what they do, before its handler, after it, or in its place.
import type { Connection } from "../http/connection.js";
import { parseObject, readBody } from "../http/messages.js";
import type { Endpoint, RequestNote } from "../journal.js";
import { asGrant, type Grant } from "../oauth.js";
import type { Deployment } from "../state.js";
import { canHaveContent, type Fault, type FaultOf, type Json } from "./fault.js";
import type { StruckFacts } from "./faults.js";

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

/** The answer that replaces the handler's, if the handler must not run. */
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

/** What the request claims, registered or not. */
export interface Caller {
  readonly tenantId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly grant?: Grant | undefined;
  /** Whether the client is registered: only then may its id be shown. */
  readonly isKnown: boolean;
}

const NOBODY: Caller = { isKnown: false };
/** RFC 6750 section 2.1. */
const ANY_BEARER = /^Bearer +(\S+)$/i;

/** `tenantId` is that of the path, where the path has one. The body can be read again afterwards. */
export async function identifyCaller(
  deployment: Deployment,
  endpoint: Endpoint,
  tenantId: string | undefined,
  request: Request,
): Promise<Caller> {
  if (endpoint === "api") {
    const value = ANY_BEARER.exec(request.headers.get("authorization") ?? "")?.[1];
    const token = value === undefined ? undefined : deployment.accessTokens.find(value);
    return { tenantId: tenantId ?? token?.tenantId, clientId: token?.clientId, isKnown: token !== undefined };
  }
  const text = await peekBody(request);
  if (text === undefined) return NOBODY;
  return tenantId === undefined
    ? clientOfB(deployment, parseObject(text) ?? {})
    : pluginOfA(deployment, tenantId, text);
}

function pluginOfA({ plugins }: Deployment, tenantId: string, text: string): Caller {
  const form = new URLSearchParams(text);
  const clientId = form.get("client_id") ?? undefined;
  const isKnown = plugins.find(tenantId, clientId ?? "") !== undefined;
  return { tenantId, clientId, grant: asGrant(form.get("grant_type")), isKnown };
}

/** The path has no tenant: use the tenant of the account, of the code or token, or of the client. */
function clientOfB(
  { serviceAccounts, apiClients, authorizationCodes, refreshTokens, authorizations }: Deployment,
  fields: Readonly<Record<string, unknown>>,
): Caller {
  const text = (name: string) => (typeof fields[name] === "string" ? fields[name] : undefined);
  const [clientId, code, refreshToken] = [text("client_id"), text("code"), text("refresh_token")];
  const client = serviceAccounts.find(clientId ?? "") ?? apiClients.find(clientId ?? "");
  const refreshed = refreshToken === undefined ? undefined : refreshTokens.find(refreshToken);
  const person =
    code === undefined
      ? refreshed && authorizations.find(refreshed.authorizationId)
      : authorizationCodes.find(code);
  const implied = code !== undefined ? "authorization_code" : refreshToken && "refresh_token";
  return {
    tenantId: person?.tenantId ?? client?.tenantId,
    clientId,
    grant: asGrant(fields.grant_type ?? implied),
    isKnown: client !== undefined,
  };
}

async function peekBody(request: Request): Promise<string | undefined> {
  try {
    const body = await readBody(request.clone());
    return "text" in body ? body.text : undefined;
  } catch {
    return undefined;
  }
}

const DEFAULT_RETRY_AFTER_SECONDS = 1;

export function statusAnswer({ status, body, headers }: FaultOf<"status">): Response {
  const given = new Headers(headers);
  const type = given.get("content-type");
  if (body === undefined) {
    if (canHaveContent(status)) given.set("content-length", "0");
    return new Response(null, { status, headers: given });
  }
  // A gateway's page: JSON would put it in quotes.
  const isText = typeof body === "string" && type !== null && !/json/i.test(type);
  if (type === null) given.set("content-type", "application/json");
  return new Response(isText ? body : JSON.stringify(body), { status, headers: given });
}

/** `now`: epoch milliseconds, by the clock that `Date` shows too. */
export function rateLimitedAnswer({ retryAfter }: FaultOf<"rate-limited">, now: number): Response {
  const headers = new Headers({ "cache-control": "no-store", "content-length": "0" });
  const after = retryAfter ?? DEFAULT_RETRY_AFTER_SECONDS;
  if (after === "date") {
    headers.set(
      "retry-after",
      new Date((Math.ceil(now / 1000) + DEFAULT_RETRY_AFTER_SECONDS) * 1000).toUTCString(),
    );
  } else if (after !== "absent") headers.set("retry-after", String(after));
  return new Response(null, { status: 429, headers });
}

export async function malformedJson(answer: Response): Promise<Response> {
  const text = await answer.text();
  const half = text.slice(0, Math.ceil(text.length / 2));
  // Half a number may be one, and nothing is cut in half of nothing.
  return withJson(answer, parsed(half) === undefined && half !== "" ? half : `${half}{"`);
}

export async function otherFields(answer: Response, { fields }: FaultOf<"fields">): Promise<Response> {
  const text = await answer.text();
  const value = parsed(text);
  if (Array.isArray(value)) return withJson(answer, JSON.stringify(value.map((one) => merged(one, fields))));
  return withJson(answer, JSON.stringify(merged(parseObject(text) ?? {}, fields)));
}

export function otherContentType(answer: Response, { contentType }: FaultOf<"content-type">): Response {
  const headers = new Headers(answer.headers);
  headers.set("content-type", contentType);
  return new Response(answer.body, { status: answer.status, headers });
}

/** The same answer with another body; one that could have none is a 200. */
function withJson(answer: Response, body: string): Response {
  const headers = new Headers(answer.headers);
  headers.delete("content-length");
  if (!headers.has("content-type")) headers.set("content-type", "application/json");
  return new Response(body, { status: statusWithContent(answer.status), headers });
}

function merged(value: unknown, fields: Readonly<Record<string, Json>>): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const members = new Map([...Object.entries(value), ...Object.entries(fields)]);
  return Object.fromEntries([...members].filter(([name]) => fields[name] !== null));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

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

/** Waits as long as the answer is delayed. False if no answer must be sent, or the caller has left. */
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
  return connection.send(headOf(answer, length), () => onePiece(body.subarray(0, sent)), "cut");
}

/** Status and headers for a body of this length. */
function headOf({ status, headers: own }: Response, length: number): Response {
  const headers = new Headers(own);
  headers.set("content-length", String(length));
  return new Response(null, { status: statusWithContent(status), headers });
}

function slowly(body: Uint8Array, slow: Sending["slow"], ended: AbortSignal): AsyncIterable<Uint8Array> {
  return slow?.bytesPerSecond === undefined
    ? onePiece(body)
    : drip(body, slow.bytesPerSecond, ended, slow.released);
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}

/** A higher rate would not be visible. */
const DROPS_PER_SECOND = 10;

/** `ended`: the reader has left; `released`: the rest must come at once. */
export async function* drip(
  body: Uint8Array,
  bytesPerSecond: number,
  ended: AbortSignal,
  released: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const size = Math.ceil(bytesPerSecond / DROPS_PER_SECOND);
  for (let at = 0; at < body.length; at += size) {
    await wait((size / bytesPerSecond) * 1000, ended, released);
    if (ended.aborted) return;
    if (released.aborted) return yield body.subarray(at);
    yield body.subarray(at, at + size);
  }
}

/** Real milliseconds; resolves at once when any of the signals is aborted. */
export function wait(ms: number, ...ends: readonly AbortSignal[]): Promise<void> {
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

// Which answers can have a body.

/** The status for the same answer with a body. */
export function statusWithContent(status: number): number {
  return canHaveContent(status) ? status : 200;
}
