// Plants secrets, lets the service echo what it receives, and searches every output of the backend
// for them.
import { inspect } from "node:util";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { type Backend, type BackendEvent, createBackend } from "../../src/backend/index.js";
import { memoryStore } from "../../src/index.js";
import { waitless } from "../support/clock.js";
import { pkcs8, privateJwk, rsaKey } from "../support/keys.js";
import { shown } from "../support/shown.js";
import { bearer, HOST, launching, loginCredential, OWN, type SessionAnswer } from "./rig.js";
import { TestBrowser } from "./test-browser.js";

const code = "canary-code-3f8a17c20d";
const codeVerifier = "canary-verifier-5b1e9d04c7a2f6e8b3d1a9c5e7f2";
const clientSecret = 'canary-secret-"quoted"\\back/slash+plus %41 ünï-0123456789';
const accessToken = "canary-access-token-8f31bb02c7";
const refreshToken = "canary-refresh-token-77ac01d9e4";

let outputs: string[];
let events: BackendEvent[];
/** Bodies that the service received. Their assertions and code verifiers are secrets too. */
let received: string[];
/** The token endpoint. The rest of the service echoes. */
let answerToken: (body: string) => Response | Promise<Response>;
/** Whether the option identify names the person. Otherwise its error holds the token. */
let identifies: boolean;

beforeEach(() => {
  outputs = [];
  events = [];
  received = [];
  identifies = true;
  for (const method of ["log", "info", "warn", "error", "debug", "trace"] as const)
    vi.spyOn(console, method).mockImplementation(
      (...told) => void outputs.push(...told.map((one) => shown(one))),
    );
  return () => vi.restoreAllMocks();
});

function backendOf(cookie: boolean): Backend {
  return createBackend({
    deployments: [{ ...launching(), login: loginCredential({ clientSecret }) }],
    ...{ store: memoryStore(), session: { cookie }, clock: waitless() },
    identify: async (service) => {
      const { value } = await service.auth.getAccessToken();
      outputs.push(shown(service));
      if (identifies) return { userId: "ada" };
      throw Object.assign(new Error(`refused ${value}`), { value, cause: new Error(value) });
    },
    fetch: async (url, init) => {
      const body = String(init?.body ?? "");
      received.push(body);
      if (url.endsWith("token")) return answerToken(body);
      const bearer = new Headers(init?.headers).get("authorization");
      return Response.json(
        { error: `you sent ${bearer}` },
        { status: 403, headers: { "x-echo": `${bearer}` } },
      );
    },
    onError: (error, context) => void outputs.push(shown(error), shown(context)),
    onEvent: (event) => void events.push(event),
  });
}

const tokens = (revo: object = {}) =>
  Response.json({
    ...{
      access_token: accessToken,
      refresh_token: refreshToken,
      token_type: "Bearer",
      expires_in: 3_600,
    },
    revo,
  });

async function keep(answer: Response): Promise<Response> {
  const copy = answer.clone();
  outputs.push(
    JSON.stringify([...copy.headers]),
    await copy.text(),
    inspect(answer, { depth: 10 }),
  );
  return answer;
}

/** The secrets that no browser, log or inspection may show, in all their forms. */
function planted(): string[] {
  const { d = "", p = "", q = "" } = privateJwk(rsaKey());
  const fields = received.flatMap((body) => {
    if (body.startsWith("{")) return [String(JSON.parse(body).code_verifier ?? "")];
    const assertion = new URLSearchParams(body).get("client_assertion") ?? "";
    return [assertion, ...assertion.split(".")];
  });
  const key = pkcs8(rsaKey())
    .split("\n")
    .filter((line) => line.length > 40);
  const ours = [code, codeVerifier, clientSecret, "canary-secret", accessToken, refreshToken];
  const secrets = [...ours, d, p, q, ...key, encodeURIComponent(clientSecret), ...fields];
  return secrets.filter((secret) => secret.length > 10);
}

function expectNone(backend: Backend): void {
  const settings = [
    inspect(backend, { showHidden: true, depth: 10 }),
    JSON.stringify(backend) ?? "",
  ];
  const text = [...outputs, ...settings, ...events.map((event) => shown(event))].join("\n");
  for (const secret of planted())
    expect(text.includes(secret), `${secret.slice(0, 25)}… is visible`).toBe(false);
}

const launchBody = {
  code,
  codeVerifier,
  tenantId: "acme",
  hostOrigin: HOST,
  state: "canary-state-of-a-launch",
};

