// Snapshots: the whole state as JSON, and an emulator that goes on from it.
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createEmulator, type EmulatorSnapshot } from "../../src/emulator/index.js";
import { FormBrowser } from "./form-browser.js";
import { LaunchedPlugin } from "./launched-plugin.js";
import { newPkce } from "./pkce.js";
import { PluginClient, START } from "./plugin-client.js";
import { PORTAL_SECRET, Portal } from "./portal.js";

const throughJson = (snapshot: EmulatorSnapshot) => JSON.parse(JSON.stringify(snapshot)) as EmulatorSnapshot;

describe("an emulator that is restored", () => {
  test("knows tokens and jti values of the one whose snapshot it was", async () => {
    const one = new PluginClient();
    const form = one.form();
    const token = ((await (await one.post(form)).json()) as { access_token: string }).access_token;
    const other = new PluginClient();
    other.emulator.restore(throughJson(one.emulator.snapshot()));
    expect((await other.call(token)).status).toBe(200);
    expect((await other.post(form)).status).toBe(400);
    expect(other.lastRule()).toBe("assertion.replay");
    expect((await other.requestToken()).status).toBe(200);
  });

  test("knows codes and launches, each still good once", async () => {
    const one = new LaunchedPlugin();
    const spent = one.launchedCode();
    await one.exchange(spent);
    const fresh = one.launchedCode();
    const other = new LaunchedPlugin();
    other.emulator.restore(throughJson(one.emulator.snapshot()));
    expect((await other.exchange(spent)).status).toBe(400);
    expect((await other.exchange(fresh)).status).toBe(200);
    expect((await other.exchange(fresh)).status).toBe(400);
  });

  test("knows the launches that somebody still holds, and none that it never had", async () => {
    const plugin = new LaunchedPlugin();
    const { emulator } = plugin;
    const launch = () => emulator.launch({ tenantId: "acme", clientId: "reporter", userId: "ada" });
    const before = emulator.snapshot();
    const [held, pkce] = [launch(), newPkce()];
    emulator.restore(throughJson(emulator.snapshot()));
    expect((await plugin.exchange({ ...held.authorize(pkce), ...pkce })).status).toBe(200);
    for (const goBack of [() => emulator.restore(before), () => emulator.reset()]) {
      const gone = launch();
      goBack();
      expect(() => gone.authorize(pkce)).toThrow(expect.objectContaining({ code: "launch_refused" }));
    }
  });

  test("knows who is signed in, at the host and at the login, and nothing more of them than who", async () => {
    const [one, portal] = [new LaunchedPlugin(), new Portal()];
    const host = await new FormBrowser(one.emulator).open("/host/acme");
    await host.submit({ userId: "ada" });
    const login = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
    await login.submit({ userId: "ada", decision: "login" });
    for (const { emulator } of [one, portal]) emulator.restore(throughJson(emulator.snapshot()));
    expect((await host.open("/host/acme")).text()).toContain("Ada Lovelace");
    expect((await login.open(portal.authorizationUrl())).html).toContain('value="allow"');
    const sessions = JSON.stringify(
      (portal.emulator.snapshot().state as Record<string, unknown>).loginSessions,
    );
    expect(sessions).not.toContain("capabilities");
  });

  test("knows refresh tokens, rotated ones too, and the client's secret", async () => {
    const one = new Portal({}, { clientSecret: PORTAL_SECRET, scopes: ["devices:read"] });
    const first = await one.tokens();
    const second = await one.tokens(await one.refresh(first.refresh_token));
    const other = new Portal({}, { clientSecret: PORTAL_SECRET });
    other.emulator.restore(throughJson(one.emulator.snapshot()));
    expect(await other.statusOf(second.access_token)).toBe(200);
    const third = await other.tokens(await other.refresh(second.refresh_token));
    expect((await other.refresh(first.refresh_token)).status).toBe(400);
    expect(await other.statusOf(third.access_token)).toBe(401);
  });

  test("has clock, switches, window and narrowed registrations as they were", async () => {
    const options = { rateLimit: { requests: 2, windowSeconds: 60 } };
    const one = new PluginClient(options);
    const { emulator } = one;
    emulator.clock.freeze(START + 1);
    emulator.rules.enforce("assertion.replay", false);
    emulator.updatePlugin({ tenantId: "acme", clientId: "reporter", scopes: [], devices: ["device-1"] });
    await one.requestToken();
    const snapshot = throughJson(emulator.snapshot());
    emulator.clock.advance(60_000);
    emulator.rules.enforce("assertion.replay", true);
    emulator.updatePlugin({ tenantId: "acme", clientId: "reporter", scopes: ["devices:read"] });
    emulator.restore(snapshot);
    expect([emulator.clock.now(), emulator.clock.frozen]).toEqual([START + 1, true]);
    expect(emulator.rules.off()).toEqual(["assertion.replay"]);
    const token = await one.accessToken();
    expect((await one.call(token)).status).toBe(403);
    expect((await one.requestToken()).status).toBe(429);
    expect(emulator.snapshot()).not.toEqual(snapshot);
  });

  test("may have a rate limit that the one before it had not, and the other way round", async () => {
    const limit = { rateLimit: { requests: 1, windowSeconds: 60 } };
    const [free, limited] = [new PluginClient(), new PluginClient(limit)];
    await limited.requestToken();
    const before = limited.emulator.snapshot();
    limited.emulator.restore(throughJson(free.emulator.snapshot()));
    expect((await limited.requestToken()).status).toBe(200);
    expect((await limited.requestToken()).status).toBe(429);
    free.emulator.restore(throughJson(before));
    for (let times = 0; times < 2; times++) expect((await free.requestToken()).status).toBe(200);
  });

  test("keeps what it recorded, and goes on with a seed number where the snapshot stood", () => {
    const registration = { type: "user_interface" } as const;
    const one = new LaunchedPlugin({ randomSeed: 3 }, registration);
    one.launchedCode();
    const snapshot = one.emulator.snapshot();
    const next = one.emulator.launch({ tenantId: "acme", clientId: "reporter", userId: "ada" });
    const other = new LaunchedPlugin({ randomSeed: 3 }, registration);
    other.emulator.restore(snapshot);
    expect(other.emulator.launch({ tenantId: "acme", clientId: "reporter", userId: "ada" })).toMatchObject({
      url: next.url,
    });
  });
});

