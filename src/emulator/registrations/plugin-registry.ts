// The plugins registered in each tenant, as they are at this moment.
import { EmulatorError } from "../emulator-error.js";
import { shown, shownClientId } from "../shown.js";
import type { FormerGrant, Plugin } from "./plugin.js";
import { parsePluginIdentity, parsePluginRegistration, parsePluginUpdate } from "./plugin-registration.js";
import { readRegisteredKeys } from "./registered-keys.js";
import type { Role } from "./role.js";
import type { JwksSource, PluginIdentity } from "./test-keys.js";

/** Invented: the description shows the shape of a role and no example of one. */
const DEFAULT_ROLES: readonly Role[] = [{ name: "service-plugin", group: "external-plugins" }];

export class PluginRegistry {
  readonly #tenants = new Map<string, Map<string, Plugin>>();
  /** The same for every state of one registration: a later one of that name is another. */
  readonly #registrations = new WeakMap<Plugin, symbol>();
  readonly #narrowingDelayMs: number;
  readonly #testKeys: JwksSource;

  constructor(narrowingDelayMs: number, testKeys: JwksSource) {
    this.#narrowingDelayMs = narrowingDelayMs;
    this.#testKeys = testKeys;
  }

  find(tenantId: string, clientId: string): Plugin | undefined {
    return this.#tenants.get(tenantId)?.get(clientId);
  }

  /** Whether what was found is registered yet, changed or not. */
  isStill(plugin: Plugin): boolean {
    const current = this.find(plugin.tenantId, plugin.clientId);
    return current !== undefined && this.#registrations.get(current) === this.#registrations.get(plugin);
  }

  /** The plugins of one tenant, or of all, in the order of their registration. */
  list(tenantId?: string): Plugin[] {
    const tenants = tenantId === undefined ? [...this.#tenants.keys()] : [tenantId];
    return tenants.flatMap((tenant) => [...(this.#tenants.get(tenant)?.values() ?? [])]);
  }

  register(input: unknown): void {
    const sheet = parsePluginRegistration(input);
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
    const change = parsePluginUpdate(input);
    const plugin = this.#registered(change);
    const changed = {
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
    };
    this.#put(changed, this.#registrations.get(plugin));
  }

  /** Returns what is no longer registered. */
  unregister(input: unknown): Plugin {
    const plugin = this.#registered(parsePluginIdentity(input));
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

  #put(plugin: Plugin, registration: symbol = Symbol()): void {
    this.#registrations.set(plugin, registration);
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
