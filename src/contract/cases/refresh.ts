/** Variant B's refresh tokens (section 5.9), of which only the existence is shown. */
import { accepts, type CaseDefinition, defineCases, learnt, type Verdict } from "../case.js";
import { NotTried } from "../errors.js";
import type { Kit } from "../kit.js";
import {
  firstRefresh,
  newSession,
  otherClient,
  randomText,
  refreshAt,
  refreshCosts,
  refreshSession,
  reuseCosts,
  sharedSession,
} from "../person.js";
import { callAfterwards, callAsPerson, type Reuse, reuseCode } from "./client-codes.js";
import { byB, isAccepted, observedOf, refusals, refusedByB } from "./judge.js";

const ofLogin = { needs: ["apiClient", "login"], costs: refreshCosts } as const;

/**
 * The refresh token of a new login is used twice, and then the newer tokens are.
 * @throws NotTried
 */
function reuseRefreshToken(kit: Kit): Promise<Reuse> {
  return kit.share("reused refresh token", async () => {
    const { path, isRotated } = await firstRefresh(kit);
    if (!isRotated) throw new NotTried("Refresh tokens are not rotated, so none is spent.");
    const session = await newSession(kit);
    const spent = session.refreshToken ?? "";
    await callAsPerson(kit, session.accessToken);
    await refreshSession(kit, session, { path, note: "the refresh of a new login" });
    const note = "the second use of a refresh token";
    const again = await refreshAt(kit, { path, refreshToken: spent, note });
    const call = await callAfterwards(kit, session.accessToken);
    const refresh = await refreshSession(kit, session, { path, note: "the newest refresh token" });
    return { again, call, refresh };
  });
}

/** The token that a case is about. */
type Judged = "call" | "refresh";

/**
 * If both tokens are accepted, nothing was revoked: the description does not ask for it.
 * @throws NotTried
 */
function revoked({ judged, ...reuse }: Reuse & { readonly judged: Judged }): Verdict {
  if (isAccepted(reuse.again)) throw new NotTried("The reuse itself was accepted.");
  if (!isAccepted(reuse[judged])) return refusedByB(reuse[judged]);
  if (!isAccepted(reuse.call) || !isAccepted(reuse.refresh))
    return accepts(observedOf(reuse[judged]));
  return { ...learnt("The reuse revokes nothing."), accepted: true };
}

function revocation(note: string, reuse: (kit: Kit) => Promise<Reuse>, judged: Judged) {
  return { note, send: async (kit: Kit) => ({ ...(await reuse(kit)), judged }) };
}

const ofTheClient = { ...byB, ...ofLogin, control: firstRefresh };
/** Reuse may end in a revocation. */
const whole = { costs: reuseCosts, safe: false };

const refreshRules = refusals("B", ofTheClient, {
  "refresh.known": {
    note: "a refresh with a made-up token",
    send: (kit, note, { path }) => refreshAt(kit, { path, refreshToken: randomText(), note }),
  },
  "refresh.scope": {
    note: "a refresh with a scope of another form, which was never granted,",
    send: async (kit, note, { path }) =>
      refreshSession(kit, await sharedSession(kit), {
        path,
        note,
        changes: { scope: "bivariant:contract" },
      }),
  },
  "refresh.client": {
    note: "a refresh by another client",
    needs: ["otherApiClient"],
    send: async (kit, note, { path }) =>
      refreshSession(kit, await sharedSession(kit), { path, note, changes: otherClient(kit) }),
  },
  "refresh.reuse": {
    note: "a refresh token that a newer one replaced",
    ...whole,
    send: async (kit) => (await reuseRefreshToken(kit)).again,
  },
});

const revocations = refusals(
  "B",
  { ...ofTheClient, ...whole, judge: revoked, expected: "A 4xx, if the login was revoked." },
  {
    "refresh.revoked": revocation(
      "a refresh after the second exchange of the code",
      reuseCode,
      "refresh",
    ),
    "refresh.revoked.refresh-reuse": revocation(
      "the newest refresh token after the second use of an older one",
      reuseRefreshToken,
      "refresh",
    ),
    "bearer.revoked.code-reuse": revocation(
      "an access token after the second exchange of the code",
      reuseCode,
      "call",
    ),
    "bearer.revoked.refresh-reuse": revocation(
      "an access token after the second use of a refresh token",
      reuseRefreshToken,
      "call",
    ),
  },
);

const open = "Any answer: the description leaves it open.";

const facts = defineCases("B", ofLogin, {
  "refresh-request": {
    says: "Made-up refresh tokens, and at last a real one, show the path that redeems them.",
    async run(kit) {
      const { path, answer } = await firstRefresh(kit);
      const observed = `${path} answers ${answer.status} to the fields of RFC 6749 section 6 as JSON.`;
      return learnt(observed, { refreshPath: path });
    },
  },
  "refreshTokens.rotation": {
    section: "5.9",
    expected: open,
    says: "A refresh shows whether a new refresh token replaces the old one.",
    async run(kit) {
      const { isRotated } = await firstRefresh(kit);
      const observed = `A refresh returns ${isRotated ? "a new" : "no new"} refresh token.`;
      return learnt(observed, { refreshTokens: { rotation: isRotated } });
    },
  },
  "refreshTokens.reuseDetection": {
    section: "5.9",
    expected: open,
    says: "The newest tokens show whether the reuse of an older refresh token revokes the login.",
    ...whole,
    async run(kit) {
      const { refresh, call } = await reuseRefreshToken(kit);
      const reuseDetection = !isAccepted(refresh) || !isAccepted(call);
      const observed =
        "The reuse of a refresh token " +
        `${reuseDetection ? "revokes" : "does not revoke"} the login.`;
      return learnt(observed, { refreshTokens: { reuseDetection } });
    },
  },
});

export const refreshCases: readonly CaseDefinition[] = [...refreshRules, ...revocations, ...facts];

const day = 86_400;

/**
 * Refreshes a new login every so many days, until a refresh is refused or so many days are over.
 */
function refreshFor(everyDays: number, forDays: number) {
  return async (kit: Kit, note: string, { path }: { readonly path: string }) => {
    const session = await newSession(kit);
    for (let days = everyDays; ; days += everyDays) {
      await kit.wait(everyDays * day);
      const answer = await refreshSession(kit, session, { path, note });
      if (answer.accessToken === undefined || days >= forDays) return answer;
    }
  };
}

/** Cases that wait, which are tried last, because the tokens of the others expire meanwhile. */
export const waitingRefreshCases: readonly CaseDefinition[] = refusals("B", ofTheClient, {
  "refresh.idle": {
    note: "a refresh token that was not used for 31 days",
    costs: { ...reuseCosts, seconds: 31 * day },
    send: refreshFor(31, 31),
  },
  "refresh.lifetime": {
    note: "a refresh 91 days after the login, although there was one every week,",
    costs: { requests: reuseCosts.requests + 13, logins: 3, seconds: 91 * day },
    send: refreshFor(7, 91),
  },
});
