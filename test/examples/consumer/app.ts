// The app: it starts schedules on the devices that are online, on either variant. Every answer is
// validated.
import { type ConnectOptions, connect, type Service } from "../../../src/index.js"; // yours: "bivariant"
import { validator } from "../../../src/validate.js"; // "bivariant/validate"
import * as api from "./generated/operations.js";
import * as schemas from "./generated/schemas.js";

export type OwnService = Service<api.OperationTypes>;

export function openService(
  options: Omit<ConnectOptions, "api" | "validate">,
): Promise<OwnService> {
  return connect({ ...options, api, validate: validator("strict", schemas) });
}

/**
 * Returns the id of the execution. The call is the same for both variants, because both have these
 * operations.
 */
export async function startOnOnlineDevices(
  service: OwnService,
  scheduleId: string,
): Promise<string> {
  const devices = await service.call("listDevices");
  if (!devices.ok) throw devices.error;
  const deviceIds = devices.data.filter(({ online }) => online).map(({ id }) => id);
  const params = { path: { scheduleId } };
  const started = await service.call("startSchedule", { params, body: { deviceIds } });
  if (!started.ok) throw started.error;
  return started.data.executionId;
}

/** Only Variant B has this operation, so the compiler demands the comparison. */
export async function timeZoneOf(service: OwnService): Promise<string | undefined> {
  if (service.variant !== "B") return undefined;
  const settings = await service.call("getTenantSettings");
  if (!settings.ok) throw settings.error;
  return settings.data.timeZone;
}
