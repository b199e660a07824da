// A request of every operation that is answered as its sender hopes, before anything is done to it.
import type { FormBrowser } from "../form-browser.js";
import { ASSERTION_TYPE } from "../plugin-client.js";
import { type Assertion, CALLBACK, PASSWORD, VAULT_SECRET, WORKER_SECRET, type World } from "./world.js";

export type Field = readonly [name: string, value: unknown];

/** A request in parts, so that each can be changed by itself. */
export interface Draft {
  readonly method: string;
  /** Of the path under the base URL, as they are written. */
  readonly segments: readonly string[];
  readonly query: readonly Field[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: { readonly type: "form" | "json" | "multipart"; readonly fields: readonly Field[] };
  /** Signed when the request is sent, and then in the body. */
  readonly assertion?: Assertion;
  /** What it presents and nobody repeats. */
  readonly secrets: readonly string[];
}

export interface ValidRequest {
  readonly name: string;
  /** As the journal has it, where it has it. */
  readonly operation: string | undefined;
  readonly status: number;
  draft(world: World): Draft | Promise<Draft>;
}

const TOKEN_PATH_A = "api/v1/acme/external-plugin/oauth/token";
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const JSON_TYPE = { "content-type": "application/json" };

export function draft(method: string, path: string, parts: Partial<Draft> = {}): Draft {
  return { method, segments: path.split("/"), query: [], headers: {}, secrets: [], ...parts };
}

function assertionForm(
  world: World,
  clientId: string,
  fields: readonly Field[],
  secrets: string[] = [],
): Draft {
  return draft("POST", TOKEN_PATH_A, {
    headers: FORM,
    body: {
      type: "form",
      fields: [["client_id", clientId], ["client_assertion_type", ASSERTION_TYPE], ...fields],
    },
    assertion: world.assertion(clientId),
    secrets,
  });
}

function postJson(path: string, fields: readonly Field[], secrets: string[]): Draft {
  return draft("POST", path, { headers: JSON_TYPE, body: { type: "json", fields }, secrets });
}

function exchange(world: World, clientId: string, more: readonly Field[], secrets: string[]): Draft {
  const code = world.loginCode(clientId);
  const { codeVerifier } = world.pkce;
  const fields = [
    ["code", code],
    ["code_verifier", codeVerifier],
    ["client_id", clientId],
    ["redirect_uri", CALLBACK],
    ...more,
  ] as const;
  return postJson("v1/auth/token", fields, [code, ...secrets]);
}

async function call(world: World, variant: "A" | "B", method: string, path: string): Promise<Draft> {
  const token = await world.accessToken(variant);
  return draft(method, path, { headers: { authorization: `Bearer ${token}` }, secrets: [token] });
}

/** With the cookies and the hidden fields of the page that the browser shows. */
function fromPage(browser: FormBrowser, path: string, fields: readonly Field[]): Draft {
  return draft("POST", path, {
    headers: { ...FORM, cookie: cookiesOf(browser) },
    body: { type: "form", fields: [...Object.entries(browser.hidden()), ...fields] },
    secrets: [...browser.cookies.values()],
  });
}

function visit(browser: FormBrowser, path: string, query: readonly Field[] = []): Draft {
  return draft("GET", path, {
    query,
    headers: { cookie: cookiesOf(browser) },
    secrets: [...browser.cookies.values()],
  });
}

function fromScript(browser: FormBrowser, path: string, fields: readonly Field[]): Draft {
  const formToken = browser.hidden().form_token ?? "";
  return draft("POST", path, {
    headers: { ...JSON_TYPE, cookie: cookiesOf(browser), "x-form-token": formToken },
    body: { type: "json", fields },
    secrets: [...browser.cookies.values()],
  });
}

function cookiesOf({ cookies }: FormBrowser): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
}

function pendingOf(browser: FormBrowser): Field {
  return ["request", browser.hidden().request ?? ""];
}

