/**
 * Sends the requests of a run: paced, within a budget, with a 429 waited out, each recorded without
 * its secrets.
 */
import { NotTried } from "./errors.js";
import { inferSchema, type JsonSchema } from "./learning/schema.js";
import type { Secrets } from "./secrets.js";

/**
 * One request and its answer, as reports show them. It holds no token, secret, code, assertion or
 * name.
 */
export interface Exchange {
  /** What the request was for. */
  readonly note: string;
  readonly method: string;
  /** Without the values of its query. */
  readonly url: string;
  /** The names of the body's fields, in order. */
  readonly fields: readonly string[];
  /** 0 if no answer came. */
  readonly status: number;
  readonly contentType?: string | undefined;
  /** The names of the response headers, sorted. */
  readonly headers: readonly string[];
  /**
   * The types in a JSON body, and the values of `error`, `error_description`, `token_type` and
   * `expires_in`.
   */
  readonly body: string;
  readonly milliseconds: number;
  /** Of a regular request only: what its answer teaches about the operation. */
  readonly observation?: Observation | undefined;
}

/** The shape of an answer, without a value that it held. */
export interface Observation {
  readonly variant: "A" | "B";
  /** `bearer` is a call with a bearer that must be refused. */
  readonly operation: "requestToken" | "refresh" | "listDevices" | "bearer";
  readonly status: number;
  readonly contentType?: string | undefined;
  readonly headers: readonly string[];
  /** JSON Schema 2020-12 of a JSON body. */
  readonly schema?: JsonSchema | undefined;
}

export interface Outgoing {
  readonly note: string;
  readonly method?: string | undefined;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** A function is called for each attempt, because a client assertion may be sent once only. */
  readonly body?: string | (() => Promise<string>) | undefined;
  /** The names of the body's fields, for the report. */
  readonly fields?: readonly string[] | undefined;
  /** Given for a regular request, whose answer is worth learning. */
  readonly observe?: Pick<Observation, "variant" | "operation"> | undefined;
  /** A 429 is an answer, and is not waited out. */
  readonly limited?: boolean | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body if it is JSON, of at most 200 levels. */
  readonly value: unknown;
  /** The body if it is a JSON object. */
  readonly fields: Readonly<Record<string, unknown>> | undefined;
  /** A 2xx whose JSON object has an `access_token`. */
  readonly accessToken: string | undefined;
  /** Epoch milliseconds by the clock of the run. */
  readonly receivedAt: number;
}

/** What a run waits for: its own pace, a rate limit, or an instant that a case needs. */
export type WaitReason = "pace" | "rate_limit" | "case";

/** The options of a run that its requests need. */
export interface RunOptions {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly now: () => number;
  readonly wait: (ms: number, reason: WaitReason) => Promise<void>;
  readonly paceMs: number;
  readonly maxRequests: number;
  readonly timeoutMs: number;
  readonly retryDeadlineMs: number;
  readonly signal: AbortSignal | undefined;
}

interface ExchangeOptions extends RunOptions {
  /** Values that must not be recorded, even if an answer repeats them. It grows during the run. */
  readonly secrets: Secrets;
  /** Ids of tenants and clients, which as names of members are values. */
  readonly ids: ReadonlySet<string>;
}

const mostBytes = 1024 * 1024;
/** "a schedule of a few seconds, doubling, with random jitter" (section 8) */
const firstBackoffMs = 2_000;
/** After so many requests without an answer in a row the target counts as down. */
const mostSilent = 3;

/**
 * Node's fetch, undici, sends a body again after a 421 (RFC 9110 section 15.5.20), and a code would
 * be presented twice, unless it cannot make the body again. Some versions then take a 401 for a
 * network fault, unless credentials are omitted.
 */
