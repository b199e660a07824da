// Variant B's refresh tokens: rotation, reuse that ends the family, idleness, lifetime, scope, and whose they are.
import { describe, expect, test } from "vitest";
import { CALLBACK, PORTAL_SECRET, Portal } from "./portal.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

async function refusal(response: Response): Promise<unknown> {
  return { status: response.status, error: ((await response.json()) as { error: string }).error };
}
const invalidGrant = { status: 400, error: "invalid_grant" };

describe("with rotation", () => {
  test("a refresh answers another access token and another refresh token, and nothing else", async () => {
    const portal = new Portal();
    const first = await portal.tokens();
    const response = await portal.refresh(first.refresh_token);
    expect(response.headers.get("cache-control")).toBe("no-store");
    const second = await portal.tokens(response);
    expect(Object.keys(second)).toEqual(["access_token", "refresh_token"]);
    expect(second.refresh_token).not.toBe(first.refresh_token);
    expect(second.access_token).not.toBe(first.access_token);
    expect(await portal.statusOf(second.access_token)).toBe(200);
    expect(await portal.statusOf(first.access_token)).toBe(200);
  });

  test("the old token's reuse is refused and ends the family with its access tokens, but no other login's", async () => {
    const portal = new Portal();
    const [first, other] = [await portal.tokens(), await portal.tokens()];
    const second = await portal.tokens(await portal.refresh(first.refresh_token));
    const third = await portal.tokens(await portal.refresh(second.refresh_token));
    expect(await refusal(await portal.refresh(first.refresh_token))).toEqual(invalidGrant);
    expect(portal.lastRule()).toBe("refresh.reuse");
    for (const { access_token, refresh_token } of [first, second, third]) {
      expect(await portal.statusOf(access_token)).toBe(401);
      expect(portal.lastRule()).toBe("bearer.revoked");
      expect(await refusal(await portal.refresh(refresh_token))).toEqual(invalidGrant);
      expect(portal.lastRule()).toBe("refresh.revoked");
    }
    expect(await portal.statusOf(other.access_token)).toBe(200);
    expect((await portal.refresh(other.refresh_token)).status).toBe(200);
  });

  test("a lost answer counts as reuse: the retry with the old token ends the login", async () => {
    const portal = new Portal();
    const { refresh_token } = await portal.tokens();
    await portal.refresh(refresh_token);
    expect(await refusal(await portal.refresh(refresh_token))).toEqual(invalidGrant);
  });

  test("without reuse detection the old token is refused and the new one lives", async () => {
    const portal = new Portal({ refreshTokens: { reuseDetection: false } });
    const first = await portal.tokens();
    const second = await portal.tokens(await portal.refresh(first.refresh_token));
    expect(await refusal(await portal.refresh(first.refresh_token))).toEqual(invalidGrant);
    expect(portal.lastRule()).toBe("refresh.reuse");
    expect(await portal.statusOf(second.access_token)).toBe(200);
    expect((await portal.refresh(second.refresh_token)).status).toBe(200);
  });

  test.each([10, 50])(
    "of %d concurrent refreshes of one token exactly one is answered 200",
    async (count) => {
      const portal = new Portal();
      const { refresh_token } = await portal.tokens();
      const attempts = Array.from({ length: count }, () => portal.refresh(refresh_token));
      const statuses = (await Promise.all(attempts)).map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      expect(statuses.filter((status) => status === 400)).toHaveLength(count - 1);
    },
  );
});

describe("without rotation", () => {
  const options = { refreshTokens: { rotation: false } };

  test("a refresh answers an access token alone, as often as one likes", async () => {
    const portal = new Portal(options);
    const { refresh_token } = await portal.tokens();
    for (let round = 0; round < 3; round++) {
      const answer = await portal.tokens(await portal.refresh(refresh_token));
      expect(Object.keys(answer)).toEqual(["access_token"]);
      expect(await portal.statusOf(answer.access_token)).toBe(200);
    }
  });

  test("each use starts the time of idleness anew", async () => {
    const portal = new Portal({ refreshTokens: { rotation: false, idleSeconds: 60 } });
    const { refresh_token } = await portal.tokens();
    for (let round = 0; round < 3; round++) {
      portal.now += 59_000;
      expect((await portal.refresh(refresh_token)).status).toBe(200);
    }
    portal.now += 60_000;
    expect(await refusal(await portal.refresh(refresh_token))).toEqual(invalidGrant);
    expect(portal.lastRule()).toBe("refresh.idle");
  });
});

