// Checks what a test hands to `launch`, `login` and `testKey`: a mistake is no refusal by the service.
import { z } from "zod";
import { parseInput } from "./errors.js";
import type { PluginIdentity } from "./registrations/keys.js";
import type { LaunchIdentity } from "./state.js";
import type { LoginRequest } from "./variant-b/login-in-process.js";

/** Whole registrations are identities too: what else they hold does not matter. */
const plugin = z.object({ tenantId: z.string(), clientId: z.string() });
const launch = z.object({ ...plugin.shape, userId: z.string() });
/** Whether the challenge is one is a rule of the launch. */
const challenge = z.object({ codeChallenge: z.unknown().optional(), opaqueCode: z.string().optional() });
const login = z.strictObject({
  url: z.string(),
  userId: z.string(),
  tenantId: z.string().optional(),
  decision: z.enum(["allow", "deny"]).optional(),
});

/** @throws EmulatorError `option_invalid` */
export function readPluginIdentity(input: unknown): PluginIdentity {
  return parseInput(plugin, input, "option_invalid", "plugin");
}

/** @throws EmulatorError `option_invalid` */
export function readLaunchIdentity(input: unknown): LaunchIdentity {
  return parseInput(launch, input, "option_invalid", "launch");
}

/** @throws EmulatorError `option_invalid` */
export function readChallenge(input: unknown): { codeChallenge: string; opaqueCode?: string | undefined } {
  const { codeChallenge, opaqueCode } = parseInput(challenge, input, "option_invalid", "authorize");
  return { codeChallenge: codeChallenge as string, opaqueCode };
}

/** Its URL is absolute; a relative one is relative to `base`. @throws EmulatorError `option_invalid` */
export function readLogin(input: unknown, base: string): LoginRequest {
  const from = `${base}/`;
  const isUrl = login.refine(({ url }) => URL.canParse(url, from), {
    path: ["url"],
    message: "must be a URL",
  });
  const request: LoginRequest = parseInput(isUrl, input, "option_invalid", "login");
  return { ...request, url: new URL(request.url, from).href };
}
