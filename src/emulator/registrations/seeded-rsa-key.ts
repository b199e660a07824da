// An RSA key from a seed, always the same: Node's own generator takes none. For tests only, never to protect anything.
import { checkPrimeSync, createHash } from "node:crypto";

const PUBLIC_EXPONENT = 65_537n;
/** Most candidates have one of these for a factor, which is found faster than by checkPrimeSync. */
const SMALL_PRIMES = primesBelow(1000);

/** A private JWK without `kid` (RFC 7518 section 6.3.2). Takes some 200 ms for 2048 bits. */
export function seededRsaKey(seed: string, bits: number): Readonly<Record<string, string>> {
  const first = seededPrime(`${seed} p`, bits / 2);
  const second = seededPrime(`${seed} q`, bits / 2);
  const [p, q] = first > second ? [first, second] : [second, first];
  const d = inverse(PUBLIC_EXPONENT, (p - 1n) * (q - 1n));
  return {
    kty: "RSA",
    n: encode(p * q),
    e: encode(PUBLIC_EXPONENT),
    d: encode(d),
    p: encode(p),
    q: encode(q),
    dp: encode(d % (p - 1n)),
    dq: encode(d % (q - 1n)),
    qi: encode(inverse(q, p)),
  };
}

/** The first prime from a seeded starting point whose two top bits are set, so that a product has its full length. */
function seededPrime(seed: string, bits: number): bigint {
  const blocks = Array.from({ length: bits / 256 }, (_, index) =>
    createHash("sha256").update(`${seed} ${index}`).digest("hex"),
  );
  let candidate = BigInt(`0x${blocks.join("")}`) | (3n << BigInt(bits - 2)) | 1n;
  while (!isUsable(candidate)) candidate += 2n;
  return candidate;
}

function isUsable(candidate: bigint): boolean {
  if (SMALL_PRIMES.some((prime) => candidate % prime === 0n)) return false;
  return (candidate - 1n) % PUBLIC_EXPONENT !== 0n && checkPrimeSync(candidate);
}

/** By Euclid's extended algorithm. */
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

function primesBelow(limit: number): bigint[] {
  const primes: number[] = [];
  for (let candidate = 2; candidate < limit; candidate++) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  }
  return primes.map(BigInt);
}
