/**
 * A consumer with documents of its own: the generated module types `connect`, `createService` and
 * `call`. The files in ./generated exist only while types.long.test.ts compiles this one.
 */
import { createEmulator, type EmulatorOptions } from "../../../src/emulator/index.js";
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

/**
 * A missing required parameter, a wrong type and an unknown name do not compile; tenantId may be
 * left out.
 */
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

/**
 * Before narrowing a call needs what both variants need; after it only what its own variant needs.
 */
export async function bodies(service: Own): Promise<void> {
  const path = { scheduleId: "s" };
  const header = { "If-Match": "1" };
  const body = { name: "nightly" };
  const query = { validateOnly: false };
  await service.call("replaceSchedule", { params: { path, header, query }, body });
  // @ts-expect-error Variant B needs validateOnly
  await service.call("replaceSchedule", { params: { path, header }, body });
  // @ts-expect-error Variant A needs If-Match
  await service.call("replaceSchedule", { params: { path, query }, body });
  // @ts-expect-error both need a body
  await service.call("replaceSchedule", { params: { path, header, query } });
  // @ts-expect-error a body without its required field
  await service.call("replaceSchedule", { params: { path, header, query }, body: {} });

  if (service.variant === "A") {
    const outcome = await service.call("replaceSchedule", { params: { path, header }, body });
    if (outcome.status === 200) proof<Equal<typeof outcome.data, A["schemas"]["Schedule"]>>();
    if (outcome.status === 204) proof<Equal<typeof outcome.data, undefined>>();
    if (outcome.status === 409)
      proof<Equal<(typeof outcome.error)["body"], A["schemas"]["Problem"]>>();
    // @ts-expect-error the path needs its parameter
    await service.paths.POST("/api/v1/{tenantId}/schedules/{scheduleId}/start");
  } else {
    await service.call("replaceSchedule", {
      params: { path, query: { validateOnly: true } },
      body,
    });
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
  const path = { deviceId: "d", scheduleId: "s" };
  await service.paths.GET("/api/v1/{tenantId}/devices/{deviceId}", { params: { path } });
  await service.call("startSchedule", { params: { path } });
  // @ts-expect-error a path of Variant B
  await service.paths.GET("/v1/devices");
}

/** A body has the type of its media type, which a header, a FormData or a Blob chooses. */
export async function bodiesByMediaType(service: Own, file: Blob): Promise<void> {
  if (service.variant !== "A") return;
  const params = { cookie: { session: "s" }, query: { filter: { area: "north" } } };
  await service.call("sendReport", { params, body: { name: "Night" } });
  const csv = { params, body: "a,b" };
  await service.call("sendReport", { ...csv, headers: { "content-type": "text/csv" } });
  const image = { params, body: file };
  await service.call("sendReport", { ...image, headers: { "Content-Type": "image/png" } });
  await service.call("sendReport", { params, body: file });
  await service.call("sendReport", { params, body: new FormData() });
  const form = { headers: { "content-type": "multipart/form-data" } } as const;
  await service.call("sendReport", {
    ...form,
    params,
    body: { file, pages: [file, new Uint8Array(1)], schedule: { name: "Night" } },
  });
  // @ts-expect-error the file is missing
  await service.call("sendReport", { ...form, params, body: { schedule: { name: "Night" } } });
  // @ts-expect-error a file is no text
  await service.call("sendReport", { ...form, params, body: { file: "text" } });
  // @ts-expect-error text needs the header
  await service.call("sendReport", csv);
  // @ts-expect-error the document has no such media type
  await service.call("sendReport", { ...csv, headers: { "content-type": "text/html" } });
  // @ts-expect-error a cookie that the document requires
  await service.call("sendReport", { body: { name: "Night" } });
  const text = { ...params, query: { filter: "north" } };
  // @ts-expect-error the parameter is JSON of an object
  await service.call("sendReport", { params: text, body: { name: "Night" } });
  for (const body of [file, new Uint8Array(1), new ArrayBuffer(1), file.stream()])
    await service.call("upload", { body });
  // @ts-expect-error an object is not bytes
  await service.call("upload", { body: {} });
}

/** An answer has the type of its media type; `parseAs` changes that of a success. */
export async function answersByMediaType(service: Own): Promise<void> {
  if (service.variant !== "A") return;
  const init = { params: { cookie: { session: "s" } }, body: { name: "Night" } };
  const report = await service.call("sendReport", init);
  if (report.status === 200) {
    proof<Equal<typeof report.data, A["schemas"]["Schedule"] | string | Blob>>();
    const { headers } = report.response;
    const values = [headers.get("X-Total"), headers.get("Link"), headers.get("etag")] as const;
    proof<Equal<typeof values, readonly [string, string | null, string | null]>>();
  }
  if (report.status === 406) proof<Equal<(typeof report.error)["body"], string>>();
  const watched = await service.call("watch");
  if (watched.status === 200) {
    const { data } = watched;
    proof<Equal<typeof data, AsyncIterable<api.ServerSentEvent> | AsyncIterable<DeviceOfA>>>();
  }
  if (watched.status === 204) proof<Equal<typeof watched.data, undefined>>();
  const pinged = await service.call("ping");
  if (pinged.ok) proof<Equal<typeof pinged.data, unknown>>();
  if (pinged.status === 203) proof<Equal<typeof pinged.ok, true>>();
  const text = await service.call("sendReport", { ...init, parseAs: "text" });
  if (text.ok) proof<Equal<typeof text.data, string>>();
  else if (text.status === 406) proof<Equal<(typeof text.error)["body"], string>>();
  const path = "/api/v1/{tenantId}/events";
  const { data: stream } = await service.paths.GET(path, { parseAs: "stream", maxRetries: 0 });
  proof<Equal<typeof stream, ReadableStream<Uint8Array> | undefined>>();
  const either = await service.paths.GET(path, { parseAs: "blob" as "blob" | "arrayBuffer" });
  proof<Equal<typeof either.data, Blob | ArrayBuffer | undefined>>();
  const json = await service.paths.GET("/api/v1/{tenantId}/devices", { parseAs: "json" });
  if (json.ok) proof<Equal<typeof json.data, DeviceOfA[]>>();
  // @ts-expect-error not a way to read an answer
  await service.call("watch", { parseAs: "xml" });
  // @ts-expect-error an unknown option beside it
  await service.call("watch", { parseAs: "text", timeout: 5 });
}

/** The serializers are those of openapi-fetch. */
export async function serializers(service: Own): Promise<void> {
  const query = { area: "north" };
  const querySerializer = (all: { area?: string }) => `area=${all.area}`;
  await service.call("listDevices", { params: { query }, querySerializer });
  const array = { style: "form", explode: false } as const;
  await service.call("listDevices", { querySerializer: { array } });
  if (service.variant !== "A") return;
  const bodySerializer = (body: ArrayBuffer) => body;
  await service.call("upload", { body: new ArrayBuffer(1), bodySerializer });
  // @ts-expect-error it must return the query
  await service.call("listDevices", { querySerializer: () => 5 });
}

/**
 * The answers of an emulator receive what the documents say, and return the body of a documented
 * success.
 */
export function answers(): void {
  createEmulator({
    api,
    respond: {
      getDevice(call) {
        proof<Equal<typeof call.params.path.deviceId, string>>();
        if (call.variant === "A") proof<Equal<typeof call.body, unknown>>();
        return { id: call.params.path.deviceId, name: "Door" };
      },
      async replaceSchedule(call) {
        proof<Equal<typeof call.body, A["schemas"]["Schedule"] | B["schemas"]["Schedule"]>>();
        if (call.variant === "A")
          proof<Equal<typeof call.params.header, Readonly<{ "If-Match": string }>>>();
        return call.variant === "B" && call.params.query.validateOnly ? call.body : undefined;
      },
      searchDevices: ({ body }) => (body === undefined ? [] : [{ id: body.text, title: "Found" }]),
      sendReport({ body }) {
        if (body instanceof Blob || typeof body === "string")
          return new Response(null, { status: 406 });
        if (!("file" in body)) return { name: body.name };
        proof<Equal<typeof body.file, File>>();
        proof<Equal<typeof body.pages, File[] | undefined>>();
        return body.pages?.[0]?.name ?? `${body.file.size}`;
      },
      upload({ body }) {
        proof<Equal<typeof body, Blob>>();
        return undefined;
      },
      watch: () =>
        new Response("data: 1\n\n", { headers: { "content-type": "text/event-stream" } }),
      ping: () => ({ any: "success" }),
    },
  });
  // Literals of an answer without a parameter are not widened.
  createEmulator({ api, respond: { listExports: () => [{ state: "done", tries: 1 }] } });
  createEmulator({ api, respond: { listExports: async () => [{ state: "done", tries: 1 }] } });
  // @ts-expect-error no export has this state
  createEmulator({ api, respond: { listExports: () => [{ state: "gone", tries: 1 }] } });
  // @ts-expect-error no operation of the documents has this id
  createEmulator({ api, respond: { getDevices: () => [] } });
  // @ts-expect-error the document requires a name
  createEmulator({ api, respond: { getDevice: () => ({ id: "d" }) } });
  // @ts-expect-error the document has a body for its only success
  createEmulator({ api, respond: { listDevices: () => undefined } });
  // Options that are put together before the documents are known are not typed by them.
  const options: EmulatorOptions = {
    api,
    respond: { getDevice: ({ params }) => params.path.deviceId },
  };
  createEmulator(options);
}
