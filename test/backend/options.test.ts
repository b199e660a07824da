// The options of createBackend: a mistake is reported when the program starts, with the option's
// name.
import { describe, expect, test } from "vitest";
import { type BackendOptions, createBackend } from "../../src/backend/index.js";
import { apiClient, isConfigurationError, serviceAccount } from "../../src/index.js";
import { HOST, launchCredential, launching, loginCredential, OWN, rig } from "./rig.js";
import { TestBrowser } from "./test-browser.js";

const launch = launchCredential();
const login = loginCredential();
const right = { ...launching(), launch, login };

function faultOf(options: unknown): unknown {
  try {
    createBackend(options as BackendOptions);
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("createBackend refuses", () => {
  const wrong: { name: string; options: unknown; option: string; code?: string }[] = [
    { name: "missing options", options: undefined, option: "options" },
    { name: "missing deployments", options: {}, option: "deployments" },
    { name: "an empty list", options: { deployments: [] }, option: "deployments" },
    { name: "null as a deployment", options: { deployments: [null] }, option: "deployments" },
    ...Object.entries({
      "without a credential": { launch: undefined, login: undefined },
      "with launches and no host": { hostOrigin: undefined },
      "whose hostOrigin has a path": { hostOrigin: `${HOST}/app` },
      "whose hostOrigin has a slash": { hostOrigin: `${HOST}/` },
      "whose hostOrigin is in upper case": { hostOrigin: "https://HOST.example" },
      "whose hostOrigin has its default port": { hostOrigin: `${HOST}:443` },
      "whose hostOrigin is *": { hostOrigin: "*" },
      "whose hostOrigin is null": { hostOrigin: "null" },
      "whose hostOrigin has a wildcard": { hostOrigin: "https://*.example" },
      "whose hostOrigin is plain http elsewhere": { hostOrigin: "http://host.example" },
      "whose credentials are exchanged": { launch: login, login: launch },
      "with a machine's credential": {
        login: serviceAccount({ clientId: "a", clientSecret: "b" }),
      },
      "with a misspelt field": { hostOrigins: [HOST] },
    }).map(([name, change]) => ({
      ...{ name: `a deployment ${name}`, option: "deployments" },
      options: { deployments: [{ ...right, ...change }] },
    })),
    {
      ...{ name: "a base URL that is not absolute", option: "baseUrl", code: "base_url_invalid" },
      options: { deployments: [{ ...right, baseUrl: "service.example" }] },
    },
    {
      ...{ name: "a base URL over plain http", option: "baseUrl", code: "base_url_insecure" },
      options: { deployments: [{ ...right, baseUrl: "http://service.example" }] },
    },
    {
      ...{
        name: "a tenant id that leads to another path",
        option: "tenantId",
        code: "tenant_id_invalid",
      },
      options: { deployments: [{ ...right, tenantId: ".." }] },
    },
    {
      ...{ name: "two launches that cannot be told apart", option: "deployments" },
      options: {
        deployments: [
          { ...right, login: undefined },
          { ...right, login: undefined, baseUrl: "https://b.example" },
        ],
      },
    },
    {
      ...{ name: "two logins that cannot be told apart", option: "deployments" },
      options: { deployments: [right, { ...right, hostOrigin: "https://b.example" }] },
    },
    ...[
      { redirectUri: `${OWN}/elsewhere` },
      { redirectUri: `${OWN}/auth/callbacks` },
      { redirectUri: "https://127.0.0.1/auth/callback", publicUrl: OWN },
      { redirectUri: "http://planner.example/auth/callback", publicUrl: OWN },
    ].map(({ redirectUri, ...more }) => ({
      ...{
        name: `a login that could not complete, with redirectUri ${redirectUri}`,
        option: "deployments",
      },
      options: { deployments: [{ ...right, login: loginCredential({ redirectUri }) }], ...more },
    })),
    {
      ...{
        name: "a login whose redirectUri is not absolute",
        option: "redirectUri",
        code: "credential_invalid",
      },
      options: {
        deployments: [{ ...right, login: loginCredential({ redirectUri: "/auth/callback" }) }],
      },
    },
    ...Object.entries({
      path: ["auth", "/", "/auth/", "/a b", "/../x", "/a//b", "", 1],
      publicUrl: [
        "planner.example",
        `${OWN}/app`,
        "http://planner.example",
        "null",
        "https://*.example",
        1,
      ],
      origins: [
        ...[[`${OWN}/`.concat("x")], ["*"], ["null"], OWN, [1]],
        ...["*.example", "%2a.example", "a.*", ".example", "a..example", "a,b.example", "a~b"].map(
          (host) => [OWN, `https://${host}`],
        ),
      ],
      session: [
        null,
        1,
        { cookie: "yes" },
        { lifetimeMs: 0 },
        { idleMs: -1 },
        { lifetimeMs: Number.NaN },
      ],
      onError: [1],
      clientKey: [1],
      store: [{}, { get() {} }, 1],
      timeoutMs: [0],
      clock: [1, { now: 1 }],
    }).flatMap(([option, values]) =>
      values.map((value) => ({
        ...{ name: `${option} ${JSON.stringify(value)}`, option },
        options: { deployments: [right], [option]: value },
      })),
    ),
  ];
  test.each(wrong)("$name", ({ options, option, code = "option_invalid" }) => {
    const error = faultOf(options);
    expect(isConfigurationError(error)).toBe(true);
    expect(error).toMatchObject({ code, option: expect.stringMatching(new RegExp(`^${option}`)) });
  });
});

test.each([
  {
    name: "credentials that are exchanged",
    options: { deployments: [right, { ...right, tenantId: "b", launch: login, login: launch }] },
    says:
      "deployments[1].launch must be made with userInterfacePlugin; " +
      "deployments[1].login must be made with apiClient",
  },
  {
    name: "a path without its slash",
    options: { path: "auth" },
    says: 'such as "/auth": a slash at the start',
  },
  {
    name: "an origin with a wildcard",
    options: { origins: ["https://*.example"] },
    says: 'origins must be one exact origin such as "https://planner.example", without a wildcard',
  },
  {
    name: "an idle time of seconds",
    options: { session: { idleMs: 60 } },
    says: "session.idleMs must be a number of milliseconds from 1000",
  },
])(
  "createBackend's message for $name says where it is and what to write instead",
  ({ options, says }) => {
    expect((faultOf({ deployments: [right], ...options }) as Error).message).toContain(says);
  },
);

describe("createBackend accepts", () => {
  test("one tenant id at two hosts, and one host with two tenants", () => {
    const deployments = [
      { ...right, login: undefined },
      {
        ...right,
        login: undefined,
        hostOrigin: "https://b.example",
        baseUrl: "https://b.example/prefix/",
      },
      { ...right, tenantId: "umbrella" },
    ];
    expect(faultOf({ deployments })).toBeUndefined();
  });

  test("origins by name or address, as browsers write them or with a slash, a default port or capitals", () => {
    const hosts = [
      "www.planner.example",
      "a_b.example.",
      "xn--bcher-kva.example",
      "bücher.example",
      "192.0.2.1",
    ];
    const more = ["[2001:db8::1]:8443", "localhost", "WWW.Planner.example:443/"];
    expect(
      faultOf({
        deployments: [right],
        origins: [...hosts, ...more].map((host) => `https://${host}`),
      }),
    ).toBeUndefined();
  });

  test("plain http elsewhere with allowInsecureHttp", () => {
    const lan = loginCredential({ redirectUri: "http://planner.lan/auth/callback" });
    const deployments = [
      { ...right, baseUrl: "http://service.lan", hostOrigin: "http://host.lan", login: lan },
    ];
    expect(
      faultOf({ deployments, publicUrl: "http://planner.lan", allowInsecureHttp: true }),
    ).toBeUndefined();
  });

  test("a login whose settings are a function, which is called at each login", () => {
    const settings = () => ({ clientId: "portal", redirectUri: "/", authorizationEndpoint: "/" });
    const asked = { ...right, login: apiClient(settings) };
    expect(faultOf({ deployments: [asked] })).toBeUndefined();
  });

  test("a redirectUri below the callback, and any origin while publicUrl is not set", () => {
    for (const redirectUri of [
      `${OWN}/auth/callback/acme`,
      "https://elsewhere.example/auth/callback",
    ])
      expect(
        faultOf({ deployments: [{ ...right, login: loginCredential({ redirectUri }) }] }),
      ).toBeUndefined();
  });

  test("another path for the routes", async () => {
    const { backend, launchBody } = rig({ path: "/plugins/planner/session-1" });
    const browser = new TestBrowser(backend, OWN);
    expect((await browser.post("/plugins/planner/session-1/launch", launchBody())).status).toBe(
      200,
    );
    expect((await browser.post("/auth/launch", launchBody())).status).toBe(404);
  });
});
