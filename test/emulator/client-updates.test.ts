// Service accounts and API clients that are changed while they are used: what counts from when, and what stays.
import { describe, expect, test } from "vitest";
import { expectNothingChanged } from "./expect-nothing-changed.js";
import { FormBrowser } from "./form-browser.js";
import { ada } from "./launched-plugin.js";
import { CALLBACK, PORTAL_SECRET, Portal } from "./portal.js";

const account = { tenantId: "acme", clientId: "worker", clientSecret: "open sesame" };
const worker = { clientId: "worker" };

class Worker extends Portal {
  constructor() {
    super();
    this.emulator.registerServiceAccount(account);
  }

  ask(clientSecret: string): Promise<Response> {
    return this.post({ grant_type: "client_credentials", client_id: "worker", client_secret: clientSecret });
  }

  async token(clientSecret = account.clientSecret): Promise<string> {
    return ((await (await this.ask(clientSecret)).json()) as { access_token: string }).access_token;
  }
}

describe("a service account", () => {
  test("with another secret is refused its old one at once, and keeps its tokens", async () => {
    const client = new Worker();
    const token = await client.token();
    client.emulator.updateServiceAccount({ ...worker, clientSecret: "another" });
    expect((await client.ask(account.clientSecret)).status).toBe(401);
    expect(client.lastRule()).toBe("client.authentication");
    expect((await client.ask("another")).status).toBe(200);
    expect(await client.statusOf(token)).toBe(200);
  });

  test("with other scopes gets them with its next token, and with null every one", async () => {
    const client = new Worker();
    const token = await client.token();
    client.emulator.updateServiceAccount({ ...worker, scopes: ["schedules:read"] });
    expect(await client.statusOf(await client.token())).toBe(403);
    expect(client.lastRule()).toBe("route.scope");
    expect(await client.statusOf(token)).toBe(200);
    client.emulator.updateServiceAccount({ ...worker, clientSecret: "another" });
    expect(await client.statusOf(await client.token("another"))).toBe(403);
    client.emulator.updateServiceAccount({ ...worker, scopes: null });
    expect(await client.statusOf(await client.token("another"))).toBe(200);
  });

  test("keeps its secret and scopes in an update that names neither", async () => {
    const client = new Worker();
    client.emulator.updateServiceAccount({ ...worker, tenantId: "acme" });
    expect(await client.statusOf(await client.token())).toBe(200);
  });
});

describe("an API client", () => {
  test("with a secret is a confidential one at once, and with null a public one again", async () => {
    const portal = new Portal();
    const tokens = await portal.tokens();
    portal.emulator.updateApiClient({ clientId: "portal", clientSecret: PORTAL_SECRET });
    expect((await portal.refresh(tokens.refresh_token)).status).toBe(401);
    expect(await portal.statusOf(tokens.access_token)).toBe(200);
    const secret = { client_secret: PORTAL_SECRET };
    const newer = await portal.tokens(await portal.refresh(tokens.refresh_token, secret));
    portal.emulator.updateApiClient({ clientId: "portal", name: "Portal" });
    expect((await portal.refresh(newer.refresh_token)).status).toBe(401);
    portal.emulator.updateApiClient({ clientId: "portal", clientSecret: null });
    expect((await portal.refresh(newer.refresh_token, secret)).status).toBe(401);
    expect((await portal.refresh(newer.refresh_token)).status).toBe(200);
  });

  test("with other redirect URIs takes them for logins from then on; a code goes on with its own", async () => {
    const portal = new Portal();
    const code = portal.loginCode();
    const moved = "https://portal.example/moved";
    portal.emulator.updateApiClient({ clientId: "portal", redirectUris: [moved] });
    expect(() => portal.loginCode()).toThrow(
      expect.objectContaining({ issues: ["authorization.redirect-uri"] }),
    );
    expect((await portal.exchange(code)).status).toBe(200);
    const redirected = { redirect_uri: moved };
    expect((await portal.exchange(portal.loginCode(redirected), redirected)).status).toBe(200);
  });

  test("with other scopes asks for them from then on, and keeps what was allowed", async () => {
    const portal = new Portal();
    const tokens = await portal.tokens();
    portal.emulator.updateApiClient({ clientId: "portal", scopes: ["schedules:read"] });
    expect(await portal.statusOf((await portal.tokens()).access_token)).toBe(403);
    expect(await portal.statusOf(tokens.access_token)).toBe(200);
    const newer = await portal.tokens(await portal.refresh(tokens.refresh_token));
    expect(await portal.statusOf(newer.access_token)).toBe(200);
    portal.emulator.updateApiClient({ clientId: "portal", scopes: null });
    expect(await portal.statusOf((await portal.tokens()).access_token)).toBe(200);
  });

  test("of another tenant is for that one's people, and with null for all of them", () => {
    const portal = new Portal();
    portal.emulator.updateApiClient({ clientId: "portal", tenantId: "umbrella" });
    expect(() => portal.loginCode()).toThrow(expect.objectContaining({ issues: ["login.credentials"] }));
    portal.emulator.updateApiClient({ clientId: "portal", name: "Portal" });
    expect(() => portal.loginCode()).toThrow();
    portal.emulator.updateApiClient({ clientId: "portal", tenantId: null });
    expect(portal.loginCode().code).toMatch(/./);
  });

  test("lets a login in progress end as it began", async () => {
    const portal = new Portal({}, { name: "Portal" });
    const browser = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
    portal.emulator.updateApiClient({
      clientId: "portal",
      name: "Renamed",
      redirectUris: ["https://x.example/"],
    });
    await (await browser.submit({ userId: "ada", decision: "login" })).follow();
    expect(browser.text()).toContain("Allow Portal?");
    await browser.submit({ decision: "allow" });
    expect(browser.location).toMatch(`${CALLBACK}?code=`);
    await browser.open(portal.authorizationUrl({ redirect_uri: "https://x.example/" }));
    expect(browser.text()).toContain("Allow Renamed?");
  });

  test("keeps everything in an update that names nothing", async () => {
    const portal = new Portal(
      {},
      { clientSecret: PORTAL_SECRET, scopes: ["devices:read"], tenantId: ada.tenantId },
    );
    portal.emulator.updateApiClient({ clientId: "portal" });
    const secret = { client_secret: PORTAL_SECRET };
    const tokens = await portal.tokens(await portal.exchange(portal.loginCode(), secret));
    expect(await portal.statusOf(tokens.access_token)).toBe(200);
  });
});

