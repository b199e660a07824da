// The defaults of the options that are numbers, switches and names; each is a choice, told in `options`.

export const defaultOptions = {
  variants: ["A", "B"],
  admin: "loopback",
  /** RFC 6761 section 6.3: names under localhost never leave the machine. */
  publicUrl: "http://emulator.localhost",
  rateLimit: false,
  retryAfter: "seconds",
  narrowingDelayMs: 0,
  /** "3600 in the reference response" (description, section 2.3) and "1 hour by default" (section 5.9). */
  tokenLifetimeSeconds: 3600,
  /** "The code is valid for two minutes" (section 3). */
  codeLifetimeSeconds: 120,
  launchState: "launch-parameter",
  issuerInCallback: false,
  refreshPath: "/v1/auth/token",
  refreshTokens: {
    rotation: true,
    reuseDetection: true,
    /** Not shown: 90 days. */
    lifetimeSeconds: 7_776_000,
    /** Not shown: 30 days. RFC 9700 section 4.14.2: refresh tokens "SHOULD expire if not used for some time". */
    idleSeconds: 2_592_000,
  },
} as const;
