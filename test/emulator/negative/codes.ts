// Authorization codes of both variants and the refresh tokens of Variant B (sections 3, 4.1, 4.2,
// 5.8 and 5.9).
import type { EmulatorOptions, RuleId } from "../../../src/emulator/index.js";
import {
  type Changed,
  type Changes,
  type Code,
  FlowEnded,
  TOKEN_PATH_A,
  type Tokens,
  tokensIn,
} from "../deployment.js";
import { newPkce, type Pkce } from "../signing-key.js";
import {
  type Answer,
  accountToken,
  adasToken,
  devices,
  invalidGrant,
  invalidToken,
  ok,
  personTokens,
  refused,
  tokenA,
} from "./answer.js";
import { counted } from "./assertions.js";
import { accepting, group, type Request, type Row, refusing } from "./row.js";
import { PASSWORDS, unregisteredKey, type World } from "./world.js";

/** Obtains and exchanges a code of one variant, with changed fields in the token request. */
interface Codes {
  readonly obtain: (world: World, pkce?: Pkce) => Code;
  readonly exchange: (world: World, code: Code, changes?: Changes) => Promise<Response>;
  /** The prefix of the rules about codes. */
  readonly rules: "code" | "client-code";
  readonly accepted: Answer;
  readonly refused: (rule: RuleId) => Answer;
}
const ofA: Codes = {
  obtain: (world, pkce) => world.launchedCode({}, pkce),
  exchange: (world, code, form = {}) => world.exchange(code, { form }),
  rules: "code",
  accepted: adasToken,
  refused: () => invalidGrant,
};
const ofB: Codes = {
  obtain: (world, pkce) => world.loginCode({}, pkce),
  exchange: (world, code, changes) => world.exchangeLogin(code, changes),
  rules: "client-code",
  accepted: personTokens,
  refused,
};

const aged =
  ({ obtain, exchange }: Codes, seconds: number): Request =>
  (world) => {
    const code = obtain(world);
    world.wait(seconds);
    return exchange(world, code);
  };
const again =
  ({ obtain, exchange }: Codes, seconds: number, first?: Changes): Request =>
  async (world) => {
    const code = obtain(world);
    await exchange(world, code, first);
    world.wait(seconds);
    return exchange(world, code);
  };
/** An exchange with this verifier, whose challenge was sent. */
const verified =
  ({ obtain, exchange }: Codes, verifier: string): Request =>
  (world) =>
    exchange(world, obtain(world, newPkce(verifier)));
const afterWrongVerifier = (codes: Codes) => again(codes, 0, { code_verifier: "w".repeat(43) });

const raced = ok({ 200: 1, 400: 19 });
const race =
  ({ obtain, exchange }: Codes): Request =>
  async (world) => {
    const code = obtain(world);
    return counted(20, () => exchange(world, code));
  };

/** These rows exist for both variants. */
function shared(codes: Codes): Row[] {
  const breaks = (name: "unspent" | "lifetime" | "verifier") => {
    const rule: RuleId = `${codes.rules}.${name}`;
    return refusing(codes.refused(rule), rule);
  };
  return [
    ...group(accepting(codes.accepted), {
      "a code 120 s old, the last instant of its life": aged(codes, 120),
      "a verifier of 43 characters": verified(codes, "v".repeat(43)),
      "a verifier of 128 characters": verified(codes, "v".repeat(128)),
      "a verifier with every unreserved mark": verified(codes, "-._~".padEnd(43, "v")),
    }),
    ...group(breaks("lifetime"), { "a code 120.001 s old": aged(codes, 120.001) }),
    ...group(breaks("verifier"), {
      "the right verifier of 129 characters [7636 4.1]": verified(codes, "v".repeat(129)),
      "the right verifier with a reserved character": verified(codes, `${"v".repeat(43)}+`),
    }),
    ...group(refusing(raced, `${codes.rules}.unspent`), {
      "all but one of 20 concurrent exchanges": race(codes),
    }),
  ];
}

