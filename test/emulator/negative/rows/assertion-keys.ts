// Which algorithm and which key may sign an assertion, and what its form is (section 2.2).
import { constants, generateKeyPairSync, sign } from "node:crypto";
import type { RuleId } from "../../../../src/emulator/index.js";
import { hs256, rs256 } from "../../signing-key.js";
import { invalidClient, serviceToken } from "../answer.js";
import type { Row } from "../row.js";
import { type ChangedA, key, secondKey, strangersKey, type World } from "../world.js";

function row(name: string, rules: readonly RuleId[], changed: ChangedA | ((world: World) => ChangedA)): Row {
  return {
    name,
    rules,
    request: (world) => world.requestToken(typeof changed === "function" ? changed(world) : changed),
    answer: rules.length === 0 ? serviceToken : invalidClient,
  };
}

const unsigned = () => Buffer.alloc(0);
const rsa = (hash: string) => (input: Buffer) => sign(hash, input, key.privateKey);
const ps256 = (input: Buffer) =>
  sign("sha256", input, { key: key.privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 });
const elliptic = generateKeyPairSync("ec", { namedCurve: "P-256" });
const es256 = (input: Buffer) =>
  sign("sha256", input, { key: elliptic.privateKey, dsaEncoding: "ieee-p1363" });
const pem = key.publicKey.export({ type: "spki", format: "pem" });
const der = key.publicKey.export({ type: "spki", format: "der" });

const confused: readonly RuleId[] = ["assertion.algorithm", "assertion.signature"];
const algorithms: readonly Row[] = [
  row("F2 client-test-invalid-null-alg: none, without a signature", confused, {
    header: { alg: "none" },
    signer: unsigned,
  }),
  row("none, with the signature of RS256", confused, { header: { alg: "none" } }),
  row("None in another spelling", confused, { header: { alg: "nOnE" }, signer: unsigned }),
  row("8725 2.1: HS256 keyed with the public key in PEM form", confused, {
    header: { alg: "HS256" },
    signer: hs256(pem),
  }),
  row("8725 2.1: HS256 keyed with the public key in DER form", confused, {
    header: { alg: "HS256" },
    signer: hs256(der),
  }),
  row("8725 2.1: HS256 keyed with the bytes of the public JWK", confused, {
    header: { alg: "HS256" },
    signer: hs256(JSON.stringify(key.publicJwk)),
  }),
  row("8725 2.1: HS256 keyed with the modulus", confused, {
    header: { alg: "HS256" },
    signer: hs256(Buffer.from(String(key.publicJwk.n), "base64url")),
  }),
  row("RS384 with the registered key", ["assertion.algorithm"], {
    header: { alg: "RS384" },
    signer: rsa("sha384"),
  }),
  row("RS512 with the registered key", ["assertion.algorithm"], {
    header: { alg: "RS512" },
    signer: rsa("sha512"),
  }),
  row("PS256 with the registered key", ["assertion.algorithm"], { header: { alg: "PS256" }, signer: ps256 }),
  row("ES256", confused, { header: { alg: "ES256" }, signer: es256 }),
  row("alg in lower case", confused, { header: { alg: "rs256" } }),
  row("alg is absent", confused, { header: { alg: undefined } }),
];

const signatures: readonly Row[] = [
  row("a key that nobody registered", ["assertion.signature"], {
    key: strangersKey,
  }),
  row("the second key of another plugin", ["assertion.signature"], { key: secondKey }),
  row("no signature", ["assertion.signature"], { signer: unsigned }),
  row("half a signature", ["assertion.signature"], { signer: (input) => rs256(key)(input).subarray(0, 128) }),
  row("claims that were changed after signing", ["assertion.signature"], (world) => {
    const [header, , signature] = world.assertion({ claims: { iss: "archiver" } }).split(".");
    const claims = world.assertion().split(".")[1];
    return { form: { client_assertion: [header, claims, signature].join(".") } };
  }),
  {
    name: "a key that was removed from the JWKS",
    rules: ["assertion.signature"],
    async request(world) {
      const jwks = { keys: [secondKey.publicJwk] };
      world.emulator.updatePlugin({ tenantId: "acme", clientId: "reporter", jwks });
      return world.requestToken();
    },
    answer: invalidClient,
  },
  {
    name: "a key that was added to the JWKS counts from the next request on",
    rules: [],
    async request(world) {
      const jwks = { keys: [key.publicJwk, secondKey.publicJwk] };
      world.emulator.updatePlugin({ tenantId: "acme", clientId: "reporter", jwks });
      return world.requestToken({ key: secondKey });
    },
    answer: serviceToken,
  },
];

