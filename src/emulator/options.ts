// The options of createEmulator: how they are checked, their defaults, and the choice that each of
// them makes.
import { z } from "zod";
import { type Devices, defaultDevices, devicesSchema } from "./api/devices.js";
import { apiSchema, type EmulatedApi } from "./api/documented.js";
import { type ApiTypes, type Responses, responsesSchema } from "./api/responses.js";
import { type ApiRoute, apiRouteSchema } from "./api/route.js";
import { EmulatorError, jsonSchema, parseInput } from "./errors.js";
import { canHaveContent } from "./faults/faults.js";
import { TOKEN_PATH_B } from "./http/paths.js";
import type { RuleSettings } from "./rules/checks.js";
import { type EmulatorSeed, parseSeed } from "./seed/seed.js";

/**
 * The per-tenant limit of Variant A's token endpoint; the description shows no numbers (section 8).
 */
export interface RateLimit {
  readonly requests: number;
  readonly windowSeconds: number;
  /** How the 429 carries `Retry-After`; with false it has none. Default: "seconds". */
  readonly retryAfter?: "seconds" | "date" | false | undefined;
}

/** How Variant B's refresh tokens behave; the description shows none of it. */
export interface RefreshTokenOptions {
  /** Each refresh answers a new refresh token, and the old one is spent. Default: true. */
  readonly rotation?: boolean | undefined;
  /**
   * The reuse of a spent one revokes the newer ones and all access tokens of that login. Default:
   * true.
   */
  readonly reuseDetection?: boolean | undefined;
  /** The time from the login on, however often it is refreshed. Default: 90 days. */
  readonly lifetimeSeconds?: number | undefined;
  /** The time from the last use on. Default: 30 days. */
  readonly idleSeconds?: number | undefined;
}

/**
 * The options of {@link createEmulator}. `emulatorOptions` lists those that answer an open fact of
 * the description.
 */