const breaksA = (...breaks: RuleId[]) => refusing(invalidGrant, breaks);
const bobsRoles = [{ name: "operator", group: "people" }];
const bobsToken = tokenA({ tenant: "acme", user: { userId: "bob" }, roles: bobsRoles });
const keepsCode = { options: { unauthenticatedAttemptSpendsCode: false } };
const afterAttempt =
  (first: Changed): Request =>
  async (world) => {
    const code = world.launchedCode();
    await world.exchange(code, first);
    return world.exchange(code);
  };
/** The exchange of a code after a form that more before or behind the others makes invalid. */
const afterForm =
  (before: string, behind: string, grant_type = "authorization_code"): Request =>
  async (world) => {
    const code = world.launchedCode();
    const form = { grant_type, code: code.code, code_verifier: code.codeVerifier };
    await world.postForm(`${before}${world.form({ clientId: "planner", form })}${behind}`);
    return world.exchange(code);
  };
/** The exchange of a code after its exchange with another Content-Type. */
const afterBody =
  (type: string, write: (form: URLSearchParams) => string): Request =>
  async (world) => {
    const code = world.launchedCode();
    const form = { grant_type: "authorization_code", code: code.code };
    await world.post(TOKEN_PATH_A, type, write(world.form({ clientId: "planner", form })));
    return world.exchange(code);
  };
const asJson = (form: URLSearchParams) => JSON.stringify(Object.fromEntries(form));
const afterRefusal = afterAttempt({ key: unregisteredKey });

export const codesA: readonly Row[] = [
  ...shared(ofA),
  ...group(breaksA("code.unspent"), {
    "a code after an attempt whose assertion was refused": afterRefusal,
    "a code after an attempt of an unknown plugin": again(ofA, 0, { client_id: "unknown" }),
    "a code after a form with another field twice": afterForm("", "&x=1&x=2"),
    "a code after a form with two codes": afterForm("code=x&", ""),
    "a code after an attempt in JSON": afterBody("application/json", asJson),
    "a code after a form that says it is text": afterBody("text/plain", String),
    "a code after an attempt of another plugin": afterAttempt({ clientId: "viewer" }),
    "a code after an attempt in another tenant": afterAttempt({ tenantId: "globex" }),
  }),
  ...group(breaksA("code.unspent", "code.lifetime"), {
    "a spent code after its lifetime": again(ofA, 121),
  }),
  ...group(accepting(adasToken), {
    "a code after a request with another grant_type": again(ofA, 0, { grant_type: "x" }),
    "a code that was twice in another grant": afterForm("", "&code=x", "client_credentials"),
  }),
  ...group(accepting(adasToken, keepsCode), {
    "a code after a refused assertion, with the option that keeps it": afterRefusal,
    "a code after a form with two codes, with the option that keeps it": afterForm("code=x&", ""),
    "a code after an attempt in JSON, with the option that keeps it": afterBody(
      "application/json",
      asJson,
    ),
  }),
  ...group(refusing(invalidGrant, "code.unspent", keepsCode), {
    "a code after a wrong verifier, with the option that keeps it": afterWrongVerifier(ofA),
  }),
  ...group(refusing(raced, "code.unspent", keepsCode), {
    "all but one of 20 concurrent exchanges, with the option that keeps a code": race(ofA),
  }),
  ...group(accepting(devices), {
    "the access token of a code that was used again": async (world) => {
      const code = world.launchedCode();
      const { access_token } = await tokensIn(world.exchange(code));
      await world.exchange(code);
      return world.call(access_token);
    },
  }),
  ...group(accepting(bobsToken), {
    "a code of an operator without names and roles": (world) =>
      world.exchange(world.launchedCode({ userId: "bob" })),
  }),
  ...group(breaksA("code.plugin"), {
    "a code of another plugin": (world) =>
      world.exchange(world.launchedCode({ clientId: "viewer" })),
  }),
  ...group(breaksA("code.tenant"), {
    "a code of another tenant": (world) =>
      world.exchange(world.launchedCode({ tenantId: "globex", userId: "grace" })),
  }),
];

