// Where the authorization server's forms are sent; not shown, the emulator's own.
export const LOGIN_PATH = "/v1/auth/login";
export const CONSENT_PATH = "/v1/auth/consent";
