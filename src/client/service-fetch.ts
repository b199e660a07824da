/** `service.fetch`: any request under the base URL, with the bearer, where no document describes the route. */
import type { Auth } from "../auth/auth.js";
import { ConfigurationError } from "../errors.js";
import { withTimeLimit } from "../http/time-limit.js";
import { isUnderBase } from "../variants/target.js";
import { bearerFetch } from "./bearer-fetch.js";
import type { CallerOptions } from "./caller.js";
import { headerRecord } from "./header-record.js";
import { canBeSentAgain } from "./redirects.js";
import { signalFollower } from "./signal-follower.js";

/**
 * Like the global fetch, relative to the base URL. The bearer is added, renewed after a 401, and goes nowhere else.
 * `timeoutMs` bounds the wait for the answer's head; its body is the caller's to read.
 *
 * @throws ConfigurationError `option_invalid` for a URL that is not under the base URL, and for what no fetch takes
 */
export type ServiceFetch = (input: string | URL, init?: RequestInit) => Promise<Response>;

export function createServiceFetch(options: Omit<CallerOptions, "validate">): ServiceFetch {
  const { auth, timeoutMs } = options;
  // Most services are never asked for a plain fetch.
  let follower: ReturnType<typeof signalFollower> | undefined;
  return async (input, init = {}) => {
    const url = resolveUnderBase(input, auth);
    const method = requestMethod(init);
    const headers = headerRecord(init.headers);
    const signal = init.signal ?? undefined;
    follower ??= signalFollower();
    const untilTheEnd = follower;
    const { response } = await bearerFetch(
      {
        ...{ url, method, headers, body: init.body, signal },
        // The Fetch standard asks for it with a stream; nothing else is there to be said.
        init: canBeSentAgain(init.body) ? init : ({ duplex: "half", ...init } as RequestInit),
        limit: (send) =>
          withTimeLimit((abort) => send(untilTheEnd(abort, signal)), {
            variant: auth.variant,
            baseUrl: auth.baseUrl,
            timeoutMs,
            signal,
          }),
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

/** What a fetch throws a TypeError at, which would be taken for a fault of the network. */
function requestMethod(init: RequestInit): string {
  const refused = (option: string, why: string) =>
    new ConfigurationError("option_invalid", `${option} ${why}.`, { option });
  if (typeof init !== "object" || init === null) throw refused("init", "is no object");
  const method = String(init.method ?? "GET").toUpperCase();
  if (!methodName.test(method) || forbiddenMethods.includes(method))
    throw refused("method", "is none that a fetch takes");
  const hasBody = init.body !== undefined && init.body !== null;
  if (hasBody && (method === "GET" || method === "HEAD"))
    throw refused("body", `does not go with ${method}: give the method, such as "POST"`);
  return method;
}

function resolveUnderBase(input: unknown, { baseUrl }: Auth): string {
  const refused = (why: string) =>
    new ConfigurationError(
      "option_invalid",
      `The address given to fetch ${why}. Give a path relative to baseUrl, such as "v1/devices".`,
      { option: "input" },
    );
  if (typeof input !== "string" && !(input instanceof URL)) throw refused("is neither a text nor a URL");
  const text = String(input);
  const isAbsolute = /^[a-z][a-z0-9+.-]*:/i.test(text);
  let url: URL;
  try {
    url = new URL(isAbsolute ? text : `${baseUrl}/${text.replace(/^[/\\]+/, "")}`);
  } catch {
    throw refused("is no URL");
  }
  if (!isUnderBase(url, baseUrl)) throw refused("leads out of baseUrl, where the bearer must not go");
  return url.href;
}