function sentOnce(init: RequestInit, text: string | undefined): RequestInit {
  if (text === undefined) return init;
  const bytes = new TextEncoder().encode(text);
  if (globalThis.process?.versions?.undici === undefined || bytes.byteLength === 0)
    return { ...init, body: text };
  const headers = { ...init.headers, "content-length": String(bytes.byteLength) };
  const body = {
    toString: () => text,
    async *[Symbol.asyncIterator]() {
      yield bytes;
    },
  };
  return { ...init, headers, body, duplex: "half", credentials: "omit" } as unknown as RequestInit;
}

export class Exchanges {
  readonly all: Exchange[] = [];
  readonly #options: ExchangeOptions;
  #silent = 0;
  /** What is said of the latest request without an answer. */
  #latest = "";

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  /** How many requests the budget still allows. */
  get left(): number {
    return this.#options.maxRequests - this.all.length;
  }

  /** Why nothing more is sent, if the target no longer answers. */
  get down(): string | undefined {
    return this.#silent >= mostSilent ? this.#latest : undefined;
  }

  /**
   * Sends one request, again after a rate limit.
   *
   * @throws NotTried if no answer comes, the budget is spent, or a rate limit does not end in time
   */
  async send(outgoing: Outgoing): Promise<Answer> {
    const { wait, now, retryDeadlineMs } = this.#options;
    let waitedMs = 0;
    for (let attempt = 0; ; attempt++) {
      const answer = await this.#once(outgoing);
      if (answer.status !== 429 || outgoing.limited) return answer;
      const backoffMs = firstBackoffMs * 2 ** attempt * (1 + Math.random() / 4);
      const waitMs = retryAfterMs(answer.headers, now()) ?? backoffMs;
      waitedMs += waitMs;
      if (waitedMs > retryDeadlineMs)
        throw new NotTried(
          `The rate limit did not end within ${retryDeadlineMs / 1000} s.`,
          "rate_limited",
        );
      await wait(waitMs, "rate_limit");
    }
  }

  async #once(outgoing: Outgoing): Promise<Answer> {
    const { note, method = "POST", url, headers = {}, fields = [], observe } = outgoing;
    const { fetch, now, wait, paceMs, timeoutMs, signal, secrets } = this.#options;
    signal?.throwIfAborted();
    if (this.down !== undefined) throw new NotTried(this.down, "down");
    if (this.left <= 0)
      throw new NotTried("The budget of requests is spent. Raise maxRequests.", "budget");
    if (this.all.length > 0 && paceMs > 0) await wait(paceMs, "pace");
    const body = typeof outgoing.body === "function" ? await outgoing.body() : outgoing.body;
    const asked = { note, method, url: withoutValues(url), fields };
    const startedAt = performance.now();
    const milliseconds = () => Math.round(performance.now() - startedAt);
    const limit = AbortSignal.timeout(timeoutMs);
    const abort = AbortSignal.any([limit, signal ?? limit]);
    try {
      // A server may refuse a large body unread, and close the connection. No later request must
      // meet it.
      const isLarge = (body?.length ?? 0) > 65_536;
      const init = {
        method,
        headers: {
          accept: "application/json",
          ...headers,
          ...(isLarge && { connection: "close" }),
        },
        redirect: "manual",
      } as const;
      const response = await fetch(url, { ...sentOnce(init, body), signal: abort });
      const text = await readText(response);
      const { status } = response;
      const value = parseJson(text);
      const object = isObject(value) ? value : undefined;
      for (const name of ["access_token", "refresh_token"]) secrets.keep(object?.[name]);
      const names = [...response.headers.keys()].filter((name) => !secrets.areIn(name)).sort();
      const type = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
      const contentType = type === undefined || secrets.areIn(type) ? undefined : type;
      const inferred = value === undefined ? undefined : inferSchema(value, this.#options.ids);
      // A server can repeat a secret as the name of a member, too.
      const schema = secrets.areIn(JSON.stringify(inferred) ?? "") ? undefined : inferred;
      const shown = shownBody(value, text, schema);
      this.all.push({
        ...asked,
        status,
        contentType,
        headers: names,
        body: secrets.areIn(shown) ? "not shown: it repeats a secret" : shown,
        milliseconds: milliseconds(),
        observation: observe && { ...observe, status, contentType, headers: names, schema },
      });
      this.#silent = 0;
      const token = status >= 200 && status < 300 ? object?.access_token : undefined;
      return {
        status,
        headers: response.headers,
        text,
        value,
        fields: object,
        accessToken: typeof token === "string" && token !== "" ? token : undefined,
        receivedAt: now(),
      };
    } catch (fault) {
      signal?.throwIfAborted();
      this.#silent++;
      const reason = limit.aborted ? `no answer within ${timeoutMs} ms` : codeOf(fault);
      this.#latest =
        `${new URL(url).origin} does not answer (${reason}). ` +
        "Check the address, the network and the proxy.";
      this.all.push({
        ...asked,
        status: 0,
        headers: [],
        body: reason,
        milliseconds: milliseconds(),
      });
      throw new NotTried(this.#latest, "no_answer");
    }
  }
}

/**
 * Reads at most 1 MiB; what is longer is cut, because no answer of the description is that long.
 */
async function readText(response: Response) {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    text += decoder.decode(chunk, { stream: true });
    if (bytes > mostBytes) break;
  }
  return text;
}

