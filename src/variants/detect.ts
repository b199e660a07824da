/**
 * Which variant a deployment serves, found out without spending a credential: the questions carry no client id,
 * secret, assertion or code, and only an answer that nothing else gives decides.
 */
import { ConfigurationError, type Detection, type Evidence, type Variant } from "../errors.js";
import { type Answer, exchange, jsonObject } from "../http/exchange.js";
import type { StopSignal } from "../http/time-limit.js";
import { requireClock, requireDuration, requireSignal } from "../options.js";
import { version } from "../version.js";
import {
  errorsOfA,
  type Fetch,
  isFixedDescriptionOfA,
  parseBaseUrl,
  parseTenantId,
  siblingOfTokenEndpointB,
  type Target,
  tokenEndpointOfA,
  tokenEndpointOfB,
} from "./target.js";

/** What the questions call themselves, so that an administrator who finds them in a log can look them up. */
export const detectionUserAgent: string = `bivariant/${version} (variant detection; sends no credential)`;

/** A grant type that no service knows: "grant_type is neither ..." (section 7.1) is the answer hoped for. */
const unknownGrantType = "bivariant-detect";

/** Of one HTTP request. */
const defaultTimeoutMs = 10_000;

/** Statuses that only something which read the JSON body is expected to give at Variant B's token endpoint. */
const tellingStatusesOfB: readonly number[] = [400, 401, 415, 422];

export interface DetectVariantOptions {
  readonly baseUrl: string;
  readonly tenantId: string;
  readonly fetch?: Fetch | undefined;
  /** Epoch milliseconds. */
  readonly now?: (() => number) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** One HTTP request. Default 10 000. */
  readonly timeoutMs?: number | undefined;
  readonly allowInsecureHttp?: boolean | undefined;
  readonly tenantIdPattern?: RegExp | undefined;
}

/**
 * Asks a deployment which variants it serves: both, with at most three requests and never two to Variant A's token
 * endpoint. A 401, 403, 405, 429, 5xx, a page or a redirect is no verdict.
 *
 * @throws ConfigurationError before any request
 * @throws TransportError when a question got no answer: never a verdict
 * @see the description, sections 4.1, 4.2 and 7.1
 * @example
 * const { served, evidence } = await detectVariant({ baseUrl: "https://customer.example", tenantId: "acme" });
 */
export async function detectVariant(options: DetectVariantOptions): Promise<Detection> {
  const checked = checkOptions(options);
  const target = {
    baseUrl: parseBaseUrl(options.baseUrl, options.allowInsecureHttp),
    tenantId: parseTenantId(options.tenantId, options.tenantIdPattern),
  };
  return detect(target, ["A", "B"], { ...checked, untilYes: false });
}

/** @throws ConfigurationError `option_invalid` */
function checkOptions(options: DetectVariantOptions): Omit<DetectOptions, "untilYes"> {
  const invalid = (option: string, why: string) =>
    new ConfigurationError("option_invalid", `${option} ${why}.`, { option });
  if (typeof options !== "object" || options === null) throw invalid("options", "are missing");
  const { fetch, allowInsecureHttp } = options;
  if (fetch !== undefined && typeof fetch !== "function") throw invalid("fetch", "is no function");
  if (allowInsecureHttp !== undefined && typeof allowInsecureHttp !== "boolean")
    throw invalid("allowInsecureHttp", "is neither true nor false");
  const timeoutMs = requireDuration("timeoutMs", options.timeoutMs, defaultTimeoutMs, 1);
  return { fetch, now: requireClock(options.now), timeoutMs, signal: requireSignal(options.signal) };
}

export interface DetectOptions {
  readonly fetch?: Fetch | undefined;
  readonly now?: (() => number) | undefined;
  readonly signal?: StopSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** Stops at the first variant that is there. */
  readonly untilYes: boolean;
  /** Told of each answer: a rate limit and the server's clock are worth knowing before a token is asked for. */
  readonly onAnswer?: ((variant: Variant, answer: Answer) => void) | undefined;
}

/** The detection itself, for a checked target, in the order of preference. */
export async function detect(
  target: Target,
  order: readonly Variant[],
  options: DetectOptions,
): Promise<Detection> {
  const now = options.now ?? Date.now;
  const served: Record<Variant, "yes" | "no" | "unknown"> = { A: "unknown", B: "unknown" };
  const evidence: Evidence[] = [];
  for (const variant of order) {
    const found = variant === "A" ? await askForA(target, options) : await askForB(target, options);
    evidence.push(...found);
    served[variant] = found[found.length - 1]?.says ?? "unknown";
    if (options.untilYes && served[variant] === "yes") break;
  }
  return Object.freeze({
    served: Object.freeze(served),
    evidence: Object.freeze(evidence),
    detectedAt: now(),
  });
}

