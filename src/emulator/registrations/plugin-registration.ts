// What a customer enters when registering a plugin, and how it may change afterwards.
import { z } from "zod";
import { parseInput } from "../parse-input.js";
import { clientIdSchema } from "./client-id.js";
import type { JsonWebKeySet } from "./registered-keys.js";
import { type Role, roleSchema } from "./role.js";
import { scopeSchema } from "./scope.js";
import { tenantIdSchema } from "./tenant-id.js";
import type { PluginIdentity } from "./test-keys.js";

/** "There are two kinds of plugin" (description, section 1). */
export type PluginType = "service" | "user_interface";

/** The fields of the description's section 2.1. */
export interface PluginRegistration {
  readonly clientId: string;
  readonly tenantId: string;
  readonly type: PluginType;
  /**
   * The public keys that verify client assertions: RSA, 2048 bits or more. Default: the public half of a key that the
   * emulator makes; `emulator.testKey` gives the private half.
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

/** A live change of one registration; what is left out stays. */
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

const identity = { clientId: clientIdSchema, tenantId: tenantIdSchema };
const jwks = z.object({ keys: z.array(z.record(z.string(), z.unknown())) });
const scopes = z.array(scopeSchema);
const devices = z.array(z.string().min(1));
const roles = z.array(roleSchema);
const name = z.string().min(1).max(100);
const pageUrl = z.url({ protocol: /^https?$/ });

export const pluginSchema: z.ZodType<PluginRegistration> = z
  .strictObject({
    ...identity,
    type: z.enum(["service", "user_interface"]),
    jwks: jwks.optional(),
    scopes: scopes.optional(),
    devices: devices.optional(),
    enabled: z.boolean().optional(),
    roles: roles.optional(),
    name: name.optional(),
    pageUrl: pageUrl.optional(),
  })
  .refine(({ type, pageUrl }) => type === "user_interface" || pageUrl === undefined, {
    path: ["pageUrl"],
    message: "only a user-interface plugin has a page",
  });

export const pluginUpdateSchema: z.ZodType<PluginUpdate> = z.strictObject({
  ...identity,
  jwks: jwks.optional(),
  scopes: scopes.optional(),
  devices: devices.nullable().optional(),
  enabled: z.boolean().optional(),
  roles: roles.optional(),
  name: name.optional(),
  pageUrl: pageUrl.optional(),
});

export function parsePluginRegistration(input: unknown): PluginRegistration {
  return parseInput<PluginRegistration>(pluginSchema, input, "registration_invalid", "plugin registration");
}

export function parsePluginUpdate(input: unknown): PluginUpdate {
  return parseInput<PluginUpdate>(pluginUpdateSchema, input, "registration_invalid", "plugin update");
}

/** Whole registrations are identities too: what else they hold does not matter. */
export function parsePluginIdentity(input: unknown): PluginIdentity {
  return parseInput<PluginIdentity>(z.object(identity), input, "registration_invalid", "plugin");
}
