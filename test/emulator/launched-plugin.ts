// A deployment with one user-interface plugin and one operator, its launches and its exchanges.
import type {
  EmulatorOptions,
  LaunchAnswer,
  OperatorRegistration,
  PluginRegistration,
} from "../../src/emulator/index.js";
import { newPkce, type Pkce } from "./pkce.js";
import { type Changed, PluginClient } from "./plugin-client.js";

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
    super(options, { type: "user_interface", pageUrl: "https://plugin.example/page", ...registration });
    this.emulator.registerOperator(ada);
  }

  /** What the plugin's page has after host:auth-code. */
  launchedCode(launch: { userId?: string; clientId?: string; tenantId?: string } = {}): LaunchedCode {
    const pkce = newPkce();
    const identity = { tenantId: "acme", clientId: "reporter", userId: "ada", ...launch };
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
    return ((await response.json()) as { access_token: string }).access_token;
  }
}
