/** Steps 4 to 6 of a launch: posts the challenge to the host and waits for the one answer that counts. */
import { PageError } from "./page-error.js";

/** @throws PageError `host_silent`, `auth_code_invalid`, `state_mismatch`, `tenant_mismatch` */
export async function shakeHands(
  hostOrigin: string,
  init: unknown,
  read: (data: unknown) => AuthCode | undefined,
  timeoutMs: number,
  /** Nothing to check it against: `null` or `undefined`. */
  state: string | null | undefined,
  wantedTenantId: string | undefined,
): Promise<AuthCode> {
  let onMessage!: (event: MessageEvent) => void;
  const answer = await new Promise<AuthCode | undefined>((resolve) => {
    onMessage = ({ source, data, origin }) => {
      const message = source === parent && read(data);
      // Now it is the host that speaks: its first word counts, right or wrong.
      if (message && origin === hostOrigin) resolve(message);
    };
    setTimeout(resolve, timeoutMs);
    // Not before: what came earlier answers nothing that was asked.
    addEventListener("message", onMessage);
    parent.postMessage(init, hostOrigin);
  });
  removeEventListener("message", onMessage);
  if (!answer) throw new PageError("host_silent");
  if (!isAuthCodeValid(answer)) throw new PageError("auth_code_invalid");
  if (answer.state !== (state ?? answer.state)) throw new PageError("state_mismatch");
  if (answer.tenantId !== (wantedTenantId ?? answer.tenantId)) throw new PageError("tenant_mismatch");
  return answer;
}

/** `undefined` for what is no absolute URL. */
export function urlOf(text: unknown): URL | undefined {
  try {
    return new URL(text as string);
  } catch {
    // Said by giving none.
  }
}

/** Exact origins only: no "*", no path, not even a trailing slash; and at least one. */
export function areOrigins(origins: readonly string[]): unknown {
  return origins?.[0] && origins.every?.((origin) => origin === urlOf(origin)?.origin);
}

/** The parent's, if it is allowed; `undefined` if there is no parent. @throws PageError `host_origin_unknown` */
export function hostOriginOf(hostOrigins: readonly string[]): string | undefined {
  if (parent === self) return undefined;
  // The list starts with the parent and ends with the top; not all browsers have it, and "null" is one withheld.
  // A hint either way: what counts is to which window an origin delivers, and which origin answers.
  const told = (urlOf(location.ancestorOrigins?.[0]) ?? urlOf(document.referrer))?.origin;
  // Told nothing (a host with "Referrer-Policy: no-referrer"): the browser delivers to the only one, or to nobody.
  const [origin, other] = new Set(hostOrigins.filter((allowed) => !told || allowed === told));
  if (!origin || other) throw new PageError("host_origin_unknown", told);
  return origin;
}

/** 256 bits, as RFC 7636 section 4.1 recommends. */
const VERIFIER_BYTES = 32;

/** Base64url without padding, RFC 7636 appendix A. */
function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace("=", "");
}

export function createVerifier(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(VERIFIER_BYTES)));
}

export async function challengeOf(verifier: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
}

/** What the host hands over for this launch. */
export interface AuthCode {
  readonly code: string;
  readonly state: string;
  readonly tenantId: string;
}

/** `undefined` for every other message: hosts talk to their frames about more than launches. */
export function readAuthCode(data: unknown): AuthCode | undefined {
  return (data as { type?: unknown } | undefined)?.type === "host:auth-code" ? (data as AuthCode) : undefined;
}

/** At most 4096 characters each: codes are some dozens, and the backend reads no more than 64 KiB. */
export function isAuthCodeValid({ code, state, tenantId }: AuthCode): boolean {
  return [code, state, tenantId].every((v) => typeof v === "string" && /^.{1,4096}$/s.test(v));
}
