// A deployment on loopback for clients that we did not write, and the little that they need to speak Variant B.
import { generateKeyPairSync, type KeyObject, webcrypto } from "node:crypto";
import { createEmulator, type Emulator } from "../../../src/emulator/index.js";
import { newSigningKey } from "../signing-key.js";

export const witnessKey: ReturnType<typeof newSigningKey> = newSigningKey("key-1");
export const CLIENT_SECRET = "correct horse battery staple";

export interface WitnessDeployment {
  readonly emulator: Emulator;
  readonly url: string;
  /** Variant A's token URL of a tenant, and Variant B's. */
  readonly tokenUrlA: (tenantId: string) => string;
  readonly tokenUrlB: string;
  readonly close: () => Promise<void>;
}

export async function witnessDeployment(): Promise<WitnessDeployment> {
  const emulator = createEmulator();
  const jwks = { keys: [witnessKey.publicJwk] };
  const plugin = { tenantId: "acme", jwks, scopes: ["devices:read"] };
  emulator.registerPlugin({ ...plugin, clientId: "reporter", type: "service" });
  emulator.registerPlugin({ ...plugin, clientId: "page", type: "user_interface" });
  emulator.registerPlugin({ ...plugin, clientId: "off", type: "service", enabled: false });
  emulator.registerServiceAccount({ clientId: "worker", clientSecret: CLIENT_SECRET, tenantId: "acme" });
  const { url, close } = await emulator.listen();
  const tokenUrlA = (tenantId: string) => `${url}/api/v1/${tenantId}/external-plugin/oauth/token`;
  return { emulator, url, close, tokenUrlA, tokenUrlB: `${url}/v1/auth/token` };
}

type Algorithm = "RSASSA-PKCS1-v1_5" | "RSA-PSS" | "ECDSA";

/** A private key as the libraries take it; they choose RS256, PS256 or ES256 by its algorithm. */
export function cryptoKey(key: KeyObject, name: Algorithm = "RSASSA-PKCS1-v1_5"): Promise<CryptoKey> {
  const parameters = name === "ECDSA" ? { name, namedCurve: "P-256" } : { name, hash: "SHA-256" };
  const pkcs8 = key.export({ type: "pkcs8", format: "der" });
  return webcrypto.subtle.importKey("pkcs8", pkcs8, parameters, false, ["sign"]) as Promise<CryptoKey>;
}

export const ecPrivateKey: KeyObject = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;

/**
 * Variant B takes JSON where OAuth libraries send a form, and its answer shows no token_type, which RFC 6749
 * section 5.1 demands of it and the libraries with it: both are mended here, outside the emulator.
 */
export async function formToJson(
  url: string,
  init: { method: string; headers: Record<string, string>; body?: unknown; signal?: AbortSignal | undefined },
): Promise<Response> {
  const headers = { ...init.headers, "content-type": "application/json" };
  const body = JSON.stringify(Object.fromEntries(init.body as URLSearchParams));
  const response = await fetch(url, { method: init.method, headers, body });
  const answer = (await response.json()) as object;
  const mended = response.ok ? { token_type: "bearer", ...answer } : answer;
  return Response.json(mended, { status: response.status });
}
