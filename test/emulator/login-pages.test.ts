// The authorization server's pages, used as a browser without JavaScript does: login, consent, and attacks on them.
import { describe, expect, test } from "vitest";
import { FormBrowser } from "./form-browser.js";
import { newPkce } from "./pkce.js";
import { CALLBACK, Portal } from "./portal.js";

const MINUTE = 60_000;
const person = { userId: "ada", password: "difference engine" };

function portalWithPassword(options: ConstructorParameters<typeof Portal>[0] = {}): Portal {
  const portal = new Portal(options, {
    name: "Portal & <Sons>",
    scopes: ["devices:read", "schedules:execute"],
  });
  portal.emulator.updateOperator({ tenantId: "acme", userId: "ada", password: person.password });
  return portal;
}

async function loggedIn(portal: Portal, url: string = portal.authorizationUrl()): Promise<FormBrowser> {
  const browser = await new FormBrowser(portal.emulator).open(url);
  await browser.submit(person);
  return browser.follow();
}

test("login, consent, callback, exchange", async () => {
  const portal = portalWithPassword();
  const pkce = newPkce();
  const browser = await loggedIn(portal, portal.authorizationUrl({ code_challenge: pkce.codeChallenge }));
  expect(browser.text()).toContain("Allow Portal &amp; &lt;Sons&gt;?");
  expect(browser.text()).toContain("You are Ada Lovelace");
  expect(browser.text()).toMatch(/schedules:execute +You do not have this/);
  expect(browser.text()).toContain(CALLBACK);
  await browser.submit({ decision: "allow" });
  expect(browser.response.status).toBe(303);
  const { searchParams } = new URL(browser.location);
  expect(searchParams.get("state")).toBe("state-1");
  const code = searchParams.get("code") ?? "";
  const { access_token } = await portal.tokens(await portal.exchange({ ...pkce, code }));
  expect(await portal.statusOf(access_token)).toBe(200);
  const operations = portal.emulator.journal.entries().map(({ operation }) => operation);
  expect(operations).toEqual([
    "authorize",
    "logIn",
    "showConsent",
    "decideConsent",
    "requestToken",
    "listDevices",
  ]);
});

describe("a person who refuses sends access_denied to the client", () => {
  test("at the consent page", async () => {
    const portal = portalWithPassword();
    const browser = await loggedIn(portal);
    await browser.submit({ decision: "deny" });
    const { error_description: _, ...told } = Object.fromEntries(new URL(browser.location).searchParams);
    expect(told).toEqual({ error: "access_denied", state: "state-1" });
    expect(portal.emulator.customerLog.entries({ tenantId: "acme" })).toMatchObject([
      { rule: "login.consent" },
    ]);
  });

  test("at the login page, without saying who they are", async () => {
    const portal = portalWithPassword();
    const browser = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
    await browser.submit({ decision: "deny" });
    expect(new URL(browser.location).searchParams.get("error")).toBe("access_denied");
  });

  test("by a decision that is neither", async () => {
    const browser = await loggedIn(portalWithPassword());
    await browser.submit({});
    expect(new URL(browser.location).searchParams.get("error")).toBe("access_denied");
  });
});

describe("a login is refused", () => {
  const rows = [
    { name: "with a wrong password", claimed: { ...person, password: "wrong" } },
    { name: "without a password", claimed: { userId: "ada" } },
    { name: "with an unknown user id", claimed: { ...person, userId: "nobody" } },
    { name: "with markup as user id", claimed: { ...person, userId: `"><script>alert(1)</script>` } },
    { name: "for a tenant that the person is not of", claimed: { ...person, tenantId: "globex" } },
    { name: "without a user id", claimed: { password: "x" } },
  ];
  test.each(rows)("$name, and can be tried again", async ({ claimed }) => {
    const portal = portalWithPassword();
    const browser = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
    await browser.submit(claimed);
    expect(browser.response.status).toBe(403);
    expect(browser.text()).toContain("do not belong together");
    expect(browser.html).not.toContain("<script>");
    expect(portal.lastRule()).toBe("login.credentials");
    await browser.submit(person);
    expect(browser.response.status).toBe(303);
  });

  test("a person without a password needs none", async () => {
    const portal = new Portal();
    const browser = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
    await browser.submit({ userId: "ada", password: "" });
    expect(browser.response.status).toBe(303);
  });
});

describe("where people of several tenants may log in", () => {
  test("the page asks for the tenant", async () => {
    const portal = portalWithPassword();
    portal.emulator.registerOperator({ tenantId: "globex", userId: "ada", firstname: "Other" });
    const browser = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
    expect(browser.html).toContain('<select id="tenantId" name="tenantId">');
    await browser.submit({ userId: "ada", password: "", tenantId: "globex" });
    expect((await browser.follow()).text()).toContain("You are Other");
  });

  test("a client of one tenant is shown no other's, and no session of another's", async () => {
    const portal = portalWithPassword();
    portal.emulator.registerOperator({ tenantId: "globex", userId: "grace" });
    portal.emulator.registerApiClient({ clientId: "narrow", redirectUris: [CALLBACK], tenantId: "globex" });
    const browser = await loggedIn(portal);
    await browser.open(portal.authorizationUrl({ client_id: "narrow" }));
    expect(browser.text()).toContain("Log in to continue to narrow");
    expect(browser.html).not.toContain("acme");
  });
});

