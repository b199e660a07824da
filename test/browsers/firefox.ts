// Debian's Firefox ESR, driven by WebDriver BiDi (https://w3c.github.io/webdriver-bidi/) over its
// own WebSocket.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "ws";
import {
  asJson,
  type CookiePolicy,
  commandMs,
  type Driver,
  type Place,
  type Profile,
  type Tab,
} from "./driver.js";

/**
 * `network.cookie.cookieBehavior`. By default cookies of third parties are partitioned by the site
 * of the tab.
 */
const COOKIE_BEHAVIOR: Record<CookiePolicy, number> = { default: 5, "no third party": 1, never: 2 };

// biome-ignore lint/suspicious/noExplicitAny: each command of the protocol has a result of its own.
type Result = any;

interface Firefox {
  send(method: string, parameters?: object): Promise<Result>;
  /** What the console of any page has shown as an error. */
  readonly errors: string[];
  close(): Promise<void>;
}

export async function startFirefox(program: string): Promise<Driver> {
  const firefox = await launch(program);
  // Preferences are set by a script of the browser's own window, which the flag for system access
  // allows.
  const { contexts } = await firefox.send("browsingContext.getTree", { "moz:scope": "chrome" });
  const target = { context: contexts[0].context };
  return {
    lacks: {},
    async profile(cookies) {
      const expression =
        `Services.prefs.setIntPref("network.cookie.cookieBehavior", ` +
        `${COOKIE_BEHAVIOR[cookies]})`;
      await firefox.send("script.evaluate", { expression, target, awaitPromise: false });
      return profileOf(firefox);
    },
    close: firefox.close,
  };
}

async function launch(program: string): Promise<Firefox> {
  const folder = mkdtempSync(join(tmpdir(), "bivariant-firefox-"));
  const preferences = {
    // A page may open a window without a click.
    "dom.disable_open_during_load": false,
    "browser.shell.checkDefaultBrowser": false,
    "datareporting.policy.dataSubmissionEnabled": false,
  };
  const lines = Object.entries(preferences).map(
    ([name, value]) => `user_pref("${name}", ${value});`,
  );
  writeFileSync(join(folder, "user.js"), lines.join("\n"));
  const flags = ["--headless", "--no-remote", "--profile", folder];
  flags.push("--remote-debugging-port", "0", "--remote-allow-system-access");
  const child = spawn(program, flags, { stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "close");
  let text = "";
  const address = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      const [, found] = /BiDi listening on (ws:\S+)/.exec(text) ?? [];
      if (found) resolve(found);
    });
    child.on("error", reject).on("close", () => reject(new Error(`Firefox ended: ${text}`)));
  });

  const socket = new WebSocket(`${address}/session`);
  await once(socket, "open");
  const waiting = new Map<number, (answer: Result) => void>();
  const errors: string[] = [];
  socket.on("message", (data) => {
    const message = JSON.parse(String(data));
    if (message.id) waiting.get(message.id)?.(message);
    else if (message.params.level === "error") errors.push(message.params.text);
  });
  let lastId = 0;
  const send = (method: string, params: object = {}): Promise<Result> =>
    new Promise((resolve, reject) => {
      lastId += 1;
      const timer = setTimeout(() => reject(new Error(`${method}: no answer`)), commandMs);
      waiting.set(lastId, ({ type, result, error, message }) => {
        clearTimeout(timer);
        type === "success" ? resolve(result) : reject(new Error(`${method}: ${error}: ${message}`));
      });
      socket.send(JSON.stringify({ id: lastId, method, params }));
    });
  await send("session.new", { capabilities: {} });
  await send("session.subscribe", { events: ["log.entryAdded"] });
  return {
    send,
    errors,
    async close() {
      socket.terminate();
      child.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function profileOf({ send, errors }: Firefox): Promise<Profile> {
  const { userContext } = await send("browser.createUserContext");
  errors.length = 0;
  const tabs = new Set<string>();

  /** `context` finds the browsing context anew for each evaluation. */
  function placeOf(context: () => Promise<string>): Place {
    const read = async (expression: string) => {
      const target = { context: await context() };
      const outcome = await send("script.evaluate", { expression, target, awaitPromise: true });
      if (outcome.type === "exception") throw new Error(outcome.exceptionDetails.text);
      return outcome.result.value;
    };
    return {
      evaluate: async (expression) => JSON.parse(await read(asJson(expression))),
      frame: (selector) =>
        placeOf(async () => {
          const found = await read(
            `document.querySelector(${JSON.stringify(selector)}).contentWindow`,
          );
          return found.context;
        }),
    };
  }

  function tabOf(context: string): Tab {
    tabs.add(context);
    const place = placeOf(async () => context);
    return {
      ...place,
      async goto(url) {
        await send("browsingContext.navigate", { context, url, wait: "complete" });
      },
      async cookies() {
        const { hostname } = new URL(await place.evaluate<string>("location.href"));
        const partition = { type: "storageKey", userContext };
        const found = await send("storage.getCookies", { partition, filter: { domain: hostname } });
        return found.cookies;
      },
    };
  }

  return {
    errors,
    async open(url) {
      const { context } = await send("browsingContext.create", { type: "tab", userContext });
      const tab = tabOf(context);
      await tab.goto(url);
      return tab;
    },
    async popup() {
      const { contexts } = await send("browsingContext.getTree", { maxDepth: 0 });
      const mine = contexts.find(
        (one: Result) => one.userContext === userContext && !tabs.has(one.context),
      );
      if (!mine) throw new Error("no window was opened");
      return tabOf(mine.context);
    },
    close: () => send("browser.removeUserContext", { userContext }),
  };
}
