// Plants secrets, lets the service echo what it receives, and searches every output of the backend
// for them.
import { inspect } from "node:util";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { type Backend, createBackend } from "../../src/backend/index.js";
import { memoryStore } from "../../src/index.js";
import { waitless } from "../support/clock.js";
import { pkcs8, privateJwk, rsaKey } from "../support/keys.js";
import { shown } from "../support/shown.js";
import { HOST, launching, loginCredential, OWN, type SessionAnswer } from "./rig.js";
import { TestBrowser } from "./test-browser.js";

const code = "canary-code-3f8a17c20d";
const codeVerifier = "canary-verifier-5b1e9d04c7a2f6e8b3d1a9c5e7f2";
const clientSecret = 'canary-secret-"quoted"\\back/slash+plus %41 ünï-0123456789';
const accessToken = "canary-access-token-8f31bb02c7";
const refreshToken = "canary-refresh-token-77ac01d9e4";
const launchBody = { code, codeVerifier, tenantId: "acme", hostOrigin: HOST };

/** What the backend answers, prints and reports, and what its objects show. */
let outputs: string[];
/** Bodies that the service received. Their assertions and code verifiers are secrets too. */
let received: string[];

beforeEach(() => {
  outputs = [];
  received = [];
  for (const method of ["log", "info", "warn", "error", "debug", "trace"] as const)
    vi.spyOn(console, method).mockImplementation(
      (...told) => void outputs.push(...told.map((one) => shown(one))),
    );
  return () => vi.restoreAllMocks();
});

type Answer = (body: string) => Response | Promise<Response>;

/**
 * A backend in front of a token endpoint, and an API that echoes the bearer. If it does not
 * identify people, the error of `identify` holds the token.
 */
function backendOf(answerToken: Answer, { cookie = false, identifies = true } = {}): Backend {
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
      const error = `you sent ${new Headers(init?.headers).get("authorization")}`;
      return Response.json({ error }, { status: 403, headers: { "x-echo": error } });
    },
    onError: (error, context) => void outputs.push(shown(error), shown(context)),
    onEvent: (event) => void outputs.push(shown(event)),
  });
}

const tokens = () =>
  Response.json({
    ...{ access_token: accessToken, refresh_token: refreshToken, expires_in: 3_600 },
    revo: { tenant: "acme", user: { userId: "ada" }, roles: [{ name: "planner" }] },
  });

async function keep(answer: Promise<Response>): Promise<Response> {
  const given = await answer;
  const copy = given.clone();
  outputs.push(JSON.stringify([...copy.headers]), await copy.text(), inspect(given, { depth: 10 }));
  return given;
}

/** The secrets that no browser, log or inspection may show, in all their forms. */
function planted(): string[] {
  const { d = "", p = "", q = "" } = privateJwk(rsaKey());
  const fields = received.flatMap((body) => {
    if (body.startsWith("{")) return [String(JSON.parse(body).code_verifier ?? "")];
    const assertion = new URLSearchParams(body).get("client_assertion") ?? "";
    return [assertion, ...assertion.split(".")];
  });
  const key = pkcs8(rsaKey()).split("\n");
  const ours = [code, codeVerifier, "canary-secret", accessToken, refreshToken];
  const secrets = [...ours, d, p, q, ...key.filter((line) => line.length > 40), ...fields];
  return secrets.filter((secret) => secret.length > 10);
}

function expectNone(backend: Backend): void {
  const settings = inspect(backend, { showHidden: true, depth: 10 }) + JSON.stringify(backend);
  const text = [...outputs, settings].join("\n");
  for (const secret of planted())
    expect(text.includes(secret), `${secret.slice(0, 25)}… is visible`).toBe(false);
}

