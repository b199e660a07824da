// Signing keys: the accepted forms and their kid, the refused ones, and rotation.
import { createPrivateKey, createSecretKey, sign } from "node:crypto";
import { calculateJwkThumbprint, decodeProtectedHeader, importJWK, jwtVerify } from "jose";
import { describe, expect, test } from "vitest";
import { createAuth, type KeyWithId, serviceAccount, servicePlugin } from "../../src/index.js";
import { steppedClock, timeTravel } from "../support/clock.js";
import { ACCOUNT_ID, ACCOUNT_SECRET, deployment, PLUGIN_ID, plugin } from "../support/deployment.js";
import { scriptedFetch } from "../support/fetch.js";
import {
  cryptoKey,
  ecKey,
  ed25519Key,
  type KeyPair,
  otherRsaKey,
  pkcs1,
  pkcs8,
  privateJwk,
  publicJwk,
  rsaKey,
  rsaPssKey,
  shortRsaKey,
  spki,
} from "../support/keys.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";

const baseUrl = "https://service.example/prefix";
const audience = `${baseUrl}/api/v1/acme/external-plugin/oauth/token`;

/** Asks for a token with a key in any form, and gives the assertion that was sent. */
async function assertionWith(privateKey: unknown, keyId?: string): Promise<string> {
  const fetch = scriptedFetch(() => Response.json({ access_token: "t", expires_in: 60 }));
  const settings = { clientId: "reporter", privateKey, ...(keyId === undefined ? {} : { keyId }) };
  const credential = servicePlugin(settings as Parameters<typeof servicePlugin>[0]);
  await createAuth({ baseUrl, tenantId: "acme", credential, fetch }).getAccessToken();
  return new URLSearchParams(fetch.calls[0]?.body).get("client_assertion") ?? "";
}

const thumbprint = () => calculateJwkThumbprint(publicJwk(rsaKey()));
const signer = {
  keyId: "kms-7",
  sign: async (bytes: Uint8Array) => new Uint8Array(sign("sha256", bytes, rsaKey().privateKey)),
};

describe("an accepted private key signs an assertion that jose verifies, with the right kid", () => {
  const rows: { name: string; key: () => unknown; keyId?: string; kid: string }[] = [
    { name: "PKCS#8 PEM", key: () => pkcs8(rsaKey()), kid: "thumbprint" },
    { name: "PKCS#8 PEM with spaces around", key: () => `\n  ${pkcs8(rsaKey())}\n\n`, kid: "thumbprint" },
    { name: "PKCS#8 PEM with CRLF", key: () => pkcs8(rsaKey()).replace(/\n/g, "\r\n"), kid: "thumbprint" },
    {
      name: "PKCS#8 PEM with its line breaks written out, as in an environment variable",
      key: () => pkcs8(rsaKey()).replace(/\n/g, "\\n"),
      kid: "thumbprint",
    },
    {
      name: "PKCS#8 PEM among the attributes and certificates of openssl pkcs12",
      key: () =>
        `Bag Attributes\n    friendlyName: x\n${certificate()}\nKey Attributes\n${pkcs8(rsaKey())}more`,
      kid: "thumbprint",
    },
    { name: "PKCS#8 PEM with keyId", key: () => pkcs8(rsaKey()), keyId: "given", kid: "given" },
    { name: "PKCS#1 PEM", key: () => pkcs1(rsaKey()), kid: "thumbprint" },
    { name: "JWK", key: () => privateJwk(rsaKey()), kid: "thumbprint" },
    { name: "JWK with a kid", key: () => ({ ...privateJwk(rsaKey()), kid: "own" }), kid: "own" },
    { name: "JWK with alg", key: () => ({ ...privateJwk(rsaKey()), alg: "RS256" }), kid: "thumbprint" },
    {
      name: "JWK with a kid, and keyId, which wins",
      key: () => ({ ...privateJwk(rsaKey()), kid: "own" }),
      keyId: "given",
      kid: "given",
    },
    { name: "JWK as text", key: () => JSON.stringify({ ...privateJwk(rsaKey()), kid: "own" }), kid: "own" },
    { name: "CryptoKey", key: () => cryptoKey(rsaKey()), kid: "thumbprint" },
    {
      name: "CryptoKey that is not extractable, with keyId",
      key: () => cryptoKey(rsaKey(), { extractable: false }),
      keyId: "hsm-1",
      kid: "hsm-1",
    },
    { name: "KeyObject", key: () => rsaKey().privateKey, kid: "thumbprint" },
    { name: "signer", key: () => signer, kid: "kms-7" },
    {
      name: "signer that answers at once",
      key: () => ({
        keyId: "kms-8",
        sign: (bytes: Uint8Array) => sign("sha256", bytes, rsaKey().privateKey),
      }),
      kid: "kms-8",
    },
    {
      name: "signer that returns an ArrayBuffer, as WebCrypto does",
      key: async () => {
        const key = await cryptoKey(rsaKey());
        const algorithm = "RSASSA-PKCS1-v1_5";
        const subtleSign = (bytes: Uint8Array<ArrayBuffer>) => crypto.subtle.sign(algorithm, key, bytes);
        return { keyId: "kms-9", sign: subtleSign };
      },
      kid: "kms-9",
    },
    { name: "function of a PEM", key: () => () => pkcs8(rsaKey()), kid: "thumbprint" },
    { name: "async function of a JWK", key: () => async () => privateJwk(rsaKey()), kid: "thumbprint" },
    {
      name: "function of { privateKey, keyId }",
      key: () => async () => ({ privateKey: pkcs8(rsaKey()), keyId: "2026-01" }),
      kid: "2026-01",
    },
  ];
  test.each(rows)("$name", async ({ key, keyId, kid }) => {
    const assertion = await assertionWith(await key(), keyId);
    const expected = kid === "thumbprint" ? await thumbprint() : kid;
    const verified = await jwtVerify(assertion, await importJWK(publicJwk(rsaKey()), "RS256"), {
      audience,
      issuer: "reporter",
      subject: "reporter",
    });
    expect(verified.protectedHeader).toEqual({ alg: "RS256", typ: "JWT", kid: expected });
  });

  test("an assertion signed with another key does not verify", async () => {
    const assertion = await assertionWith(pkcs8(otherRsaKey()));
    await expect(jwtVerify(assertion, await importJWK(publicJwk(rsaKey()), "RS256"))).rejects.toThrow();
    expect(decodeProtectedHeader(assertion).kid).not.toBe(await thumbprint());
  });
});

