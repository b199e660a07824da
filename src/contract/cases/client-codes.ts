/** Variant B's authorization codes (sections 4.2 and 5.8), and what a code exchange shows. */
import { breaks, type CaseDefinition, defineCases, holds, learnt } from "../case.js";
import { NotTried } from "../errors.js";
import type { Answer } from "../exchange.js";
import { type Fields, type Kit, shownAnswer } from "../kit.js";
import {
  exchangeCode,
  exchangeTwice,
  firstRefresh,
  logIn,
  mostPathRequests,
  newSession,
  otherClient,
  randomText,
  refreshSession,
  sharedSession,
  tryExchange,
} from "../person.js";
import { findLifetime, isAccepted, refusedByB } from "./judge.js";

const refused = "A 4xx without a token. Variant B's errors are not shown.";
const needs = ["apiClient", "login"] as const;
/** A session, and one exchange that should be refused: of a code that is left, or of a new login. */
const costs = { requests: 4, logins: 3 };

/** An exchange that is right but for the changes is refused. */
function refusedExchange(
  note: string,
  changes: (kit: Kit) => Fields,
): Pick<CaseDefinition, "expected" | "needs" | "run"> & { readonly costs: typeof costs } {
  return {
    expected: refused,
    needs,
    costs,
    run: async (kit) => refusedByB(await tryExchange(kit, note, changes(kit))),
  };
}

/** A code is exchanged twice, and then the tokens of the first exchange are used. */
export function reuseCode(
  kit: Kit,
): Promise<{ readonly second: Answer; readonly call: Answer; readonly refresh: Answer }> {
  return kit.share("reused code", async () => {
    const { path } = await firstRefresh(kit);
    const session = await newSession(kit);
    await requireAccepted(kit, session.accessToken);
    const second = await exchangeCode(kit, session, "the second exchange of a code", {});
    const call = await callAfterwards(kit, session.accessToken);
    const note = "a refresh after the second exchange of the code";
    return { second, call, refresh: await refreshSession(kit, session, { path, note, changes: {} }) };
  });
}

/** What it costs alone: the path of the refresh, a session, and four requests more. */
export const reuseCosts: { readonly requests: number; readonly logins: number } = {
  requests: mostPathRequests + 9,
  logins: 3,
};

export async function requireAccepted(kit: Kit, token: string): Promise<void> {
  const answer = await kit.call({ note: "the device list with the token of a login", variant: "B", token });
  if (!isAccepted(answer))
    throw new NotTried(`The device list refuses the person's token (${shownAnswer(answer)}).`);
}

export function callAfterwards(kit: Kit, token: string): Promise<Answer> {
  return kit.call({ note: "the device list with a token that was revoked", variant: "B", token });
}

