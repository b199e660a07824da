// The plugins: registration, update, and their grants.
import { z } from "zod";
import { EmulatorError, parseInput } from "../errors.js";
import { shown, shownClientId } from "../shown.js";
import { clientIdSchema, type Role, roleSchema, scopeSchema, tenantIdSchema } from "./fields.js";
import {
  type JsonWebKeySet,
  type JwksSource,
  type PluginIdentity,
  type RegisteredKey,
  readRegisteredKeys,
} from "./keys.js";

/** "There are two kinds of plugin" (description, section 1). */
export type PluginType = "service" | "user_interface";

/** The fields of the description's section 2.1. */
export interface PluginRegistration {
  readonly clientId: string;
  readonly tenantId: string;
  readonly type: PluginType;
  /**
   * The public keys that verify client assertions: RSA, 2048 bits or more. Default: the public half of a key that the
   * emulator makes; `emulator.testKey` returns the private half.
   */
  readonly jwks?: JsonWebKeySet | undefined;
  /** Granted scopes, `area:read`, `area:write` or `area:execute`. Default: none. */
  readonly scopes?: readonly string[] | undefined;
  /** The devices the plugin is limited to. Default: no limit. */
  readonly devices?: readonly string[] | undefined;
  /** Default: true. */
  readonly enabled?: boolean | undefined;
  /** What `revo.roles` says of a service plugin. Default: one invented role. */
  readonly roles?: readonly Role[] | undefined;
  /** What the host application's sidebar calls it. Default: the client_id. */
  readonly name?: string | undefined;
  /** The page of a user-interface plugin, http or https: the host loads it in an iframe. Default: an empty page. */
  readonly pageUrl?: string | undefined;
}

/** A live change of one registration; a member that is left out stays. */
export interface PluginUpdate {
  readonly clientId: string;
  readonly tenantId: string;
  readonly jwks?: JsonWebKeySet | undefined;
  readonly scopes?: readonly string[] | undefined;
  /** `null` lifts the restriction. */
  readonly devices?: readonly string[] | null | undefined;
  readonly enabled?: boolean | undefined;
  readonly roles?: readonly Role[] | undefined;
  readonly name?: string | undefined;
  readonly pageUrl?: string | undefined;
}

const pluginIdentity = { clientId: clientIdSchema, tenantId: tenantIdSchema };
const jwksField = z.object({ keys: z.array(z.record(z.string(), z.unknown())) });
const scopesField = z.array(scopeSchema);
const devicesField = z.array(z.string().min(1));
const rolesField = z.array(roleSchema);
const nameField = z.string().min(1).max(100);
const pageUrlField = z.url({ protocol: /^https?$/ });

export const pluginSchema: z.ZodType<PluginRegistration> = z
  .strictObject({
    ...pluginIdentity,
    type: z.enum(["service", "user_interface"]),
    jwks: jwksField.optional(),
    scopes: scopesField.optional(),
    devices: devicesField.optional(),
    enabled: z.boolean().optional(),
    roles: rolesField.optional(),
    name: nameField.optional(),
    pageUrl: pageUrlField.optional(),
  })
  .refine(({ type, pageUrl }) => type === "user_interface" || pageUrl === undefined, {
    path: ["pageUrl"],
    message: "only a user-interface plugin has a page",
  });

export const pluginUpdateSchema: z.ZodType<PluginUpdate> = z.strictObject({
  ...pluginIdentity,
  jwks: jwksField.optional(),
  scopes: scopesField.optional(),
  devices: devicesField.nullable().optional(),
  enabled: z.boolean().optional(),
  roles: rolesField.optional(),
  name: nameField.optional(),
  pageUrl: pageUrlField.optional(),
});

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

/** Invented: the description shows the shape of a role and no example of one. */
const DEFAULT_ROLES: readonly Role[] = [{ name: "service-plugin", group: "external-plugins" }];

export class PluginRegistry {
  readonly #tenants = new Map<string, Map<string, Plugin>>();
  readonly #narrowingDelayMs: number;
  readonly #testKeys: JwksSource;

  constructor(narrowingDelayMs: number, testKeys: JwksSource) {
    this.#narrowingDelayMs = narrowingDelayMs;
    this.#testKeys = testKeys;
  }