export interface EmulatorOptions<T extends ApiTypes = ApiTypes> {
  /** The variants to serve; with an empty list every request is answered 404. Default: both. */
  readonly variants?: readonly ("A" | "B")[] | undefined;
  /** The only clock; it returns epoch milliseconds. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
  /**
   * The base URL of the deployment: `aud` must be its token URL, whatever Host header a request
   * carries. A path in it prefixes every route. Default: the URL from `listen`, and before it
   * `http://emulator.localhost`.
   */
  readonly publicUrl?: string | undefined;
  /** Default: false. */
  readonly rateLimit?: RateLimit | false | undefined;
  /** Routes besides the described ones; each may replace an invented one. */
  readonly routes?: readonly ApiRoute[] | undefined;
  /**
   * The module operations.ts of `bivariant generate`, as `connect({ api })` takes it: its
   * operations are served. Each answers the example of its document, else a value that its schema
   * allows. Default: no operations.
   */
  readonly api?: EmulatedApi<T> | undefined;
  /**
   * Answers of your own for operations of `api`, by operationId. Each receives the call as it was
   * read by the document, in the types of the document, and returns the body of a documented
   * success or a `Response`: `{ createThing: ({ body }) => ({ id: "1", ...body }) }`.
   */
  readonly respond?: Responses<T> | undefined;
  /**
   * How long a replaced grant stays in force for tokens already minted, in milliseconds. Default:
   * 0.
   */
  readonly narrowingDelayMs?: number | undefined;
  /** `expires_in` of Variant A and the lifetime of both variants' tokens. Default: 3600. */
  readonly tokenLifetimeSeconds?: number | undefined;
  /**
   * How long a code of either variant can be exchanged. Default: 120, "two minutes" (description,
   * section 3).
   */
  readonly codeLifetimeSeconds?: number | undefined;
  readonly refreshTokens?: RefreshTokenOptions | undefined;
  /**
   * The path of Variant B's refresh, which is not shown, such as `/v1/auth/refresh`. Default: the
   * token path.
   */
  readonly refreshPath?: string | undefined;
  /**
   * The source of `state` in Variant A's `host:auth-code`, which is not shown: the `state` of the
   * launch URL, or the opaque_code. Default: "launch-parameter".
   */
  readonly launchState?: "opaque_code" | "launch-parameter" | undefined;
  /** Whether Variant B's callback carries `iss`, the public URL (RFC 9207). Default: false. */
  readonly issuerInCallback?: boolean | undefined;
  /**
   * Whether an exchange attempt whose assertion is refused spends the code: "whether that attempt
   * succeeds or fails" (description, section 3). Default: true.
   */
  readonly unauthenticatedAttemptSpendsCode?: boolean | undefined;
  /**
   * Whether an exchange attempt that is answered 429 spends the code too, which is not shown.
   * Default: false.
   */
  readonly rateLimitedAttemptSpendsCode?: boolean | undefined;
  /**
   * Whether an assertion without `kid` is refused; if not, it counts as a wrong kid (section 2.2).
   * Default: true.
   */
  readonly requireKid?: boolean | undefined;
  /**
   * The error for a plugin that is not registered or disabled. "invalid_grant" is in the table
   * (section 7.1); only with "invalid_client" is the sentence above that table true. Default:
   * "invalid_grant".
   */
  readonly refusedPluginError?: "invalid_grant" | "invalid_client" | undefined;
  /**
   * The error for a token request of Variant A that cannot be read or lacks a field. By the table
   * of section 7.1 it is "invalid_grant" ("Anything else refused"), by RFC 6749 section 5.2
   * "invalid_request". Default: "invalid_grant".
   */
  readonly malformedError?: "invalid_grant" | "invalid_request" | undefined;
  /** Whether Variant A's fixed error text ends with a full stop (section 7.1). Default: true. */
  readonly fixedTextFullStop?: boolean | undefined;
  /**
   * `revo` as an object, or the literal keys `revo.tenant`, `revo.user`, `revo.roles` (section
   * 2.3). Default: "nested".
   */
  readonly revoShape?: "nested" | "flat" | undefined;
  /**
   * Fields of Variant B's token response besides the two that are shown (section 4.2). Default:
   * none.
   */
  readonly tokenResponseExtras?: Readonly<Record<string, unknown>> | undefined;
  /** The status of a success of both token endpoints: 200 to 299, not 204 or 205. Default: 200. */
  readonly successStatus?: number | undefined;
  /**
   * The JSON type of `userId` in `revo.user` (section 2.3): with "number" a user id that is a whole
   * number is sent as one, any other as a string. Default: "string".
   */
  readonly userIdType?: "string" | "number" | undefined;
  /**
   * The body of each error of Variant B's token endpoint. Default, or null: as in RFC 6749 section
   * 5.2.
   */
  readonly clientErrorBody?: Readonly<Record<string, unknown>> | null | undefined;
  /**
   * The one status of all those errors. Default, or null: that of the broken rule, 400, 401, 413 or
   * 415.
   */
  readonly clientErrorStatus?: number | null | undefined;
  /**
   * The status for a bearer that is missing, expired, of another tenant or of a disabled plugin,
   * which is not shown. Default: 401.
   */
  readonly bearerStatus?: number | undefined;
  /**
   * The JSON body of an answer that refuses a bearer, also with `pluginTokenRefusedStatus`.
   * Default, or null: none at 401, otherwise `{ error: "invalid_token" }`, because an empty 403 has
   * other causes (section 7.2).
   */
  readonly bearerBody?: unknown;
  /** Ignored: the option of `connect`, so that one settings file serves both. */
  readonly unauthorizedStatuses?: readonly number[] | undefined;
  /**
   * The status for a plugin token on a route that accepts none (section 7.2). Default:
   * `bearerStatus`.
   */
  readonly pluginTokenRefusedStatus?: number | undefined;
  /**
   * The JSON body of the 403 for a person without the capability, which is not among the "exactly
   * three causes" of an empty one (section 7.2). Default, or null: none.
   */
  readonly missingCapabilityBody?: unknown;
  /**
   * For each value of `X-Envelope` the member that then holds the raw body, such as
   * `{ data: "data" }`. The description shows neither (section 4.3). By default the header changes
   * nothing.
   */
  readonly envelope?: Readonly<Record<string, string>> | undefined;
  /**
   * The device list: one for every tenant, or `{ acme: [{ id: "door" }], umbrella: [] }`, where a
   * tenant that is not named has none. Only `id` is fixed. Default: what the documents of `api`
   * show, else three invented ones, the same in every tenant.
   */
  readonly devices?: Devices | undefined;
  /** Rules to switch off: `{ "assertion.replay": false }`. Default: every rule is enforced. */
  readonly rules?: RuleSettings | undefined;
  /**
   * Who may use the page at `/_emulator`: callers on this machine, under a loopback name and
   * without a proxy; callers from everywhere, under an IP address or the name in `publicUrl`; or,
   * with false, nobody. If you mount `fetch` into your own server, set it to false: the caller's
   * address is unknown there. Default: "loopback".
   */
  readonly admin?: "loopback" | "everywhere" | false | undefined;
  /** The state that it starts with and that `reset` restores. Default: nothing. */
  readonly seed?: EmulatorSeed | undefined;
  /**
   * With it, ids, codes and tokens are the same in every run that asks for them in the same order.
   * They can be guessed, so it is for tests only. By default they are random.
   */
  readonly randomSeed?: number | undefined;
}

