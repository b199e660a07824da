// The last launch or login as it is recorded: every step with what it carried, and of secrets only the length.
import { describe, expect, test } from "vitest";
import { FlowRecord, shownFields } from "../../src/emulator/flow/flow-record.js";
import type { Emulator } from "../../src/emulator/index.js";
import { AdminBrowser } from "./admin-browser.js";
import { FormBrowser } from "./form-browser.js";
import { LaunchedPlugin } from "./launched-plugin.js";
import { newPkce } from "./pkce.js";
import { CALLBACK, PORTAL_SECRET, Portal } from "./portal.js";

/** What a person reads: for each step its name, who to whom, the rule that refused it, and its fields. */
async function steps(emulator: Emulator): Promise<string[]> {
  const { html } = await new AdminBrowser(emulator).open("/_emulator/live/flow");
  const parts = html.split(/<li class="step/).slice(1);
  return parts.map((part) => {
    const [, name] = /<h2>(.*?)<\/h2>/.exec(part) ?? [];
    const [, way] = /<p class="quiet">(.*?) · /.exec(part) ?? [];
    const [, rule = ""] = /<code class="rule">(.*?)<\/code>/.exec(part) ?? [];
    const fields = [...part.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)].map(
      ([, field, value]) => `${field}=${value}`,
    );
    return [`${name}: ${way}`, rule, fields.join(" ")].filter((text) => text !== "").join(" | ");
  });
}

const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const LAUNCHED = [
  "Plugin launched: Host application to Browser | opaque_code=43 characters state=43 characters",
  "plugin:pkce-init: Browser to Host application | challenge=43 characters opaque_code=43 characters",
  "host:auth-code: Host application to Browser | code=43 characters state=43 characters tenantId=acme",
];
const exchanged = (assertionLength: number) =>
  `Code exchange: Plugin backend to Token endpoint | grant_type=authorization_code client_id=reporter code=43 characters code_verifier=43 characters client_assertion_type=${ASSERTION_TYPE} client_assertion=${assertionLength} characters`;