  find(tenantId: string, clientId: string): Plugin | undefined {
    return this.#tenants.get(tenantId)?.get(clientId);
  }

  /** The plugins of one tenant, or of all, in the order of their registration. */
  list(tenantId?: string): Plugin[] {
    const tenants = tenantId === undefined ? [...this.#tenants.keys()] : [tenantId];
    return tenants.flatMap((tenant) => [...(this.#tenants.get(tenant)?.values() ?? [])]);
  }

  register(input: unknown): void {
    const sheet = parseInput<PluginRegistration>(
      pluginSchema,
      input,
      "registration_invalid",
      "plugin registration",
    );
    if (this.find(sheet.tenantId, sheet.clientId) !== undefined) {
      throw new EmulatorError(
        "already_registered",
        `plugin ${sheet.clientId} is registered in ${sheet.tenantId}`,
      );
    }
    this.#put({
      tenantId: sheet.tenantId,
      clientId: sheet.clientId,
      type: sheet.type,
      enabled: sheet.enabled ?? true,
      roles: sheet.roles ?? DEFAULT_ROLES,
      name: sheet.name ?? sheet.clientId,
      pageUrl: sheet.pageUrl,
      keys: readRegisteredKeys(sheet.jwks ?? this.#testKeys.jwksFor(sheet)),
      grant: { scopes: new Set(sheet.scopes), devices: sheet.devices && new Set(sheet.devices) },
      formerGrants: [],
    });
  }

  update(input: unknown, now: number): void {
    const change = parseInput<PluginUpdate>(
      pluginUpdateSchema,
      input,
      "registration_invalid",
      "plugin update",
    );
    const plugin = this.#registered(change);
    this.#put({
      ...plugin,
      enabled: change.enabled ?? plugin.enabled,
      roles: change.roles ?? plugin.roles,
      name: change.name ?? plugin.name,
      pageUrl: pageAfter(change.pageUrl, plugin),
      keys: change.jwks === undefined ? plugin.keys : readRegisteredKeys(change.jwks),
      grant: {
        scopes: change.scopes === undefined ? plugin.grant.scopes : new Set(change.scopes),
        devices: devicesAfter(change.devices, plugin.grant.devices),
      },
      formerGrants: this.#formerGrantsAfter(plugin, now),
    });
  }

  /** Returns the removed registration. */
  unregister(input: unknown): Plugin {
    const plugin = this.#registered(
      parseInput<PluginIdentity>(z.object(pluginIdentity), input, "registration_invalid", "plugin"),
    );
    this.#tenants.get(plugin.tenantId)?.delete(plugin.clientId);
    return plugin;
  }

  #registered({ tenantId, clientId }: PluginIdentity): Plugin {
    const plugin = this.find(tenantId, clientId);
    if (plugin !== undefined) return plugin;
    const where = `is not registered in ${shown(tenantId)}`;
    throw new EmulatorError("not_registered", `plugin ${shownClientId(clientId)} ${where}`);
  }

  /** "A narrowing of the grant takes effect within minutes without the token changing" (section 2.1). */
  #formerGrantsAfter({ grant, formerGrants }: Plugin, now: number): readonly FormerGrant[] {
    const lingering = formerGrants.filter(({ until }) => now < until);
    return [...lingering, { grant, from: now, until: now + this.#narrowingDelayMs }];
  }

  #put(plugin: Plugin): void {
    const tenant = this.#tenants.get(plugin.tenantId) ?? new Map<string, Plugin>();
    this.#tenants.set(plugin.tenantId, tenant.set(plugin.clientId, plugin));
  }
}

function pageAfter(change: string | undefined, plugin: Plugin): string | undefined {
  if (change === undefined || plugin.type === "user_interface") return change ?? plugin.pageUrl;
  const issue = "pageUrl: only a user-interface plugin has a page";
  throw new EmulatorError("registration_invalid", `plugin update: ${issue}`, { issues: [issue] });
}

function devicesAfter(
  change: readonly string[] | null | undefined,
  current: ReadonlySet<string> | undefined,
): ReadonlySet<string> | undefined {
  if (change === undefined) return current;
  return change === null ? undefined : new Set(change);
}
