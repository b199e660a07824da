/**
 * A person in Variant B (section 5.8): the authorization request, the login, the code exchange, and
 * the refresh.
 */
import { base64url } from "jose";
import { NotTried } from "./errors.js";
import type { Answer } from "./exchange.js";
import { type Fields, isByEndpoint, type Kit, shownAnswer, tokenIn } from "./kit.js";
import type { ApiClientCredential } from "./target.js";

/**
 * 43 characters of base64url, which fit a state, a code verifier (RFC 7636 section 4.1) and made-up
 * secrets.
 */
export function randomText(): string {
  return base64url.encode(crypto.getRandomValues(new Uint8Array(32)));
}

/** S256 (RFC 7636 section 4.2). */
export async function challengeOf(verifier: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  return base64url.encode(new Uint8Array(digest));
}

/**
 * A right authorization request (RFC 6749 section 4.1.1, RFC 7636 section 4.3), but for the
 * changes.
 */
export async function authorizationUrl(
  kit: Kit,
  verifier: string,
  changes: Fields = {},
): Promise<URL> {
  const client = kit.need("apiClient");
  const { authorizationEndpoint, clientId, redirectUri, authorizationParameters } = client;
  const parameters: Fields = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    state: randomText(),
    code_challenge: await challengeOf(verifier),
    code_challenge_method: "S256",
    ...authorizationParameters,
    ...changes,
  };
  const url = new URL(authorizationEndpoint);
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) url.searchParams.set(name, value);
  return url;
}

/** What the person brings back. @throws NotTried if the hook fails */
export async function callbackOf(
  kit: Kit,
  hook: "login" | "denyLogin",
  url: URL,
): Promise<URLSearchParams> {
  const follow = kit.need(hook);
  kit.keepSecret(url.searchParams.get("state"));
  const callback = await kit.ask(`\`${hook}\` of the target failed`, () => follow(url.href));
  if (!URL.canParse(callback)) throw new NotTried(`\`${hook}\` of the target returned no URL.`);
  const { searchParams } = new URL(callback);
  if (searchParams.get("state") === url.searchParams.get("state")) return searchParams;
  throw new NotTried("The callback does not carry the state of the authorization request.");
}

export interface Login {
  readonly code: string;
  readonly verifier: string;
  readonly callback: URLSearchParams;
}

/** A person logs in. @throws NotTried if the callback has no code */
export async function logIn(kit: Kit, verifier: string = randomText()): Promise<Login> {
  kit.keepSecret(verifier);
  const callback = await callbackOf(kit, "login", await authorizationUrl(kit, verifier));
  const code = callback.get("code");
  if (code === null) throw new NotTried("The login ended without a code in the callback.");
  kit.keepSecret(code);
  return { code, verifier, callback };
}

/** `client_id`, and `client_secret` if there is one. */
function authenticationOf({ clientId, clientSecret }: ApiClientCredential): Fields {
  return { client_id: clientId, client_secret: clientSecret };
}

/** The fields that make a request one of the second API client. */
export function otherClient(kit: Kit): Fields {
  return authenticationOf(kit.need("otherApiClient"));
}

/** A redirect URI that is not registered. */
export function otherRedirectUri(kit: Kit): Fields {
  return { redirect_uri: `${kit.need("apiClient").redirectUri}/bivariant-contract` };
}

type CodeOfLogin = Pick<Login, "code" | "verifier">;

/** Exchanges a code (section 4.2). */
export function exchangeCode(
  kit: Kit,
  { code, verifier }: CodeOfLogin,
  note: string,
  changes?: Fields,
): Promise<Answer> {
  const client = kit.need("apiClient");
  const right = { code, code_verifier: verifier, redirect_uri: client.redirectUri };
  const fields = { ...right, ...authenticationOf(client), ...changes };
  return kit.requestTokenOfB(note, { fields });
}

/** The tokens of a login. */
export interface Session {
  readonly answer: Answer;
  readonly accessToken: string;
  /** The newest one. */
  refreshToken: string | undefined;
}

function sessionOf(answer: Answer): Session {
  const accessToken = tokenIn(answer, "The code exchange of the API client", "refused");
  return { answer, accessToken, refreshToken: refreshTokenOf(answer) };
}

function refreshTokenOf({ fields }: Answer): string | undefined {
  const token = fields?.refresh_token;
  return typeof token === "string" && token !== "" ? token : undefined;
}

/** Logs in and exchanges the code. @throws NotTried if the exchange is refused */
export async function newSession(kit: Kit): Promise<Session & Login> {
  const login = await logIn(kit);
  return { ...sessionOf(await exchangeCode(kit, login, "a right code exchange")), ...login };
}

/**
 * One login, whose code is sent with a wrong verifier first: the second exchange shows whether that
 * spends a code.
 */
export function exchangeTwice(kit: Kit): Promise<{ login: Login; wrong: Answer; right?: Answer }> {
  return kit.share("exchange twice", async () => {
    const login = await logIn(kit);
    const ask = (what: string, changes?: Fields) =>
      exchangeCode(kit, login, `a code exchange with ${what} code_verifier`, changes);
    const wrong = await ask("another", { code_verifier: randomText() });
    if (wrong.accessToken !== undefined) return { login, wrong };
    return { login, wrong, right: await ask("the right") };
  });
}

