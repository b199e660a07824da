// Chromium, Firefox and WebKit make the same journeys. What long tests beside the code check in
// Chromium alone is not repeated.
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe } from "vitest";
import { executablePath } from "../support/chromium.js";
import { startChromium } from "./chromium.js";
import type { Driver } from "./driver.js";
import { startFirefox } from "./firefox.js";
import { pageJourneys } from "./journeys.js";
import { shownPages } from "./pages.js";
import { startWebKit } from "./webkit.js";

/** The first path that exists, of which one may be named in the environment. */
function program(named: string | undefined, ...paths: string[]): string | undefined {
  return [named, ...paths].find((path) => path && existsSync(path));
}

/**
 * Describes the journeys in a browser, or skips them with a message if one of its programs is
 * missing.
 */
function describeIn(
  name: string,
  needs: string,
  programs: readonly (string | undefined)[],
  start: (...programs: [string, ...string[]]) => Promise<Driver>,
): void {
  const isMissing = programs.includes(undefined);
  if (isMissing) console.warn(`skipped: "${name}" needs ${needs}`);
  // A browser now and then loses a command or a window on a busy machine: a journey begins anew
  // then, in a new profile.
  describe.skipIf(isMissing)(name, { retry: 2, timeout: 90_000 }, () => {
    let driver: Driver;
    beforeAll(async () => {
      driver = await start(...(programs as [string, ...string[]]));
    });
    afterAll(() => driver?.close());
    pageJourneys(() => driver);
    shownPages(() => driver);
  });
}

describeIn(
  "Chromium",
  "Chromium (Debian: apt-get install chromium; or name one in CHROMIUM)",
  [executablePath],
  (program) => startChromium(program),
);
describeIn(
  "Firefox",
  "Firefox (Debian: apt-get install firefox-esr; or name one in FIREFOX)",
  [program(process.env.FIREFOX, "/usr/bin/firefox-esr", "/usr/bin/firefox")],
  startFirefox,
);
const library = `/usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu`;
describeIn(
  "WebKit",
  "WebKitGTK (Debian: apt-get install webkit2gtk-driver xvfb; " +
    "or name a MiniBrowser in WEBKIT_BROWSER)",
  [
    program(process.env.WEBKIT_DRIVER, "/usr/bin/WebKitWebDriver"),
    program(
      process.env.WEBKIT_BROWSER,
      `${library}/webkit2gtk-4.1/MiniBrowser`,
      `${library}/webkit2gtk-4.0/MiniBrowser`,
    ),
    program(process.env.XVFB, "/usr/bin/Xvfb"),
  ],
  (driver, browser = "", xvfb = "") => startWebKit({ driver, browser, xvfb }),
);
