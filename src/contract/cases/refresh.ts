/** Variant B's refresh tokens (section 5.9), of which only the existence is shown. */
import { breaks, type CaseDefinition, defineCases, holds, learnt, type Verdict } from "../case.js";
import { NotTried } from "../errors.js";
import type { Answer } from "../exchange.js";
import { type Kit, shownAnswer } from "../kit.js";
import {
  firstRefresh,
  mostPathRequests,
  newSession,
  otherClient,
  randomText,
  refreshAt,
  refreshSession,
  sharedSession,
} from "../person.js";
import { callAfterwards, requireAccepted, reuseCode, reuseCosts } from "./client-codes.js";
import { isAccepted, observedOf, refusedByB } from "./judge.js";

const refused = "A 4xx without a token. Variant B's errors are not shown.";
const needs = ["apiClient", "login"] as const;
/** A session, the path of the refresh, the first refresh, and one request more. */
const costs = { requests: mostPathRequests + 5, logins: 2 };
const wholeCosts = { requests: mostPathRequests + 10, logins: 3 };

interface Reuse {
  /** Undefined if refresh tokens are not rotated. */
  readonly used?: { readonly again: Answer; readonly newest: Answer; readonly call: Answer };
}

/** The refresh token of a new login is used twice, and then the newer tokens are. */
function reuseRefreshToken(kit: Kit): Promise<Reuse> {
  return kit.share("reused refresh token", async () => {
    const { path, isRotated } = await firstRefresh(kit);
    if (!isRotated) return {};
    const session = await newSession(kit);
    const spent = session.refreshToken ?? "";
    await requireAccepted(kit, session.accessToken);
    await refreshSession(kit, session, { path, note: "the refresh of a new login", changes: {} });
    const note = "the second use of a refresh token";
    const again = await refreshAt(kit, { path, refreshToken: spent, note });
    const call = await callAfterwards(kit, session.accessToken);
    const newest = await refreshSession(kit, session, {
      path,
      note: "the newest refresh token",
      changes: {},
    });
    return { used: { again, newest, call } };
  });
}

async function rotated(kit: Kit): Promise<NonNullable<Reuse["used"]>> {
  const { used } = await reuseRefreshToken(kit);
  if (used === undefined) throw new NotTried("Refresh tokens are not rotated, so none is spent.");
  return used;
}

/** Of two tokens of one login the first is judged, if the other shows that the login was revoked. */
function revoked(judged: Answer, other: Answer): Verdict {
  if (!isAccepted(judged)) return refusedByB(judged);
  if (!isAccepted(other)) return breaks(observedOf(judged));
  throw new NotTried("Nothing shows that the reuse revoked the login. The description does not ask for it.");
}