export const clientCodeCases: readonly CaseDefinition[] = defineCases("B", {
  "token-response.code": {
    section: "4.2",
    says: "A right code exchange returns access_token and refresh_token, both strings.",
    expected: "A success with access_token and refresh_token.",
    needs,
    costs: { requests: 3, logins: 2 },
    async run(kit) {
      const { answer, refreshToken } = await sharedSession(kit);
      if (refreshToken === undefined) return breaks(`${answer.status} without refresh_token.`);
      return holds(`${answer.status} with access_token and refresh_token.`);
    },
  },
  "client-code.known": {
    rule: "client-code.known",
    section: "4.2, 5.8",
    says: "A made-up code is refused.",
    expected: refused,
    needs,
    costs,
    async run(kit) {
      await sharedSession(kit);
      const madeUp = { code: randomText(), verifier: randomText() };
      return refusedByB(await exchangeCode(kit, madeUp, "the exchange of a made-up code", {}));
    },
  },
  "client-code.verifier.wrong": {
    rule: "client-code.verifier",
    section: "4.2, 5.8 (RFC 7636 section 4.6)",
    says: "A code exchange with another code_verifier is refused.",
    expected: refused,
    needs,
    costs,
    async run(kit) {
      await sharedSession(kit);
      return refusedByB((await exchangeTwice(kit)).wrong);
    },
  },
  "client-code.verifier.length": {
    rule: "client-code.verifier",
    section: "4.2, 5.8 (RFC 7636 section 4.1)",
    says: "A code_verifier of 42 characters is refused, although its challenge was sent.",
    expected: refused,
    needs,
    costs,
    async run(kit) {
      await sharedSession(kit);
      const login = await logIn(kit, randomText().slice(1));
      return refusedByB(await exchangeCode(kit, login, "an exchange with a verifier of 42 characters", {}));
    },
  },
  "client-request.fields.verifier": {
    rule: "client-request.fields",
    section: "4.2 (RFC 7636 section 4.5)",
    says: "A code exchange without code_verifier is refused.",
    ...refusedExchange("a code exchange without code_verifier", () => ({ code_verifier: undefined })),
  },
  "client-code.client": {
    rule: "client-code.client",
    section: "4.2 (RFC 6749 section 5.2)",
    says: "A code is refused to another client than the one it was handed out to.",
    ...refusedExchange("the exchange of a code by another client", otherClient),
    needs: [...needs, "otherApiClient"],
  },
  "client-code.redirect-uri": {
    rule: "client-code.redirect-uri",
    section: "4.2 (RFC 6749 section 4.1.3)",
    says: "A code exchange with another redirect_uri than that of the authorization request is refused.",
    ...refusedExchange("a code exchange with another redirect_uri", (kit) => ({
      redirect_uri: `${kit.need("apiClient").redirectUri}/bivariant-contract`,
    })),
  },
  "api-client.authentication": {
    rule: "api-client.authentication",
    section: "2.5, 4.2 (RFC 6749 section 3.2.1)",
    says: "The code exchange of a confidential client with a wrong client_secret is refused. It is sent once.",
    ...refusedExchange("a code exchange with a made-up client_secret", (kit) => {
      requireSecret(kit);
      return { client_secret: randomText() };
    }),
  },
  "code-exchange-secret": {
    unknown: "code-exchange-secret",
    section: "4.2",
    says: "The code exchange of a confidential client without client_secret shows whether it must carry one.",
    expected: "A success or a refusal: the description does not show it.",
    needs,
    costs,
    async run(kit) {
      requireSecret(kit);
      const changes = { client_secret: undefined };
      const answer = await tryExchange(kit, "a code exchange without client_secret", changes);
      const without = answer.accessToken === undefined ? "is refused without it" : "works without it too";
      return learnt(`A code exchange works with client_secret and ${without}.`);
    },
  },
  "variant-b-code-rules.failure": {
    unknown: "variant-b-code-rules",
    section: "4.2",
    says: "A right code exchange after one with a wrong verifier shows whether a failed attempt spends the code.",
    expected: "A success or a refusal: the description says so only for Variant A.",
    needs,
    costs: { requests: 3, logins: 2 },
    async run(kit) {
      await sharedSession(kit);
      const { right } = await exchangeTwice(kit);
      if (right === undefined) throw new NotTried("The exchange with a wrong verifier did not fail.");
      return learnt(
        right.accessToken === undefined
          ? "A failed exchange spends the code."
          : "A failed exchange keeps the code.",
      );
    },
  },
  "client-code.unspent": {
    rule: "client-code.unspent",
    section: "not shown (RFC 6749 section 4.1.2)",
    says: "The second exchange of a code is refused.",
    expected: refused,
    needs,
    costs: reuseCosts,
    safe: false,
    run: async (kit) => refusedByB((await reuseCode(kit)).second),
  },
});

function requireSecret(kit: Kit): void {
  if (kit.need("apiClient").clientSecret === undefined)
    throw new NotTried("It needs an API client with a client secret.");
}

/** Exchanges the code of a new login after so many seconds. */
async function exchangeAfter(kit: Kit, seconds: number): Promise<Answer> {
  const login = await logIn(kit);
  await kit.wait(seconds);
  return exchangeCode(kit, login, `the exchange of a code that is ${seconds} s old`, {});
}

const plausibleLifetimes = [30, 60, 120, 300, 600];

/** Cases that wait, which are tried last, because the tokens of the others expire meanwhile. */
export const waitingClientCodeCases: readonly CaseDefinition[] = defineCases("B", {
  "client-code.lifetime": {
    rule: "client-code.lifetime",
    section: "not shown (RFC 6749 section 4.1.2)",
    says: "A code is refused after 610 s: RFC 6749 recommends at most ten minutes.",
    expected: refused,
    needs,
    costs: { requests: 4, logins: 3, seconds: 610 },
    async run(kit) {
      await sharedSession(kit);
      return refusedByB(await exchangeAfter(kit, 610));
    },
  },
  "variant-b-code-rules.lifetime": {
    unknown: "variant-b-code-rules",
    section: "4.2",
    says: "Codes of growing age show how long one can be exchanged.",
    expected: "Any lifetime: the description does not show it.",
    needs,
    costs: { requests: 7, logins: 6, seconds: 1_700 },
    async run(kit) {
      await sharedSession(kit);
      const isTaken = async (age: number) => (await exchangeAfter(kit, age)).accessToken !== undefined;
      const { observed, seconds } = await findLifetime(plausibleLifetimes, isTaken);
      return learnt(
        `A code can be exchanged for ${observed}.`,
        seconds ? { codeLifetimeSeconds: seconds } : {},
      );
    },
  },
});
