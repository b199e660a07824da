// The page of a run in a real browser: on a phone, on paper, light and dark, and examined by
// axe-core.
import { expect, test } from "vitest";
import { htmlReport, junitReport } from "../../src/contract/index.js";
import { expectAccessible } from "../support/accessible.js";
import { describeInChromium } from "../support/chromium.js";
import { about, results } from "./results.js";
import { createRig } from "./rig.js";

describeInChromium("the page of a contract run", (browser) => {
  /** Opens the page of made results, or of a run against an emulator without one of its rules. */
  async function open(width: number, options: object = {}, shown = results) {
    const page = await browser().newPage({ viewport: { width, height: 900 }, ...options });
    const problems: string[] = [];
    page.on("console", (message) => problems.push(message.text()));
    page.on("request", ({ url }) => void (url().startsWith("data:") || problems.push(url())));
    await page.setContent(htmlReport(shown, about));
    return { page, problems };
  }

  test.each([
    { width: 1280, colorScheme: "light" },
    { width: 390, colorScheme: "dark" },
  ] as const)(
    "has nothing serious for axe-core at $width px, $colorScheme",
    async ({ width, colorScheme }) => {
      const rig = createRig({ rules: { "token-request.media-type": false } });
      const shown = [...(await rig.run()).values()];
      for (const list of [results, shown]) {
        const { page, problems } = await open(width, { colorScheme }, list);
        await expectAccessible(page);
        expect(problems).toEqual([]);
        await page.close();
      }
    },
  );

  test("shows closed cases in print, on white", async () => {
    const { page } = await open(800, { colorScheme: "dark" });
    const closed = page.locator("details:not([open]) dl").first();
    const isShown = () =>
      closed.evaluate((list) => list.checkVisibility({ contentVisibilityAuto: true }));
    expect(await isShown()).toBe(false);
    await page.emulateMedia({ media: "print" });
    expect(await isShown()).toBe(true);
    const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(ground).toBe("rgb(255, 255, 255)");
    await page.close();
  });

  test("and the JUnit file is well-formed XML, whatever a server sent", async () => {
    const { page } = await open(800);
    const tests = await page.evaluate(
      (xml) => {
        const parsed = new DOMParser().parseFromString(xml, "text/xml");
        return (
          parsed.querySelector("parsererror")?.textContent ??
          parsed.querySelectorAll("testcase").length
        );
      },
      junitReport(results, about),
    );
    expect(tests).toBe(results.length);
    await page.close();
  });
});
