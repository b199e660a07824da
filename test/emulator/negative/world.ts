// A deployment over HTTP with a frozen clock, one registration of every kind, and valid requests for rows to break.
import { randomUUID } from "node:crypto";
import { createEmulator, type Emulator, type EmulatorOptions } from "../../../src/emulator/index.js";
import { FormBrowser } from "../form-browser.js";
import { newPkce, type Pkce } from "../pkce.js";
import { compactJws, rs256, type SigningKey } from "../signing-key.js";
import { CALLBACK, key, register } from "./register.js";

export { CALLBACK, key, secondKey, strangersKey } from "./register.js";

export const NOON = "2026-01-01T12:00:00Z";
export const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/** undefined removes a member. */
type Changes = Readonly<Record<string, unknown>>;

/** What a row changes of a valid token request of Variant A. */
export interface ChangedA {
  readonly clientId?: string;
  readonly tenantId?: string;
  readonly key?: SigningKey;
  readonly signer?: (input: Buffer) => Buffer;
  readonly header?: Changes;
  readonly claims?: Changes;
  readonly form?: Changes;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ExchangedCode extends Pkce {
  readonly code: string;
}

export class World {
  readonly emulator: Emulator;
  /** The base URL. */
  url = "";
  close: () => Promise<void> = async () => {};

  constructor(options: EmulatorOptions) {
    this.emulator = createEmulator(options);
    this.emulator.clock.freeze(NOON);
    register(this.emulator);
  }

  static async open(options: EmulatorOptions = {}): Promise<World> {
    const world = new World(options);
    Object.assign(world, await world.emulator.listen());
    return world;
  }

  /** Seconds, as JWT claims have them. */
  get now(): number {
    return this.emulator.clock.now() / 1000;
  }

  wait(seconds: number): void {
    this.emulator.clock.advance(seconds * 1000);
  }

  send(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(new URL(path, this.url), { redirect: "manual", ...init });
  }

  /** A browser that nobody has used yet. */
  browser(): FormBrowser {
    return new FormBrowser({ fetch: (input, init) => this.send(String(input), init) });
  }

  // Variant A

  tokenPath(tenantId = "acme"): string {
    return `/api/v1/${tenantId}/external-plugin/oauth/token`;
  }

  tokenUrl(tenantId?: string): string {
    return this.url + this.tokenPath(tenantId);
  }

  assertion(changed: ChangedA = {}): string {
    const { clientId = "reporter", tenantId, key: signingKey = key, header, claims } = changed;
    const iat = this.now;
    return compactJws(
      { alg: "RS256", kid: signingKey.kid, ...header },
      {
        iss: clientId,
        sub: clientId,
        aud: this.tokenUrl(tenantId),
        jti: randomUUID(),
        iat,
        exp: iat + 60,
        ...claims,
      },
      changed.signer ?? rs256(signingKey),
    );
  }

  form(changed: ChangedA = {}): URLSearchParams {
    const fields = {
      grant_type: "client_credentials",
      client_id: changed.clientId ?? "reporter",
      client_assertion_type: ASSERTION_TYPE,
      client_assertion: this.assertion(changed),
      ...changed.form,
    };
    const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
    return new URLSearchParams(entries.map(([name, value]) => [name, String(value)]));
  }

  requestToken(changed: ChangedA = {}): Promise<Response> {
    return this.postForm(this.form(changed), changed);
  }

  postForm(body: URLSearchParams | string, { tenantId, headers }: ChangedA = {}): Promise<Response> {
    return this.postBody(String(body), "application/x-www-form-urlencoded", { tenantId, headers });
  }

  postBody(
    body: BodyInit,
    type: string | undefined,
    { tenantId, headers }: { tenantId?: string | undefined; headers?: ChangedA["headers"] } = {},
  ): Promise<Response> {
    const typed = { ...headers, ...(type !== undefined && { "content-type": type }) };
    return this.send(this.tokenPath(tenantId), { method: "POST", headers: typed, body });
  }

  /** What the plugin's page has after host:auth-code. */
  launchedCode(launch: { clientId?: string; tenantId?: string; userId?: string } = {}): ExchangedCode {
    const pkce = newPkce();
    const identity = { tenantId: "acme", clientId: "planner", userId: "ada", ...launch };
    return { ...this.emulator.launch(identity).authorize(pkce), ...pkce };
  }

  exchange({ code, codeVerifier }: ExchangedCode, changed: ChangedA = {}): Promise<Response> {
    const form = { grant_type: "authorization_code", code, code_verifier: codeVerifier, ...changed.form };
    return this.requestToken({ clientId: "planner", ...changed, form });
  }

  /** An access token of Variant A. */
  async pluginToken(changed: ChangedA = {}): Promise<string> {
    return tokenIn(await this.requestToken(changed));
  }

  async launchedToken(): Promise<string> {
    return tokenIn(await this.exchange(this.launchedCode()));
  }

  // Variant B

  postJson(fields: Changes, path = "/v1/auth/token", headers: ChangedA["headers"] = {}): Promise<Response> {
    const typed = { "content-type": "application/json", ...headers };
    return this.send(path, { method: "POST", headers: typed, body: JSON.stringify(fields) });
  }

  accountFields(changes: Changes = {}): Changes {
    return {
      grant_type: "client_credentials",
      client_id: "worker",
      client_secret: "worker's secret",
      ...changes,
    };
  }

  async accountToken(changes: Changes = {}): Promise<string> {
    return tokenIn(await this.postJson(this.accountFields(changes)));
  }

  authorizationUrl(changes: Changes = {}): string {
    const fields = {
      response_type: "code",
      client_id: "portal",
      redirect_uri: CALLBACK,
      state: "abc",
      code_challenge: newPkce().codeChallenge,
      code_challenge_method: "S256",
      ...changes,
    };
    const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
    return `/v1/auth/authorize?${new URLSearchParams(entries.map(([name, value]) => [name, String(value)]))}`;
  }

  /** What the client has after its callback. */
  loginCode(changes: Changes = {}): ExchangedCode {
    const pkce = newPkce();
    const url = this.url + this.authorizationUrl({ code_challenge: pkce.codeChallenge, ...changes });
    const { callbackUrl } = this.emulator.login({ url, userId: "ada" });
    return { ...pkce, code: new URL(callbackUrl).searchParams.get("code") ?? "" };
  }

  exchangeLogin({ code, codeVerifier }: ExchangedCode, changes: Changes = {}): Promise<Response> {
    const fields = { code, code_verifier: codeVerifier, client_id: "portal", redirect_uri: CALLBACK };
    return this.postJson({ ...fields, ...changes });
  }

  async personTokens(changes: Changes = {}): Promise<{ access_token: string; refresh_token: string }> {
    const response = await this.exchangeLogin(this.loginCode(changes));
    return (await response.json()) as { access_token: string; refresh_token: string };
  }

  refresh(refreshToken: string, changes: Changes = {}): Promise<Response> {
    const fields = { grant_type: "refresh_token", refresh_token: refreshToken, client_id: "portal" };
    return this.postJson({ ...fields, ...changes });
  }

  // Both

  call(token: string, path = "/api/v1/acme/devices", init: RequestInit = {}): Promise<Response> {
    return this.send(path, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } });
  }
}

/** The answer that the browser shows, to be read once more. */
export function shownBy({ html, response }: FormBrowser): Response {
  return new Response(html === "" ? null : html, response);
}

async function tokenIn(response: Response): Promise<string> {
  const { access_token: token } = (await response.json()) as { access_token?: string };
  if (token === undefined) throw new Error(`no token: ${response.status}`);
  return token;
}
