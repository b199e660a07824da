// Client assertions (section 2.2 of the description): keys, form, claims, times and replays.
import { sign } from "node:crypto";
import { type Changed, type Changes, pluginKey } from "../deployment.js";
import { hs256, type SigningKey } from "../signing-key.js";
import { globexToken, invalidClient, invalidGrant, ok, serviceToken } from "./answer.js";
import { accepting, group, type Row, refusing, tokenRequests } from "./row.js";
import { secondKey, unregisteredKey, type World } from "./world.js";

const accepted = accepting(serviceToken);
const sha512 = (input: Buffer) => sign("sha512", input, pluginKey.privateKey);

export const algorithms: readonly Row[] = [
  ...tokenRequests(refusing(invalidClient, ["assertion.algorithm", "assertion.signature"]), {
    "alg in lower case": { header: { alg: "rs256" } },
    "an absent alg": { header: { alg: undefined } },
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.algorithm"), {
    "RS512 with the registered key": { header: { alg: "RS512" }, signer: sha512 },
  }),
];

const reporter = { tenantId: "acme", clientId: "reporter" };
const noKid: Changed = { header: { kid: undefined } };
const wrongKid: Changed = { header: { kid: "another" } };
const selfSigned: Changed = { header: { jwk: unregisteredKey.publicJwk }, key: unregisteredKey };
const certificate = Buffer.from("no certificate").toString("base64");
const pem = pluginKey.publicKey.export({ type: "spki", format: "pem" });

/** Signs with the last key, after the JWKS was replaced by these. */
const withKeys =
  (jwks: readonly SigningKey[], by: SigningKey = pluginKey) =>
  ({ emulator }: World): Changed => {
    emulator.updatePlugin({
      ...reporter,
      jwks: { keys: jwks.map(({ publicJwk }) => publicJwk) },
    });
    return { key: by };
  };

export const keys: readonly Row[] = [
  ...tokenRequests(refusing(invalidClient, "assertion.signature"), {
    "a key that was removed from the JWKS": withKeys([secondKey]),
    "an empty signature": { signer: () => Buffer.alloc(0) },
    "an HMAC with the public key as its secret, under alg RS256": { signer: hs256(pem) },
    "claims that changed after signing": (world) => {
      const [header, , signature] = world.assertion({ claims: { iss: "archiver" } }).split(".");
      const claims = world.assertion().split(".")[1];
      return { form: { client_assertion: [header, claims, signature].join(".") } };
    },
  }),
  ...tokenRequests(accepted, {
    "a key that was added to the JWKS": withKeys([pluginKey, secondKey], secondKey),
    "the second of two keys with one kid": withKeys([pluginKey, unregisteredKey], unregisteredKey),
    "the kid of the second of two keys": { clientId: "rotating", key: secondKey },
    "a wrong kid where the JWKS holds one key": wrongKid,
    "any typ": { header: { typ: "client-authentication+jwt" } },
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.key-id"), {
    "an absent kid where the JWKS holds one key": noKid,
    "a wrong kid where the JWKS holds two keys": { clientId: "rotating", ...wrongKid },
  }),
  ...tokenRequests(refusing(invalidClient, ["assertion.key-header", "assertion.signature"]), {
    "a jwk header parameter with the key that signed [8725 3.10]": selfSigned,
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.key-header"), {
    "a jku [8725 3.10]": { header: { jku: "https://evil.example/jwks" } },
    "an x5u [8725 3.10]": { header: { x5u: "https://evil.example/certificate" } },
    "an x5c [8725 3.10]": { header: { x5c: [certificate] } },
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.critical-header"), {
    "a crit that names a claim [7515 4.1.11]": { header: { crit: ["exp"], exp: 1 } },
    "b64 false without crit [7797 6]": { header: { b64: false } },
  }),
  ...tokenRequests(refusing(invalidClient, ["assertion.critical-header", "assertion.signature"]), {
    "an empty crit [7515 4.1.11]": { header: { crit: [] } },
  }),
];

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const assertion = (client_assertion: string): Changed => ({ form: { client_assertion } });
const listOfClaims = `${part({ alg: "RS256" })}.${part([])}.abc`;

export const forms: readonly Row[] = [
  ...tokenRequests(refusing(invalidGrant, "assertion.present"), {
    "an empty client_assertion [6749 3.2]": assertion(""),
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.form"), {
    "a client_assertion of five parts, as an encrypted one": assertion("a.b.c.d.e"),
    "a client_assertion whose header is not JSON": assertion(`abc.${part({})}.abc`),
    "a client_assertion whose header is an array": assertion(`${part([])}.${part({})}.abc`),
    "a client_assertion whose claims are an array": assertion(listOfClaims),
    "a client_assertion with characters outside base64url": assertion("e3==.e30.e30"),
  }),
];

const claim = (claims: Changes): Changed => ({ claims });
const aud = (write: (url: string) => unknown) => (world: World) =>
  claim({ aud: write(world.tokenUrl()) });

