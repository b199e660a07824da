// The keys of plugins: a registered JWKS holds public RSA keys for RS256, and a plugin without one gets a test key.
import {
  checkPrimeSync,
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from "node:crypto";
import { EmulatorError } from "../errors.js";

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
 * @throws {@link EmulatorError} `key_invalid` for no keys, for too many, or for one that is private, not RSA, shorter
 *   than 2048 bits, or marked for another algorithm or use. The message never quotes the key.
 */
export function readRegisteredKeys(jwks: JsonWebKeySet): readonly RegisteredKey[] {
  if (jwks.keys.length === 0) throw invalid("keys", "the JWKS holds no key");
  if (jwks.keys.length > MAXIMUM_KEYS) throw invalid("keys", `the JWKS holds more than ${MAXIMUM_KEYS} keys`);
  return jwks.keys.map((jwk, index) => readKey(jwk as Record<string, unknown>, `keys.${index}`));
}

function readKey(jwk: Record<string, unknown>, path: string): RegisteredKey {
  const { kty, n, e, alg = "RS256", use = "sig", key_ops = ["verify"], kid } = jwk;
  if (SECRET_MEMBERS.some((member) => member in jwk)) {
    throw invalid(path, "is a private or symmetric key; register the public half only");
  }
  if (kty !== "RSA") throw invalid(path, "kty must be RSA, because RS256 is the only accepted algorithm");
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
  const issue = `jwks.${path}: ${problem}`;
  return new EmulatorError("key_invalid", issue, { issues: [issue] });
}

export interface PluginIdentity {
  readonly tenantId: string;
  readonly clientId: string;
}

/** A private RSA key as a JWK (RFC 7518 section 6.3) with its `kid`. */
export type TestKey = Readonly<Record<string, string>>;

/** The source of the JWKS of a plugin that is registered without one. */
export type JwksSource = Pick<TestKeys, "jwksFor">;

export class TestKeys {
  readonly #seed: number | undefined;
  readonly #keys = new Map<string, TestKey>();

  constructor(seed: number | undefined) {
    this.#seed = seed;
  }

  /** Returns the public half of the plugin's test key, which is made now if there was none. */
  jwksFor(plugin: PluginIdentity): { keys: TestKey[] } {
    const name = nameOf(plugin);
    const key = this.find(plugin) ?? {
      ...(this.#seed === undefined ? randomKey() : seededRsaKey(`${this.#seed} ${name}`)),
      kid: "test-key",
    };
    this.#keys.set(name, key);
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

function randomKey(): TestKey {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: RSA_BITS });
  return privateKey.export({ format: "jwk" }) as Record<string, string>;
}

const PUBLIC_EXPONENT = 65_537n;
/** Most candidates are divisible by one of these, and trying them is faster than checkPrimeSync. */
const SMALL_PRIMES = [3n, 5n, 7n, 11n, 13n, 17n, 19n, 23n, 29n, 31n, 37n, 41n, 43n, 47n, 53n, 59n, 61n, 67n];
/** Makes a private JWK from a seed, which Node's own generator cannot do. Such a key protects nothing. */
function seededRsaKey(seed: string): Readonly<Record<string, string>> {
  const first = seededPrime(`${seed} p`, RSA_BITS / 2);
  const second = seededPrime(`${seed} q`, RSA_BITS / 2);
  const [p, q] = first > second ? [first, second] : [second, first];
  const d = inverse(PUBLIC_EXPONENT, (p - 1n) * (q - 1n));
  const [dp, dq, qi] = [d % (p - 1n), d % (q - 1n), inverse(q, p)];
  const members = Object.entries({ n: p * q, e: PUBLIC_EXPONENT, d, p, q, dp, dq, qi });
  return { kty: "RSA", ...Object.fromEntries(members.map(([name, value]) => [name, encode(value)])) };
}

/** Finds the first prime from a seeded start. Its two top bits are set, so that a product has its full length. */
function seededPrime(seed: string, bits: number): bigint {
  const blocks = Array.from({ length: bits / 256 }, (_, index) =>
    createHash("sha256").update(`${seed} ${index}`).digest("hex"),
  );
  let candidate = BigInt(`0x${blocks.join("")}`) | (3n << BigInt(bits - 2)) | 1n;
  const hasFactor = () => SMALL_PRIMES.some((prime) => candidate % prime === 0n);
  while (hasFactor() || (candidate - 1n) % PUBLIC_EXPONENT === 0n || !checkPrimeSync(candidate)) {
    candidate += 2n;
  }
  return candidate;
}

/** Computes the modular inverse by Euclid's extended algorithm. */
function inverse(value: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [value % modulus, modulus, 1n, 0n];
  while (b !== 0n) {
    const quotient = a / b;
    [a, b] = [b, a - quotient * b];
    [x, y] = [y, x - quotient * y];
  }
  return ((x % modulus) + modulus) % modulus;
}

function encode(value: bigint): string {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex").toString("base64url");
}
