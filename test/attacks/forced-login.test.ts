// A page of another site begins a login of the person without a click, by a redirect, a popup or a frame:
// login CSRF (RFC 6749 section 10.12, RFC 9700 section 4.7). An authorization server that remembers the
// person answers at once, and six such logins evict the one that the person is in the middle of, because a
// browser keeps five.
import { expect, test } from "vitest";
import { rig } from "../backend/rig.js";
import { refusalOf } from "../backend/test-browser.js";
import { pageWorld } from "../page/page-world.js";
import { describeInChromium } from "../support/chromium.js";

const crossSite = { "sec-fetch-site": "cross-site", accept: "text/html,*/*;q=0.8" };

test("six navigations from another site begin no login, and leave the person's own pending one", async () => {
  const { browser, emulator } = rig();
  const begun = await browser.get("/auth/login?return_to=/page", { "sec-fetch-site": "same-origin" });
  for (let times = 0; times < 6; times++) {
    const answer = await browser.get("/auth/login", crossSite);
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([403, []]);
  }
  const { callbackUrl } = emulator.login({ url: begun.headers.get("location") ?? "", userId: "ada" });
  // The authorization server is another site, so its redirect is a cross-site navigation.
  const back = await browser.get(callbackUrl, crossSite);
  expect([back.status, back.headers.get("location")]).toEqual([303, "https://planner.example/page"]);
  expect((await browser.post("/auth/session")).status).toBe(200);
});

test("the answer repeats the query only as a link to itself, and cannot be put in a frame", async () => {
  const { browser } = rig();
  const query = `tenant=a"><script>x</script>&return_to='/\\&amp;`;
  const answer = await browser.get(`/auth/login?${query}`, crossSite);
  expect(answer.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  expect(await answer.text()).toContain(
    `<p><a href="?tenant=a%22%3E%3Cscript%3Ex%3C/script%3E&amp;return_to=%27/\\&amp;amp;">Log in</a></p>`,
  );
  expect(await refusalOf(browser.get("/auth/login", { ...crossSite, accept: "*/*" }))).toBe(
    "403 login_unconfirmed",
  );
});

test.each(["same-origin", "same-site", "none", undefined])(
  "a navigation that the browser describes as %s begins a login",
  async (site) => {
    const { browser } = rig();
    const headers: Record<string, string> = site === undefined ? {} : { "sec-fetch-site": site };
    expect((await browser.get("/auth/login", headers)).status).toBe(302);
  },
);

describeInChromium("in Chromium, a page of another site", (browser) => {
  test("that leads to the login gets a page on which the person can log in with a click", async () => {
    const world = await pageWorld(browser());
    const login = `${world.plugin.origin}/auth/login?tenant=acme&return_to=%2F%3Fview%3Dlist`;
    world.evilHtml = `<!doctype html><iframe src="${login}"></iframe><script>open("${login}")</script>
      <script>setTimeout(() => { location.href = "${login}"; }, 100);</script>`;
    const page = await world.context.newPage();
    await page.goto(world.evil.origin);
    await page.waitForURL(login);
    const callbacks = () => world.plugin.requests.filter(({ url }) => url.pathname === "/auth/callback");
    expect([callbacks(), await world.context.cookies()]).toEqual([[], []]);

    await page.getByRole("link", { name: "Log in" }).click();
    await page.waitForURL(`${world.plugin.origin}/?view=list`);
    expect(await world.begin(page)).toMatchObject({ session: { variant: "B", tenantId: "acme" } });
  });
});
