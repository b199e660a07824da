/** The one fetch of the command line: whatever the environment says of the way out is applied here. */
import { TransportError } from "../errors.js";
import { transportError } from "../http/time-limit.js";
import type { Fetch } from "../variants/target.js";
import { type ProxyOnTheWay, readProxies } from "./proxy-environment.js";

/**
 * A fetch that goes through the proxies that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name. Without them `undefined`: the
 * global one does, and undici need not be loaded. A fault on the way names the variable that names the proxy.
 *
 * @throws ConfigurationError `option_invalid` for a variable that names no proxy
 */
export function makeFetch(env: Readonly<Record<string, string | undefined>>): Fetch | undefined {
  const proxyOf = readProxies(env);
  if (proxyOf === undefined) return undefined;
  const fetches = new Map<string, Promise<Fetch>>();
  return async (url, init) => {
    const proxy = proxyOf(new URL(url));
    if (proxy === undefined) return globalThis.fetch(url, init);
    const { href } = proxy.url;
    const through = fetches.get(href) ?? fetchThrough(proxy);
    fetches.set(href, through);
    try {
      return await (await through)(url, init);
    } catch (fault) {
      throw init?.signal?.aborted ? fault : proxyFault(fault, proxy);
    }
  };
}

async function fetchThrough({ url }: ProxyOnTheWay): Promise<Fetch> {
  const { ProxyAgent, fetch } = await import("undici");
  const { username, password } = url;
  const dispatcher = new ProxyAgent({
    uri: url.origin,
    // Plain http is forwarded: many proxies open tunnels to port 443 only.
    proxyTunnel: false,
    ...(username === "" ? {} : { token: basic(username, password) }),
  });
  type Init = Parameters<typeof fetch>[1];
  return async (to, init) => (await fetch(to, { ...init, dispatcher } as Init)) as unknown as Response;
}

/** RFC 7617: a user name alone has an empty password. */
function basic(username: string, password: string): string {
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}

/** What is thrown instead of a fault on the way to or through a proxy. Names its variable, never its URL. */
function proxyFault(fault: unknown, { url, variable }: ProxyOnTheWay): unknown {
  const way = `the proxy that ${variable} names`;
  const status = refusalOfProxy(fault);
  if (status !== undefined) {
    const message =
      status === 407
        ? `${capital(way)} asks for a user name and a password, or refuses those in its URL (407).`
        : status < 500
          ? `${capital(way)} opens no way to the deployment (${status}). Look at ${variable}, or name the host in NO_PROXY.`
          : `${capital(way)} does not reach the deployment (${status}). Check the address, or name the host in NO_PROXY.`;
    return new TransportError("network_failed", message, { retryable: status >= 500, cause: fault });
  }
  const { code, cause } = transportError(fault, "A", url.origin);
  // Through a proxy that is spoken to by http the only certificate is the deployment's.
  if (code === "tls_failed" && url.protocol === "http:") return fault;
  const told = systemCodeOf(cause);
  const failed = `failed before an answer came${told === undefined ? "" : ` (${told})`}`;
  return code === "tls_failed"
    ? new TransportError(
        code,
        `The secure connection ${failed}, to ${way} or to the deployment behind it. Most proxies are spoken to by http, for https deployments too: look at the URL in ${variable}.`,
        { retryable: false, cause: fault },
      )
    : new TransportError(
        code,
        `The request ${failed}. It goes through ${way}: look at ${variable}, or name the host in NO_PROXY.`,
        { retryable: true, cause: fault },
      );
}

/** The status of a proxy that answered something else than the deployment's answer; undici tells it in its message. */
function refusalOfProxy(fault: unknown): number | undefined {
  for (let at = fault, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const told = /^Proxy (?:response|Authentication Required) \((\d{3})\)/.exec(at.message)?.[1];
    if (told !== undefined) return Number(told);
  }
  return undefined;
}

function systemCodeOf(cause: unknown): string | undefined {
  for (let at = cause, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const { code } = at as NodeJS.ErrnoException;
    if (code !== undefined) return code;
  }
  return undefined;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
