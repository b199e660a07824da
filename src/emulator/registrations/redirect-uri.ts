// A redirect URI as an API client registers it, and whether one that a request names is the same.
import { z } from "zod";

/** RFC 8252 section 8.3: an IP literal. `localhost` may resolve to something else, so it is a host like any other. */
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\])(?::([1-9]\d{0,4}))?(?=[/?]|$)(.*)$/;
/** Schemes that run or read what they name instead of handing a code to an app. */
const NO_APP = ["javascript:", "data:", "vbscript:", "file:", "blob:", "about:", "ws:", "wss:", "ftp:"];

export const redirectUriSchema: z.ZodType<string> = z
  .string()
  .max(2000)
  .refine(isRedirectUri, "must be https, http to loopback, or an app's own scheme; without a fragment");

function isRedirectUri(value: string): boolean {
  // RFC 6749 section 3.1.2: "The endpoint URI MUST NOT include a fragment component".
  if (!URL.canParse(value) || value.includes("#") || /[\s\\]/.test(value)) return false;
  const { protocol, hostname, username, password } = new URL(value);
  if (username !== "" || password !== "" || NO_APP.includes(protocol)) return false;
  // RFC 9700 section 2.6: no unencrypted redirect but to loopback. RFC 6761 section 6.3 counts names under localhost.
  return protocol !== "http:" || LOOPBACK.test(value) || /(^|\.)localhost$/.test(hostname);
}

/**
 * RFC 9700 section 2.1: "exact string matching except for port numbers in localhost redirection URIs of native apps";
 * RFC 8252 section 7.3: "The authorization server MUST allow any port" of a loopback IP literal.
 */
export function isSameRedirectUri(registered: string, requested: string): boolean {
  if (registered === requested) return true;
  const [ours, theirs] = [LOOPBACK.exec(registered), LOOPBACK.exec(requested)];
  if (ours === null || theirs === null || Number(theirs[2] ?? 80) > 65_535) return false;
  return ours[1] === theirs[1] && ours[3] === theirs[3];
}
