/** Steps 4 to 6 of a launch: posts the challenge to the host and waits for the one answer that counts. */
import { PageError } from "./page-error.js";
import { type AuthCode, isAuthCodeValid } from "./read-auth-code.js";

export interface Handshake {
  readonly hostOrigin: string;
  readonly init: unknown;
  readonly read: (data: unknown) => AuthCode | undefined;
  /** Nothing to check it against: `null` or `undefined`. */
  readonly state: string | null | undefined;
  readonly tenantId?: string | undefined;
  readonly timeoutMs: number;
}

/** @throws PageError `host_silent`, `auth_code_invalid`, `state_mismatch`, `tenant_mismatch` */
export async function shakeHands({
  hostOrigin,
  init,
  read,
  state,
  tenantId,
  timeoutMs,
}: Handshake): Promise<AuthCode> {
  let onMessage!: (event: MessageEvent) => void;
  const answer = await new Promise<AuthCode | undefined>((resolve) => {
    onMessage = ({ source, data, origin }) => {
      if (source !== parent) return;
      const message = read(data);
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
  if (answer.tenantId !== (tenantId ?? answer.tenantId)) throw new PageError("tenant_mismatch");
  return answer;
}
