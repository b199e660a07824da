/** Promises of the generated types that only the compiler checks; it reads this file with all others. */
import type {
  CallOptions,
  OperationEntry,
  OperationsA,
  OperationsB,
  OperationsBoth,
  OperationTable,
  PathsA,
  PathsB,
} from "../../generated/operations.js";
import type { components as A } from "../../generated/variant-a.js";
import type { components as B } from "../../generated/variant-b.js";

type Equal<X, Y> = (<T>() => T extends X ? 1 : 2) extends <T>() => T extends Y ? 1 : 2 ? true : false;
const proof = <_Claim extends true>(): void => {};

// The device body is not shown: unknown, and never any.
proof<Equal<OperationsA["listDevices"]["success"][200], unknown>>();
proof<Equal<OperationsB["listDevices"]["success"][200], unknown>>();
proof<Equal<OperationsB["listDevices"]["otherBody"], unknown>>();

// An empty 403 has no body.
proof<Equal<OperationsA["listDevices"]["failure"], { 403: undefined }>>();

// Only documented statuses are keys; every other registered status is in `other`.
proof<Equal<keyof OperationsA["requestToken"]["failure"], 400 | 429>>();
proof<Equal<Extract<OperationsA["requestToken"]["other"], 200 | 400 | 429>, never>>();
proof<Equal<Extract<OperationsA["requestToken"]["other"], 201 | 401 | 511>, 201 | 401 | 511>>();
proof<Equal<keyof OperationsB["listDevices"]["failure"], never>>();

proof<Equal<OperationsA["requestToken"]["success"][200], A["schemas"]["TokenResponse"]>>();
proof<Equal<OperationsB["requestToken"]["success"][200], B["schemas"]["TokenResponse"]>>();
proof<Equal<OperationsA["requestToken"]["failure"][400], A["schemas"]["TokenError"]>>();

// The same operation in both documents has one name; each variant has its own path.
proof<Equal<keyof OperationsBoth, "listDevices" | "requestToken">>();
proof<Equal<PathsA["GET"], { "/api/v1/{tenantId}/devices": "listDevices" }>>();
proof<Equal<PathsB["GET"], { "/v1/devices": "listDevices" }>>();
proof<Equal<keyof PathsA["TRACE"], never>>();

// tenantId is optional; so is everything around it.
const noOptions: OperationsA["listDevices"]["args"] = [];
const tenant: OperationsA["listDevices"]["args"] = [
  { params: { path: { tenantId: "acme" } }, envelope: "x" },
];
const both: OperationsBoth["listDevices"]["args"] = [{ headers: { accept: "application/json" } }];
// @ts-expect-error X-Envelope travels as `envelope`
const header: OperationsA["listDevices"]["args"] = [{ params: { header: { "X-Envelope": "x" } } }];
// @ts-expect-error a body is required
const noBody: OperationsA["requestToken"]["args"] = [{}];
// @ts-expect-error init is required where a body is
const noInit: OperationsB["requestToken"]["args"] = [];
const code: OperationsB["requestToken"]["args"] = [
  { body: { code: "c", code_verifier: "v", client_id: "i", redirect_uri: "r" } },
];
const wrongGrant: OperationsA["requestToken"]["args"] = [
  {
    body: {
      // @ts-expect-error refused by the description, section 4.1
      grant_type: "refresh_token",
      client_id: "i",
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: "a.b.c",
    },
  },
];

// A table of any documents is a table of entries.
const entries = (table: OperationTable): Readonly<Record<string, OperationEntry>> => table.A;
const options: CallOptions = { signal: AbortSignal.abort() };

void [noOptions, tenant, both, header, noBody, noInit, code, wrongGrant, entries, options];
