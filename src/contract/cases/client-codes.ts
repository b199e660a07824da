/** Variant B's authorization codes (sections 4.2 and 5.8), and what a code exchange shows. */
import { breaks, type CaseDefinition, defineCases, holds, learnt } from "../case.js";
import { NotTried } from "../errors.js";
import type { Answer } from "../exchange.js";
import type { Fields, Kit } from "../kit.js";
import {
  exchangeCode,
  exchangeTwice,
  firstRefresh,
  logIn,
  newSession,
  otherClient,
  otherRedirectUri,
  randomText,
  refreshSession,
  reuseCosts,
  sharedSession,
  tryExchange,
} from "../person.js";
import { byB, findLifetime, refusals, requireAccepted } from "./judge.js";

/**
 * A session, and one exchange that should be refused: of a code that is left, or of a new login.
 */
const ofLogin = { needs: ["apiClient", "login"], costs: { requests: 4, logins: 3 } } as const;
const ofTheClient = { ...byB, ...ofLogin, control: sharedSession };

/** An exchange that is right but for a change. */
function exchange(note: string, change: Fields | ((kit: Kit) => Fields)) {
  const send = (kit: Kit, note: string) =>
    tryExchange(kit, note, typeof change === "function" ? change(kit) : change);
  return { note, send };
}

/** @throws NotTried if the client has none */
function withSecret(kit: Kit, client_secret: string | undefined): Fields {
  if (kit.need("apiClient").clientSecret !== undefined) return { client_secret };
  throw new NotTried("It needs an API client with a client secret.");
}

/** The second use of a code or a refresh token, and then of the two tokens of its login. */
export interface Reuse {
  readonly again: Answer;
  readonly call: Answer;
  readonly refresh: Answer;
}

/** A code is exchanged twice, and then the tokens of the first exchange are used. */
export function reuseCode(kit: Kit): Promise<Reuse> {
  return kit.share("reused code", async () => {
    const { path } = await firstRefresh(kit);
    const session = await newSession(kit);
    await callAsPerson(kit, session.accessToken);
    const again = await exchangeCode(kit, session, "the second exchange of a code", {});
    const call = await callAfterwards(kit, session.accessToken);
    const note = "a refresh after the second exchange of the code";
    return { again, call, refresh: await refreshSession(kit, session, { path, note }) };
  });
}

export async function callAsPerson(kit: Kit, token: string): Promise<void> {
  const answer = await kit.call("the device list with the token of a login", "B", token);
  requireAccepted(answer, "The device list refuses the person's token");
}

export function callAfterwards(kit: Kit, token: string): Promise<Answer> {
  return kit.call("the device list with a token that was revoked", "B", token);
}

const codeRules = refusals("B", ofTheClient, {
  "client-code.known": {
    note: "the exchange of a made-up code",
    send: (kit, note) =>
      exchangeCode(kit, { code: randomText(), verifier: randomText() }, note, {}),
  },
  "client-code.verifier.wrong": {
    note: "a code exchange with another code_verifier",
    send: async (kit) => (await exchangeTwice(kit)).wrong,
  },
  "client-code.verifier.length": {
    note: "a code_verifier of 42 characters whose challenge was sent",
    send: async (kit, note) => exchangeCode(kit, await logIn(kit, randomText().slice(1)), note, {}),
  },
  "client-request.fields.verifier": exchange("a code exchange without code_verifier", {
    code_verifier: undefined,
  }),
  "client-code.client": {
    ...exchange("the exchange of a code by another client", otherClient),
    needs: ["otherApiClient"],
  },
  "client-code.redirect-uri": exchange(
    "a code exchange with another redirect_uri",
    otherRedirectUri,
  ),
  "api-client.authentication": exchange("a code exchange with a made-up client_secret", (kit) =>
    withSecret(kit, randomText()),
  ),
  "client-code.unspent": {
    note: "the second exchange of a code",
    costs: reuseCosts,
    safe: false,
    send: async (kit) => (await reuseCode(kit)).again,
  },
});

const facts = defineCases("B", ofLogin, {
  "token-response.code": {
    section: "4.2",
    says: "A right code exchange returns access_token and refresh_token, both strings.",
    expected: "A success with access_token and refresh_token.",
    costs: { requests: 3, logins: 2 },
    async run(kit) {
      const { answer, refreshToken } = await sharedSession(kit);
      if (refreshToken === undefined) return breaks(`${answer.status} without refresh_token.`);
      return holds(`${answer.status} with access_token and refresh_token.`);
    },
  },
  "code-exchange-secret": {
    says:
      "The code exchange of a confidential client without client_secret shows whether it " +
      "must carry one.",
    async run(kit) {
      const note = "a code exchange without client_secret";
      const { accessToken } = await tryExchange(kit, note, withSecret(kit, undefined));
      const without = accessToken === undefined ? "is refused without it" : "works without it too";
      return learnt(`A code exchange works with client_secret and ${without}.`);
    },
  },
  "variant-b-code-rules.failure": {
    says:
      "A right code exchange after one with a wrong verifier shows whether a failed attempt " +
      "spends the code.",
    costs: { requests: 3, logins: 2 },
    async run(kit) {
      const { right } = await exchangeTwice(kit);
      if (right === undefined)
        throw new NotTried("The exchange with a wrong verifier did not fail.");
      return learnt(
        `A failed exchange ${right.accessToken === undefined ? "spends" : "keeps"} the code.`,
      );
    },
  },
});

export const clientCodeCases: readonly CaseDefinition[] = [...codeRules, ...facts];

/** Exchanges the code of a new login after so many seconds. */
async function exchangeAfter(kit: Kit, seconds: number) {
  const login = await logIn(kit);
  await kit.wait(seconds);
  return exchangeCode(kit, login, `the exchange of a code that is ${seconds} s old`, {});
}

/** Cases that wait, which are tried last, because the tokens of the others expire meanwhile. */
export const waitingClientCodeCases: readonly CaseDefinition[] = [
  ...refusals("B", ofTheClient, {
    "client-code.lifetime": {
      note: "a code of more than ten minutes, the most that RFC 6749 recommends,",
      costs: { seconds: 610 },
      send: (kit) => exchangeAfter(kit, 610),
    },
  }),
  ...defineCases("B", ofLogin, {
    "variant-b-code-rules.lifetime": {
      says: "Codes of growing age show how long one can be exchanged.",
      costs: { requests: 7, logins: 6, seconds: 1_700 },
      async run(kit) {
        await sharedSession(kit);
        const isTaken = async (age: number) =>
          (await exchangeAfter(kit, age)).accessToken !== undefined;
        const { observed, seconds } = await findLifetime([30, 60, 120, 300, 600], isTaken);
        return learnt(
          `A code can be exchanged for ${observed}.`,
          seconds ? { codeLifetimeSeconds: seconds } : {},
        );
      },
    },
  }),
];
