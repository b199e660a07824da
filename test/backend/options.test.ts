// The options of createBackend: a mistake is reported when the program starts, with the option's
// name.
import { expect, test } from "vitest";
import { type BackendOptions, createBackend } from "../../src/backend/index.js";
import { apiClient, ConfigurationError, serviceAccount } from "../../src/index.js";
import { HOST, launching, loginCredential, OWN, rig } from "./rig.js";

const login = loginCredential();
const right = { ...launching(), login };
const launchOnly = { ...right, login: undefined };
const elsewhere = "https://b.example";

function faultOf(options: unknown): ConfigurationError | undefined {
  try {
    createBackend(options as BackendOptions);
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  return undefined;
}

test.each<{ name: string; change: object; option?: string; code?: string; publicUrl?: string }>([
  { name: "no credential", change: { launch: undefined, login: undefined } },
  { name: "launches and no host", change: { hostOrigin: undefined } },
  { name: "a hostOrigin with a path", change: { hostOrigin: `${HOST}/app` } },
  { name: "a hostOrigin with a slash", change: { hostOrigin: `${HOST}/` } },
  { name: "a hostOrigin in upper case", change: { hostOrigin: "https://HOST.example" } },
  { name: "a hostOrigin with its default port", change: { hostOrigin: `${HOST}:443` } },
  { name: "the hostOrigin null", change: { hostOrigin: "null" } },
  { name: "a hostOrigin with a wildcard", change: { hostOrigin: "https://*.example" } },
  { name: "a hostOrigin of plain http", change: { hostOrigin: "http://host.example" } },
  {
    name: "a machine's credential",
    change: { login: serviceAccount({ clientId: "a", clientSecret: "b" }) },
  },
  { name: "a misspelt field", change: { hostOrigins: [HOST] } },
  {
    name: "a base URL that is not absolute",
    change: { baseUrl: "service.example" },
    option: "baseUrl",
    code: "base_url_invalid",
  },
  {
    name: "a base URL over plain http",
    change: { baseUrl: "http://service.example" },
    option: "baseUrl",
    code: "base_url_insecure",
  },
  {
    name: "a tenant id that leads to another path",
    change: { tenantId: ".." },
    option: "tenantId",
    code: "tenant_id_invalid",
  },
  ...[
    { redirectUri: `${OWN}/auth/callbacks` },
    { redirectUri: "https://127.0.0.1/auth/callback", publicUrl: OWN },
    { redirectUri: "http://planner.example/auth/callback", publicUrl: OWN },
  ].map(({ redirectUri, ...more }) => ({
    name: `redirectUri ${redirectUri}`,
    change: { login: loginCredential({ redirectUri }) },
    ...more,
  })),
  {
    name: "a redirectUri that is not absolute",
    change: { login: loginCredential({ redirectUri: "/auth/callback" }) },
    option: "redirectUri",
    code: "credential_invalid",
  },
])("createBackend refuses a deployment with $name", ({ change, publicUrl, ...row }) => {
  const { option = "deployments", code = "option_invalid" } = row;
  const fault = faultOf({ deployments: [{ ...right, ...change }], publicUrl });
  expect(fault).toMatchObject({ option, code });
});

test.each([
  ["deployments", undefined, [], [null], [launchOnly, { ...launchOnly, baseUrl: elsewhere }]],
  ["deployments", [right, { ...right, hostOrigin: elsewhere }]],
  ["path", "auth", "/", "/auth/", "/a b", "/../x", "/a//b", "", 1],
  ["publicUrl", "planner.example", `${OWN}/app`, "http://planner.example", "null", 1],
  ["origins", [`${OWN}/x`], ["*"], ["null"], OWN, [1], [OWN, "https://*.example"]],
  [
    "origins",
    ["https://%2a.example"],
    ["https://.example"],
    ["https://a..example"],
    ["https://a~b"],
  ],
  ["session", null, 1, { cookie: "yes" }, { lifetimeMs: 0 }, { idleMs: -1 }, { lifetimeMs: NaN }],
  ["onError", 1],
  ["clientKey", 1],
  ["store", {}, { get() {} }, 1],
  ["timeoutMs", 0],
  ["clock", 1, { now: 1 }],
])("createBackend refuses wrong values of %s", (option, ...values) => {
  for (const value of values) {
    const fault = faultOf({ deployments: [right], [option]: value });
    const named = { code: "option_invalid", option: expect.stringMatching(`^${option}`) };
    expect(fault, JSON.stringify(value)).toMatchObject(named);
  }
});

test.each([
  {
    name: "credentials that are exchanged",
    options: { deployments: [right, { ...right, launch: login, login: right.launch }] },
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
])("createBackend's message for $name says where it is and what to write", ({ options, says }) => {
  expect(faultOf({ deployments: [right], ...options })?.message).toContain(says);
});

const lan = {
  ...right,
  baseUrl: "http://service.lan",
  hostOrigin: "http://host.lan",
  login: loginCredential({ redirectUri: "http://planner.lan/auth/callback" }),
};
const hosts = ["a_b.example.", "bücher.example", "192.0.2.1", "[2001:db8::1]:8443", "localhost"];
const redirectUris = [`${OWN}/auth/callback/acme`, "https://elsewhere.example/auth/callback"];
test.each<{ name: string; options: object }>([
  {
    name: "one tenant id at two hosts, and one host with two tenants",
    options: {
      deployments: [
        launchOnly,
        { ...launchOnly, hostOrigin: elsewhere, baseUrl: `${elsewhere}/prefix/` },
        { ...right, tenantId: "umbrella" },
      ],
    },
  },
  {
    name: "origins by name or address, and with a slash, a default port or capitals",
    options: {
      origins: [...hosts, "WWW.Planner.example:443/"].map((host) => `https://${host}`),
    },
  },
  {
    name: "plain http elsewhere with allowInsecureHttp",
    options: { deployments: [lan], publicUrl: "http://planner.lan", allowInsecureHttp: true },
  },
  {
    name: "a login whose settings are a function, which is called at each login",
    options: { deployments: [{ ...right, login: apiClient(() => undefined) }] },
  },
  ...redirectUris.map((redirectUri) => ({
    name: `the redirectUri ${redirectUri} while publicUrl is not set`,
    options: { deployments: [{ ...right, login: loginCredential({ redirectUri }) }] },
  })),
])("createBackend accepts $name", ({ options }) => {
  expect(faultOf({ deployments: [right], ...options })).toBeUndefined();
});

test("createBackend accepts another path for the routes", async () => {
  const { browser, launchBody } = rig({ path: "/plugins/planner/session-1" });
  const launched = await browser.post("/plugins/planner/session-1/launch", launchBody());
  expect(launched.status).toBe(200);
  expect((await browser.post("/auth/launch", launchBody())).status).toBe(404);
});