describe("a second login of a browser", () => {
  test("asks for no password, but for consent", async () => {
    const portal = portalWithPassword();
    const browser = await loggedIn(portal);
    await browser.submit({ decision: "allow" });
    await browser.open(portal.authorizationUrl({ state: "state-2" }));
    expect(browser.text()).toContain("Allow Portal");
    await browser.submit({ decision: "allow" });
    expect(new URL(browser.location).searchParams.get("state")).toBe("state-2");
  });

  test("by somebody else", async () => {
    const portal = portalWithPassword();
    portal.emulator.registerOperator({ tenantId: "acme", userId: "grace", firstname: "Grace" });
    const browser = await loggedIn(portal);
    const link = /<a href="([^"]*)"/.exec(browser.html)?.[1] ?? "";
    await browser.open(link);
    await browser.submit({ userId: "grace" });
    expect((await browser.follow()).text()).toContain("You are Grace");
  });

  test.each([
    {
      name: "asks for the password again after 12 hours",
      later: 12 * 60 * MINUTE,
      page: "Log in to continue",
    },
    { name: "but not a millisecond before", later: 12 * 60 * MINUTE - 1, page: "Allow Portal" },
  ])("$name", async ({ later, page }) => {
    const portal = portalWithPassword();
    const browser = await loggedIn(portal);
    portal.now += later;
    expect((await browser.open(portal.authorizationUrl())).text()).toContain(page);
  });
});

describe("a login is decided once, within ten minutes", () => {
  test("a second decision is refused", async () => {
    const portal = portalWithPassword();
    const browser = await loggedIn(portal);
    const shown = browser.html;
    await browser.submit({ decision: "allow" });
    browser.html = shown;
    await browser.submit({ decision: "allow" });
    expect(browser.response.status).toBe(400);
    expect(portal.lastRule()).toBe("login.pending");
  });

  test.each([
    { name: "at ten minutes it is over", ageMs: 10 * MINUTE, status: 400 },
    { name: "a millisecond before it is not", ageMs: 10 * MINUTE - 1, status: 303 },
  ])("$name", async ({ ageMs, status }) => {
    const portal = portalWithPassword();
    const browser = await loggedIn(portal);
    portal.now += ageMs;
    await browser.submit({ decision: "allow" });
    expect(browser.response.status).toBe(status);
    if (status === 400) expect(portal.lastRule()).toBe("login.pending");
  });

  test.each(["/v1/auth/login", "/v1/auth/consent"])(
    "%s without a login in progress is an error page",
    async (path) => {
      const { emulator } = portalWithPassword();
      for (const query of ["", "?request=x"]) {
        expect((await new FormBrowser(emulator).open(path + query)).response.status).toBe(400);
      }
    },
  );
});

describe("a form that another site sends is refused", () => {
  type Row = { name: string; forge: (browser: FormBrowser, portal: Portal) => Promise<unknown> };
  const rows: Row[] = [
    { name: "without the form token", forge: (b) => b.submit({ decision: "allow", form_token: undefined }) },
    { name: "with an empty form token", forge: (b) => b.submit({ decision: "allow", form_token: "" }) },
    {
      name: "without the cookie",
      forge(browser) {
        browser.cookies.clear();
        return browser.submit({ decision: "allow" });
      },
    },
    {
      name: "with another browser's cookie",
      async forge(browser, portal) {
        const evil = await loggedIn(portal);
        for (const [name, value] of evil.cookies) browser.cookies.set(name, value);
        return browser.submit({ decision: "allow" });
      },
    },
    {
      name: "as JSON",
      forge: (browser) =>
        browser.open("/v1/auth/consent", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ ...browser.hidden(), decision: "allow" }),
        }),
    },
  ];
  test.each(rows)("$name", async ({ forge }) => {
    const portal = portalWithPassword();
    const browser = await loggedIn(portal);
    await forge(browser, portal);
    expect(browser.response.status).toBe(403);
    expect(browser.location).toBe("");
    expect(portal.lastRule()).toBe("login.form");
  });

  test("a planted cookie is worth nothing after the login: its value changes", async () => {
    const portal = portalWithPassword();
    const attacker = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
    const victim = new FormBrowser(portal.emulator);
    for (const [name, value] of attacker.cookies) victim.cookies.set(name, value);
    await victim.open(portal.authorizationUrl());
    await victim.submit(person);
    await attacker.open(portal.authorizationUrl());
    expect(attacker.text()).toContain("Log in to continue");
    expect((await victim.follow()).text()).toContain("Allow Portal");
  });
});

test("two emulators on one host have cookies of different names: cookies know no ports", async () => {
  const names = ["http://127.0.0.1:4001", "http://127.0.0.1:4002"].map(async (publicUrl) => {
    const portal = portalWithPassword({ publicUrl });
    const browser = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
    return [...browser.cookies.keys()];
  });
  expect(await Promise.all(names)).toEqual([["emulator-login-4001"], ["emulator-login-4002"]]);
});
