/**
 * Finds out which variants a deployment serves, without spending a credential. The questions
 * contain no client id, secret, assertion or code, and only an answer that no other server gives
 * counts as a yes.
 */
import {
  type RequestOptions,
  type ResolvedRequestOptions,
  resolveRequestOptions,
  type TargetOptions,
} from "../client-options.js";
import type { Detection, Evidence, Variant } from "../errors.js";
import { type Answer, exchange, jsonObject, sendRequest } from "../http/exchange.js";
import { userAgent } from "../version.js";
import { parseTarget, type Target, tokenEndpointOfA, tokenEndpointOfB } from "./target.js";

/** The user agent of each question, so that administrators who find it in a log can look it up. */
export const detectionUserAgent: string = `${userAgent} (variant detection; sends no credential)`;

/**
 * A form with a grant type that no service knows. A Variant A endpoint answers it with a documented
 * refusal (section 7.1).
 */
const unknownGrant = "grant_type=bivariant-detect";

/**
 * Every refusal of Variant A's token endpoint is a 400 with one of these errors (section 7.1 of the
 * description).
 */
const errorsOfA: readonly unknown[] =
  "invalid_client invalid_grant unsupported_grant_type invalid_request".split(" ");

/**
 * The fixed `error_description` of every refusal. Section 7.1 shows it with and without the full
 * stop.
 */
const fixedDescriptionOfA = /^The token request was rejected\.?$/;

/** Statuses with which a server refuses a JSON body that it has read. */
const refusalStatusesOfB: readonly number[] = [400, 401, 415, 422];

/** The options of {@link detectVariant}. */
export interface DetectVariantOptions extends TargetOptions, RequestOptions {
  readonly tenantId: string;
  readonly signal?: AbortSignal | undefined;
}

/** Does the work of `detectVariant`, which loads this module lazily. */
export async function detectBoth(options: DetectVariantOptions): Promise<Detection> {
  const resolved = resolveRequestOptions(options);
  const { signal } = options;
  const target = parseTarget(options, resolved, undefined);
  return detect(target, ["A", "B"], { ...resolved, signal, untilYes: false });
}

export interface DetectOptions
  extends Pick<ResolvedRequestOptions, "fetch" | "intercept" | "timeoutMs" | "clock"> {
  readonly signal?: AbortSignal | undefined;
  /** An earlier part of the detection, which asked about the other variant. */
  readonly before?: Detection | undefined;
  /** Whether to stop at the first variant that is served. */
  readonly untilYes: boolean;
  /**
   * Called with each answer that says something about the token endpoint: its rate limit and the
   * server's clock.
   */
  readonly onAnswer?: ((variant: Variant, answer: Answer) => void | Promise<void>) | undefined;
}

/** Asks a checked target about the variants in their order of preference. */
export async function detect(
  target: Target,
  order: readonly Variant[],
  options: DetectOptions,
): Promise<Detection> {
  const { before } = options;
  const served: Record<Variant, "yes" | "no" | "unknown"> = {
    A: "unknown",
    B: "unknown",
    ...before?.served,
  };
  const evidence: Evidence[] = [...(before?.evidence ?? [])];
  for (const variant of order) {
    const found = variant === "A" ? await askForA(target, options) : await askForB(target, options);
    evidence.push(...found);
    served[variant] = found[found.length - 1]?.says ?? "unknown";
    if (options.untilYes && served[variant] === "yes") break;
  }
  return Object.freeze({
    served: Object.freeze(served),
    evidence: Object.freeze(evidence),
    detectedAt: options.clock.now(),
  });
}

async function askForA(target: Target, options: DetectOptions) {
  const url = tokenEndpointOfA(target);
  const asked = await ask(target, "A", "token endpoint", url, unknownGrant, options);
  const { status, text, evidence } = asked;
  if (status !== 400) return [withoutRefusal(asked)];
  const { error, error_description } = jsonObject(text) ?? {};
  return errorsOfA.includes(error) &&
    typeof error_description === "string" &&
    fixedDescriptionOfA.test(error_description)
    ? [evidence("yes", `${error} with the fixed text of Variant A's token endpoint`)]
    : [evidence("unknown", "not with the body of Variant A's token endpoint")];
}

