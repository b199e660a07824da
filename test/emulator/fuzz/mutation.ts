// What can be done to a valid request, as data: fast-check makes it, shrinks it and prints it.
import fc from "fast-check";
import { oddString, oddValue } from "./junk.js";

/** `at` counts modulo the number of parts there are. */
export type Mutation =
  | { readonly part: "method"; readonly to: string }
  | { readonly part: "path"; readonly at: number; readonly how: FieldChange; readonly to: string }
  | { readonly part: "query" | "body"; readonly at: number; readonly how: FieldChange; readonly to: unknown }
  | { readonly part: "header"; readonly name: string; readonly to: string | null }
  | { readonly part: "claim" | "jose-header"; readonly name: string; readonly to: unknown }
  | { readonly part: "bytes"; readonly at: number; readonly how: ByteChange; readonly to: readonly number[] }
  | { readonly part: "stream"; readonly how: "in-pieces" | "broken" | "endless" };

export type FieldChange = "drop" | "twice" | "replace" | "rename" | "truncate" | "lengthen" | "swap";
export type ByteChange = "cut" | "insert" | "flip" | "repeat" | "replace-all";

const at = fc.nat({ max: 50 });
const fieldChange = fc.constantFrom<FieldChange>(
  "drop",
  "twice",
  "replace",
  "replace",
  "replace",
  "rename",
  "truncate",
  "lengthen",
  "swap",
);
const METHODS = [
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
  "QUERY",
  "BREW",
  "__proto__",
  "get",
];
const HEADERS = [
  "content-type",
  "authorization",
  "cookie",
  "x-form-token",
  "x-envelope",
  "host",
  "origin",
  "referer",
  "accept",
  "accept-encoding",
  "content-length",
  "content-encoding",
  "transfer-encoding",
  "forwarded",
  "x-forwarded-host",
  "x-http-method-override",
  "sec-fetch-site",
  "range",
  "if-none-match",
  "__proto__",
];
const HEADER_VALUES = [
  "application/json",
  "application/x-www-form-urlencoded",
  "application/x-www-form-urlencoded; charset=utf-16",
  "application/json; charset=utf-8; charset=latin1",
  "multipart/form-data; boundary=x",
  "text/plain",
  "Bearer ",
  "Bearer x",
  "Basic d29ya2VyOng=",
  "DPoP x",
  "a=b; a=c; =; emulator-host=x; emulator-login=",
  "https://evil.example",
  "null",
  "gzip",
  "chunked",
  "-1",
  "99999999999999999999",
];
const CLAIMS = ["iss", "sub", "aud", "jti", "iat", "exp", "nbf", "__proto__", "toString"];
const JOSE_HEADERS = ["alg", "kid", "typ", "crit", "b64", "jwk", "jku", "x5u", "x5c", "zip", "__proto__"];
/** Invalid UTF-8, a byte order mark, what ends a field, a string or a line. */
const ODD_BYTES = [
  [0xff],
  [0xc0, 0x80],
  [0xed, 0xa0, 0x80],
  [0xef, 0xbb, 0xbf],
  [0],
  [0x25],
  [0x26],
  [0x22],
  [0x0a],
];

const header = fc.record({
  part: fc.constant("header" as const),
  name: fc.constantFrom(...HEADERS),
  to: fc.oneof(fc.constantFrom(...HEADER_VALUES), oddString, fc.constant(null)),
});
const claim = fc.record({
  part: fc.constant("claim" as const),
  name: fc.constantFrom(...CLAIMS),
  to: fc.oneof(oddValue, fc.integer(), fc.constant(undefined)),
});
const joseHeader = fc.record({
  part: fc.constant("jose-header" as const),
  name: fc.constantFrom(...JOSE_HEADERS),
  to: fc.oneof(oddValue, fc.constantFrom("none", "HS256", "PS256", "RS384"), fc.constant(undefined)),
});
const bytes = fc.record({
  part: fc.constant("bytes" as const),
  at: fc.nat({ max: 2000 }),
  how: fc.constantFrom<ByteChange>("cut", "cut", "insert", "insert", "flip", "repeat", "replace-all"),
  to: fc.oneof(fc.constantFrom(...ODD_BYTES), fc.array(fc.nat({ max: 255 }), { minLength: 1, maxLength: 8 })),
});

export const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ part: fc.constant("method" as const), to: fc.constantFrom(...METHODS) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ part: fc.constant("path" as const), at, how: fieldChange, to: oddString }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ part: fc.constant("query" as const), at, how: fieldChange, to: oddValue }),
  },
  {
    weight: 12,
    arbitrary: fc.record({ part: fc.constant("body" as const), at, how: fieldChange, to: oddValue }),
  },
  { weight: 4, arbitrary: header },
  { weight: 2, arbitrary: claim },
  { weight: 1, arbitrary: joseHeader },
  { weight: 4, arbitrary: bytes },
  {
    weight: 1,
    arbitrary: fc.record({
      part: fc.constant("stream" as const),
      how: fc.constantFrom("in-pieces" as const, "broken" as const, "endless" as const),
    }),
  },
);