export const validRequests: readonly ValidRequest[] = [
  {
    name: "a service plugin's token request",
    operation: "requestToken",
    status: 200,
    draft: (world) => assertionForm(world, "reporter", [["grant_type", "client_credentials"]]),
  },
  {
    name: "a launch code's exchange",
    operation: "requestToken",
    status: 200,
    draft(world) {
      const code = world.launchCode();
      const { codeVerifier } = world.pkce;
      const grant = ["grant_type", "authorization_code"] as const;
      const fields = [grant, ["code", code], ["code_verifier", codeVerifier]] as const;
      return assertionForm(world, "planner", fields, [code]);
    },
  },
  {
    name: "a service account's token request",
    operation: "requestToken",
    status: 200,
    draft: () =>
      postJson(
        "v1/auth/token",
        [
          ["grant_type", "client_credentials"],
          ["client_id", "worker"],
          ["client_secret", WORKER_SECRET],
        ],
        [WORKER_SECRET],
      ),
  },
  {
    name: "a public client's code exchange",
    operation: "requestToken",
    status: 200,
    draft: (world) => exchange(world, "portal", [], []),
  },
  {
    name: "a confidential client's code exchange",
    operation: "requestToken",
    status: 200,
    draft: (world) => exchange(world, "vault", [["client_secret", VAULT_SECRET]], [VAULT_SECRET]),
  },
  {
    name: "a refresh",
    operation: "requestToken",
    status: 200,
    async draft(world) {
      const token = await world.refreshToken();
      const fields = [
        ["grant_type", "refresh_token"],
        ["refresh_token", token],
        ["client_id", "portal"],
        ["scope", "devices:read"],
      ] as const;
      return postJson("v1/auth/token", fields, [token]);
    },
  },
  {
    name: "an authorization request",
    operation: "authorize",
    status: 200,
    draft: (world) => draft("GET", "v1/auth/authorize", { query: world.authorizationFields("portal") }),
  },
  {
    name: "the login page again",
    operation: "showLogin",
    status: 200,
    async draft(world) {
      const browser = await world.login(false);
      return visit(browser, "v1/auth/login", [pendingOf(browser)]);
    },
  },
  {
    name: "a login",
    operation: "logIn",
    status: 303,
    async draft(world) {
      const fields = [
        ["userId", "ada"],
        ["password", PASSWORD],
        ["decision", "login"],
      ] as const;
      return fromPage(await world.login(false), "v1/auth/login", fields);
    },
  },
  {
    name: "the consent page again",
    operation: "showConsent",
    status: 200,
    async draft(world) {
      const browser = await world.login(true);
      return visit(browser, "v1/auth/consent", [pendingOf(browser)]);
    },
  },
  {
    name: "a consent",
    operation: "decideConsent",
    status: 303,
    draft: async (world) => fromPage(await world.login(true), "v1/auth/consent", [["decision", "allow"]]),
  },
  {
    name: "the host application",
    operation: "showHost",
    status: 200,
    draft: async (world) => visit(await world.host(), "host/acme"),
  },
  {
    name: "a sign-in at the host",
    operation: "signInAtHost",
    status: 303,
    async draft(world) {
      const fields = [
        ["userId", "ada"],
        ["password", PASSWORD],
      ] as const;
      return fromPage(await world.host(), "host/acme/sign-in", fields);
    },
  },
  {
    name: "a sign-out of the host",
    operation: "signOutOfHost",
    status: 303,
    draft: async (world) => fromPage(await world.host(), "host/acme/sign-out", []),
  },
  {
    name: "a launch",
    operation: "launchPlugin",
    status: 201,
    draft: async (world) => fromScript(await world.host(), "host/acme/launches", [["clientId", "planner"]]),
  },
  {
    name: "a launch's authorisation",
    operation: "authorizeLaunch",
    status: 200,
    async draft(world) {
      const browser = await world.host();
      const opaqueCode = world.opaqueCode();
      const fields = [
        ["clientId", "planner"],
        ["opaque_code", opaqueCode],
        ["challenge", world.pkce.codeChallenge],
      ] as const;
      return fromScript(browser, "host/acme/authorizations", fields);
    },
  },
  {
    name: "Variant A's device list",
    operation: "listDevices",
    status: 200,
    draft: (world) => call(world, "A", "GET", "api/v1/acme/devices"),
  },
  {
    name: "a device",
    operation: "inventedGetDevice",
    status: 200,
    draft: (world) => call(world, "A", "GET", "api/v1/acme/devices/device-1"),
  },
  {
    name: "a schedule's execution",
    operation: "inventedExecuteSchedule",
    status: 200,
    draft: (world) => call(world, "A", "POST", "api/v1/acme/schedules/s-1/executions"),
  },
  {
    name: "the tenant's settings, which no plugin may read",
    operation: "inventedReadTenantSettings",
    status: 401,
    draft: (world) => call(world, "A", "GET", "api/v1/acme/tenant-settings"),
  },
  {
    name: "a declared route with a device in its query",
    operation: "readSchedules",
    status: 200,
    async draft(world) {
      const query = [["device", "device-1"]] as const;
      return { ...(await call(world, "A", "GET", "api/v1/acme/schedules")), query };
    },
  },
  {
    name: "Variant B's device list in an envelope",
    operation: "listDevices",
    status: 200,
    async draft(world) {
      const plain = await call(world, "B", "GET", "v1/devices");
      return { ...plain, headers: { ...plain.headers, "x-envelope": "wrapped" } };
    },
  },
  {
    name: "a declared route of Variant B",
    operation: "putDevice",
    status: 200,
    draft: (world) => call(world, "B", "PUT", "v1/devices/device-1"),
  },
  {
    name: "a stylesheet",
    operation: "readAsset",
    status: 200,
    draft: () => draft("GET", "_emulator/style.css"),
  },
];
