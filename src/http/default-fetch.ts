/** The fetch that is used unless the caller has one: the global one, save for plain http to names under localhost. */
import type { RequestInit as UndiciInit } from "undici";

type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/** Whether a host name stands for this machine (RFC 6761 section 6.3). Systems have `localhost` in their hosts file. */
export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|\[::1\]|127(?:\.\d{1,3}){3})$/.test(hostname) || isUnderLocalhost(hostname);
}

function isUnderLocalhost(hostname: string): boolean {
  return hostname.endsWith(".localhost");
}

const atStart = globalThis.fetch;
const addresses = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
] as const;

/**
 * Browsers resolve names under localhost to this machine, but Node asks DNS, whose answer may be another machine, which
 * would get the secrets in plain http. So for these names undici is told the addresses, unless a test tool has replaced
 * the global fetch. That one is looked up per call, so that it may be replaced later.
 */
export function defaultFetch(): Fetch {
  let pinned: Promise<Fetch> | undefined;
  return async (url, init) => {
    const asksDns = globalThis.fetch === atStart && globalThis.process?.versions?.node !== undefined;
    if (!asksDns || !url.startsWith("http://") || !isUnderLocalhost(new URL(url).hostname))
      return globalThis.fetch(url, init);
    pinned ??= pinnedFetch();
    return (await pinned)(url, init);
  };
}

async function pinnedFetch(): Promise<Fetch> {
  // The name is in a variable so that bundlers for browsers and workers, where this is not reached, leave it out.
  const name = "undici";
  const { Agent, fetch }: typeof import("undici") = await import(
    /* webpackIgnore: true */ /* @vite-ignore */ name
  );
  const dispatcher = new Agent({
    connect: {
      lookup: (_name, { all }, done) =>
        all ? done(null, [...addresses]) : done(null, addresses[0].address, addresses[0].family),
    },
  });
  return async (url, init) =>
    (await fetch(url, { ...(init as UndiciInit), dispatcher })) as unknown as Response;
}
