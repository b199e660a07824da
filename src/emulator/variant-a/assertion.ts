// The client assertion (description, section 2.2): header, signature and claims are checked, then
// its jti is used.
import { verify } from "node:crypto";
// Loading the whole package would take three times as long.
import { decodeProtectedHeader } from "jose/decode/protected_header";
import { decodeJwt } from "jose/jwt/decode";
import type { RegisteredKey } from "../registrations/keys.js";
import type { Plugin } from "../registrations/plugins.js";
import { type Checks, type Finding, firstRefusal, type Refusal, unless } from "../rules/checks.js";
import { shown, shownKeyId } from "../rules/shown.js";
import type { Deployment } from "../state/deployment.js";

/** "with 30 seconds of clock tolerance" */
const CLOCK_TOLERANCE_SECONDS = 30;
/** "at most 5 minutes after iat"; comparing two claims needs no clock tolerance. */
const MAXIMUM_LIFETIME_SECONDS = 300;
/** "at most 5 minutes old", and the tolerance */
const ACCEPTED_AFTER_ISSUE_SECONDS = 300 + CLOCK_TOLERANCE_SECONDS;

/** A received header or received claims, not verified. */
type Received = Readonly<Record<string, unknown>>;

/**
 * Returns the refusal, or undefined if the assertion is accepted, which happens once. `tokenUrl` is
 * the exact URL of the route. This is synchronous, so that exactly one of concurrent posts of an
 * assertion uses its jti.
 */
export function checkAssertion(
  deployment: Deployment,
  plugin: Plugin,
  tokenUrl: string,
  assertion: string | undefined,
): Refusal | undefined {
  const { clock, switches } = deployment;
  if (assertion === undefined) {
    return switches.refusal("assertion.present", {
      expected: "a client_assertion",
      actual: "absent",
    });
  }
  const decoded = decode(assertion);
  if (decoded === undefined) {
    const finding = { expected: "a JWT in compact form", actual: "something else" };
    return switches.refusal("assertion.form", finding);
  }
  const signer = findSigner(assertion, decoded.header.kid, plugin.keys);
  return firstRefusal(switches, checks, {
    ...decoded,
    deployment,
    plugin,
    tokenUrl,
    signer,
    now: clock(),
  });
}

/**
 * RFC 7515 section 7.1. The signature may be empty, so that alg none is refused by
 * assertion.algorithm.
 */
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]*$/;

function decode(assertion: string): { header: Received; claims: Received } | undefined {
  if (!COMPACT_JWS.test(assertion)) return undefined;
  try {
    return { header: { ...decodeProtectedHeader(assertion) }, claims: { ...decodeJwt(assertion) } };
  } catch {
    return undefined;
  }
}

/**
 * Headers that contain or point to a key; for "jku" and "x5u" a server would fetch (RFC 8725
 * section 3.10).
 */
const KEY_HEADERS = ["jwk", "jku", "x5u", "x5c"];

/**
 * Returns the registered key that verifies the signature as RS256 (RFC 7518 section 3.3), whatever
 * alg is claimed. WebCrypto is not used, because it would hand each signature to another thread and
 * back.
 */
function findSigner(
  assertion: string,
  kid: unknown,
  keys: readonly RegisteredKey[],
): RegisteredKey | undefined {
  const end = assertion.lastIndexOf(".");
  const signed = Buffer.from(assertion.slice(0, end));
  const signature = Buffer.from(assertion.slice(end + 1), "base64url");
  // The key that kid names is tried first, so that a right kid costs one verification.
  const inOrder = keys.toSorted((a, b) => Number(b.kid === kid) - Number(a.kid === kid));
  return inOrder.find(({ publicKey }) => verify("sha256", signed, publicKey, signature));
}

interface DecodedAssertion {
  readonly header: Received;
  readonly claims: Received;
  readonly deployment: Deployment;
  readonly plugin: Plugin;
  readonly tokenUrl: string;
  /** The key that verifies the signature. */
  readonly signer: RegisteredKey | undefined;
  /** Epoch milliseconds. */
  readonly now: number;
}

/**
 * Any `typ` is accepted, because the description shows none. A check of one time claim ignores the
 * form of the others, because each has a rule of its own.
 */
