// Where ids, codes and tokens come from: the system's randomness, or a seed number, so that a run can be repeated.
import { createHash, randomBytes } from "node:crypto";

/** 256 bits, beyond the 160 that RFC 6749 section 10.10 asks for. */
const SECRET_BYTES = 32;

/** Asked for at once: asking the system takes longer than all else about a token. */
const DRAWN_AHEAD_BYTES = 4096;

export class RandomSource {
  readonly #seed: number | undefined;
  #drawn = 0;
  #ahead = Buffer.alloc(0);

  /** With a seed the same draws give the same values, in every instance: for tests only. */
  constructor(seed: number | undefined) {
    this.#seed = seed;
  }

  /** An opaque random string, so nobody can come to depend on what is inside. */
  secret(): string {
    return this.bytes(SECRET_BYTES).toString("base64url");
  }

  /** A version 4 UUID (RFC 9562 section 5.4). */
  uuid(): string {
    const bytes = this.bytes(16);
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  }

  /** At most 32. */
  bytes(length: number): Buffer {
    this.#drawn += 1;
    if (this.#seed === undefined) return this.#randomBytes(length);
    return createHash("sha256").update(`emulator ${this.#seed} ${this.#drawn}`).digest().subarray(0, length);
  }

  #randomBytes(length: number): Buffer {
    if (this.#ahead.length < length) this.#ahead = randomBytes(DRAWN_AHEAD_BYTES);
    const bytes = this.#ahead.subarray(0, length);
    this.#ahead = this.#ahead.subarray(length);
    return bytes;
  }
}
