// An emulated deployment with a clock and a Date header that may differ from the client's clock.
import type { Emulator } from "../../src/emulator/index.js";
import { type Auth, createAuth, type ServiceEvent } from "../../src/index.js";
import { type SteppedClock, steppedClock } from "../support/clock.js";
import { deployment, plugin } from "../support/deployment.js";

export interface ClockDeploymentOptions {
  /** By how much this machine's clock is ahead of the service. */
  readonly clientAheadSeconds?: number;
  /** Changes the headers of answers, as a proxy may. */
  readonly rewrite?: (headers: Headers, serverNow: number) => void;
  readonly key?: Parameters<typeof plugin>[0];
}

export interface ClockDeployment {
  readonly auth: Auth;
  readonly emulator: Emulator;
  readonly clock: SteppedClock;
  readonly clientNow: () => number;
  /** Sets this machine's clock. */
  readonly setAhead: (seconds: number) => void;
  /** The number of token requests since the last call. */
  readonly requests: () => number;
  readonly clockOff: () => ServiceEvent[];
  /** Advances the clock past the expiry of the held token. */
  readonly expire: () => Promise<void>;
}

export function clockDeployment(options: ClockDeploymentOptions): ClockDeployment {
  const { clientAheadSeconds = 0, rewrite, key } = options;
  const server: SteppedClock = steppedClock();
  let aheadMs = clientAheadSeconds * 1_000;
  const emulator = deployment({ now: server.now });
  const events: ServiceEvent[] = [];
  const auth = createAuth({
    baseUrl: emulator.publicUrl,
    tenantId: "acme",
    credential: plugin(key),
    now: () => server.now() + aheadMs,
    onEvent: (event) => void events.push(event),
    async fetch(url, init) {
      const response = await emulator.fetch(url, init);
      const headers = new Headers(response.headers);
      rewrite?.(headers, server.now());
      return new Response(await response.text(), { status: response.status, headers });
    },
  });
  return {
    auth,
    emulator,
    clock: server,
    clientNow: () => server.now() + aheadMs,
    setAhead: (seconds: number) => {
      aheadMs = seconds * 1_000;
    },
    requests: () => {
      const count = emulator.journal.tokenRequests().length;
      emulator.journal.clear();
      return count;
    },
    clockOff: () => events.filter((event) => event.type === "clock_off"),
    async expire() {
      const { expiresAt } = await auth.getAccessToken();
      server.advance(expiresAt - (server.now() + aheadMs));
    },
  };
}
