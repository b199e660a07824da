/** Variant B without a user: client_credentials with a client secret, as JSON (section 4.2 of the description). */
import type { Cause } from "../../errors.js";
import { tokenEndpointOfB } from "../../variants/target.js";
import {
  fingerprintOf,
  type MachineCredential,
  machineCredential,
  readSettings,
  requireText,
  type Settings,
  sendJson,
} from "./credential.js";

export interface ServiceAccountSettings {
  /** The service client id, shown in the admin area under Service accounts. */
  readonly clientId: string;
  readonly clientSecret: string;
}

/**
 * The credential of a service account: machine-to-machine use of Variant B.
 *
 * @throws ConfigurationError `credential_invalid` before the first request
 * @see the description, sections 2.5, 4.2 and 5.10; RFC 6749 section 4.4
 * @example
 * serviceAccount({ clientId: "reports", clientSecret: await readFile("client-secret.txt", "utf8") })
 */
export function serviceAccount(settings: Settings<ServiceAccountSettings>): MachineCredential<"B"> {
  return machineCredential("B", {
    async prepare(target) {
      const { clientId, clientSecret } = await readSettings(settings, target, "B");
      requireText(clientId, "clientId", "B");
      requireText(clientSecret, "clientSecret", "B");
      const fields = { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret };
      return {
        clientId,
        fingerprint: await fingerprintOf(clientId, clientSecret),
        send: (attempt) =>
          sendJson(tokenEndpointOfB(target), JSON.stringify(fields), [clientSecret], attempt),
        explain: ({ error, status }) =>
          error === "invalid_client" || status === 401 ? [wrongSecret(clientId)] : [],
      };
    },
  });
}

/** Assumes the errors of RFC 6749 section 5.2, since the description does not show those of Variant B. */
function wrongSecret(clientId: string): Cause {
  return {
    id: "client_secret_mismatch",
    summary: "The client id or the client secret does not belong to a service account of this deployment",
    evidence: `invalid_client or 401 for ${clientId}, interpreted by RFC 6749 section 5.2: the description does not show Variant B's errors.`,
    remedy: "Compare the client id, and make a new secret, in the admin area under Service accounts.",
  };
}
