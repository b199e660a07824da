// The paths that more than one module needs. All are under the base URL.

/** Description, section 4.1. */
export const TOKEN_PATH_A = "/api/v1/{tenantId}/external-plugin/oauth/token";
/** Description, section 4.2. */
export const TOKEN_PATH_B = "/v1/auth/token";
/** Variant B's authorization endpoint and the targets of its forms: not shown, chosen by the emulator. */
export const AUTHORIZATION_PATH = "/v1/auth/authorize";
export const LOGIN_PATH = "/v1/auth/login";
export const CONSENT_PATH = "/v1/auth/consent";
