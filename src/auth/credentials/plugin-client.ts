/** A plugin of Variant A as a client of its token endpoint: its settings read, its key imported, its requests signed. */
import { allowInsecureRequests, customFetch, genericTokenEndpointRequest } from "oauth4webapi";
import { ConfigurationError } from "../../errors.js";
import { clientAssertionType, type Target, tokenEndpointOfA } from "../../variants/target.js";
import { signClientAssertion } from "../keys/client-assertion.js";
import type { KeyReader, PrivateKey, SigningKey } from "../keys/signing-key.js";
import {
  type PrepareOptions,
  readSettings,
  requireText,
  type SentAttempt,
  type Settings,
  type TokenAttempt,
} from "./credential.js";

export { keyReader } from "../keys/signing-key.js";

export type GrantTypeOfA = "client_credentials" | "authorization_code";

/** A private key with the `kid` it was registered under. */
export interface KeyWithId {
  readonly privateKey: PrivateKey;
  readonly keyId?: string | undefined;
}

/** What both kinds of plugin are configured with: the grant differs, not the authentication. */
export interface PluginSettings {
  /** The plugin's id in the customer's registration list. */
  readonly clientId: string;
  /** A key in any form, or a function that is read per assertion, so that keys rotate without a restart. */
  readonly privateKey: PrivateKey | (() => PrivateKey | KeyWithId | Promise<PrivateKey | KeyWithId>);
  /** Default: the JWK's own `kid`, else the RFC 7638 thumbprint. */
  readonly keyId?: string | undefined;
  /** Default: the exact URL posted to. For deployments behind a proxy that rewrites it. */
  readonly audience?: string | undefined;
}

export interface PluginClient {
  readonly clientId: string;
  readonly tenantId: string;
  readonly tokenEndpoint: string;
  /** As it was set; else the exact URL posted to is named. */
  readonly audience: string | undefined;
  readonly key: SigningKey;
  /** Changes with the key; says nothing of it. */
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
  readKey: KeyReader,
  options: PrepareOptions | undefined,
): Promise<PluginClient> {
  const { clientId, privateKey, keyId, audience } = await readSettings(settings, target, "A");
  requireText(clientId, "clientId", "A");
  if (audience !== undefined) requireText(audience, "audience", "A");
  const key = await readKey(privateKey, keyId, options?.shareInFlight);
  const tokenEndpoint = tokenEndpointOfA(target);
  const fingerprint = JSON.stringify([clientId, key.keyId, key.thumbprint, audience]);
  return { clientId, tenantId: target.tenantId, tokenEndpoint, audience, key, fingerprint };
}

/** Sends exactly the fields of section 4.1: the grant's own, the client id and a fresh assertion. */
export async function sendPluginRequest(
  { clientId, tokenEndpoint, audience, key }: PluginClient,
  grantType: GrantTypeOfA,
  parameters: Readonly<Record<string, string>>,
  attempt: TokenAttempt,
): Promise<SentAttempt> {
  const issuedAtSeconds = Math.floor(attempt.serverNow() / 1000);
  let assertion = "";
  const response = await genericTokenEndpointRequest(
    { issuer: tokenEndpoint, token_endpoint: tokenEndpoint },
    { client_id: clientId },
    // Runs last before the request is sent, so that no assertion grows old in a queue.
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
      // parseBaseUrl has judged already whether plain http is allowed here.
      [allowInsecureRequests]: true,
      headers: { "user-agent": attempt.userAgent },
      signal: attempt.signal,
    },
  );
  return { response, issuedAtSeconds, secrets: [assertion, ...Object.values(parameters)] };
}

async function sign(claims: Parameters<typeof signClientAssertion>[0], key: SigningKey): Promise<string> {
  try {
    return await signClientAssertion(claims, key);
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause;
    throw new ConfigurationError("key_invalid", "The private key or signer failed to sign; see the cause.", {
      option: "privateKey",
      variant: "A",
      cause,
    });
  }
}
