/**
 * Bounds what strangers can make this backend send: each made-up code costs a signature and a
 * request.
 */
import { RecentlyUsed } from "../auth/shared/recently-used.js";
import type { TokenStore } from "../auth/shared/token-store.js";
import { countdown } from "../clock.js";
import { codeOf } from "../errors.js";
import { invalidOption } from "../options.js";
import type { Settings } from "./backend-options.js";
import { Refusal } from "./error-answer.js";

/**
 * The most exchanges of a deployment at a time, and of one client there, a quarter. They may wait
 * for a rate limit for a minute, and each holds a body of up to 64 KiB.
 */
const mostAtOnce = 256;
const mostOfOneClient = 64;
/**
 * The most exchanges of a deployment that wait for a function of yours, such as a signer, or for
 * the store. They count here only, so that what hangs keeps no others from launching or logging in.
 */
const mostAway = 1_024;
/**
 * The most refusals of one client at a deployment, and the time after which one of them is
 * forgiven: people who share an address may err, and a machine that guesses codes gets 20 tries a
 * minute.
 */
const mostRefused = 20;
const forgivenMs = 3_000;
/** The refusals that count: not those of a network or a store that failed. */
const counted = ["launch_refused", "login_refused", "token_refused"];

/**
 * Runs an exchange at a deployment, which need not be configured, and delays the refusal of a
 * launch. It calls `leave` before it waits for a function of yours or for the store, and the
 * result, once or more, when it goes on. @throws Refusal `rate_limited`
 */
export type LimitedExchange = <T>(
  deployment: string,
  request: Request,
  exchange: (leave: () => () => void) => Promise<T>,
) => Promise<T>;

export function exchangeLimits({ clock, clientKey }: Settings): LimitedExchange {
  const running = new Map<string, Counts>();
  /**
   * By client, its exchanges that run, and how long it takes until all of its refusals are
   * forgiven.
   */
  const clients = new RecentlyUsed<{ running: number; leftMs: () => number }>(10_000);
  return async (deployment, request, exchange) => {
    const given: unknown = clientKey?.(request);
    if (given !== undefined && typeof given !== "string")
      throw invalidOption("clientKey", "must return a string or undefined, and not a promise");
    const key = given?.slice(0, 256);
    const none = { running: 0, leftMs: () => 0 };
    const client = key === undefined ? none : clients.get(`${deployment} ${key}`, () => none);
    const counts = running.get(deployment) ?? { here: 0, away: 0 };
    const waitMs = client.leftMs() - (mostRefused - 1) * forgivenMs;
    const isFull =
      counts.here >= mostAtOnce || counts.away >= mostAway || client.running >= mostOfOneClient;
    if (waitMs > 0 || isFull) {
      const headers = { "retry-after": String(Math.max(1, Math.ceil(waitMs / 1_000))) };
      throw new Refusal("rate_limited", { headers });
    }
    running.set(deployment, counts);
    client.running++;
    const { leave, end } = takePlace(counts);
    const exchanged = () =>
      exchange(leave).finally(() => {
        end();
        if (counts.here + counts.away === 0) running.delete(deployment);
      });
    try {
      return await delayingRefusals(
        clock,
        (error) => codeOf(error) === "launch_refused",
        exchanged,
      );
    } catch (error) {
      // This is after the delay too, so that what a client may still ask does not name the
      // customers either.
      if (counted.includes(codeOf(error)))
        client.leftMs = countdown(Math.max(0, client.leftMs()) + forgivenMs, clock);
      throw error;
    } finally {
      client.running--;
    }
  };
}

/**
 * Returns the same store, except that it calls `leave` before each operation, and then the result.
 * An exchange locks nothing.
 */
export function watchedStore(store: TokenStore, leave: () => () => void): TokenStore {
  // The async function is needed because a store of the caller's may also throw synchronously.
  const watched = <T>(operation: () => Promise<T>) => (async () => operation())().finally(leave());
  return {
    lossWindowMs: store.lossWindowMs,
    get: (key) => watched(() => store.get(key)),
    set: (...rest) => watched(() => store.set(...rest)),
    delete: (key) => watched(() => store.delete(key)),
    lock: (...rest) => store.lock(...rest),
  };
}

/**
 * The exchanges of a deployment that run: those that count as its own, and those that wait for the
 * caller's functions or store.
 */
interface Counts {
  here: number;
  away: number;
}

/**
 * It is a function of its own because a session's credential keeps `leave`, which must not keep the
 * request.
 */
function takePlace(counts: Counts) {
  let place: keyof Counts | undefined = "here";
  counts.here++;
  const move = (to: typeof place) => {
    // After the exchange the credential goes on to renew the person's token.
    if (place === undefined) return;
    counts[place]--;
    place = to;
    if (to !== undefined) counts[to]++;
  };
  const leave = () => {
    move("away");
    return () => move("here");
  };
  return { leave, end: () => move(undefined) };
}

/**
 * The time from a request to a refusal that must not name the customers, and the share of it that
 * is added at random. Token endpoints refuse in less, and a person who must open the plugin again
 * can wait for it.
 */
const refusalMs = 3_000;
const refusalJitter = 0.1;

/**
 * Delays refusals whose answer does not say whether the tenant exists, so that their time does not
 * say it either: a tenant that is unknown is refused at once, and another one after an exchange
 * with its deployment. Both then wait for a timer that began with the request, and no refusal
 * depends on how long others took.
 */
export async function delayingRefusals<T>(
  clock: Settings["clock"],
  isDelayed: (error: unknown) => boolean,
  task: () => Promise<T>,
): Promise<T> {
  const answered = new AbortController();
  const delayMs = refusalMs * (1 + refusalJitter * clock.random());
  const isDue = clock.sleep(delayMs, answered.signal).catch(() => {});
  try {
    return await task();
  } catch (error) {
    if (isDelayed(error)) await isDue;
    throw error;
  } finally {
    answered.abort();
  }
}