/** The session that cases share if they leave it alive. */
export function sharedSession(kit: Kit): Promise<Session & { readonly callback: URLSearchParams }> {
  return kit.share("session", async () => {
    const { right, login } = await exchangeTwice(kit);
    return right?.accessToken === undefined ? newSession(kit) : { ...sessionOf(right), ...login };
  });
}

/**
 * Sends an exchange that should be refused. A code that survives such an exchange serves several of
 * them.
 */
export async function tryExchange(kit: Kit, note: string, changes: Fields): Promise<Answer> {
  await sharedSession(kit);
  const { right } = await exchangeTwice(kit);
  const spare: { login?: Login | undefined } = await kit.share("spare code", async () => ({}));
  const survives = right?.accessToken !== undefined;
  const login = (survives ? spare.login : undefined) ?? (await logIn(kit));
  const answer = await exchangeCode(kit, login, note, changes);
  spare.login = answer.accessToken === undefined ? login : undefined;
  return answer;
}

interface Refresh {
  readonly path: string;
  readonly refreshToken: string;
  readonly note: string;
  readonly changes?: Fields;
}

/**
 * Asks for a refresh with the fields of RFC 6749 section 6, as JSON; the description does not show
 * them.
 */
export function refreshAt(
  kit: Kit,
  { path, refreshToken, changes, note }: Refresh,
): Promise<Answer> {
  const right = { grant_type: "refresh_token", refresh_token: refreshToken };
  const fields = { ...right, ...authenticationOf(kit.need("apiClient")), ...changes };
  return kit.requestTokenOfB(note, { url: kit.url(path), fields, operation: "refresh" });
}

/** Refreshes a session, which from then on has the new refresh token, if one was returned. */
export async function refreshSession(
  kit: Kit,
  session: Session,
  request: Omit<Refresh, "refreshToken">,
): Promise<Answer> {
  const { refreshToken } = session;
  if (refreshToken === undefined)
    throw new NotTried("The code exchange returned no refresh_token.");
  const answer = await refreshAt(kit, { ...request, refreshToken });
  if (answer.accessToken !== undefined)
    session.refreshToken = refreshTokenOf(answer) ?? refreshToken;
  return answer;
}

const tokenPath = "/v1/auth/token";
const siblingPath = "/v1/auth/bivariant-contract";
const likelyPaths = [
  "/v1/auth/refresh",
  "/v1/auth/token/refresh",
  "/v1/auth/refresh-token",
  "/v1/auth/refresh_token",
  "/v1/auth/renew",
  "/v1/auth/token/renew",
  "/v1/auth/refresh/token",
  "/v1/auth/session/refresh",
  "/v1/token/refresh",
  "/v1/oauth/token",
];

interface Costs {
  readonly requests: number;
  readonly logins: number;
}

/**
 * Alone: a session, the path (two requests to the token path, one to each other), its tries, and
 * one request.
 */
export const refreshCosts: Costs = { requests: likelyPaths.length + 8, logins: 2 };
/** The same, and a new session whose tokens are used twice. */
export const reuseCosts: Costs = { requests: likelyPaths.length + 13, logins: 3 };

/**
 * The path that redeems refresh tokens. Guessed paths are asked with a made-up client and token, so
 * that a real one goes only where the answer differs from that of a path that is surely none, and
 * to one path only.
 */
async function findRefreshPath(kit: Kit) {
  const { refreshPath } = kit.target;
  if (refreshPath !== undefined) return refreshPath;
  const note = "a made-up refresh token, to find the path of the refresh";
  const ask = (path: string, changes: Fields) =>
    refreshAt(kit, { path, refreshToken: randomText(), note, changes });
  const atTokenPath = await ask(tokenPath, {});
  const otherGrant = await ask(tokenPath, { grant_type: "bivariant-contract" });
  if (shownAnswer(atTokenPath) !== shownAnswer(otherGrant)) return tokenPath;
  const madeUpClient = { client_id: randomText(), client_secret: undefined };
  const sibling = await ask(siblingPath, madeUpClient);
  const found: string[] = [];
  for (const path of likelyPaths) {
    const answer = await ask(path, madeUpClient);
    if (isByEndpoint(answer) && answer.status !== sibling.status) found.push(path);
  }
  const [path = tokenPath] = found;
  if (found.length < 2) return path;
  throw new NotTried(
    `Several paths may redeem refresh tokens: ${found.join(", ")}. Name one as \`refreshPath\`.`,
  );
}

/**
 * The first refresh of the shared session, and the path at which it worked.
 * @throws NotTried if none did
 */
export function firstRefresh(
  kit: Kit,
): Promise<{ readonly path: string; readonly answer: Answer; readonly isRotated: boolean }> {
  return kit.share("first refresh", async () => {
    const session = await sharedSession(kit);
    const { refreshToken } = session;
    const path = await findRefreshPath(kit);
    const answer = await refreshSession(kit, session, { path, note: "a right refresh" });
    if (answer.accessToken === undefined)
      throw new NotTried(
        `${path} does not redeem refresh tokens (${shownAnswer(answer)}). ` +
          `Name the path as \`refreshPath\`.`,
      );
    return { path, answer, isRotated: session.refreshToken !== refreshToken };
  });
}
