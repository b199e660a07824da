// What every handler of one emulator instance works on; nothing of it lives in a module.
import type { CustomerLog } from "./customer-log.js";
import type { PluginRegistry } from "./registrations/plugin-registry.js";
import type { ServiceAccounts } from "./registrations/service-accounts.js";
import type { AccessTokens } from "./stores/access-tokens.js";
import type { SlidingWindow } from "./stores/sliding-window.js";
import type { UsedAssertionIds } from "./stores/used-assertion-ids.js";

export interface Deployment {
  /** The only clock: epoch milliseconds. */
  readonly clock: () => number;
  /** The base URL that clients are configured with, without a trailing slash. Never derived from a request. */
  readonly publicUrl: () => string;
  readonly tokenLifetimeSeconds: number;
  readonly rateLimit: { readonly window: SlidingWindow; readonly retryAfter: RetryAfter } | undefined;
  readonly plugins: PluginRegistry;
  readonly serviceAccounts: ServiceAccounts;
  readonly accessTokens: AccessTokens;
  readonly usedAssertionIds: UsedAssertionIds;
  readonly customerLog: CustomerLog;
}

/** "The 429 response may carry a Retry-After header, but it may be absent" (description, section 8). */
export type RetryAfter = "seconds" | "date" | "absent";
