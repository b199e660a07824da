/** A plugin as a client of Variant A's token endpoint: reads its settings, imports its key and signs its requests. */
import { allowInsecureRequests, customFetch, genericTokenEndpointRequest } from "oauth4webapi";
import { ConfigurationError } from "../../errors.js";
import { type Target, tokenEndpointOfA } from "../../variants/target.js";
import { type ClientAssertionClaims, signClientAssertion } from "../keys/client-assertion.js";
import type { PrivateKey, SigningKey, SigningKeyCache } from "../keys/signing-key.js";
import {
  type PrepareOptions,
  readSettings,
  requireText,
  type SentAttempt,
  type Settings,
  type TokenAttempt,
} from "./credential.js";

export { SigningKeyCache } from "../keys/signing-key.js";

/** The only accepted value (section 4.1 of the description; RFC 7523 section 2.2). */
const clientAssertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** A private key with the `kid` under which it was registered. */
export interface KeyWithId {
  readonly privateKey: PrivateKey;
  readonly keyId?: string | undefined;
}

/** The settings of both kinds of plugin. */
export interface PluginSettings {
  /** The plugin's id in the customer's registration list. */
  readonly clientId: string;
  /** A key in any form, or a function that is called per assertion, so that keys rotate without a restart. */
  readonly privateKey: PrivateKey | (() => PrivateKey | KeyWithId | Promise<PrivateKey | KeyWithId>);
  /** Default: the JWK's own `kid`, else the RFC 7638 thumbprint. */
  readonly keyId?: string | undefined;
  /** Default: the exact URL of the request. For deployments behind a proxy that rewrites it. */
  readonly audience?: string | undefined;
}

export interface PluginClient {
  readonly clientId: string;
  readonly tenantId: string;
  readonly tokenEndpoint: string;
  /** As configured; when it is absent, the assertion names the exact URL of the request. */
  readonly audience: string | undefined;
  readonly key: SigningKey;
  /** Changes with the key, without revealing it. */
  readonly fingerprint: string;
}

/**
 * Reads the settings and imports the key.
 *
 * @throws ConfigurationError `credential_invalid`, `key_invalid`, `key_unsupported`, `key_too_short`, `key_id_required`
 */
export async function preparePlugin(
  settings: Settings<PluginSettings>,
  target: Target,
  keys: SigningKeyCache,
  options: PrepareOptions | undefined,
): Promise<PluginClient> {
  const { clientId, privateKey, keyId, audience } = await readSettings(settings, target, "A");
  requireText(clientId, "clientId", "A");
  if (audience !== undefined) requireText(audience, "audience", "A");
  const key = await keys.read(privateKey, keyId, options?.shareInFlight);
  const fingerprint = JSON.stringify([clientId, key.keyId, key.thumbprint, audience]);
  const { tenantId } = target;
  return { clientId, tenantId, tokenEndpoint: tokenEndpointOfA(target), audience, key, fingerprint };
}

/** Sends exactly the fields of section 4.1: the grant's own, the client id and a fresh assertion. */
export async function sendPluginRequest(
  { clientId, tokenEndpoint, audience, key }: PluginClient,
  grantType: "client_credentials" | "authorization_code",
  parameters: Readonly<Record<string, string>>,
  attempt: TokenAttempt,
): Promise<SentAttempt> {
  const issuedAtSeconds = Math.floor(attempt.serverNow() / 1000);
  let assertion = "";
  const response = await genericTokenEndpointRequest(
    { issuer: tokenEndpoint, token_endpoint: tokenEndpoint },
    { client_id: clientId },
    // Called last before the request is sent, so that no assertion grows old in a queue.
    async (_server, _client, body) => {
      const aud = audience ?? new URL(tokenEndpoint).href;
      assertion = await sign({ clientId, audience: aud, issuedAt: issuedAtSeconds }, key);
      body.set("client_id", clientId);
      body.set("client_assertion_type", clientAssertionType);
      body.set("client_assertion", assertion);
    },
    grantType,
    parameters,
    {
      [customFetch]: (url, init) =>
        attempt.fetch(url, { ...init, body: init.body.toString() } as RequestInit),
      // parseBaseUrl has already decided whether plain http is allowed here.
      [allowInsecureRequests]: true,
      headers: { "user-agent": attempt.userAgent },
      signal: attempt.signal,
    },
  );
  return { response, issuedAtSeconds, secrets: [assertion, ...Object.values(parameters)] };
}

async function sign(claims: ClientAssertionClaims, key: SigningKey): Promise<string> {
  try {
    return await signClientAssertion(claims, key);
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause;
    const message = "The private key or signer failed to sign; see the cause.";
    throw new ConfigurationError("key_invalid", message, { option: "privateKey", variant: "A", cause });
  }
}
