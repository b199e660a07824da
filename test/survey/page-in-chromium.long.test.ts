// The page of a survey in a real browser: on a phone, light and dark, filtered, and examined by
// axe-core. Its print is that of the page of a contract run, which test/contract examines.
import { afterAll, expect, test } from "vitest";
import { resultsPage, type SurveyResult, survey } from "../../src/survey/index.js";
import { expectAccessible } from "../support/accessible.js";
import { describeInChromium } from "../support/chromium.js";
import { makeEstate } from "./estate.js";
import { results as hostileResults } from "./results.js";

describeInChromium("the page of a survey", (browser) => {
  const estate = makeEstate(60, { brokenEvery: 3 });
  afterAll(() => estate.delete());
  const about = {
    startedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
    seconds: 12.3,
    since: "yesterday.json",
    gone: [
      { baseUrl: "https://left.example", tenantId: "left", variant: "A" as const, works: true },
    ],
  };
  async function examined(): Promise<SurveyResult[]> {
    const results: SurveyResult[] = [];
    for await (const one of survey(estate.customers, { fetch: estate.fetch, retryDeadlineMs: 0 }))
      results.push(one.tenantId === "t0" ? { ...one, changes: ["recovered"] } : one);
    return results;
  }

  async function open(width: number, options = {}, rows: readonly SurveyResult[] = hostileResults) {
    const page = await browser().newPage({ viewport: { width, height: 900 }, ...options });
    const problems: string[] = [];
    page.on("console", (message) => problems.push(message.text()));
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("request", ({ url }) => void (url().startsWith("data:") || problems.push(url())));
    await page.setContent(resultsPage(rows, about));
    return { page, problems };
  }

  test.each([
    { width: 1280, colorScheme: "light" },
    { width: 390, colorScheme: "dark" },
  ] as const)(
    "has nothing for axe-core at $width px, $colorScheme, and fits",
    async ({ width, colorScheme }) => {
      for (const list of [hostileResults, await examined()]) {
        const { page, problems } = await open(width, { colorScheme }, list);
        await expectAccessible(page);
        expect(problems).toEqual([]);
        await page.close();
      }
    },
  );

  test("filters by text, state and variant, and by a reason", async () => {
    const { page, problems } = await open(1280, {}, await examined());
    const shown = () => page.locator(".customer:visible").count();
    const count = () => page.locator("output").textContent();
    expect([await shown(), await count()]).toEqual([60, "60 of 60"]);
    await page.getByLabel("State").selectOption("fails");
    expect([await shown(), await count()]).toEqual([20, "20 of 60"]);
    await page.getByLabel("Variant").selectOption("null");
    expect(await count()).toBe("5 of 60");
    await page.getByLabel("State").selectOption("recovered");
    expect(await count()).toBe("0 of 60");
    await page.getByRole("button", { name: "token_refused" }).click();
    const codes = await page.locator(".customer:visible summary code").allTextContents();
    expect(new Set(codes)).toEqual(new Set(["token_refused"]));
    await page.getByLabel("Find").fill("T7");
    expect(await page.locator(".customer:visible strong").allTextContents()).toEqual(["t7"]);
    await page.keyboard.press("Enter");
    expect(await count()).toBe("1 of 60");
    expect(problems).toEqual([]);
    await page.close();
  });

  test("is read without a script", async () => {
    const { page } = await open(390, { javaScriptEnabled: false });
    expect(await page.locator("form").isVisible()).toBe(false);
    const remedy = page.locator(".customer", { hasText: "initech" }).locator(".remedy");
    expect(await remedy.isVisible()).toBe(false);
    await page.getByText("initech").last().click();
    expect(await remedy.isVisible()).toBe(true);
    await page.close();
  });
});
