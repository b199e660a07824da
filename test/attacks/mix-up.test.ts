// Mix-up (RFC 9700 section 4.4): an evil deployment sends its victim on to the login page of an
// honest one. The callback brings the honest code to a backend that takes it for the evil
// deployment's, and posts it there.
import { describe, expect, test } from "vitest";
import { type BackendOptions, createBackend } from "../../src/backend/index.js";
import { apiClient, isConfigurationError } from "../../src/index.js";
import { OWN, rig, SERVICE } from "../backend/rig.js";
import { refusalOf } from "../backend/test-browser.js";

const EVIL = "https://evil.example";
const at = (path = "", origin = OWN) => ({ redirectUri: `${origin}/auth/callback${path}` });
const [honestIssuer, evilIssuer] = [SERVICE, EVIL].map((issuer) => ({ ...at(), issuer }));
type Settings = { readonly redirectUri?: string; readonly issuer?: string } | undefined;

/** The deployments of the tenants acme (honest) and evil, whose credentials have these settings. */
function list(honest: Settings, evil: Settings, { evilBase = EVIL, areFunctions = false } = {}) {
  const of = (tenantId: string, baseUrl: string, given: Settings) => {
    const settings = {
      clientId: "portal",
      authorizationEndpoint: `${baseUrl}/v1/auth/authorize`,
      ...given,
    };
    return { tenantId, baseUrl, login: apiClient(areFunctions ? () => settings : settings) };
  };
  return [of("acme", SERVICE, honest), of("evil", evilBase, evil)];
}
const ways: {
  name: string;
  isSeen: boolean;
  deployed: (...of: Settings[]) => BackendOptions["deployments"];
}[] = [
  { name: "a list", isSeen: true, deployed: (honest, evil) => list(honest, evil) },
  {
    name: "a list with functions as settings",
    isSeen: false,
    deployed: (honest, evil) => list(honest, evil, { areFunctions: true }),
  },
  {
    name: "a lookup",
    isSeen: false,
    deployed: (honest, evil) => (query) =>
      list(honest, evil).find(({ tenantId }) => tenantId === query.tenantId),
  },
];

test.each([
  { name: "one redirectUri", of: [at(), at()] },
  { name: "one that differs in its query", of: [at(), at("?deployment=evil")] },
  { name: "paths that a proxy may make one", of: [at("", `${OWN}/a`), at("", `${OWN}/b`)] },
  { name: "one, and an issuer for only one", of: [honestIssuer, at()] },
  { name: "the address that is the default of the other", of: [undefined, at("/acme")] },
])(
  "two base URLs whose logins have $name are refused by createBackend",
  ({ of: [honest, evil] }) => {
    let fault: unknown;
    try {
      createBackend({ deployments: list(honest, evil) });
    } catch (error) {
      fault = error;
    }
    expect([isConfigurationError(fault), String(fault)]).toEqual([
      true,
      expect.stringContaining("RFC 9700"),
    ]);
  },
);

test.each([
  { name: "no redirectUri, so that each has its own", of: [undefined, undefined] },
  { name: "different paths", of: [at("/1"), at("/2")] },
  { name: "one redirectUri and an issuer each", of: [honestIssuer, evilIssuer] },
  { name: "one redirectUri and one base URL", of: [at(), at()], evilBase: SERVICE },
])("logins with $name are accepted by createBackend", ({ of: [honest, evil], ...options }) => {
  createBackend({ deployments: list(honest, evil, options) });
});

describe.each(ways)("with $name of deployments", ({ isSeen, deployed }) => {
  function attacked(of: Settings[], redirectUri: string) {
    /** The bodies that the evil deployment received. */
    const stolen: string[] = [];
    const parts = rig({
      deployments: deployed(...of),
      emulator: { issuerInCallback: true },
      fetch: async (url, init) => {
        if (!url.startsWith(EVIL)) return parts.emulator.fetch(url, init);
        stolen.push(String(init?.body));
        return Response.json({ access_token: "evil" });
      },
    });
    parts.emulator.updateApiClient({ clientId: "portal", redirectUris: [redirectUri] });
    const begin = (tenant: string) =>
      parts.browser.get(`/auth/login?tenant=${tenant}&return_to=/page`);
    /** Logs in at the honest deployment with the query of a login that was begun for a tenant. */
    const loggedIn = async (tenant: string) => {
      const { search } = new URL((await begin(tenant)).headers.get("location") ?? "");
      const url = new URL(`${SERVICE}/v1/auth/authorize${search}`);
      url.searchParams.set("redirect_uri", redirectUri);
      const { callbackUrl } = parts.emulator.login({ url: url.href, userId: "ada" });
      return (await parts.browser.get(callbackUrl)).headers.get("location");
    };
    return { ...parts, stolen, begin, loggedIn };
  }

  test.each([
    { name: "a path each, by default", of: [undefined, undefined], own: at("/acme").redirectUri },
    { name: "an issuer each", of: [honestIssuer, evilIssuer], own: at().redirectUri },
  ])(
    "and $name, the evil one receives no honest code, and the honest login works",
    async ({ of, own }) => {
      const { browser, stolen, loggedIn } = attacked(of, own);
      expect(await loggedIn("evil")).toMatch(/#login_error=(?:state_mismatch|login_refused)$/);
      expect([stolen, (await browser.post("/auth/session")).status]).toEqual([[], 204]);
      expect(await loggedIn("acme")).toBe(`${OWN}/page`);
      expect((await browser.post("/auth/session")).status).toBe(200);
    },
  );

  // The deployments of a list are compared by createBackend.
  if (isSeen) return;
  test.each([
    { name: "a path that does not name the tenant", evil: at() },
    { name: "the path of another tenant", evil: at("/acme") },
    { name: "the issuer of another deployment", evil: honestIssuer },
  ])("a login with $name does not begin, and the honest one does", async ({ evil }) => {
    const { begin, reports } = attacked([undefined, evil], at("/acme").redirectUri);
    expect(await refusalOf(begin("evil"))).toBe("404 tenant_unknown");
    expect(String(reports[0]?.error)).toContain("RFC 9700");
    expect((await begin("acme")).status).toBe(302);
  });
});
