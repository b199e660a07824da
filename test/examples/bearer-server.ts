// What the servers of the recipes share: a deployment that issues tokens, and a check of tokens
// against it.
import { createEmulator, type Emulator } from "../../src/emulator/index.js";
import { type Auth, createAuth, serviceAccount } from "../../src/index.js";

export const hourMs = 3_600_000;

export interface Tenant {
  readonly emulator: Emulator;
  /** Gets the tokens of a service account in this tenant, by the emulator's clock. */
  readonly auth: Auth;
  /**
   * Whether the deployment accepts the token now. `refuse` lists tokens that are refused sooner.
   */
  readonly accepts: (token: string | undefined) => Promise<boolean>;
  readonly refused: Set<string>;
}

/**
 * Variant B, since the description names SignalR and MQTT there only. The clock stands still until
 * a test moves it.
 */
export function emulatedTenant(): Tenant {
  const account = { clientId: "listener", clientSecret: "a secret" };
  const serviceAccounts = [{ tenantId: "acme", ...account }];
  const emulator = createEmulator({ variants: ["B"], seed: { serviceAccounts } });
  const { publicUrl: baseUrl, fetch, clock } = emulator;
  clock.freeze();
  const auth = createAuth({
    baseUrl,
    tenantId: "acme",
    credential: serviceAccount(account),
    fetch,
    clock: { now: () => clock.now() },
  });
  const refused = new Set<string>();
  const accepts = async (token = "") => {
    const headers = { authorization: `Bearer ${token}` };
    return !refused.has(token) && (await fetch(`${baseUrl}/v1/devices`, { headers })).ok;
  };
  return { emulator, auth, accepts, refused };
}
