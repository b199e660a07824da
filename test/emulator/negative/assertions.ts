// Client assertions (section 2.2 of the description): keys, form, claims, times and replays.
import { generateKeyPairSync, sign } from "node:crypto";
import { hs256, rs256, type SigningKey } from "../signing-key.js";
import { globexToken, invalidClient, invalidGrant, ok, serviceToken } from "./answer.js";
import { accepting, group, type Row, refusing, tokenRequests } from "./row.js";
import {
  type ChangedA,
  type Changes,
  key,
  secondKey,
  TOKEN_PATH_A,
  unregisteredKey,
  type World,
} from "./world.js";

const accepted = { answer: serviceToken };

const unsigned = () => Buffer.alloc(0);
const rsa = (hash: string) => (input: Buffer) => sign(hash, input, key.privateKey);
const elliptic = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const es256 = (input: Buffer) =>
  sign("sha256", input, { key: elliptic, dsaEncoding: "ieee-p1363" });
const signed = (alg: string, signer = rs256(key)): ChangedA => ({ header: { alg }, signer });
const keyedWith = (secret: string | Buffer) => signed("HS256", hs256(secret));
const pem = key.publicKey.export({ type: "spki", format: "pem" });

export const algorithms: readonly Row[] = [
  ...tokenRequests(refusing(invalidClient, ["assertion.algorithm", "assertion.signature"]), {
    "A14: alg none with a signature of RS256": signed("none"),
    "A15: HS256 keyed with the public JWK [8725 2.1]": keyedWith(JSON.stringify(key.publicJwk)),
    "A16: ES256": signed("ES256", es256),
    "A16: alg in lower case": signed("rs256"),
    "A16: an absent alg": { header: { alg: undefined } },
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.algorithm"), {
    "A16: RS512 with the registered key": signed("RS512", rsa("sha512")),
  }),
];

const reporter = { tenantId: "acme", clientId: "reporter" };
const noKid: ChangedA = { header: { kid: undefined } };
const selfSigned: ChangedA = { header: { jwk: unregisteredKey.publicJwk }, key: unregisteredKey };
const certificate = Buffer.from("no certificate").toString("base64");

/** Signs with `by`, after a second key with the kid of the first was added to the JWKS. */
const withTwin =
  (by: SigningKey) =>
  ({ emulator }: World): ChangedA => {
    emulator.updatePlugin({
      ...reporter,
      jwks: { keys: [key.publicJwk, unregisteredKey.publicJwk] },
    });
    return { key: by };
  };

export const keys: readonly Row[] = [
  ...tokenRequests(refusing(invalidClient, "assertion.signature"), {
    "A18: a key that is not registered": { key: unregisteredKey },
    "A18: a key that was removed from the JWKS": ({ emulator }) => {
      emulator.updatePlugin({ ...reporter, jwks: { keys: [secondKey.publicJwk] } });
      return {};
    },
    "an empty signature": { signer: unsigned },
    "an HMAC with the public key as its secret, under alg RS256": { signer: hs256(pem) },
    "claims that changed after signing": (world) => {
      const [header, , signature] = world.assertion({ claims: { iss: "archiver" } }).split(".");
      const claims = world.assertion().split(".")[1];
      return { form: { client_assertion: [header, claims, signature].join(".") } };
    },
  }),
  ...tokenRequests(accepted, {
    "a key that was added to the JWKS before the request": ({ emulator }) => {
      emulator.updatePlugin({ ...reporter, jwks: { keys: [key.publicJwk, secondKey.publicJwk] } });
      return { key: secondKey };
    },
    "A19: a wrong kid where the JWKS holds one key": { header: { kid: "another" } },
    "A19: the kid of the second of two keys": { clientId: "rotating", key: secondKey },
    "the second of two keys with one kid": withTwin(unregisteredKey),
    "any typ": { header: { typ: "client-authentication+jwt" } },
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.key-id"), {
    "A19: an absent kid where the JWKS holds one key [OC client-test-kid-absent-single-jwks]":
      noKid,
    "A19: an empty kid": { header: { kid: "" } },
    "A19: a wrong kid where the JWKS holds two keys": {
      clientId: "rotating",
      header: { kid: "another" },
    },
  }),
  ...tokenRequests(accepting(serviceToken, { options: { requireKid: false } }), {
    "an absent kid where the option does not require it": noKid,
  }),
  ...tokenRequests(refusing(invalidClient, ["assertion.key-header", "assertion.signature"]), {
    "A17: a jwk header parameter with the key that signed [8725 3.10]": selfSigned,
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.key-header"), {
    "A17: a jwk header parameter with the registered key [8725 3.10]": {
      header: { jwk: key.publicJwk },
    },
    "A17: a jku [8725 3.10]": { header: { jku: "https://evil.example/jwks" } },
    "A17: an x5u [8725 3.10]": { header: { x5u: "https://evil.example/certificate" } },
    "A17: an x5c [8725 3.10]": { header: { x5c: [certificate] } },
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.critical-header"), {
    "A17: a crit that names a claim [7515 4.1.11]": { header: { crit: ["exp"], exp: 1 } },
    "A17: b64 false without crit [7797 6]": { header: { b64: false } },
  }),
  ...tokenRequests(refusing(invalidClient, ["assertion.critical-header", "assertion.signature"]), {
    "A17: an empty crit [7515 4.1.11]": { header: { crit: [] } },
  }),
];

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const assertion = (client_assertion?: string): ChangedA => ({ form: { client_assertion } });