/**
 * The URL until the emulator listens. Names under localhost never leave the machine (RFC 6761
 * section 6.3).
 */
export const DEFAULT_PUBLIC_URL = "http://emulator.localhost";

const seconds = z.int().min(1);
const publicUrl = z
  .string()
  .refine(isBaseUrl, "must be http or https, without credentials, query or fragment");
const status = z.int().min(400).max(499);
const successStatus = z.int().min(200).max(299).refine(canHaveContent, "must allow a body");
const rateLimit = z.strictObject({
  requests: z.int().min(1),
  windowSeconds: z.number().positive(),
  retryAfter: z.literal(["seconds", "date", false]).default("seconds"),
});
const refreshTokens = z.strictObject({
  rotation: z.boolean().default(true),
  reuseDetection: z.boolean().default(true),
  lifetimeSeconds: seconds.default(7_776_000),
  /** RFC 9700 section 4.14.2: refresh tokens "SHOULD expire if not used for some time". */
  idleSeconds: seconds.default(2_592_000),
});
const OTHER_PATHS = /^\/(_emulator|host|api)(\/|$)|^\/v1\/auth\/(authorize|login|consent)$/;
const refreshPath = z
  .string()
  .regex(/^(\/[A-Za-z0-9._~-]+)+$/, "must be a path of literal segments under the base URL")
  .refine(
    (path) => !OTHER_PATHS.test(path),
    "must not be a path of the emulator's pages or of Variant A",
  );
/**
 * "a JSON object with access_token (string) ... refresh_token (string)" (section 4.2): extras do
 * not change these.
 */
const tokenResponseExtras = z
  .record(z.string(), jsonSchema)
  .refine(
    (extras) => !("access_token" in extras || "refresh_token" in extras),
    "must not name a token",
  );

/**
 * Every option, how it is checked, and its default. `options` describes what each of them decides.
 */
const schema = z.strictObject({
  variants: z.array(z.enum(["A", "B"])).default(["A", "B"]),
  now: z
    .custom<() => number>((value) => typeof value === "function", "must be a function")
    .optional(),
  publicUrl: publicUrl.optional(),
  rateLimit: z.union([z.literal(false), rateLimit]).default(false),
  routes: z.array(apiRouteSchema).default([]),
  api: apiSchema.default({ operations: { A: {}, B: {} } }),
  respond: responsesSchema.default({}),
  narrowingDelayMs: z.number().min(0).default(0),
  tokenLifetimeSeconds: seconds.default(3600),
  codeLifetimeSeconds: seconds.default(120),
  refreshTokens: refreshTokens.prefault({}),
  refreshPath: refreshPath.default(TOKEN_PATH_B),
  launchState: z.enum(["opaque_code", "launch-parameter"]).default("launch-parameter"),
  issuerInCallback: z.boolean().default(false),
  unauthenticatedAttemptSpendsCode: z.boolean().default(true),
  rateLimitedAttemptSpendsCode: z.boolean().default(false),
  requireKid: z.boolean().default(true),
  refusedPluginError: z.enum(["invalid_grant", "invalid_client"]).default("invalid_grant"),
  malformedError: z.enum(["invalid_grant", "invalid_request"]).default("invalid_grant"),
  fixedTextFullStop: z.boolean().default(true),
  revoShape: z.enum(["nested", "flat"]).default("nested"),
  tokenResponseExtras: tokenResponseExtras.default({}),
  successStatus: successStatus.default(200),
  userIdType: z.enum(["string", "number"]).default("string"),
  clientErrorBody: z.record(z.string(), jsonSchema).nullable().default(null),
  clientErrorStatus: status.nullable().default(null),
  bearerStatus: status.default(401),
  bearerBody: jsonSchema.default(null),
  unauthorizedStatuses: z.array(z.int().min(400).max(599)).optional(),
  pluginTokenRefusedStatus: status.optional(),
  missingCapabilityBody: jsonSchema.default(null),
  envelope: z.record(z.string().min(1), z.string().min(1)).default({}),
  devices: devicesSchema.optional(),
  rules: z.record(z.string(), z.boolean()).default({}) as z.ZodType<RuleSettings>,
  admin: z.literal(["loopback", "everywhere", false]).default("loopback"),
  seed: z.custom<EmulatorSeed>((value) => typeof value === "object" && value !== null).default({}),
  randomSeed: z.int().optional(),
});

