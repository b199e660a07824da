// Deployments with one service plugin, or with one user-interface plugin and an operator, and their
// requests. A test states only its changes. There are token requests of Variant B, too.
import { randomUUID } from "node:crypto";
import {
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

/** `undefined` removes a member. */
export type Changes = Record<string, unknown>;

export interface Changed {
  readonly tenantId?: string;
  readonly key?: Pick<SigningKey, "kid" | "privateKey">;
  readonly header?: Changes;
  readonly claims?: Changes;
  readonly form?: Changes;
}

function tokenUrlOf({ publicUrl }: Emulator, tenantId = "acme"): string {
  return `${publicUrl}/api/v1/${tenantId}/external-plugin/oauth/token`;
}

function assertionOf(
  emulator: Emulator,
  { tenantId, key = pluginKey, header = {}, claims = {} }: Changed,
): string {
  const iat = Math.floor(emulator.clock.now() / 1000);
  const iss = "reporter";
  const aud = tokenUrlOf(emulator, tenantId);
  return compactJws(
    { alg: "RS256", kid: key.kid, ...header },
    { iss, sub: iss, aud, jti: randomUUID(), iat, exp: iat + 60, ...claims },
    rs256(key),
  );
}

/** The token request of the plugin `reporter`. */
export function formOf(emulator: Emulator, changed: Changed = {}): URLSearchParams {
  const fields = {
    grant_type: "client_credentials",
    client_id: "reporter",
    client_assertion_type: ASSERTION_TYPE,
    client_assertion:
      changed.form && "client_assertion" in changed.form ? "" : assertionOf(emulator, changed),
    ...changed.form,
  };
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
}

export class PluginClient {
  readonly emulator: Emulator;
  /** Epoch milliseconds. */
  now: number = START;

  constructor(options: EmulatorOptions = {}, registration: Partial<PluginRegistration> = {}) {
    this.emulator = createEmulator({ now: () => this.now, ...options });
    this.emulator.registerPlugin({ ...reporter, ...service, ...registration });
  }

  tokenUrl(tenantId?: string): string {
    return tokenUrlOf(this.emulator, tenantId);
  }

  assertion(changed: Changed = {}): string {
    return assertionOf(this.emulator, changed);
  }

  form(changed: Changed = {}): URLSearchParams {
    return formOf(this.emulator, changed);
  }

  requestToken(changed: Changed = {}): Promise<Response> {
    return this.post(this.form(changed), changed.tenantId);
  }

  post(body: string | URLSearchParams, tenantId = "acme"): Promise<Response> {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    return this.emulator.fetch(this.tokenUrl(tenantId), {
      method: "POST",
      headers,
      body: String(body),
    });
  }

  async accessToken(changed: Changed = {}): Promise<string> {
    const response = await this.requestToken(changed);
    if (response.status !== 200) throw new Error(`no token: ${this.lastRule()}`);
    return accessTokenIn(response);
  }

  call(
    token: string | undefined,
    path = "/api/v1/acme/devices",
    init: RequestInit = {},
  ): Promise<Response> {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return this.emulator.fetch(path, { ...init, headers: { ...authorization, ...init.headers } });
  }

  /** The rule that the newest entry of the customer log names. */
  lastRule(): string | undefined {
    return this.emulator.customerLog.last()?.rule;
  }
}

export const ada: OperatorRegistration = {
  tenantId: "acme",
  userId: "ada",
  firstname: "Ada",
  lastname: "Lovelace",
  capabilities: ["devices:read"],
  roles: [{ name: "planner", group: "people" }],
};

export type LaunchedCode = LaunchAnswer & Pkce;

export class LaunchedPlugin extends PluginClient {
  constructor(options: EmulatorOptions = {}, registration: Partial<PluginRegistration> = {}) {
    super(options, {
      type: "user_interface",
      pageUrl: "https://plugin.example/page",
      ...registration,
    });
    this.emulator.registerOperator(ada);
  }

  /** The values that the plugin's page has after host:auth-code. */
  launchedCode(
    launch: { userId?: string; clientId?: string; tenantId?: string } = {},
  ): LaunchedCode {
    const pkce = newPkce();
    const identity = { ...reporter, userId: "ada", ...launch };
    return { ...this.emulator.launch(identity).authorize(pkce), ...pkce };
  }

  exchange({ code, codeVerifier }: LaunchedCode, changed: Changed = {}): Promise<Response> {
    const form = {
      grant_type: "authorization_code",
      code,
      code_verifier: codeVerifier,
      ...changed.form,
    };
    return this.requestToken({ ...changed, form });
  }

  async launchedToken(launch: { userId?: string } = {}): Promise<string> {
    const response = await this.exchange(this.launchedCode(launch));
    if (response.status !== 200) throw new Error(`no token: ${this.lastRule()}`);
    return accessTokenIn(response);
  }
}

/** A request to Variant B's token endpoint. */
export function postJson(emulator: Emulator, fields: object): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return emulator.fetch("/v1/auth/token", {
    method: "POST",
    headers,
    body: JSON.stringify(fields),
  });
}

/** The token request of a service account. */
export function requestAccountToken(
  emulator: Emulator,
  { clientId, clientSecret }: { clientId: string; clientSecret: string },
): Promise<Response> {
  const credentials = { client_id: clientId, client_secret: clientSecret };
  return postJson(emulator, { grant_type: "client_credentials", ...credentials });
}

export async function accessTokenIn(response: Response | Promise<Response>): Promise<string> {
  return ((await (await response).json()) as { access_token: string }).access_token;
}