describe("a refused private key causes an error before any request, and is not shown", () => {
  const withoutEnd = () => pkcs8(rsaKey()).replace(/-----END.*/s, "");
  const cut = (pem: string) => {
    const lines = pem.trim().split("\n");
    return [...lines.slice(0, 8), lines.at(-1)].join("\n");
  };
  const encrypt = (type: "pkcs8" | "pkcs1") =>
    rsaKey()
      .privateKey.export({ type, format: "pem", cipher: "aes-256-cbc", passphrase: "x" } as never)
      .toString();
  const hmac = () =>
    crypto.subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, true, ["sign"]) as Promise<CryptoKey>;
  const publicKey = async () =>
    (await importJWK(publicJwk(rsaKey()), "RS256", { extractable: true })) as CryptoKey;
  const short = "key_too_short";
  const unsupported = "key_unsupported";
  const invalid = "key_invalid";

  const rows: { name: string; key: () => unknown; code: string; option?: string; tells: RegExp }[] = [
    { name: "EC PEM", key: () => pkcs8(ecKey()), code: unsupported, tells: /only RSA/ },
    {
      name: "EC PEM of its own kind",
      key: () => ecKey().privateKey.export({ type: "sec1", format: "pem" }).toString(),
      code: unsupported,
      tells: /only RSA/,
    },
    { name: "EC JWK", key: () => privateJwk(ecKey()), code: unsupported, tells: /only RSA/ },
    { name: "EC KeyObject", key: () => ecKey().privateKey, code: unsupported, tells: /only RSA/ },
    { name: "Ed25519 PEM", key: () => pkcs8(ed25519Key()), code: unsupported, tells: /only RSA/ },
    { name: "Ed25519 JWK", key: () => privateJwk(ed25519Key()), code: unsupported, tells: /only RSA/ },
    { name: "RSA-PSS PEM", key: () => pkcs8(rsaPssKey()), code: unsupported, tells: /only RSA/ },
    { name: "RSA-PSS KeyObject", key: () => rsaPssKey().privateKey, code: unsupported, tells: /only RSA/ },
    {
      name: "RSA-PSS CryptoKey",
      key: () => cryptoKey(rsaKey(), { name: "RSA-PSS" }),
      code: unsupported,
      tells: /RSASSA-PKCS1-v1_5 with SHA-256/,
    },
    {
      name: "RS512 CryptoKey",
      key: () => cryptoKey(rsaKey(), { hash: "SHA-512" }),
      code: unsupported,
      tells: /SHA-256/,
    },
    {
      name: "JWK for PS256",
      key: () => ({ ...privateJwk(rsaKey()), alg: "PS256" }),
      code: unsupported,
      tells: /RS256/,
    },
    {
      name: "oct JWK",
      key: () => ({ kty: "oct", k: "c2VjcmV0LWhtYWM" }),
      code: unsupported,
      tells: /symmetric/,
    },
    { name: "HMAC CryptoKey", key: hmac, code: unsupported, tells: /symmetric/ },
    {
      name: "secret KeyObject",
      key: () => createSecretKey(Buffer.from("secret")),
      code: unsupported,
      tells: /symmetric/,
    },
    { name: "encrypted PKCS#8 PEM", key: () => encrypt("pkcs8"), code: unsupported, tells: /openssl pkey/ },
    { name: "encrypted PKCS#1 PEM", key: () => encrypt("pkcs1"), code: unsupported, tells: /openssl pkey/ },
    { name: "public PEM", key: () => spki(rsaKey()), code: invalid, tells: /Pass the private key/ },
    {
      name: "PKCS#1 public PEM",
      key: () => rsaKey().publicKey.export({ type: "pkcs1", format: "pem" }).toString(),
      code: invalid,
      tells: /Pass the private key/,
    },
    { name: "public JWK", key: () => publicJwk(rsaKey()), code: invalid, tells: /Pass the private key/ },
    { name: "public KeyObject", key: () => rsaKey().publicKey, code: invalid, tells: /Pass the private key/ },
    { name: "public CryptoKey", key: publicKey, code: invalid, tells: /cannot sign/ },
    { name: "1024 bits in PKCS#8", key: () => pkcs8(shortRsaKey()), code: short, tells: /1024/ },
    { name: "1024 bits in PKCS#1", key: () => pkcs1(shortRsaKey()), code: short, tells: /1024/ },
    { name: "1024 bits in a JWK", key: () => privateJwk(shortRsaKey()), code: short, tells: /1024/ },
    { name: "1024 bits in a CryptoKey", key: () => cryptoKey(shortRsaKey()), code: short, tells: /1024/ },
    { name: "1024 bits in a KeyObject", key: () => shortRsaKey().privateKey, code: short, tells: /1024/ },
    { name: "PEM whose END line is missing", key: withoutEnd, code: invalid, tells: /END line/ },
    {
      name: "PKCS#8 PEM cut off in its body",
      key: () => cut(pkcs8(rsaKey())),
      code: invalid,
      tells: /truncated/,
    },
    {
      name: "PKCS#1 PEM cut off in its body",
      key: () => cut(pkcs1(rsaKey())),
      code: invalid,
      tells: /truncated/,
    },
    {
      name: "PEM whose body is not base64",
      key: () => "-----BEGIN PRIVATE KEY-----\n!!!\n-----END PRIVATE KEY-----",
      code: invalid,
      tells: /cannot be read/,
    },
    {
      name: "JWK with a damaged modulus",
      key: () => ({ ...privateJwk(rsaKey()), n: `${privateJwk(rsaKey()).n?.slice(0, -8)}AAAAAAAA` }),
      code: invalid,
      tells: /do not fit/,
    },
    {
      name: "JWK whose private half is another key's",
      key: () => ({ ...privateJwk(otherRsaKey()), n: privateJwk(rsaKey()).n }),
      code: invalid,
      tells: /do not fit/,
    },
    {
      name: "JWK whose private numbers are cut off",
      key: () => ({ ...privateJwk(rsaKey()), d: "AQ", p: "AQ", dp: "AQ" }),
      code: invalid,
      tells: /do not fit/,
    },
    { name: "JWK with d alone", key: jwkWithDAlone, code: invalid, tells: /cannot be read/ },
    { name: "JWK as broken JSON", key: () => '{"kty":"RSA","d":"', code: invalid, tells: /not JSON/ },
    { name: "certificate", key: certificate, code: invalid, tells: /Pass the private key/ },
    { name: "nothing", key: () => undefined, code: invalid, tells: /missing/ },
    { name: "empty text", key: () => "", code: invalid, tells: /neither PEM nor a JWK/ },
    { name: "path of a file", key: () => "./private.pem", code: invalid, tells: /neither PEM nor a JWK/ },
    { name: "number", key: () => 7, code: invalid, tells: /missing/ },
    { name: "empty object", key: () => ({}), code: invalid, tells: /must be a PEM, a JWK/ },
    { name: "bytes", key: () => new Uint8Array(8), code: invalid, tells: /^privateKey is / },
    {
      name: "CryptoKey that is not extractable, without keyId",
      key: () => cryptoKey(rsaKey(), { extractable: false }),
      code: "key_id_required",
      option: "keyId",
      tells: /Pass keyId/,
    },
    {
      name: "signer without keyId",
      key: () => ({ sign: signer.sign }),
      code: "key_id_required",
      option: "keyId",
      tells: /keyId/,
    },
    {
      name: "function that throws",
      key: () => () => {
        throw new Error(`cannot read ${privateJwk(rsaKey()).d}`);
      },
      code: invalid,
      tells: /function that returns privateKey failed/,
    },
    {
      name: "function that rejects",
      key: () => () => Promise.reject(new Error("no")),
      code: invalid,
      tells: /failed/,
    },
    {
      name: "function of garbage",
      key: () => () => "garbage",
      code: invalid,
      tells: /neither PEM nor a JWK/,
    },
    { name: "function of nothing", key: () => async () => undefined, code: invalid, tells: /missing/ },
    {
      name: "function of { privateKey: EC }",
      key: () => () => ({ privateKey: pkcs8(ecKey()), keyId: "x" }),
      code: unsupported,
      tells: /only RSA/,
    },
    {
      name: "signer that fails",
      key: () => ({ keyId: "kms", sign: () => Promise.reject(new Error(pkcs8(rsaKey()))) }),
      code: invalid,
      tells: /failed to sign/,
    },
    { name: "signer of base64", key: () => signerOf("c2ln"), code: invalid, tells: /must return the bytes/ },
    {
      name: "signer of nothing",
      key: () => signerOf(undefined),
      code: invalid,
      tells: /must return the bytes/,
    },
    {
      name: "signer of an object with a signature",
      key: () => signerOf({ Signature: new Uint8Array(256) }),
      code: invalid,
      tells: /must return the bytes/,
    },
    {
      name: "signer of a hash",
      key: () => signerOf(new Uint8Array(32)),
      code: invalid,
      tells: /returned 32 bytes.*256 or more/,
    },
  ];
  test.each(rows)("$name: $code", async ({ key, code, option = "privateKey", tells }) => {
    const fetch = scriptedFetch(() => Response.json({ access_token: "t" }));
    const credential = servicePlugin({ clientId: "reporter", privateKey: (await key()) as never });
    const auth = createAuth({ baseUrl, tenantId: "acme", credential, fetch });
    const error = await rejectionOf(auth.getAccessToken());

    expect(error).toMatchObject({ name: "ConfigurationError", code, option, variant: "A" });
    expect((error as Error).message).toMatch(tells);
    expect(fetch.calls).toHaveLength(0);
    const secrets = [rsaKey(), ecKey(), shortRsaKey(), ed25519Key()].flatMap((pair) => [
      ...pkcs8(pair).split("\n").slice(1, -2),
      privateJwk(pair).d ?? "",
    ]);
    for (const secret of secrets) expect(shown(error)).not.toContain(secret);
  });
});

