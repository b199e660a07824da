// The accepted forms of a signing key and their kid, the refused forms, and rotation.
import { createSecretKey, sign } from "node:crypto";
import { calculateJwkThumbprint, importJWK, jwtVerify } from "jose";
import { describe, expect, test, vi } from "vitest";
import { type MachineCredential, servicePlugin } from "../../src/index.js";
import { recordedAuth, scriptedAuth } from "../support/auth.js";
import { steppedClock } from "../support/clock.js";
import { deployment, PLUGIN_ID, plugin } from "../support/deployment.js";
import { tokenAnswer } from "../support/fetch.js";
import {
  cryptoKey,
  ecKey,
  ed25519Key,
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
import { rejectionOf, settle } from "../support/wait.js";

const baseUrl = "https://service.example/prefix";
const audience = `${baseUrl}/api/v1/acme/external-plugin/oauth/token`;

/** Asks for a token with a key in any form. Returns the assertion that was sent. */
async function assertionWith(privateKey: unknown, keyId?: string): Promise<string> {
  const settings = { clientId: "reporter", privateKey, ...(keyId === undefined ? {} : { keyId }) };
  const credential = servicePlugin(settings as Parameters<typeof servicePlugin>[0]);
  const { auth, fetch } = scriptedAuth(credential, () => tokenAnswer(), {
    baseUrl,
    clock: { now: Date.now },
  });
  await auth.getAccessToken();
  return new URLSearchParams(fetch.calls[0]?.body).get("client_assertion") ?? "";
}

const certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";
const thumbprint = () => calculateJwkThumbprint(publicJwk(rsaKey()));
const signer = {
  keyId: "kms-7",
  sign: async (bytes: Uint8Array) => new Uint8Array(sign("sha256", bytes, rsaKey().privateKey)),
};

describe("an accepted private key signs an assertion that jose verifies, with the right kid", () => {
  const pemText = () => pkcs8(rsaKey());
  const jwk = (fields: object = {}) => ({ ...privateJwk(rsaKey()), ...fields });
  const bags = () =>
    `Bag Attributes\n    friendlyName: x\n${certificate}\nKey Attributes\n${pemText()}more`;
  const locked = () => cryptoKey(rsaKey(), { extractable: false });
  const subtleSigner = async () => {
    const key = await cryptoKey(rsaKey());
    const subtleSign = (bytes: Uint8Array<ArrayBuffer>) =>
      crypto.subtle.sign("RSASSA-PKCS1-v1_5", key, bytes);
    return { keyId: "kms-9", sign: subtleSign };
  };
  const row = (name: string, key: () => unknown, kid?: string, keyId?: string) => {
    return { name, key, kid, keyId };
  };
  const rows = [
    row("PKCS#8 PEM", pemText),
    row("PKCS#8 PEM with CRLF", () => pemText().replace(/\n/g, "\r\n")),
    row("PKCS#8 PEM with written-out line breaks", () => pemText().replace(/\n/g, "\\n")),
    row("PKCS#8 PEM among the attributes and certificates of openssl pkcs12", bags),
    row("PKCS#1 PEM", () => pkcs1(rsaKey())),
    row("JWK", () => jwk()),
    row("JWK with a kid", () => jwk({ kid: "own" }), "own"),
    row("JWK with a kid, and keyId, which wins", () => jwk({ kid: "own" }), "given", "given"),
    row("JWK as text, with spaces", () => ` ${JSON.stringify(jwk({ kid: "own" }))}\n`, "own"),
    row("CryptoKey", () => cryptoKey(rsaKey())),
    row("CryptoKey that is not extractable, with keyId", locked, "hsm-1", "hsm-1"),
    row("KeyObject", () => rsaKey().privateKey),
    row("signer", () => signer, "kms-7"),
    row("signer that returns an ArrayBuffer, as WebCrypto does", subtleSigner, "kms-9"),
    row("async function of a JWK", () => async () => jwk()),
    row(
      "function of { privateKey, keyId }",
      () => async () => ({ privateKey: pemText(), keyId: "2026-01" }),
      "2026-01",
    ),
  ];
  test.each(rows)("$name", async ({ key, keyId, kid }) => {
    const assertion = await assertionWith(await key(), keyId);
    const expected = kid ?? (await thumbprint());
    const verified = await jwtVerify(assertion, await importJWK(publicJwk(rsaKey()), "RS256"), {
      audience,
      issuer: "reporter",
      subject: "reporter",
    });
    expect(verified.protectedHeader).toEqual({ alg: "RS256", typ: "JWT", kid: expected });
  });
});

describe("a refused private key causes an error before any request, and is not shown", () => {
  const withoutEnd = () => pkcs8(rsaKey()).replace(/-----END.*/s, "");
  const cut = () => {
    const lines = pkcs8(rsaKey()).trim().split("\n");
    return [...lines.slice(0, 8), lines.at(-1)].join("\n");
  };
  const encrypt = (type: "pkcs8" | "pkcs1") =>
    rsaKey()
      .privateKey.export({ type, format: "pem", cipher: "aes-256-cbc", passphrase: "x" } as never)
      .toString();
  const hmac = () =>
    crypto.subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, true, [
      "sign",
    ]) as Promise<CryptoKey>;
  const publicKey = async () =>
    (await importJWK(publicJwk(rsaKey()), "RS256", { extractable: true })) as CryptoKey;
  const row = (name: string, key: () => unknown, message: RegExp) => ({ name, key, message });
  const sec1 = () => ecKey().privateKey.export({ type: "sec1", format: "pem" });
  const signerOf = (signature: unknown) => ({ keyId: "kms", sign: async () => signature });
  const notBytes = /must return the signature as/;
  const pemOf = (body: string) => `-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----`;
  const ofTwoKeys = () => ({ ...privateJwk(rsaKey()), n: privateJwk(otherRsaKey()).n });
  const failing = () => Promise.reject(new Error(pkcs8(rsaKey())));

  const unsupported = [
    row("EC PEM", () => pkcs8(ecKey()), /only RSA/),
    row("EC PEM of its own kind", sec1, /only RSA/),
    row("EC JWK", () => privateJwk(ecKey()), /only RSA/),
    row("RSA-PSS KeyObject", () => rsaPssKey().privateKey, /only RSA/),
    row("RSA-PSS CryptoKey", () => cryptoKey(rsaKey(), { name: "RSA-PSS" }), /PKCS1-v1_5 with/),
    row("JWK for PS256", () => ({ ...privateJwk(rsaKey()), alg: "PS256" }), /RS256/),
    row("RS512 CryptoKey", () => cryptoKey(rsaKey(), { hash: "SHA-512" }), /SHA-256/),
    row("oct JWK", () => ({ kty: "oct", k: "c2VjcmV0LWhtYWM" }), /symmetric/),
    row("HMAC CryptoKey", hmac, /symmetric/),
    row("secret KeyObject", () => createSecretKey(Buffer.from("secret")), /symmetric/),
    row("encrypted PKCS#8 PEM", () => encrypt("pkcs8"), /openssl pkey/),
    row("encrypted PKCS#1 PEM", () => encrypt("pkcs1"), /openssl pkey/),
  ];
  const short = [
    row("1024 bits in a PEM", () => pkcs1(shortRsaKey()), /1024/),
    row("1024 bits in a CryptoKey", () => cryptoKey(shortRsaKey()), /1024/),
  ];
  const invalid = [
    row("public PEM", () => spki(rsaKey()), /Pass the private key/),
    row("public JWK", () => publicJwk(rsaKey()), /Pass the private key/),
    row("public KeyObject", () => rsaKey().publicKey, /Pass the private key/),
    row("public CryptoKey", publicKey, /cannot sign/),
    row("certificate", () => certificate, /Pass the private key/),
    row("PEM whose END line is missing", withoutEnd, /END line/),
    row("PKCS#8 PEM cut off in its body", cut, /truncated/),
    row("PEM whose body is not base64", () => pemOf("!!!"), /cannot be read/),
    row("PEM whose body is not a key", () => pemOf(btoa("this is a text")), /cannot be read/),
    // Node 26 finds such parts when it imports the key.
    row("JWK of two keys", ofTwoKeys, /do not fit|cannot be read/),
    row("JWK with an empty d", () => ({ ...privateJwk(rsaKey()), d: "" }), /public key/),
    row("JWK as broken JSON", () => '{"kty":"RSA","d":"', /not JSON/),
    row("nothing", () => undefined, /missing/),
    row("empty text", () => "", /neither a PEM nor a JWK/),
    row("path of a file", () => "./private.pem", /neither a PEM nor a JWK/),
    row("empty object", () => ({}), /must be a PEM, a JWK/),
    row("bytes", () => new Uint8Array(8), /^privateKey is /),
    row("function that rejects", () => failing, /function that returns privateKey failed/),
    row("signer that fails", () => ({ keyId: "kms", sign: failing }), /failed to sign/),
    row("signer of base64", () => signerOf("c2ln"), notBytes),
    row("signer of a hash", () => signerOf(new Uint8Array(32)), /32 bytes.*256 or more/),
  ];
  const withoutId = [
    row("locked CryptoKey", () => cryptoKey(rsaKey(), { extractable: false }), /Pass keyId/),
    row("signer without keyId", () => ({ sign: signer.sign }), /keyId/),
  ];
  const rows = [
    ...unsupported.map((row) => ({ ...row, code: "key_unsupported", option: "privateKey" })),
    ...short.map((row) => ({ ...row, code: "key_too_short", option: "privateKey" })),
    ...invalid.map((row) => ({ ...row, code: "key_invalid", option: "privateKey" })),
    ...withoutId.map((row) => ({ ...row, code: "key_id_required", option: "keyId" })),
  ];
  test.each(rows)("$name: $code", async ({ key, code, option, message }) => {
    const credential = servicePlugin({ clientId: "reporter", privateKey: (await key()) as never });
    const { auth, fetch } = scriptedAuth(credential, () => tokenAnswer());
    const error = await rejectionOf(auth.getAccessToken());

    expect(error).toMatchObject({ name: "ConfigurationError", code, option, variant: "A" });
    expect((error as Error).message).toMatch(message);
    expect(fetch.calls).toHaveLength(0);
    const secrets = [rsaKey(), ecKey(), shortRsaKey(), ed25519Key()].flatMap((pair) => [
      ...pkcs8(pair).split("\n").slice(1, -2),
      privateJwk(pair).d ?? "",
    ]);
    for (const secret of secrets) expect(shown(error)).not.toContain(secret);
  });
});

