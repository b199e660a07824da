// A real headless Chromium for the tests that need one. If none is installed, they are skipped with
// a message.
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe } from "vitest";

const candidates = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];
export const executablePath: string | undefined = candidates.find(
  (path) => path !== undefined && path !== "" && existsSync(path),
);

/** The last one blocks third-party cookies, as people's browsers do. */
const args = ["--no-sandbox", "--disable-dev-shm-usage", "--test-third-party-cookie-phaseout"];

/**
 * Describes tests that share one browser. Each opens a context of its own, so that they share no
 * storage.
 */
export function describeInChromium(title: string, tests: (browser: () => Browser) => void): void {
  if (executablePath === undefined) {
    console.warn(
      `skipped: "${title}" needs Chromium (Debian: apt-get install chromium; ` +
        "or name one in CHROMIUM)",
    );
    describe.skip(title, () => tests(() => undefined as never));
    return;
  }
  describe(title, () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await chromium.launch({ executablePath, args });
    });
    afterAll(() => browser?.close());
    tests(() => browser);
  });
}
