/**
 * The client assertion of Variant A (section 2.2): what must not be accepted, and what the
 * description leaves open.
 */
import { exportJWK, exportSPKI, importJWK } from "jose";
import type { AssertionChanges } from "../assertion.js";
import { accepts, type CaseDefinition, defineCases, learnt } from "../case.js";
import { NotTried } from "../errors.js";
import { type Kit, shownAnswer, tokenIn } from "../kit.js";
import { expectedAnswer, malformedErrors, observedOf, refusals, refusedByA } from "./judge.js";
import { ofPlugin, request, wrongKey } from "./token-requests.js";

/** What an assertion has other than a right one: in words, and as changes of it. */
type WrongAssertion = readonly [
  what: string,
  changes: (kit: Kit) => AssertionChanges | Promise<AssertionChanges>,
];

type Changed = Readonly<Record<string, unknown>>;
const claims = (claims: Changed): AssertionChanges => ({ claims });
const header = (header: Changed): AssertionChanges => ({ header });

const wrongAssertions: Readonly<Record<string, WrongAssertion>> = {
  "assertion.algorithm.none": ["alg none and no signature", () => header({ alg: "none" })],
  "assertion.algorithm.hs256": ["HS256, keyed with the public key as PEM", signedWithPublicKey],
  "assertion.algorithm.rs384": ["RS384 by the registered key", (kit) => signedWith(kit, "RS384")],
  "assertion.algorithm.ps256": ["PS256 by the registered key", (kit) => signedWith(kit, "PS256")],
  "assertion.critical-header.unknown": [
    "crit that names an extension which does not exist",
    () => header({ crit: ["bivariant-contract"], "bivariant-contract": true }),
  ],
  "assertion.critical-header.b64": [
    "b64 false in crit",
    () => header({ crit: ["b64"], b64: false }),
  ],
  "assertion.key-header": [
    "the public key as jwk in its header",
    async (kit) => header({ jwk: await publicJwk(kit) }),
  ],
  "assertion.issuer": ["iss of another client", () => claims({ iss: "bivariant-contract" })],
  "assertion.subject": ["sub of another client", () => claims({ sub: "bivariant-contract" })],
  "assertion.audience.base-url": [
    "the base URL as aud",
    ({ target }) => claims({ aud: target.baseUrl }),
  ],
  "assertion.audience.other-tenant": [
    "another tenant's token URL as aud",
    (kit) =>
      claims({
        aud: kit.tokenUrlOfA(kit.target.secondTenantId ?? `${kit.need("tenantId")}-other`),
      }),
  ],
  "assertion.audience.array": [
    "an array that holds the token URL as aud",
    (kit) => claims({ aud: [kit.tokenUrlOfA()] }),
  ],
  "assertion.audience.trailing-slash": [
    "the token URL and a slash as aud",
    (kit) => claims({ aud: `${kit.tokenUrlOfA()}/` }),
  ],
  "assertion.audience.placeholder": [
    "aud that still holds {tenantId}",
    (kit) => claims({ aud: kit.tokenUrlOfA("{tenantId}") }),
  ],
  "assertion.issued-at.ahead": ["iat 90 s ahead", (kit) => claims({ iat: kit.now() + 90 })],
  "assertion.issued-at.missing": ["no iat", () => claims({ iat: undefined })],
  "assertion.expiry.missing": ["no exp", () => claims({ exp: undefined })],
  "assertion.expiry.past": [
    "exp 100 s in the past and iat 200 s in the past",
    (kit) => claims({ iat: kit.now() - 200, exp: kit.now() - 100 }),
  ],
  "assertion.lifetime": [
    "exp 301 s after iat",
    (kit) => claims({ iat: kit.now(), exp: kit.now() + 301 }),
  ],
  "assertion.not-before": ["nbf 90 s ahead", (kit) => claims({ nbf: kit.now() + 90 })],
  "assertion.id.missing": ["no jti", () => claims({ jti: undefined })],
  "assertion.id.number": ["a number as jti", () => claims({ jti: Math.random() })],
};

async function publicJwk(kit: Kit) {
  const { publicJwk: jwk } = await kit.signer(kit.need("plugin"));
  if (jwk === undefined)
    throw new NotTried(
      "It needs the public half of the plugin's key, which cannot be exported. " +
        "Pass the key as PEM or JWK.",
    );
  return jwk;
}

async function signedWithPublicKey(kit: Kit) {
  const key = await importJWK(await publicJwk(kit), "RS256", { extractable: true });
  const pem = await exportSPKI(key as CryptoKey);
  return { header: { alg: "HS256" }, key: new TextEncoder().encode(pem) };
}

async function signedWith(kit: Kit, alg: string) {
  await publicJwk(kit);
  const { key } = await kit.signer(kit.need("plugin"));
  const { alg: _, ...jwk } = await exportJWK(key);
  return { header: { alg }, key: (await importJWK(jwk, alg)) as CryptoKey };
}

/**
 * Uses an assertion once in a run. Signed again, the same claims are the same assertion: RS256 has
 * no random part.
 */
function useAssertion(kit: Kit, ageSeconds: number, secondsLeft: number) {
  return kit.share(`assertion of ${ageSeconds} s, with ${secondsLeft} s left`, async () => {
    await kit.granted("A");
    let used = { iat: 0, exp: 0, jti: "" };
    const answer = await kit.requestTokenOfA(`an assertion issued ${ageSeconds} s ago`, {
      assertion() {
        const now = kit.now();
        used = { iat: now - ageSeconds, exp: now + secondsLeft, jti: crypto.randomUUID() };
        return claims(used);
      },
    });
    return { used, answer };
  });
}

