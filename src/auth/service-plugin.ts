/** Variant A, no user: client_credentials with a client assertion (sections 2.2 and 4.1 of the description). */
import { allowInsecureRequests, customFetch, genericTokenEndpointRequest } from "oauth4webapi";
import { ConfigurationError } from "../errors.js";
import { clientAssertionType, tokenEndpointOfA } from "../variants/variant-a.js";
import { signClientAssertion } from "./client-assertion.js";
import {
  type MachineCredential,
  machineCredential,
  type PreparedCredential,
  readSettings,
  requireText,
  type SentAttempt,
  type Settings,
  type TokenAttempt,
} from "./credential.js";
import { explainRefusalOfA } from "./diagnosis.js";
import { keyReader } from "./key-reader.js";
import type { PrivateKey, SigningKey } from "./signing-key.js";

/** A private key with the `kid` it was registered under. */
export interface KeyWithId {
  readonly privateKey: PrivateKey;
  readonly keyId?: string | undefined;
}

export interface ServicePluginSettings {
  /** The plugin's id in the customer's registration list. */
  readonly clientId: string;
  /** A key in any form, or a function that is read per assertion, so that keys rotate without a restart. */
  readonly privateKey: PrivateKey | (() => PrivateKey | KeyWithId | Promise<PrivateKey | KeyWithId>);
  /** Default: the JWK's own `kid`, else the RFC 7638 thumbprint. */
  readonly keyId?: string | undefined;
  /** Default: the exact URL posted to. For deployments behind a proxy that rewrites it. */
  readonly audience?: string | undefined;
}

/**
 * The credential of a service plugin: a background process without a user (section 1 of the description).
 *
 * A key that is wrong is told before the first request: `key_invalid`, `key_unsupported`, `key_too_short`,
 * `key_id_required`.
 *
 * @see the description, sections 2.2, 4.1 and 5.4; RFC 7523 section 2.2
 * @example
 * servicePlugin({ clientId: "reports", privateKey: await readFile("private.pem", "utf8") })
 */
export function servicePlugin(settings: Settings<ServicePluginSettings>): MachineCredential<"A"> {
  const readKey = keyReader();
  return machineCredential("A", {
    tokenEndpoint: tokenEndpointOfA,
    async prepare(target, options): Promise<PreparedCredential> {
      const { clientId, privateKey, keyId, audience } = await readSettings(settings, target, "A");
      requireText(clientId, "clientId", "A");
      if (audience !== undefined) requireText(audience, "audience", "A");
      const key = await readKey(privateKey, keyId, options?.shareInFlight);
      const tokenEndpoint = tokenEndpointOfA(target);
      const aud = audience ?? new URL(tokenEndpoint).href;
      return {
        clientId,
        fingerprint: JSON.stringify([clientId, key.keyId, key.thumbprint, aud]),
        send: (attempt) => sendTokenRequest({ clientId, tokenEndpoint, audience: aud, key }, attempt),
        explain: (refusal) =>
          explainRefusalOfA(refusal, {
            clientId,
            tenantId: target.tenantId,
            tokenEndpoint,
            audience: aud,
            key,
          }),
      };
    },
  });
}

interface TokenRequestOfA {
  readonly clientId: string;
  readonly tokenEndpoint: string;
  readonly audience: string;
  readonly key: SigningKey;
}

async function sendTokenRequest(
  { clientId, tokenEndpoint, audience, key }: TokenRequestOfA,
  attempt: TokenAttempt,
): Promise<SentAttempt> {
  const issuedAtSeconds = Math.floor(attempt.serverNow() / 1000);
  let assertion = "";
  const response = await genericTokenEndpointRequest(
    { issuer: tokenEndpoint, token_endpoint: tokenEndpoint },
    { client_id: clientId },
    // Runs last before the request is sent, so that no assertion grows old in a queue.
    async (_server, _client, body) => {
      assertion = await sign({ clientId, audience, issuedAt: issuedAtSeconds }, key);
      body.set("client_id", clientId);
      body.set("client_assertion_type", clientAssertionType);
      body.set("client_assertion", assertion);
    },
    "client_credentials",
    {},
    {
      [customFetch]: (url, init) =>
        attempt.fetch(url, { ...init, body: init.body.toString() } as RequestInit),
      // parseBaseUrl has judged already whether plain http is allowed here.
      [allowInsecureRequests]: true,
      headers: { "user-agent": attempt.userAgent },
      signal: attempt.signal,
    },
  );
  return { response, issuedAtSeconds, secrets: [assertion] };
}

async function sign(claims: Parameters<typeof signClientAssertion>[0], key: SigningKey): Promise<string> {
  try {
    return await signClientAssertion(claims, key);
  } catch (cause) {
    throw new ConfigurationError("key_invalid", "The private key or signer failed to sign; see the cause.", {
      option: "privateKey",
      variant: "A",
      cause,
    });
  }
}
