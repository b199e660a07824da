// A deployment with one service plugin, and that plugin's requests; a test says only what it changes.
import { randomUUID } from "node:crypto";
import type { Emulator, EmulatorOptions, PluginRegistration } from "../../src/emulator/index.js";
import { createEmulator } from "../../src/emulator/index.js";
import { compactJws, newSigningKey, rs256, type SigningKey } from "./signing-key.js";

/** Epoch milliseconds at which every test's clock starts: a whole second. */
export const START: number = Date.UTC(2026, 0, 1, 12, 0, 0);
export const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/** What every refused token request answers but the error code. */
export const REJECTED = "The token request was rejected.";

/** One key for all tests of a file: generating one takes longer than most tests. */
export const pluginKey: SigningKey = newSigningKey("key-1");

/** undefined removes a member. */
export type Changes = Record<string, unknown>;

export interface Changed {
  readonly tenantId?: string;
  readonly key?: SigningKey;
  readonly header?: Changes;
  readonly claims?: Changes;
  readonly form?: Changes;
}

export class PluginClient {
  readonly emulator: Emulator;
  /** Epoch milliseconds. */
  now: number = START;

  constructor(options: EmulatorOptions = {}, registration: Partial<PluginRegistration> = {}) {
    this.emulator = createEmulator({ now: () => this.now, ...options });
    this.emulator.registerPlugin({
      clientId: "reporter",
      tenantId: "acme",
      type: "service",
      jwks: { keys: [pluginKey.publicJwk] },
      scopes: ["devices:read"],
      ...registration,
    });
  }

  tokenUrl(tenantId = "acme"): string {
    return `${this.emulator.publicUrl}/api/v1/${tenantId}/external-plugin/oauth/token`;
  }

  assertion({ tenantId, key = pluginKey, header = {}, claims = {} }: Changed = {}): string {
    const iat = Math.floor(this.emulator.clock.now() / 1000);
    return compactJws(
      { alg: "RS256", kid: key.kid, ...header },
      {
        iss: "reporter",
        sub: "reporter",
        aud: this.tokenUrl(tenantId),
        jti: randomUUID(),
        iat,
        exp: iat + 60,
        ...claims,
      },
      rs256(key),
    );
  }

  form(changed: Changed = {}): URLSearchParams {
    const fields = {
      grant_type: "client_credentials",
      client_id: "reporter",
      client_assertion_type: ASSERTION_TYPE,
      client_assertion: changed.form && "client_assertion" in changed.form ? "" : this.assertion(changed),
      ...changed.form,
    };
    const form = new URLSearchParams();
    for (const [name, value] of Object.entries(fields))
      if (value !== undefined) form.set(name, String(value));
    return form;
  }

  requestToken(changed: Changed = {}): Promise<Response> {
    return this.post(this.form(changed), changed.tenantId);
  }

  post(body: string | URLSearchParams, tenantId = "acme"): Promise<Response> {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    return this.emulator.fetch(this.tokenUrl(tenantId), { method: "POST", headers, body: String(body) });
  }

  async accessToken(changed: Changed = {}): Promise<string> {
    const response = await this.requestToken(changed);
    const body = (await response.json()) as { access_token: string };
    if (response.status !== 200) throw new Error(`no token: ${this.lastRule()}`);
    return body.access_token;
  }

  call(token: string | undefined, path = "/api/v1/acme/devices", init: RequestInit = {}): Promise<Response> {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return this.emulator.fetch(path, { ...init, headers: { ...authorization, ...init.headers } });
  }

  /** The rule that the newest entry of the customer log names. */
  lastRule(): string | undefined {
    return this.emulator.customerLog.entries().at(-1)?.rule;
  }
}

/** The parts of a refused token request's answer that the description fixes. */
export async function rejection(response: Response): Promise<unknown> {
  return { status: response.status, body: await response.json() };
}

export function rejectedWith(error: string): unknown {
  return { status: 400, body: { error, error_description: REJECTED } };
}
