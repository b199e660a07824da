// The rules of the assertion's header, applied before any key is touched.
import type { Check } from "../../checks.js";
import { shown, shownKeyId } from "../../shown.js";

/** The header, and what it is held against. */
interface ReceivedHeader {
  readonly header: Readonly<Record<string, unknown>>;
  readonly isKidRequired: boolean;
}

/** Headers that bring or point to a key; "jku" and "x5u" would also make the server fetch (RFC 8725 section 3.10). */
const KEY_HEADERS = ["jwk", "jku", "x5u", "x5c"];

/** In order. `typ` is not among them: the description does not show one, so any is accepted. */
export const headerChecks: readonly Check<ReceivedHeader>[] = [
  {
    // First of all: RFC 8725 section 3.1, the algorithm decides what a key may be used for.
    rule: "assertion.algorithm",
    find: ({ header: { alg } }) =>
      alg === "RS256" ? undefined : { expected: "alg RS256", actual: shown(alg) },
  },
  {
    rule: "assertion.critical-header",
    find({ header: { crit, b64 } }) {
      if (crit !== undefined) return { expected: "no crit", actual: `crit: ${shown(crit)}` };
      if (b64 !== undefined && b64 !== true) return { expected: "no b64", actual: `b64: ${shown(b64)}` };
      return undefined;
    },
  },
  {
    rule: "assertion.key-header",
    find({ header }) {
      const present = KEY_HEADERS.filter((name) => header[name] !== undefined);
      if (present.length === 0) return undefined;
      return { expected: "no key in the header", actual: present.join(", ") };
    },
  },
  {
    rule: "assertion.key-id",
    find: ({ header: { kid }, isKidRequired }) =>
      (typeof kid === "string" && kid !== "") || (kid === undefined && !isKidRequired)
        ? undefined
        : { expected: "a kid, the id of the signing key", actual: shownKeyId(kid) },
  },
];
