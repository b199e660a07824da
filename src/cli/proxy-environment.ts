/** Which proxy a request goes through, by HTTP_PROXY, HTTPS_PROXY and NO_PROXY, read as curl reads them. */
import { ConfigurationError } from "../errors.js";

export interface ProxyOnTheWay {
  readonly url: URL;
  /** The name of the variable that names it, for messages: its value may hold a password. */
  readonly variable: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Gives a function that names the proxy for a URL, or nothing where no proxy is set. Lower-case names win. A variable
 * that is set but empty counts as not set.
 *
 * @throws ConfigurationError `option_invalid`; it names the variable, never its value
 */
export function readProxies(env: Environment): ((url: URL) => ProxyOnTheWay | undefined) | undefined {
  const proxies = { "http:": readProxy(env, "HTTP_PROXY"), "https:": readProxy(env, "HTTPS_PROXY") };
  if (proxies["http:"] === undefined && proxies["https:"] === undefined) return undefined;
  const exemptions = (env.no_proxy || env.NO_PROXY || "").toLowerCase().split(/[\s,]+/);
  return (url) => {
    const proxy = proxies[url.protocol as keyof typeof proxies];
    if (proxy === undefined || exemptions.some((one) => isExempt(url, one))) return undefined;
    // Plain http is taken to this machine alone: a proxy elsewhere would carry the secrets over the network.
    return isLoopback(url) && !isLoopback(proxy.url) ? undefined : proxy;
  };
}

function readProxy(env: Environment, name: "HTTP_PROXY" | "HTTPS_PROXY"): ProxyOnTheWay | undefined {
  const variable = env[name.toLowerCase()] ? name.toLowerCase() : name;
  const value = env[variable]?.trim();
  if (!value) return undefined;
  const invalid = (why: string) =>
    new ConfigurationError(
      "option_invalid",
      `${variable} ${why}. Give the URL of a proxy, such as http://proxy.example:3128.`,
      { option: variable },
    );
  let url: URL;
  try {
    url = new URL(/^[a-z][a-z\d+.-]*:\/\//i.test(value) ? value : `http://${value}`);
    decodeURIComponent(url.username + url.password);
  } catch {
    throw invalid("is no URL");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw invalid("names a proxy that speaks neither http nor https");
  return { url, variable };
}

/** `*`, `example.com`, `.example.com`, `*.example.com`, `[::1]` or `::1`, each with or without a port. */
function isExempt({ protocol, hostname, port }: URL, exemption: string): boolean {
  if (exemption === "" || exemption === "*") return exemption === "*";
  const [, name = "", itsPort] = /^\[([^\]]*)\](?::(\d+))?$/.exec(exemption) ??
    /^([^:]*):(\d+)$/.exec(exemption) ?? ["", exemption];
  if (itsPort !== undefined && itsPort !== (port || (protocol === "https:" ? "443" : "80"))) return false;
  const domain = name.replace(/^\*?\./, "");
  const host = hostname.replace(/^\[|\]$/g, "");
  return domain !== "" && (host === domain || host.endsWith(`.${domain}`));
}

function isLoopback({ hostname }: URL): boolean {
  return /^(?:.*\.)?localhost$|^\[::1\]$|^127(?:\.\d{1,3}){3}$/.test(hostname);
}
