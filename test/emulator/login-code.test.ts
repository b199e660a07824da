// Variant B's authorization code: single use, two minutes, bound to client, redirect URI and challenge.
import { describe, expect, test } from "vitest";
import { newPkce } from "./pkce.js";
import { CALLBACK, PORTAL_SECRET, Portal } from "./portal.js";

async function refusal(response: Response): Promise<unknown> {
  return { status: response.status, error: ((await response.json()) as { error: string }).error };
}
const invalidGrant = { status: 400, error: "invalid_grant" };

test("a code is exchanged for access_token and refresh_token, and nothing else", async () => {
  const portal = new Portal();
  const response = await portal.exchange(portal.loginCode());
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({
    access_token: expect.stringMatching(/^[\w-]{43}$/),
    refresh_token: expect.stringMatching(/^[\w-]{43}$/),
  });
  const [entry] = portal.emulator.journal.tokenRequests();
  expect(entry).toMatchObject({ variant: "B", tenantId: "acme", status: 200 });
});

test("grant_type authorization_code may be named", async () => {
  const portal = new Portal();
  const response = await portal.exchange(portal.loginCode(), { grant_type: "authorization_code" });
  expect(response.status).toBe(200);
});

describe("a code that was exchanged is refused, and its tokens end", () => {
  const rows = [
    { name: "at once", waitMs: 0 },
    { name: "after 1 s", waitMs: 1000 },
    { name: "after 30 s", waitMs: 30_000 },
    { name: "after its two minutes", waitMs: 121_000 },
    { name: "while an access token of it is about to expire", waitMs: 3_599_000 },
  ];
  test.each(rows)("$name", async ({ waitMs }) => {
    const portal = new Portal();
    const [login, other] = [portal.loginCode(), await portal.tokens()];
    const first = await portal.tokens(await portal.exchange(login));
    const second = await portal.tokens(await portal.refresh(first.refresh_token));
    portal.now += waitMs;
    expect(await refusal(await portal.exchange(login))).toEqual(invalidGrant);
    expect(portal.lastRule()).toBe("client-code.unspent");
    for (const { access_token } of [first, second]) expect(await portal.statusOf(access_token)).toBe(401);
    expect(await refusal(await portal.refresh(second.refresh_token))).toEqual(invalidGrant);
    expect(portal.lastRule()).toBe("refresh.revoked");
    expect(await portal.statusOf(other.access_token)).toBe(200);
  });

  test("also weeks later, when many other logins have made the stores sweep themselves", async () => {
    const portal = new Portal();
    const login = portal.loginCode();
    let { refresh_token } = await portal.tokens(await portal.exchange(login));
    portal.now += 29 * 86_400_000;
    ({ refresh_token } = await portal.tokens(await portal.refresh(refresh_token)));
    for (let other = 0; other < 1100; other++) await portal.exchange(portal.loginCode());
    await portal.exchange(login);
    expect(portal.lastRule()).toBe("client-code.unspent");
    await portal.refresh(refresh_token);
    expect(portal.lastRule()).toBe("refresh.revoked");
  });

  test("of 20 concurrent exchanges exactly one is answered 200", async () => {
    const portal = new Portal();
    const login = portal.loginCode();
    const attempts = Array.from({ length: 20 }, () => portal.exchange(login));
    const statuses = (await Promise.all(attempts)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 400)).toHaveLength(19);
  });

  test("but another client that presents it ends nothing", async () => {
    const portal = new Portal();
    portal.emulator.registerApiClient({ clientId: "neighbour", redirectUris: [CALLBACK] });
    const login = portal.loginCode();
    const { access_token } = await portal.tokens(await portal.exchange(login));
    await portal.exchange(login, { client_id: "neighbour" });
    expect(portal.lastRule()).toBe("client-code.client");
    expect(await portal.statusOf(access_token)).toBe(200);
  });
});

describe("a code is exchanged up to its two minutes, its last millisecond included", () => {
  const rows = [
    { name: "at 1:59", ageMs: 119_000, status: 200 },
    { name: "at 2:00", ageMs: 120_000, status: 200 },
    { name: "a millisecond later", ageMs: 120_001, status: 400 },
    { name: "at 2:01", ageMs: 121_000, status: 400 },
  ];
  test.each(rows)("$name", async ({ ageMs, status }) => {
    const portal = new Portal();
    const login = portal.loginCode();
    portal.now += ageMs;
    expect((await portal.exchange(login)).status).toBe(status);
    if (status === 400) expect(portal.lastRule()).toBe("client-code.lifetime");
  });
});

