// Emulators with a plugin, an API client or more, and valid requests to them. A test states only
// what it changes in a request.
import {
  type ApiClientRegistration,
  createEmulator,
  type Emulator,
  type EmulatorOptions,
  type LaunchAnswer,
  type OperatorRegistration,
  type PluginRegistration,
} from "../../src/emulator/index.js";
import {
  compactJws,
  lastingSigningKey,
  newPkce,
  type Pkce,
  rs256,
  type SigningKey,
} from "./signing-key.js";

/** Epoch milliseconds at which every test's clock starts: a whole second. */
export const START: number = Date.UTC(2026, 0, 1, 12, 0, 0);
export const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/** The answer to every refused token request, without the error code. */
export const REJECTED = "The token request was rejected.";
export const TOKEN_PATH_A = "/api/v1/acme/external-plugin/oauth/token";
export const TOKEN_PATH_B = "/v1/auth/token";
export const CALLBACK = "https://portal.example/callback";
export const PORTAL_SECRET = "open sesame";

/** All tests of a file share one key, because generating one takes longer than most tests. */
export const pluginKey: SigningKey = lastingSigningKey("key-1");

/** The identity of the plugin that PluginClient registers. */
export const reporter = { tenantId: "acme", clientId: "reporter" } as const;
/** The registration of another service plugin without its identity. */
export const service: Pick<PluginRegistration, "jwks" | "scopes"> & { readonly type: "service" } = {
  type: "service",
  jwks: { keys: [pluginKey.publicJwk] },
  scopes: ["devices:read"],
};
export const ada: OperatorRegistration = {
  tenantId: "acme",
  userId: "ada",
  firstname: "Ada",
  lastname: "Lovelace",
  capabilities: ["devices:read"],
  roles: [{ name: "planner", group: "people" }],
};

/** `undefined` removes a member. */
export type Changes = Readonly<Record<string, unknown>>;
type Headers = Readonly<Record<string, string>>;

/** What a test changes in a valid token request of Variant A. */
export interface Changed {
  readonly clientId?: string;
  readonly tenantId?: string;
  readonly key?: Pick<SigningKey, "kid" | "privateKey">;
  readonly signer?: (input: Buffer) => Buffer;
  readonly header?: Changes;
  readonly claims?: Changes;
  readonly form?: Changes;
  readonly headers?: Headers;
}

export type Code = Pkce & { readonly code: string };

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** A flow of several requests could not go on, because an earlier answer was a refusal. */
export class FlowEnded extends Error {}

/** An emulator without registrations, and the requests of both variants. */
export class Deployment {
  readonly emulator: Emulator;
  /** Epoch milliseconds on which the emulator's clock is based. */
  now: number = START;
  /**
   * Sends a request to a path of the origin. Tests replace it to send the request over HTTP or to
   * change it.
   */
  transport: (path: string, init: RequestInit) => Promise<Response>;
  /** The secret of the API client, if it is a confidential one. */
  readonly clientSecret: string | undefined;
  /** Numbers jti values and verifiers, so that a failing case can be repeated. */
  protected count = 0;

  constructor(options: EmulatorOptions = {}, clientSecret?: string) {
    this.emulator = createEmulator({ now: () => this.now, ...options });
    this.transport = this.emulator.fetch;
    this.clientSecret = clientSecret;
  }

  /** The time of the emulator in seconds since the epoch, as in JWT claims. */
  get seconds(): number {
    return Math.floor(this.emulator.clock.now() / 1000);
  }