const extended: readonly RuleId[] = ["assertion.critical-header"];
const brought: readonly RuleId[] = ["assertion.key-header"];
const certificate = Buffer.from("no certificate").toString("base64");
const headers: readonly Row[] = [
  row("8725 3.10: jwk, and the key it holds signed", ["assertion.key-header", "assertion.signature"], {
    header: { jwk: strangersKey.publicJwk },
    key: strangersKey,
  }),
  row("8725 3.10: jwk of the registered key", brought, { header: { jwk: key.publicJwk } }),
  row("8725 3.10: jku", brought, { header: { jku: "https://evil.example/jwks" } }),
  row("8725 3.10: x5u", brought, { header: { x5u: "https://evil.example/certificate" } }),
  row("8725 3.10: x5c", brought, { header: { x5c: [certificate] } }),
  row("7515 4.1.11: crit names an extension", extended, {
    header: { crit: ["urn:example:x"], "urn:example:x": 1 },
  }),
  row("7515 4.1.11: crit names a claim", extended, { header: { crit: ["exp"], exp: 1 } }),
  row("7797 6: crit and b64 false", extended, { header: { crit: ["b64"], b64: false } }),
  row("7797 6: b64 false without crit", extended, { header: { b64: false } }),
  row("7515 4.1.11: crit is empty", ["assertion.critical-header", "assertion.signature"], {
    header: { crit: [] },
  }),
  row("typ of any kind is accepted", [], { header: { typ: "client-authentication+jwt" } }),
  row("a header that nobody knows is accepted", [], { header: { note: "hello" } }),
];

const keyIds: readonly Row[] = [
  row("OC client-test-kid-absent-single-jwks: kid is absent", ["assertion.key-id"], {
    header: { kid: undefined },
  }),
  row("kid is empty", ["assertion.key-id"], { header: { kid: "" } }),
  row("kid is a number", ["assertion.key-id"], { header: { kid: 1 } }),
  row("a wrong kid, where the JWKS holds one key", [], { header: { kid: "another" } }),
  row("the first of two keys, named by kid", [], { clientId: "rotating" }),
  row("the second of two keys, named by kid", [], { clientId: "rotating", key: secondKey }),
  row("a wrong kid, where the JWKS holds two keys", ["assertion.key-id"], {
    clientId: "rotating",
    header: { kid: "another" },
  }),
  row("the kid of the other key", ["assertion.key-id"], { clientId: "rotating", header: { kid: "key-2" } }),
  row("OC client-test-kid-absent-multiple-jwks: kid is absent", ["assertion.key-id"], {
    clientId: "rotating",
    header: { kid: undefined },
  }),
];

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const formless = (name: string, assertion: string): Row =>
  row(name, ["assertion.form"], { form: { client_assertion: assertion } });
const forms: readonly Row[] = [
  row("F2 ensure-client-assertion-in-token-endpoint: client_assertion is absent", ["assertion.present"], {
    form: { client_assertion: undefined },
  }),
  row("6749 3.2: client_assertion is empty", ["assertion.present"], { form: { client_assertion: "" } }),
  formless("client_assertion is a word", "assertion"),
  formless("client_assertion has two parts", `${part({ alg: "RS256" })}.${part({})}`),
  formless("client_assertion is encrypted, in five parts", "a.b.c.d.e"),
  formless("client_assertion has a header that is no JSON", `abc.${part({})}.abc`),
  formless("client_assertion has claims that are an array", `${part({ alg: "RS256" })}.${part([])}.abc`),
  formless("client_assertion is in JSON serialization", part({ payload: "", signatures: [] })),
];

export const assertionKeys: readonly Row[] = [...algorithms, ...signatures, ...headers, ...keyIds, ...forms];
