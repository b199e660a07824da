// The emulator's pages, the report of a contract run and the page of a survey, as every browser
// shows them.
import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { htmlReport } from "../../src/contract/index.js";
import { resultsPage } from "../../src/survey/index.js";
import { about, results as contractResults } from "../contract/results.js";
import { ada, LaunchedPlugin } from "../emulator/deployment.js";
import { PAGES } from "../emulator/form-browser.js";
import { expectAccessible } from "../support/accessible.js";
import { servingOn } from "../support/recording-server.js";
import { results as surveyResults } from "../survey/results.js";
import { type Driver, type Place, type Profile, until } from "./driver.js";
import { profileIn } from "./journeys.js";

const PLUGIN_PAGE = `<!doctype html><html lang="en"><title>Plugin</title><link rel="icon" href="data:,"><h1>Plugin</h1><script>
  const opaque_code = new URLSearchParams(location.search).get("opaque_code");
  parent.postMessage({ type: "plugin:pkce-init", challenge: "${"c".repeat(43)}", opaque_code }, document.referrer);
</script></html>`;

export function shownPages(driver: () => Driver): void {
  /** Expects that everything a page asks for was found, and that it is accessible and quiet. */
  async function expectGood(profile: Profile, place: Place): Promise<void> {
    const failed = `performance.getEntriesByType("resource").filter(({ responseStatus }) => responseStatus >= 400)
      .map(({ name }) => name)`;
    expect(await place.evaluate(failed)).toEqual([]);
    await expectAccessible(place);
    expect(profile.errors).toEqual([]);
  }

  async function serve(html: string): Promise<string> {
    const page = createServer((_, response) =>
      response.setHeader("content-type", "text/html").end(html),
    );
    return `http://plugin.localhost:${await servingOn(page)}/`;
  }

  async function emulated(): Promise<{ plugin: LaunchedPlugin; url: string; redirectUri: string }> {
    const registered = { name: "Planner", pageUrl: await serve(PLUGIN_PAGE) };
    const plugin = new LaunchedPlugin({ now: Date.now }, registered);
    plugin.emulator.reset({
      seed: {
        plugins: [
          { tenantId: "acme", clientId: "reporter", type: "user_interface", ...registered },
        ],
        operators: [{ ...ada, password: "engine" }],
        apiClients: [{ clientId: "portal", redirectUris: [registered.pageUrl] }],
      },
    });
    const { url, close } = await plugin.emulator.listen();
    onTestFinished(close);
    return { plugin, url, redirectUri: registered.pageUrl };
  }

  const fill = (id: string, value: string) =>
    `void (document.getElementById("${id}").value = "${value}")`;
  const click = (text: string) =>
    `void [...document.querySelectorAll("button")].find((one) => one.textContent.trim() === ` +
    `"${text}").click()`;

  test("the emulator's host signs in and launches a plugin, and nothing is wrong with its pages", async () => {
    const { plugin, url } = await emulated();
    const profile = await profileIn(driver());
    const tab = await profile.open(`${url}/host/acme`);
    await expectGood(profile, tab);
    await tab.evaluate(fill("password", "engine"));
    await tab.evaluate(click("Sign in"));
    await until(tab, 'document.querySelector("[data-client-id]")');
    await tab.evaluate(click("Planner"));
    await until(tab, 'document.getElementById("status").textContent === "Planner is launched."');
    expect(plugin.emulator.journal.entries({ operation: "authorizeLaunch" })).toHaveLength(1);
    await expectGood(profile, tab);
  });

  test("the emulator's login and consent lead back to the app, and nothing is wrong with them", async () => {
    const { url, redirectUri } = await emulated();
    const profile = await profileIn(driver());
    const query = new URLSearchParams({
      response_type: "code",
      client_id: "portal",
      redirect_uri: redirectUri,
      state: "s",
      code_challenge: "c".repeat(43),
      code_challenge_method: "S256",
    });
    const tab = await profile.open(`${url}/v1/auth/authorize?${query}`);
    await expectGood(profile, tab);
    await tab.evaluate(fill("userId", "ada"));
    await tab.evaluate(fill("password", "engine"));
    await tab.evaluate(click("Log in"));
    await until(tab, 'document.querySelector("h1").textContent === "Allow portal?"');
    await expectGood(profile, tab);
    await tab.evaluate(click("Allow"));
    await until(tab, 'location.search.includes("code=") && location.search.includes("state=s")');
  });

  test("the emulator's own pages have nothing wrong, and refresh themselves", async () => {
    const { plugin, url } = await emulated();
    plugin.emulator.faults.add({ name: "rate-limited", count: 3 });
    const profile = await profileIn(driver());
    const tab = await profile.open(`${url}/_emulator/faults`);
    await until(tab, 'document.body.innerText.includes("fired 0")');
    await plugin.requestToken();
    await until(tab, 'document.body.innerText.includes("fired 1")');
    for (const path of PAGES) {
      await tab.goto(`${url}/_emulator${path}`);
      await expectGood(profile, tab);
    }
  });

  test.each([
    { name: "the report of a contract run", html: () => htmlReport(contractResults, about) },
    {
      name: "the page of a survey",
      html: () => resultsPage(surveyResults, { startedAt: Date.UTC(2026, 0, 2), seconds: 1 }),
    },
  ])("$name has nothing wrong, and loads nothing", async ({ html }) => {
    const profile = await profileIn(driver());
    const tab = await profile.open(await serve(html()));
    await expectGood(profile, tab);
    const loaded = 'performance.getEntriesByType("resource").map(({ name }) => name)';
    expect(
      (await tab.evaluate<string[]>(loaded)).filter((name) => !/^data:|favicon/.test(name)),
    ).toEqual([]);
  });

  test("what the browser or its driver lacks is named", () => {
    for (const [ability, reason] of Object.entries(driver().lacks)) {
      expect(reason.length, ability).toBeGreaterThan(20);
      console.info(`lacks ${ability}: ${reason}`);
    }
  });
}
