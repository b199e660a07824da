// Three routes that the description does not show, so that scopes, device restriction and opt-in can be tried.
import type { ApiRoute } from "./api-route.js";

/** Variant A only. A declared route of the same method and path, or the same operationId, takes the place of one. */
export const inventedRoutes: readonly ApiRoute[] = [
  {
    operationId: "inventedGetDevice",
    method: "GET",
    path: "/api/v1/{tenantId}/devices/{deviceId}",
    scope: "devices:read",
    deviceParameter: "deviceId",
    invented: true,
    respond({ parameters, devices }) {
      const device = devices.find(({ id }) => id === parameters.deviceId);
      return device ?? Response.json({ error: "not_found" }, { status: 404 });
    },
  },
  {
    operationId: "inventedExecuteSchedule",
    method: "POST",
    path: "/api/v1/{tenantId}/schedules/{scheduleId}/executions",
    scope: "schedules:execute",
    invented: true,
  },
  {
    operationId: "inventedReadTenantSettings",
    method: "GET",
    path: "/api/v1/{tenantId}/tenant-settings",
    takesPluginTokens: false,
    invented: true,
  },
];