describe("a refresh token is refused once it was idle for too long", () => {
  const rows = [
    { name: "but not a second before", idleMs: 59_000, status: 200 },
    { name: "but not a millisecond before", idleMs: 59_999, status: 200 },
    { name: "at that instant", idleMs: 60_000, status: 400 },
    { name: "a second later", idleMs: 61_000, status: 400 },
  ];
  test.each(rows)("$name", async ({ idleMs, status }) => {
    const portal = new Portal({ refreshTokens: { idleSeconds: 60 } });
    let { refresh_token } = await portal.tokens();
    portal.now += 30_000;
    ({ refresh_token } = await portal.tokens(await portal.refresh(refresh_token)));
    portal.now += idleMs;
    expect((await portal.refresh(refresh_token)).status).toBe(status);
    if (status === 400) expect(portal.lastRule()).toBe("refresh.idle");
  });
});

describe("a login ends at its lifetime, however often it was refreshed", () => {
  const rows = [
    { name: "but not a second before", leftMs: 1000, status: 200 },
    { name: "but not a millisecond before", leftMs: 1, status: 200 },
    { name: "at that instant", leftMs: 0, status: 400 },
    { name: "a second later", leftMs: -1000, status: 400 },
  ];
  test.each(rows)("$name", async ({ leftMs, status }) => {
    const portal = new Portal({ refreshTokens: { lifetimeSeconds: 7200 } });
    let { refresh_token } = await portal.tokens();
    portal.now += HOUR;
    ({ refresh_token } = await portal.tokens(await portal.refresh(refresh_token)));
    portal.now += HOUR - leftMs;
    expect((await portal.refresh(refresh_token)).status).toBe(status);
    if (status === 400) expect(portal.lastRule()).toBe("refresh.lifetime");
  });

  test("by default it is idle after 30 days and over after 90", async () => {
    const portal = new Portal();
    let { refresh_token } = await portal.tokens();
    for (let month = 1; month <= 3; month++) {
      portal.now += 30 * DAY - 1000;
      ({ refresh_token } = await portal.tokens(await portal.refresh(refresh_token)));
    }
    portal.now += 3000;
    expect((await portal.refresh(refresh_token)).status).toBe(400);
    expect(portal.lastRule()).toBe("refresh.lifetime");
    const idle = await portal.tokens();
    portal.now += 30 * DAY;
    expect((await portal.refresh(idle.refresh_token)).status).toBe(400);
    expect(portal.lastRule()).toBe("refresh.idle");
  });

  test("an access token minted just before keeps its hour, and is still ended by a reuse", async () => {
    const portal = new Portal({ refreshTokens: { lifetimeSeconds: 7200 } });
    const first = await portal.tokens();
    portal.now += 2 * HOUR - 1;
    const last = await portal.tokens(await portal.refresh(first.refresh_token));
    portal.now += HOUR - 1;
    expect(await portal.statusOf(last.access_token)).toBe(200);
    // Enough for the stores to sweep themselves.
    for (let other = 0; other < 1100; other++) await portal.exchange(portal.loginCode());
    await portal.refresh(first.refresh_token);
    expect(await portal.statusOf(last.access_token)).toBe(401);
  });
});

