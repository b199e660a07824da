// The option table: every choice that the description leaves to the emulator, as data.
import {
  DEFAULT_PUBLIC_URL,
  type EmulatorOptions,
  type RefreshTokenOptions,
  withDefaults,
} from "./options.js";

/** One choice: an option of `createEmulator`. */
export interface Option {
  /** The section of the description that leaves the choice open. */
  readonly section: string;
  /** The choice in one sentence. */
  readonly says: string;
  /** A JSON value, never undefined. */
  readonly default: unknown;
}

/** Every option but those that decide nothing about the service. The id of an option inside another has a dot. */
export type OptionId =
  | Exclude<keyof EmulatorOptions, "now" | "refreshTokens" | "rules" | "seed" | "randomSeed">
  | "rateLimit.retryAfter"
  | `refreshTokens.${keyof RefreshTokenOptions}`;

const table: Readonly<Record<OptionId, readonly [section: string, says: string]>> = {
  variants: ["5.11", "Which variants are served."],
  publicUrl: ["2.2", "The base URL of every path and of aud. By default the emulator's own URL."],
  rateLimit: ["8", "The requests per tenant and the window in seconds of the rate limit. False: no limit."],
  "rateLimit.retryAfter": ["8", "Whether a 429 carries Retry-After, and its form: seconds, date, or false."],
  tokenLifetimeSeconds: ["2.3, 5.9, 8", "The lifetime of access tokens, and expires_in of Variant A."],
  codeLifetimeSeconds: ["3, 8", "How long a code can be exchanged. For Variant B it is not shown."],
  unauthenticatedAttemptSpendsCode: [
    "3",
    "Whether an exchange with a refused assertion spends the code too.",
  ],
  requireKid: ["2.2", "Whether an assertion without kid is refused, even with one key in the JWKS."],
  refusedPluginError: ["7.1", "The error for an unregistered or disabled plugin."],
  fixedTextFullStop: ["7.1", "Whether the fixed text of error_description ends with a full stop."],
  revoShape: ["2.3", "Whether revo is one object (nested), or its members are keys with a dot (flat)."],
  launchState: ["5.3", "The value of state in host:auth-code: state of the launch URL, or the opaque_code."],
  refreshPath: ["4.2", "Where Variant B redeems a refresh_token, as JSON (RFC 6749 section 6)."],
  "refreshTokens.rotation": ["5.9", "Whether each refresh returns a new token and spends the old one."],
  "refreshTokens.reuseDetection": ["5.9", "Whether a spent refresh token revokes the whole login."],
  "refreshTokens.lifetimeSeconds": ["5.9", "How long a login can be refreshed, no matter how often."],
  "refreshTokens.idleSeconds": ["5.9", "How long after its last use a login can be refreshed."],
  tokenResponseExtras: ["4.2", "Additional fields of Variant B's token response, for example expires_in."],
  issuerInCallback: ["4.2", "Whether Variant B's callback carries iss, the public URL (RFC 9207)."],
  routes: ["4.3", "Routes besides the two device lists. A declared route can replace an invented one."],
  narrowingDelayMs: ["2.1", "How long a replaced grant stays in force for issued tokens."],
  bearerStatus: ["7.2", "The status for a bearer that is missing or not valid for the request."],
  pluginTokenRefusedStatus: ["7.2", "The status for a plugin token on a route that does not accept one."],
  envelope: ["4.3, 9", "The values of X-Envelope, and the member that then holds the body."],
  devices: ["4.3", "The device list, for all tenants or by tenant. A device restriction does not filter it."],
  admin: ["not shown", "Who may use the page at /_emulator: loopback, everywhere, or false for no caller."],
};

const { refreshTokens, ...settings } = withDefaults({});
const parts = Object.entries(refreshTokens).map(([name, value]) => [`refreshTokens.${name}`, value]);
const others = { publicUrl: DEFAULT_PUBLIC_URL, "rateLimit.retryAfter": "seconds" };
const defaults: Record<string, unknown> = { ...settings, ...others, ...Object.fromEntries(parts) };

/**
 * Every option that is a choice, by its id: what it decides, the section that leaves it open, and the default. The
 * rules that the description does state are in `rules`.
 *
 * @example
 * options.narrowingDelayMs.default; // 0
 */
export const options: Readonly<Record<OptionId, Option>> = Object.fromEntries(
  Object.entries(table).map(([id, [section, says]]) => [id, { section, says, default: defaults[id] }]),
) as Record<OptionId, Option>;