/** Does everything that a browser can do, whatever the outcome. */
async function everything(backend: Backend): Promise<void> {
  const browser = new TestBrowser(backend, OWN);
  const launched = await keep(await browser.post("/auth/launch", launchBody));
  await keep(await browser.post("/auth/launch", launchBody));
  await keep(await browser.post("/auth/launch", { ...launchBody, code: `${code}\n` }));
  await keep(
    await browser.post("/auth/launch", { ...launchBody, hostOrigin: `https://${code}.example` }),
  );
  const begun = await keep(await browser.get("/auth/login?return_to=/page"));
  const state = new URL(begun.headers.get("location") ?? "").searchParams.get("state") ?? "";
  for (const accept of ["text/html", "application/json"]) {
    await keep(await browser.get(`/auth/callback?code=${code}&state=wrong`, { accept }));
    await keep(
      await browser.get(`/auth/callback?code=${code}&error=${code}&state=${state}`, { accept }),
    );
    const stranger = new TestBrowser(backend, OWN);
    await keep(await stranger.get(`/auth/callback?code=${code}&state=${state}`, { accept }));
    await keep(await browser.get(`/auth/login?return_to=https://${code}.example`, { accept }));
  }
  const again = await browser.get("/auth/login?return_to=/page");
  const second = new URL(again.headers.get("location") ?? "").searchParams.get("state") ?? "";
  await keep(await browser.get(`/auth/callback?code=${code}&state=${second}`));
  const logged = await keep(await browser.post("/auth/session"));
  for (const answer of [launched, logged]) {
    if (answer.status !== 200) continue;
    const { session, csrf = "" } = (await answer.json()) as SessionAnswer;
    const headers: Record<string, string> = { "x-bivariant-csrf": csrf, origin: OWN };
    if (session !== undefined) headers.authorization = `Bearer ${session}`;
    // In a cookie, the second session has replaced the first.
    if ((await keep(await browser.get("/auth/me", headers))).status === 401) continue;
    const request = browser.request("GET", "/devices", { headers });
    const service = await backend.connect(request);
    outputs.push(shown(service), shown(await backend.session(request)));
    const result = await service.call("listDevices");
    outputs.push(shown(result.error));
    await keep(backend.answer(result.error));
    await keep(await browser.post("/auth/logout", {}, headers));
  }
}

const revo = { tenant: "acme", user: { userId: "ada" }, roles: [{ name: "planner" }] };
const services: { name: string; answer: (body: string) => Response | Promise<Response> }[] = [
  { name: "that issues tokens", answer: () => tokens(revo) },
  ...[200, 400, 401, 403, 404, 500].map((status) => ({
    name: `that echoes with ${status}`,
    answer: (body: string) =>
      Response.json(
        {
          error: body,
          error_description: body,
          access_token: [body],
          refresh_token: body,
          [body]: body,
        },
        { status, headers: { "x-echo": encodeURIComponent(body) } },
      ),
  })),
  {
    name: "that echoes beside a known error",
    answer: (body) =>
      Response.json({ error: "invalid_grant", error_description: body }, { status: 400 }),
  },
  { name: "that echoes in a page", answer: (body) => new Response(`<p>${body}`, { status: 200 }) },
  {
    name: "that redirects with an echo",
    answer: (body) =>
      new Response(null, { status: 302, headers: { location: `/?${encodeURIComponent(body)}` } }),
  },
  {
    name: "that breaks off with an echo in the fault",
    answer: (body) =>
      Promise.reject(Object.assign(new Error(body), { body, cause: new Error(body) })),
  },
];

describe.each([
  { name: "bearer", cookie: false },
  { name: "cookie", cookie: true },
])("with sessions as $name, the backend reveals no secret of a service", ({ cookie }) => {
  test.each(services)("$name", async ({ answer }) => {
    answerToken = answer;
    const backend = backendOf(cookie);
    await everything(backend);
    expect(received.some((body) => body.includes(code))).toBe(true);
    expectNone(backend);
  });
});

test("an error of identify that holds the token reveals it nowhere", async () => {
  answerToken = () => tokens();
  identifies = false;
  const backend = backendOf(false);
  await everything(backend);
  expect(outputs.join("\n")).toContain("login_error=identify_failed");
  expectNone(backend);
});

test("the browser's own session and login are in no error, event or inspection", async () => {
  answerToken = () => tokens();
  const backend = backendOf(false);
  const browser = new TestBrowser(backend, OWN);
  const answer = await browser.post("/auth/launch", launchBody);
  const { session = "" } = (await answer.json()) as SessionAnswer;
  await browser.get("/auth/login");
  const [cookie = ""] = browser.cookies.values();
  const headers = bearer(session);
  outputs = [];
  await keep(await browser.get("/auth/me", headers));
  await keep(await browser.post("/auth/logout", {}, headers));
  await keep(await browser.get("/auth/me", headers));
  await keep(await browser.get("/auth/callback?code=x&state=y"));
  outputs.push(shown(backend), ...events.map((event) => shown(event)));
  expect([session.length, cookie.split(".").length]).toEqual([43, 5]);
  for (const secret of [session, cookie]) expect(outputs.join("\n")).not.toContain(secret);
});

test("a canary in an output is found", () => {
  answerToken = () => tokens();
  const backend = backendOf(false);
  outputs.push(`the verifier is ${codeVerifier}`);
  expect(() => expectNone(backend)).toThrow("canary-verifier");
});