describe("a launch", () => {
  test("is recorded from the launch to the token, and its code's second exchange too", async () => {
    const plugin = new LaunchedPlugin();
    expect(await steps(plugin.emulator)).toEqual([]);
    const launched = plugin.launchedCode();
    expect(await steps(plugin.emulator)).toEqual(LAUNCHED);
    const form = { client_assertion: plugin.assertion() };
    await plugin.exchange(launched, { form });
    const { length } = form.client_assertion;
    await plugin.exchange(launched, { form: { client_assertion: plugin.assertion() } });
    expect(await steps(plugin.emulator)).toEqual([
      ...LAUNCHED,
      exchanged(length),
      "Token response, 200: Token endpoint to Plugin backend | access_token=43 characters token_type=Bearer expires_in=3600 revo=an object of tenant, user, roles",
      exchanged(length),
      "Refused, 400: Token endpoint to Plugin backend | code.unspent | error=invalid_grant error_description=The token request was rejected.",
    ]);
    const page = await new AdminBrowser(plugin.emulator).open("/_emulator/flow");
    expect(page.text()).toContain("A launch in Variant A acme · reporter · ada");
  });

  test("from the host application's page begins with that page, and a refused message says by which rule", async () => {
    const plugin = new LaunchedPlugin();
    const host = await new FormBrowser(plugin.emulator).open("/host/acme");
    await host.submit({ userId: "ada" });
    await host.follow();
    const ask = (path: string, body: object) => {
      const token = /data-form-token="([^"]*)"/.exec(host.html)?.[1] ?? "";
      const headers = { "content-type": "application/json", "x-form-token": token };
      return host.request(`/host/acme/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    };
    const { url } = (await (await ask("launches", { clientId: "reporter" })).json()) as { url: string };
    const opaqueCode = new URL(url).searchParams.get("opaque_code");
    await ask("authorizations", { clientId: "reporter", opaque_code: opaqueCode, challenge: "short" });
    expect(await steps(plugin.emulator)).toEqual([
      "Host page loaded: Host application to Browser | tenantId=acme userId=ada",
      "Plugin chosen: Browser to Host application | clientId=reporter",
      LAUNCHED[0],
      "plugin:pkce-init: Browser to Host application | challenge=5 characters opaque_code=43 characters",
      "Code refused: Host application to Browser | launch.challenge",
    ]);
    await ask("launches", { clientId: "a-secret-in-the-wrong-place" });
    expect((await steps(plugin.emulator)).slice(1)).toEqual([
      "Plugin chosen: Browser to Host application | clientId=27 characters",
      "Launch refused: Host application to Browser | launch.plugin",
    ]);
  });

  test("whose code is posted twice says so", async () => {
    const plugin = new LaunchedPlugin();
    plugin.emulator.faults.add({ name: "duplicate-auth-code" });
    plugin.launchedCode();
    expect((await steps(plugin.emulator))[2]).toContain("host:auth-code, posted 2 times");
  });

  test("stays recorded beside what belongs to no flow, and over a restore; a reset forgets it", async () => {
    const plugin = new LaunchedPlugin();
    const { emulator } = plugin;
    plugin.launchedCode();
    await plugin.requestToken();
    await plugin.requestToken({ form: { grant_type: "authorization_code", code: "x" } });
    await plugin.call(undefined);
    emulator.restore(emulator.snapshot());
    expect(await steps(emulator)).toEqual(LAUNCHED);
    emulator.reset();
    expect(await steps(emulator)).toEqual([]);
  });
});

describe("a login", () => {
  const redirect = CALLBACK;
  const asked = `Authorization request: Browser to Authorization server | response_type=code client_id=portal redirect_uri=${redirect} state=7 characters code_challenge=43 characters code_challenge_method=S256`;

  test("is recorded from the authorization request over a failed password to the refreshes", async () => {
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
    const { refresh_token } = await portal.tokens(await portal.exchange({ ...pkce, code }));
    await portal.refresh(refresh_token, { scope: "devices:read" });
    await portal.refresh(refresh_token);
    const tokens =
      "Token response, 200: Token endpoint to Client | access_token=43 characters refresh_token=43 characters";
    const refresh =
      "Refresh: Client to Token endpoint | grant_type=refresh_token client_id=portal client_secret=given refresh_token=43 characters";
    expect(await steps(portal.emulator)).toEqual([
      asked,
      "Login: Browser to Authorization server | userId=3 characters password=given",
      "Login page again: Authorization server to Browser | login.credentials",
      "Login: Browser to Authorization server | userId=ada password=given",
      "Consent: Browser to Authorization server | decision=allow",
      "Callback: Authorization server to Client | code=43 characters state=7 characters iss=http://emulator.localhost",
      `Code exchange: Client to Token endpoint | client_id=portal client_secret=given code=43 characters code_verifier=43 characters redirect_uri=${redirect}`,
      tokens,
      `${refresh} scope=12 characters`,
      tokens,
      refresh,
      expect.stringMatching(
        /^Refused, 400: Token endpoint to Client \| refresh\.reuse \| error=invalid_grant error_description=Refused by the rule: /,
      ),
    ]);
    const page = await new AdminBrowser(portal.emulator).open("/_emulator/flow");
    expect(page.text()).toContain("A login in Variant B acme · portal · ada");
  });

  const ends = [
    {
      name: "cancelled at the login page",
      decide: "cancel",
      expected: ["Consent: Browser to Authorization server | decision=deny"],
    },
    {
      name: "denied at the consent page",
      decide: "deny",
      expected: [
        "Login: Browser to Authorization server | userId=ada password=empty",
        "Consent: Browser to Authorization server | decision=deny",
      ],
    },
  ];
  test.each(ends)(
    "that is $name ends with the error that the client is told",
    async ({ decide, expected }) => {
      const portal = new Portal();
      const browser = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
      if (decide === "cancel") await browser.submit({ userId: "", decision: "deny" });
      else {
        await browser.submit({ userId: "ada", password: "" });
        await browser.follow();
        await browser.submit({ decision: "deny" });
      }
      const [first, ...rest] = await steps(portal.emulator);
      expect(first).toBe(asked);
      expect(rest).toEqual([
        ...expected,
        expect.stringMatching(
          /^Callback: Authorization server to Client \| login\.consent \| state=7 characters error=access_denied error_description=.+/,
        ),
      ]);
    },
  );

  test("in-process is recorded as its pages would be", async () => {
    const portal = new Portal();
    await portal.tokens(await portal.exchange(portal.loginCode({ scope: "devices:read" })));
    const recorded = await steps(portal.emulator);
    expect(recorded.map((step) => step.split(":")[0])).toEqual([
      "Authorization request",
      "Consent",
      "Callback",
      "Code exchange",
      "Token response, 200",
    ]);
    expect(recorded[0]).toContain("scope=devices:read");
  });

  test("that is refused at once says by which rule, to whom it is said, and quotes nothing that is not registered", async () => {
    const portal = new Portal();
    await portal.emulator.fetch(
      portal.authorizationUrl({ client_id: "somebody", redirect_uri: "https://evil.example/" }),
    );
    expect(await steps(portal.emulator)).toEqual([
      "Authorization request: Browser to Authorization server | response_type=code client_id=8 characters redirect_uri=21 characters state=7 characters code_challenge=43 characters code_challenge_method=S256",
      "Error page: Authorization server to Browser | authorization.client",
    ]);
    await portal.emulator.fetch(portal.authorizationUrl({ code_challenge_method: "plain" }));
    expect(await steps(portal.emulator)).toEqual([
      asked.replace("S256", "5 characters"),
      expect.stringMatching(
        /^Callback: Authorization server to Client \| authorization\.challenge-method \| state=7 characters error=invalid_request /,
      ),
    ]);
  });

  test("with many refreshes keeps its first steps and the newest, and says how many are missing", async () => {
    const portal = new Portal({ refreshTokens: { rotation: false } });
    const { refresh_token } = await portal.tokens();
    for (let index = 0; index < 30; index += 1) await portal.refresh(refresh_token);
    const recorded = await steps(portal.emulator);
    expect(recorded).toHaveLength(40);
    expect(recorded[0]).toBe(asked);
    const page = await new AdminBrowser(portal.emulator).open("/_emulator/flow");
    expect(page.text()).toContain("25 steps before the newest ones are not shown.");
  });
});

describe("the record", () => {
  test("shows a value only where it is known or a word of the protocols, and of passwords not even the length", () => {
    const fields = {
      ...{
        a: "known",
        b: "unknown",
        c: "S256",
        d: undefined,
        e: 3,
        f: null,
        g: [1, 2],
        h: { x: "secret" },
        i: "",
      },
      ...{ password: "known", client_secret: "x" },
    };
    const shown = Object.fromEntries(
      shownFields(fields, new Set(["known"])).map(({ name, shown }) => [name, shown]),
    );
    expect(shown).toEqual({
      ...{
        a: "known",
        b: "7 characters",
        c: "S256",
        e: "3",
        f: "null",
        g: "2 in a list",
        h: "an object of x",
        i: "0 characters",
      },
      ...{ password: "given", client_secret: "given" },
    });
  });

  test("knows a bounded number of secrets, the newest ones", () => {
    const record = new FlowRecord();
    const flow = record.begin("login", {});
    const step = { at: 0, name: "Refresh", from: "client", to: "token", fields: {} } as const;
    for (let index = 0; index < 150; index += 1) flow.add(step, `secret-${index}`);
    const known = Array.from({ length: 150 }, (_, index) => record.find(`secret-${index}`) !== undefined);
    expect(known.indexOf(true)).toBe(50);
    expect(known.slice(50)).not.toContain(false);
    record.begin("launch", {});
    expect(record.find("secret-149")).toBeUndefined();
  });
});
