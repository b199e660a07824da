// A registered plugin and what it is permitted at a given moment.
import type { PluginType } from "./plugin-registration.js";
import type { RegisteredKey } from "./registered-keys.js";
import type { Role } from "./role.js";

/** What a registration permits. */
export interface Grant {
  readonly scopes: ReadonlySet<string>;
  /** Undefined: every device. */
  readonly devices: ReadonlySet<string> | undefined;
}

/** A registered plugin. Replaced as a whole by an update, so a request in flight sees one consistent state. */
export interface Plugin {
  readonly tenantId: string;
  readonly clientId: string;
  readonly type: PluginType;
  readonly enabled: boolean;
  readonly roles: readonly Role[];
  readonly name: string;
  readonly pageUrl: string | undefined;
  readonly keys: readonly RegisteredKey[];
  readonly grant: Grant;
  /** Grants that an update replaced, each in force until its instant (epoch milliseconds). */
  readonly formerGrants: readonly { readonly grant: Grant; readonly until: number }[];
}

/** Everything that permits a call at this instant: the grant as it stands, and replaced ones that still linger. */
export function grantsInForce(plugin: Plugin, now: number): Grant[] {
  const lingering = plugin.formerGrants.filter(({ until }) => now < until).map(({ grant }) => grant);
  return [plugin.grant, ...lingering];
}
