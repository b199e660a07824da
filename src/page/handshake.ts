/**
 * The handshake of a launch with the host application: PKCE, the host's origin, and the messages in
 * both directions.
 */
import { PageError } from "./page-error.js";

/**
 * Posts the challenge to the host, and waits for its answer.
 *
 * @throws PageError `host_silent`, `auth_code_invalid`, `state_mismatch`, `tenant_mismatch`
 */
export async function shakeHands(
  hostOrigin: string,
  init: unknown,
  read: (data: unknown) => AuthCode | undefined,
  timeoutMs: number,
  /** `null` or `undefined` if there is nothing to compare with. */
  state: string | null | undefined,
  wantedTenantId: string | undefined,
): Promise<AuthCode> {
  let onMessage!: (event: MessageEvent) => void;
  const answer = await new Promise<AuthCode | undefined>((resolve) => {
    onMessage = ({ source, data, origin }) => {
      const message = source === parent && read(data);
      // The first answer from the host's origin counts, right or wrong.
      if (message && origin === hostOrigin) resolve(message);
    };
    setTimeout(resolve, timeoutMs);
    // This is not done earlier, because a message before the challenge cannot be its answer.
    addEventListener("message", onMessage);
    parent.postMessage(init, hostOrigin);
  });
  removeEventListener("message", onMessage);
  if (!answer) throw new PageError("host_silent");
  if (!isAuthCodeValid(answer)) throw new PageError("auth_code_invalid");
  if (answer.state !== (state ?? answer.state)) throw new PageError("state_mismatch");
  if (answer.tenantId !== (wantedTenantId ?? answer.tenantId))
    throw new PageError("tenant_mismatch");
  return answer;
}

/** Returns `undefined` if the value is not an absolute URL. */
export function urlOf(text: unknown): URL | undefined {
  try {
    return new URL(text as string);
  } catch {
    // Not a URL.
  }
}

/** Whether all origins are exact, without "*", path or trailing slash. */
export function areOrigins(origins: readonly string[]): unknown {
  return origins?.every?.((origin) => origin === urlOf(origin)?.origin && !/\*/.test(origin));
}

/**
 * The parent's allowed origin, or `undefined` without a parent.
 * @throws PageError `host_origin_unknown`
 */
export function hostOriginOf(hostOrigins: readonly string[]): string | undefined {
  if (parent === self) return undefined;
  // `ancestorOrigins` starts with the parent. Not all browsers have it, and it may hold "null" for
  // an origin. A wrong hint does no harm, because the message is only delivered to, and accepted
  // from, the given origin.
  const hint = (urlOf(location.ancestorOrigins?.[0]) ?? urlOf(document.referrer))?.origin;
  // Without a hint (a host with "Referrer-Policy: no-referrer") there must be only one allowed
  // origin.
  const [origin, other] = new Set(hostOrigins.filter((allowed) => !hint || allowed === hint));
  if (!origin || other) throw new PageError("host_origin_unknown", hint);
  return origin;
}

/** Encodes as base64url without padding (RFC 7636 appendix A). */
function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace("=", "");
}

/** Has 256 bits, as RFC 7636 section 4.1 recommends. */
export function createVerifier(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

export async function challengeOf(verifier: string): Promise<string> {
  return base64url(
    new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))),
  );
}

/** The host's answer for this launch. */
export interface AuthCode {
  readonly code: string;
  readonly state: string;
  readonly tenantId: string;
}

/** Returns `undefined` for other messages, because hosts also send messages about other things. */
export function readAuthCode(data: unknown): AuthCode | undefined {
  if ((data as { type?: unknown } | undefined)?.type === "host:auth-code") return data as AuthCode;
}

/** Allows 4096 characters each. Codes have some dozens, and the backend reads at most 64 KiB. */
export function isAuthCodeValid({ code, state, tenantId }: AuthCode): boolean {
  return [code, state, tenantId].every((v) => typeof v === "string" && /^.{1,4096}$/s.test(v));
}