const acceptedB = accepting(personTokens);
const breaksB = (rule: RuleId, more: object = {}) => refusing(refused(rule), rule, more);
const redirected =
  (redirect_uri: string, authorized?: string): Request =>
  (world) => {
    const changes = authorized === undefined ? {} : { redirect_uri: authorized };
    return world.exchangeLogin(world.loginCode(changes), { redirect_uri });
  };
const LOOPBACK = "http://127.0.0.1/callback";
const port = (number: number) => `http://127.0.0.1:${number}/callback`;

export const codesB: readonly Row[] = [
  ...shared(ofB),
  ...group(acceptedB, {
    "a code exchange with grant_type authorization_code": (world) =>
      world.exchangeLogin(world.loginCode(), { grant_type: "authorization_code" }),
    "the right verifier after a wrong one, which Variant A refuses": afterWrongVerifier(ofB),
    "a code after an exchange by another client": again(ofB, 0, { client_id: "kiosk" }),
  }),
  ...group(refusing(invalidToken, "bearer.revoked"), {
    "the access token of a code that was used again [9700 4.2.4]": async (world) => {
      const code = world.loginCode();
      const { access_token } = await tokensIn(world.exchangeLogin(code));
      await world.exchangeLogin(code);
      return world.call(access_token, "/v1/devices");
    },
  }),
  ...group(breaksB("client-code.client"), {
    "a code of another client": (world) =>
      world.exchangeLogin(world.loginCode(), { client_id: "kiosk" }),
  }),
  ...group(breaksB("client-code.known"), {
    "an unknown code": (world) => world.exchangeLogin({ code: "x".repeat(43), ...world.pkce() }),
  }),
  ...group(breaksB("client-code.redirect-uri"), {
    "another registered redirect_uri in the exchange [6749 4.1.3]": redirected(LOOPBACK),
    "another loopback port in the exchange [8252 7.3]": redirected(port(51005), port(51004)),
  }),
];

const refreshed =
  (use: (world: World, tokens: Tokens) => Response | Promise<Response>): Request =>
  async (world) =>
    use(world, await world.personTokens());
const twice = refreshed(async (world, { refresh_token }) => {
  await world.refresh(refresh_token);
  return world.refresh(refresh_token);
});
/** Returns the newest tokens of a login after an older refresh token was used again. */
async function stolen(world: World, { refresh_token }: Tokens): Promise<Tokens> {
  const newest = await tokensIn(world.refresh(refresh_token));
  await world.refresh(refresh_token);
  return newest;
}
const callAfterTheft = refreshed(async (world, tokens) =>
  world.call((await stolen(world, tokens)).access_token, "/v1/devices"),
);
const refreshAfterTheft = refreshed(async (world, tokens) =>
  world.refresh((await stolen(world, tokens)).refresh_token),
);
const refreshRace = refreshed((world, { refresh_token }) =>
  counted(10, () => world.refresh(refresh_token)),
);
const refreshRaced = ok({ 200: 1, 400: 9 });
const refreshAfter = (seconds: number) =>
  refreshed((world, { refresh_token }) => {
    world.wait(seconds);
    return world.refresh(refresh_token);
  });
const set = (refreshTokens: EmulatorOptions["refreshTokens"]) => ({ options: { refreshTokens } });
const lifetime = set({ lifetimeSeconds: 100 });
const idle = set({ idleSeconds: 50 });
const reusable = set({ reuseDetection: false });

const portal = { client_id: "portal" };
const vault = { client_id: "vault", client_secret: PASSWORDS.vault };
/** A refresh with changed fields; `isRepaired` then repeats it without the changes. */
const refreshedBy =
  (changes: Changes, client: Changes, isRepaired: boolean): Request =>
  async (world) => {
    const code = world.loginCode({ client_id: client.client_id, scope: "devices:read" });
    const { refresh_token } = await tokensIn(world.exchangeLogin(code, client));
    const answer = await world.refresh(refresh_token, { ...client, ...changes });
    return isRepaired ? world.refresh(refresh_token, client) : answer;
  };
