// A page of another site makes the browser send requests with the session cookie: with images and
// `no-cors` fetches in the partition of a host, with links and redirects elsewhere. What happens
// then (the time, an error, a download) tells the page about the person (XS-Leaks), and a GET route
// that changes something is changed. Browsers say where a request comes from: W3C Fetch Metadata,
// the "resource isolation policy"; OWASP CSRF Prevention, "Fetch Metadata headers".
import { describe, expect, test } from "vitest";
import { bearer, HOST, OWN, type Rig, rig } from "../backend/rig.js";
import { refusalOf } from "../backend/test-browser.js";
import { launched } from "../page/page-world.js";
import { describeInChromium } from "../support/chromium.js";

/** Every use of a session, with the status of its answer. */
async function uses(
  { backend, browser, launch }: Rig,
  site: Record<string, string>,
): Promise<unknown[]> {
  const { csrf = "" } = await launch();
  const headers = { ...site, "x-bivariant-csrf": csrf };
  const request = (method: string) =>
    browser.request(method, "/api", { headers: { origin: OWN, ...headers } });
  const status = (use: Promise<unknown>) =>
    use.then(
      () => 200,
      (error) => backend.answer(error).status,
    );
  return [
    (await browser.get("/auth/me", site)).status,
    (await browser.get("/auth/me", headers)).status,
    await status(backend.connect(request("GET"))),
    await status(backend.session(request("POST"))),
    (await browser.post("/auth/session", { hostOrigin: HOST }, headers)).status,
    (await browser.post("/auth/logout", {}, headers)).status,
  ];
}

describe("with sessions in cookies, a request", () => {
  test("that another site makes is refused wherever it would use a session", async () => {
    const parts = rig({ session: { cookie: true } });
    expect(await uses(parts, { "sec-fetch-site": "cross-site" })).toEqual(Array(6).fill(403));
    const answer = parts.browser.get("/auth/me", { "sec-fetch-site": "cross-site" });
    expect(await refusalOf(answer)).toBe("403 origin_refused");
    expect((await parts.browser.get("/auth/me")).status).toBe(200);
  });

  test.each(["same-origin", "same-site", "none", undefined])(
    "that the browser describes as %s is answered",
    async (site) => {
      const headers = site === undefined ? undefined : { "sec-fetch-site": site };
      const answers = await uses(rig({ session: { cookie: true } }), headers ?? {});
      expect(answers).toEqual([200, 200, 200, 200, 200, 204]);
    },
  );
});

test("with sessions in memory, a page of another site that is listed in origins uses its own session", async () => {
  const page = "https://elsewhere.example";
  const { browser, launchBody } = rig({ origins: [page] });
  const headers = { "sec-fetch-site": "cross-site", origin: page };
  const launched = await browser.post("/auth/launch", launchBody(), headers);
  const own = { ...headers, ...bearer(((await launched.json()) as { session: string }).session) };
  expect((await browser.get("/auth/me", own)).status).toBe(200);
  expect((await browser.post("/auth/session", {}, headers)).status).toBe(204);
  expect((await browser.post("/auth/logout", {}, own)).status).toBe(204);
});

describeInChromium("the page of a host", (browser) => {
  test("cannot use the plugin's cookie, although the browser sends it along", async () => {
    const statuses: number[] = [];
    const { world, page, frame } = await launched(browser(), { cookie: true }, {});
    world.context.on("response", (response) => {
      if (response.url().endsWith("/api/devices")) statuses.push(response.status());
    });
    await page.evaluate(
      (url) => fetch(url, { mode: "no-cors", credentials: "include" }),
      `${world.plugin.origin}/api/devices`,
    );
    const { headers } = world.plugin.requests.at(-1) ?? {};
    expect(headers).toMatchObject({ "sec-fetch-site": "cross-site" });
    expect(headers?.cookie).toContain("bivariant-session=");
    await frame.evaluate("call('/api/devices')");
    await expect.poll(() => statuses).toEqual([403, 200]);
  });
});
