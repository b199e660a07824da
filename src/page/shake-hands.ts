/** Steps 4 to 6 of a launch: posts the challenge to the host and waits for the one answer that counts. */
import { PageError } from "./page-error.js";
import { type AuthCode, isAuthCodeValid } from "./read-auth-code.js";

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