async function askForB(target: Target, options: DetectOptions) {
  const asked = await ask(target, "B", "token endpoint", tokenEndpointOfB(target), "{}", options);
  const { status, text, evidence } = asked;
  if (!refusalStatusesOfB.includes(status)) return [withoutRefusal(asked)];
  if (jsonObject(text) === undefined) return [evidence("unknown", "without a JSON object")];
  // No deployment serves this path, so a gateway that gives every path the same answer shows here.
  const sibling = await ask(
    target,
    "B",
    "sibling",
    `${target.baseUrl}/v1/auth/bivariant-detect`,
    "{}",
    options,
  );
  const compared = evidence("unknown", "a JSON refusal, compared with a made-up sibling path");
  // A rate limit or a failing server makes the second answer incomparable with the first.
  if (sibling.status === 429 || sibling.status >= 500) return [compared, withoutRefusal(sibling)];
  const alike = "the made-up sibling path answers the same, so the answer is not specific";
  if (sibling.status === status) return [compared, sibling.evidence("unknown", alike)];
  return [
    evidence("yes", "a JSON refusal that a made-up sibling path does not return"),
    sibling.evidence("yes", "the made-up sibling path answers differently from the token endpoint"),
  ];
}

interface Asked extends Pick<Answer, "status" | "text"> {
  /** Makes the evidence of this answer. */
  readonly evidence: (says: Evidence["says"], reason: string) => Evidence;
}

async function ask(
  target: Target,
  variant: Variant,
  question: Evidence["question"],
  url: string,
  body: string,
  options: DetectOptions,
): Promise<Asked> {
  const { clock, signal, timeoutMs, onAnswer } = options;
  const headers = {
    accept: "application/json",
    "content-type": variant === "A" ? "application/x-www-form-urlencoded" : "application/json",
    "user-agent": detectionUserAgent,
  };
  const request = { method: "POST", headers, body, redirect: "manual" } as const;
  const limit = { variant, waitsFor: new URL(url).origin, clock, timeoutMs, signal };
  const facts = { purpose: "detection", variant, ...target, resend: 0 } as const;
  const answer = await exchange(
    (abort) => sendRequest(options, url, { ...request, signal: abort }, facts),
    limit,
  );
  // The made-up path may be exempt from the rate limit of the token endpoint, so only its 429 says
  // something about it.
  if (question === "token endpoint" || answer.status === 429) await onAnswer?.(variant, answer);
  const { status, text } = answer;
  const mediaType = /^[\w.+-]{1,40}\/[\w.+-]{1,80}(?=$|[\s;])/.exec(
    answer.headers.get("content-type") ?? "",
  );
  const contentType = mediaType === null ? {} : { contentType: mediaType[0].toLowerCase() };
  const evidence: Asked["evidence"] = (says, reason) => ({
    variant,
    question,
    url,
    status,
    ...contentType,
    says,
    reason,
  });
  return { status, text, evidence };
}

/** The evidence of an answer that is not a refusal by a token endpoint. */
function withoutRefusal({ status, evidence }: Asked): Evidence {
  if (status === 404 || status === 410) return evidence("no", "nothing is served at this path");
  return evidence("unknown", inconclusive(status));
}

function inconclusive(status: number): string {
  if (status < 300)
    return "a success where a refusal was expected: is this a page, or another server?";
  if (status < 400) return "a redirect, which is not followed: is baseUrl the final address?";
  if (status === 429) return "rate limited: the answer does not depend on the variant";
  if (status >= 500) return "the server failed: the answer does not depend on the variant";
  return "an answer that other servers and proxies give too";
}
