/** The loopback address that a login comes back to (RFC 8252 section 7.3), open for as long as the login is waited for. */
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ConfigurationError } from "../../errors.js";
import { anotherLogin, type LoginPage, loginPage, pageHeaders } from "./login-page.js";

/** A browser that came back, and waits for its page. */
export interface Callback {
  /** With its query. Holds the code. */
  readonly url: string;
  /** Resolves when the page was sent, or cannot be. */
  show(page: LoginPage): Promise<void>;
}

export interface CallbackListener {
  readonly redirectUri: string;
  /** The first callback with this state; those with another, forged or of an older login, change nothing. */
  callback(state: string, signal: AbortSignal): Promise<Callback>;
  /** Resolves when the port is free again. */
  close(): Promise<void>;
}

/** On the IP literal, not on `localhost`: that may resolve to another interface (RFC 8252 section 8.3). */
const host = "127.0.0.1";
const path = "/callback";

/**
 * `port` 0: a free one.
 *
 * @throws ConfigurationError `option_invalid` when it cannot listen there
 */
export async function listenForCallback(port: number): Promise<CallbackListener> {
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 });
  let take: ((url: URL, response: ServerResponse) => boolean) | undefined;
  server.on("request", ({ method, url = "", headers }, response) => {
    response.setHeader("connection", "close");
    // The Host too: a page of another name that resolves to this machine is not asked back.
    const isHere = headers.host === new URL(redirectUri).host;
    const at = isHere && URL.canParse(url, redirectUri) ? new URL(url, redirectUri) : undefined;
    if (method !== "GET" || !url.startsWith("/") || at?.host !== headers.host || at?.pathname !== path)
      response.writeHead(404, { "content-type": "text/plain" }).end("Not found.\n");
    else if (take?.(at, response) !== true) response.writeHead(404, pageHeaders).end(loginPage(anotherLogin));
  });
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new ConfigurationError("option_invalid", `Port ${port} cannot be listened on (${code}).`, {
      option: "--port",
      variant: "B",
      cause,
    });
  }
  const redirectUri = `http://${host}:${(server.address() as AddressInfo).port}${path}`;
  return {
    redirectUri,
    callback: (state, signal) =>
      new Promise((resolve, reject) => {
        const giveUp = () => reject(signal.reason);
        signal.addEventListener("abort", giveUp, { once: true });
        take = (url, response) => {
          const states = url.searchParams.getAll("state");
          if (states.length !== 1 || states[0] !== state) return false;
          // Once: whoever reloads the page comes too late.
          take = undefined;
          signal.removeEventListener("abort", giveUp);
          resolve({ url: url.href, show: (page) => show(page, response) });
          return true;
        };
        if (signal.aborted) giveUp();
      }),
    close: () => close(server),
  };
}

function show(page: LoginPage, response: ServerResponse): Promise<void> {
  if (response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    response.once("close", resolve);
    response.writeHead(page.isGood ? 200 : 400, pageHeaders).end(loginPage(page));
  });
}

async function close(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
