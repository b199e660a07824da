// What is good for one use is used once, however many ask for it at the same moment; and what the losers' attempts do to
// the winner's tokens.
import { describe, expect, onTestFinished, test } from "vitest";
import type { Emulator, RuleId } from "../../src/emulator/index.js";
import { LaunchedPlugin } from "./launched-plugin.js";
import { PluginClient } from "./plugin-client.js";
import { CALLBACK, Portal } from "./portal.js";

const POSTS = 50;
const RUNS = 100;

interface Post {
  readonly url: string;
  readonly body: URLSearchParams | string;
}

interface Contest {
  readonly emulator: Emulator;
  /** Everything signed and ready to be sent: all of it uses the same one thing. */
  prepare(): Promise<Post[]>;
}

interface Race {
  readonly name: string;
  readonly begin: () => Contest;
  /** What each of the others is told, and the rule that the customer's log names. */
  readonly refused: { readonly error: string; readonly rule: RuleId };
  /** What the winner's access token is worth when all were answered: the rule's own sentence decides. */
  readonly winnersCall: 200 | 401;
}

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
function launchRace(plugin: LaunchedPlugin): Contest {
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

async function run({ refused, winnersCall }: Race, contest: Contest, send: Fetch): Promise<void> {
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

describe.each(races)(`of ${POSTS} concurrent posts of $name exactly one is answered 200`, (race) => {
  test(`in-process, ${RUNS} times`, async () => {
    const contest = race.begin();
    for (let round = 0; round < RUNS; round++) await run(race, contest, contest.emulator.fetch);
  });

  test(`over HTTP, ${RUNS} times`, async () => {
    const contest = race.begin();
    const { close } = await contest.emulator.listen();
    onTestFinished(close);
    for (let round = 0; round < RUNS; round++) await run(race, contest, fetch);
  });
});

test("after a race for a refresh token nothing of that login is refreshed any more, and another login is", async () => {
  const portal = new Portal();
  const [raced, other] = [await portal.tokens(), await portal.tokens()];
  const attempts = Array.from({ length: POSTS }, () => portal.refresh(raced.refresh_token));
  const winner = (await Promise.all(attempts)).find(({ status }) => status === 200);
  const { refresh_token } = await portal.tokens(winner);
  expect((await portal.refresh(refresh_token)).status).toBe(400);
  expect(portal.lastRule()).toBe("refresh.revoked");
  expect((await portal.refresh(other.refresh_token)).status).toBe(200);
});

test("a launch code that a refused assertion does not spend is still exchanged once", async () => {
  const [, race] = races;
  const contest = launchRace(new LaunchedPlugin({ unauthenticatedAttemptSpendsCode: false }));
  for (let round = 0; race !== undefined && round < 20; round++)
    await run(race, contest, contest.emulator.fetch);
});
