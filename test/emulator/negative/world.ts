// An emulator with a frozen clock and one registration of every kind, and the valid requests that
// rows of the table break.
import {
  createEmulator,
  type Emulator,
  type EmulatorOptions,
  type EmulatorSeed,
} from "../../../src/emulator/index.js";
import { AdminBrowser, type FormBrowser } from "../form-browser.js";
import { ASSERTION_TYPE, START } from "../plugin-client.js";
import {
  compactJws,
  lastingSigningKey,
  newPkce,
  type Pkce,
  rs256,
  type SigningKey,
} from "../signing-key.js";

export const CALLBACK = "https://portal.example/callback";
/**
 * The callback of a native app, whose authorization request may name any port of the loopback
 * address.
 */
const LOOPBACK = "http://127.0.0.1/callback";
export const TOKEN_PATH_A = "/api/v1/acme/external-plugin/oauth/token";
export const TOKEN_PATH_B = "/v1/auth/token";
export const PASSWORDS = {
  ada: "ada-password-7c55e8a9d4",
  worker: "worker-secret-4f1c",
  vault: "vault-secret-93d2",
};
/** All rows share these keys, because generating one takes longer than a row does. */
export const key: SigningKey = lastingSigningKey("key-1");
export const secondKey: SigningKey = lastingSigningKey("key-2");
/** No plugin registers this key. It has the kid of one that is registered. */
export const unregisteredKey: SigningKey = lastingSigningKey("key-1");

const scopes = ["devices:read", "schedules:execute"];
const jwks = { keys: [key.publicJwk] };
const service = { tenantId: "acme", type: "service", jwks, scopes } as const;
const page = {
  ...service,
  type: "user_interface",
  pageUrl: "https://plugin.example/page",
} as const;
const ada = {
  tenantId: "acme",
  userId: "ada",
  firstname: "Ada",
  lastname: "Lovelace",
  password: PASSWORDS.ada,
};
const portal = {
  tenantId: "acme",
  scopes: ["devices:read", "devices:write"],
  redirectUris: [CALLBACK, LOOPBACK],
};

export const seed: EmulatorSeed = {
  clock: { at: START, frozen: true },
  plugins: [
    { ...service, clientId: "reporter" },
    { ...service, clientId: "reporter", tenantId: "globex" },
    { ...service, clientId: "archiver" },
    { ...service, clientId: "rotating", jwks: { keys: [key.publicJwk, secondKey.publicJwk] } },
    { ...service, clientId: "restricted", devices: ["device-1"] },
    { ...service, clientId: "writer", scopes: ["devices:write"] },
    { ...service, clientId: "off", enabled: false },
    { ...page, clientId: "planner" },
    { ...page, clientId: "viewer" },
    { ...page, clientId: "off-page", enabled: false },
    { ...page, clientId: "planner", tenantId: "globex" },
  ],
  operators: [
    { ...ada, capabilities: ["devices:read"], roles: [{ name: "planner", group: "people" }] },
    { tenantId: "acme", userId: "bob", capabilities: ["devices:read"] },
    { tenantId: "globex", userId: "grace", capabilities: ["devices:read"] },
  ],
  serviceAccounts: [
    { clientId: "worker", clientSecret: PASSWORDS.worker, tenantId: "acme" },
    { clientId: "counter", clientSecret: "42", tenantId: "acme" },
    {
      clientId: "narrow",
      clientSecret: "narrow's secret",
      tenantId: "acme",
      scopes: ["devices:write"],
    },
  ],
  apiClients: [
    { ...portal, clientId: "portal" },
    { ...portal, clientId: "kiosk" },
    { ...portal, clientId: "vault", clientSecret: PASSWORDS.vault },
  ],
};

/** `undefined` removes a member. */
export type Changes = Readonly<Record<string, unknown>>;
type Headers = Readonly<Record<string, string>>;

/** What a row changes in a valid token request of Variant A. */
export interface ChangedA {
  readonly clientId?: string;
  readonly tenantId?: string;
  readonly key?: SigningKey;
  readonly signer?: (input: Buffer) => Buffer;
  readonly header?: Changes;
  readonly claims?: Changes;
  readonly form?: Changes;
  readonly headers?: Headers;
}

export interface Code extends Pkce {
  readonly code: string;
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** A flow of several requests could not go on, because an earlier answer was a refusal. */
export class FlowEnded extends Error {}

export class World {
  readonly emulator: Emulator;
  /**
   * Sends a request to a path of the origin. Tests replace it to send the request over HTTP or to
   * change it.
   */
  transport: (path: string, init: RequestInit) => Promise<Response>;
  /** Numbers jti values and verifiers, so that a failing case can be repeated. */
  #count = 0;

  constructor(options: EmulatorOptions = {}) {
    this.emulator = createEmulator({ seed, ...options });
    this.transport = this.emulator.fetch;
  }

  /** Returns to the seed. */
  reset(): void {
    this.emulator.reset();
    this.transport = this.emulator.fetch;
    this.#count = 0;
  }

  /** Seconds since the epoch, as in JWT claims. */
  get now(): number {
    return Math.floor(this.emulator.clock.now() / 1000);
  }

  wait(seconds: number): void {
    this.emulator.clock.advance(seconds * 1000);
  }

  /** @param path under the base URL */
  send(path: string, init: RequestInit = {}): Promise<Response> {
    const prefix = new URL(this.emulator.publicUrl).pathname.replace(/\/$/, "");
    return this.transport(prefix + path, { redirect: "manual", ...init });
  }

  post(
    path: string,
    type: string | undefined,
    body: BodyInit,
    headers: Headers = {},
  ): Promise<Response> {
    const typed = { ...headers, ...(type !== undefined && { "content-type": type }) };
    return this.send(path, { method: "POST", headers: typed, body });
  }

