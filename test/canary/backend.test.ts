// Plants secrets, lets the service echo what it receives, and searches every output of the backend
// for them.
import { inspect } from "node:util";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { type Backend, createBackend } from "../../src/backend/index.js";
import { memoryStore } from "../../src/index.js";
import { HOST, launching, loginCredential, OWN, type SessionAnswer } from "../backend/rig.js";
import { TestBrowser } from "../backend/test-browser.js";
import { waitless } from "../support/clock.js";
import { shown } from "../support/shown.js";
import {
  accessToken,
  clientSecret,
  code,
  codeVerifier,
  expectNone,
  refreshToken,
  tokenEchoes,
  watchPrinted,
} from "./search.js";

const launchBody = { code, codeVerifier, tenantId: "acme", hostOrigin: HOST };

/** What the backend answers, prints and reports, and what its objects show. */
let outputs: string[];
/** Bodies that the service received. Their assertions and code verifiers are secrets too. */
let received: string[];

beforeEach(() => {
  outputs = [];
  received = [];
  watchPrinted((...words) => void outputs.push(...words.map((one) => shown(one))));
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
    store: memoryStore(),
    session: { cookie },
    clock: waitless(),
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
    access_token: accessToken,
    refresh_token: refreshToken,
    expires_in: 3_600,
    revo: { tenant: "acme", user: { userId: "ada" }, roles: [{ name: "planner" }] },
  });

async function keep(answer: Promise<Response>): Promise<Response> {
  const given = await answer;
  const copy = given.clone();
  outputs.push(JSON.stringify([...copy.headers]), await copy.text(), inspect(given, { depth: 10 }));
  return given;
}

function expectNoSecret(backend: Backend): void {
  const settings = inspect(backend, { showHidden: true, depth: 10 }) + JSON.stringify(backend);
  // A login is sealed in its cookie.
  const sealed = /bivariant-login-[\w-]{8}=[\w.-]+/g;
  expectNone(
    [...outputs, settings].map((text) => text.replace(sealed, "")),
    received,
  );
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

describe("the backend reveals no secret of a service that", () => {
  test.each([false, true])("issues tokens, with sessions in cookies: %s", async (cookie) => {
    const backend = backendOf(tokens, { cookie });
    await everything(backend);
    expectNoSecret(backend);
  });

  test.each(tokenEchoes)("echoes in $name", async ({ answer }) => {
    const backend = backendOf(answer);
    await everything(backend);
    expect(received.some((body) => body.includes(code))).toBe(true);
    expectNoSecret(backend);
  });

  test("breaks off with an echo in the fault", async () => {
    const backend = backendOf((body) =>
      Promise.reject(Object.assign(new Error(body), { body, cause: new Error(body) })),
    );
    await everything(backend);
    expectNoSecret(backend);
  });
});

test("an error of identify that holds the token reveals it nowhere", async () => {
  const backend = backendOf(tokens, { identifies: false });
  await everything(backend);
  expect(outputs.join("\n")).toContain("login_error=identify_failed");
  expectNoSecret(backend);
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
  expect(() => expectNoSecret(backendOf(tokens))).toThrow("canary-verifier");
});
