/** The loopback address that the browser comes back to (RFC 8252 section 7.3), and the page that it shows there. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ConfigurationError } from "../../errors.js";

/** A browser that came back and waits for its page. */
export interface Callback {
  /** The requested URL. Its query holds the code. */
  readonly url: string;
  /** Resolves when the page was sent or the browser has gone. */
  show(page: LoginPage): Promise<void>;
}

export interface CallbackListener {
  readonly redirectUri: string;
  /** Resolves with the first callback that has this state. Others, such as forged ones, change nothing. */
  callback(state: string, signal: AbortSignal): Promise<Callback>;
  /** Resolves when the port is free again. */
  close(): Promise<void>;
}

/** An IP literal, because `localhost` may resolve to another interface (RFC 8252 section 8.3). */
const host = "127.0.0.1";
const path = "/callback";

/** Listens on a port; 0 picks a free one. @throws ConfigurationError `option_invalid` if the port cannot be used */
export async function listenForCallback(port: number): Promise<CallbackListener> {
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 });
  let accept: ((url: URL, response: ServerResponse) => boolean) | undefined;
  server.on("request", ({ method, url = "", headers }, response) => {
    response.setHeader("connection", "close");
    // The Host is checked so that a foreign name that resolves to this machine (DNS rebinding) gets no answer.
    const isHere = headers.host === new URL(redirectUri).host;
    const target = isHere && URL.canParse(url, redirectUri) ? new URL(url, redirectUri) : undefined;
    if (method !== "GET" || target?.host !== headers.host || target?.pathname !== path)
      response.writeHead(404, { "content-type": "text/plain" }).end("Not found.\n");
    else if (accept?.(target, response) !== true)
      response.writeHead(404, pageHeaders).end(htmlOf(loginPages.another));
  });
  server.listen(port, host);
  await once(server, "listening").catch((cause: NodeJS.ErrnoException) => {
    const message = `Port ${port} cannot be listened on (${cause.code}). Choose another with --port.`;
    throw new ConfigurationError("option_invalid", message, { option: "--port", variant: "B", cause });
  });
  const redirectUri = `http://${host}:${(server.address() as AddressInfo).port}${path}`;
  return {
    redirectUri,
    callback: (state, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        accept = (url, response) => {
          const states = url.searchParams.getAll("state");
          if (states.length !== 1 || states[0] !== state) return false;
          // No second callback is accepted, because reloading the page sends the code again.
          accept = undefined;
          resolve({ url: url.href, show: (page) => show(page, response) });
          return true;
        };
        if (signal.aborted) reject(signal.reason);
      }),
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function show(page: LoginPage, response: ServerResponse): Promise<void> {
  if (response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    response.once("close", resolve);
    response.writeHead(page === loginPages.done ? 200 : 400, pageHeaders).end(htmlOf(page));
  });
}

/** The title and the sentence below it. */
type LoginPage = readonly [string, string];

export const loginPages = {
  done: ["You are logged in", "You can close this window and go back to the terminal."],
  failed: [
    "The login failed",
    "The terminal shows the reason. Close this window and run bivariant login again.",
  ],
  denied: [
    "The login was denied",
    "Nothing was granted. Close this window. To try again, run bivariant login in the terminal.",
  ],
  another: [
    "This is not the expected login",
    "This answer belongs to another login. Close this window and open the address that the terminal shows.",
  ],
} as const;

const style = `:root{color-scheme:light dark}
body{margin:0;min-height:100vh;display:grid;place-items:center;font:1rem/1.5 system-ui,sans-serif;text-align:center}`;

/** The address of the page holds the code, so the page loads nothing, runs nothing and sends no referrer. */
const pageHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** Takes only the pages above, so that the browser shows nothing that came over the network. */
function htmlOf([title, text]: LoginPage): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${title}</title>
<style>${style}</style>
<main><h1>${title}</h1><p>${text}</p></main>
`;
}