/** The options that have no default. */
type Optional =
  | "now"
  | "publicUrl"
  | "unauthorizedStatuses"
  | "pluginTokenRefusedStatus"
  | "devices"
  | "randomSeed";

export type Settings = EmulatorOptions &
  Given<Omit<EmulatorOptions, Optional>> & { readonly refreshTokens: Given<RefreshTokenOptions> };
type Given<Options> = { readonly [Name in keyof Options]-?: Exclude<Options[Name], undefined> };

/** Gives options that are undefined their defaults. @throws EmulatorError `option_invalid` */
export function withDefaults(options: EmulatorOptions): Settings {
  return parseInput<Settings>(schema, options, "createEmulator");
}

/**
 * Returns the options that are given; undefined stands for the default.
 * @throws EmulatorError `option_invalid`, `seed_invalid`
 */
export function parseEmulatorOptions(input: unknown): EmulatorOptions {
  const settings = withDefaults(input as EmulatorOptions);
  const parsed = { ...settings, seed: parseSeed(settings.seed) };
  return Object.fromEntries(Object.entries(parsed).filter(([name]) => name in (input as object)));
}

/** Clients already use its address, its clock and the keys it made, so these cannot change. */
const LASTING = ["publicUrl", "now", "randomSeed"];

/** Checks the options of a reset. @throws EmulatorError `option_invalid`, `seed_invalid` */
export function parseChanges(input: unknown): EmulatorOptions {
  const changes = parseEmulatorOptions(input);
  const lasting = LASTING.filter((name) => name in (input as object));
  const issues = lasting.map((name) => `${name}: cannot change by a reset`);
  if (issues.length === 0) return changes;
  throw new EmulatorError("option_invalid", `reset: ${issues.join("; ")}`, { issues });
}

function isBaseUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return /^https?:$/.test(protocol) && username === "" && password === "" && !/[?#]/.test(value);
}

/** One choice: an option of `createEmulator`. */
export interface Option {
  /** The section of the description that leaves the choice open. */
  readonly section: string;
  /** The choice in one sentence. */
  readonly says: string;
  /** A JSON value, never undefined. */
  readonly default: unknown;
}

/**
 * Every option but those that decide nothing about the service. The id of an option inside another
 * has a dot.
 */
export type OptionId =
  | Exclude<
      keyof EmulatorOptions,
      "now" | "unauthorizedStatuses" | "refreshTokens" | "rules" | "seed" | "randomSeed"
    >
  | "rateLimit.retryAfter"
  | `refreshTokens.${keyof RefreshTokenOptions}`;

