/**
 * A consumer with documents of its own: the generated module types `connect`, `createService` and `call`. The files in
 * ./generated exist only while types.test.ts compiles this one.
 */
import {
  connect,
  createAuth,
  createConnector,
  createService,
  type Service,
  servicePlugin,
} from "../../../src/index.js";
import { type Equal, proof } from "../proof.js";
import * as api from "./generated/operations.js";
import type { components as A } from "./generated/variant-a.js";
import type { components as B } from "./generated/variant-b.js";

type DeviceOfA = A["schemas"]["Device"];
type DeviceOfB = B["schemas"]["Device"];
type Own = Service<api.OperationTypes>;

const target = { baseUrl: "https://customer.example", tenantId: "acme" };
const plugin = servicePlugin({ clientId: "c", privateKey: "pem" });

/** `connect` and `createConnector` take the types from the generated module. */
export async function connects(): Promise<Own[]> {
  const service = await connect({ ...target, credentials: [plugin], api });
  const other = await createConnector({ credentials: [plugin], api }).connect(target);
  proof<Equal<typeof service, Own>>();
  proof<Equal<typeof other, Own>>();
  // @ts-expect-error not a generated module
  await connect({ ...target, credentials: [plugin], api: { operations: { A: {} } } });
  return [service, other];
}

/** A service has the operations of the consumer's documents, and none of the shipped ones. */
export async function operations(service: Own): Promise<void> {
  const outcome = await service.call("listDevices", { params: { query: { area: "north" } } });
  if (outcome.ok) {
    proof<Equal<typeof outcome.data, DeviceOfA[] | DeviceOfB[]>>();
    if (outcome.variant === "A") proof<Equal<typeof outcome.data, DeviceOfA[]>>();
  } else if (outcome.variant === "B") {
    // Variant B documents a body for every other response.
    proof<Equal<(typeof outcome.error)["body"], B["schemas"]["Refusal"]>>();
  }
  // @ts-expect-error an operation of the shipped documents
  await service.call("requestToken", { body: {} });
  // @ts-expect-error only Variant A has it
  await service.call("startSchedule", { params: { path: { scheduleId: "s" } } });
  // @ts-expect-error only Variant B has it
  await service.call("searchDevices");
}

/** A missing required parameter, a wrong type and an unknown name do not compile; tenantId may be left out. */
export async function parameters(service: Own): Promise<void> {
  await service.call("getDevice", { params: { path: { deviceId: "d" } } });
  // @ts-expect-error a required path parameter
  await service.call("getDevice");
  // @ts-expect-error a required path parameter
  await service.call("getDevice", { params: { path: {} } });
  // @ts-expect-error the wrong type
  await service.call("getDevice", { params: { path: { deviceId: 7 } } });
  // @ts-expect-error neither variant knows that parameter
  await service.call("listDevices", { params: { query: { colour: "red" } } });
}

/** Before narrowing a call needs what both variants need; after it only what its own variant needs. */
export async function bodies(service: Own): Promise<void> {
  const path = { scheduleId: "s" };
  const header = { "If-Match": "1" };
  const body = { name: "nightly" };
  await service.call("replaceSchedule", { params: { path, header, query: { validateOnly: false } }, body });
  // @ts-expect-error Variant B needs validateOnly
  await service.call("replaceSchedule", { params: { path, header }, body });
  // @ts-expect-error Variant A needs If-Match
  await service.call("replaceSchedule", { params: { path, query: { validateOnly: false } }, body });
  // @ts-expect-error both need a body
  await service.call("replaceSchedule", { params: { path, header, query: { validateOnly: false } } });
  const params = { path, header, query: { validateOnly: false } };
  // @ts-expect-error a body without its required field
  await service.call("replaceSchedule", { params, body: {} });

  if (service.variant === "A") {
    const outcome = await service.call("replaceSchedule", { params: { path, header }, body });
    if (outcome.status === 200) proof<Equal<typeof outcome.data, A["schemas"]["Schedule"]>>();
    if (outcome.status === 204) proof<Equal<typeof outcome.data, undefined>>();
    if (outcome.status === 409) proof<Equal<(typeof outcome.error)["body"], A["schemas"]["Problem"]>>();
    await service.paths.POST("/api/v1/{tenantId}/schedules/{scheduleId}/start", { params: { path } });
    // @ts-expect-error the path needs its parameter
    await service.paths.POST("/api/v1/{tenantId}/schedules/{scheduleId}/start");
  } else {
    await service.call("replaceSchedule", { params: { path, query: { validateOnly: true } }, body });
    await service.call("searchDevices", { body: { text: "pump" } });
    await service.call("searchDevices");
    // @ts-expect-error the form needs its field
    await service.paths.POST("/v1/devices/search", { body: {} });
  }
}

/** A service from an Auth keeps the variant of that Auth with these documents too. */
export async function withAuth(): Promise<void> {
  const service = createService(createAuth({ ...target, credential: plugin }), { api });
  proof<Equal<typeof service.variant, "A">>();
  await service.paths.GET("/api/v1/{tenantId}/devices/{deviceId}", { params: { path: { deviceId: "d" } } });
  await service.call("startSchedule", { params: { path: { scheduleId: "s" } } });
  // @ts-expect-error a path of Variant B
  await service.paths.GET("/v1/devices");
}
