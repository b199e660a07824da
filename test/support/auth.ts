// An Auth with a stepped clock and recorded events, whose token requests a script may answer.
import {
  type Auth,
  type CreateAuthOptions,
  createAuth,
  type MachineCredential,
  type ServiceEvent,
  type Variant,
} from "../../src/index.js";
import { type SteppedClock, steppedClock } from "./clock.js";
import { credentialOf } from "./deployment.js";
import { type FetchScript, type ScriptedFetch, scriptedFetch } from "./fetch.js";

export const BASE_URL = "https://service.example";

export interface RecordedAuth {
  readonly auth: Auth;
  readonly clock: SteppedClock;
  readonly events: ServiceEvent[];
  readonly types: () => ServiceEvent["type"][];
}

/** By default for the tenant acme at `BASE_URL`. With an own `now` the clock is not used. */
export function recordedAuth(
  options: Partial<CreateAuthOptions> & Pick<CreateAuthOptions, "credential">,
): RecordedAuth {
  const clock = steppedClock();
  const events: ServiceEvent[] = [];
  const onEvent = (event: ServiceEvent) => void events.push(event);
  const auth = createAuth({ baseUrl: BASE_URL, tenantId: "acme", clock, onEvent, ...options });
  return { auth, clock, events, types: () => events.map(({ type }) => type) };
}

export function scriptedAuth(
  credential: Variant | MachineCredential,
  script: FetchScript,
  options: Partial<CreateAuthOptions> = {},
): RecordedAuth & { readonly fetch: ScriptedFetch } {
  const fetch = scriptedFetch(script);
  const given = typeof credential === "string" ? credentialOf(credential) : credential;
  return { fetch, ...recordedAuth({ credential: given, fetch, ...options }) };
}
