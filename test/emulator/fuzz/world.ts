// A deployment with something of everything registered, the same in every run, and its well-behaved clients and people.
import { createPrivateKey, type JsonWebKey, type KeyObject } from "node:crypto";
import {
  createEmulator,
  type Emulator,
  EmulatorError,
  type EmulatorOptions,
} from "../../../src/emulator/index.js";
import { FormBrowser } from "../form-browser.js";
import { newPkce, type Pkce } from "../pkce.js";
import { ASSERTION_TYPE, START } from "../plugin-client.js";
import { compactJws, rs256 } from "../signing-key.js";

export const CALLBACK = "https://portal.example/callback";
export const WORKER_SECRET = "worker-secret-4f1c0a7be2";
export const VAULT_SECRET = "vault-secret-93d2b66f01";
export const PASSWORD = "ada-password-7c55e8a9d4";

const scopes = ["devices:read", "schedules:execute"];

const options: EmulatorOptions = {
  publicUrl: "http://service.localhost/base",
  randomSeed: 1,
  envelope: { wrapped: "data" },
  routes: [
    {
      operationId: "readSchedules",
      method: "GET",
      path: "/api/v1/{tenantId}/schedules",
      scope: "devices:read",
      deviceParameter: "device",
    },
    { operationId: "putDevice", method: "PUT", path: "/v1/devices/{deviceId}", scope: "devices:read" },
  ],
  seed: {
    clock: { at: START, frozen: true },
    plugins: [
      { clientId: "reporter", tenantId: "acme", type: "service", scopes },
      {
        clientId: "planner",
        tenantId: "acme",
        type: "user_interface",
        scopes,
        pageUrl: "https://plan.example/",
      },
    ],
    operators: [
      { userId: "ada", tenantId: "acme", capabilities: scopes, password: PASSWORD },
      { userId: "eve", tenantId: "acme" },
    ],
    serviceAccounts: [{ clientId: "worker", clientSecret: WORKER_SECRET, tenantId: "acme" }],
    apiClients: [
      { clientId: "portal", redirectUris: [CALLBACK] },
      { clientId: "vault", redirectUris: [CALLBACK], clientSecret: VAULT_SECRET, tenantId: "acme", scopes },
    ],
  },
};

/** What the next sequence begins with; a reset keeps what it is not told anew. */
const defaults: EmulatorOptions = {
  rateLimit: false,
  refreshTokens: {},
  revoShape: "nested",
  launchState: "launch-parameter",
  rules: {},
};

export type Members = Readonly<Record<string, unknown>>;

/** An assertion before it is signed. */
export interface Assertion {
  readonly clientId: string;
  readonly header: Members;
  readonly claims: Members;
}

export class World {
  readonly emulator: Emulator = createEmulator(options);
  /** Always the same one, so that a case that failed can be run again. */
  readonly pkce: Pkce = newPkce("v".repeat(43));
  readonly #keys = new Map<string, KeyObject>();
  readonly #signed = new Map<string, string>();
  readonly #tokens = new Map<string, string>();
  #host: FormBrowser | undefined;
  #person: FormBrowser | undefined;
  #adminToken: string | undefined;
  #assertions = 0;

  /** Back to the seed; what is not among `changes` back to its default. */
  begin(changes: EmulatorOptions = {}): void {
    this.emulator.reset({ ...defaults, ...changes });
    this.forget();
  }

  /** Whatever a client or a person holds on to from one request to the next. */
  forget(): void {
    this.#tokens.clear();
    this.#host = undefined;
    this.#person = undefined;
    this.#assertions = 0;
  }

  /** What nobody may find in an answer or in a record, whatever was sent. */
  get secrets(): string[] {
    const { d = "", p = "" } = this.emulator.testKey({ tenantId: "acme", clientId: "reporter" });
    return [WORKER_SECRET, VAULT_SECRET, PASSWORD, d, p];
  }

  assertion(clientId: string): Assertion {
    this.#assertions += 1;
    const iat = Math.floor(this.emulator.clock.now() / 1000);
    const aud = this.url("/api/v1/acme/external-plugin/oauth/token");
    const claims = { iss: clientId, sub: clientId, aud, jti: `jti-${this.#assertions}`, iat, exp: iat + 60 };
    return { clientId, header: { alg: "RS256", kid: "test-key" }, claims };
  }

