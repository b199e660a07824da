// The times of a client assertion, one second before, at and after each bound (sections 2.2 and 8).
import type { RuleId } from "../../../../src/emulator/index.js";
import { invalidClient, serviceToken } from "../answer.js";
import type { Row } from "../row.js";

/** `claims` of the present second. */
function row(name: string, rules: readonly RuleId[], claims: (now: number) => object): Row {
  return {
    name,
    rules,
    request: (world) => world.requestToken({ claims: { ...claims(world.now) } }),
    answer: rules.length === 0 ? serviceToken : invalidClient,
  };
}

const old = (seconds: number) => (now: number) => ({ iat: now - seconds, exp: now - seconds + 300 });
const ahead = (seconds: number) => (now: number) => ({ iat: now + seconds, exp: now + seconds + 60 });
const past = (seconds: number) => (now: number) => ({ iat: now - 200, exp: now - seconds });
const long = (seconds: number) => (now: number) => ({ exp: now + seconds });
const notBefore = (seconds: number) => (now: number) => ({ nbf: now + seconds });

export const assertionTimes: readonly Row[] = [
  row("iat 300 s old is accepted", [], old(300)),
  row("iat 329 s old is accepted, within the clock tolerance", [], old(329)),
  row("iat 330 s old is accepted, the last second of the tolerance", [], old(330)),
  row("iat 331 s old is refused", ["assertion.issued-at", "assertion.expiry"], old(331)),
  row("F2 par-ensure-jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted: iat too", [], ahead(8)),
  row("iat 29 s ahead is accepted", [], ahead(29)),
  row("iat 30 s ahead is accepted, the last second of the tolerance", [], ahead(30)),
  row("iat 31 s ahead is refused", ["assertion.issued-at"], ahead(31)),
  row("F2 …-over-60-seconds-in-the-future-fails: iat too", ["assertion.issued-at"], ahead(61)),
  row("7523 3: iat in milliseconds is refused", ["assertion.issued-at"], (now) => ({
    iat: now * 1000,
    exp: now * 1000 + 60,
  })),
  row("iat that is absent is refused", ["assertion.issued-at"], () => ({ iat: undefined })),
  row("iat as a string is refused", ["assertion.issued-at"], (now) => ({ iat: String(now) })),
  row("iat as null is refused", ["assertion.issued-at"], () => ({ iat: null })),
  row("7519 2: iat with a fraction is accepted", [], (now) => ({ iat: now - 0.5 })),

  row("exp 29 s past is accepted", [], past(29)),
  row("exp 30 s past is accepted, the last second of the tolerance", [], past(30)),
  row("exp 31 s past is refused", ["assertion.expiry"], past(31)),
  row("F2 ensure-client-assertion-with-exp-is-5-minutes-in-past-fails", ["assertion.expiry"], (now) => ({
    iat: now - 320,
    exp: now - 300,
  })),
  row("7523 3: exp that is absent is refused", ["assertion.expiry"], () => ({ exp: undefined })),
  row("exp as a string is refused", ["assertion.expiry"], (now) => ({ exp: String(now + 60) })),
  row("exp of the same second as iat is refused", ["assertion.expiry"], (now) => ({ exp: now })),
  row("exp a second after iat is accepted", [], (now) => ({ exp: now + 1 })),
  row("exp before iat is refused", ["assertion.expiry"], (now) => ({ exp: now - 1 })),

  row("exp 299 s after iat is accepted", [], long(299)),
  row("exp 300 s after iat is accepted", [], long(300)),
  row("exp 301 s after iat is refused, without tolerance", ["assertion.lifetime"], long(301)),
  row("exp an hour after iat is refused", ["assertion.lifetime"], long(3600)),
  row("exp in milliseconds is refused", ["assertion.lifetime"], (now) => ({ exp: (now + 60) * 1000 })),

  row("F2 par-ensure-jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted", [], notBefore(8)),
  row("nbf 29 s ahead is accepted", [], notBefore(29)),
  row("nbf 30 s ahead is accepted, the last second of the tolerance", [], notBefore(30)),
  row("nbf 31 s ahead is refused", ["assertion.not-before"], notBefore(31)),
  row("F2 …-over-60-seconds-in-the-future-fails", ["assertion.not-before"], notBefore(61)),
  row("nbf as a string is refused", ["assertion.not-before"], (now) => ({ nbf: String(now) })),
];