export const forms: readonly Row[] = [
  ...tokenRequests(refusing(invalidGrant, "assertion.present"), {
    "A26: an absent client_assertion [F2 ensure-client-assertion-in-token-endpoint]": assertion(),
    "A26: an empty client_assertion [6749 3.2]": assertion(""),
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.form"), {
    "a client_assertion of five parts, as an encrypted one": assertion("a.b.c.d.e"),
    "a client_assertion whose header is not JSON": assertion(`abc.${part({})}.abc`),
    "a client_assertion whose header is an array": assertion(`${part([])}.${part({})}.abc`),
    "a client_assertion whose claims are an array": assertion(
      `${part({ alg: "RS256" })}.${part([])}.abc`,
    ),
    "a client_assertion with characters outside base64url": assertion("e3==.e30.e30"),
  }),
];

const claim = (claims: Changes): ChangedA => ({ claims });
const aud = (write: (url: string, world: World) => unknown) => (world: World) =>
  claim({ aud: write(world.tokenUrl(), world) });

export const claims: readonly Row[] = [
  ...tokenRequests(accepted, {
    "unknown claims": claim({ scope: "x", azp: ["y"] }),
    "a jti of 10,000 characters": claim({ jti: "j".repeat(10_000) }),
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.audience"), {
    "A1: the aud of another server [F2 ensure-client-assertion-with-wrong-aud-fails]": aud(
      () => "https://other.example/token",
    ),
    "A4: an aud with the default port": aud((url) => url.replace("localhost", "localhost:80")),
    "A4: an aud whose host is in upper case": aud((url) => url.replace("localhost", "LOCALHOST")),
    "A4: an aud with an escaped tenant": aud((url) => url.replace("acme", "%61cme")),
    "A5: an aud built from X-Forwarded-Host [doorkeeper #1926]": {
      headers: { "x-forwarded-host": "evil.example", "x-forwarded-proto": "https" },
      ...claim({ aud: `https://evil.example${TOKEN_PATH_A}` }),
    },
    "A13: an absent aud [7523 3]": claim({ aud: undefined }),
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.subject"), {
    "A6: an absent sub [F2 ensure-client-assertion-with-no-sub-fails]": claim({ sub: undefined }),
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.issuer"), {
    "A7: an iss that is an array": claim({ iss: ["reporter"] }),
    "A13: an absent iss [7523 3]": claim({ iss: undefined }),
  }),
  ...tokenRequests(refusing(invalidClient, ["assertion.issuer", "assertion.subject"]), {
    "A7, A29: the client_id of another plugin in the form": { form: { client_id: "archiver" } },
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.id"), {
    "A13: an empty jti": claim({ jti: "" }),
  }),
];

const at = (write: (now: number) => object) => (world: World) => claim({ ...write(world.now) });
const old = (seconds: number) => at((now) => ({ iat: now - seconds, exp: now - seconds + 300 }));
const ahead = (seconds: number) => at((now) => ({ iat: now + seconds, exp: now + seconds + 60 }));
const past = (seconds: number) => at((now) => ({ iat: now - 200, exp: now - seconds }));
const long = (seconds: number) => at((now) => ({ exp: now + seconds }));
const notBefore = (seconds: number) => at((now) => ({ nbf: now + seconds }));