  /** The rule that the newest entry of the customer log names. */
  lastRule(): string | undefined {
    return this.emulator.customerLog.last()?.rule;
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

  call(
    token: string | undefined,
    path = "/api/v1/acme/devices",
    init: RequestInit = {},
  ): Promise<Response> {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return this.send(path, { ...init, headers: { ...authorization, ...init.headers } });
  }

  // Variant A

  tokenUrl(tenantId = "acme"): string {
    return this.emulator.publicUrl + TOKEN_PATH_A.replace("acme", tenantId);
  }

  assertion(changed: Changed = {}): string {
    const { clientId = "reporter", tenantId, key = pluginKey, header, claims } = changed;
    const iat = this.seconds;
    const jti = `jti-${this.count++}`;
    const aud = this.tokenUrl(tenantId);
    return compactJws(
      { alg: "RS256", kid: key.kid, ...header },
      { iss: clientId, sub: clientId, aud, jti, iat, exp: iat + 60, ...claims },
      changed.signer ?? rs256(key),
    );
  }

  form(changed: Changed = {}): URLSearchParams {
    return parameters({
      grant_type: "client_credentials",
      client_id: changed.clientId ?? "reporter",
      client_assertion_type: ASSERTION_TYPE,
      client_assertion: this.assertion(changed),
      ...changed.form,
    });
  }

  requestToken(changed: Changed = {}): Promise<Response> {
    return this.postForm(String(this.form(changed)), changed);
  }

  postForm(body: BodyInit, { tenantId = "acme", headers }: Changed = {}): Promise<Response> {
    const path = TOKEN_PATH_A.replace("acme", tenantId);
    return this.post(path, "application/x-www-form-urlencoded", body, headers);
  }

  pluginToken(changed: Changed = {}): Promise<string> {
    return accessTokenIn(this.requestToken(changed));
  }

  /** Returns what the plugin's page has after host:auth-code. */
  launchedCode(launch: object = {}, pkce: Pkce = this.pkce()): LaunchAnswer & Pkce {
    const identity = { ...reporter, userId: "ada", ...launch };
    return { ...this.emulator.launch(identity).authorize(pkce), ...pkce };
  }

  exchange({ code, codeVerifier }: Code, changed: Changed = {}): Promise<Response> {
    const form = {
      grant_type: "authorization_code",
      code,
      code_verifier: codeVerifier,
      ...changed.form,
    };
    return this.requestToken({ ...changed, form });
  }

  launchedToken(launch: object = {}): Promise<string> {
    return accessTokenIn(this.exchange(this.launchedCode(launch)));
  }

  // Variant B

  postJson(fields: Changes, path: string = TOKEN_PATH_B, headers: Headers = {}): Promise<Response> {
    return this.post(path, "application/json", JSON.stringify(fields), headers);
  }

  authorizationPath(changes: Changes = {}): string {
    const query = parameters({
      response_type: "code",
      client_id: "portal",
      redirect_uri: CALLBACK,
      state: "state-1",
      code_challenge: newPkce("v".repeat(43)).codeChallenge,
      code_challenge_method: "S256",
      ...changes,
    });
    return `/v1/auth/authorize?${query}`;
  }

  authorizationUrl(changes: Changes = {}): string {
    return this.emulator.publicUrl + this.authorizationPath(changes);
  }

  /** Returns what the client has after its callback. */
  loginCode(changes: Changes = {}, pkce: Pkce = this.pkce()): Code {
    const url = this.authorizationUrl({ code_challenge: pkce.codeChallenge, ...changes });
    const { callbackUrl } = this.emulator.login({ url, userId: "ada" });
    return { ...pkce, code: new URL(callbackUrl).searchParams.get("code") ?? "" };
  }

  exchangeLogin({ code, codeVerifier }: Code, changes: Changes = {}): Promise<Response> {
    return this.postJson({
      code,
      code_verifier: codeVerifier,
      client_id: "portal",
      client_secret: this.clientSecret,
      redirect_uri: CALLBACK,
      ...changes,
    });
  }

  personTokens(changes: Changes = {}): Promise<Tokens> {
    return tokensIn(this.exchangeLogin(this.loginCode(changes)));
  }

  refresh(refreshToken: string, changes: Changes = {}): Promise<Response> {
    return this.postJson({
      grant_type: "refresh_token",
      refresh_token: refreshToken,
      client_id: "portal",
      client_secret: this.clientSecret,
      ...changes,
    });
  }

  async statusOf(accessToken: string): Promise<number> {
    return (await this.call(accessToken, "/v1/devices")).status;
  }

  pkce(): Pkce {
    return newPkce();
  }
}

/** One service plugin. */
export class PluginClient extends Deployment {
  constructor(options: EmulatorOptions = {}, registration: Partial<PluginRegistration> = {}) {
    super(options);
    this.emulator.registerPlugin({ ...reporter, ...service, ...registration });
  }
}

/** One user-interface plugin and one operator. */
export class LaunchedPlugin extends PluginClient {
  constructor(options: EmulatorOptions = {}, registration: Partial<PluginRegistration> = {}) {
    const pageUrl = "https://plugin.example/page";
    super(options, { type: "user_interface", pageUrl, ...registration });
    this.emulator.registerOperator(ada);
  }
}

/** One API client and one operator. */
export class Portal extends Deployment {
  constructor(options: EmulatorOptions = {}, registration: Partial<ApiClientRegistration> = {}) {
    super(options, registration.clientSecret);
    const portal = { clientId: "portal", redirectUris: [CALLBACK] };
    this.emulator.registerApiClient({ ...portal, ...registration });
    this.emulator.registerOperator(ada);
  }
}

/** The token request of a service account. */
export function requestAccountToken(
  { fetch }: Pick<Emulator, "fetch">,
  { clientId, clientSecret }: { clientId: string; clientSecret: string },
): Promise<Response> {
  const credentials = { client_id: clientId, client_secret: clientSecret };
  const body = JSON.stringify({ grant_type: "client_credentials", ...credentials });
  const headers = { "content-type": "application/json" };
  return fetch(TOKEN_PATH_B, { method: "POST", headers, body });
}

export async function tokensIn(answer: Response | Promise<Response>): Promise<Tokens> {
  const response = await answer;
  if (response.status !== 200)
    throw new FlowEnded(`no token: ${response.status} ${await response.text()}`);
  return (await response.json()) as Tokens;
}

export async function accessTokenIn(answer: Response | Promise<Response>): Promise<string> {
  return (await tokensIn(answer)).access_token;
}

function parameters(fields: Changes): URLSearchParams {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
}
