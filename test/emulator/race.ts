// Concurrent posts of one code, assertion or refresh token: exactly one succeeds, and the rule decides what the other
// attempts do to its tokens.
import { describe, expect, onTestFinished, test } from "vitest";
import type { Emulator, RuleId } from "../../src/emulator/index.js";
import { LaunchedPlugin, PluginClient } from "./plugin-client.js";
import { CALLBACK, Portal } from "./portal.js";

export const POSTS = 50;

interface Post {
  readonly url: string;
  readonly body: URLSearchParams | string;
}

interface Contest {
  readonly emulator: Emulator;
  /** Requests that are signed and ready to be sent, and share what can be used once. */
  prepare(): Promise<Post[]>;
}

interface Race {
  readonly name: string;
  readonly begin: () => Contest;
  /** The answer to each of the others, and the rule in the customer log. */
  readonly refused: { readonly error: string; readonly rule: RuleId };
  /** The status of a call with the winner's access token after the race. */
  readonly winnersCall: 200 | 401;
}

export const races: readonly Race[] = [
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
  {
    name: "one launch code",
    begin: () => launchRace(new LaunchedPlugin()),
    refused: { error: "invalid_grant", rule: "code.unspent" },
    winnersCall: 200,
  },
  {
    name: "one authorization code",
    begin() {
      const portal = new Portal();
      const prepare = async () => {
        const { code, codeVerifier } = portal.loginCode();
        const fields = { code, code_verifier: codeVerifier, client_id: "portal", redirect_uri: CALLBACK };
        return times(postOf(portal, fields));
      };
      return { emulator: portal.emulator, prepare };
    },
    // "a second exchange revokes the tokens of the first".
    refused: { error: "invalid_grant", rule: "client-code.unspent" },
    winnersCall: 401,
  },
  {
    name: "one refresh token",
    begin: () => refreshRace(new Portal()),
    // "its reuse revokes the newer ones and their access tokens"; those who come later find the login revoked.
    refused: { error: "invalid_grant", rule: "refresh.revoked" },
    winnersCall: 401,
  },
  {
    name: "one refresh token without reuse detection",
    begin: () => refreshRace(new Portal({ refreshTokens: { reuseDetection: false } })),
    refused: { error: "invalid_grant", rule: "refresh.reuse" },
    winnersCall: 200,
  },
];

/** Each post with an assertion of its own: it is the code that they share. */
export function launchRace(plugin: LaunchedPlugin): Contest {
  const prepare = async () => {
    const { code, codeVerifier } = plugin.launchedCode();
    const form = { grant_type: "authorization_code", code, code_verifier: codeVerifier };
    return Array.from({ length: POSTS }, () => ({ url: plugin.tokenUrl(), body: plugin.form({ form }) }));
  };
  return { emulator: plugin.emulator, prepare };
}

function refreshRace(portal: Portal): Contest {
  const prepare = async () => {
    const { refresh_token } = await portal.tokens();
    return times(postOf(portal, { grant_type: "refresh_token", refresh_token, client_id: "portal" }));
  };
  return { emulator: portal.emulator, prepare };
}

function postOf({ emulator }: Portal, fields: object): Post {
  return { url: `${emulator.publicUrl}/v1/auth/token`, body: JSON.stringify(fields) };
}

function times(post: Post): Post[] {
  return Array.from({ length: POSTS }, () => post);
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export async function run({ refused, winnersCall }: Race, contest: Contest, send: Fetch): Promise<void> {
  const posts = await contest.prepare();
  const { customerLog, publicUrl } = contest.emulator;
  customerLog.clear();
  const responses = await Promise.all(posts.map(({ url, body }) => send(url, initOf(body))));
  const answers = await Promise.all(
    responses.map(async (response) => ({ response, body: await json(response) })),
  );
  const [winner, second] = answers.filter(({ response }) => response.status === 200);
  const losers = answers.filter(({ response }) => response.status === 400);
  expect(winner).toBeDefined();
  expect(second).toBeUndefined();
  expect(losers).toHaveLength(POSTS - 1);
  expect(new Set(losers.map(({ body }) => body.error))).toEqual(new Set([refused.error]));
  expect(customerLog.entries()).toHaveLength(POSTS - 1);
  expect(customerLog.last()?.rule).toBe(refused.rule);
  const path = winner?.body.token_type === undefined ? "/v1/devices" : "/api/v1/acme/devices";
  const headers = { authorization: `Bearer ${winner?.body.access_token}` };
  expect((await send(publicUrl + path, { headers })).status).toBe(winnersCall);
}

function initOf(body: Post["body"]): RequestInit {
  const type = typeof body === "string" ? "application/json" : "application/x-www-form-urlencoded";
  return { method: "POST", headers: { "content-type": type }, body: String(body) };
}

async function json(response: Response): Promise<Record<string, string>> {
  return (await response.json()) as Record<string, string>;
}

/** Runs every race, in-process and over HTTP. */
export function describeRaces(rounds: number): void {
  describe.each(races)(`of ${POSTS} concurrent posts of $name exactly one is answered 200`, (race) => {
    test(`in-process, ${rounds} times`, async () => {
      const contest = race.begin();
      for (let round = 0; round < rounds; round++) await run(race, contest, contest.emulator.fetch);
    });

    test(`over HTTP, ${rounds} times`, async () => {
      const contest = race.begin();
      const { close } = await contest.emulator.listen();
      onTestFinished(close);
      for (let round = 0; round < rounds; round++) await run(race, contest, fetch);
    });
  });
}
