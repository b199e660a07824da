// The devices of the emulator's tenants, and the two routes that list them.
import { z } from "zod";
import { isJson } from "../is-json.js";
import { tenantIdSchema } from "../registrations/tenant-id.js";
import type { ApiRoute } from "./api-route.js";

/** "JSON; body shape not shown" (description, section 4.3): all but the id is as it is given. */
export interface Device {
  readonly id: string;
  readonly [member: string]: unknown;
}

/** The same in every tenant, or by tenant; a tenant that is not named has none. */
export type Devices = readonly Device[] | { readonly [tenantId: string]: readonly Device[] };

const device = z.looseObject({ id: z.string().min(1) }).refine((value) => isJson(value), "must be JSON");
export const devicesSchema: z.ZodType<Devices> = z.union(
  [z.array(device), z.record(tenantIdSchema, z.array(device))],
  "must be a list of objects with an id, or such a list by tenant",
);

/** Invented. */
export const defaultDevices: readonly Device[] = [
  { id: "device-1", name: "North gate" },
  { id: "device-2", name: "South gate" },
  { id: "device-3", name: "Loading bay" },
];

export function devicesOf(devices: Devices, tenantId: string): readonly Device[] {
  if (isForAll(devices)) return devices;
  return Object.hasOwn(devices, tenantId) ? (devices[tenantId] ?? []) : [];
}

function isForAll(devices: Devices): devices is readonly Device[] {
  return Array.isArray(devices);
}

/**
 * The two calls of section 4.3. The scope is a choice of the emulator's, as is that the list is not filtered by a
 * device restriction: the request names no device.
 */
export const deviceListRoutes: readonly ApiRoute[] = ["/api/v1/{tenantId}/devices", "/v1/devices"].map(
  (path) => ({
    operationId: "listDevices",
    method: "GET",
    path,
    scope: "devices:read",
    respond: ({ devices }) => devices,
  }),
);