export const times: readonly Row[] = [
  ...tokenRequests(accepted, {
    "A12: an iat 330 s old, the last second of the clock tolerance": old(330),
    "A11: an iat 30 s ahead, the last second of the clock tolerance": ahead(30),
    "A13: an iat and an exp with fractions [7519 2]": at((now) => ({
      iat: now - 0.5,
      exp: now + 59.5,
    })),
    "A9: an exp 30 s past, the last second of the clock tolerance": past(30),
    "A10: an exp 300 s after iat": long(300),
    "A11: an nbf 30 s ahead, the last second of the clock tolerance": notBefore(30),
  }),
  ...tokenRequests(refusing(invalidClient, ["assertion.issued-at", "assertion.expiry"]), {
    "A12: an iat 331 s old": old(331),
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.issued-at"), {
    "A11: an iat 31 s ahead": ahead(31),
    "A13: an iat that is a string": at((now) => ({ iat: String(now) })),
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.expiry"), {
    "A9: an exp 31 s past": past(31),
    "A8: an exp 5 minutes past [F2 ensure-client-assertion-with-exp-is-5-minutes-in-past-fails]":
      at((now) => ({ iat: now - 320, exp: now - 300 })),
    "A13: an exp that is a string": at((now) => ({ exp: String(now + 60) })),
    "A13: an exp equal to iat": long(0),
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.lifetime"), {
    "A10: an exp 301 s after iat, where no tolerance applies": long(301),
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.not-before"), {
    "A11: an nbf 31 s ahead": notBefore(31),
    "A13: an nbf that is a string": at((now) => ({ nbf: String(now) })),
  }),
];

/** Sends the same form twice, with a pause in between. */
const again = (seconds: number, changed?: (world: World) => ChangedA) => async (world: World) => {
  const form = String(world.form(changed?.(world)));
  await world.postForm(form);
  world.wait(seconds);
  return world.postForm(form);
};
const one = claim({ jti: "one" });
/** Two requests with the same jti. */
const sameId =
  (first: ChangedA, second: ChangedA = {}) =>
  async (world: World) => {
    await world.requestToken({ ...one, ...first });
    return world.requestToken({ ...one, ...second });
  };

export const replays: readonly Row[] = [
  ...group(refusing(invalidClient, "assertion.replay"), {
    "A20: the same assertion twice": again(0),
    "A21: another assertion with the same jti": sameId({}),
    "A22: a replay after exp, within its clock tolerance [Azure-Samples #413]": again(75),
    "A22: a replay in the last second in which its iat is accepted": again(330, ({ now }) =>
      claim({ exp: now + 300 }),
    ),
    "a replay 330 s after an iat that was ahead of the clock": again(360, ({ now }) =>
      claim({ iat: now + 30, exp: now + 330 }),
    ),
    "a jti that was spent on a refused grant": sameId({
      form: { grant_type: "authorization_code", code: "c" },
    }),
  }),
  ...group(refusing(ok({ 200: 1, 400: 19 }), "assertion.replay"), {
    "A23: all but one of 20 concurrent posts of one assertion [vouch #407]": async (world) => {
      const form = String(world.form());
      return counted(Array.from({ length: 20 }, () => world.postForm(form)));
    },
  }),
  ...group(accepted, {
    "A24: the jti of an assertion with a wrong signature [keycloak #49215]": sameId({
      key: unregisteredKey,
    }),
    "A24: the jti of an assertion with a wrong aud": sameId(claim({ jti: "one", aud: "x" })),
    "A25: the same jti from another plugin [keycloak #49215]": sameId({ clientId: "archiver" }),
  }),
  ...group(accepting(globexToken), {
    "A25: the same jti from a plugin of another tenant": sameId({}, { tenantId: "globex" }),
  }),
];

/** Counts the answers by status. */
export async function counted(answers: Promise<Response>[]): Promise<Response> {
  const counts: Record<number, number> = {};
  for (const { status } of await Promise.all(answers)) counts[status] = (counts[status] ?? 0) + 1;
  return Response.json(counts);
}
