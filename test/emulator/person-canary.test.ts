// Nothing that a person's flow keeps secret is to be found in the log, the journal or the instance.
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { FormBrowser } from "./form-browser.js";
import { LaunchedPlugin } from "./launched-plugin.js";
import { newPkce } from "./pkce.js";
import { PORTAL_SECRET, Portal } from "./portal.js";

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
    expect(() => launch.authorize({ ...newPkce(), opaqueCode: `${secret}x` })).toThrow(/refuses the launch/);
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
