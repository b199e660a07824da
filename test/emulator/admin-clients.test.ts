// The forms of service accounts and API clients at /_emulator: what each does, and what becomes of a bad input. Without
// JavaScript.
import { describe, expect, test } from "vitest";
import { AdminBrowser, expectRefused, type Filled } from "./admin-browser.js";
import { CALLBACK, PORTAL_SECRET, Portal } from "./portal.js";

const SECRET = "canary-of-the-account";

/** A deployment with an API client and a service account, and a browser at their page. */
async function atClients(
  registration: ConstructorParameters<typeof Portal>[1] = {},
): Promise<{ portal: Portal; browser: AdminBrowser; ask(secret?: string): Promise<Response> }> {
  const portal = new Portal({}, registration);
  portal.emulator.registerServiceAccount({ tenantId: "acme", clientId: "worker", clientSecret: SECRET });
  const browser = await new AdminBrowser(portal.emulator).open("/_emulator/clients");
  const ask = (secret = SECRET) =>
    portal.post({ grant_type: "client_credentials", client_id: "worker", client_secret: secret });
  return { portal, browser, ask };
}

describe("a service account", () => {
  const idOf = (browser: AdminBrowser, kind: string) => browser.formOf(`account-${kind}`, "worker");
  const statusOfNext = async (portal: Portal, asked: Promise<Response>) =>
    portal.statusOf(((await (await asked).json()) as { access_token: string }).access_token);

  test("is limited to scopes, to none, and to nothing any more", async () => {
    const { portal, browser, ask } = await atClients();
    const id = idOf(browser, "scopes");
    expect(browser.fields(id).map(([name]) => name)).not.toContain("limited");
    await browser.submit(id, { limited: "yes", more: "schedules:read", do: "scopes" });
    expect(browser.text()).toContain("Done.");
    expect(browser.fields(id)).toContainEqual(["limited", "yes"]);
    expect(browser.fields(id)).toContainEqual(["scopes", "schedules:read"]);
    expect(await statusOfNext(portal, ask())).toBe(403);
    await browser.submit(id, { scopes: ["schedules:read", "devices:read"], do: "scopes" });
    expect(await statusOfNext(portal, ask())).toBe(200);
    await browser.submit(id, { scopes: undefined, do: "scopes" });
    expect(await statusOfNext(portal, ask())).toBe(403);
    await browser.submit(id, { limited: undefined, do: "scopes" });
    expect(await statusOfNext(portal, ask())).toBe(200);
  });

  test("gets another secret, which no page shows", async () => {
    const { browser, ask } = await atClients();
    await browser.submit(idOf(browser, "secret"), { clientSecret: "another-canary" });
    expect(browser.text()).toContain("Done.");
    expect(browser.html).not.toContain("another-canary");
    expect((await ask()).status).toBe(401);
    expect((await ask("another-canary")).status).toBe(200);
  });

  test("is unregistered after a second step", async () => {
    const { browser, ask } = await atClients();
    const id = idOf(browser, "unregister");
    expect(browser.html).toMatch(
      new RegExp(`<details class="confirm"><summary>[^<]*</summary>\\s*<form[^>]* id="${id}"`),
    );
    await browser.submit(id);
    expect(browser.text()).toContain("Done.");
    expect(browser.text()).toContain("No service account is registered.");
    expect((await ask()).status).toBe(401);
  });

  const bad: { name: string; kind: string; filled: Filled; issue: RegExp }[] = [
    {
      name: "a scope that is none",
      kind: "scopes",
      filled: { limited: "yes", more: "devices", do: "scopes" },
      issue: /^scopes\.0: /,
    },
    { name: "an empty secret", kind: "secret", filled: { clientSecret: "" }, issue: /^clientSecret: / },
    {
      name: "an account that nobody registered",
      kind: "secret",
      filled: { clientId: "x", clientSecret: "another-canary" },
      issue: /^service account a string of length 1 is not registered$/,
    },
  ];
  test.each(bad)("stays as it is for $name", async ({ kind, filled, issue }) => {
    const { browser, ask } = await atClients();
    await browser.submit(idOf(browser, kind), filled);
    expectRefused(browser, issue);
    expect(browser.html).not.toContain("another-canary");
    if ("more" in filled) {
      expect(browser.fields(idOf(browser, kind))).toContainEqual(["more", filled.more]);
      expect(browser.fields(idOf(browser, kind))).toContainEqual(["limited", "yes"]);
    }
    expect((await ask()).status).toBe(200);
  });
});

