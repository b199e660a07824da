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

/** In force from its replacement on, up to but not at its end; epoch milliseconds. */
export interface FormerGrant {
  readonly grant: Grant;
  readonly from: number;
  readonly until: number;
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
  /** Grants that an update replaced. */
  readonly formerGrants: readonly FormerGrant[];
}

/** Everything that permits a call at this instant: the grant as it stands, and replaced ones that still linger. */
export function grantsInForce(plugin: Plugin, now: number): Grant[] {
  // Not before its replacement: a clock that went back revives nothing, for the registration is as it stands.
  const lingering = plugin.formerGrants.filter(({ from, until }) => from <= now && now < until);
  return [plugin.grant, ...lingering.map(({ grant }) => grant)];
}