const table: Readonly<Record<OptionId, readonly [section: string, says: string]>> = {
  variants: ["5.11", "Which variants are served."],
  publicUrl: ["2.2", "The base URL of every path and of aud. By default the emulator's own URL."],
  rateLimit: [
    "8",
    "The requests per tenant and the window in seconds of the rate limit. False: no limit.",
  ],
  "rateLimit.retryAfter": [
    "8",
    "Whether a 429 carries Retry-After, and its form: seconds, date, or false.",
  ],
  tokenLifetimeSeconds: [
    "2.3, 5.9, 8",
    "The lifetime of access tokens, and expires_in of Variant A.",
  ],
  codeLifetimeSeconds: ["3, 8", "How long a code can be exchanged. For Variant B it is not shown."],
  unauthenticatedAttemptSpendsCode: [
    "3",
    "Whether an exchange with a refused assertion spends the code too.",
  ],
  rateLimitedAttemptSpendsCode: [
    "3",
    "Whether an exchange that is answered 429 spends the code too.",
  ],
  requireKid: [
    "2.2",
    "Whether an assertion without kid is refused, even with one key in the JWKS.",
  ],
  refusedPluginError: ["7.1", "The error for an unregistered or disabled plugin."],
  malformedError: ["7.1", "The error for a token request that cannot be read or lacks a field."],
  fixedTextFullStop: ["7.1", "Whether the fixed text of error_description ends with a full stop."],
  revoShape: [
    "2.3",
    "Whether revo is one object (nested), or its members are keys with a dot (flat).",
  ],
  launchState: [
    "5.3",
    "The value of state in host:auth-code: state of the launch URL, or the opaque_code.",
  ],
  refreshPath: ["4.2", "Where Variant B redeems a refresh_token, as JSON (RFC 6749 section 6)."],
  "refreshTokens.rotation": [
    "5.9",
    "Whether each refresh returns a new token and spends the old one.",
  ],
  "refreshTokens.reuseDetection": ["5.9", "Whether a spent refresh token revokes the whole login."],
  "refreshTokens.lifetimeSeconds": [
    "5.9",
    "How long a login can be refreshed, no matter how often.",
  ],
  "refreshTokens.idleSeconds": ["5.9", "How long after its last use a login can be refreshed."],
  tokenResponseExtras: [
    "4.2",
    "Additional fields of Variant B's token response, for example expires_in.",
  ],
  successStatus: ["4.1, 4.2", "The status of a success of both token endpoints."],
  userIdType: [
    "2.3",
    "The JSON type of userId, where the user id is a whole number: string or number.",
  ],
  clientErrorBody: [
    "7.3",
    "The body of Variant B's token errors. Null: as in RFC 6749 section 5.2.",
  ],
  clientErrorStatus: [
    "7.3",
    "The status of Variant B's token errors. Null: that of the broken rule.",
  ],
  issuerInCallback: ["4.2", "Whether Variant B's callback carries iss, the public URL (RFC 9207)."],
  api: ["4.3", "The operations of documents of your own. The option routes can replace them."],
  routes: [
    "4.3",
    "Routes besides the two device lists. A declared route can replace an invented one.",
  ],
  respond: ["4.3", "Answers of your own for operations of the option api, by operationId."],
  narrowingDelayMs: ["2.1", "How long a replaced grant stays in force for issued tokens."],
  bearerStatus: ["7.2", "The status for a bearer that is missing or not valid for the request."],
  bearerBody: [
    "7.2",
    "The body of that answer. Null: none at 401, otherwise invalid_token as error.",
  ],
  missingCapabilityBody: [
    "7.2",
    "The body of the 403 for a person without the capability. Null: none.",
  ],
  pluginTokenRefusedStatus: [
    "7.2",
    "The status for a plugin token on a route that takes none. By default that of bearerStatus.",
  ],
  envelope: ["4.3, 9", "The values of X-Envelope, and the member that then holds the body."],
  devices: [
    "4.3",
    "The device list, for all tenants or by tenant. A device restriction does not filter it.",
  ],
  admin: [
    "not shown",
    "Who may use the page at /_emulator: loopback, everywhere, or false for no caller.",
  ],
};

const { refreshTokens: nested, ...settings } = withDefaults({});
const parts = Object.entries(nested).map(([name, value]) => [`refreshTokens.${name}`, value]);
const others = {
  publicUrl: DEFAULT_PUBLIC_URL,
  "rateLimit.retryAfter": "seconds",
  pluginTokenRefusedStatus: settings.bearerStatus,
  devices: defaultDevices,
};
const defaults: Record<string, unknown> = { ...settings, ...others, ...Object.fromEntries(parts) };

/**
 * Every option that is a choice, by its id: what it decides, the section that leaves it open, and
 * the default. The rules that the description does state are in `rules`.
 *
 * @example
 * emulatorOptions.narrowingDelayMs.default; // 0
 */
export const emulatorOptions: Readonly<Record<OptionId, Option>> = Object.fromEntries(
  Object.entries(table).map(([id, [section, says]]) => [
    id,
    { section, says, default: defaults[id] },
  ]),
) as Record<OptionId, Option>;
