/** The one fetch of the command line: whatever the environment says of the way out is applied here. */
import type { Fetch } from "../variants/variant.js";

const proxyVariables = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] as const;

/**
 * A fetch that goes through the proxies that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name. Without them `undefined`: the
 * global one does, and undici need not be loaded.
 */
export function makeFetch(env: Readonly<Record<string, string | undefined>>): Fetch | undefined {
  if (proxyVariables.every((name) => !env[name])) return undefined;
  let client: Promise<Fetch> | undefined;
  return async (url, init) => {
    client ??= proxied(env);
    return (await client)(url, init);
  };
}

async function proxied(env: Readonly<Record<string, string | undefined>>): Promise<Fetch> {
  const { EnvHttpProxyAgent, fetch } = await import("undici");
  const httpProxy = env.http_proxy ?? env.HTTP_PROXY;
  const httpsProxy = env.https_proxy ?? env.HTTPS_PROXY;
  const noProxy = env.no_proxy ?? env.NO_PROXY;
  const dispatcher = new EnvHttpProxyAgent({
    ...(httpProxy ? { httpProxy } : {}),
    ...(httpsProxy ? { httpsProxy } : {}),
    ...(noProxy ? { noProxy } : {}),
  });
  type Undici = Parameters<typeof fetch>[1];
  return async (url, init) => (await fetch(url, { ...init, dispatcher } as Undici)) as unknown as Response;
}
