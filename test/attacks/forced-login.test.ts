// A page of another origin begins a login of the person without a click, by a redirect, a popup or
// a frame: login CSRF (RFC 6749 section 10.12, RFC 9700 section 4.7). An authorization server that
// remembers the person answers at once, and six such logins evict the one that the person is in the
// middle of, because a browser keeps five.
import { expect, test } from "vitest";
import { OWN, rig } from "../backend/rig.js";
import { refusalOf } from "../backend/test-browser.js";
import { pageWorld } from "../page/page-world.js";
import { describeInChromium } from "../support/chromium.js";

const crossSite = { "sec-fetch-site": "cross-site", accept: "text/html,*/*;q=0.8" };

test("six navigations from another site begin no login, and leave the person's own pending one", async () => {
  const { browser, emulator } = rig();
  const begun = await browser.get("/auth/login?return_to=/page", {
    "sec-fetch-site": "same-origin",
  });
  for (let times = 0; times < 6; times++) {
    const answer = await browser.get("/auth/login", crossSite);
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([403, []]);
  }
  const { callbackUrl } = emulator.login({
    url: begun.headers.get("location") ?? "",
    userId: "ada",
  });
  // The authorization server is another site, so its redirect is a cross-site navigation.
  const back = await browser.get(callbackUrl, crossSite);
  expect([back.status, back.headers.get("location")]).toEqual([
    303,
    "https://planner.example/page",
  ]);
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

const listed = "https://www.planner.example";
const statusFrom = async (headers: Record<string, string>) =>
  (await rig({ origins: [listed] }).browser.get("/auth/login", headers)).status;

test.each(["same-origin", "none", undefined])(
  "a navigation that the browser describes as %s begins a login",
  async (site) => {
    expect(await statusFrom(site === undefined ? {} : { "sec-fetch-site": site })).toBe(302);
  },
);

test.each([
  { name: "that sends no referrer", referrer: {} },
  { name: "that is not listed", referrer: { referer: "https://blog.planner.example/" } },
  {
    name: "whose origin begins like a listed one",
    referrer: { referer: `${listed}.evil.example/` },
  },
  { name: "whose referrer is the backend itself", referrer: { referer: `${OWN}/` } },
  { name: "whose referrer is not an address", referrer: { referer: "www.planner.example" } },
])("another host of the same site $name begins no login", async ({ referrer }) => {
  expect(await statusFrom({ "sec-fetch-site": "same-site", ...referrer })).toBe(403);
});

test("a page of the same site that is listed in origins begins a login, and one of another site does not", async () => {
  const referrer = { referer: `${listed}/start?x=1` };
  expect(await statusFrom({ "sec-fetch-site": "same-site", ...referrer })).toBe(302);
  expect(await statusFrom({ "sec-fetch-site": "cross-site", ...referrer })).toBe(403);
  expect(await statusFrom({ "sec-fetch-site": "new-value", ...referrer })).toBe(403);
});

describeInChromium("in Chromium", (browser) => {
  test("a page of another site that leads to the login gets a page on which the person can log in with a click", async () => {
    const world = await pageWorld(browser());
    const login = `${world.plugin.origin}/auth/login?tenant=acme&return_to=%2F%3Fview%3Dlist`;
    world.evilHtml = `<!doctype html><iframe src="${login}"></iframe><script>open("${login}")</script>
      <script>setTimeout(() => { location.href = "${login}"; }, 100);</script>`;
    const page = await world.context.newPage();
    await page.goto(world.evil.origin);
    await page.waitForURL(login);
    const received = (path: string) =>
      world.plugin.requests.filter(({ url }) => url.pathname === path);
    expect([received("/auth/callback"), await world.context.cookies()]).toEqual([[], []]);
    const site = { "sec-fetch-site": "cross-site" };
    expect(received("/auth/login").at(-1)?.headers).toMatchObject(site);

    await page.getByRole("link", { name: "Log in" }).click();
    await page.waitForURL(`${world.plugin.origin}/?view=list`);
    const session = { variant: "B", tenantId: "acme" };
    expect(await world.begin(page)).toMatchObject({ session });
  });
});
