// The plugins: registration, update, and their grants.
import { z } from "zod";
import { issueError } from "../errors.js";
import {
  clientIdSchema,
  identitySchema,
  type Role,
  roleSchema,
  scopeSchema,
  tenantIdSchema,
} from "./fields.js";
import {
  type JsonWebKeySet,
  type JwksSource,
  type PluginIdentity,
  type RegisteredKey,
  readRegisteredKeys,
} from "./keys.js";
import { Registry } from "./registry.js";

/** "There are two kinds of plugin" (description, section 1). */
export type PluginType = "service" | "user_interface";

/** The fields of the description's section 2.1. */
export interface PluginRegistration {
  readonly clientId: string;
  readonly tenantId: string;
  readonly type: PluginType;
  /**
   * The public keys that verify client assertions: RSA, 2048 bits or more. Default: the public half
   * of a key that the emulator makes; `emulator.testKey` returns the private half.
   */
  readonly jwks?: JsonWebKeySet | undefined;
  /** Granted scopes, `area:read`, `area:write` or `area:execute`. Default: none. */
  readonly scopes?: readonly string[] | undefined;
  /** The devices the plugin is limited to. Default: no limit. */
  readonly devices?: readonly string[] | undefined;
  /** Default: true. */
  readonly enabled?: boolean | undefined;
  /** The value of `revo.roles` for a service plugin. Default: one invented role. */
  readonly roles?: readonly Role[] | undefined;
  /** The plugin's name in the host application's sidebar. Default: the client_id. */
  readonly name?: string | undefined;
  /**
   * The http or https URL that the host loads in an iframe, for a user-interface plugin. Default:
   * an empty page.
   */
  readonly pageUrl?: string | undefined;
}

/** A live change of one registration; a member that is left out stays. */
export interface PluginUpdate
  extends PluginIdentity,
    Partial<Omit<PluginRegistration, keyof PluginIdentity | "type" | "devices">> {
  /** `null` lifts the restriction. */
  readonly devices?: readonly string[] | null | undefined;
}

const pluginIdentity = { clientId: clientIdSchema, tenantId: tenantIdSchema };
const changeable = z
  .strictObject({
    jwks: z.object({ keys: z.array(z.record(z.string(), z.unknown())) }),
    scopes: z.array(scopeSchema),
    devices: z.array(z.string().min(1)),
    enabled: z.boolean(),
    roles: z.array(roleSchema),
    name: z.string().min(1).max(100),
    pageUrl: z.url({ protocol: /^https?$/, error: "must be an http or https URL" }),
  })
  .partial().shape;

const pluginShape = {
  ...pluginIdentity,
  type: z.enum(["service", "user_interface"]),
  ...changeable,
};

export const pluginNames: readonly string[] = Object.keys(pluginShape);

const pluginUpdateSchema: z.ZodType<PluginUpdate> = z.strictObject({
  ...pluginIdentity,
  ...changeable,
  devices: changeable.devices.nullable(),
});

interface Grant {
  readonly scopes: ReadonlySet<string>;
  /** If undefined, every device is permitted. */
  readonly devices: ReadonlySet<string> | undefined;
}

/** A replaced grant, in force from its replacement until before its end; epoch milliseconds. */
interface FormerGrant extends Grant {
  readonly from: number;
  readonly until: number;
}

export interface Plugin extends PluginIdentity, Pick<PluginRegistration, "type" | "pageUrl"> {
  readonly enabled: boolean;
  readonly roles: readonly Role[];
  readonly name: string;
  readonly keys: readonly RegisteredKey[];
  readonly grant: Grant;
  readonly formerGrants: readonly FormerGrant[];
}

/**
 * Returns the grants that permit calls with a token of `issuedAt` at this instant: the current one,
 * and those still in force that were replaced since.
 */
export function grantsInForce(plugin: Plugin, now: number, issuedAt: number): Grant[] {
  // `from` is compared with `now` because setting the clock back must not bring a replaced grant
  // into force.
  return [
    plugin.grant,
    ...plugin.formerGrants.filter(
      ({ from, until }) => issuedAt <= from && from <= now && now < until,
    ),
  ];
}

export class Plugins extends Registry<
  Plugin,
  [tenantId: string, clientId: string],
  PluginRegistration
> {
  constructor(clock: () => number, narrowingDelayMs: number, testKeys: JwksSource) {
    super({
      noun: "plugin",
      registration: z.strictObject(pluginShape),
      update: pluginUpdateSchema,
      identity: identitySchema(pluginIdentity, pluginNames),
      key: ["tenantId", "clientId"],
      create: (sheet, previous) => {
        const {
          tenantId,
          clientId,
          type,
          enabled = true,
          name = clientId,
          pageUrl,
          devices,
        } = sheet;
        if (pageUrl !== undefined && type === "service") {
          const issue = "pageUrl: only a user-interface plugin has a page";
          throw issueError("registration_invalid", issue, "plugin: ");
        }
        const now = clock();
        // "A narrowing of the grant takes effect within minutes without the token changing"
        // (section 2.1).
        const until = now + narrowingDelayMs;
        const former = previous === undefined ? [] : [{ ...previous.grant, from: now, until }];
        return {
          tenantId,
          clientId,
          type,
          enabled,
          name,
          pageUrl,
          // The description shows the shape of a role and no example, so this one is invented.
          roles: sheet.roles ?? [{ name: "service-plugin", group: "external-plugins" }],
          keys: readRegisteredKeys(sheet.jwks ?? testKeys.jwksFor(sheet)),
          grant: { scopes: new Set(sheet.scopes), devices: devices && new Set(devices) },
          formerGrants: [
            ...(previous?.formerGrants ?? []).filter(({ until }) => now < until),
            ...former,
          ],
        };
      },
    });
  }
}
