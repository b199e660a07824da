/** Variant B, no user: client_credentials with a client secret, as JSON (section 4.2 of the description). */
import { tokenEndpointOfB } from "../variants/variant-b.js";
import {
  type MachineCredential,
  machineCredential,
  readSettings,
  requireText,
  type Settings,
} from "./credential.js";

export interface ServiceAccountSettings {
  /** The service client id, from the admin area, Service accounts. */
  readonly clientId: string;
  readonly clientSecret: string;
}

/**
 * The credential of a service account: machine-to-machine use of Variant B.
 *
 * @throws ConfigurationError `credential_invalid` before the first request
 * @see the description, sections 2.5, 4.2 and 5.10; RFC 6749 section 4.4
 * @example
 * serviceAccount({ clientId: "reports", clientSecret: process.env.CLIENT_SECRET })
 */
export function serviceAccount(settings: Settings<ServiceAccountSettings>): MachineCredential<"B"> {
  return machineCredential("B", {
    tokenEndpoint: tokenEndpointOfB,
    async prepare(target) {
      const { clientId, clientSecret } = await readSettings(settings, target, "B");
      requireText(clientId, "clientId", "B");
      requireText(clientSecret, "clientSecret", "B");
      return {
        clientId,
        fingerprint: await fingerprintOf(clientId, clientSecret),
        async send({ fetch, signal, userAgent }) {
          const response = await fetch(tokenEndpointOfB(target), {
            method: "POST",
            headers: {
              accept: "application/json",
              "content-type": "application/json",
              "user-agent": userAgent,
            },
            body: JSON.stringify({
              grant_type: "client_credentials",
              client_id: clientId,
              client_secret: clientSecret,
            }),
            redirect: "manual",
            signal,
          });
          return { response, secrets: [clientSecret] };
        },
      };
    },
  });
}

async function fingerprintOf(clientId: string, clientSecret: string): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify([clientId, clientSecret]));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
