/** Bounds what strangers can make this backend send: each made-up code costs a signature and a request. */
import { RecentlyUsed } from "../auth/recently-used.js";
import { countdown } from "../clock.js";
import { isTokenRequestError } from "../errors.js";
import { invalidOption } from "../options.js";
import type { Settings } from "./backend-options.js";
import { Refusal } from "./error-answer.js";

/** The most exchanges of a deployment at a time, and of one client there. They may wait for a rate limit. */
const mostAtOnce = 256;
const mostOfOneClient = 64;
/**
 * The most exchanges of a deployment that wait for a function of yours, such as a signer. They count here only, so that
 * functions that hang keep no others from launching or logging in.
 */
const mostAway = 1_024;
/** The most refusals of one client at a deployment, and the time after which one of them is forgiven. */
const mostRefused = 20;
const forgivenMs = 3_000;
/** The refusals that count: not those of a network or a store that failed. */
const counted = ["launch_refused", "login_refused", "token_refused"];

/**
 * Runs an exchange at a deployment, which need not be configured. It calls `leave` before it waits for a function of
 * yours, and the result, once or more, when it goes on. @throws Refusal `rate_limited`
 */
export type LimitedExchange = <T>(
  deployment: string,
  request: Request,
  exchange: (leave: () => () => void) => Promise<T>,
) => Promise<T>;

export function exchangeLimits({ clock, clientKey }: Settings): LimitedExchange {
  const running = new Map<string, { here: number; away: number }>();
  /** By client, its exchanges that run, and how long it takes until all of its refusals are forgiven. */
  const clients = new RecentlyUsed<{ running: number; leftMs: () => number }>(10_000);
  /** How long a service took lately to refuse a code. */
  let refusalMs = 100;
  return async (deployment, request, exchange) => {
    const given: unknown = clientKey?.(request);
    if (given !== undefined && typeof given !== "string")
      throw invalidOption("clientKey", "must return a string or undefined, and not a promise");
    const key = given?.slice(0, 256);
    const none = { running: 0, leftMs: () => 0 };
    const client = key === undefined ? none : clients.get(`${deployment} ${key}`, () => none);
    const counts = running.get(deployment) ?? { here: 0, away: 0 };
    const waitMs = client.leftMs() - (mostRefused - 1) * forgivenMs;
    const isFull = counts.here >= mostAtOnce || counts.away >= mostAway || client.running >= mostOfOneClient;
    if (waitMs > 0 || isFull) {
      const headers = { "retry-after": String(Math.max(1, Math.ceil(waitMs / 1_000))) };
      throw new Refusal("rate_limited", { headers });
    }
    running.set(deployment, counts);
    counts.here++;
    client.running++;
    let place: keyof typeof counts | undefined = "here";
    const move = (to: typeof place) => {
      // The credential lives on after the exchange, to renew the person's token.
      if (place === undefined) return;
      counts[place]--;
      place = to;
      if (to !== undefined) counts[to]++;
    };
    const leave = () => {
      move("away");
      return () => move("here");
    };
    const startedAt = clock.monotonic();
    try {
      return await exchange(leave);
    } catch (error) {
      const { code = "", cause } = Object(error) as { code?: string; cause?: unknown };
      if (counted.includes(code)) client.leftMs = countdown(Math.max(0, client.leftMs()) + forgivenMs, clock);
      // A refusal without a request must take as long as one by a service. Its time could name the customers.
      if (isTokenRequestError(cause)) refusalMs = Math.min(clock.monotonic() - startedAt, 5_000);
      else if (code === "launch_refused") await new Promise<void>((end) => clock.setTimeout(end, refusalMs));
      throw error;
    } finally {
      client.running--;
      move(undefined);
      if (counts.here + counts.away === 0) running.delete(deployment);
    }
  };
}
