// A service over an Auth that hands out numbered tokens and a fetch that answers by a script. It
// retries no calls.
import { createService, type Service, type ServiceEvent, type Variant } from "../../src/index.js";
import { type SteppedClock, steppedClock } from "../support/clock.js";
import { type FetchScript, type ScriptedFetch, scriptedFetch } from "../support/fetch.js";
import { type NumberedAuth, numberedAuth } from "../support/numbered-auth.js";

export const baseUrl = "https://service.example/prefix";
export const devicesPath = { A: "/api/v1/{tenantId}/devices", B: "/v1/devices" } as const;

/** `call` and `paths.GET` without their types: the tests also pass what does not compile. */
type Untyped = (name: string, init?: object) => Promise<unknown>;

export interface ScriptedService {
  readonly service: Service;
  readonly call: Untyped;
  readonly get: Untyped;
  readonly auth: NumberedAuth<Variant>;
  readonly clock: SteppedClock;
  readonly fetch: ScriptedFetch;
  readonly events: ServiceEvent[];
}

export function scriptedService(
  variant: Variant,
  script: FetchScript = () => Response.json({}),
  options: Parameters<typeof createService>[1] = {},
): ScriptedService {
  const clock = steppedClock();
  const events: ServiceEvent[] = [];
  const fetch = scriptedFetch(script);
  const auth = numberedAuth({ variant, baseUrl, now: clock.now });
  const onEvent = (event: ServiceEvent) => void events.push(event);
  const service = createService(auth, {
    fetch,
    clock,
    onEvent,
    maxRetries: 0,
    ...options,
  }) as Service;
  const { call, paths } = service as unknown as { call: Untyped; paths: { GET: Untyped } };
  return { service, call: call.bind(service), get: paths.GET, auth, clock, fetch, events };
}
