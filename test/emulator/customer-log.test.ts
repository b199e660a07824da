// The customer's log, and what it may quote of a request.

import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { shown, shownClientId, shownKeyId, shownUri } from "../../src/emulator/shown.js";
import { FormBrowser } from "./form-browser.js";
import { LaunchedPlugin, PluginClient } from "./plugin-client.js";
import { PORTAL_SECRET, Portal } from "./portal.js";
import { newPkce } from "./signing-key.js";

describe("the log", () => {
  describe("the customer's log", () => {
    test("is filtered by tenant, client, rule, request and instant, and gives its newest", async () => {
      const plugin = new PluginClient();
      const { customerLog, journal } = plugin.emulator;
      await plugin.requestToken({ claims: { aud: "x" } });
      plugin.now += 1000;
      await plugin.requestToken({ claims: { iss: "x" } });
      await plugin.requestToken({ tenantId: "globex" });
      const rules = (filter: Parameters<typeof customerLog.entries>[0]) =>
        customerLog.entries(filter).map(({ rule }) => rule);
      expect(rules({ clientId: "reporter", tenantId: "acme" })).toEqual([
        "assertion.audience",
        "assertion.issuer",
      ]);
      expect(rules({ rule: "assertion.issuer" })).toEqual(["assertion.issuer"]);
      expect(rules({ since: plugin.now })).toEqual(["assertion.issuer", "plugin.registered"]);
      expect(rules({ since: plugin.now + 1 })).toEqual([]);
      expect(rules({ requestId: journal.entries()[1]?.id })).toEqual(["assertion.issuer"]);
      expect(customerLog.last()?.rule).toBe("plugin.registered");
      expect(customerLog.last({ tenantId: "acme" })?.rule).toBe("assertion.issuer");
      expect(customerLog.last({ rule: "code.unspent" })).toBeUndefined();
      expect(() => customerLog.entries({ tenant: "acme" } as object)).toThrow(
        expect.objectContaining({ code: "option_invalid", message: expect.stringContaining("tenant") }),
      );
    });

    test.each(["nonsense", "assertion.replays", "toString", 1, null])(
      "refuses the filter %j, which is no rule, as the journal does",
      (rule) => {
        const { customerLog, journal } = new PluginClient().emulator;
        const refused = expect.objectContaining({
          code: "option_invalid",
          message: expect.stringMatching(/rule/),
        });
        expect(() => customerLog.entries({ rule } as object)).toThrow(refused);
        expect(() => customerLog.last({ rule } as object)).toThrow(refused);
        expect(() => journal.count({ rule } as object)).toThrow(refused);
      },
    );

    const verifier = "Oh.V1FoODWw~YFsdAyZcJ3L.SwbN18X6Nz9.dyrEm30";
    const fields = ["client_id", "grant_type", "client_assertion_type", "client_assertion", "code"];
    test.each(fields)("quotes no secret that came as %s", async (field) => {
      for (const secret of [verifier, "open sesame", "gT7qLw92xPz"]) {
        const plugin = new LaunchedPlugin();
        await plugin.exchange(plugin.launchedCode(), { form: { [field]: secret } });
        expect(plugin.emulator.customerLog.entries()).toHaveLength(1);
        expect(JSON.stringify(plugin.emulator.customerLog.entries())).not.toContain(secret);
      }
    });

    test.each(["authorization request", "code exchange"])(
      "quotes no secret that came as redirect_uri of an %s",
      async (where) => {
        for (const secret of [verifier, PORTAL_SECRET, `https://portal.example/${verifier}`]) {
          const portal = new Portal();
          const changes = { redirect_uri: secret };
          if (where === "code exchange") await portal.exchange(portal.loginCode(), changes);
          else await portal.emulator.fetch(portal.authorizationUrl(changes));
          expect(portal.lastRule()).toMatch(/redirect-uri$/);
          expect(JSON.stringify(portal.emulator.customerLog.entries())).not.toContain(secret);
        }
      },
    );

    test("names a client_id that is to be registered yet", async () => {
      const plugin = new PluginClient();
      await plugin.requestToken({ form: { client_id: "planner-2" } });
      expect(plugin.emulator.customerLog.last({ clientId: "planner-2" })).toMatchObject({
        rule: "plugin.registered",
        actual: '"planner-2"',
      });
    });

    test("of requests at once each refusal has its own request's id", async () => {
      const plugin = new PluginClient();
      const { journal, customerLog } = plugin.emulator;
      const tenants = Array.from({ length: 30 }, (_, index) => `tenant-${index}`);
      await Promise.all(tenants.map((tenantId) => plugin.requestToken({ tenantId })));
      for (const { id, tenantId } of journal.entries())
        expect(customerLog.entries({ requestId: id })).toMatchObject([{ tenantId }]);
      expect(new Set(journal.entries().map(({ id }) => id)).size).toBe(30);
    });

    test("has no request for what is refused in-process, and begins anew with the journal", async () => {
      const plugin = new LaunchedPlugin();
      const { journal, customerLog } = plugin.emulator;
      expect(() => plugin.launchedCode({ userId: "nobody" })).toThrow();
      expect(customerLog.last()).not.toHaveProperty("requestId");
      await plugin.emulator.fetch("/");
      await plugin.emulator.fetch("/");
      expect(journal.last()?.id).toBe(2);
      plugin.emulator.reset();
      await plugin.emulator.fetch("/");
      expect(journal.entries().map(({ id }) => id)).toEqual([1]);
    });
  });
});

