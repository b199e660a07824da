// The service accepts a code or a refresh token, and its answer is lost on the way. If a client
// then presents the refresh token again, the service takes it for stolen and revokes the login: RFC
// 9700 section 4.14.2, RFC 6819 section 5.2.2.3. Envoy and Heroku answer 503 after the service
// behind them has accepted the request, ModSecurity replaces answers with a 403 page, and after a
// 421 Node's fetch sends the body again by itself (RFC 9110 section 15.5.20).
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync, cpSync, rmSync } from "node:fs";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fetch as undiciFetch } from "undici";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  apiClient,
  completeLogin,
  type Fetch,
  type Intercept,
  memoryStore,
  type PersonAuth,
  redeemLaunch,
  resumeAuth,
  type TokenStore,
  userInterfacePlugin,
} from "../../src/index.js";
import { fileStore } from "../../src/stores/file.js";
import { certificates } from "../lifecycle/certificates.js";
import { backFromLogin, client } from "../people/person.js";
import { startRefreshing } from "../people/start-refreshing.js";
import { temporaryFolder } from "../stores/temporary-folder.js";
import { START, type SteppedClock, steppedClock } from "../support/clock.js";
import { pkcs8, rsaKey } from "../support/keys.js";
import { rejectionOf } from "../support/wait.js";
import { answer, Deployment, json, newDeployment, page, type Shape } from "./accepting-service.js";

const soon = { "retry-after": "1" };
const busy = { error: "temporarily_unavailable" };
const silence = () => {};
const shapes: Readonly<Record<string, Shape>> = {
  "a 500 in JSON": json(500, { error: "server_error" }),
  "a 502 page": page(502),
  "a 503 page with Retry-After": page(503, soon),
  "a 503 in plain text": answer(503, "upstream connect error or disconnect/reset before headers"),
  "an empty 504": answer(504),
  "a 421 page": page(421),
  "a 302 to another page": page(302, { location: "/sign-in" }),
  "a 307 to the same address": page(307, { location: "" }),
  "a 400 page": page(400),
  "a 403 page": page(403),
  "a 429 page with Retry-After": page(429, soon),
  "a 200 page": page(200),
  "JSON without a token": json(200, {}),
  "JSON that breaks off": (response, own) => {
    response.writeHead(200, { "content-length": own.length });
    response.write(own.slice(0, -9), () => response.destroy());
  },
  "a reset": (response) => response.destroy(),
  silence,
};
const table = Object.entries(shapes).map(([name, shape]) => ({ name, shape }));
const unknown = { name: "LoginRequiredError", code: "login_outcome_unknown" };
const hourMs = 3_600_000;

/** The same shape, except that silence ends the client's time limit. */
const overWhereSilent = (shape: Shape, clock: SteppedClock): Shape =>
  shape === silence ? () => clock.expire() : shape;

/** A login at a deployment, whose token has expired. */
async function expiredLogin(
  given: { deployment?: Deployment; store?: TokenStore; fetch?: Fetch; intercept?: Intercept } = {},
) {
  const { deployment = await newDeployment(), ...more } = given;
  const clock = steppedClock();
  const { baseUrl } = deployment;
  const limits = { retryDeadlineMs: 0, clock };
  const own = { tenantId: "acme", person: "session-1", store: memoryStore({ clock }) };
  const options = { ...limits, ...own, baseUrl, credential: apiClient(client), ...more };
  const auth = await completeLogin({ ...options, ...(await backFromLogin(options)) });
  clock.advance(hourMs);
  /**
   * Continues the login, in this process or, with a credential of its own, as another process
   * would.
   */
  const resume = async (credential = options.credential) =>
    (await resumeAuth({ ...options, credential })) as PersonAuth<"B">;
  return { deployment, clock, options, auth, resume, another: () => resume(apiClient(client)) };
}

