// The keys of plugins: a registered JWKS holds public RSA keys for RS256, and a plugin without one
// gets a test key.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from "node:crypto";
import { type EmulatorError, issueError } from "../errors.js";
import { fixedKeys } from "./fixed-keys.js";

/** RFC 7518 section 3.3: "A key of size 2048 bits or larger MUST be used". */
const RSA_BITS = 2048;
/** There is a limit because every key is tried on every assertion. */
const MAXIMUM_KEYS = 32;
/** The members that make a key private or symmetric (RFC 7518 sections 6.3.2 and 6.4.1). */
const SECRET_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/** A JSON Web Key Set (RFC 7517 section 5). */
export interface JsonWebKeySet {
  readonly keys: readonly object[];
}

export interface RegisteredKey {
  readonly kid: string | undefined;
  readonly publicKey: KeyObject;
}

/**
 * @throws {@link EmulatorError} `key_invalid` for no keys, for too many, or for one that is
 *   private, not RSA, shorter than 2048 bits, or marked for another algorithm or use. The message
 *   never quotes the key.
 */
export function readRegisteredKeys(jwks: JsonWebKeySet): readonly RegisteredKey[] {
  if (jwks.keys.length === 0) throw invalid("keys", "the JWKS holds no key");
  if (jwks.keys.length > MAXIMUM_KEYS)
    throw invalid("keys", `the JWKS holds more than ${MAXIMUM_KEYS} keys`);
  return jwks.keys.map((jwk, index) => readKey(jwk as Record<string, unknown>, `keys.${index}`));
}

function readKey(jwk: Record<string, unknown>, path: string): RegisteredKey {
  const { kty, n, e, alg = "RS256", use = "sig", key_ops = ["verify"], kid } = jwk;
  if (SECRET_MEMBERS.some((member) => member in jwk)) {
    throw invalid(path, "is a private or symmetric key; register the public half only");
  }
  if (kty !== "RSA")
    throw invalid(path, "kty must be RSA, because RS256 is the only accepted algorithm");
  if (alg !== "RS256") throw invalid(path, "alg must be RS256 or left out");
  if (use !== "sig") throw invalid(path, "use must be sig or left out");
  if (!(Array.isArray(key_ops) && key_ops.includes("verify"))) {
    throw invalid(path, "key_ops must contain verify or be left out");
  }
  if (kid !== undefined && (typeof kid !== "string" || kid === "")) {
    throw invalid(path, "kid must be a string that is not empty");
  }
  let publicKey: KeyObject;
  try {
    publicKey = createPublicKey({ key: { kty, n, e } as { kty: string }, format: "jwk" });
  } catch {
    throw invalid(path, "is not an RSA public key in JWK form");
  }
  const bits = publicKey.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < RSA_BITS) throw invalid(path, `has ${bits} bits; RS256 needs ${RSA_BITS} or more`);
  return { kid, publicKey };
}

function invalid(path: string, problem: string): EmulatorError {
  return issueError("key_invalid", `jwks.${path}: ${problem}`);
}

/** Names a plugin: client ids are unique within a tenant. */
export interface PluginIdentity {
  readonly tenantId: string;
  readonly clientId: string;
}

/** A private RSA key as a JWK (RFC 7518 section 6.3) with its `kid`. */
export type TestKey = Readonly<Record<string, string>>;

/** The source of the JWKS of a plugin that is registered without one. */
export type JwksSource = Pick<TestKeys, "jwksFor">;

export class TestKeys {
  readonly #keys = new Map<string, TestKey>();

  /** Returns the public half of the plugin's test key, which is made now if there was none. */
  jwksFor(plugin: PluginIdentity): { keys: TestKey[] } {
    const key = this.find(plugin) ?? { ...testKeyAt(this.#keys.size), kid: "test-key" };
    this.#keys.set(nameOf(plugin), key);
    const { kty = "", n = "", e = "", kid = "" } = key;
    return { keys: [{ kty, n, e, kid }] };
  }

  find(plugin: PluginIdentity): TestKey | undefined {
    return this.#keys.get(nameOf(plugin));
  }
}

function nameOf({ tenantId, clientId }: PluginIdentity): string {
  return JSON.stringify([tenantId, clientId]);
}

/** The first ones are fixed, because it takes 0.2 s to make one. */
function testKeyAt(index: number): TestKey {
  const fixed = fixedKeys[index];
  const privateKey =
    fixed === undefined
      ? generateKeyPairSync("rsa", { modulusLength: RSA_BITS }).privateKey
      : createPrivateKey({ key: Buffer.from(fixed, "base64"), format: "der", type: "pkcs8" });
  return privateKey.export({ format: "jwk" }) as Record<string, string>;
}