/** Does everything that a browser can do, whatever the outcome. */
async function everything(backend: Backend): Promise<void> {
  const browser = new TestBrowser(backend, OWN);
  const begin = async () => {
    const begun = await keep(browser.get("/auth/login?return_to=/page"));
    return new URL(begun.headers.get("location") ?? "").searchParams.get("state");
  };
  const launched = await keep(browser.post("/auth/launch", launchBody));
  for (const change of [{}, { code: `${code}\n` }, { hostOrigin: `https://${code}.example` }])
    await keep(browser.post("/auth/launch", { ...launchBody, ...change }));
  const state = await begin();
  const own = `/auth/callback?code=${code}&state=${state}`;
  for (const accept of ["text/html", "application/json"]) {
    await keep(browser.get(`/auth/callback?code=${code}&state=wrong`, { accept }));
    await keep(browser.get(`${own}&error=${code}`, { accept }));
    await keep(new TestBrowser(backend, OWN).get(own, { accept }));
    await keep(browser.get(`/auth/login?return_to=https://${code}.example`, { accept }));
  }
  await keep(browser.get(`/auth/callback?code=${code}&state=${await begin()}`));
  const loggedIn = await keep(browser.post("/auth/session"));
  for (const answer of [launched, loggedIn]) {
    if (answer.status !== 200) continue;
    const { session, csrf = "" } = (await answer.json()) as SessionAnswer;
    const headers: Record<string, string> = { "x-bivariant-csrf": csrf, origin: OWN };
    if (session !== undefined) headers.authorization = `Bearer ${session}`;
    // In a cookie, the second session has replaced the first.
    if ((await keep(browser.get("/auth/me", headers))).status === 401) continue;
    const request = browser.request("GET", "/devices", { headers });
    const service = await backend.connect(request);
    outputs.push(shown(service), shown(await backend.session(request)));
    const { error } = await service.call("listDevices");
    outputs.push(shown(error));
    await keep(Promise.resolve(backend.answer(error)));
    await keep(browser.post("/auth/logout", {}, headers));
  }
}

function echoing(body: string, status: number): Response {
  const told = { error: body, error_description: body, refresh_token: body, [body]: body };
  const headers = { "x-echo": encodeURIComponent(body) };
  return Response.json({ ...told, access_token: [body] }, { status, headers });
}

describe("the backend reveals no secret of a service that", () => {
  test.each<{ name: string; answer: Answer; cookie?: boolean }>([
    { name: "issues tokens", answer: tokens },
    { name: "issues tokens, with sessions in cookies", answer: tokens, cookie: true },
    { name: "echoes with 200", answer: (body) => echoing(body, 200) },
    { name: "echoes with 400", answer: (body) => echoing(body, 400) },
    { name: "echoes with 401", answer: (body) => echoing(body, 401) },
    { name: "echoes with 404", answer: (body) => echoing(body, 404) },
    { name: "echoes with 500", answer: (body) => echoing(body, 500) },
    {
      name: "echoes beside a known error",
      answer: (body) =>
        Response.json({ error: "invalid_grant", error_description: body }, { status: 400 }),
    },
    { name: "echoes in a page", answer: (body) => new Response(`<p>${body}`) },
    {
      name: "breaks off with an echo in the fault",
      answer: (body) =>
        Promise.reject(Object.assign(new Error(body), { body, cause: new Error(body) })),
    },
  ])("$name", async ({ answer, ...options }) => {
    const backend = backendOf(answer, options);
    await everything(backend);
    expect(received.some((body) => body.includes(code))).toBe(true);
    expectNone(backend);
  });
});

test("an error of identify that holds the token reveals it nowhere", async () => {
  const backend = backendOf(tokens, { identifies: false });
  await everything(backend);
  expect(outputs.join("\n")).toContain("login_error=identify_failed");
  expectNone(backend);
});

test("the browser's own session and login are in no error, event or inspection", async () => {
  const backend = backendOf(tokens);
  const browser = new TestBrowser(backend, OWN);
  const answer = await browser.post("/auth/launch", launchBody);
  const { session = "" } = (await answer.json()) as SessionAnswer;
  await browser.get("/auth/login");
  const [cookie = ""] = browser.cookies.values();
  outputs = [];
  await keep(browser.me(session));
  await keep(browser.logOut(session));
  await keep(browser.me(session));
  await keep(browser.get("/auth/callback?code=x&state=y"));
  outputs.push(shown(backend));
  expect([session.length, cookie.split(".").length]).toEqual([43, 5]);
  for (const secret of [session, cookie]) expect(outputs.join("\n")).not.toContain(secret);
});

test("a canary in an output is found", () => {
  outputs.push(`the verifier is ${codeVerifier}`);
  expect(() => expectNone(backendOf(tokens))).toThrow("canary-verifier");
});