describe("quoted values", () => {
  const rows: { name: string; value: unknown; text: string }[] = [
    { name: "nothing reads absent", value: undefined, text: "absent" },
    { name: "a short string is quoted", value: 'a "b"', text: '"a \\"b\\""' },
    { name: "a token URL is quoted", value: "http://h.example/x", text: '"http://h.example/x"' },
    {
      name: "a JWT is described, however short",
      value: "eyJhbGciOiJub25lIn0.e30.",
      text: "a string of length 24",
    },
    {
      name: "a JWT inside other text is described",
      value: "Bearer eyJh.e30.c2ln",
      text: "a string of length 20",
    },
    {
      name: "a string of 201 characters is described",
      value: "x".repeat(201),
      text: "a string of length 201",
    },
    {
      name: "what may be a code or a token is described",
      value: "OhWV1FoODWwUYFsdAyZcJ3LQSwbN18X6Nz9IdyrEm30",
      text: "a string of length 43",
    },
    {
      name: "a verifier with dots and tildes is described",
      value: "Oh.V1FoODWw~YFsdAyZcJ3L.SwbN18X6Nz9.dyrEm30",
      text: "a string of length 43",
    },
    {
      name: "a verifier in the path of a URL is described",
      value: "http://h.example/Oh.V1FoODWw~YFsdAyZcJ3L.SwbN18X6Nz9.dyrEm30",
      text: "a string of length 60",
    },
    {
      name: "a verifier before the host of a URL is described",
      value: "http://Oh.V1FoODWw~YFsdAyZcJ3L.SwbN18X6Nz9.dyrEm30@h.example/",
      text: "a string of length 61",
    },
    {
      name: "a token URL of a host with a long name is quoted",
      value: "https://staging-7.emulator.internal.services.customer.example:8443/x",
      text: '"https://staging-7.emulator.internal.services.customer.example:8443/x"',
    },
    {
      name: "a UUID is quoted",
      value: "0b8a5b1e-9d0c-4d5b-8d8e-3f6a2c1b7e90",
      text: '"0b8a5b1e-9d0c-4d5b-8d8e-3f6a2c1b7e90"',
    },
    { name: "control characters are described", value: "a\nb", text: "a string of length 3" },
    { name: "a number is itself", value: 1.5, text: "1.5" },
    { name: "null is itself", value: null, text: "null" },
    { name: "an array is counted", value: ["secret"], text: "an array of 1" },
    { name: "an object is named", value: { secret: 1 }, text: "an object" },
  ];

  test.each(rows)("$name", ({ value, text }) => {
    expect(shown(value)).toBe(text);
  });

  test("a kid is quoted even if it is a thumbprint", () => {
    const thumbprint = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs";
    expect(shownKeyId(thumbprint)).toBe(`"${thumbprint}"`);
  });

  test.each(["reporter", "plugin-2", "Acme.reports_eu-1", "com.example.device-list"])(
    "the client_id %j is quoted though nobody registered it",
    (value) => {
      expect(shownClientId(value)).toBe(`"${value}"`);
    },
  );

  test.each(["open sesame", "s3cr3t", "gT7qLw92", "AKIAIOSFODNN", "0b8a5b1e-9d0c-4d5b-8d8e-3f6a2c1b7e90"])(
    "the client_id %j is described: it may be a secret",
    (value) => {
      expect(shownClientId(value)).toBe(`a string of length ${value.length}`);
    },
  );

  test("of URIs only what is one is quoted", () => {
    const values = ["https://a.example/x", "urn:a:b", "open sesame", "", undefined];
    expect(values.map(shownUri)).toEqual([
      '"https://a.example/x"',
      '"urn:a:b"',
      "no URI",
      "absent",
      "absent",
    ]);
  });
});