export const claims: readonly Row[] = [
  ...tokenRequests(accepted, {
    "unknown claims": claim({ scope: "x", azp: ["y"] }),
    "a jti of 10,000 characters": claim({ jti: "j".repeat(10_000) }),
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.audience"), {
    "an aud whose host is in upper case": aud((url) => url.replace("localhost", "LOCALHOST")),
    "an absent aud [7523 3]": claim({ aud: undefined }),
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.subject"), {
    "an absent sub": claim({ sub: undefined }),
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.issuer"), {
    "an iss that is an array": claim({ iss: ["reporter"] }),
  }),
  ...tokenRequests(refusing(invalidClient, ["assertion.issuer", "assertion.subject"]), {
    "the client_id of another plugin in the form": { form: { client_id: "archiver" } },
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.id"), { "an empty jti": claim({ jti: "" }) }),
];

const at = (write: (now: number) => object) => (world: World) => claim({ ...write(world.seconds) });
const old = (seconds: number) => at((now) => ({ iat: now - seconds, exp: now - seconds + 300 }));
const ahead = (seconds: number) => at((now) => ({ iat: now + seconds, exp: now + seconds + 60 }));
const past = (seconds: number) => at((now) => ({ iat: now - 200, exp: now - seconds }));
const long = (seconds: number) => at((now) => ({ exp: now + seconds }));
const notBefore = (seconds: number) => at((now) => ({ nbf: now + seconds }));

export const times: readonly Row[] = [
  ...tokenRequests(accepted, {
    "an iat 330 s old, the last second of the clock tolerance": old(330),
    "an iat 30 s ahead, the last second of the clock tolerance": ahead(30),
    "times with fractions [7519 2]": at((now) => ({ iat: now - 0.5, exp: now + 59.5 })),
    "an exp 30 s past, the last second of the clock tolerance": past(30),
    "an exp 300 s after iat": long(300),
    "an nbf 30 s ahead, the last second of the clock tolerance": notBefore(30),
  }),
  ...tokenRequests(refusing(invalidClient, ["assertion.issued-at", "assertion.expiry"]), {
    "an iat 331 s old": old(331),
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.issued-at"), {
    "an iat 31 s ahead": ahead(31),
    "an iat that is a string": at((now) => ({ iat: String(now) })),
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.expiry"), {
    "an exp 31 s past": past(31),
    "an exp that is a string": at((now) => ({ exp: String(now + 60) })),
    "an exp equal to iat": long(0),
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.lifetime"), {
    "an exp 301 s after iat, where no tolerance applies": long(301),
  }),
  ...tokenRequests(refusing(invalidClient, "assertion.not-before"), {
    "an nbf 31 s ahead": notBefore(31),
    "an nbf that is a string": at((now) => ({ nbf: String(now) })),
  }),
];

/** Sends the same form twice, with a pause in between. */
const again =
  (seconds: number, write: (now: number) => object = () => ({})) =>
  async (world: World) => {
    const form = String(world.form(at(write)(world)));
    await world.postForm(form);
    world.wait(seconds);
    return world.postForm(form);
  };
const one = claim({ jti: "one" });
/** Two requests with the same jti. */
const sameId =
  (first: Changed, second: Changed = {}) =>
  async (world: World) => {
    await world.requestToken({ ...one, ...first });
    return world.requestToken({ ...one, ...second });
  };
const exchange = { form: { grant_type: "authorization_code", code: "c" } };

export const replays: readonly Row[] = [
  ...group(refusing(invalidClient, "assertion.replay"), {
    "a replay in the last second in which its iat is accepted": again(330, (now) => ({
      exp: now + 300,
    })),
    "a replay 330 s after an iat that was ahead of the clock": again(360, (now) => ({
      iat: now + 30,
      exp: now + 330,
    })),
    "a jti that was spent on a refused grant": sameId(exchange),
    "a new assertion with the jti of one that expired an hour ago": async (world) => {
      await world.requestToken(one);
      world.wait(3600);
      return world.requestToken(one);
    },
  }),
  ...group(refusing(ok({ 200: 1, 400: 19 }), "assertion.replay"), {
    "all but one of 20 concurrent posts of one assertion": async (world) => {
      const form = String(world.form());
      return counted(20, () => world.postForm(form));
    },
  }),
  ...group(accepted, {
    "the jti of an assertion with a wrong signature": sameId({ key: unregisteredKey }),
    "the jti of an assertion with a wrong aud": sameId(claim({ jti: "one", aud: "x" })),
    "the same jti from another plugin": sameId({ clientId: "archiver" }),
  }),
  ...group(accepting(globexToken), {
    "the same jti from a plugin of another tenant": sameId({}, { tenantId: "globex" }),
  }),
];

/** Sends a request so many times at once, and counts the answers by status. */
export async function counted(times: number, send: () => Promise<Response>): Promise<Response> {
  const counts: Record<number, number> = {};
  for (const { status } of await Promise.all(Array.from({ length: times }, send)))
    counts[status] = (counts[status] ?? 0) + 1;
  return Response.json(counts);
}
