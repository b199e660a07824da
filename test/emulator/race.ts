// Concurrent posts of one code, assertion or refresh token: exactly one succeeds, and the rule decides what the other
// attempts do to its tokens.
import { describe, expect, onTestFinished, test } from "vitest";
import type { Emulator, RuleId } from "../../src/emulator/index.js";
import { LaunchedPlugin, PluginClient } from "./plugin-client.js";
import { CALLBACK, Portal } from "./portal.js";

const POSTS = 50;

interface Post {
  readonly url: string;
  readonly body: URLSearchParams | string;
}

interface Contest {
  readonly emulator: Emulator;
  /** Signs requests that share one code, assertion or refresh token. */
  prepare(): Promise<Post[]>;
}

interface Race {
  readonly name: string;
  readonly begin: () => Contest;
  /** The error of the others, and the rule in the customer log. */
  readonly refused: { readonly error: string; readonly rule: RuleId };
  /** The status of a call with the winner's access token after the race. */
  readonly winnersCall: 200 | 401;
}

export const launchRace: Race = {
  name: "one launch code",
  begin: () => launchContest(new LaunchedPlugin()),
  refused: { error: "invalid_grant", rule: "code.unspent" },
  winnersCall: 200,
};

const races: readonly Race[] = [
  {
    name: "one assertion",
    begin() {
      const plugin = new PluginClient();
      const prepare = async () => times({ url: plugin.tokenUrl(), body: plugin.form() });
      return { emulator: plugin.emulator, prepare };
    },
    refused: { error: "invalid_client", rule: "assertion.replay" },
    winnersCall: 200,
  },
  launchRace,
  {
    name: "one authorization code",
    begin: () =>
      portalContest(new Portal(), async (portal) => {
        const { code, codeVerifier } = portal.loginCode();
        return { code, code_verifier: codeVerifier, client_id: "portal", redirect_uri: CALLBACK };
      }),
    // "a second exchange revokes the tokens of the first".
    refused: { error: "invalid_grant", rule: "client-code.unspent" },
    winnersCall: 401,
  },
  {
    name: "one refresh token",
    begin: () => portalContest(new Portal(), refreshFields),
    // "its reuse revokes the newer ones and their access tokens"; later posts find the login revoked.
    refused: { error: "invalid_grant", rule: "refresh.revoked" },
    winnersCall: 401,
  },
  {
    name: "one refresh token without reuse detection",
    begin: () => portalContest(new Portal({ refreshTokens: { reuseDetection: false } }), refreshFields),
    refused: { error: "invalid_grant", rule: "refresh.reuse" },
    winnersCall: 200,
  },
];

/** Each post has an assertion of its own, so that they share only the code. */
export function launchContest(plugin: LaunchedPlugin): Contest {
  const prepare = async () => {
    const { code, codeVerifier } = plugin.launchedCode();
    const form = { grant_type: "authorization_code", code, code_verifier: codeVerifier };
    return Array.from({ length: POSTS }, () => ({ url: plugin.tokenUrl(), body: plugin.form({ form }) }));
  };
  return { emulator: plugin.emulator, prepare };
}

function portalContest(portal: Portal, fields: (portal: Portal) => Promise<object>): Contest {
  const { emulator } = portal;
  const prepare = async () =>
    times({ url: `${emulator.publicUrl}/v1/auth/token`, body: JSON.stringify(await fields(portal)) });
  return { emulator, prepare };
}

async function refreshFields(portal: Portal): Promise<object> {
  const { refresh_token } = await portal.tokens();
  return { grant_type: "refresh_token", refresh_token, client_id: "portal" };
}

const times = (post: Post): Post[] => Array.from({ length: POSTS }, () => post);

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export async function run({ refused, winnersCall }: Race, contest: Contest, send: Fetch): Promise<void> {
  const posts = await contest.prepare();
  const { customerLog, publicUrl } = contest.emulator;
  customerLog.clear();
  const answers = await Promise.all(
    posts.map(async ({ url, body }) => {
      const type = typeof body === "string" ? "application/json" : "application/x-www-form-urlencoded";
      const headers = { "content-type": type };
      const response = await send(url, { method: "POST", headers, body: String(body) });
      return { status: response.status, body: (await response.json()) as Record<string, string> };
    }),
  );
  const winners = answers.filter(({ status }) => status === 200);
  const losers = answers.filter(({ status }) => status === 400);
  expect([winners.length, losers.length]).toEqual([1, POSTS - 1]);
  expect(new Set(losers.map(({ body }) => body.error))).toEqual(new Set([refused.error]));
  expect(customerLog.entries()).toHaveLength(POSTS - 1);
  expect(customerLog.last()?.rule).toBe(refused.rule);
  const { token_type, access_token } = winners[0]?.body ?? {};
  const path = token_type === undefined ? "/v1/devices" : "/api/v1/acme/devices";
  const headers = { authorization: `Bearer ${access_token}` };
  expect((await send(publicUrl + path, { headers })).status).toBe(winnersCall);
}

/** Runs every race, in-process and over HTTP. */
export function describeRaces(rounds: number): void {
  describe.each(races)(`of ${POSTS} concurrent posts of $name exactly one is answered 200`, (race) => {
    test.each([{ way: "in-process" }, { way: "over HTTP" }])(`$way, ${rounds} times`, async ({ way }) => {
      const contest = race.begin();
      if (way === "over HTTP") onTestFinished((await contest.emulator.listen()).close);
      const send = way === "over HTTP" ? fetch : contest.emulator.fetch;
      for (let round = 0; round < rounds; round++) await run(race, contest, send);
    });
  });
}