describe("secrets of people", () => {
  const PASSWORD = "canary-password-0123456789";

  function everything({ emulator }: { emulator: Portal["emulator"] }): string {
    return [
      JSON.stringify(emulator.customerLog.entries()),
      JSON.stringify(emulator.journal.entries()),
      JSON.stringify(emulator),
      inspect(emulator, { depth: 20, showHidden: true }),
    ].join("\n");
  }

  function expectAbsent(text: string, canaries: Record<string, string | undefined>): void {
    for (const [name, canary] of Object.entries(canaries)) {
      expect(canary?.length, name).toBeGreaterThan(8);
      expect(text.includes(canary ?? ""), name).toBe(false);
    }
  }

  test("of a launch: opaque_code, state, code, verifier and token", async () => {
    const plugin = new LaunchedPlugin();
    const identity = { tenantId: "acme", clientId: "reporter", userId: "ada" };
    const { opaqueCode } = plugin.emulator.launch(identity);
    const launched = plugin.launchedCode();
    const accessToken = await plugin.launchedToken();
    const { code, codeVerifier, state } = launched;
    await plugin.exchange(launched);
    await plugin.exchange(launched);
    // One taken for the other.
    for (const secret of [opaqueCode, codeVerifier, state, accessToken]) {
      await plugin.exchange({ ...plugin.launchedCode(), code: secret });
      await plugin.exchange({ ...plugin.launchedCode(), codeVerifier: secret });
      const launch = plugin.emulator.launch(identity);
      expect(() => launch.authorize({ codeChallenge: `${secret}x` })).toThrow(/refuses the launch/);
      expect(() => launch.authorize({ ...newPkce(), opaqueCode: `${secret}x` })).toThrow(
        /refuses the launch/,
      );
    }
    expect(plugin.emulator.customerLog.entries().length).toBeGreaterThan(12);
    expectAbsent(everything(plugin), { opaqueCode, code, codeVerifier, state, accessToken });
  });

  test("of a login: password, client secret, code, verifier, refresh token, form token and cookie", async () => {
    const portal = new Portal({}, { clientSecret: PORTAL_SECRET });
    portal.emulator.updateOperator({ tenantId: "acme", userId: "ada", password: PASSWORD });
    const pkce = newPkce();
    const url = portal.authorizationUrl({ code_challenge: pkce.codeChallenge });
    const browser = await new FormBrowser(portal.emulator).open(url);
    await browser.submit({ userId: "ada", password: `${PASSWORD}x` });
    await browser.submit({ userId: PASSWORD, password: "ada" });
    await browser.submit({ userId: "ada", password: PASSWORD });
    await browser.follow();
    const { form_token: formToken, request } = browser.hidden();
    const cookie = [...browser.cookies.values()].at(-1);
    await browser.submit({ decision: "allow" });
    const code = new URL(browser.location).searchParams.get("code") ?? "";
    await browser.open(browser.location.replace("https://portal.example", "http://emulator.localhost"));
    const first = await portal.tokens(await portal.exchange({ ...pkce, code }));
    const second = await portal.tokens(await portal.refresh(first.refresh_token));
    await portal.exchange({ ...pkce, code }, { client_secret: `${PORTAL_SECRET}x` });
    await portal.exchange({ ...pkce, code }, { client_id: PORTAL_SECRET });
    await portal.exchange({ ...pkce, code });
    await portal.refresh(first.refresh_token);
    await portal.refresh(second.refresh_token, { client_id: second.refresh_token });
    await portal.emulator.fetch(portal.authorizationUrl({ client_id: PORTAL_SECRET }));
    await portal.emulator.fetch(portal.authorizationUrl({ code_challenge: pkce.codeVerifier.slice(1) }));
    expect(portal.emulator.customerLog.entries().length).toBeGreaterThan(7);
    expectAbsent(everything(portal), {
      PASSWORD,
      PORTAL_SECRET,
      code,
      codeVerifier: pkce.codeVerifier,
      verifierTail: pkce.codeVerifier.slice(1),
      accessToken: second.access_token,
      refreshToken: second.refresh_token,
      oldRefreshToken: first.refresh_token,
      formToken,
      request,
      cookie,
    });
  });
});
