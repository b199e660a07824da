/**
 * The fetch of the command line: it goes through the proxies that HTTP_PROXY, HTTPS_PROXY and
 * NO_PROXY name.
 */
import type { RequestInfo, RequestInit as UndiciInit } from "undici";
import { ConfigurationError, TransportError } from "../errors.js";
import type { Fetch } from "../index.js";
import { defaultFetch, isLoopback, transportError } from "../internal.js";
import type { Environment } from "./output.js";

interface Proxy {
  readonly url: URL;
  /** The name of its variable. Messages show it instead of the URL, which may hold a password. */
  readonly variable: string;
}

/**
 * Lower-case names win, and without HTTPS_PROXY the proxy in HTTP_PROXY serves https too. If no
 * proxy is set, it returns undefined, so that undici is not loaded.
 * @throws ConfigurationError `option_invalid` for a variable that does not hold the URL of a proxy
 */
export function proxyFetch(env: Environment): Fetch | undefined {
  const http = readProxy(env, "HTTP_PROXY");
  const https = readProxy(env, "HTTPS_PROXY") ?? http;
  if (https === undefined) return undefined;
  let loading: Promise<Fetch> | undefined;
  return async (url, init) => {
    const target = new URL(url);
    const proxy = target.protocol === "https:" ? https : http;
    // A proxy on another machine would get the secrets in plain http, which is allowed on this
    // machine only.
    if (proxy === undefined || (isLoopback(target.hostname) && !isLoopback(proxy.url.hostname)))
      return defaultFetch(url, init);
    loading ??= load(http, https, env);
    const throughProxy = await loading;
    try {
      return await throughProxy(url, init);
    } catch (fault) {
      throw init?.signal?.aborted ? fault : proxyFault(fault, proxy, target);
    }
  };
}

async function load(http: Proxy | undefined, https: Proxy, env: Environment): Promise<Fetch> {
  const { EnvHttpProxyAgent, fetch } = await import("undici");
  const dispatcher = new EnvHttpProxyAgent({
    httpProxy: http?.url.href ?? "",
    httpsProxy: https.url.href,
    noProxy: env.no_proxy || env.NO_PROXY || "",
    // Plain http is forwarded, because many proxies open tunnels to port 443 only.
    proxyTunnel: false,
  });
  return async (url, init) =>
    (await fetch(url as RequestInfo, {
      ...(init as UndiciInit),
      dispatcher,
    })) as unknown as Response;
}

function readProxy(env: Environment, name: string): Proxy | undefined {
  const variable = env[name.toLowerCase()] ? name.toLowerCase() : name;
  const value = env[variable]?.trim();
  if (!value) return undefined;
  try {
    const url = new URL(/^[a-z][a-z\d+.-]*:\/\//i.test(value) ? value : `http://${value}`);
    decodeURIComponent(url.username + url.password);
    if (url.protocol === "http:" || url.protocol === "https:") return { url, variable };
  } catch {
    // The error below reports this without the value.
  }
  throw new ConfigurationError(
    "option_invalid",
    `${variable} must be the http or https URL of a proxy, such as http://proxy.example:3128.`,
    { option: variable },
  );
}

/**
 * The error of a request that may have gone through a proxy. It names the variable, never its
 * value.
 */
function proxyFault(fault: unknown, { url, variable }: Proxy, target: URL): unknown {
  const status = /^Proxy (?:response|Authentication Required) \((\d{3})\)/m.exec(
    messagesOf(fault),
  )?.[1];
  if (status !== undefined)
    return new TransportError(
      "network_failed",
      status === "407"
        ? `The proxy in ${variable} requires a user name and a password, or refuses those in ` +
            "its URL (407)."
        : `The proxy in ${variable} does not reach the deployment (${status}). ` +
            "Check the address, or name the host in NO_PROXY.",
      { retryable: Number(status) >= 500, cause: fault },
    );
  const error = transportError(fault, "A", target.origin);
  // With an http proxy, only the deployment has a certificate, so the proxy is not at fault.
  if (error.code === "tls_failed" && url.protocol === "http:") return fault;
  const { code, message: reason, retryable } = error;
  const hint =
    `If it goes through the proxy in ${variable}, check its URL (most use http), or ` +
    "name the host in NO_PROXY.";
  return new TransportError(code, `${reason} ${hint}`, { retryable, cause: fault });
}

/** The messages of an error and its causes, one on each line. */
function messagesOf(fault: unknown): string {
  return fault instanceof Error ? `${fault.message}\n${messagesOf(fault.cause)}` : "";
}
