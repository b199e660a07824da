/**
 * A plugin as a client of Variant A's token endpoint: reads its settings, imports its key and signs
 * its requests.
 */
import { encode } from "jose/base64url";
import { allowInsecureRequests, customFetch, genericTokenEndpointRequest } from "oauth4webapi";
import { ConfigurationError } from "../../errors.js";
import { ifPossible, lazy } from "../../http/lazy.js";
import { type Target, tokenEndpointOfA } from "../../variants/target.js";
import { userAgent } from "../../version.js";
import {
  type GivenSettings,
  type PreparedClient,
  type PrepareOptions,
  type Refusal,
  readSettings,
  requireText,
  type SentAttempt,
  type TokenAttempt,
} from "./credential.js";
import { keyError, type PrivateKey, type SigningKey, type SigningKeyCache } from "./signing-key.js";

export { SigningKeyCache } from "./signing-key.js";

/** The only accepted value (section 4.1 of the description; RFC 7523 section 2.2). */
const clientAssertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** A private key with the `kid` under which it was registered. */
export interface KeyWithId {
  readonly privateKey: PrivateKey;
  readonly keyId?: string | undefined;
}

export interface PluginSettings {
  /** The plugin's id in the customer's registration list. */
  readonly clientId: string;
  /**
   * A key in any form, or a function that is called per assertion, so that keys rotate without a
   * restart.
   */
  readonly privateKey:
    | PrivateKey
    | (() => PrivateKey | KeyWithId | Promise<PrivateKey | KeyWithId>);
  /** Default: the JWK's own `kid`, or the RFC 7638 thumbprint if it has none. */
  readonly keyId?: string | undefined;
  /**
   * Set it if a proxy rewrites the URL of the request, or the service demands its issuer. Default:
   * that exact URL.
   */
  readonly audience?: string | undefined;
}

/** A plugin whose settings were read and whose key was imported. */
export interface PluginClient extends PreparedClient {
  readonly callsSigner: boolean;
  /**
   * Sends exactly the fields of section 4.1: the grant's own, the client id and a fresh assertion.
   */
  send(
    grant: Refusal["grant"],
    parameters: Readonly<Record<string, string>>,
    attempt: TokenAttempt,
  ): Promise<SentAttempt>;
}

// A real Headers: the library takes any object for one in older workers, whose classes have no
// Symbol.toStringTag.
const headers = /* @__PURE__ */ new Headers({ "user-agent": userAgent });

/** Loaded only when a refusal must be explained. */
const diagnosis = /* @__PURE__ */ lazy(() => import("./diagnosis.js"));

/** @throws ConfigurationError `credential_invalid`, and the errors of `importSigningKey` */
export async function preparePlugin(
  given: GivenSettings<PluginSettings>,
  target: Target,
  keys: SigningKeyCache,
  options: PrepareOptions,
): Promise<PluginClient> {
  const { clientId, privateKey, keyId, audience } = await readSettings(given, target, "A");
  requireText(clientId, "clientId", "A");
  if (audience !== undefined) requireText(audience, "audience", "A");
  const key = await keys.read(privateKey, keyId, options);
  const tokenEndpoint = tokenEndpointOfA(target);
  const request = { clientId, tenantId: target.tenantId, tokenEndpoint, audience, key };
  return {
    clientId,
    callsSigner: key.isSigner === true,
    fingerprint: JSON.stringify([clientId, key.keyId, key.thumbprint, audience]),
    explain: async (refusal) =>
      (await ifPossible(diagnosis))?.explainRefusalOfA(refusal, request) ?? [],
    async send(grant, parameters, attempt) {
      const issuedAtSeconds = Math.floor(attempt.serverNow() / 1000);
      let assertion = "";
      const response = await genericTokenEndpointRequest(
        { issuer: tokenEndpoint, token_endpoint: tokenEndpoint },
        { client_id: clientId },
        // This is called just before the request is sent, so that no assertion grows old in a
        // queue.
        async (_server, _client, body) => {
          const aud = audience ?? new URL(tokenEndpoint).href;
          const claims = { clientId, audience: aud, issuedAt: issuedAtSeconds };
          assertion = await signClientAssertion(claims, key);
          // A fetch of the caller's own may ignore the signal, and a signer may be slow.
          attempt.signal.throwIfAborted();
          body.set("client_id", clientId);
          body.set("client_assertion_type", clientAssertionType);
          body.set("client_assertion", assertion);
        },
        grant,
        parameters,
        {
          [customFetch]: (url, init) =>
            attempt.fetch(url, { ...init, body: init.body.toString() } as RequestInit),
          // parseBaseUrl has already decided whether plain http is allowed here.
          [allowInsecureRequests]: true,
          headers,
          signal: attempt.signal,
        },
      );
      const secrets = [assertion, ...Object.values(parameters)];
      return { response, issuedAtSeconds, secrets };
    },
  };
}

/** This is well under the 5 minutes of section 2.2, so that a fast clock does not exceed them. */
const lifetimeSeconds = 60;

export interface ClientAssertionClaims {
  readonly clientId: string;
  /** The exact token URL. It is one string, since a strict server refuses an array. */
  readonly audience: string;
  /** Seconds since the epoch. */
  readonly issuedAt: number;
}

/**
 * Signs a new assertion with its own `jti` (RFC 7523 section 3; section 2.2 of the description).
 *
 * @throws ConfigurationError `key_invalid` when the key or signer fails
 */
export async function signClientAssertion(
  claims: ClientAssertionClaims,
  key: SigningKey,
): Promise<string> {
  const header = { alg: "RS256", typ: "JWT", kid: key.keyId };
  const payload = {
    iss: claims.clientId,
    sub: claims.clientId,
    aud: claims.audience,
    jti: crypto.randomUUID(),
    // The claim nbf is left out: a server whose clock is behind would refuse the assertion as not
    // yet valid.
    iat: claims.issuedAt,
    exp: claims.issuedAt + lifetimeSeconds,
  };
  const part = (json: object) => base64url(encoder.encode(JSON.stringify(json)));
  const signed = `${part(header)}.${part(payload)}`;
  try {
    return `${signed}.${base64url(await key.sign(encoder.encode(signed)))}`;
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause;
    const message = "The private key or signer failed to sign; see the cause.";
    throw keyError("key_invalid", message, "privateKey", cause);
  }
}

const encoder = /* @__PURE__ */ new TextEncoder();

/** In Node jose encodes by `btoa`, which takes many times longer than Node's own Buffer. */
function base64url(bytes: Uint8Array): string {
  const { Buffer } = globalThis;
  // In browsers Buffer may be a copy that does not know this encoding, or a stub without functions.
  if (!Buffer?.isEncoding?.("base64url")) return encode(bytes);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64url");
}
