// An emulator with a frozen clock and one registration of every kind, whose requests rows of the
// table break.
import type { EmulatorOptions, EmulatorSeed } from "../../../src/emulator/index.js";
import {
  accessTokenIn,
  ada,
  CALLBACK,
  type Changed,
  type Changes,
  type Code,
  Deployment,
  pluginKey,
  START,
} from "../deployment.js";
import { AdminBrowser, type FormBrowser } from "../form-browser.js";
import { lastingSigningKey, newPkce, type Pkce, type SigningKey } from "../signing-key.js";

/**
 * The callback of a native app, whose authorization request may name any port of the loopback
 * address.
 */
const LOOPBACK = "http://127.0.0.1/callback";
export const PASSWORDS = {
  ada: "ada-password-7c55e8a9d4",
  worker: "worker-secret-4f1c",
  vault: "vault-secret-93d2",
};
export const secondKey: SigningKey = lastingSigningKey("key-2");
/** No plugin registers this key. It has the kid of one that is registered. */
export const unregisteredKey: SigningKey = lastingSigningKey("key-1");

const scopes = ["devices:read", "schedules:execute"];
const jwks = { keys: [pluginKey.publicJwk] };
const service = { tenantId: "acme", type: "service", jwks, scopes } as const;
const page = {
  ...service,
  type: "user_interface",
  pageUrl: "https://plugin.example/page",
} as const;
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
    {
      ...service,
      clientId: "rotating",
      jwks: { keys: [pluginKey.publicJwk, secondKey.publicJwk] },
    },
    { ...service, clientId: "restricted", devices: ["device-1"] },
    { ...service, clientId: "writer", scopes: ["devices:write"] },
    { ...service, clientId: "off", enabled: false },
    { ...page, clientId: "planner" },
    { ...page, clientId: "viewer" },
    { ...page, clientId: "off-page", enabled: false },
    { ...page, clientId: "planner", tenantId: "globex" },
  ],
  operators: [
    { ...ada, password: PASSWORDS.ada },
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

export class World extends Deployment {
  constructor(options: EmulatorOptions = {}) {
    super({ seed, ...options });
  }

  /** Returns to the seed. */
  reset(): void {
    this.emulator.reset();
    this.transport = this.emulator.fetch;
    this.count = 0;
  }

  wait(seconds: number): void {
    this.emulator.clock.advance(seconds * 1000);
  }

  /** A browser without cookies. */
  open(path: string): Promise<AdminBrowser> {
    const { origin, pathname } = new URL(this.emulator.publicUrl);
    const browser = new AdminBrowser({
      fetch: (url, init = {}) => this.transport(String(url).replace(origin, ""), init),
    });
    return browser.open(pathname.replace(/\/$/, "") + path);
  }

  override launchedCode(launch: object = {}, pkce?: Pkce): ReturnType<Deployment["launchedCode"]> {
    return super.launchedCode({ clientId: "planner", ...launch }, pkce);
  }

  override exchange(code: Code, changed: Changed = {}): Promise<Response> {
    return super.exchange(code, { clientId: "planner", ...changed });
  }

  accountFields(changes: Changes = {}): Changes {
    const fields = { client_id: "worker", client_secret: PASSWORDS.worker };
    return { grant_type: "client_credentials", ...fields, ...changes };
  }

  accountToken(changes: Changes = {}): Promise<string> {
    return accessTokenIn(this.postJson(this.accountFields(changes)));
  }

  override pkce(): Pkce {
    return newPkce(`verifier-${this.count++}`.padEnd(43, "~"));
  }
}

/** Converts the browser's page to an answer with an unread body. */
export function shownBy({ html, response }: FormBrowser): Response {
  return new Response(html === "" ? null : html, response);
}
