/** A login from the command line: through the browser to the loopback address, and into the store. */
import { isLoginRequiredError, LoginRequiredError } from "../../errors.js";
import { beginLogin, completeLogin } from "../../index.js";
import type { Context } from "../context.js";
import { Progress } from "../progress.js";
import type { ConnectionSettings } from "../settings/read-settings.js";
import { type Callback, type CallbackListener, listenForCallback } from "./callback-listener.js";
import { authorizationEndpointOf, loginOptions } from "./login-options.js";
import { denied, loggedIn, notLoggedIn } from "./login-page.js";
import { cliPerson, openLoginStore, rememberLogin } from "./login-store.js";
import { openBrowser } from "./open-browser.js";

export interface LogInSettings {
  /** 0: a free one. */
  readonly port: number;
  readonly waitSeconds: number;
  readonly isBrowserWanted: boolean;
}

/** Never a token. */
export interface LoggedIn {
  readonly baseUrl: string;
  readonly tenantId: string;
  /** Epoch milliseconds: when its access token must be renewed, which happens without prompting. */
  readonly expiresAt: number;
  readonly file: string;
}

/**
 * Resolves when the login rests in the store.
 *
 * @throws LoginRequiredError `login_expired` when nobody comes in time; and every error of `completeLogin`
 */
export async function logIn(
  settings: ConnectionSettings,
  { port, waitSeconds, isBrowserWanted }: LogInSettings,
  context: Context,
): Promise<LoggedIn> {
  const { output, env, signal } = context;
  const progress = new Progress(output);
  const authorizationEndpoint = authorizationEndpointOf(settings);
  // Whatever is wrong with the settings or the store is told before anybody logs in.
  const ways = { env, onEvent: progress.onEvent };
  await loginOptions(settings, ways, { authorizationEndpoint });
  const opened = await openLoginStore(settings, env, { isMade: true });
  if (opened === undefined) throw new TypeError("a store that is made is there");
  const { store, file } = opened;
  const listener = await listenForCallback(port);
  try {
    const { redirectUri } = listener;
    const options = {
      ...(await loginOptions(settings, ways, { authorizationEndpoint, redirectUri })),
      store,
    };
    const { url, login } = await beginLogin(options);
    // Listened to before anybody is sent there.
    const waiting = waitFor(listener, login.state, waitSeconds, signal);
    waiting.catch(() => {});
    await sendPerson(url, isBrowserWanted, context);
    const callback = await progress.during("waiting for the login in the browser", () => waiting);
    try {
      const auth = await progress.during("waiting for a token", async () => {
        const done = await completeLogin({
          ...{ ...options, login, signal, person: cliPerson },
          callbackUrl: callback.url,
        });
        await rememberLogin(options, done);
        return done;
      });
      const { expiresAt } = await auth.getAccessToken({ signal });
      await callback.show(loggedIn);
      return { baseUrl: auth.baseUrl, tenantId: auth.tenantId, expiresAt, file };
    } catch (error) {
      await callback.show(
        isLoginRequiredError(error) && error.code === "login_denied" ? denied : notLoggedIn,
      );
      throw error;
    }
  } finally {
    await listener.close();
  }
}

async function waitFor(
  listener: CallbackListener,
  state: string,
  waitSeconds: number,
  signal: AbortSignal,
): Promise<Callback> {
  const ended = new AbortController();
  const interrupt = () => ended.abort(signal.reason);
  const timer = setTimeout(
    () =>
      ended.abort(new LoginRequiredError("login_expired", `Nobody logged in within ${waitSeconds} seconds.`)),
    1000 * waitSeconds,
  );
  signal.addEventListener("abort", interrupt, { once: true });
  if (signal.aborted) interrupt();
  try {
    return await listener.callback(state, ended.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", interrupt);
  }
}

/** The address is told in any case: a browser may open on another screen, or not at all. */
async function sendPerson(url: string, isBrowserWanted: boolean, { output, env }: Context): Promise<void> {
  const isOpened = isBrowserWanted && output.isTerminal && (await openBrowser(url, env));
  output.note(
    isOpened
      ? "Your browser opens to log in. If it does not, open this address on this machine:"
      : "To log in, open this address in a browser on this machine:",
  );
  output.raw(`${url}\n`);
}
