// Mix-up (RFC 9700 section 4.4): an evil deployment sends its victim on to the login page of an honest one, and the callback
// brings the honest code to a backend that takes it for the evil deployment's, and posts it there.
import { expect, test } from "vitest";
import { type BackendDeployment, type BackendOptions, createBackend } from "../../src/backend/index.js";
import { apiClient, isConfigurationError } from "../../src/index.js";
import { OWN, type Rig, rig, SERVICE } from "../backend/rig.js";
import { refusalOf } from "../backend/test-browser.js";

const EVIL = "https://evil.example";
const callback = (path = "") => `${OWN}/auth/callback${path}`;
type Settings = { readonly redirectUri?: string; readonly issuer?: string };

/** Makes a deployment whose credential has these settings, as an object or from a function. */
type Make = (settings: Settings, isFunction?: boolean) => BackendDeployment;
const at =
  (baseUrl: string, tenantId: string): Make =>
  (settings, isFunction = false) => {
    const all = { clientId: "portal", authorizationEndpoint: `${baseUrl}/v1/auth/authorize`, ...settings };
    return { tenantId, baseUrl, login: apiClient(isFunction ? () => all : all) };
  };
const [honest, evil] = [at(SERVICE, "acme"), at(EVIL, "evil")];

function faultOf(deployments: unknown, options = {}): unknown {
  try {
    createBackend({ deployments, ...options } as BackendOptions);
    return undefined;
  } catch (error) {
    return error;
  }
}

const shared = { redirectUri: callback() };
const issuer = { honest: { ...shared, issuer: SERVICE }, evil: { ...shared, issuer: EVIL } };
test.each([
  { name: "one redirectUri", list: [honest(shared), evil(shared)] },
  {
    name: "one that differs in its query",
    list: [honest(shared), evil({ redirectUri: callback("?d=evil") })],
  },
  {
    name: "redirect URIs that are one route behind a proxy",
    list: [
      honest({ redirectUri: `${OWN}/a/auth/callback` }),
      evil({ redirectUri: `${OWN}/b/auth/callback` }),
    ],
  },
  { name: "one, and an issuer for only one", list: [honest(issuer.honest), evil(shared)] },
  { name: "one, and the same issuer", list: [honest(issuer.honest), evil(issuer.honest)] },
  {
    name: "the address that is the default of the other",
    list: [honest({}), evil({ redirectUri: callback("/acme") })],
  },
])("two base URLs whose logins have $name are refused by createBackend", ({ list }) => {
  const fault = faultOf(list);
  expect(isConfigurationError(fault)).toBe(true);
  expect((fault as Error).message).toContain("RFC 9700 section 4.4");
});

test.each([
  { name: "no redirectUri, so that each has its own", list: [honest({}), evil({})] },
  {
    name: "different paths",
    list: [honest({ redirectUri: callback("/1") }), evil({ redirectUri: callback("/2") })],
  },
  {
    name: "different hosts",
    list: [honest(shared), evil({ redirectUri: "https://b.example/auth/callback" })],
  },
  { name: "one redirectUri, but an issuer each", list: [honest(issuer.honest), evil(issuer.evil)] },
  {
    name: "one redirectUri and one base URL",
    list: [honest(shared), { ...honest(shared), tenantId: "umbrella" }],
  },
])("logins with $name are accepted by createBackend", ({ list }) => {
  expect(faultOf(list)).toBeUndefined();
});

interface Attack extends Rig {
  /** The bodies that the evil deployment received. */
  readonly stolen: string[];
  /** Begins a login, and returns its address at the login page, or the refusal. */
  readonly begin: (tenant: string) => Promise<URL | string>;
}

function attack(deployments: BackendOptions["deployments"], redirectUris: string[]): Attack {
  const stolen: string[] = [];
  const parts = rig({
    deployments,
    emulator: { issuerInCallback: true },
    fetch: async (url, init) => {
      if (!url.startsWith(EVIL)) return parts.emulator.fetch(url, init);
      stolen.push(String(init?.body));
      return Response.json({ access_token: "evil" });
    },
  });
  parts.emulator.updateApiClient({ clientId: "portal", redirectUris });
  const begin = async (tenant: string) => {
    const answer = await parts.browser.get(`/auth/login?tenant=${tenant}&return_to=/page`);
    return answer.status === 302 ? new URL(answer.headers.get("location") ?? "") : refusalOf(answer);
  };
  return { ...parts, stolen, begin };
}

const lookUp = (list: BackendDeployment[]) => (query: { tenantId?: string }) =>
  list.find(({ tenantId }) => tenantId === query.tenantId);

test.each([
  { name: "a default path each", deployments: [honest({}), evil({})], own: callback("/acme") },
  { name: "a lookup and default paths", deployments: lookUp([honest({}), evil({})]), own: callback("/acme") },
  {
    name: "settings from a function and default paths",
    deployments: [honest({}, true), evil({}, true)],
    own: callback("/acme"),
  },
  {
    name: "one path and an issuer each",
    deployments: [honest(issuer.honest), evil(issuer.evil)],
    own: callback(),
  },
  {
    name: "a lookup, one path and an issuer each",
    deployments: lookUp([honest(issuer.honest), evil(issuer.evil)]),
    own: callback(),
  },
])(
  "an evil deployment receives no code of an honest one with $name, and the honest login works",
  async ({ deployments, own }) => {
    const { emulator, browser, stolen, begin } = attack(deployments, [own]);
    const forwarded = (await begin("evil")) as URL;
    // The evil login page sends the browser on, with the state and the challenge of its own login.
    const url = new URL(`${SERVICE}/v1/auth/authorize${forwarded.search}`);
    url.searchParams.set("redirect_uri", own);
    const stray = await browser.get(emulator.login({ url: url.href, userId: "ada" }).callbackUrl);
    expect(stray.headers.get("location")).toMatch(/#login_error=(?:state_mismatch|login_refused)$/);
    expect([stolen, (await browser.post("/auth/session")).status]).toEqual([[], 401]);
    const fair = (await begin("acme")) as URL;
    const back = await browser.get(emulator.login({ url: fair.href, userId: "ada" }).callbackUrl);
    expect(back.headers.get("location")).toBe(`${OWN}/page`);
    expect((await browser.post("/auth/session")).status).toBe(200);
  },
);

test.each([
  {
    name: "a path that does not name the tenant",
    of: (make: Make, is: boolean) => make(shared, is),
  },
  {
    name: "the path of another tenant",
    of: (make: Make, is: boolean) => make({ redirectUri: callback("/acme") }, is),
  },
  {
    name: "the issuer of another deployment",
    of: (make: Make, is: boolean) => make(issuer.honest, is),
  },
])("a login with $name does not begin where the other deployments are not known", async ({ of }) => {
  for (const deployments of [lookUp([honest({}), of(evil, false)]), [honest({}, true), of(evil, true)]]) {
    const { begin, told } = attack(deployments, [callback("/acme")]);
    expect(await begin("evil")).toBe("404 tenant_unknown");
    expect(told).toMatchObject([
      { error: { code: "option_invalid", message: expect.stringContaining("RFC 9700") } },
    ]);
    expect(await begin("acme")).toBeInstanceOf(URL);
  }
});
