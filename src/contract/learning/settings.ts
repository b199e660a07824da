// The settings of a deployment: what was learnt about it, under the names of the options that it
// sets.
import { z } from "zod";
import type { RuleId } from "../../emulator/rules.js";

/** A list of devices. Only the id is fixed. */
type DeviceList = readonly { readonly id: string; readonly [member: string]: unknown }[];

/**
 * One flat object for client and emulator, which JSON can hold: `connect` takes
 * `unauthorizedStatuses` from it, `apiClient` takes `refreshPath`, and `createEmulator`, whose
 * options explain every name, takes all. Each ignores the others' names.
 *
 * @example
 * import { createEmulator } from "bivariant/emulator";
 *
 * const settings: DeploymentSettings = {
 *   variants: ["A"],
 *   bearerStatus: 403,
 *   unauthorizedStatuses: [403],
 * };
 * const emulator = createEmulator(settings);
 * const service = await connect({ ...settings, baseUrl, tenantId, credentials });
 */
export interface DeploymentSettings {
  readonly bearerBody?: unknown;
  readonly bearerStatus?: number | undefined;
  readonly unauthorizedStatuses?: readonly number[] | undefined;
  readonly clientErrorBody?: Readonly<Record<string, unknown>> | null | undefined;
  readonly clientErrorStatus?: number | null | undefined;
  readonly codeLifetimeSeconds?: number | undefined;
  readonly devices?: DeviceList | { readonly [tenantId: string]: DeviceList } | undefined;
  readonly envelope?: Readonly<Record<string, string>> | undefined;
  readonly fixedTextFullStop?: boolean | undefined;
  readonly issuerInCallback?: boolean | undefined;
  readonly launchState?: "opaque_code" | "launch-parameter" | undefined;
  readonly malformedError?: "invalid_grant" | "invalid_request" | undefined;
  readonly missingCapabilityBody?: unknown;
  readonly narrowingDelayMs?: number | undefined;
  readonly pluginTokenRefusedStatus?: number | undefined;
  readonly rateLimit?:
    | false
    | {
        readonly requests: number;
        readonly windowSeconds: number;
        readonly retryAfter?: "seconds" | "date" | false | undefined;
      }
    | undefined;
  readonly rateLimitedAttemptSpendsCode?: boolean | undefined;
  readonly refreshPath?: string | undefined;
  readonly refreshTokens?:
    | {
        readonly rotation?: boolean | undefined;
        readonly reuseDetection?: boolean | undefined;
        readonly lifetimeSeconds?: number | undefined;
        readonly idleSeconds?: number | undefined;
      }
    | undefined;
  readonly refusedPluginError?: "invalid_grant" | "invalid_client" | undefined;
  readonly requireKid?: boolean | undefined;
  readonly revoShape?: "nested" | "flat" | undefined;
  /** False for a rule that the deployment does not enforce. */
  readonly rules?: Readonly<Partial<Record<RuleId, boolean>>> | undefined;
  readonly successStatus?: number | undefined;
  readonly tokenLifetimeSeconds?: number | undefined;
  readonly tokenResponseExtras?: Readonly<Record<string, unknown>> | undefined;
  readonly unauthenticatedAttemptSpendsCode?: boolean | undefined;
  readonly userIdType?: "string" | "number" | undefined;
  readonly variants?: readonly ("A" | "B")[] | undefined;
}

const flag = z.boolean();
const amount = z.number().nonnegative();
const count = amount.int();
const status = count.min(200).max(599);
const object = z.record(z.string(), z.json());
const devices = z.array(z.object({ id: z.string() }).catchall(z.json()));
const retryAfter = z.literal(["seconds", "date", false]).optional();
const rateLimit = z.strictObject({ requests: count, windowSeconds: amount, retryAfter });
const refreshTokens = {
  rotation: flag,
  reuseDetection: flag,
  lifetimeSeconds: count,
  idleSeconds: count,
};

const schema = z.strictObject({
  bearerBody: z.json(),
  bearerStatus: status,
  unauthorizedStatuses: z.array(count.min(400).max(599)),
  clientErrorBody: object.nullable(),
  clientErrorStatus: status.nullable(),
  codeLifetimeSeconds: count,
  devices: z.union(
    [devices, z.record(z.string(), devices)],
    "must be a list of objects with an id, or such a list by tenant",
  ),
  envelope: z.record(z.string(), z.string()),
  fixedTextFullStop: flag,
  issuerInCallback: flag,
  launchState: z.enum(["opaque_code", "launch-parameter"]),
  malformedError: z.enum(["invalid_grant", "invalid_request"]),
  missingCapabilityBody: z.json(),
  narrowingDelayMs: amount,
  pluginTokenRefusedStatus: status,
  rateLimit: z.union(
    [z.literal(false), rateLimit],
    "must be false or { requests, windowSeconds, retryAfter? }",
  ),
  rateLimitedAttemptSpendsCode: flag,
  refreshPath: z
    .string()
    .startsWith("/", "must be a path under the base URL, such as /v1/auth/refresh"),
  refreshTokens: z.strictObject(refreshTokens).partial(),
  refusedPluginError: z.enum(["invalid_grant", "invalid_client"]),
  requireKid: flag,
  revoShape: z.enum(["nested", "flat"]),
  rules: z.record(z.string(), flag),
  successStatus: status,
  tokenLifetimeSeconds: count,
  tokenResponseExtras: object,
  unauthenticatedAttemptSpendsCode: flag,
  userIdType: z.enum(["string", "number"]),
  variants: z.array(z.enum(["A", "B"])),
});

/**
 * Checks names and types, so that a misspelt name in a file is found. The options check their
 * values further.
 */
export const deploymentSettings: z.ZodType<DeploymentSettings> = schema.partial();