const checks: Checks<DecodedAssertion> = {
  // The algorithm is checked first, because it decides how a key may be used (RFC 8725 section
  // 3.1).
  "assertion.algorithm": ({ header: { alg } }) => unless(alg === "RS256", "alg RS256", shown(alg)),
  "assertion.critical-header": ({ header: { crit, b64 } }) =>
    unless(crit === undefined, "no crit", `crit: ${shown(crit)}`) ??
    unless(b64 === undefined || b64 === true, "no b64", `b64: ${shown(b64)}`),
  "assertion.key-header"({ header }) {
    const present = KEY_HEADERS.filter((name) => header[name] !== undefined);
    return unless(present.length === 0, "no key in the header", present.join(", "));
  },
  "assertion.key-id"({ header: { kid }, deployment: { settings }, plugin: { keys }, signer }) {
    const isAbsent = kid === undefined && !settings.requireKid;
    if (!isAbsent && (typeof kid !== "string" || kid === "")) {
      return { expected: "a kid, the id of the signing key", actual: shownKeyId(kid) };
    }
    // "All keys of the registered JWKS are tried, so a wrong kid fails only once the JWKS holds
    // more than one key" (section 2.2).
    if (keys.length === 1 || signer === undefined || signer.kid === kid) return undefined;
    const expected = `kid ${shownKeyId(signer.kid)}, the id of the key that signed`;
    return { expected, actual: shownKeyId(kid) };
  },
  "assertion.signature"({ header: { kid }, plugin: { keys }, signer }) {
    if (signer !== undefined) return undefined;
    const known = keys.map((key) => `kid ${shownKeyId(key.kid)}`).join(", ");
    const actual = `no registered key verifies it; its kid is ${shownKeyId(kid)}`;
    return { expected: `the signature of a registered key (${known})`, actual };
  },
  "assertion.issuer": ({ claims, plugin }) => mustEqual("iss", claims.iss, plugin.clientId),
  "assertion.subject": ({ claims, plugin }) => mustEqual("sub", claims.sub, plugin.clientId),
  // aud must be one string, equal byte for byte: with an array, a trailing slash or a default port
  // it differs.
  "assertion.audience": ({ claims, tokenUrl }) => mustEqual("aud", claims.aud, tokenUrl),
  "assertion.issued-at"({ claims: { iat }, now }) {
    if (!isNumericDate(iat)) return { expected: "iat as a number of seconds", actual: shown(iat) };
    const ageSeconds = now / 1000 - iat;
    return (
      mustBeAtMost(ACCEPTED_AFTER_ISSUE_SECONDS, ageSeconds, "old") ??
      mustBeAtMost(CLOCK_TOLERANCE_SECONDS, -ageSeconds, "ahead")
    );
  },
  "assertion.expiry"({ claims: { iat, exp }, now }) {
    if (!isNumericDate(exp)) return { expected: "exp as a number of seconds", actual: shown(exp) };
    if (isNumericDate(iat) && exp <= iat) {
      return { expected: "exp after iat", actual: `${iat - exp} s before it` };
    }
    return mustBeAtMost(CLOCK_TOLERANCE_SECONDS, now / 1000 - exp, "past");
  },
  "assertion.lifetime"({ claims: { iat, exp } }) {
    if (!isNumericDate(exp) || !isNumericDate(iat)) return undefined;
    return mustBeAtMost(MAXIMUM_LIFETIME_SECONDS, exp - iat, "after iat");
  },
  "assertion.not-before"({ claims: { nbf }, now }) {
    if (nbf === undefined) return undefined;
    if (!isNumericDate(nbf)) return { expected: "nbf as a number of seconds", actual: shown(nbf) };
    return mustBeAtMost(CLOCK_TOLERANCE_SECONDS, nbf - now / 1000, "ahead");
  },
  "assertion.id"({ claims: { jti } }) {
    if (typeof jti === "string" && jti !== "") return undefined;
    return {
      expected: "a jti that is a string",
      actual: jti === "" ? "an empty string" : shown(jti),
    };
  },
  // This comes last, because it uses the jti.
  "assertion.replay"({ claims: { jti }, deployment: { usedJtis }, plugin, now }) {
    const isNew = typeof jti !== "string" || jti === "" || usedJtis.use(plugin, jti, now);
    return unless(isNew, "a jti not used before", "a jti that was used");
  },
};

function mustEqual(name: string, claimed: unknown, expected: string): Finding | undefined {
  if (claimed === expected) return undefined;
  return { expected: `${name} ${shown(expected)}`, actual: shown(claimed) };
}

function mustBeAtMost(limitSeconds: number, seconds: number, what: string): Finding | undefined {
  if (seconds <= limitSeconds) return undefined;
  // Digits beyond the millisecond would be rounding errors of the subtraction.
  const rounded = Math.round(seconds * 1000) / 1000;
  return { expected: `at most ${limitSeconds} s ${what}`, actual: `${rounded} s ${what}` };
}

/** RFC 7519 section 2: a JSON number of seconds; fractions are allowed. */
function isNumericDate(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
