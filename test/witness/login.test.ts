/**
 * Variant B's login and refresh tokens, judged by oidc-provider behind a front that accepts the
 * JSON body.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { apiClient, beginLogin, completeLogin, memoryStore, resumeAuth } from "../../src/index.js";
import { rejectionOf } from "../support/wait.js";
import {
  type LoginProvider,
  type Seen,
  type Served,
  serveFront,
  startLoginProvider,
  walkToCallback,
} from "./provider.js";

const redirectUri = "https://portal.example/callback";
const scope = "devices:read";
const accountId = "operator-7";
const clientSecret = "spaces & signs: 1+1=2, 100%";
const hourMs = 3_600_000;
const refused = { name: "LoginRequiredError", code: "login_refused" };

interface Client {
  readonly name: string;
  readonly clientId: string;
  readonly clientSecret?: string;
}
const publicClient: Client = { name: "a public client", clientId: "portal" };
const confidential: Client = {
  name: "a client with a secret",
  clientId: "portal-server",
  clientSecret,
};

const seen: Seen[] = [];
let consents: boolean;
let provider: LoginProvider;
let front: Served;

beforeAll(async () => {
  const bySecret = {
    token_endpoint_auth_method: "client_secret_post",
    client_secret: clientSecret,
  };
  provider = await startLoginProvider({
    clients: [
      { client_id: "portal", token_endpoint_auth_method: "none" },
      { client_id: "portal-server", ...bySecret },
    ].map((client) => ({ ...client, redirect_uris: [redirectUri] })),
    scope,
    accountId,
    consents: () => consents,
  });
  // The description of Variant B shows no other field.
  const only = () => ["access_token", "refresh_token"];
  front = await serveFront({ target: provider.tokenEndpoint, seen, only });
});
afterAll(() => Promise.all([front.close(), provider.close()]));
beforeEach(() => {
  seen.length = 0;
  consents = true;
});

function credentialOf({ clientId, clientSecret }: Client) {
  const { authorizationEndpoint } = provider;
  const login = { redirectUri, authorizationEndpoint, authorizationParameters: { scope } };
  return apiClient({ clientId, clientSecret, ...login });
}

/** A person who is back from the authorization endpoint; the code is not sent yet. */
async function backFromLogin(client = publicClient) {
  let aheadMs = 0;
  const now = () => Date.now() + aheadMs;
  const identity = { baseUrl: front.url, credential: credentialOf(client), person: "session-1" };
  const options = { ...identity, store: memoryStore({ clock: { now } }), clock: { now } };
  const { url, login } = await beginLogin(options);
  const callbackUrl = await walkToCallback(url, redirectUri);
  const letTokenExpire = () => {
    aheadMs += hourMs;
  };
  return { options, login, callbackUrl, letTokenExpire };
}

async function loggedIn(client?: Client) {
  const back = await backFromLogin(client);
  const { options, login, callbackUrl } = back;
  return { ...back, auth: await completeLogin({ ...options, login, callbackUrl }) };
}

const refreshTokensSent = () =>
  seen.flatMap(({ fields }) => (fields as { refresh_token?: string }).refresh_token ?? []);

/** Sends a stolen refresh token as a form, past the client. */
function sendRefreshToken(refreshToken: string): Promise<Response> {
  const { clientId: client_id } = publicClient;
  const body = { grant_type: "refresh_token", refresh_token: refreshToken, client_id };
  return fetch(provider.tokenEndpoint, { method: "POST", body: new URLSearchParams(body) });
}