test("a keyId that is not a text is refused", async () => {
  const error = await rejectionOf(assertionWith(pkcs8(rsaKey()), 7 as never));
  expect(error).toMatchObject({ code: "key_invalid", option: "keyId" });
});

test("a key function is called for each assertion, so that keys rotate without a restart", async () => {
  const keys = [pkcs8(rsaKey()), pkcs8(otherRsaKey())];
  const fetch = scriptedFetch(() =>
    Response.json({ access_token: `t${fetch.calls.length}`, expires_in: 60 }),
  );
  const credential = servicePlugin({ clientId: "reporter", privateKey: () => keys.shift() ?? "" });
  const auth = createAuth({ baseUrl, tenantId: "acme", credential, fetch });
  auth.invalidate(await auth.getAccessToken());
  await auth.getAccessToken();
  const kids = fetch.calls.map(
    ({ body }) => decodeProtectedHeader(new URLSearchParams(body).get("client_assertion") ?? "").kid,
  );
  const expected = [publicJwk(rsaKey()), publicJwk(otherRsaKey())].map((jwk) => calculateJwkThumbprint(jwk));
  expect(kids).toEqual(await Promise.all(expected));
});

function jwkWithDAlone(): unknown {
  const { kty, n, e, d } = privateJwk(rsaKey());
  return { kty, n, e, d };
}

