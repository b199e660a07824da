// Between the values of the stores and JSON: sets, bytes and public keys are written as tagged objects.
import { createPublicKey, type JsonWebKey, KeyObject } from "node:crypto";

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Of what the stores hold: plain objects, arrays, sets, buffers, public keys; members that are undefined are left out. */
export function toPlainJson(value: unknown): Json {
  if (value instanceof Set) return { $set: [...value].map(toPlainJson) };
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString("base64url") };
  if (value instanceof KeyObject) return { $publicKey: value.export({ format: "jwk" }) as Json };
  if (Array.isArray(value)) return value.map(toPlainJson);
  if (typeof value !== "object" || value === null) return value as Json;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, toPlainJson(member)]));
}

export function fromPlainJson(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(fromPlainJson);
  if (typeof json !== "object" || json === null) return json;
  const { $set, $bytes, $publicKey } = json as { $set?: unknown[]; $bytes?: string; $publicKey?: JsonWebKey };
  if ($set !== undefined) return new Set($set.map(fromPlainJson));
  if ($bytes !== undefined) return Buffer.from($bytes, "base64url");
  if ($publicKey !== undefined) return createPublicKey({ key: $publicKey, format: "jwk" });
  return Object.fromEntries(Object.entries(json).map(([name, member]) => [name, fromPlainJson(member)]));
}
