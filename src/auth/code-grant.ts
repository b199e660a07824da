/** An authorization code and its verifier, checked before anything is sent. */
import { ConfigurationError, type Variant } from "../errors.js";

/** No code of the description's is near this long; what is longer comes from whoever wants to waste memory. */
const longestCode = 4_096;

/** RFC 6749 appendix A.11: visible ASCII. @throws ConfigurationError `option_invalid` */
export function requireCode(code: unknown, variant: Variant): string {
  if (typeof code === "string" && code.length <= longestCode && /^[\x20-\x7e]+$/.test(code)) return code;
  throw invalid("code", "is missing, too long, or holds what no authorization code does", variant);
}

/** RFC 7636 section 4.1. @throws ConfigurationError `option_invalid` */
export function requireCodeVerifier(verifier: unknown, variant: Variant): string {
  if (typeof verifier === "string" && /^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return verifier;
  throw invalid("codeVerifier", "is no PKCE verifier: 43 to 128 letters, digits and -._~", variant);
}

function invalid(option: string, why: string, variant: Variant): ConfigurationError {
  return new ConfigurationError("option_invalid", `${option} ${why}.`, { option, variant });
}
