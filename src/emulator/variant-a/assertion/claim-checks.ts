// The rules of the assertion's claims, applied after its signature was verified.
import type { Check, Finding } from "../../checks.js";
import { shown } from "../../shown.js";

/** "at most 5 minutes old" (description, section 2.2). */
const MAXIMUM_AGE_SECONDS = 300;
/** "with 30 seconds of clock tolerance" (description, section 2.2). */
export const CLOCK_TOLERANCE_SECONDS = 30;
/** "at most 5 minutes after iat" (description, section 2.2); a difference of two claims needs no clock tolerance. */
const MAXIMUM_LIFETIME_SECONDS = 300;

/** How long after its iat an assertion can still be accepted. */
export const ACCEPTED_AFTER_ISSUE_SECONDS: number = MAXIMUM_AGE_SECONDS + CLOCK_TOLERANCE_SECONDS;

/** The claims, and what they are held against. */
export interface ClaimedAssertion {
  readonly claims: Readonly<Record<string, unknown>>;
  readonly clientId: string;
  /** The exact token URL of the route that was posted to. */
  readonly tokenUrl: string;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** In order. A time check looks at no other claim's form: whether that is a number its own rule says. */
export const claimChecks: readonly Check<ClaimedAssertion>[] = [
  { rule: "assertion.issuer", find: ({ claims, clientId }) => mustEqual("iss", claims.iss, clientId) },
  { rule: "assertion.subject", find: ({ claims, clientId }) => mustEqual("sub", claims.sub, clientId) },
  // One string, compared byte for byte: an array, a trailing slash or a default port make it another audience.
  { rule: "assertion.audience", find: ({ claims, tokenUrl }) => mustEqual("aud", claims.aud, tokenUrl) },
  {
    rule: "assertion.issued-at",
    find({ claims: { iat }, now }) {
      if (!isNumericDate(iat)) return { expected: "iat as a number of seconds", actual: shown(iat) };
      const ageSeconds = now / 1000 - iat;
      if (ageSeconds > ACCEPTED_AFTER_ISSUE_SECONDS) {
        return {
          expected: `at most ${ACCEPTED_AFTER_ISSUE_SECONDS} s old`,
          actual: `${toldSeconds(ageSeconds)} s old`,
        };
      }
      if (ageSeconds < -CLOCK_TOLERANCE_SECONDS) {
        return {
          expected: `at most ${CLOCK_TOLERANCE_SECONDS} s ahead`,
          actual: `${toldSeconds(-ageSeconds)} s ahead`,
        };
      }
      return undefined;
    },
  },
  {
    rule: "assertion.expiry",
    find({ claims: { iat, exp }, now }) {
      if (!isNumericDate(exp)) return { expected: "exp as a number of seconds", actual: shown(exp) };
      if (isNumericDate(iat) && exp <= iat) {
        return { expected: "exp after iat", actual: `${iat - exp} s before it` };
      }
      const pastSeconds = now / 1000 - exp;
      if (pastSeconds <= CLOCK_TOLERANCE_SECONDS) return undefined;
      return {
        expected: `at most ${CLOCK_TOLERANCE_SECONDS} s past`,
        actual: `${toldSeconds(pastSeconds)} s past`,
      };
    },
  },
  {
    rule: "assertion.lifetime",
    find({ claims: { iat, exp } }) {
      if (!isNumericDate(exp) || !isNumericDate(iat)) return undefined;
      const lifetimeSeconds = exp - iat;
      if (lifetimeSeconds <= MAXIMUM_LIFETIME_SECONDS) return undefined;
      return {
        expected: `at most ${MAXIMUM_LIFETIME_SECONDS} s`,
        actual: `${toldSeconds(lifetimeSeconds)} s`,
      };
    },
  },
  {
    rule: "assertion.not-before",
    find({ claims: { nbf }, now }) {
      if (nbf === undefined) return undefined;
      if (!isNumericDate(nbf)) return { expected: "nbf as a number of seconds", actual: shown(nbf) };
      const aheadSeconds = nbf - now / 1000;
      if (aheadSeconds <= CLOCK_TOLERANCE_SECONDS) return undefined;
      return {
        expected: `at most ${CLOCK_TOLERANCE_SECONDS} s ahead`,
        actual: `${toldSeconds(aheadSeconds)} s ahead`,
      };
    },
  },
  {
    rule: "assertion.id",
    find: ({ claims: { jti } }) =>
      typeof jti === "string" && jti !== ""
        ? undefined
        : { expected: "a jti that is a string", actual: jti === "" ? "an empty string" : shown(jti) },
  },
];

function mustEqual(name: string, claimed: unknown, expected: string): Finding | undefined {
  return claimed === expected
    ? undefined
    : { expected: `${name} ${shown(expected)}`, actual: shown(claimed) };
}

/** RFC 7519 section 2: a JSON number of seconds; fractions are allowed. */
export function isNumericDate(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** To the millisecond: what a subtraction of fractions leaves behind tells nobody anything. */
function toldSeconds(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
