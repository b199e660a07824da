/** `service.fetch`: any request under the base URL with the bearer, for routes that no document describes. */
import type { Auth } from "../auth/auth.js";
import type { ConfigurationError } from "../errors.js";
import { withTimeLimit } from "../http/time-limit.js";
import { invalidOption, requireObject } from "../options.js";
import { isUnderBase } from "../variants/target.js";
import { bearerFetch, canBeSentAgain } from "./bearer-fetch.js";
import type { CallerOptions } from "./caller.js";
import { headerRecord } from "./request.js";

/**
 * Like the global fetch, relative to the base URL. The bearer is added, renewed after a 401, and sent nowhere else.
 * `timeoutMs` limits the wait for the response's head; the caller reads the body.
 *
 * @throws ConfigurationError `option_invalid` for a URL that is not under the base URL, and for what no fetch accepts
 */
export type ServiceFetch = (input: string | URL, init?: RequestInit) => Promise<Response>;

export function createServiceFetch(options: Omit<CallerOptions, "validate">): ServiceFetch {
  const { auth, timeoutMs } = options;
  const { variant, baseUrl } = auth;
  // Made on first use: most services never fetch an undescribed route.
  let follower: ReturnType<typeof signalFollower> | undefined;
  return async (input, init = {}) => {
    const url = resolveUnderBase(input, auth);
    const method = requestMethod(requireObject("init", init));
    const headers = headerRecord(init.headers);
    const { body } = init;
    const signal = init.signal ?? undefined;
    follower ??= signalFollower();
    const untilTheEnd = follower;
    const { response } = await bearerFetch(
      {
        ...{ url, method, headers, body, signal },
        // The Fetch standard requires `duplex` for a stream and allows no other value.
        init: canBeSentAgain(body) ? init : ({ duplex: "half", ...init } as RequestInit),
        limit: (send) =>
          withTimeLimit((abort) => send(untilTheEnd(abort, signal)), { variant, baseUrl, timeoutMs, signal }),
        read: async () => undefined,
      },
      options,
    );
    return response;
  };
}

const methodName = /^[!#$%&'*+.^_`|~0-9A-Z-]+$/;
/** Forbidden by the Fetch standard. */
const forbiddenMethods: readonly string[] = ["CONNECT", "TRACE", "TRACK"];

/** Rejects what makes a fetch throw a TypeError, which would be mistaken for a network fault. */
function requestMethod(init: RequestInit): string {
  const method = String(init.method ?? "GET").toUpperCase();
  if (!methodName.test(method) || forbiddenMethods.includes(method))
    throw invalidOption("method", "must be a method that fetch accepts");
  const hasBody = init.body !== undefined && init.body !== null;
  if (hasBody && (method === "GET" || method === "HEAD"))
    throw invalidOption("body", `must not be sent with ${method}`, 'Set the method, such as "POST".');
  return method;
}

function resolveUnderBase(input: unknown, { baseUrl }: Auth): string {
  const refused = (problem: string): ConfigurationError =>
    invalidOption("input", problem, 'Pass a path relative to baseUrl, such as "v1/devices".');
  if (typeof input !== "string" && !(input instanceof URL)) throw refused("must be a string or a URL");
  const text = String(input);
  const isAbsolute = /^[a-z][a-z0-9+.-]*:/i.test(text);
  let url: URL;
  try {
    url = new URL(isAbsolute ? text : `${baseUrl}/${text.replace(/^[/\\]+/, "")}`);
  } catch {
    throw refused("is not a valid URL");
  }
  if (!isUnderBase(url, baseUrl)) throw refused("is not under baseUrl, and the bearer must not leave that");
  return url.href;
}

/**
 * Returns a function that makes the signal of one request. The time limit aborts it, which ends with the response's
 * head, and so does the caller's signal, which must also end the body. The caller's signal may outlive many requests:
 * one listener on it serves them all, and holds none of them.
 */
function signalFollower(): (limit: AbortSignal, signal: AbortSignal | undefined) => AbortSignal {
  const followers = new WeakMap<AbortSignal, Set<WeakRef<AbortController>>>();
  // A signal does not hold its controller, and whatever reads the body holds only the signal.
  const controllers = new WeakMap<AbortSignal, AbortController>();
  const forgotten = new FinalizationRegistry<() => void>((forget) => forget());

  const followersOf = (signal: AbortSignal) => {
    const found = followers.get(signal);
    if (found !== undefined) return found;
    const made = new Set<WeakRef<AbortController>>();
    followers.set(signal, made);
    const abortAll = () => {
      for (const follower of made) follower.deref()?.abort(signal.reason);
    };
    signal.addEventListener("abort", abortAll, { once: true });
    return made;
  };

  return (limit, signal) => {
    const whole = new AbortController();
    limit.addEventListener("abort", () => whole.abort(limit.reason), { once: true });
    controllers.set(whole.signal, whole);
    if (signal !== undefined) follow(whole, followersOf(signal), forgotten);
    return whole.signal;
  };
}

/** A function of its own, so that no closure in it holds the controller. */
function follow(
  controller: AbortController,
  followers: Set<WeakRef<AbortController>>,
  forgotten: FinalizationRegistry<() => void>,
): void {
  const follower = new WeakRef(controller);
  followers.add(follower);
  forgotten.register(controller, () => followers.delete(follower));
}
