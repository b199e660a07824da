// The pages of Variant B's authorization endpoint.
export const LOGIN_PATH = "/v1/auth/login";
export const CONSENT_PATH = "/v1/auth/consent";