test("a snapshot of nothing restored gives an equal snapshot", () => {
  const emulator = createEmulator({ now: () => START });
  const snapshot = emulator.snapshot();
  emulator.restore(throughJson(snapshot));
  expect(emulator.snapshot()).toEqual(snapshot);
});

test("nothing in a snapshot can be presented", async () => {
  const plugin = new LaunchedPlugin();
  const portal = new Portal({}, { clientSecret: PORTAL_SECRET });
  const launched = plugin.launchedCode();
  const token = await plugin.launchedToken();
  const login = portal.loginCode();
  const tokens = await portal.tokens();
  const host = await new FormBrowser(plugin.emulator).open("/host/acme");
  const page = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
  const written = JSON.stringify([plugin.emulator.snapshot(), portal.emulator.snapshot()]);
  expect(written.length).toBeGreaterThan(2_000);
  const secrets = [
    launched.code,
    launched.state,
    host.hidden().form_token,
    page.hidden().form_token,
    page.hidden().request,
    launched.codeVerifier,
    token,
    login.code,
    tokens.access_token,
    tokens.refresh_token,
    PORTAL_SECRET,
  ];
  for (const secret of secrets) {
    expect(secret).toMatch(/.{10}/);
    expect(written).not.toContain(secret);
  }
});

function inCircles(): object {
  const state: Record<string, unknown> = {};
  return Object.assign(state, { state });
}

describe("restore refuses", () => {
  const good = throughJson(new PluginClient().emulator.snapshot());
  test.each([
    { name: "nothing", snapshot: undefined },
    { name: "a string", snapshot: JSON.stringify(good) },
    { name: "another format", snapshot: { ...good, format: "x" } },
    { name: "an older version", snapshot: { ...good, version: good.version - 1 } },
    { name: "a newer version", snapshot: { ...good, version: good.version + 1 } },
    { name: "a state in circles", snapshot: { ...good, state: inCircles() } },
    { name: "a changed state", snapshot: { ...good, state: { ...(good.state as object), random: 5 } } },
    { name: "no state", snapshot: { ...good, state: undefined } },
    { name: "no digest", snapshot: { ...good, digest: undefined } },
  ])("$name, and stays as it was", async ({ snapshot }) => {
    const plugin = new PluginClient();
    const token = await plugin.accessToken();
    expect(() => plugin.emulator.restore(snapshot as never)).toThrow(
      expect.objectContaining({ code: "snapshot_invalid" }),
    );
    expect((await plugin.call(token)).status).toBe(200);
  });
});

describe("restore refuses a state whose digest was reckoned anew", () => {
  const { emulator } = new PluginClient({ rateLimit: { requests: 9, windowSeconds: 60 } });
  const snapshot = throughJson(emulator.snapshot());
  const state = snapshot.state as Readonly<Record<string, unknown>>;
  const nothings = [
    null,
    true,
    "x",
    1.5,
    {},
    [null],
    [{}],
    [["x", {}]],
    [["x", { value: {}, expiresAt: 1 }]],
  ];
  const encoded = [{ $set: 1 }, { $bytes: 1 }, { $publicKey: {} }];
  const [plugin] = state.plugins as [object];
  const parts = [
    ...Object.keys(state).flatMap((name) =>
      [...nothings, ...encoded].map((part) => ({ name: `${name} as ${JSON.stringify(part)}`, [name]: part })),
    ),
    { name: "a clock beyond all dates", clock: { frozenAt: 1e300 } },
    { name: "a rule that is none", rulesOff: ["assertion.colour"] },
    { name: "a fault that is none", faults: { added: 1, armed: '[{"id":"x","fault":{"name":"x"}}]' } },
    { name: "faults cut off", faults: { added: 1, armed: "[{" } },
    { name: "a page without a URL", plugins: [{ ...plugin, pageUrl: "//" }] },
    {
      name: "a digest too short",
      apiClients: [{ clientId: "x", name: "x", redirectUris: [], secretDigest: { $bytes: "AA" } }],
    },
  ];
  test.each(parts)("with $name", ({ name: _, ...changed }) => {
    const broken = { ...state, ...changed };
    const digest = createHash("sha256").update(JSON.stringify(broken)).digest("base64url");
    const [part] = Object.keys(changed);
    expect(() => emulator.restore({ ...snapshot, state: broken, digest })).toThrow(
      expect.objectContaining({
        code: "snapshot_invalid",
        message: `snapshot: state.${part}: is not what a snapshot holds`,
      }),
    );
  });

  test.each(Object.keys(state).filter((name) => name !== "rateWindow"))("without %s", (name) => {
    const { [name]: _, ...rest } = state;
    const digest = createHash("sha256").update(JSON.stringify(rest)).digest("base64url");
    expect(() => emulator.restore({ ...snapshot, state: rest, digest })).toThrow(
      expect.objectContaining({ code: "snapshot_invalid" }),
    );
  });
});
