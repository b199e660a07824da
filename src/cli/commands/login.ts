/**
 * `bivariant login`: a person logs in to Variant B in the browser, and later commands act for that
 * person.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Command } from "commander";
import { ConfigurationError, isLoginRequiredError, LoginRequiredError } from "../../errors.js";
import { beginLogin, completeLogin, type PersonAuth } from "../../index.js";
import { portOption, wholeNumber } from "../arguments.js";
import { hasOwnLoginClient } from "../credentials.js";
import type { Environment } from "../output.js";
import type { Context } from "../run.js";
import { addSettings, loginSettings, namesOf, readSettings, type Settings } from "../settings.js";
import {
  cliPerson,
  createLoginStore,
  forgetLogin,
  loginOptions,
  openLoginStore,
  rememberLogin,
  storePath,
} from "../stored-login.js";

interface LoginFlags {
  readonly port: number;
  readonly waitSeconds: number;
  readonly browser: boolean;
  readonly logout?: true;
}

export function define(command: Command, context: Context): void {
  const seconds = wholeNumber(1, 86_400, "a whole number of seconds");
  command
    .addOption(portOption())
    .option("--wait-seconds <seconds>", "how long to wait for the login", seconds, 300)
    .option("--no-browser", "only print the address to open")
    .option("--logout", "delete the stored login instead");
  addSettings(command, loginSettings, context)
    .action(async (flags: LoginFlags) => {
      const settings = await readSettings(command, context);
      await (flags.logout ? logOut(settings, context) : logIn(settings, flags, context));
    })
    .addHelpText(
      "after",
      `
Example:
  $ bivariant login --base-url https://customer.example \\
      --b-login-client-id portal --authorization-endpoint /v1/auth/authorize
  $ bivariant call listDevices --login --base-url https://customer.example \\
      --b-login-client-id portal
  $ bivariant login --logout --base-url https://customer.example \\
      --b-login-client-id portal

Register the API client with the redirect URI http://127.0.0.1/callback, on any
port. If the deployment requires a fixed port, choose it with --port. The
browser is opened if stdout is a terminal; the address is always printed on
stderr. If the API client has a secret, pass --b-login-client-secret-file.
Without settings for it, --b-client-id and its secret are those of the API
client.

Only Variant B has logins, so this command takes no --variant. The tenant id is
a local name here: it is not sent, and keeps the logins of several tenants
apart. If a plugin is configured too, the other commands need the tenant id to
ask which variant is served; with --variant B or --login they do not ask.

One login is stored for each base URL, tenant and client id: use the same ones
with the other commands. They are encrypted with a key of your own, or else one
in <store file>.key, which every program that can read your files can read. A
logout deletes the login here, without telling the deployment.

With --json: { "variant", "base_url", "tenant", "expires_at", "store_file" },
with expires_at of the first access token in epoch milliseconds; with --logout {
"forgotten", "store_file" }. Never a token.`,
    );
}

async function logOut(settings: Settings, { output }: Context) {
  const options = await loginOptions(settings);
  const store = await openLoginStore(settings);
  const isForgotten = store !== undefined && (await forgetLogin({ ...options, store }));
  if (output.json) output.value({ forgotten: isForgotten, store_file: storePath(settings) });
  else
    output.lines(isForgotten ? "Logged out: the stored login is deleted." : "No login was stored.");
}

/**
 * @throws LoginRequiredError `login_expired` if the person does not log in in time; every error of
 * `completeLogin`
 */
async function logIn(settings: Settings, flags: LoginFlags, context: Context) {
  const { output, signal } = context;
  const listener = await listenForCallback(flags.port);
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  try {
    const addresses = {
      // If it is undefined, the library reports that it is missing.
      authorizationEndpoint: settings.authorizationEndpoint as string,
      redirectUri: listener.redirectUri,
      issuer: settings.issuer,
    };
    // Wrong settings and an unusable store are reported before the person logs in.
    const client = await loginOptions(settings, output.onEvent, addresses);
    const person = { ...client, store: await createLoginStore(settings) };
    const { clientId: _, clientSecret: __, ...options } = person;
    const { url, login } = await beginLogin(options);
    const opensBrowser = flags.browser && output.isTerminal;
    if (opensBrowser) openBrowser(url, settings.env);
    output.note(
      opensBrowser
        ? "Your browser opens for the login. If it does not, open this address on this machine:"
        : "To log in, open this address in a browser on this machine:",
    );
    // The address is always printed, because the browser may open on another screen.
    output.say(url);
    const message = `The login did not happen within ${flags.waitSeconds} seconds.`;
    const expire = () => late.abort(new LoginRequiredError("login_expired", message));
    timer = setTimeout(expire, 1000 * flags.waitSeconds);
    const callback = await output.during("waiting for the login in the browser", () =>
      listener.callback(login.state, AbortSignal.any([signal, late.signal])),
    );
    try {
      const auth = await output.during("waiting for a token", () =>
        completeLogin({ ...options, login, signal, person: cliPerson, callbackUrl: callback.url }),
      );
      await rememberLogin(person, auth);
      const { expiresAt } = await auth.getAccessToken({ signal });
      await callback.show(loginPages.done);
      reportLogin(auth, expiresAt, settings, context);
    } catch (error) {
      const isDenied = isLoginRequiredError(error) && error.code === "login_denied";
      await callback.show(isDenied ? loginPages.denied : loginPages.failed);
      throw error;
    }
  } finally {
    clearTimeout(timer);
    await listener.close();
  }
}

