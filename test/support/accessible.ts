// What axe-core finds in a page of any browser.
import axe from "axe-core";
import { expect } from "vitest";

/**
 * Expects that axe-core finds nothing in the page with all its details open, and that nothing is
 * wider than the page.
 */
export async function expectAccessible(page: {
  evaluate(expression: string): Promise<unknown>;
}): Promise<void> {
  await page.evaluate(`document.querySelectorAll("details").forEach((details) => {
    details.open = true;
    details.style.contentVisibility = "visible";
  })`);
  await page.evaluate(`(() => { ${axe.source} })()`);
  const found = await page.evaluate(`axe.run(document).then(({ violations }) =>
    violations.map(({ id, impact, nodes }) => [id, impact, nodes[0]?.html]))`);
  expect(found).toEqual([]);
  const { scrollWidth, clientWidth } = (await page.evaluate(
    "(({ scrollWidth, clientWidth }) => ({ scrollWidth, clientWidth }))(document.documentElement)",
  )) as Record<string, number>;
  expect(scrollWidth).toBe(clientWidth);
}