describe("a refresh token whose answer is lost is presented once:", () => {
  test.each(table)("$name", async ({ shape }) => {
    const { deployment, clock, auth, resume, another } = await expiredLogin();
    deployment.shape = overWhereSilent(shape, clock);
    for (const one of [auth, auth, await resume(), await another(), auth]) {
      expect(await rejectionOf(one.getAccessToken())).toMatchObject(unknown);
      clock.advance(30_000);
    }
    deployment.expectNothingTwice();
  });

  test("after a 421, also by undici's own fetch", async () => {
    const fetch: Fetch = (url, init) =>
      undiciFetch(url, init as object) as unknown as Promise<Response>;
    const { deployment, auth } = await expiredLogin({ fetch });
    deployment.shape = page(421);
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject(unknown);
    deployment.expectNothingTwice();
  });

  test("in a third of the shapes, by four processes that share a store", async () => {
    const path = join(temporaryFolder(), "logins");
    const key = randomBytes(32).toString("base64");
    const store = fileStore(path, { key, clock: { now: () => START } });
    const deployments: Deployment[] = [];
    const some = Object.values(shapes).filter((_, at) => at % 3 === 0);
    for (const shape of [undefined, ...some]) {
      const { deployment } = await expiredLogin({ store });
      deployments.push(Object.assign(deployment, { shape }));
    }
    const urls = deployments.map(({ baseUrl }) => baseUrl);
    const settings = { urls, path, key, client, calls: 3, now: START + hourMs, timeoutMs: 5_000 };
    const outputs = await Promise.all([1, 2, 3, 4].map(() => startRefreshing(settings).outcomes()));
    const expected = ["access-token-2", ...some.map(() => unknown.code)];
    for (const output of outputs) expect(output).toEqual(expected.map((one) => Array(4).fill(one)));
    for (const deployment of deployments) deployment.expectNothingTwice();
  });
});

describe("a code whose answer is lost is presented once, and the error says so:", () => {
  const plugin = userInterfacePlugin({ clientId: "planner", privateKey: pkcs8(rsaKey()) });

  test.each(table)("$name", async ({ name, shape }) => {
    const { deployment, options, clock } = await expiredLogin();
    deployment.shape = overWhereSilent(shape, clock);
    const back = await backFromLogin(options, (state) => `code=another-code&state=${state}`);
    const launch = {
      ...options,
      credential: plugin,
      code: "third-code",
      codeVerifier: "v".repeat(43),
    };
    // Section 8 documents a 429 without a body, and a code is not sent again anyway.
    for (const outcome of [name.includes("429") ? "refused" : "outcome_unknown", "refused"]) {
      const login = await rejectionOf(completeLogin({ ...options, ...back }));
      expect(login).toMatchObject({ code: `login_${outcome}` });
      expect(await rejectionOf(redeemLaunch(launch))).toMatchObject({ code: `launch_${outcome}` });
      clock.advance(30_000);
    }
    deployment.expectNothingTwice();
  });
});

// The error of an interceptor may have the code of its own connection, which says nothing of the
// request.
describe("with an interceptor, neither a code nor a refresh token is presented twice if", () => {
  type Send = Parameters<Intercept>[1];
  const refused = () =>
    Promise.reject(Object.assign(new Error("no collector"), { code: "ECONNREFUSED" }));
  const plugin = userInterfacePlugin({ clientId: "planner", privateKey: pkcs8(rsaKey()) });

  test.each<{ name: string; shape?: Shape; fail: (send: Send) => Promise<Response> }>([
    { name: "it fails after the answer", fail: (send) => send().then(refused) },
    {
      name: "it fails after a reset",
      shape: (response) => response.destroy(),
      fail: (send) => send().finally(refused),
    },
    { name: "it does not wait for the answer", fail: (send) => Promise.race([send(), refused()]) },
    { name: "it sends again", fail: (send) => send().then(() => send()) },
  ])("$name", async ({ shape, fail }) => {
    let isFailing = false;
    const intercept: Intercept = (_request, send) => (isFailing ? fail(send) : send());
    const { deployment, options, clock, auth, another } = await expiredLogin({ intercept });
    Object.assign(deployment, { shape });
    const launch = {
      ...options,
      credential: plugin,
      code: "third-code",
      codeVerifier: "v".repeat(43),
    };
    isFailing = true;
    const codeOf = async (one: Promise<unknown>) => Object(await rejectionOf(one)).code;
    const codes: unknown[] = [];
    for (const one of [auth, await another(), auth]) {
      codes.push(await codeOf(one.getAccessToken()));
      clock.advance(30_000);
    }
    for (const _ of [1, 2]) codes.push(await codeOf(redeemLaunch(launch)));
    expect(codes).toEqual([
      ...Array(3).fill(unknown.code),
      "launch_outcome_unknown",
      "launch_refused",
    ]);
    deployment.expectNothingTwice();
  });
});