describe.each([publicClient, confidential])("oidc-provider, for $name,", (client) => {
  const secret = client.clientSecret === undefined ? {} : { client_secret: clientSecret };
  const sender = { client_id: client.clientId, ...secret };

  test("returns the person's token for the code and its verifier", async () => {
    const { auth, login, callbackUrl } = await loggedIn(client);

    expect(await provider.ownerOf((await auth.getAccessToken()).value)).toBe(accountId);
    const code = new URL(callbackUrl).searchParams.get("code");
    const own = { code, code_verifier: login.codeVerifier, redirect_uri: redirectUri };
    const fields = { ...own, ...sender };
    expect(seen).toEqual([{ contentType: "application/json", fields }]);
  });

  test("renews the token again and again, each time with the newest refresh token", async () => {
    const { auth, options, letTokenExpire } = await loggedIn(client);
    const tokens = [(await auth.getAccessToken()).value];

    for (let round = 0; round < 4; round++) {
      letTokenExpire();
      tokens.push((await auth.getAccessToken()).value);
    }
    letTokenExpire();
    const resumed = await resumeAuth(options);
    tokens.push((await resumed?.getAccessToken())?.value ?? "");

    expect(new Set(tokens).size).toBe(6);
    const owners = await Promise.all(tokens.map((token) => provider.ownerOf(token)));
    expect(owners).toEqual(Array(6).fill(accountId));
    expect(new Set(refreshTokensSent()).size).toBe(5);
    const own = { grant_type: "refresh_token", refresh_token: refreshTokensSent().at(-1) };
    expect(seen.at(-1)?.fields).toEqual({ ...own, ...sender });
  });
});

describe("oidc-provider behind Variant B's JSON body", () => {
  test("ends the login when an old refresh token is reused, and the client rejects with login_refused and forgets the login", async () => {
    const { auth, options, letTokenExpire } = await loggedIn();
    letTokenExpire();
    const { value } = await auth.getAccessToken();

    const reuse = await sendRefreshToken(refreshTokensSent()[0] ?? "");

    expect(reuse.status).toBe(400);
    expect(provider.refusals.at(-1)).toMatch(/refresh token already used/);
    expect(await provider.ownerOf(value)).toBeUndefined();
    letTokenExpire();
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject(refused);
    expect(await resumeAuth(options)).toBeUndefined();
    // No refresh token is left, also after the backoff of a refusal.
    letTokenExpire();
    await rejectionOf(auth.getAccessToken());
    expect(refreshTokensSent()).toHaveLength(2);
  });

  test("sends a person who declines back with access_denied, and the client rejects with login_denied and sends nothing", async () => {
    consents = false;
    const { options, login, callbackUrl } = await backFromLogin();

    expect(new URL(callbackUrl).searchParams.get("error")).toBe("access_denied");
    const error = await rejectionOf(completeLogin({ ...options, login, callbackUrl }));

    expect(error).toMatchObject({ name: "LoginRequiredError", code: "login_denied" });
    expect(seen).toEqual([]);
  });

  test("refuses a code with another login's verifier, and the client rejects with login_refused and stores nothing", async () => {
    const { options, login, callbackUrl } = await backFromLogin();
    const { codeVerifier } = (await beginLogin(options)).login;
    const mixed = { ...login, codeVerifier };

    const completing = completeLogin({ ...options, login: mixed, callbackUrl });

    expect(await rejectionOf(completing)).toMatchObject(refused);
    expect(provider.refusals.at(-1)).toMatch(/code_verifier does not match/);
    expect(await resumeAuth(options)).toBeUndefined();
  });

  test("revokes the first login's tokens when its code is sent again, and both logins reject with login_refused", async () => {
    const { auth, options, login, callbackUrl, letTokenExpire } = await loggedIn();
    const { value } = await auth.getAccessToken();

    // With a shared store or credential the code would not be sent again.
    const elsewhere = { ...options, store: memoryStore(), credential: credentialOf(publicClient) };
    const error = await rejectionOf(completeLogin({ ...elsewhere, login, callbackUrl }));

    expect(error).toMatchObject(refused);
    expect(provider.refusals.at(-1)).toMatch(/authorization code already consumed/);
    expect(await provider.ownerOf(value)).toBeUndefined();
    letTokenExpire();
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject(refused);
    expect(await resumeAuth(options)).toBeUndefined();
  });
});
