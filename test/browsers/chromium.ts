// Drives Chromium by playwright-core. Each profile is a process of its own, since its preferences
// say which cookies it accepts.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Frame, type Page } from "playwright-core";
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
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

export async function startChromium(executablePath: string): Promise<Driver> {
  return {
    lacks: {
      "a setting that blocks partitioned cookies":
        "partitioned cookies are kept where others of third parties are not",
    },
    profile: (cookies) => profileWith(executablePath, cookies),
    close: async () => {},
  };
}