describe("an exchange is refused, and the right one after it is not", () => {
  const client = { status: 401, error: "invalid_client", rule: "api-client.authentication" };
  const fields = { status: 400, error: "invalid_request", rule: "client-request.fields" };
  const verifier = { ...invalidGrant, rule: "client-code.verifier" };
  const redirect = { ...invalidGrant, rule: "client-code.redirect-uri" };
  type Row = {
    name: string;
    secret?: string;
    changes: Record<string, string | undefined>;
    status: number;
    error: string;
    rule: string;
  };
  const rows: Row[] = [
    { name: "a wrong verifier", changes: { code_verifier: newPkce().codeVerifier }, ...verifier },
    { name: "a verifier of 42 characters", changes: { code_verifier: "v".repeat(42) }, ...verifier },
    { name: "a verifier of 129 characters", changes: { code_verifier: "v".repeat(129) }, ...verifier },
    { name: "no verifier", changes: { code_verifier: undefined }, ...fields },
    { name: "an empty verifier", changes: { code_verifier: "" }, ...fields },
    { name: "no redirect_uri", changes: { redirect_uri: undefined }, ...fields },
    {
      name: "another registered redirect_uri",
      changes: { redirect_uri: "https://portal.example/other" },
      ...redirect,
    },
    { name: "an added query", changes: { redirect_uri: `${CALLBACK}?a=1` }, ...redirect },
    { name: "an added fragment", changes: { redirect_uri: `${CALLBACK}#a` }, ...redirect },
    { name: "an added slash", changes: { redirect_uri: `${CALLBACK}/` }, ...redirect },
    { name: "a default port", changes: { redirect_uri: "https://portal.example:443/callback" }, ...redirect },
    {
      name: "another client",
      changes: { client_id: "neighbour" },
      ...invalidGrant,
      rule: "client-code.client",
    },
    { name: "an unknown client", changes: { client_id: "nobody" }, ...client },
    { name: "a public client's secret", changes: { client_secret: "x" }, ...client },
    {
      name: "no secret of a confidential client",
      secret: PORTAL_SECRET,
      changes: { client_secret: undefined },
      ...client,
    },
    { name: "a wrong secret", secret: PORTAL_SECRET, changes: { client_secret: "x" }, ...client },
    { name: "an unknown code", changes: { code: "x" }, ...invalidGrant, rule: "client-code.known" },
  ];
  test.each(rows)("$name", async ({ secret, changes, status, error, rule }) => {
    const redirectUris = [CALLBACK, "https://portal.example/other"];
    const portal = new Portal({}, { redirectUris, ...(secret !== undefined && { clientSecret: secret }) });
    portal.emulator.registerApiClient({ clientId: "neighbour", redirectUris });
    const login = portal.loginCode();
    expect(await refusal(await portal.exchange(login, changes))).toEqual({ status, error });
    expect(portal.lastRule()).toBe(rule);
    expect((await portal.exchange(login)).status).toBe(200);
  });

  test("a verifier that is the challenge itself", async () => {
    const portal = new Portal();
    const login = portal.loginCode();
    const response = await portal.exchange(login, { code_verifier: login.codeChallenge });
    expect(await refusal(response)).toEqual(invalidGrant);
  });
});

describe("a token of a login reaches the client's scopes that the person has, as they are now", () => {
  const rows = [
    {
      name: "both have the scope",
      scopes: ["devices:read"],
      capabilities: ["devices:read"],
      rule: undefined,
    },
    { name: "the client is not limited", scopes: undefined, capabilities: ["devices:read"], rule: undefined },
    {
      name: "the client has another",
      scopes: ["devices:write"],
      capabilities: ["devices:read"],
      rule: "route.scope",
    },
    {
      name: "the person has another",
      scopes: ["devices:read"],
      capabilities: ["devices:write"],
      rule: "route.operator",
    },
    { name: "the person has none", scopes: undefined, capabilities: [], rule: "route.operator" },
  ];
  test.each(rows)("$name", async ({ scopes, capabilities, rule }) => {
    const portal = new Portal({}, scopes && { scopes });
    portal.emulator.updateOperator({ tenantId: "acme", userId: "ada", capabilities });
    const { access_token } = await portal.tokens();
    expect(await portal.statusOf(access_token)).toBe(rule === undefined ? 200 : 403);
    expect(portal.lastRule()).toBe(rule);
  });

  test("a capability that is taken away is missed by the next call", async () => {
    const portal = new Portal();
    const { access_token } = await portal.tokens();
    expect(await portal.statusOf(access_token)).toBe(200);
    portal.emulator.updateOperator({ tenantId: "acme", userId: "ada", capabilities: [] });
    expect(await portal.statusOf(access_token)).toBe(403);
    expect(portal.lastRule()).toBe("route.operator");
  });
});