describe("an update is refused and changes nothing", () => {
  const rows: {
    name: string;
    method: "updateServiceAccount" | "updateApiClient";
    input: unknown;
    code: string;
    issue?: RegExp;
  }[] = [
    {
      name: "of an unknown service account",
      method: "updateServiceAccount",
      input: { clientId: "x" },
      code: "not_registered",
    },
    {
      name: "of a service account of another tenant",
      method: "updateServiceAccount",
      input: { ...worker, tenantId: "x", scopes: [] },
      code: "not_registered",
    },
    {
      name: "of an API client as a service account",
      method: "updateServiceAccount",
      input: { clientId: "portal", scopes: [] },
      code: "not_registered",
    },
    {
      name: "with an empty secret",
      method: "updateServiceAccount",
      input: { ...worker, clientSecret: "" },
      code: "registration_invalid",
      issue: /^clientSecret: /,
    },
    {
      name: "with no secret at all",
      method: "updateServiceAccount",
      input: { ...worker, clientSecret: null },
      code: "registration_invalid",
      issue: /^clientSecret: /,
    },
    {
      name: "with a scope that is none",
      method: "updateServiceAccount",
      input: { ...worker, scopes: ["devices"] },
      code: "registration_invalid",
      issue: /^scopes\.0: /,
    },
    {
      name: "with a secret in the wrong field",
      method: "updateServiceAccount",
      input: { ...worker, secret: "open sesame" },
      code: "registration_invalid",
      issue: /"secret"/,
    },
    { name: "of nothing", method: "updateServiceAccount", input: undefined, code: "registration_invalid" },
    {
      name: "of an unknown API client",
      method: "updateApiClient",
      input: { clientId: "x" },
      code: "not_registered",
    },
    {
      name: "of a service account as an API client",
      method: "updateApiClient",
      input: { clientId: "worker" },
      code: "not_registered",
    },
    {
      name: "without redirect URIs",
      method: "updateApiClient",
      input: { clientId: "portal", redirectUris: [] },
      code: "registration_invalid",
      issue: /^redirectUris: /,
    },
    {
      name: "with a redirect URI that is none",
      method: "updateApiClient",
      input: { clientId: "portal", redirectUris: ["javascript:alert(1)"] },
      code: "registration_invalid",
      issue: /^redirectUris\.0: /,
    },
    {
      name: "with an empty name",
      method: "updateApiClient",
      input: { clientId: "portal", name: "" },
      code: "registration_invalid",
      issue: /^name: /,
    },
    {
      name: "with a tenant of dots",
      method: "updateApiClient",
      input: { clientId: "portal", tenantId: ".." },
      code: "registration_invalid",
      issue: /^tenantId: /,
    },
    {
      name: "with a misspelt field",
      method: "updateApiClient",
      input: { clientId: "portal", redirectUri: CALLBACK },
      code: "registration_invalid",
      issue: /"redirectUri"/,
    },
    { name: "of null", method: "updateApiClient", input: null, code: "registration_invalid" },
  ];
  test.each(rows)("$name", async ({ method, input, code, issue }) => {
    const { emulator } = new Worker();
    await expectNothingChanged(emulator, () => emulator[method](input as never), {
      code,
      issue,
      secret: "sesame",
    });
  });
});