/**
 * Programs that open an address. `start` of Windows is a command of the shell, which would
 * interpret `&`.
 */
const openers: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/**
 * Starts the program that opens the address. Other users can see the address in the process list,
 * but cannot use it, because the code needs the verifier, which only this process has (RFC 7636
 * section 1).
 */
function openBrowser(url: string, env: Environment): void {
  const [program, ...args] = openers[process.platform] ?? ["xdg-open"];
  const withoutSecrets = Object.entries(env).filter(([name]) => !name.startsWith("BIVARIANT_"));
  const child = spawn(program, [...args, url], {
    env: Object.fromEntries(withoutSecrets),
    stdio: "ignore",
    detached: true,
  });
  // Without such a program the person opens the printed address.
  child.on("error", () => {});
  // The program may run as long as the browser, and this process must not wait for it.
  child.unref();
}

function reportLogin(
  auth: PersonAuth<"B">,
  expiresAt: number,
  settings: Settings,
  context: Context,
): void {
  const { output } = context;
  const { baseUrl } = auth;
  const tenant = auth.tenantId || null;
  const file = storePath(settings);
  if (output.json)
    output.value({
      variant: "B",
      base_url: baseUrl,
      tenant,
      expires_at: expiresAt,
      store_file: file,
    });
  else
    output.lines(
      `${output.paint("green", "Logged in")} to ` +
        `${baseUrl}${tenant === null ? "" : `, tenant ${tenant}`}.`,
      `The login is stored in ${file}.`,
    );
  if ((settings.bClientSecret ?? settings.bClientSecretFile) === undefined) return;
  const note =
    "While the client secret of a service account is set, call and token use that account. " +
    "Pass --login to use this login.";
  output.note(
    hasOwnLoginClient(settings)
      ? note
      : `${note} If the secret is that of the API client, set ${namesOf("bLoginClientId")} and ` +
          `${namesOf("bLoginClientSecretFile")} instead.`,
  );
}

/** An IP literal, because `localhost` may resolve to another interface (RFC 8252 section 8.3). */
const host = "127.0.0.1";
const path = "/callback";

/** A browser that came back and waits for its page. */
interface Callback {
  /** The requested URL. Its query holds the code. */
  readonly url: string;
  /** Resolves when the page was sent or the browser has gone. */
  show(page: LoginPage): Promise<void>;
}

export interface CallbackListener {
  readonly redirectUri: string;
  /**
   * Resolves with the first callback that has this state. Others, such as forged ones, change
   * nothing.
   */
  callback(state: string, signal: AbortSignal): Promise<Callback>;
  /** Resolves when the port is free again. */
  close(): Promise<void>;
}

/**
 * Listens on the loopback address that the browser comes back to (RFC 8252 section 7.3).
 *
 * @throws ConfigurationError `option_invalid` if the port cannot be used
 */
export async function listenForCallback(port: number): Promise<CallbackListener> {
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 });
  let accept: ((url: URL, response: ServerResponse) => boolean) | undefined;
  server.on("request", ({ method, url = "", headers }, response) => {
    response.setHeader("connection", "close");
    // The Host is checked so that a foreign name that resolves to this machine (DNS rebinding) gets
    // no answer.
    const isHere = headers.host === new URL(redirectUri).host;
    const target = isHere && URL.canParse(url, redirectUri) ? new URL(url, redirectUri) : undefined;
    if (method !== "GET" || target?.pathname !== path)
      response.writeHead(404, { "content-type": "text/plain" }).end("Not found.\n");
    else if (accept?.(target, response) !== true)
      response.writeHead(404, pageHeaders).end(htmlOf(loginPages.another));
  });
  server.listen(port, host);
  await once(server, "listening").catch((cause: NodeJS.ErrnoException) => {
    const message = `Port ${port} cannot be listened on (${cause.code}). Choose another with --port.`;
    throw new ConfigurationError("option_invalid", message, {
      option: "--port",
      variant: "B",
      cause,
    });
  });
  const redirectUri = `http://${host}:${(server.address() as AddressInfo).port}${path}`;
  return {
    redirectUri,
    callback: (state, signal) =>
      new Promise<Callback>((resolve, reject) => {
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

async function show(page: LoginPage, response: ServerResponse) {
  if (response.destroyed) return;
  await new Promise((resolve) => {
    response.once("close", resolve);
    response
      .writeHead(page === loginPages.failed || page === loginPages.denied ? 400 : 200, pageHeaders)
      .end(htmlOf(page));
  });
}

/** The title and the sentence below it. */
type LoginPage = readonly [string, string];

export const loginPages = {
  done: ["You are logged in", "You can close this window and go back to the terminal."],
  failed: ["The login failed", "The terminal shows the reason. Run bivariant login again."],
  denied: ["The login was denied", "Nothing was granted. To try again, run bivariant login."],
  arrived: ["The answer has arrived", "You can close this window and go back to the terminal."],
  another: ["This is not the expected login", "Open the address that the terminal shows."],
} as const;

const style = `:root{color-scheme:light dark}
body{margin:0;min-height:100vh;display:grid;place-items:center;font:1rem/1.5 system-ui,sans-serif;text-align:center}`;

/**
 * The address of the page holds the code, so the page loads nothing, runs nothing and sends no
 * referrer.
 */
const pageHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; style-src " +
    `'sha256-${createHash("sha256").update(style).digest("base64")}'; img-src data:; ` +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
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
