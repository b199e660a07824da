/** The message `host:auth-code` (the description, section 6): its shape, and what in it cannot be right. */

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
