// Refresh tokens that are not in the table: idleness and lifetime, old ones, narrower scopes.
import { expect, test } from "vitest";
import { Portal, tokensIn } from "./deployment.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

test("by default a refresh token expires after 30 days without use, and a login after 90 days", async () => {
  const portal = new Portal();
  let { refresh_token } = await portal.personTokens();
  for (let month = 1; month <= 3; month++) {
    portal.now += 30 * DAY - 1000;
    ({ refresh_token } = await tokensIn(portal.refresh(refresh_token)));
  }
  portal.now += 3000;
  await portal.refresh(refresh_token);
  expect(portal.lastRule()).toBe("refresh.lifetime");
  const idle = await portal.personTokens();
  portal.now += 30 * DAY;
  await portal.refresh(idle.refresh_token);
  expect(portal.lastRule()).toBe("refresh.idle");
});

test("a code and a refresh token are known as spent hours and 1100 other logins later, which ends the newest access token", async () => {
  const portal = new Portal({ refreshTokens: { lifetimeSeconds: 7200 } });
  const login = portal.loginCode();
  const first = await tokensIn(portal.exchangeLogin(login));
  portal.now += 2 * HOUR - 1;
  const last = await tokensIn(portal.refresh(first.refresh_token));
  portal.now += HOUR - 1;
  expect(await portal.statusOf(last.access_token)).toBe(200);
  // These logins make the stores remove old entries.
  for (let other = 0; other < 1100; other++) await portal.exchangeLogin(portal.loginCode());
  await portal.refresh(first.refresh_token);
  expect(await portal.statusOf(last.access_token)).toBe(401);
  await portal.exchangeLogin(login);
  expect(portal.lastRule()).toBe("client-code.unspent");
});

test("a refresh for fewer scopes narrows that access token and not the next one", async () => {
  const portal = new Portal();
  const capabilities = ["devices:read", "schedules:read"];
  portal.emulator.updateOperator({ tenantId: "acme", userId: "ada", capabilities });
  const { refresh_token } = await portal.personTokens();
  const scope = "schedules:read";
  const narrow = await tokensIn(portal.refresh(refresh_token, { scope }));
  expect(await portal.statusOf(narrow.access_token)).toBe(403);
  expect(portal.lastRule()).toBe("route.scope");
  const wide = await tokensIn(portal.refresh(narrow.refresh_token));
  expect(await portal.statusOf(wide.access_token)).toBe(200);
});
