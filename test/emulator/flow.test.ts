// The last launch or login is recorded with the fields of every step, but only the length of each
// secret.
import { describe, expect, test } from "vitest";
import type { Emulator } from "../../src/emulator/index.js";
import { CALLBACK, LaunchedPlugin, PORTAL_SECRET, Portal, tokensIn } from "./deployment.js";
import { AdminBrowser, FormBrowser } from "./form-browser.js";
import { newPkce } from "./signing-key.js";

/** Returns the name, parties, rule and fields of each step on the page. */
async function steps(emulator: Emulator): Promise<string[]> {
  const { html } = await new AdminBrowser(emulator).open("/_emulator/live/flow");
  const parts = html.split(/<li class="step/).slice(1);
  return parts.map((part) => {
    const [, name] = /<h2>(.*?)<\/h2>/.exec(part) ?? [];
    const [, parties] = /<p class="quiet">(.*?) · /.exec(part) ?? [];
    const [, rule = ""] = /<code class="rule">(.*?)<\/code>/.exec(part) ?? [];
    const fields = [...part.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)].map(
      ([, field, value]) => `${field}=${value}`,
    );
    return [`${name}: ${parties}`, rule, fields.join(" ")]
      .filter((text) => text !== "")
      .join(" | ");
  });
}

/** The arrows of the sequence diagram. Its lanes have the same width. */
function arrows(html: string): string[] {
  const lane = (x = "") => Math.ceil(Number(x) / 190);
  const found = html.matchAll(
    /<g class="arrow(.*?)"><text.*?>(.*?)<\/text>\s*<path d="M(\d+) [\d.]+H(\d+)m/g,
  );
  return [...found].map(
    ([, bad, name, from, to]) =>
      `${name}: lane ${lane(from)} to ${lane(to)}${bad ? ", refused" : ""}`,
  );
}

describe("a launch", () => {
  const LAUNCHED = [
    "Plugin chosen: Browser to Host application | clientId=reporter",
    "Plugin launched: Host application to Browser | opaque_code=43 characters state=43 characters",
    "plugin:pkce-init: Browser to Host application | challenge=43 characters " +
      "opaque_code=43 characters",
    "host:auth-code: Host application to Browser | code=43 characters state=43 characters " +
      "tenantId=acme",
  ];

  test("is recorded up to the token, with a second exchange of its code; a reset clears the record", async () => {
    const plugin = new LaunchedPlugin();
    const { emulator } = plugin;
    const launched = plugin.launchedCode();
    // Requests that belong to no flow.
    await plugin.requestToken();
    await plugin.requestToken({ form: { grant_type: "authorization_code", code: "x" } });
    await plugin.call(undefined);
    expect(await steps(emulator)).toEqual(LAUNCHED);
    const form = { client_assertion: plugin.assertion() };
    await plugin.exchange(launched, { form });
    await plugin.exchange(launched, { form: { client_assertion: plugin.assertion() } });
    const exchange =
      "Code exchange: Plugin backend to Token endpoint | " +
      "grant_type=authorization_code client_id=reporter code=43 characters code_verifier=43 " +
      "characters client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer " +
      `client_assertion=${form.client_assertion.length} characters`;
    expect(await steps(emulator)).toEqual([
      ...LAUNCHED,
      exchange,
      "Token response, 200: Token endpoint to Plugin backend | access_token=43 characters " +
        "token_type=Bearer expires_in=3600 revo=an object of tenant, user, roles",
      exchange,
      "Refused, 400: Token endpoint to Plugin backend | code.unspent | error=invalid_grant " +
        "error_description=The token request was rejected.",
    ]);
    const page = await new AdminBrowser(emulator).open("/_emulator/flow");
    expect(page.text()).toContain("A launch in Variant A acme · reporter · ada");
    expect(arrows(page.html)).toEqual([
      "1. Plugin chosen: lane 1 to 2",
      "2. Plugin launched: lane 2 to 1",
      "3. plugin:pkce-init: lane 1 to 2",
      "4. host:auth-code: lane 2 to 1",
      "5. Code exchange: lane 3 to 4",
      "6. Token response, 200: lane 4 to 3",
      "7. Code exchange: lane 3 to 4",
      "8. Refused, 400: lane 4 to 3, refused",
    ]);
    emulator.reset();
    expect(await steps(emulator)).toEqual([]);
  });

  test("from the host application starts with the choice of a plugin, and names the rule that refused a message", async () => {
    const plugin = new LaunchedPlugin();
    const host = await new FormBrowser(plugin.emulator).open("/host/acme");
    await host.submit({ userId: "ada" });
    await host.follow();
    const clientId = "reporter";
    const launched = await host.ask("/host/acme/launches", { clientId });
    const { url } = (await launched.json()) as { url: string };
    const opaque_code = new URL(url).searchParams.get("opaque_code");
    const message = { clientId, opaque_code, challenge: "short" };
    await host.ask("/host/acme/authorizations", message);
    expect(await steps(plugin.emulator)).toEqual([
      ...LAUNCHED.slice(0, 2),
      "plugin:pkce-init: Browser to Host application | challenge=5 characters " +
        "opaque_code=43 characters",
      "Code refused: Host application to Browser | launch.challenge",
    ]);
    await host.ask("/host/acme/launches", { clientId: "a-secret-in-the-wrong-place" });
    expect(await steps(plugin.emulator)).toEqual([
      "Plugin chosen: Browser to Host application | clientId=27 characters",
      "Launch refused: Host application to Browser | launch.plugin",
    ]);
  });

  test("with the fault duplicate-auth-code records how often the code is posted", async () => {
    const plugin = new LaunchedPlugin();
    plugin.emulator.faults.add({ name: "duplicate-auth-code" });
    plugin.launchedCode();
    expect((await steps(plugin.emulator))[3]).toContain("host:auth-code, posted 2 times");
  });
});

