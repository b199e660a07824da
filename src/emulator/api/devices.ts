// The devices of each tenant, which the described device lists answer.
import { z } from "zod";
import { isJson } from "../errors.js";
import { ownMember } from "../http/messages.js";
import { tenantIdSchema } from "../registrations/fields.js";

/**
 * "JSON; body shape not shown" (description, section 4.3): members besides the id are answered as
 * given.
 */
export interface Device {
  readonly id: string;
  readonly [member: string]: unknown;
}

/** One list for every tenant, or one list for each; a tenant that is not named has no devices. */
export type Devices = readonly Device[] | { readonly [tenantId: string]: readonly Device[] };

// An instance of a class becomes a plain object before it is checked.
const device = z
  .looseObject({ id: z.string().min(1) })
  .refine(isJson, "must be JSON")
  .transform((value) => structuredClone(value));
export const devicesSchema: z.ZodType<Devices> = z.union(
  [z.array(device), z.record(tenantIdSchema, z.array(device))],
  "must be a list of objects with an id, or such a list by tenant",
);

export const defaultDevices: readonly Device[] = [
  { id: "device-1", name: "North gate" },
  { id: "device-2", name: "South gate" },
  { id: "device-3", name: "Loading bay" },
];

export function devicesOf(devices: Devices | undefined, tenantId: string): readonly Device[] {
  if (devices === undefined || Array.isArray(devices)) return devices ?? defaultDevices;
  return ownMember(devices as Readonly<Record<string, readonly Device[]>>, tenantId) ?? [];
}
