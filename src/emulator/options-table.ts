// The option table: every choice that the description leaves to the emulator, as data.
import { defaultOptions } from "./options.js";

/** One choice: an option of `createEmulator` by that name, a dot where it is inside another. */
export interface Option {
  /** The section of the description that leaves it open. */
  readonly section: string;
  /** What it decides. */
  readonly says: string;
  /** A JSON value; undefined never. */
  readonly default: unknown;
}

export type OptionId =
  | "variants"
  | "publicUrl"
  | "rateLimit"
  | "rateLimit.retryAfter"
  | "tokenLifetimeSeconds"
  | "codeLifetimeSeconds"
  | "unauthenticatedAttemptSpendsCode"
  | "requireKid"
  | "refusedPluginError"
  | "fixedTextFullStop"
  | "revoShape"
  | "launchState"
  | "refreshPath"
  | "refreshTokens.rotation"
  | "refreshTokens.reuseDetection"
  | "refreshTokens.lifetimeSeconds"
  | "refreshTokens.idleSeconds"
  | "tokenResponseExtras"
  | "issuerInCallback"
  | "routes"
  | "narrowingDelayMs"
  | "bearerStatus"
  | "pluginTokenRefusedStatus"
  | "envelope"
  | "devices"
  | "admin";

/**
 * Every named option by its id, as plain data: what it decides, the section that does not, and what the emulator does
 * unless told otherwise. What the description does decide is in `rules`.
 *
 * @example
 * options.narrowingDelayMs.default; // 0
 */
export const options: Readonly<Record<OptionId, Option>> = {
  variants: {
    section: "5.11",
    says: "Which variants are served; which one is current, and whether both are, is not shown.",
    default: defaultOptions.variants,
  },
  publicUrl: {
    section: "2.2",
    says: "The base_url of aud and of every path, whatever Host header a request carries; while it listens, where it listens.",
    default: defaultOptions.publicUrl,
  },
  rateLimit: {
    section: "8",
    says: "Requests per tenant in a window of seconds; the size of neither is shown. False: no limit.",
    default: defaultOptions.rateLimit,
  },
  "rateLimit.retryAfter": {
    section: "8",
    says: "Whether and how a 429 carries Retry-After, which it may or may not: seconds, date, or false.",
    default: defaultOptions.retryAfter,
  },
  tokenLifetimeSeconds: {
    section: "2.3, 5.9, 8",
    says: "expires_in of Variant A and the lifetime of both variants' access tokens; the shown figures are a reference and a default.",
    default: defaultOptions.tokenLifetimeSeconds,
  },
  codeLifetimeSeconds: {
    section: "3, 8",
    says: "How long a code can be exchanged: two minutes in Variant A; not shown in Variant B.",
    default: defaultOptions.codeLifetimeSeconds,
  },
  unauthenticatedAttemptSpendsCode: {
    section: "3",
    says: "Whether an exchange attempt whose assertion is refused spends the code too: whether that attempt succeeds or fails. False: whoever has a code but no key cannot spend it.",
    default: defaultOptions.unauthenticatedAttemptSpendsCode,
  },
  requireKid: {
    section: "2.2",
    says: "Whether an assertion without kid is refused: treat kid as required. False: as a wrong one, which fails only once the JWKS holds more than one key.",
    default: defaultOptions.requireKid,
  },
  refusedPluginError: {
    section: "7.1",
    says: "The error for a plugin that is not registered or disabled: invalid_grant, as the table has it; or invalid_client, so that nobody can tell it from a wrong key, as the sentence above the table has it.",
    default: defaultOptions.refusedPluginError,
  },
  fixedTextFullStop: {
    section: "7.1",
    says: "Whether the fixed text of error_description ends with the full stop that ends the sentence showing it.",
    default: defaultOptions.fixedTextFullStop,
  },
  revoShape: {
    section: "2.3",
    says: "Whether Variant A's token response has tenant, user and roles in an object revo (nested) or under the literal keys revo.tenant, revo.user and revo.roles (flat).",
    default: defaultOptions.revoShape,
  },
  launchState: {
    section: "5.3",
    says: "What state of host:auth-code repeats: a state that the launch URL carries (launch-parameter), or the opaque_code.",
    default: defaultOptions.launchState,
  },
  refreshPath: {
    section: "4.2",
    says: "Where Variant B exchanges a refresh_token, with the fields of RFC 6749 section 6 as JSON.",
    default: defaultOptions.refreshPath,
  },
  "refreshTokens.rotation": {
    section: "5.9",
    says: "Whether each refresh answers a new refresh token and spends the old one.",
    default: defaultOptions.refreshTokens.rotation,
  },
  "refreshTokens.reuseDetection": {
    section: "5.9",
    says: "Whether the use of a spent refresh token revokes the newer ones and all access tokens of that login.",
    default: defaultOptions.refreshTokens.reuseDetection,
  },
  "refreshTokens.lifetimeSeconds": {
    section: "5.9",
    says: "How long a login can be refreshed, however often that is done.",
    default: defaultOptions.refreshTokens.lifetimeSeconds,
  },
  "refreshTokens.idleSeconds": {
    section: "5.9",
    says: "How long after its last use a login can be refreshed.",
    default: defaultOptions.refreshTokens.idleSeconds,
  },
  tokenResponseExtras: {
    section: "4.2",
    says: "Fields of Variant B's token response beside access_token and refresh_token, for instance token_type and expires_in.",
    default: defaultOptions.tokenResponseExtras,
  },
  issuerInCallback: {
    section: "4.2",
    says: "Whether Variant B's callback carries iss, the public URL (RFC 9207).",
    default: defaultOptions.issuerInCallback,
  },
  routes: {
    section: "4.3",
    says: "Routes beside the two device lists, with their scopes, device parameters and whether they take plugin tokens. By default three invented ones, which a declared route replaces.",
    default: [],
  },
  narrowingDelayMs: {
    section: "2.1",
    says: "How long a replaced grant stays in force for tokens already minted; within minutes, the description says.",
    default: defaultOptions.narrowingDelayMs,
  },
  bearerStatus: {
    section: "7.2",
    says: "The status for a bearer that is missing, unknown, expired, revoked, of another tenant, or of a plugin that is not enabled.",
    default: defaultOptions.bearerStatus,
  },
  pluginTokenRefusedStatus: {
    section: "7.2",
    says: "The status for a plugin token on a route that accepts none.",
    default: defaultOptions.pluginTokenRefusedStatus,
  },
  envelope: {
    section: "4.3, 9",
    says: "The values that X-Envelope may have and the member under which the body then is; another value changes nothing.",
    default: defaultOptions.envelope,
  },
  devices: {
    section: "4.3",
    says: "What the device list answers, in every tenant or by tenant; by default three invented devices. The list is not filtered by a device restriction.",
    default: defaultOptions.devices,
  },
  admin: {
    section: "not shown",
    says: "Who may use the emulator's page at /_emulator: callers on this machine (loopback), from everywhere, or nobody (false).",
    default: defaultOptions.admin,
  },
};