describe("a login", () => {
  const asked =
    "Authorization request: Browser to Authorization server | response_type=code " +
    `client_id=portal redirect_uri=${CALLBACK} state=7 characters code_challenge=43 characters ` +
    "code_challenge_method=S256";

  test("is recorded with a failed password, the consent, the exchange and the refreshes", async () => {
    const portal = new Portal({ issuerInCallback: true }, { clientSecret: PORTAL_SECRET });
    portal.emulator.updateOperator({ tenantId: "acme", userId: "ada", password: "engine" });
    const pkce = newPkce();
    const url = portal.authorizationUrl({ code_challenge: pkce.codeChallenge });
    const browser = await new FormBrowser(portal.emulator).open(url);
    await browser.submit({ userId: "ada", password: "wrong" });
    await browser.submit({ userId: "ada", password: "engine" });
    await browser.follow();
    await browser.submit({ decision: "allow" });
    const code = new URL(browser.location).searchParams.get("code") ?? "";
    const { refresh_token } = await tokensIn(portal.exchangeLogin({ ...pkce, code }));
    await portal.refresh(refresh_token, { scope: "devices:read" });
    await portal.refresh(refresh_token);
    const tokens =
      "Token response, 200: Token endpoint to Client | access_token=43 characters " +
      "refresh_token=43 characters";
    const refresh =
      "Refresh: Client to Token endpoint | grant_type=refresh_token client_id=portal " +
      "client_secret=given refresh_token=43 characters";
    expect(await steps(portal.emulator)).toEqual([
      asked,
      "Login: Browser to Authorization server | userId=3 characters password=given",
      "Login page again: Authorization server to Browser | login.credentials",
      "Login: Browser to Authorization server | userId=ada password=given",
      "Consent: Browser to Authorization server | decision=allow",
      "Callback: Authorization server to Client | code=43 characters state=7 characters " +
        "iss=http://emulator.localhost",
      "Code exchange: Client to Token endpoint | client_id=portal client_secret=given code=43 " +
        `characters code_verifier=43 characters redirect_uri=${CALLBACK}`,
      tokens,
      `${refresh} scope=12 characters`,
      tokens,
      refresh,
      expect.stringMatching(
        /^Refused, 400: Token endpoint to Client \| refresh\.reuse \| error=invalid_grant error_desc/,
      ),
    ]);
    const page = await new AdminBrowser(portal.emulator).open("/_emulator/flow");
    expect(page.text()).toContain("A login in Variant B acme · portal · ada");
  });

  test("in-process, or cancelled at the login page, is recorded up to the callback", async () => {
    const portal = new Portal();
    await tokensIn(portal.exchangeLogin(portal.loginCode({ scope: "devices:read" })));
    const recorded = await steps(portal.emulator);
    const names = ["Authorization request", "Consent", "Callback", "Code exchange"];
    expect(recorded.map((step) => step.split(":")[0])).toEqual([...names, "Token response, 200"]);
    expect(recorded[0]).toContain("scope=devices:read");
    const browser = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
    await browser.submit({ userId: "", decision: "deny" });
    const denied = "login.consent | state=7 characters error=access_denied error_description=";
    expect(await steps(portal.emulator)).toEqual([
      asked,
      "Consent: Browser to Authorization server | decision=deny",
      expect.stringContaining(`Callback: Authorization server to Client | ${denied}`),
    ]);
  });

  test("that is refused at once names the rule, and shows no unregistered value", async () => {
    const portal = new Portal();
    const foreign = { client_id: "somebody", redirect_uri: "https://evil.example/" };
    await portal.emulator.fetch(portal.authorizationUrl(foreign));
    expect(await steps(portal.emulator)).toEqual([
      asked.replace("=portal", "=8 characters").replace(CALLBACK, "21 characters"),
      "Error page: Authorization server to Browser | authorization.client",
    ]);
    await portal.emulator.fetch(portal.authorizationUrl({ scope: "devices:read open-sesame" }));
    expect((await steps(portal.emulator))[0]).toContain("scope=24 characters");
    await portal.emulator.fetch(portal.authorizationUrl({ code_challenge_method: "plain" }));
    expect(await steps(portal.emulator)).toEqual([
      asked.replace("S256", "5 characters"),
      expect.stringMatching(
        /^Callback: .* to Client \| authorization\.challenge-method \| state=7 characters error=inv/,
      ),
    ]);
  });

  test("with many refreshes keeps the first steps and the newest ones", async () => {
    const portal = new Portal({ refreshTokens: { rotation: false } });
    const { refresh_token } = await portal.personTokens();
    for (let index = 0; index < 30; index += 1) await portal.refresh(refresh_token);
    const recorded = await steps(portal.emulator);
    expect(recorded).toHaveLength(40);
    expect(recorded[0]).toBe(asked);
    const page = await new AdminBrowser(portal.emulator).open("/_emulator/flow");
    expect(page.text()).toContain("25 steps before the newest ones are left out.");
    // A newer flow replaces it.
    await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
    await portal.refresh(refresh_token);
    expect(await steps(portal.emulator)).toEqual([asked]);
  });
});