describe("an API client", () => {
  const idOf = (browser: AdminBrowser, kind: string) => browser.formOf(`client-${kind}`, "portal");

  test("gets another name, tenant and redirect URIs, and every tenant again", async () => {
    const { portal, browser } = await atClients();
    const id = idOf(browser, "about");
    expect(browser.fields(id)).toContainEqual(["redirectUris", CALLBACK]);
    await browser.submit(id, {
      name: " The portal ",
      tenantId: "umbrella",
      redirectUris: `${CALLBACK}\r\n\r\n https://x.example/ `,
    });
    expect(browser.text()).toContain("The portal");
    expect(browser.fields(id)).toContainEqual(["redirectUris", `${CALLBACK}\nhttps://x.example/`]);
    expect(() => portal.loginCode()).toThrow(expect.objectContaining({ issues: ["login.credentials"] }));
    await browser.submit(id, { tenantId: "" });
    expect(portal.loginCode({ redirect_uri: "https://x.example/" }).code).toMatch(/./);
  });

  test("is limited to scopes, and to nothing any more", async () => {
    const { portal, browser } = await atClients({ scopes: ["devices:read"] });
    const id = idOf(browser, "scopes");
    expect(browser.fields(id)).toContainEqual(["limited", "yes"]);
    await browser.submit(id, { scopes: undefined, do: "scopes" });
    expect(await portal.statusOf((await portal.tokens()).access_token)).toBe(403);
    await browser.submit(id, { limited: undefined, do: "scopes" });
    expect(await portal.statusOf((await portal.tokens()).access_token)).toBe(200);
  });

  test("becomes a confidential one and a public one again; no page shows its secret", async () => {
    const { portal, browser } = await atClients();
    const id = idOf(browser, "secret");
    await browser.submit(id, { clientSecret: PORTAL_SECRET });
    expect(browser.text()).toContain("confidential client, secret set");
    expect(browser.html).not.toContain(PORTAL_SECRET);
    expect((await portal.exchange(portal.loginCode())).status).toBe(401);
    const secret = { client_secret: PORTAL_SECRET };
    expect((await portal.exchange(portal.loginCode(), secret)).status).toBe(200);
    // The button beside the empty line.
    await browser.submit(id, { do: "public" });
    expect(browser.text()).toContain("public client, no secret");
    expect((await portal.exchange(portal.loginCode())).status).toBe(200);
  });

  test("is unregistered after a second step: its tokens are revoked", async () => {
    const { portal, browser } = await atClients();
    const { access_token: token } = await portal.tokens();
    await browser.submit(idOf(browser, "unregister"));
    expect(browser.text()).toContain("Done.");
    expect(browser.text()).toContain("No API client is registered.");
    expect(await portal.statusOf(token)).toBe(401);
  });

  const bad: { name: string; kind: string; filled: Filled; issue: RegExp }[] = [
    { name: "no redirect URI", kind: "about", filled: { redirectUris: " " }, issue: /^redirectUris: / },
    {
      name: "a redirect URI that is a script",
      kind: "about",
      filled: { redirectUris: "javascript:alert(1)" },
      issue: /^redirectUris\.0: /,
    },
    { name: "no name", kind: "about", filled: { name: " " }, issue: /^name: / },
    { name: "a tenant that is none", kind: "about", filled: { tenantId: "../etc" }, issue: /^tenantId: / },
    { name: "an empty secret", kind: "secret", filled: { clientSecret: "" }, issue: /^clientSecret: / },
    {
      name: "a scope that is none",
      kind: "scopes",
      filled: { limited: "yes", more: "everything", do: "scopes" },
      issue: /^scopes\.0: /,
    },
    {
      name: "a client that nobody registered",
      kind: "about",
      filled: { clientId: "worker" },
      issue: /^API client "worker" is not registered$/,
    },
  ];
  test.each(bad)("stays as it is for $name, and nothing typed is lost", async ({ kind, filled, issue }) => {
    const { portal, browser } = await atClients();
    const before = portal.emulator.snapshot();
    await browser.submit(idOf(browser, kind), filled);
    expectRefused(browser, issue);
    for (const name of ["name", "tenantId", "redirectUris", "more"]) {
      const typed = filled[name];
      if (typeof typed === "string") {
        expect(browser.fields(idOf(browser, kind))).toContainEqual([name, typed]);
      }
    }
    expect(portal.emulator.snapshot()).toEqual(before);
  });
});