test("a keyId that is not a string is refused", async () => {
  const error = await rejectionOf(assertionWith(pkcs8(rsaKey()), 7 as never));
  expect(error).toMatchObject({ code: "key_invalid", option: "keyId" });
});

test("an import that failed is tried again", async () => {
  const importKey = vi
    .spyOn(crypto.subtle, "importKey")
    .mockRejectedValueOnce(new Error("out of memory"));
  const { auth } = scriptedAuth(plugin(), () => tokenAnswer());
  expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "key_invalid" });
  expect((await auth.getAccessToken()).value).toBe("token-1");
  importKey.mockRestore();
});

describe("key and secret rotation", () => {
  const oldKey = () => ({ pair: rsaKey(), keyId: "key-2025" });
  const newKey = () => ({ pair: otherRsaKey(), keyId: "key-2026" });
  type Key = ReturnType<typeof oldKey>;
  const identity = { clientId: PLUGIN_ID, tenantId: "acme" };
  const jwksOf = (...keys: Key[]) => ({
    keys: keys.map(({ pair, keyId }) => ({ ...publicJwk(pair), kid: keyId })),
  });

  test("a function that returns a key is called per assertion, so that a rotation needs no restart and causes no refusal", async () => {
    const clock = steppedClock();
    const emulator = deployment({ now: clock.now });
    const register = (...keys: Key[]) =>
      emulator.updatePlugin({ ...identity, jwks: jwksOf(...keys) });
    let current = oldKey();
    const credential = plugin({
      privateKey: async () => ({ privateKey: pkcs8(current.pair), keyId: current.keyId }),
    });
    const { publicUrl: baseUrl, fetch } = emulator;
    const { auth } = recordedAuth({ baseUrl, credential, fetch, clock });
    const renew = async () => {
      auth.invalidate(await auth.getAccessToken());
      clock.advance(60_000);
      return (await auth.getAccessToken()).value;
    };
    const tokens: string[] = [];
    for (const { registered, key } of [
      { registered: [oldKey()], key: oldKey() },
      { registered: [oldKey(), newKey()], key: oldKey() },
      { registered: [oldKey(), newKey()], key: newKey() },
      { registered: [newKey()], key: newKey() },
    ]) {
      register(...registered);
      current = key;
      tokens.push(await renew());
    }
    expect(new Set(tokens).size).toBe(4);
    expect(emulator.customerLog.entries()).toEqual([]);

    current = oldKey();
    auth.invalidate(await auth.getAccessToken());
    const causes = [{ id: "jwks_mismatch" }, {}, {}];
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ causes });
    expect(emulator.customerLog.entries().at(-1)?.rule).toBe("assertion.signature");
  });

  test("a key rotated during the wait for a rate limit signs the next attempt", async () => {
    const clock = steppedClock();
    const emulator = deployment({ now: clock.now, rateLimit: { requests: 1, windowSeconds: 20 } });
    const { publicUrl: baseUrl, fetch } = emulator;
    const of = (credential: MachineCredential) =>
      recordedAuth({ baseUrl, credential, fetch, clock }).auth;
    await of(plugin()).getAccessToken();
    let current = oldKey();
    const credential = plugin({
      privateKey: () => ({ privateKey: pkcs8(current.pair), keyId: current.keyId }),
    });
    const token = of(credential).getAccessToken();
    await settle();
    expect(emulator.journal.tokenRequests({ status: 429 })).toHaveLength(1);
    current = newKey();
    emulator.updatePlugin({ ...identity, jwks: jwksOf(newKey()) });
    expect((await clock.through(token)).value).not.toBe("");
    expect(emulator.customerLog.entries().map(({ rule }) => rule)).toEqual([
      "token-request.rate-limit",
    ]);
  });

  test("a key rotated while the first attempt waits at the gate signs it", async () => {
    const clock = steppedClock();
    const emulator = deployment({ now: clock.now, rateLimit: { requests: 1, windowSeconds: 20 } });
    const { publicUrl: baseUrl, fetch } = emulator;
    let current = oldKey();
    const credential = plugin({
      privateKey: () => ({ privateKey: pkcs8(current.pair), keyId: current.keyId }),
    });
    const { auth } = recordedAuth({ baseUrl, credential, fetch, clock });
    auth.invalidate(await auth.getAccessToken());
    const controller = new AbortController();
    const first = rejectionOf(auth.getAccessToken({ signal: controller.signal }));
    await settle();
    controller.abort();
    await first;
    const token = auth.getAccessToken();
    await settle();
    current = newKey();
    emulator.updatePlugin({ ...identity, jwks: jwksOf(newKey()) });
    expect((await clock.through(token)).value).not.toBe("");
    expect(emulator.customerLog.entries().map(({ rule }) => rule)).toEqual([
      "token-request.rate-limit",
    ]);
  });
});
