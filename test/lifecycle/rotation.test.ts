// Keys and secrets rotate without a restart: both keys are registered meanwhile, then the old one is taken away.
import { describe, expect, test } from "vitest";
import { createAuth, type KeyWithId, serviceAccount } from "../../src/index.js";
import { steppedClock, timeTravel } from "../support/clock.js";
import { ACCOUNT_ID, ACCOUNT_SECRET, deployment, PLUGIN_ID, plugin } from "../support/deployment.js";
import { type KeyPair, otherRsaKey, pkcs8, privateJwk, publicJwk, rsaKey } from "../support/keys.js";
import { rejectionOf } from "../support/wait.js";

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

describe.each(forms)("a function that gives a $name and its keyId", ({ privateKey }) => {
  test("is read for every assertion: no restart, no refusal, at no stage of the rotation", async () => {
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

test("a key that is rotated while a rate limit is waited out signs the attempt that follows", async () => {
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

test("a key function that fails is told as a wrong key, and the next call reads it again", async () => {
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

test("a client secret that is rotated is read for every token request, and opens what the old one closed", async () => {
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
