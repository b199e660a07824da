// The devices of every tenant of the emulator, and the two routes that list them.
import type { ApiRoute } from "./api-route.js";

/** Invented: "JSON; body shape not shown" (description, section 4.3). The same three in every tenant. */
export const devices: readonly { readonly id: string; readonly name: string }[] = [
  { id: "device-1", name: "North gate" },
  { id: "device-2", name: "South gate" },
  { id: "device-3", name: "Loading bay" },
];

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
    respond: () => devices,
  }),
);