async function askForA(target: Target, options: DetectOptions): Promise<Evidence[]> {
  const url = tokenEndpointOfA(target);
  const body = new URLSearchParams({ grant_type: unknownGrantType }).toString();
  const answer = await ask("A", url, "application/x-www-form-urlencoded", body, options);
  const { error, error_description } = jsonObject(answer.text) ?? {};
  const isKnown = (errorsOfA as readonly unknown[]).includes(error);
  if (answer.status === 400 && isKnown && isFixedDescriptionOfA(error_description))
    return [tell("A", url, answer, "yes", `${error} with the fixed text of Variant A's token endpoint`)];
  if (isGone(answer)) return [tell("A", url, answer, "no", "nothing is served at this path")];
  const reason =
    answer.status === 400 ? "not with the body of Variant A's token endpoint" : unclear(answer.status);
  return [tell("A", url, answer, "unknown", reason)];
}

async function askForB(target: Target, options: DetectOptions): Promise<Evidence[]> {
  const url = tokenEndpointOfB(target);
  const answer = await ask("B", url, "application/json", "{}", options);
  if (isGone(answer)) return [tell("B", url, answer, "no", "nothing is served at this path")];
  if (!isTellingForB(answer)) {
    const reason = tellingStatusesOfB.includes(answer.status)
      ? "without a JSON object"
      : unclear(answer.status);
    return [tell("B", url, answer, "unknown", reason)];
  }
  const siblingUrl = siblingOfTokenEndpointB(target);
  const sibling = await ask("B", siblingUrl, "application/json", "{}", options);
  // What a limiter or a failing server says to the second question says nothing about the first.
  const isComparable = sibling.status !== 429 && sibling.status < 500;
  const says = isComparable && sibling.status !== answer.status ? "yes" : "unknown";
  const reason =
    says === "yes"
      ? "the made-up sibling path answers otherwise than the token endpoint"
      : isComparable
        ? "the made-up sibling path answers the same: something answers every path alike"
        : unclear(sibling.status);
  return [
    {
      ...tell(
        "B",
        url,
        answer,
        "unknown",
        says === "yes"
          ? "a JSON refusal that a made-up sibling path does not give"
          : "a JSON refusal, compared with a made-up sibling path",
      ),
      says,
    },
    { ...tell("B", siblingUrl, sibling, says, reason), question: "sibling" },
  ];
}

async function ask(
  variant: Variant,
  url: string,
  contentType: string,
  body: string,
  { fetch, now, signal, timeoutMs, onAnswer }: DetectOptions,
): Promise<Answer> {
  const send = fetch ?? ((to: string, init?: RequestInit) => globalThis.fetch(to, init));
  const answer = await exchange(
    (abort) =>
      send(url, {
        method: "POST",
        headers: {
          accept: "application/json",
          "content-type": contentType,
          "user-agent": detectionUserAgent,
        },
        body,
        redirect: "manual",
        signal: abort,
      }),
    {
      variant,
      baseUrl: new URL(url).origin,
      now: now ?? Date.now,
      timeoutMs: timeoutMs ?? defaultTimeoutMs,
      signal,
    },
  );
  onAnswer?.(variant, answer);
  return answer;
}

function isGone({ status }: Answer): boolean {
  return status === 404 || status === 410;
}

function isTellingForB(answer: Answer): boolean {
  return tellingStatusesOfB.includes(answer.status) && jsonObject(answer.text) !== undefined;
}

function unclear(status: number): string {
  if (status < 300) return "a success where a refusal was to come: is this a page, or another server?";
  if (status < 400) return "a redirect, which is not followed: is baseUrl the final address?";
  if (status === 429) return "rate limited: the answer says nothing of the variant";
  if (status >= 500) return "the server failed: the answer says nothing of the variant";
  return "what other servers and proxies say too";
}

function tell(
  variant: Variant,
  url: string,
  answer: Answer,
  says: Evidence["says"],
  reason: string,
): Evidence {
  const contentType = /^[\w.+-]{1,40}\/[\w.+-]{1,80}(?=$|[\s;])/.exec(
    answer.headers.get("content-type") ?? "",
  )?.[0];
  return {
    variant,
    question: "token endpoint",
    url,
    status: answer.status,
    ...(contentType === undefined ? {} : { contentType: contentType.toLowerCase() }),
    says,
    reason,
  };
}