/** RFC 9110 section 10.2.3. Undefined if it is absent, past or garbage. */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const value = headers.get("retry-after")?.trim() ?? "";
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return ms > 0 ? ms : undefined;
}

/** A body of more levels is a trap for whatever walks it. */
const mostLevels = 200;

/** Undefined for what is not JSON, or nested too deeply. */
function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    let level = [value];
    for (let depth = 0; level.length > 0; depth++) {
      if (depth > mostLevels) return undefined;
      level = level.flatMap((one) =>
        typeof one === "object" && one !== null ? Object.values(one) : [],
      );
    }
    return value;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The values of a query may be codes. */
function withoutValues(url: string): string {
  const { origin, pathname, searchParams } = new URL(url);
  const names = [...new Set(searchParams.keys())].map((name) => name.slice(0, 40));
  return `${origin}${pathname}${names.length > 0 ? `?${names.join("&")}` : ""}`;
}

/**
 * Members with fixed values, which teach something and are not secret (RFC 6749 sections 5.1 and
 * 5.2).
 */
const shownMembers: Readonly<Record<string, RegExp>> = {
  error: /^[\w.:-]{1,60}$/,
  error_description: /^[\x20-\x7e]{1,200}$/,
  token_type: /^[\w-]{1,20}$/,
  expires_in: /^\d{1,9}$/,
};

/** A name that may be a value is not in the schema. */
function shownBody(value: unknown, text: string, schema: JsonSchema | undefined): string {
  if (text === "") return "empty";
  if (value === undefined) return `${text.length} characters that are not JSON`;
  if (!isObject(value)) return Array.isArray(value) ? `an array of ${value.length}` : typeof value;
  const named = Object.entries(value).filter(([name]) =>
    Object.hasOwn(Object(schema?.properties), name),
  );
  if (named.length === 0) return `an object with ${Object.keys(value).length} members`;
  const members = named.slice(0, 20);
  return `{ ${members.map(([name, member]) => `${name}: ${shownMember(name, member)}`).join(", ")} }`;
}

function shownMember(name: string, value: unknown): string {
  const isText = typeof value === "string" || typeof value === "number";
  if (isText && Object.hasOwn(shownMembers, name) && shownMembers[name]?.test(`${value}`))
    return JSON.stringify(value);
  return Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
}

function codeOf(fault: unknown): string {
  for (let at = fault; at instanceof Error; at = at.cause) {
    const { code } = at as { readonly code?: unknown };
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{1,60}$/.test(code)) return code;
  }
  return "the connection failed";
}