/** A refused refresh, and the refresh token afterwards. */
function refusedRefresh(
  name: string,
  rule: RuleId,
  changes: Changes,
  client: Changes = portal,
  more: object = {},
): Row[] {
  return [
    ...group(breaksB(rule, more), { [name]: refreshedBy(changes, client, false) }),
    ...group(acceptedB, { [`a refresh token after ${name}`]: refreshedBy(changes, client, true) }),
  ];
}
const noSecret = { client_secret: undefined };
const moreScopes = { scope: "devices:read devices:write" };
const byWhom = "api-client.authentication";

export const refreshes: readonly Row[] = [
  ...group(breaksB("refresh.reuse"), { "a rotated refresh token [9700 4.14.2]": twice }),
  ...group(acceptedB, {
    "a refresh with the token of a refresh": refreshed(async (world, { refresh_token }) => {
      const next = await tokensIn(world.refresh(refresh_token));
      if (next.refresh_token === refresh_token)
        throw new FlowEnded("the refresh token was not rotated");
      return world.refresh(next.refresh_token);
    }),
    "a refresh for a granted scope [6749 6]": refreshed((world, { refresh_token }) =>
      world.refresh(refresh_token, { scope: "devices:read" }),
    ),
  }),
  ...group(breaksB("refresh.revoked"), {
    "the newest refresh token after the reuse of an older one [9700 4.14.2]": refreshAfterTheft,
  }),
  ...group(accepting(devices, reusable), {
    "the newest access token after a reuse, with the option that ignores it": callAfterTheft,
  }),
  ...group(accepting(accountToken, set({ rotation: false, idleSeconds: 60 })), {
    "a refresh token whose idle time each use restarts": refreshed(
      async (world, { refresh_token }) => {
        for (const seconds of [59, 59]) {
          world.wait(seconds);
          await world.refresh(refresh_token);
        }
        world.wait(59);
        return world.refresh(refresh_token);
      },
    ),
  }),
  ...group(breaksB("refresh.known"), {
    "an unknown refresh token": (world) => world.refresh("x".repeat(43)),
  }),
  ...refusedRefresh("a refresh without its secret", byWhom, noSecret, vault),
  ...refusedRefresh("a refresh by an unknown client", byWhom, { client_id: "x" }, portal, {
    remains: true,
  }),
  ...refusedRefresh("a refresh by another client", "refresh.client", { client_id: "kiosk" }),
  ...refusedRefresh("one without a token", "client-request.fields", { refresh_token: undefined }),
  ...refusedRefresh("a refresh for a scope that was not granted", "refresh.scope", moreScopes),
  ...group(accepting(devices), {
    "the access token of a login after its refresh": refreshed(async (world, tokens) => {
      await world.refresh(tokens.refresh_token);
      return world.call(tokens.access_token, "/v1/devices");
    }),
  }),
  ...group(refusing(refreshRaced, ["refresh.revoked", "refresh.reuse"]), {
    "all but one of 10 concurrent refreshes": refreshRace,
  }),
  ...group(refusing(refreshRaced, "refresh.reuse", reusable), {
    "all but one of 10 concurrent refreshes, with the option that ignores a reuse": refreshRace,
  }),
  ...group(accepting(personTokens, lifetime), {
    "a refresh 1 ms before the login ends": refreshAfter(99.999),
  }),
  ...group(breaksB("refresh.lifetime", lifetime), {
    "a refresh when the login ends": refreshAfter(100),
  }),
  ...group(accepting(personTokens, idle), {
    "a refresh token that was idle for 1 ms less than allowed": refreshAfter(49.999),
  }),
  ...group(breaksB("refresh.idle", idle), {
    "a refresh token that was idle for too long [9700 4.14.2]": refreshAfter(50),
  }),
];
