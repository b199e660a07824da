// What is not deterministic in a process: randomness, and what WebCrypto finishes on other threads.
import { createCipheriv, createDecipheriv, createHash, createHmac } from "node:crypto";
import "../support/load-at-once.js";
import { randomOf } from "./random.js";

/** Results of WebCrypto that are not delivered yet, in the order of the requests. */
const results: { readonly ended: Promise<unknown>; readonly deliver: () => void }[] = [];
/** The randomness of the world that is played. */
let random: (() => number) | undefined;

const bytesOf = (data: BufferSource) =>
  ArrayBuffer.isView(data)
    ? Buffer.from(data.buffer, data.byteOffset, data.byteLength)
    : Buffer.from(data);

/** The bytes of secret keys that were imported in a world. With them no thread is needed. */
const secretKeys = new WeakMap<object, Buffer>();

type Parameters = {
  readonly name: string;
  readonly iv: BufferSource;
  readonly additionalData?: BufferSource;
};

/** Does what needs no other thread. Returns `undefined` for all else. */
function atOnce(name: string, args: readonly unknown[]): ArrayBuffer | object | undefined {
  const copy = (...parts: Uint8Array[]) => new Uint8Array(Buffer.concat(parts)).buffer;
  if (name === "digest") {
    const [algorithm, data] = args as [string | { name: string }, BufferSource];
    const hash = createHash(
      (typeof algorithm === "string" ? algorithm : algorithm.name).replace("-", ""),
    );
    return copy(hash.update(bytesOf(data)).digest());
  }
  if (name === "importKey") {
    const [format, data, given, extractable, usages] = args as [
      string,
      BufferSource,
      unknown,
      boolean,
      string[],
    ];
    const algorithm = typeof given === "string" ? { name: given } : (given as { name: string });
    if (format !== "raw" || !["HMAC", "AES-GCM"].includes(algorithm.name)) return undefined;
    const length = 8 * data.byteLength;
    const shown = { type: "secret", algorithm: { length, ...algorithm }, extractable, usages };
    const members = Object.entries(shown).map(([member, value]) => [member, { value }]);
    const key: object = Object.create(CryptoKey.prototype, Object.fromEntries(members));
    secretKeys.set(key, Buffer.from(bytesOf(data)));
    return key;
  }
  const [parameters, key, data] = args as [Parameters, object, BufferSource];
  const secret = secretKeys.get(key);
  if (secret === undefined) return undefined;
  if (name === "sign") return copy(createHmac("sha256", secret).update(bytesOf(data)).digest());
  const cipherName = `aes-${8 * secret.length}-gcm` as "aes-256-gcm";
  const [iv, bytes] = [bytesOf(parameters.iv), bytesOf(data)];
  const aad = bytesOf(parameters.additionalData ?? new Uint8Array());
  if (name === "encrypt") {
    const cipher = createCipheriv(cipherName, secret, iv).setAAD(aad);
    return copy(cipher.update(bytes), cipher.final(), cipher.getAuthTag());
  }
  if (name !== "decrypt") return undefined;
  const decipher = createDecipheriv(cipherName, secret, iv).setAAD(aad);
  decipher.setAuthTag(bytes.subarray(bytes.length - 16));
  return copy(decipher.update(bytes.subarray(0, bytes.length - 16)), decipher.final());
}

const { prototype } = SubtleCrypto;
for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype)))
  if (typeof value === "function" && name !== "constructor")
    Object.defineProperty(prototype, name, {
      configurable: true,
      writable: true,
      value(this: SubtleCrypto, ...args: unknown[]) {
        if (random === undefined) return value.apply(this, args);
        try {
          const result = atOnce(name, args);
          if (result !== undefined) return Promise.resolve(result);
        } catch (error) {
          return Promise.reject(error);
        }
        const result: Promise<unknown> = value.apply(this, args);
        const ended = result.catch(() => {});
        return new Promise((resolve) => results.push({ ended, deliver: () => resolve(result) }));
      },
    });

const { randomUUID, getRandomValues } = crypto;
const fill = <T extends ArrayBufferView>(array: T): T => {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  for (let at = 0; at < bytes.length; at++) bytes[at] = 256 * (random?.() ?? 0);
  return array;
};
const uuid = () => {
  const bytes = fill(new Uint8Array(16));
  bytes[6] = 0x40 | ((bytes[6] ?? 0) & 15);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 63);
  return Buffer.from(bytes)
    .toString("hex")
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
};
Object.defineProperties(crypto, {
  randomUUID: { configurable: true, value: () => (random ? uuid() : randomUUID.call(crypto)) },
  getRandomValues: {
    configurable: true,
    value: <T extends ArrayBufferView>(array: T) =>
      random ? fill(array) : getRandomValues.call(crypto, array as never),
  },
});

/**
 * From here until `endWorld`, ids and secrets are made from the seed, and results wait for `drain`.
 */
export function beginWorld(seed: number): void {
  random = randomOf(seed);
  results.length = 0;
}

export function endWorld(): void {
  random = undefined;
}

const immediate = () => new Promise((resolve) => setImmediate(resolve));

/**
 * Does all work that needs no time. One result is delivered at a time, so its consequences come
 * before the next.
 */
export async function drain(): Promise<void> {
  for (await immediate(); ; await immediate()) {
    const next = results.shift();
    if (next === undefined) return;
    await next.ended;
    next.deliver();
  }
}
