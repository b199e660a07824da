// Authorization codes of both variants and the refresh tokens of Variant B (sections 3, 4.1, 4.2,
// 5.8 and 5.9).
import type { EmulatorOptions, RuleId } from "../../../src/emulator/index.js";
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
  serviceToken,
  tokenA,
} from "./answer.js";
import { counted } from "./assertions.js";
import { accepting, also, type Group, group, type Request, type Row, refusing } from "./row.js";
import {
  type ChangedA,
  type Changes,
  type Code,
  FlowEnded,
  PASSWORDS,
  type Tokens,
  tokensIn,
  unregisteredKey,
  type World,
} from "./world.js";

/** Obtains and exchanges a code of one variant, with changed fields in the token request. */
interface Codes {
  readonly obtain: (world: World, pkce?: Pkce) => Code;
  readonly exchange: (world: World, code: Code, changes?: Changes) => Promise<Response>;
}
const ofA: Codes = {
  obtain: (world, pkce) => world.launchedCode({}, pkce),
  exchange: (world, code, form = {}) => world.exchange(code, { form }),
};
const ofB: Codes = {
  obtain: (world, pkce) => world.loginCode({}, pkce),
  exchange: (world, code, changes) => world.exchangeLogin(code, changes),
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
/**
 * An exchange with the verifier `sent(right)`, where `right` is the verifier whose challenge was
 * sent.
 */
const verified =
  (
    { obtain, exchange }: Codes,
    sent: (right: string) => string | undefined,
    right?: string,
  ): Request =>
  (world) => {
    const pkce = right === undefined ? world.pkce() : newPkce(right);
    return exchange(world, obtain(world, pkce), { code_verifier: sent(pkce.codeVerifier) });
  };
const same = (right: string): string => right;
const wrong = (): string => "w".repeat(43);
const afterWrongVerifier = (codes: Codes): Request => again(codes, 0, { code_verifier: wrong() });
const reserved = `${"v".repeat(43)}+`;

const raced = ok({ 200: 1, 400: 19 });
const race =
  ({ obtain, exchange }: Codes): Request =>
  async (world) => {
    const code = obtain(world);
    return counted(Array.from({ length: 20 }, () => exchange(world, code)));
  };

/** These rows exist for both variants. */
function shared(
  codes: Codes,
  accepted: Answer,
  breaks: (rule: "unspent" | "lifetime" | "verifier") => Group,
): Row[] {
  return [
    ...group(accepting(accepted), {
      "C8: a code 120 s old, the last instant of its life": aged(codes, 120),
      "C13: a verifier of 43 characters": verified(codes, same, "v".repeat(43)),
      "C13: a verifier of 128 characters": verified(codes, same, "v".repeat(128)),
      "C13: a verifier with every unreserved mark": verified(codes, same, "-._~".padEnd(43, "v")),
    }),
    ...group(breaks("unspent"), {
      "C1: a code again at once [OC codereuse]": again(codes, 0),
      "C1: a code again after 30 s [OC codereuse-30seconds]": again(codes, 30),
    }),
    ...group(breaks("lifetime"), { "C8: a code 120.001 s old": aged(codes, 120.001) }),
    ...group(breaks("verifier"), {
      "C4: a wrong verifier [F2 incorrect-pkce-code-verifier-rejected]": verified(codes, wrong),
      "C13: the right verifier of 42 characters [7636 4.1]": verified(codes, same, "v".repeat(42)),
      "C13: the right verifier of 129 characters [7636 4.1]": verified(
        codes,
        same,
        "v".repeat(129),
      ),
      "C13: the right verifier with a reserved character [7636 4.1]": verified(
        codes,
        same,
        reserved,
      ),
    }),
    ...group(refusing(raced, breaks("unspent").breaks), {
      "C3: all but one of 20 concurrent exchanges [supabase #2613]": race(codes),
    }),
  ];
}

const breaksA = (...breaks: RuleId[]): Group => ({ breaks, answer: invalidGrant });
const keepsCode = { options: { unauthenticatedAttemptSpendsCode: false } };
const operatorRoles = [{ name: "operator", group: "people" }];
const shortLived = { options: { codeLifetimeSeconds: 1 } };
const afterAttempt =
  (first: ChangedA): Request =>
  async (world) => {
    const code = world.launchedCode();
    await world.exchange(code, first);
    return world.exchange(code);
  };
/**
 * The exchange of a code after a form that a further parameter, before or after the others, makes
 * invalid.
 */
const afterForm =
  (more: string, grant_type = "authorization_code"): Request =>
  async (world) => {
    const code = world.launchedCode();
    const form = { grant_type, code: code.code, code_verifier: code.codeVerifier };
    const valid = world.form({ clientId: "planner", form });
    await world.postForm(more.startsWith("&") ? `${valid}${more}` : `${more}${valid}`);
    return world.exchange(code);
  };
const malformed = ["&x=1&x=2", "code=x&"];
const afterRefusal = afterAttempt({ key: unregisteredKey });

export const codesA: readonly Row[] = [
  ...shared(ofA, adasToken, (rule) => breaksA(`code.${rule}`)),
  ...group(breaksA("code.unspent"), {
    "C6: the right verifier after a wrong one": afterWrongVerifier(ofA),
    "C6: the right verifier after none": again(ofA, 0, { code_verifier: undefined }),
    "C7: a code after an attempt whose assertion was refused": afterRefusal,
    "C7: a code after an attempt without an assertion": again(ofA, 0, {
      client_assertion: undefined,
    }),
    "C7: a code after an attempt of an unknown plugin": again(ofA, 0, { client_id: "unknown" }),
    ...Object.fromEntries(
      malformed.map((more) => [`C7: a code after a form with ${more}`, afterForm(more)]),
    ),
    "C9: a code after an attempt of another plugin": afterAttempt({ clientId: "viewer" }),
    "C10: a code after an attempt in another tenant": afterAttempt({ tenantId: "globex" }),
  }),
  ...group(breaksA("code.unspent", "code.lifetime"), {
    "C1: a spent code after its lifetime": again(ofA, 121),
  }),
  ...group(accepting(adasToken), {
    "C7: a code after a request with another grant_type": again(ofA, 0, {
      grant_type: "refresh_token",
    }),
    "C7: a code that was twice in a form of another grant": afterForm(
      "&code=x",
      "client_credentials",
    ),
  }),
  ...group(accepting(adasToken, keepsCode), {
    "C7: a code after a refused assertion, with the option that keeps it": afterRefusal,
    ...Object.fromEntries(
      malformed.map((more) => [
        `C7: a code after ${more}, with the option that keeps it`,
        afterForm(more),
      ]),
    ),
  }),
  ...group(also(breaksA("code.unspent"), keepsCode), {
    "C7: a code after an authenticated attempt, with the option that keeps it":
      afterWrongVerifier(ofA),
  }),
  ...group(refusing(raced, "code.unspent", keepsCode), {
    "C3: all but one of 20 concurrent exchanges, with the option that keeps a code": race(ofA),
  }),
  ...group(accepting(devices), {
    "C2: the access token of a code that was used again, which Variant A does not revoke": async (
      world,
    ) => {
      const code = world.launchedCode();
      const { access_token } = await tokensIn(world.exchange(code));
      await world.exchange(code);
      return world.call(access_token);
    },
  }),
  ...group(accepting(tokenA({ tenant: "acme", user: { userId: "bob" }, roles: operatorRoles })), {
    "a code of an operator without names and roles": (world) =>
      world.exchange(world.launchedCode({ userId: "bob" })),
  }),
  ...group(accepting(adasToken, shortLived), {
    "a code as old as the option codeLifetimeSeconds": aged(ofA, 1),
  }),
  ...group(also(breaksA("code.lifetime"), shortLived), {
    "a code 1 ms older than the option codeLifetimeSeconds": aged(ofA, 1.001),
  }),
  ...group(breaksA("code.plugin"), {
    "C9: a code of another plugin [F2 ensure-authorization-code-is-bound-to-client]": (world) =>
      world.exchange(world.launchedCode({ clientId: "viewer" })),
  }),
  ...group(breaksA("code.tenant"), {
    "C10: a code of another tenant": (world) =>
      world.exchange(world.launchedCode({ tenantId: "globex", userId: "grace" })),
  }),
  ...group(breaksA("code.known"), {
    "an unknown code in Variant A": (world) =>
      world.exchange({ code: "SplxlOBeZQQYbYS6WxSbIA", ...world.pkce() }),
    "an empty code": (world) => world.exchange({ code: "", ...world.pkce() }),
  }),
  ...group(accepting(serviceToken), {
    "a code beside client_credentials, which is ignored": (world) =>
      world.requestToken({ form: { code: world.launchedCode().code } }),
  }),
  ...group(breaksA("code.verifier"), {
    "C5: an absent verifier [F2 ensure-pkce-code-verifier-required]": verified(
      ofA,
      () => undefined,
    ),
  }),
];

const acceptedB: Group = { answer: personTokens };
const breaksB = (rule: RuleId): Group => ({ breaks: rule, answer: refused(rule) });
const redirected =
  (redirect_uri: string, authorized?: string): Request =>
  (world) =>
    world.exchangeLogin(
      world.loginCode(authorized === undefined ? {} : { redirect_uri: authorized }),
      { redirect_uri },
    );
const LOOPBACK = "http://127.0.0.1/callback";
/** Returns tokens of a code that was then exchanged a second time. */
async function revoked(world: World): Promise<Tokens> {
  const code = world.loginCode();
  const tokens = await tokensIn(world.exchangeLogin(code));
  await world.exchangeLogin(code);
  return tokens;
}

export const codesB: readonly Row[] = [
  ...shared(ofB, personTokens, (rule) => breaksB(`client-code.${rule}`)),
  ...group(acceptedB, {
    "a code exchange with grant_type authorization_code": (world) =>
      world.exchangeLogin(world.loginCode(), { grant_type: "authorization_code" }),
    "C6: the right verifier after a wrong one, which only Variant A refuses":
      afterWrongVerifier(ofB),
    "a code after an exchange without a verifier": again(ofB, 0, { code_verifier: undefined }),
    "a code after an exchange by another client": again(ofB, 0, { client_id: "kiosk" }),
  }),
  ...group(refusing(invalidToken, "bearer.revoked"), {
    "C2: the access token of a code that was used again [OC codereuse, 9700 4.2.4]": async (
      world,
    ) => world.call((await revoked(world)).access_token, "/v1/devices"),
  }),
  ...group(breaksB("refresh.revoked"), {
    "C2: the refresh token of a code that was used again [OC codereuse, 9700 4.2.4]": async (
      world,
    ) => world.refresh((await revoked(world)).refresh_token),
  }),
  ...group(breaksB("client-code.client"), {
    "C9: a code of another client [F2 ensure-authorization-code-is-bound-to-client]": (world) =>
      world.exchangeLogin(world.loginCode(), { client_id: "kiosk" }),
  }),
  ...group(breaksB("client-code.known"), {
    "an unknown code in Variant B": (world) =>
      world.exchangeLogin({ code: "SplxlOBeZQQYbYS6WxSbIA", ...world.pkce() }),
  }),
  ...group(breaksB("client-code.redirect-uri"), {
    "C14: another registered redirect_uri in the exchange [6749 4.1.3]": redirected(LOOPBACK),
    "C15: another loopback port in the exchange [8252 7.3]": redirected(
      "http://127.0.0.1:51005/callback",
      "http://127.0.0.1:51004/callback",
    ),
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
  counted(Array.from({ length: 10 }, () => world.refresh(refresh_token))),
);
const refreshAfter = (seconds: number) =>
  refreshed((world, { refresh_token }) => {
    world.wait(seconds);
    return world.refresh(refresh_token);
  });
const set = (refreshTokens: EmulatorOptions["refreshTokens"]) => ({ options: { refreshTokens } });
const lifetime = set({ lifetimeSeconds: 100 });
const idle = set({ idleSeconds: 50 });

const portal = { client_id: "portal" };
const vault = { client_id: "vault", client_secret: PASSWORDS.vault };
/** A refresh with changed fields; `isRepaired` then repeats it without the changes. */
const refreshedBy =
  (changes: Changes, { client_id, ...secret }: Changes = portal, isRepaired = false): Request =>
  async (world) => {
    const client = { client_id, ...secret };
    const code = world.loginCode({ client_id, scope: "devices:read" });
    const { refresh_token } = await tokensIn(world.exchangeLogin(code, client));
    const answer = await world.refresh(refresh_token, { ...client, ...changes });
    return isRepaired ? world.refresh(refresh_token, client) : answer;
  };
const authentication = "api-client.authentication";
const noSecret = { client_secret: undefined };
const moreScopes = "devices:read devices:write";
const remains = { remains: true } as const;
type RefusedRefresh = [
  name: string,
  rule: RuleId,
  changes: Changes,
  client?: Changes,
  more?: Partial<Group>,
];
const refusedRefreshes: readonly RefusedRefresh[] = [
  [
    "R4: a refresh by a confidential client without its secret [F2 refresh-token]",
    authentication,
    noSecret,
    vault,
  ],
  ["a refresh with a wrong secret", authentication, { client_secret: "x" }, vault],
  ["a refresh by an unknown client", authentication, { client_id: "unknown" }, portal, remains],
  ["R5: a refresh by another client [OC refresh-token]", "refresh.client", { client_id: "kiosk" }],
  ["a refresh without a token", "client-request.fields", { refresh_token: undefined }],
  [
    "R6: a refresh for a scope that was not granted [6749 6]",
    "refresh.scope",
    { scope: moreScopes },
  ],
  [
    "R6: a refresh for a scope in another form [6749 3.3]",
    "refresh.scope",
    { scope: "total garbage" },
  ],
];

export const refreshes: readonly Row[] = [
  ...group(breaksB("refresh.reuse"), { "R2: a rotated refresh token [9700 4.14.2]": twice }),
  ...group(acceptedB, {
    "R1: a refresh with the token of a refresh [F2 refresh-token]": refreshed(
      async (world, { refresh_token }) => {
        const next = await tokensIn(world.refresh(refresh_token));
        if (next.refresh_token === refresh_token)
          throw new FlowEnded("the refresh token was not rotated");
        return world.refresh(next.refresh_token);
      },
    ),
    "R6: a refresh for a granted scope [6749 6]": refreshed((world, { refresh_token }) =>
      world.refresh(refresh_token, { scope: "devices:read" }),
    ),
  }),
  ...group(breaksB("refresh.revoked"), {
    "R3: the newest refresh token after the reuse of an older one [9700 4.14.2]": refreshAfterTheft,
  }),
  ...group(refusing(invalidToken, "bearer.revoked"), {
    "R3: the newest access token after the reuse of an older refresh token [9700 4.14.2]":
      callAfterTheft,
  }),
  ...group(accepting(devices, set({ reuseDetection: false })), {
    "R3: the newest access token after a reuse, with the option that ignores it": callAfterTheft,
  }),
  ...group(accepting(accountToken, set({ rotation: false, idleSeconds: 60 })), {
    "R9: a refresh token whose idle time each use restarts, with the option that does not rotate":
      refreshed(async (world, { refresh_token }) => {
        for (const seconds of [59, 59]) {
          world.wait(seconds);
          await world.refresh(refresh_token);
        }
        world.wait(59);
        return world.refresh(refresh_token);
      }),
  }),
  ...group(accepting(accountToken, set({ rotation: false })), {
    "R2: the same refresh token again, with the option that does not rotate": twice,
  }),
  ...group(breaksB("refresh.known"), {
    "an unknown refresh token": (world) => world.refresh("x".repeat(43)),
  }),
  ...refusedRefreshes.flatMap(([name, rule, changes, client, more]) => [
    ...group(refusing(refused(rule), rule, more), { [name]: refreshedBy(changes, client) }),
    ...group(acceptedB, {
      [`a refresh token after ${name.replace(/^R\d: /, "")}`]: refreshedBy(changes, client, true),
    }),
  ]),
  ...group(accepting(devices), {
    "the access token of a login after its refresh": refreshed(async (world, tokens) => {
      await world.refresh(tokens.refresh_token);
      return world.call(tokens.access_token, "/v1/devices");
    }),
  }),
  ...group(refusing(ok({ 200: 1, 400: 9 }), ["refresh.revoked", "refresh.reuse"]), {
    "R7: all but one of 10 concurrent refreshes": refreshRace,
  }),
  ...group(refusing(ok({ 200: 1, 400: 9 }), "refresh.reuse", set({ reuseDetection: false })), {
    "R7: all but one of 10 concurrent refreshes, with the option that ignores a reuse": refreshRace,
  }),
  ...group(also(acceptedB, lifetime), {
    "R9: a refresh 1 ms before the login ends": refreshAfter(99.999),
  }),
  ...group(also(breaksB("refresh.lifetime"), lifetime), {
    "R9: a refresh when the login ends": refreshAfter(100),
  }),
  ...group(also(acceptedB, idle), {
    "R9: a refresh token that was idle for 1 ms less than allowed": refreshAfter(49.999),
  }),
  ...group(also(breaksB("refresh.idle"), idle), {
    "R9: a refresh token that was idle for too long [9700 4.14.2]": refreshAfter(50),
  }),
];