describe("a refresh is refused", () => {
  const confidential = { clientSecret: PORTAL_SECRET };
  type Row = {
    name: string;
    registration?: object;
    changes: Record<string, string | undefined>;
    status: number;
    error: string;
    rule: string;
  };
  const client = { status: 401, error: "invalid_client", rule: "api-client.authentication" };
  const fields = { status: 400, error: "invalid_request", rule: "client-request.fields" };
  const scope = { status: 400, error: "invalid_scope", rule: "refresh.scope" };
  const rows: Row[] = [
    {
      name: "a confidential client's without its secret",
      registration: confidential,
      changes: { client_secret: undefined },
      ...client,
    },
    {
      name: "a confidential client's with a wrong secret",
      registration: confidential,
      changes: { client_secret: "x" },
      ...client,
    },
    { name: "a public client's with a secret", changes: { client_secret: "x" }, ...client },
    { name: "an unknown client's", changes: { client_id: "nobody" }, ...client },
    { name: "a service account's", changes: { client_id: "worker", client_secret: "secret" }, ...client },
    {
      name: "another client's",
      changes: { client_id: "neighbour" },
      ...invalidGrant,
      rule: "refresh.client",
    },
    { name: "of an unknown token", changes: { refresh_token: "x" }, ...invalidGrant, rule: "refresh.known" },
    { name: "without a token", changes: { refresh_token: undefined }, ...fields },
    { name: "without a client_id", changes: { client_id: undefined }, ...fields },
    {
      name: "for a scope that the client does not have",
      registration: { scopes: ["devices:read"] },
      changes: { scope: "devices:read devices:write" },
      ...scope,
    },
    { name: "for a scope in another form, of any", changes: { scope: "total garbage" }, ...scope },
    { name: "for no scope but spaces, of any", changes: { scope: " " }, ...scope },
  ];
  test.each(rows)(
    "$name, and the token is not spent by it",
    async ({ registration, changes, status, error, rule }) => {
      const portal = new Portal({}, registration);
      portal.emulator.registerApiClient({ clientId: "neighbour", redirectUris: [CALLBACK] });
      portal.emulator.registerServiceAccount({
        clientId: "worker",
        clientSecret: "secret",
        tenantId: "acme",
      });
      const { refresh_token } = await portal.tokens();
      expect(await refusal(await portal.refresh(refresh_token, changes))).toEqual({ status, error });
      expect(portal.lastRule()).toBe(rule);
      expect((await portal.refresh(refresh_token)).status).toBe(200);
    },
  );

  test("an access token is no refresh token, nor the reverse", async () => {
    const portal = new Portal();
    const { access_token, refresh_token } = await portal.tokens();
    expect((await portal.refresh(access_token)).status).toBe(400);
    expect(portal.lastRule()).toBe("refresh.known");
    expect(await portal.statusOf(refresh_token)).toBe(401);
    expect(portal.lastRule()).toBe("bearer.known");
  });

  test("for a scope beyond what the login asked for", async () => {
    const portal = new Portal({}, { scopes: ["devices:read", "schedules:execute"] });
    const { refresh_token } = await portal.tokens(
      await portal.exchange(portal.loginCode({ scope: "devices:read" })),
    );
    const response = await portal.refresh(refresh_token, { scope: "schedules:execute" });
    expect(await refusal(response)).toEqual({ status: 400, error: "invalid_scope" });
  });
});

test("a refresh for less scope narrows that access token and not the next one", async () => {
  const portal = new Portal();
  portal.emulator.updateOperator({
    tenantId: "acme",
    userId: "ada",
    capabilities: ["devices:read", "schedules:read"],
  });
  const { refresh_token } = await portal.tokens();
  const narrow = await portal.tokens(await portal.refresh(refresh_token, { scope: "schedules:read" }));
  expect(await portal.statusOf(narrow.access_token)).toBe(403);
  expect(portal.lastRule()).toBe("route.scope");
  const wide = await portal.tokens(await portal.refresh(narrow.refresh_token));
  expect(await portal.statusOf(wide.access_token)).toBe(200);
});

describe("with a refreshPath of its own", () => {
  const options = { refreshPath: "/v1/auth/refresh" };

  test("it refreshes there, grant_type or not, and not at the token path", async () => {
    const portal = new Portal(options);
    const { refresh_token } = await portal.tokens();
    expect(await refusal(await portal.refresh(refresh_token))).toEqual({
      status: 400,
      error: "unsupported_grant_type",
    });
    const next = await portal.tokens(await portal.refresh(refresh_token, {}, options.refreshPath));
    const bare = await portal.refresh(next.refresh_token, { grant_type: undefined }, options.refreshPath);
    expect(bare.status).toBe(200);
    expect(portal.emulator.journal.tokenRequests()).toHaveLength(4);
  });

  test("no other grant is taken there", async () => {
    const portal = new Portal(options);
    const fields = { grant_type: "client_credentials", client_id: "x", client_secret: "y" };
    expect(await refusal(await portal.post(fields, options.refreshPath))).toEqual({
      status: 400,
      error: "unsupported_grant_type",
    });
    const { code } = portal.loginCode();
    expect((await portal.post({ code, client_id: "portal" }, options.refreshPath)).status).toBe(400);
  });
});