function signerOf(signature: unknown): unknown {
  return { keyId: "kms", sign: async () => signature };
}

function certificate(): string {
  return "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";
}

test("the key fixtures have the types in their names", () => {
  expect(createPrivateKey(pkcs1(rsaKey())).asymmetricKeyType).toBe("rsa");
  expect(pkcs8(rsaKey()).split("\n").length).toBeGreaterThan(10);
});

describe("key and secret rotation", () => {
  const oldKey = () => ({ pair: rsaKey(), keyId: "key-2025" });
  const newKey = () => ({ pair: otherRsaKey(), keyId: "key-2026" });
  type Key = ReturnType<typeof oldKey>;
  const identity = { clientId: PLUGIN_ID, tenantId: "acme" };
  const jwksOf = (...keys: Key[]) => ({
    keys: keys.map(({ pair, keyId }) => ({ ...publicJwk(pair), kid: keyId })),
  });

  const forms: { name: string; privateKey: (pair: KeyPair) => KeyWithId["privateKey"] }[] = [
    { name: "PEM", privateKey: pkcs8 },
    { name: "JWK", privateKey: privateJwk },
    { name: "KeyObject", privateKey: ({ privateKey }) => privateKey },
  ];

  describe.each(forms)("a function that returns a $name and its keyId", ({ privateKey }) => {
    test("is called for each assertion, so that no stage of a rotation needs a restart or causes a refusal", async () => {
      const clock = steppedClock();
      const { now } = clock;
      const emulator = deployment({ now });
      const register = (...keys: Key[]) => emulator.updatePlugin({ ...identity, jwks: jwksOf(...keys) });
      let current = oldKey();
      const credential = plugin({
        privateKey: async () => ({ privateKey: privateKey(current.pair), keyId: current.keyId }),
      });
      const { publicUrl: baseUrl, fetch } = emulator;
      const auth = createAuth({ baseUrl, tenantId: "acme", credential, fetch, now });
      const renew = async () => {
        auth.invalidate(await auth.getAccessToken());
        clock.advance(60_000);
        return (await auth.getAccessToken()).value;
      };
      register(oldKey());
      const stages = [await renew()];
      register(oldKey(), newKey());
      stages.push(await renew());
      current = newKey();
      stages.push(await renew());
      register(newKey());
      stages.push(await renew());
      expect(new Set(stages).size).toBe(4);
      expect(emulator.customerLog.entries()).toEqual([]);

      current = oldKey();
      auth.invalidate(await auth.getAccessToken());
      expect(await rejectionOf(auth.getAccessToken())).toMatchObject({
        causes: [{ id: "jwks_mismatch" }, {}, {}],
      });
      expect(emulator.customerLog.entries().at(-1)?.rule).toBe("assertion.signature");
    });
  });

  test("a key rotated during the wait for a rate limit signs the next attempt", async () => {
    const { through, until } = timeTravel();
    const emulator = deployment({ now: Date.now, rateLimit: { requests: 1, windowSeconds: 20 } });
    const { publicUrl: baseUrl, fetch } = emulator;
    await createAuth({ baseUrl, tenantId: "acme", credential: plugin(), fetch }).getAccessToken();
    let current = oldKey();
    const credential = plugin({
      privateKey: () => ({ privateKey: pkcs8(current.pair), keyId: current.keyId }),
    });
    const token = createAuth({ baseUrl, tenantId: "acme", credential, fetch }).getAccessToken();
    await until(() => emulator.journal.tokenRequests({ status: 429 }).length === 1);
    current = newKey();
    emulator.updatePlugin({ ...identity, jwks: jwksOf(newKey()) });
    expect((await through(token)).value).not.toBe("");
    expect(emulator.customerLog.entries().map(({ rule }) => rule)).toEqual(["token-request.rate-limit"]);
  });

  test("a failing key function causes key_invalid, and the next call tries it again", async () => {
    const emulator = deployment();
    let isDown = true;
    const credential = plugin({
      privateKey: () => {
        if (isDown) throw new Error("the key service is down");
        return pkcs8(rsaKey());
      },
    });
    const auth = createAuth({
      baseUrl: emulator.publicUrl,
      tenantId: "acme",
      credential,
      fetch: emulator.fetch,
    });
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({
      code: "key_invalid",
      option: "privateKey",
    });
    isDown = false;
    expect((await auth.getAccessToken()).value).not.toBe("");
  });

  test("a rotated client secret is read for the next token request and ends the backoff of the old one", async () => {
    const emulator = deployment();
    let clientSecret = "the-secret-of-last-year";
    const credential = serviceAccount(async () => ({ clientId: ACCOUNT_ID, clientSecret }));
    const auth = createAuth({
      baseUrl: emulator.publicUrl,
      tenantId: "acme",
      credential,
      fetch: emulator.fetch,
    });
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "token_refused" });
    clientSecret = ACCOUNT_SECRET;
    expect((await auth.getAccessToken()).value).not.toBe("");
  });
});
