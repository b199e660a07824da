// A deployment with one API client and one operator, and that client's logins, exchanges and
// refreshes.
import {
  type ApiClientRegistration,
  createEmulator,
  type Emulator,
  type EmulatorOptions,
} from "../../src/emulator/index.js";
import { ada, postJson, START } from "./plugin-client.js";
import { newPkce, type Pkce } from "./signing-key.js";

export const CALLBACK = "https://portal.example/callback";
export const PORTAL_SECRET = "open sesame";

/** undefined removes a member. */
type Changes = Record<string, string | undefined>;
export type LoginCode = Pkce & { readonly code: string };

export interface PortalTokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

export class Portal {
  readonly emulator: Emulator;
  readonly clientSecret: string | undefined;
  /** Epoch milliseconds. */
  now: number = START;

  constructor(options: EmulatorOptions = {}, registration: Partial<ApiClientRegistration> = {}) {
    this.emulator = createEmulator({ now: () => this.now, ...options });
    this.clientSecret = registration.clientSecret;
    this.emulator.registerApiClient({
      clientId: "portal",
      redirectUris: [CALLBACK],
      ...registration,
    });
    this.emulator.registerOperator(ada);
  }

  authorizationUrl(changes: Changes = {}): string {
    const fields = {
      response_type: "code",
      client_id: "portal",
      redirect_uri: CALLBACK,
      state: "state-1",
      code_challenge: newPkce().codeChallenge,
      code_challenge_method: "S256",
      ...changes,
    };
    return (
      `${this.emulator.publicUrl}/v1/auth/authorize?` +
      `${new URLSearchParams(JSON.parse(JSON.stringify(fields)))}`
    );
  }

  /** What the client has after its callback. */
  loginCode(changes: Changes = {}): LoginCode {
    const pkce = newPkce();
    const url = this.authorizationUrl({ code_challenge: pkce.codeChallenge, ...changes });
    const { callbackUrl } = this.emulator.login({ url, userId: "ada" });
    const code = new URL(callbackUrl).searchParams.get("code");
    if (code === null) throw new Error(`no code: ${this.lastRule()}`);
    return { ...pkce, code };
  }

  exchange({ code, codeVerifier }: LoginCode, changes: Changes = {}): Promise<Response> {
    return this.post({
      code,
      code_verifier: codeVerifier,
      client_id: "portal",
      redirect_uri: CALLBACK,
      client_secret: this.clientSecret,
      ...changes,
    });
  }

  refresh(refresh_token: string, changes: Changes = {}): Promise<Response> {
    const fields = { grant_type: "refresh_token", refresh_token, client_id: "portal" };
    return this.post({ ...fields, client_secret: this.clientSecret, ...changes });
  }

  async tokens(response?: Response): Promise<PortalTokens> {
    const answer = response ?? (await this.exchange(this.loginCode()));
    if (answer.status !== 200) throw new Error(`no tokens: ${this.lastRule()}`);
    return (await answer.json()) as PortalTokens;
  }

  post(fields: Changes): Promise<Response> {
    return postJson(this.emulator, fields);
  }

  async statusOf(accessToken: string): Promise<number> {
    const headers = { authorization: `Bearer ${accessToken}` };
    return (await this.emulator.fetch("/v1/devices", { headers })).status;
  }

  /** The rule that the newest entry of the customer log names. */
  lastRule(): string | undefined {
    return this.emulator.customerLog.entries().at(-1)?.rule;
  }
}
