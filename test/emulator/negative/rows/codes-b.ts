// The authorization codes of Variant B and the refresh tokens they are exchanged for (sections 4.2, 5.8 and 5.9).
import type { RuleId } from "../../../../src/emulator/index.js";
import { newPkce, s256 } from "../../pkce.js";
import { invalidToken, personTokens, refusedB } from "../answer.js";
import type { Row } from "../row.js";
import type { World } from "../world.js";

function row(name: string, rules: readonly RuleId[], request: Row["request"], more: Partial<Row> = {}): Row {
  return {
    name,
    rules,
    request,
    answer: rules[0] === undefined ? personTokens : refusedB(rules[0]),
    ...more,
  };
}
function aged(name: string, seconds: number, rules: readonly RuleId[]): Row {
  return row(name, rules, (world) => {
    const code = world.loginCode();
    world.wait(seconds);
    return world.exchangeLogin(code);
  });
}
function reused(name: string, seconds: number): Row {
  return row(name, ["client-code.unspent"], async (world) => {
    const code = world.loginCode();
    await world.exchangeLogin(code);
    world.wait(seconds);
    return world.exchangeLogin(code);
  });
}
/** Tokens whose code was exchanged a second time. */
async function burnt(world: World): Promise<{ access_token: string; refresh_token: string }> {
  const code = world.loginCode();
  const tokens = (await (await world.exchangeLogin(code)).json()) as Awaited<ReturnType<typeof burnt>>;
  await world.exchangeLogin(code);
  return tokens;
}

const codes: readonly Row[] = [
  row("a code, exchanged at once", [], (world) => world.exchangeLogin(world.loginCode())),
  row("a code exchange that names its grant_type", [], (world) =>
    world.exchangeLogin(world.loginCode(), { grant_type: "authorization_code" }),
  ),
  reused("OC codereuse: a code again", 0),
  reused("F2 attempt-reuse-authorization-code-after-one-second", 1),
  reused("OC codereuse-30seconds", 30),
  row(
    "OC codereuse, 9700 4.2.4: the access token of a code that was used again",
    ["bearer.revoked"],
    async (world) => world.call((await burnt(world)).access_token, "/v1/devices"),
    { answer: invalidToken },
  ),
  row(
    "OC codereuse, 9700 4.2.4: the refresh token of a code that was used again",
    ["refresh.revoked"],
    async (world) => world.refresh((await burnt(world)).refresh_token),
  ),
  aged("a code of 1:59", 119, []),
  aged("a code of two minutes, the last instant of its life", 120, []),
  aged("a code of two minutes and a millisecond", 120.001, ["client-code.lifetime"]),
  aged("F2 ensure-token-endpoint-fails-with-expired-auth-code: 2:01", 121, ["client-code.lifetime"]),
  row(
    "F2 ensure-authorization-code-is-bound-to-client: a code of another client",
    ["client-code.client"],
    (world) => world.exchangeLogin(world.loginCode(), { client_id: "kiosk" }),
  ),
  row("a code that nobody handed out", ["client-code.known"], (world) =>
    world.exchangeLogin({ code: "SplxlOBeZQQYbYS6WxSbIA", ...newPkce() }),
  ),
  row("a code of Variant A", ["client-code.known"], (world) => world.exchangeLogin(world.launchedCode())),
];

function redirected(name: string, redirect_uri: string): Row {
  return row(name, ["client-code.redirect-uri"], (world) =>
    world.exchangeLogin(world.loginCode(), { redirect_uri }),
  );
}
function verifying(name: string, verifierFor: (right: string) => string, right?: string): Row {
  return row(name, ["client-code.verifier"], (world) => {
    const pkce = newPkce(right);
    const { code } = world.loginCode({ code_challenge: pkce.codeChallenge });
    return world.exchangeLogin({ code, ...pkce, codeVerifier: verifierFor(pkce.codeVerifier) });
  });
}
const bindings: readonly Row[] = [
  redirected("6749 4.1.3: another registered redirect_uri", "http://127.0.0.1/callback"),
  redirected("OC redirect-uri-query-mismatch", "https://portal.example/callback?x=1"),
  row("8252 7.3: another port than the authorization request's", ["client-code.redirect-uri"], (world) =>
    world.exchangeLogin(world.loginCode({ redirect_uri: "http://127.0.0.1:51004/callback" }), {
      redirect_uri: "http://127.0.0.1:51005/callback",
    }),
  ),
  verifying("F2 incorrect-pkce-code-verifier-rejected", () => newPkce().codeVerifier),
  verifying("7636 4.1: the challenge itself as verifier", s256),
  verifying("7636 4.1: the right verifier, of 42 characters", (right) => right, "v".repeat(42)),
  verifying("7636 4.1: the right verifier, of 129 characters", (right) => right, "v".repeat(129)),
  {
    ...verifying("9700 4.8.2: a verifier, though no challenge was sent", () => newPkce().codeVerifier),
    options: { rules: { "authorization.challenge": false } },
    request: (world) =>
      world.exchangeLogin({ ...newPkce(), code: world.loginCode({ code_challenge: undefined }).code }),
  },
  row("the right verifier after a wrong one: only Variant A spends the code on it", [], async (world) => {
    const code = world.loginCode();
    await world.exchangeLogin(code, { code_verifier: newPkce().codeVerifier });
    return world.exchangeLogin(code);
  }),
];

export const codesB: readonly Row[] = [...codes, ...bindings];
