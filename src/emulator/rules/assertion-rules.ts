// The rules of Variant A's client assertion, in the order in which they are applied.
import type { RuleEntry } from "./rule.js";

export type AssertionRuleId =
  | "assertion.present"
  | "assertion.form"
  | "assertion.algorithm"
  | "assertion.critical-header"
  | "assertion.key-header"
  | "assertion.key-id"
  | "assertion.signature"
  | "assertion.issuer"
  | "assertion.subject"
  | "assertion.audience"
  | "assertion.issued-at"
  | "assertion.expiry"
  | "assertion.lifetime"
  | "assertion.not-before"
  | "assertion.id"
  | "assertion.replay";

const invalidClient = { status: 400, error: "invalid_client" } as const;

/** All refused with invalid_client: "The assertion was refused" (description, section 7.1). */
export const assertionRules: Readonly<Record<AssertionRuleId, RuleEntry>> = {
  "assertion.present": {
    section: "4.1",
    says: "client_assertion is required.",
    answer: invalidClient,
    remedy: "Send the signed JWT in the form field client_assertion.",
    off: "A request without an assertion is accepted: client_id alone names the plugin.",
  },
  "assertion.form": {
    section: "2.2 (RFC 7515 section 7.1)",
    says: "The assertion is a JWT in compact serialization: three base64url parts, header and claims JSON objects.",
    answer: invalidClient,
    remedy: "Send the compact form, signed and not encrypted.",
    off: "What is no JWT is believed unread; no other rule of the assertion is looked at.",
  },
  "assertion.algorithm": {
    section: "2.2",
    says: "RS256 is the only accepted algorithm; none and symmetric algorithms are refused.",
    answer: invalidClient,
    remedy: "Sign with RS256 and the private key whose public half is registered.",
    off: "Every algorithm by which a registered key verifies is accepted: RS256, RS384, RS512, PS256, PS384, PS512.",
  },
  "assertion.critical-header": {
    section: "2.2 (RFC 7515 section 4.1.11, RFC 7797 section 7)",
    says: "The header holds no crit and no unencoded payload (b64 false): the service understands no extension.",
    answer: invalidClient,
    remedy: "Leave crit and b64 out of the header.",
    off: "What crit names counts as understood, and b64 is ignored.",
  },
  "assertion.key-header": {
    section: "2.2 (RFC 8725 section 3.10)",
    says: "The key comes from the registered JWKS, never from the header: jwk, jku, x5u and x5c are refused.",
    answer: invalidClient,
    remedy: "Leave the key out of the header; name it by kid.",
    off: "Keys in the header are ignored; a registered key still has to verify the signature.",
  },
  "assertion.key-id": {
    section: "2.2",
    says: "kid is required, and once the JWKS holds more than one key it names the key that signed.",
    answer: invalidClient,
    remedy: "Set kid to the id that the signing key has in the registered JWKS.",
    off: "kid is ignored, however many keys the JWKS holds.",
  },
  "assertion.signature": {
    section: "2.2, 7.1",
    says: "A key of the registered JWKS verifies the signature.",
    answer: invalidClient,
    remedy: "Regenerate the JWKS from the actual signing key.",
    off: "The signature is not verified: header and claims are believed.",
  },
  "assertion.issuer": {
    section: "2.2",
    says: "iss is the client_id.",
    answer: invalidClient,
    remedy: "Set iss to the plugin's client_id, the same as the form field.",
    off: "iss is not looked at.",
  },
  "assertion.subject": {
    section: "2.2",
    says: "sub is the client_id.",
    answer: invalidClient,
    remedy: "Set sub to the plugin's client_id, the same as the form field.",
    off: "sub is not looked at.",
  },
  "assertion.audience": {
    section: "2.2, 7.1",
    says: "aud is one string: the exact token URL being posted to, tenant substituted.",
    answer: invalidClient,
    remedy: "Substitute the tenant in the exact URL, as one string and not as an array.",
    off: "aud is not looked at: an assertion for another tenant or another server is accepted.",
  },
  "assertion.issued-at": {
    section: "2.2, 8",
    says: "iat is at most 5 minutes old, with 30 seconds of clock tolerance either way.",
    answer: invalidClient,
    remedy: "Correct the clock of the signing machine; sign just before sending; give iat in seconds.",
    off: "iat is not looked at; without it the lifetime is not known, and any is accepted.",
  },
  "assertion.expiry": {
    section: "2.2, 8",
    says: "exp is after iat and at most 30 seconds past.",
    answer: invalidClient,
    remedy: "Correct the clock of the signing machine; sign just before sending; give exp in seconds.",
    off: "exp is not looked at; without it the lifetime is not known, and any is accepted.",
  },
  "assertion.lifetime": {
    section: "2.2, 8",
    says: "exp is at most 5 minutes after iat, without tolerance.",
    answer: invalidClient,
    remedy: "Set exp to 60 seconds after iat.",
    off: "exp may be as long after iat as it likes.",
  },
  "assertion.not-before": {
    section: "not shown (RFC 7523 section 3)",
    says: "nbf, where present, is at most 30 seconds ahead.",
    answer: invalidClient,
    remedy: "Leave nbf out, or correct the clock of the signing machine.",
    off: "nbf is not looked at.",
  },
  "assertion.id": {
    section: "2.2",
    says: "jti is a string that is not empty.",
    answer: invalidClient,
    remedy: "Set jti to a fresh random value, a UUID for instance.",
    off: "jti may be absent or no string; such an assertion can be replayed.",
  },
  "assertion.replay": {
    section: "2.2, 7.1",
    says: "jti is unique per assertion of a plugin; a repeat is refused.",
    answer: invalidClient,
    remedy: "Fresh jti for every assertion; also when a request is retried.",
    off: "A jti may be used again; those used meanwhile are not remembered.",
  },
};