  call(token: string, path = "/api/v1/acme/devices", init: RequestInit = {}): Promise<Response> {
    return this.send(path, {
      ...init,
      headers: { authorization: `Bearer ${token}`, ...init.headers },
    });
  }

  /** A browser without cookies. */
  open(path: string): Promise<AdminBrowser> {
    const { origin, pathname } = new URL(this.emulator.publicUrl);
    const browser = new AdminBrowser({
      fetch: (url, init = {}) => this.transport(String(url).replace(origin, ""), init),
    });
    return browser.open(pathname.replace(/\/$/, "") + path);
  }

  // Variant A

  tokenUrl(tenantId = "acme"): string {
    return this.emulator.publicUrl + TOKEN_PATH_A.replace("acme", tenantId);
  }

  assertion(changed: ChangedA = {}): string {
    const { clientId = "reporter", tenantId, key: signingKey = key, header, claims } = changed;
    const iat = this.now;
    const jti = `jti-${this.#count++}`;
    const aud = this.tokenUrl(tenantId);
    return compactJws(
      { alg: "RS256", kid: signingKey.kid, ...header },
      { iss: clientId, sub: clientId, aud, jti, iat, exp: iat + 60, ...claims },
      changed.signer ?? rs256(signingKey),
    );
  }

  form(changed: ChangedA = {}): URLSearchParams {
    return parameters({
      grant_type: "client_credentials",
      client_id: changed.clientId ?? "reporter",
      client_assertion_type: ASSERTION_TYPE,
      client_assertion: this.assertion(changed),
      ...changed.form,
    });
  }

  requestToken(changed: ChangedA = {}): Promise<Response> {
    return this.postForm(String(this.form(changed)), changed);
  }

  postForm(body: BodyInit, { tenantId = "acme", headers }: ChangedA = {}): Promise<Response> {
    const path = TOKEN_PATH_A.replace("acme", tenantId);
    return this.post(path, "application/x-www-form-urlencoded", body, headers);
  }

  /** Returns the fields that the plugin's page receives in host:auth-code. */
  launchedCode(launch: object = {}, pkce: Pkce = this.pkce()): Code {
    const identity = { tenantId: "acme", clientId: "planner", userId: "ada", ...launch };
    return { ...pkce, code: this.emulator.launch(identity).authorize(pkce).code };
  }

  exchange({ code, codeVerifier }: Code, changed: ChangedA = {}): Promise<Response> {
    const form = {
      grant_type: "authorization_code",
      code,
      code_verifier: codeVerifier,
      ...changed.form,
    };
    return this.requestToken({ clientId: "planner", ...changed, form });
  }

  async pluginToken(changed: ChangedA = {}): Promise<string> {
    return (await tokensIn(this.requestToken(changed))).access_token;
  }

  async launchedToken(): Promise<string> {
    return (await tokensIn(this.exchange(this.launchedCode()))).access_token;
  }

  // Variant B

  postJson(fields: Changes, path: string = TOKEN_PATH_B, headers: Headers = {}): Promise<Response> {
    return this.post(path, "application/json", JSON.stringify(fields), headers);
  }

  accountFields(changes: Changes = {}): Changes {
    const fields = { client_id: "worker", client_secret: PASSWORDS.worker };
    return { grant_type: "client_credentials", ...fields, ...changes };
  }

  async accountToken(changes: Changes = {}): Promise<string> {
    return (await tokensIn(this.postJson(this.accountFields(changes)))).access_token;
  }

  authorizationPath(changes: Changes = {}): string {
    const query = parameters({
      response_type: "code",
      client_id: "portal",
      redirect_uri: CALLBACK,
      state: "abc",
      code_challenge: newPkce("v".repeat(43)).codeChallenge,
      code_challenge_method: "S256",
      ...changes,
    });
    return `/v1/auth/authorize?${query}`;
  }

  /** Returns the parameters that the client receives at its callback. */
  loginCode(changes: Changes = {}, pkce: Pkce = this.pkce()): Code {
    const path = this.authorizationPath({ code_challenge: pkce.codeChallenge, ...changes });
    const { callbackUrl } = this.emulator.login({
      url: this.emulator.publicUrl + path,
      userId: "ada",
    });
    return { ...pkce, code: new URL(callbackUrl).searchParams.get("code") ?? "" };
  }

  exchangeLogin({ code, codeVerifier }: Code, changes: Changes = {}): Promise<Response> {
    const fields = {
      code,
      code_verifier: codeVerifier,
      client_id: "portal",
      redirect_uri: CALLBACK,
    };
    return this.postJson({ ...fields, ...changes });
  }

  personTokens(changes: Changes = {}): Promise<Tokens> {
    return tokensIn(this.exchangeLogin(this.loginCode(changes)));
  }

  refresh(refreshToken: string, changes: Changes = {}): Promise<Response> {
    const fields = {
      grant_type: "refresh_token",
      refresh_token: refreshToken,
      client_id: "portal",
    };
    return this.postJson({ ...fields, ...changes });
  }

  pkce(): Pkce {
    return newPkce(`verifier-${this.#count++}`.padEnd(43, "~"));
  }
}

function parameters(fields: Changes): URLSearchParams {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
}

export async function tokensIn(answer: Promise<Response>): Promise<Tokens> {
  const response = await answer;
  if (response.status !== 200) throw new FlowEnded(`no token: ${response.status}`);
  return (await response.json()) as Tokens;
}

/** Converts the browser's page to an answer with an unread body. */
export function shownBy({ html, response }: FormBrowser): Response {
  return new Response(html === "" ? null : html, response);
}
