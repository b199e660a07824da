// Drives Chromium by playwright-core. Each profile is a process of its own, since its preferences
// say which cookies it accepts.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Browser,
  type BrowserContext,
  chromium,
  type Frame,
  type Page,
} from "playwright-core";
import {
  asJson,
  type CookiePolicy,
  type Driver,
  type Place,
  type Profile,
  type Tab,
} from "./driver.js";

const [allow, block] = [1, 2];

function placeOf(frame: () => Promise<Frame>): Place {
  return {
    evaluate: async (expression) => JSON.parse(await (await frame()).evaluate(asJson(expression))),
    frame: (selector) =>
      placeOf(async () => {
        const found = await (await (await frame()).$(selector))?.contentFrame();
        if (!found) throw new Error(`${selector} is not a frame`);
        return found;
      }),
  };
}

async function profileWith(executablePath: string, cookies: CookiePolicy): Promise<Profile> {
  const folder = mkdtempSync(join(tmpdir(), "bivariant-chromium-"));
  mkdirSync(join(folder, "Default"));
  const profile = {
    default_content_setting_values: { cookies: cookies === "never" ? block : allow },
    cookie_controls_mode: cookies === "no third party" ? 1 : 0,
  };
  writeFileSync(join(folder, "Default/Preferences"), JSON.stringify({ profile }));
  const args = ["--no-sandbox", "--disable-dev-shm-usage"];
  if (cookies === "no third party") args.push("--test-third-party-cookie-phaseout");
  const context = await chromium.launchPersistentContext(folder, { executablePath, args });
  return profileOf(context, () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
}

function profileOf(context: BrowserContext, afterwards: () => void = () => {}): Profile {
  const errors: string[] = [];
  context.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  const known = new Set(context.pages());

  function tabOf(page: Page): Tab {
    known.add(page);
    return {
      ...placeOf(async () => page.mainFrame()),
      goto: async (url) => void (await page.goto(url)),
      cookies: () => context.cookies(page.url()),
    };
  }

  return {
    errors,
    async open(url) {
      const tab = tabOf(await context.newPage());
      await tab.goto(url);
      return tab;
    },
    async popup() {
      const page = context.pages().find((one) => !known.has(one));
      if (page === undefined) throw new Error("no window was opened");
      return tabOf(page);
    },
    async close() {
      await context.close();
      afterwards();
    },
  };
}

/**
 * With a `browser` that blocks the cookies of third parties, a process is started only for profiles
 * that accept none at all.
 */
export async function startChromium(executablePath: string, browser?: Browser): Promise<Driver> {
  return {
    lacks: {
      "a setting that blocks partitioned cookies":
        "partitioned cookies are kept where others of third parties are not",
    },
    profile: async (cookies) =>
      browser === undefined || cookies === "never"
        ? profileWith(executablePath, cookies)
        : profileOf(await browser.newContext()),
    close: async () => {},
  };
}
