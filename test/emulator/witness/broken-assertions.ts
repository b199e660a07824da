// Every rule of the client assertion, broken on purpose by a library that would otherwise keep it.
import type { RuleId } from "../../../src/emulator/index.js";

/** What oauth4webapi and openid-client hand to their `modifyAssertion` hook. */
export type Modify = (header: Record<string, unknown>, payload: Record<string, unknown>) => void;

export const brokenAssertions: readonly { name: string; rule: RuleId; modify: Modify }[] = [
  {
    name: "aud is the issuer",
    rule: "assertion.audience",
    modify: (_, payload) => Object.assign(payload, { aud: new URL(String(payload.aud)).origin }),
  },
  {
    name: "aud is an array",
    rule: "assertion.audience",
    modify: (_, payload) => Object.assign(payload, { aud: [payload.aud] }),
  },
  {
    name: "aud names another tenant",
    rule: "assertion.audience",
    modify: (_, payload) => Object.assign(payload, { aud: String(payload.aud).replace("acme", "globex") }),
  },
  {
    name: "kid is missing",
    rule: "assertion.key-id",
    modify: (header) => Reflect.deleteProperty(header, "kid"),
  },
  {
    name: "the key is in the header",
    rule: "assertion.key-header",
    modify: (header) => Object.assign(header, { jwk: { kty: "RSA" } }),
  },
  {
    name: "crit is set",
    rule: "assertion.critical-header",
    modify: (header) => Object.assign(header, { crit: ["exp"], exp: 1 }),
  },
  {
    name: "alg says none",
    rule: "assertion.algorithm",
    modify: (header) => Object.assign(header, { alg: "none" }),
  },
  {
    name: "iss is another",
    rule: "assertion.issuer",
    modify: (_, payload) => Object.assign(payload, { iss: "x" }),
  },
  { name: "sub is missing", rule: "assertion.subject", modify: (_, p) => Reflect.deleteProperty(p, "sub") },
  { name: "jti is missing", rule: "assertion.id", modify: (_, p) => Reflect.deleteProperty(p, "jti") },
  { name: "exp is missing", rule: "assertion.expiry", modify: (_, p) => Reflect.deleteProperty(p, "exp") },
  { name: "iat is missing", rule: "assertion.issued-at", modify: (_, p) => Reflect.deleteProperty(p, "iat") },
  { name: "it is too old", rule: "assertion.issued-at", modify: (_, payload) => shift(payload, -400) },
  { name: "it is from the future", rule: "assertion.issued-at", modify: (_, payload) => shift(payload, 60) },
  { name: "it has expired", rule: "assertion.expiry", modify: (_, payload) => shift(payload, -120) },
  {
    name: "it lives for 301 s",
    rule: "assertion.lifetime",
    modify: (_, payload) => Object.assign(payload, { exp: Number(payload.iat) + 301 }),
  },
];

function shift(payload: Record<string, unknown>, seconds: number): void {
  for (const name of ["iat", "nbf", "exp"]) payload[name] = Number(payload[name]) + seconds;
}
