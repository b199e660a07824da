// Debian's WebKitGTK: MiniBrowser on a display of Xvfb, driven by WebDriver
// (https://www.w3.org/TR/webdriver2/).
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { vi } from "vitest";
import { freePort } from "../support/recording-server.js";
import {
  asJson,
  type CookiePolicy,
  commandMs,
  type Driver,
  type Place,
  type Profile,
  type Tab,
} from "./driver.js";

const POLICY: Record<CookiePolicy, string[]> = {
  default: [],
  "no third party": ["--cookies-policy=no-third-party"],
  never: ["--cookies-policy=never"],
};

// biome-ignore lint/suspicious/noExplicitAny: each command of the protocol has a result of its own.
type Send = (method: "GET" | "POST" | "DELETE", path: string, body?: object) => Promise<any>;

export interface WebKitPrograms {
  readonly driver: string;
  readonly browser: string;
  readonly xvfb: string;
}

export async function startWebKit({ driver, browser, xvfb }: WebKitPrograms): Promise<Driver> {
  const display = spawn(
    xvfb,
    ["-displayfd", "3", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"],
    { stdio: ["ignore", "ignore", "ignore", "pipe"] },
  );
  const [number] = await once(display.stdio[3] as Readable, "data");
  const environment = {
    DISPLAY: `:${String(number).trim()}`,
    GDK_BACKEND: "x11",
    NO_AT_BRIDGE: "1",
  };

  /**
   * A driver of its own for each profile, which ends with its browsers, also if one of them hangs.
   */
  async function startDriver(): Promise<{ readonly send: Send; end(): Promise<void> }> {
    const port = await freePort("127.0.0.1");
    const child = spawn(driver, [`--port=${port}`], {
      env: { ...process.env, ...environment },
      stdio: "ignore",
      detached: true,
    });
    const ended = once(child, "close");
    const send: Send = async (method, path, body) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(commandMs),
      });
      const { value } = (await response.json()) as {
        value: { error?: string; message?: string } | null;
      };
      if (!response.ok) throw new Error(`${path}: ${value?.error}: ${value?.message}`);
      return value;
    };
    await vi.waitFor(() => send("GET", "/status"), { timeout: 20_000 });
    return {
      send,
      async end() {
        process.kill(-(child.pid ?? 0), "SIGKILL");
        await ended;
      },
    };
  }

  return {
    lacks: {
      console: "WebKitWebDriver has no events, and a session of automation prints no console",
      "secure cookies over http": "WebKit keeps a Secure cookie only over https, on loopback too",
      "partitioned cookies": "they are Secure, and the test sites are plain http",
    },
    async profile(cookies) {
      const { send, end } = await startDriver();
      // A page may open a window without a click.
      const args = [
        "--automation",
        "--javascript-can-open-windows-automatically=true",
        ...POLICY[cookies],
      ];
      const options = { "webkitgtk:browserOptions": { binary: browser, args } };
      const { sessionId } = await send("POST", "/session", {
        capabilities: { alwaysMatch: options },
      });
      return profileOf(
        (method, path, body) => send(method, `/session/${sessionId}${path}`, body),
        end,
      );
    },
    async close() {
      display.kill();
      await once(display, "close");
    },
  };
}

async function profileOf(send: Send, end: () => Promise<void>): Promise<Profile> {
  const first: string = await send("GET", "/window");
  const tabs = new Set<string>();

  /** WebDriver has one current frame, which each evaluation enters from the top. */
  function placeOf(handle: string, selectors: readonly string[]): Place {
    return {
      async evaluate(expression) {
        await send("POST", "/window", { handle });
        await send("POST", "/frame", { id: null });
        for (const value of selectors)
          await send("POST", "/frame", {
            id: await send("POST", "/element", { using: "css selector", value }),
          });
        const script = `const [done] = arguments;
          ${asJson(expression)}.then((value) => done({ value }), (error) => done({ error: String(error) }))`;
        const { value, error } = await send("POST", "/execute/async", { script, args: [] });
        if (error) throw new Error(error);
        return JSON.parse(value);
      },
      frame: (selector) => placeOf(handle, [...selectors, selector]),
    };
  }

  function tabOf(handle: string): Tab {
    tabs.add(handle);
    const enter = () => send("POST", "/window", { handle });
    return {
      ...placeOf(handle, []),
      async goto(url) {
        await enter();
        await send("POST", "/url", { url });
      },
      async cookies() {
        await enter();
        await send("POST", "/frame", { id: null });
        return send("GET", "/cookie");
      },
    };
  }

  return {
    errors: [],
    async open(url) {
      const tab = tabOf(
        tabs.size === 0 ? first : (await send("POST", "/window/new", { type: "tab" })).handle,
      );
      await tab.goto(url);
      return tab;
    },
    async popup() {
      const handles: string[] = await send("GET", "/window/handles");
      const handle = handles.find((one) => !tabs.has(one));
      if (handle === undefined) throw new Error("no window was opened");
      return tabOf(handle);
    },
    close: end,
  };
}