export const refreshCases: readonly CaseDefinition[] = defineCases("B", {
  "refresh-request": {
    unknown: "refresh-request",
    section: "4.2",
    says: "Made-up refresh tokens, and at last a real one, show the path that redeems them.",
    expected: "A path that takes the fields of RFC 6749 section 6 as JSON: the description shows none.",
    needs,
    costs,
    async run(kit) {
      const { path, answer } = await firstRefresh(kit);
      return learnt(
        `${path} answers ${answer.status} to JSON with grant_type, refresh_token and the client.`,
        {
          refreshPath: path,
        },
      );
    },
  },
  "refreshTokens.rotation": {
    section: "5.9",
    says: "A refresh shows whether a new refresh token replaces the old one.",
    expected: "With a new one or without: the description does not show it.",
    needs,
    costs,
    async run(kit) {
      const { isRotated } = await firstRefresh(kit);
      const observed = `A refresh returns ${isRotated ? "a new" : "no new"} refresh token.`;
      return learnt(observed, { refreshTokens: { rotation: isRotated } });
    },
  },
  "refresh.known": {
    rule: "refresh.known",
    section: "5.9",
    says: "A made-up refresh token is refused.",
    expected: refused,
    needs,
    costs,
    async run(kit) {
      const { path } = await firstRefresh(kit);
      const note = "a refresh with a made-up token";
      return refusedByB(await refreshAt(kit, { path, refreshToken: randomText(), note }));
    },
  },
  "refresh.scope": {
    rule: "refresh.scope",
    section: "not shown (RFC 6749 section 6)",
    says: "A refresh with a scope of another form, which was never granted, is refused.",
    expected: refused,
    needs,
    costs,
    async run(kit) {
      const { path } = await firstRefresh(kit);
      const changes = { scope: "bivariant:contract" };
      const request = { path, note: "a refresh with another scope", changes };
      return refusedByB(await refreshSession(kit, await sharedSession(kit), request));
    },
  },
  "refresh.client": {
    rule: "refresh.client",
    section: "not shown (RFC 6749 section 6)",
    says: "A refresh token is refused to another client than the one it was issued to.",
    expected: refused,
    needs: [...needs, "otherApiClient"],
    costs,
    async run(kit) {
      const { path } = await firstRefresh(kit);
      const request = { path, note: "a refresh by another client", changes: otherClient(kit) };
      return refusedByB(await refreshSession(kit, await sharedSession(kit), request));
    },
  },
  "refresh.reuse": {
    rule: "refresh.reuse",
    section: "not shown (RFC 9700 section 4.14.2)",
    says: "A refresh token that a newer one replaced is refused.",
    expected: refused,
    needs,
    costs: wholeCosts,
    safe: false,
    run: async (kit) => refusedByB((await rotated(kit)).again),
  },
  "refreshTokens.reuseDetection": {
    section: "5.9",
    says: "The newest tokens show whether the reuse of an older refresh token revokes the login.",
    expected: "Revoked or not: the description does not show it.",
    needs,
    costs: wholeCosts,
    safe: false,
    async run(kit) {
      const { newest, call } = await rotated(kit);
      const reuseDetection = !isAccepted(newest) || !isAccepted(call);
      const observed = `The reuse of a refresh token ${reuseDetection ? "revokes" : "does not revoke"} the login.`;
      return learnt(observed, { refreshTokens: { reuseDetection } });
    },
  },
  "refresh.revoked": {
    rule: "refresh.revoked",
    section: "not shown (RFC 9700 section 4.14.2)",
    says: "After the second exchange of its code, a login can no longer be refreshed.",
    expected: refused,
    needs,
    costs: reuseCosts,
    safe: false,
    async run(kit) {
      const { call, refresh } = await reuseCode(kit);
      return revoked(refresh, call);
    },
  },
  "bearer.revoked.code-reuse": {
    rule: "bearer.revoked",
    section: "not shown (RFC 6749 section 4.1.2)",
    says: "After the second exchange of its code, the access token of a login is refused.",
    expected: "A 4xx.",
    needs,
    costs: reuseCosts,
    safe: false,
    async run(kit) {
      const { call, refresh } = await reuseCode(kit);
      return revoked(call, refresh);
    },
  },
  "bearer.revoked.refresh-reuse": {
    rule: "bearer.revoked",
    section: "not shown (RFC 9700 section 4.14.2)",
    says: "After the second use of a refresh token, the access token of the login is refused.",
    expected: "A 4xx.",
    needs,
    costs: wholeCosts,
    safe: false,
    async run(kit) {
      const { call, newest } = await rotated(kit);
      return revoked(call, newest);
    },
  },
});

const day = 86_400;

/** Refreshes a new login every so many days, until a refresh is refused or so many days are over. */
async function refreshFor(kit: Kit, everyDays: number, forDays: number): Promise<Verdict> {
  const { path } = await firstRefresh(kit);
  const session = await newSession(kit);
  for (let days = everyDays; days <= forDays; days += everyDays) {
    await kit.wait(everyDays * day);
    const note = `a refresh ${days} days after the login`;
    const answer = await refreshSession(kit, session, { path, note, changes: {} });
    if (answer.accessToken === undefined) return holds(`${shownAnswer(answer)} after ${days} days.`);
  }
  return breaks(`A refresh works after ${forDays} days.`);
}

/** Cases that wait, which are tried last, because the tokens of the others expire meanwhile. */
export const waitingRefreshCases: readonly CaseDefinition[] = defineCases("B", {
  "refresh.idle": {
    rule: "refresh.idle",
    section: "not shown (RFC 9700 section 4.14.2)",
    says: "A refresh token is refused if it was not used for 31 days. The description shows no number.",
    expected: refused,
    needs,
    costs: { requests: wholeCosts.requests, logins: 3, seconds: 31 * day },
    run: (kit) => refreshFor(kit, 31, 31),
  },
  "refresh.lifetime": {
    rule: "refresh.lifetime",
    section: "not shown (RFC 6749 section 10.4)",
    says: "A login can no longer be refreshed after 91 days, although it was every week. The description shows no number.",
    expected: refused,
    needs,
    costs: { requests: wholeCosts.requests + 13, logins: 3, seconds: 91 * day },
    run: (kit) => refreshFor(kit, 7, 91),
  },
});
