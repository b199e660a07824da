// The fields that several kinds of registration share.

import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";

/** A tenant, a client and a person, as far as they are known. */
export interface KnownIdentity {
  readonly tenantId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly userId?: string | undefined;
}

/** RFC 6749 appendix A.1: a client_id consists of visible ASCII characters and spaces. */
export const clientIdSchema: z.ZodType<string> = z
  .string()
  .min(1, "must not be empty")
  .max(255)
  .regex(/^[\x20-\x7e]*$/, "must be printable ASCII");

/**
 * The description shows no alphabet for tenant ids. A tenant id is a path segment, and URL parsers
 * fold `.` and `..` even when they are percent-encoded, so it does not start with a dot.
 */
export const tenantIdSchema: z.ZodType<string> = z
  .string()
  .max(128)
  .regex(
    /^[A-Za-z0-9_~-][A-Za-z0-9._~-]*$/,
    "must be letters, digits, . _ ~ - and not start with a dot",
  );

/**
 * Ignores the other names of a registration, which may be passed as an identity, as an update may.
 */
export function identitySchema<Identity extends z.ZodRawShape>(
  identity: Identity,
  registration: readonly string[],
): z.ZodType<z.output<z.ZodObject<Identity>>> {
  const others = Object.fromEntries(registration.map((name) => [name, z.unknown().optional()]));
  return z.strictObject({ ...others, ...identity }).pipe(z.object(identity) as never);
}

const SCOPE = /^[A-Za-z0-9._-]+:(read|write|execute)$/;
/** "one scope of the form area:read, area:write or area:execute" (description, section 5.6). */
export const scopeSchema: z.ZodType<string> = z
  .string()
  .regex(SCOPE, "must have the form area:read, area:write or area:execute");

/** "array of objects with name and group: roles of the caller" (description, section 2.3). */
export interface Role {
  readonly name: string;
  readonly group: string;
}

export const roleSchema: z.ZodType<Role> = z.strictObject({ name: z.string(), group: z.string() });

/** IP literals only: `localhost` may resolve to another address (RFC 8252 section 8.3). */
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\])(?::([1-9]\d{0,4}))?([/?].*)?$/;
/** Schemes that make a browser run or read a URL instead of handing it to an app. */
const NO_APP = [
  "javascript:",
  "data:",
  "vbscript:",
  "file:",
  "blob:",
  "about:",
  "ws:",
  "wss:",
  "ftp:",
];

export const redirectUriSchema: z.ZodType<string> = z
  .string()
  .max(2000)
  .refine(
    isRedirectUri,
    "must be https, http to loopback, or an app's own scheme; without a fragment",
  );

function isRedirectUri(value: string): boolean {
  // RFC 6749 section 3.1.2: "The endpoint URI MUST NOT include a fragment component".
  if (!URL.canParse(value) || value.includes("#") || /[\s\\]/.test(value)) return false;
  const { protocol, hostname, username, password } = new URL(value);
  if (username !== "" || password !== "" || NO_APP.includes(protocol)) return false;
  // RFC 9700 section 2.6 permits http only to loopback; names under localhost count (RFC 6761
  // section 6.3).
  return protocol !== "http:" || LOOPBACK.test(value) || /(^|\.)localhost$/.test(hostname);
}

/**
 * RFC 9700 section 2.1: "exact string matching except for port numbers in localhost redirection
 * URIs of native apps"; RFC 8252 section 7.3: "The authorization server MUST allow any port" of a
 * loopback IP literal.
 */
export function isSameRedirectUri(registered: string, requested: string): boolean {
  if (registered === requested) return true;
  const [ours, theirs] = [LOOPBACK.exec(registered), LOOPBACK.exec(requested)];
  if (ours === null || theirs === null || Number(theirs[2] ?? 80) > 65_535) return false;
  return ours[1] === theirs[1] && ours[3] === theirs[3];
}

export function secretDigest(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** The comparison takes the same time wherever the two differ. */
export function isSecretOf(digest: Buffer, presented: string): boolean {
  return timingSafeEqual(digest, secretDigest(presented));
}