  /** Remembered: most assertions of one sequence come again in the next one. */
  sign({ clientId, header, claims }: Assertion): string {
    const unsigned = JSON.stringify([clientId, header, claims]);
    const known = this.#signed.get(unsigned);
    if (known !== undefined) return known;
    const privateKey = this.#key(clientId);
    const assertion = compactJws({ ...header }, claims, rs256({ privateKey } as Parameters<typeof rs256>[0]));
    if (this.#signed.size < 1000) this.#signed.set(unsigned, assertion);
    return assertion;
  }

  /** Of a launch; a code that nobody knows where the host refuses it. */
  launchCode(): string {
    return refusable(() => {
      const launch = this.emulator.launch({ tenantId: "acme", clientId: "planner", userId: "ada" });
      return launch.authorize(this.pkce).code;
    });
  }

  /** Of a launch that ada has not authorised yet. */
  opaqueCode(): string {
    return refusable(
      () => this.emulator.launch({ tenantId: "acme", clientId: "planner", userId: "ada" }).opaqueCode,
    );
  }

  authorizationFields(clientId: string): [string, string][] {
    return [
      ["response_type", "code"],
      ["client_id", clientId],
      ["redirect_uri", CALLBACK],
      ["state", "state-1"],
      ["code_challenge", this.pkce.codeChallenge],
      ["code_challenge_method", "S256"],
      ["scope", "devices:read"],
    ];
  }

  /** Of a login. */
  loginCode(clientId: string): string {
    const query = new URLSearchParams(this.authorizationFields(clientId));
    const url = this.url(`/v1/auth/authorize?${query}`);
    return refusable(() => {
      const { callbackUrl } = this.emulator.login({ url, userId: "ada" });
      return new URL(callbackUrl).searchParams.get("code");
    });
  }

  async refreshToken(): Promise<string> {
    const code = this.loginCode("portal");
    const fields = {
      code,
      code_verifier: this.pkce.codeVerifier,
      client_id: "portal",
      redirect_uri: CALLBACK,
    };
    const answer = await this.#post("/v1/auth/token", "application/json", JSON.stringify(fields));
    return answer.refresh_token ?? "none";
  }

  /** The same one for the whole sequence. */
  async accessToken(variant: "A" | "B"): Promise<string> {
    const known = this.#tokens.get(variant);
    if (known !== undefined) return known;
    const answer = await (variant === "A" ? this.#pluginToken() : this.#accountToken());
    const token = answer.access_token ?? "none";
    this.#tokens.set(variant, token);
    return token;
  }

  /** At the host application, where ada signed in. */
  async host(): Promise<FormBrowser> {
    if (this.#host !== undefined) return this.#host;
    const browser = await new FormBrowser(this.emulator).open(this.url("/host/acme"));
    await browser.submit({ userId: "ada", password: PASSWORD });
    this.#host = await browser.follow();
    return this.#host;
  }

  /** At the consent page of a login of its own, or at its login page. */
  async login(isLoggedIn: boolean): Promise<FormBrowser> {
    const url = this.url(`/v1/auth/authorize?${new URLSearchParams(this.authorizationFields("portal"))}`);
    if (!isLoggedIn) return new FormBrowser(this.emulator).open(url);
    if (this.#person === undefined) {
      this.#person = await new FormBrowser(this.emulator).open(url);
      await this.#person.submit({ userId: "ada", password: PASSWORD, decision: "login" });
    }
    return this.#person.open(url);
  }

  /** Of every form at /_emulator, for as long as the emulator lives. */
  async adminToken(): Promise<string> {
    this.#adminToken ??= (
      await new FormBrowser(this.emulator).open(this.url("/_emulator/state"))
    ).hidden().form_token;
    return this.#adminToken ?? "none";
  }

  url(path: string): string {
    return this.emulator.publicUrl + path;
  }

  #key(clientId: string): KeyObject {
    const jwk = this.emulator.testKey({ tenantId: "acme", clientId });
    const key = this.#keys.get(clientId) ?? createPrivateKey({ key: jwk as JsonWebKey, format: "jwk" });
    this.#keys.set(clientId, key);
    return key;
  }

  #pluginToken(): Promise<Record<string, string>> {
    const form = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: "reporter",
      client_assertion_type: ASSERTION_TYPE,
      client_assertion: this.sign(this.assertion("reporter")),
    });
    const path = "/api/v1/acme/external-plugin/oauth/token";
    return this.#post(path, "application/x-www-form-urlencoded", String(form));
  }

  #accountToken(): Promise<Record<string, string>> {
    const fields = { grant_type: "client_credentials", client_id: "worker", client_secret: WORKER_SECRET };
    return this.#post("/v1/auth/token", "application/json", JSON.stringify(fields));
  }

  async #post(path: string, type: string, body: string): Promise<Record<string, string>> {
    const init = { method: "POST", headers: { "content-type": type }, body };
    const response = await this.emulator.fetch(this.url(path), init);
    return response.status === 429 ? {} : ((await response.json()) as Record<string, string>);
  }
}

function refusable(ask: () => string | null): string {
  try {
    return ask() ?? "none";
  } catch (error) {
    if (error instanceof EmulatorError) return "none";
    throw error;
  }
}