type UsedAssertion = Awaited<ReturnType<typeof useAssertion>>;

/** Sends a used jti again, in another assertion if its exp is another. */
async function replayed(kit: Kit, { used, answer }: UsedAssertion, earlierSeconds = 0) {
  tokenIn(answer, "The new assertion");
  const assertion = claims({ ...used, exp: used.exp - earlierSeconds });
  const again = await kit.requestTokenOfA("a jti that was used", { assertion });
  // After 30 s of tolerance it would be refused for its exp, which says nothing about its jti.
  const mayBeExpired = again.accessToken === undefined && kit.now() > used.exp + 25;
  if (mayBeExpired) throw new NotTried("It expired before the answer came.");
  return refusedByA(again, "assertion.replay");
}

/** That of the case clock-drift, which costs nothing more, or a new one if it was refused. */
async function usedAssertion(kit: Kit) {
  const aged = await useAssertion(kit, 120, 150);
  return aged.answer.accessToken === undefined ? useAssertion(kit, 0, 150) : aged;
}

export const assertionCases: readonly CaseDefinition[] = [
  ...refusals("A", ofPlugin, {
    // RFC 6749 section 5.2: "no client authentication included" is invalid_client.
    "assertion.present": request(
      "a token request without client_assertion",
      { fields: { client_assertion: undefined } },
      { errors: [...malformedErrors, "invalid_client"] },
    ),
    "assertion.form": request(
      "a client_assertion that is not a JWT",
      { fields: { client_assertion: "not-a-jwt" } },
      { errors: ["invalid_client", ...malformedErrors] },
    ),
    "assertion.signature": wrongKey,
    ...Object.fromEntries(
      Object.entries(wrongAssertions).map(([id, [what, changes]]) => [
        id,
        request(`an assertion with ${what}`, (kit) => ({ assertion: () => changes(kit) })),
      ]),
    ),
  }),
  ...defineCases(
    "A",
    { needs: ofPlugin.needs, costs: { requests: 3, slots: 3 } },
    {
      "assertion.key-id": {
        says:
          "With two keys in the JWKS, an assertion whose kid names the key that did not sign " +
          "is refused.",
        expected: expectedAnswer("assertion.key-id"),
        needs: ["secondKey"],
        async run(kit) {
          await kit.granted("A");
          const plugin = { clientId: kit.need("plugin").clientId, ...kit.need("secondKey") };
          const { keyId: kid } = await kit.signer(kit.need("secondKey"));
          const assertion = header({ kid });
          const answer = await kit.requestTokenOfA("the kid of the other key", { assertion });
          if (answer.accessToken === undefined) return refusedByA(answer, "assertion.key-id");
          // With one key in the JWKS it is right to accept any kid.
          const control = await kit.requestTokenOfA("the other key and its kid", { plugin });
          if (control.accessToken !== undefined) return accepts(observedOf(answer));
          throw new NotTried(`The second key is not registered (${shownAnswer(control)}).`);
        },
      },
      "key-id-rules": {
        says: "With one key in the JWKS, an assertion without kid is refused or accepted.",
        async run(kit) {
          await kit.granted("A");
          const { secondKey, restrictedPlugin } = kit.target;
          const plugin = secondKey === undefined ? kit.need("plugin") : restrictedPlugin;
          const needs = "It needs a service plugin with one key in its JWKS";
          if (plugin === undefined) throw new NotTried(`${needs}, as restrictedPlugin.`);
          const ask = (note: string, kid: string | undefined) =>
            kit.requestTokenOfA(note, { plugin, assertion: header({ kid }) });
          const without = await ask("an assertion without kid", undefined);
          if (without.accessToken !== undefined)
            return learnt("An assertion without kid is accepted.", { requireKid: false });
          const wrong = await ask("a kid that is not registered", "bivariant-contract");
          tokenIn(wrong, `${needs}: a wrong kid`);
          return learnt("A wrong kid is accepted, but not an absent one.", { requireKid: true });
        },
      },
      "clock-drift": {
        says: "An assertion of a clock that is 120 s slow is accepted or refused.",
        expected: "Section 2.2 permits it, the table of section 7.1 does not.",
        async run(kit) {
          const { answer } = await useAssertion(kit, 120, 150);
          return learnt(`An assertion issued 120 s ago: ${observedOf(answer)}`);
        },
      },
    },
  ),
  ...defineCases(
    "A",
    {
      needs: ofPlugin.needs,
      costs: { requests: 4, slots: 4 },
      expected: expectedAnswer("assertion.replay"),
    },
    {
      "assertion.replay.same-assertion": {
        says: "An assertion is refused when it is sent a second time.",
        run: async (kit) => replayed(kit, await usedAssertion(kit)),
      },
      "assertion.replay.same-id": {
        says: "A new assertion with a jti that was used is refused.",
        run: async (kit) => replayed(kit, await usedAssertion(kit), 1),
      },
      "assertion.replay.after-expiry": {
        says:
          "An assertion is refused a second time also while only the clock tolerance still " +
          "accepts its exp.",
        costs: { requests: 3, slots: 3, seconds: 22 },
        async run(kit) {
          const used = await useAssertion(kit, 0, 10);
          await kit.wait(22);
          return replayed(kit, used);
        },
      },
    },
  ),
];