describe("an older copy of the store, brought back under running processes,", () => {
  /** A login in a store that was copied before its refresh token was sent. */
  async function copied() {
    const path = join(temporaryFolder(), "logins");
    const store = fileStore(path, { plaintext: true, clock: { now: () => START } });
    const login = await expiredLogin({ store });
    cpSync(path, `${path}.backup`, { recursive: true });
    const bringBack = () => {
      rmSync(path, { recursive: true });
      cpSync(`${path}.backup`, path, { recursive: true });
      // From Node 24 on a copy has the mode of a new folder.
      chmodSync(path, 0o700);
    };
    return { ...login, bringBack };
  }

  test.each([
    { name: "that was replaced", shape: undefined, says: "older copy" },
    { name: "whose answer was lost", shape: page(503), says: "no answer" },
  ])("does not make a refresh token go out again $name", async ({ shape, says }) => {
    const { deployment, clock, auth, resume, another, bringBack } = await copied();
    deployment.shape = shape;
    await auth.getAccessToken().catch(() => {});
    const hasReadLater = await another();
    await hasReadLater.getAccessToken().catch(() => {});
    bringBack();
    clock.advance(hourMs);
    deployment.shape = undefined;
    const message = expect.stringContaining(says);
    for (const one of [auth, await resume(), hasReadLater])
      expect(await rejectionOf(one.getAccessToken())).toMatchObject({ ...unknown, message });
    deployment.expectNothingTwice();
  });

  test("does not stop a refresh token that the service never replaces, or one of a later login", async () => {
    const { deployment, clock, auth, another, options } = await copied();
    deployment.keepsRefreshToken = true;
    for (const one of [auth, await another(), auth]) {
      await one.getAccessToken();
      clock.advance(hourMs);
    }
    deployment.shape = page(503);
    await rejectionOf(auth.getAccessToken());
    deployment.shape = undefined;
    const back = await backFromLogin(options, (state) => `code=another-code&state=${state}`);
    const again = await completeLogin({ ...options, ...back });
    clock.advance(hourMs);
    expect((await again.getAccessToken()).value).toMatch(/^access/);
  });
});

describe("a refresh token that is certainly not spent is presented again:", () => {
  test.each([
    { name: "a 429 in JSON", refusal: json(429, busy, soon), code: "rate_limited" },
    // Section 8 documents a 429 without a body.
    { name: "an empty 429", refusal: answer(429, "", soon), code: "rate_limited" },
    {
      name: "invalid_client",
      refusal: json(401, { error: "invalid_client" }),
      code: "token_refused",
    },
    { name: "a 404 in JSON", refusal: json(404, { error: "not_found" }), code: "response_shape" },
  ])("$name", async ({ refusal, code }) => {
    const { deployment, clock, auth } = await expiredLogin();
    deployment.refusal = refusal;
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code });
    deployment.refusal = undefined;
    clock.advance(60_000);
    expect((await auth.getAccessToken()).value).toBe("access-token-2");
    expect(deployment.isRevoked).toBe(false);
  });

  test("but not after invalid_grant, since the login is over", async () => {
    const { deployment, auth } = await expiredLogin();
    deployment.refusal = json(400, { error: "invalid_grant" });
    for (const one of [auth, auth])
      expect(await rejectionOf(one.getAccessToken())).toMatchObject({ code: "login_refused" });
    deployment.expectNothingTwice();
  });
});

describe("over TLS, a refresh token is presented again after", () => {
  /** What becomes of each connection, instead of a handshake with the service. */
  let treat: ((socket: Socket) => unknown) | undefined;
  const trust = (isTrusted: boolean) =>
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", isTrusted ? "0" : "1");
  const treating = (fault: typeof treat) => () => {
    treat = fault;
  };

  test.each<{ name: string; code: string; harm: (server: Server, clock: SteppedClock) => unknown }>(
    [
      { name: "a refused connection", code: "network_failed", harm: (server) => server.close() },
      {
        name: "a dropped handshake",
        code: "network_failed",
        harm: treating((socket) => socket.destroy()),
      },
      {
        name: "a handshake without an answer",
        code: "timed_out",
        harm: (_server, clock) => treating(() => clock.expire())(),
      },
      {
        name: "plain http",
        code: "tls_failed",
        harm: treating((socket) => socket.end("HTTP/1.1 400 No\r\n")),
      },
      { name: "a certificate that is not trusted", code: "tls_failed", harm: () => trust(false) },
    ],
  )("$name", async ({ code, harm }) => {
    // In Node 20 the global fetch takes no other authorities.
    trust(true);
    onTestFinished(() => void vi.unstubAllEnvs());
    const service = createHttpsServer(certificates().server, async (request, response) => {
      response.setHeader("connection", "close");
      deployment.respond(await text(request), response);
    });
    const server = createServer((socket) =>
      (treat ?? ((one) => service.emit("connection", one)))(socket),
    );
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const deployment = new Deployment(`https://127.0.0.1:${port}`);
    const { auth, clock } = await expiredLogin({ deployment });
    harm(server, clock);
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code });
    trust(true);
    treat = undefined;
    if (!server.listening) await once(server.listen(port, "127.0.0.1"), "listening");
    expect((await auth.getAccessToken()).value).toBe("access-token-2");
    deployment.expectNothingTwice();
  });
});
