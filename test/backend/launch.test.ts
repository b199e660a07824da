// POST launch makes a session from the code of a launch, and refuses everything else.
import { describe, expect, test } from "vitest";
import { type BackendDeployment, createBackend } from "../../src/backend/index.js";
import { isRelaunchRequiredError, unwrap, userInterfacePlugin } from "../../src/index.js";
import { waitless } from "../support/clock.js";
import { recordingServer } from "../support/recording-server.js";
import {
  adaShown,
  bearer,
  HOST,
  interrupted,
  launchCredential,
  launching,
  loginCredential,
  OWN,
  rig,
  SERVICE,
} from "./rig.js";
import { errorOf, refusalOf, TestBrowser } from "./test-browser.js";

const body = { code: "a-code", codeVerifier: "v".repeat(43), tenantId: "acme", hostOrigin: HOST };

describe("a launch", () => {
  test("opens a session for the operator who launched, and makes calls as that operator", async () => {
    const { backend, browser, launch, clock } = rig();
    const answer = await launch();
    expect(answer).toEqual({
      session: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      ...{ variant: "A", tenantId: "acme", operator: adaShown, expiresAt: clock.now() + 3_600_000 },
    });
    const headers = bearer(answer.session);
    const service = await backend.connect(browser.request("GET", "/devices", { headers }));
    expect(service.variant).toBe("A");
    expect(unwrap(await service.call("listDevices"))).toHaveLength(3);
    expect(await (await browser.get("/auth/me", headers)).json()).toEqual({
      ...{ variant: "A", tenantId: "acme", operator: adaShown, expiresAt: answer.expiresAt },
      roles: [{ name: "planner", group: "people" }],
    });
  });

  test("ends when its token expires, and every process then asks for a relaunch", async () => {
    const { backend, browser, launch, clock, another } = rig();
    const { session } = await launch();
    const mine = bearer(session);
    for (let minutes = 0; minutes < 59; minutes++) {
      clock.advance(60_000);
      expect((await browser.get("/auth/me", mine)).status).toBe(200);
    }
    clock.advance(60_000);
    for (const process of [backend, another()]) {
      const answer = await new TestBrowser(process, OWN).get("/auth/me", mine);
      expect([answer.status, await answer.json()]).toEqual([
        401,
        expect.objectContaining({ error: "relaunch_required", reason: "launch_expired" }),
      ]);
    }
  });

  test("of an unknown host or tenant is answered like a refused code, and nothing is sent", async () => {
    const { browser, tokenRequests, launchBody, told } = rig();
    const launched = launchBody();
    const others = [
      { hostOrigin: "https://evil.example" },
      { hostOrigin: `${HOST}/` },
      { hostOrigin: `${HOST}:444` },
      { hostOrigin: "null" },
      { hostOrigin: SERVICE },
      { hostOrigin: HOST.toUpperCase() },
      { tenantId: "umbrella" },
      { tenantId: "../acme" },
      { tenantId: "__proto__" },
    ];
    for (const other of others) {
      const refusal = await refusalOf(browser.post("/auth/launch", { ...launched, ...other }));
      expect(refusal, JSON.stringify(other)).toBe("401 relaunch_required");
    }
    expect(told[0]?.error).toMatchObject({
      message: expect.stringContaining("https://evil.example"),
    });
    expect([told.length, tokenRequests()]).toEqual([others.length, 0]);
    expect((await browser.post("/auth/launch", launched)).status).toBe(200);
  });

  test("goes to the deployment that is configured for its host and tenant", async () => {
    const seen: string[] = [];
    const fetch = async (url: string) => {
      seen.push(url);
      return Response.json({ error: "invalid_grant" }, { status: 400 });
    };
    const of = (name: string, tenantId: string) => ({
      ...{
        tenantId,
        baseUrl: `https://${name}.example`,
        hostOrigin: `https://host.${name}.example`,
      },
      launch: launchCredential(),
    });
    const backend = createBackend({
      deployments: [of("one", "acme"), of("two", "acme"), of("two", "umbrella")],
      ...{ fetch, clock: waitless(), onError: () => {} },
    });
    const browser = new TestBrowser(backend, OWN);
    const ask = (hostOrigin: string, tenantId: string) =>
      browser.post("/auth/launch", {
        ...body,
        hostOrigin,
        tenantId,
        baseUrl: "https://evil.example",
      });
    await ask("https://host.two.example", "acme");
    await ask("https://host.one.example", "acme");
    await ask("https://host.two.example", "umbrella");
    expect((await ask("https://host.one.example", "umbrella")).status).toBe(401);
    const path = (tenantId: string) => `/api/v1/${tenantId}/external-plugin/oauth/token`;
    expect(seen).toEqual([
      `https://two.example${path("acme")}`,
      `https://one.example${path("acme")}`,
      `https://two.example${path("umbrella")}`,
    ]);
  });

  test("is refused when a lookup returns a deployment that was not asked for", async () => {
    const right = launching();
    const lookups: (BackendDeployment | undefined)[] = [
      { ...right, hostOrigin: "https://other.example" },
      { ...right, tenantId: "umbrella" },
      { ...right, launch: undefined, login: loginCredential() },
      { ...right, launch: userInterfacePlugin(() => undefined) },
      undefined,
      { ...right, baseUrl: "ftp://x" },
    ];
    for (const given of lookups) {
      const { browser, launchBody, tokenRequests } = rig({ deployments: async () => given });
      expect(await errorOf(await browser.post("/auth/launch", launchBody()))).toBe(
        "relaunch_required",
      );
      expect(tokenRequests()).toBe(0);
    }
    const queries: unknown[] = [];
    const { launch, browser, launchBody } = rig({
      deployments(query) {
        queries.push(query);
        return right;
      },
    });
    await launch();
    expect(queries[0]).toEqual({ purpose: "launch", tenantId: "acme", hostOrigin: HOST });
    const asked = queries.length;
    for (const wrong of [
      { hostOrigin: "__proto__" },
      { hostOrigin: `${HOST}/path` },
      { tenantId: ".." },
    ]) {
      const refusal = await refusalOf(browser.post("/auth/launch", { ...launchBody(), ...wrong }));
      expect(refusal).toBe("401 relaunch_required");
    }
    expect(queries).toHaveLength(asked);
  });
});

describe("a code", () => {
  test("whose lookup of a deployment hangs is over after the time limit", async () => {
    const { browser, told } = rig({ deployments: () => new Promise(() => {}), timeoutMs: 20 });
    const refusal = await refusalOf(
      browser.post("/auth/launch", { ...body, hostOrigin: HOST, tenantId: "acme" }),
    );
    expect(refusal).toBe("503 service_unreachable");
    expect(String(told[0]?.error)).toContain(
      "The function deployments did not answer within 20 ms",
    );
  });

  test("that is posted several times is sent once, and otherwise asks for a relaunch", async () => {
    const { browser, launchBody, tokenRequests } = rig();
    const launched = launchBody();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => browser.post("/auth/launch", launched)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)]);
    expect(await refusalOf(browser.post("/auth/launch", launched))).toBe("401 relaunch_required");
    expect(tokenRequests()).toBe(1);
  });

  test("that the service refuses asks for a relaunch, and onError receives the reason", async () => {
    const { browser, launchBody, told } = rig();
    const answer = await browser.post("/auth/launch", { ...launchBody(), code: "no-such-code" });
    expect([answer.status, await answer.json()]).toEqual([
      401,
      {
        error: "relaunch_required",
        reason: "launch_refused",
        message: "Open the plugin again from the host application.",
      },
    ]);
    expect(told).toMatchObject([{ status: 401, code: "relaunch_required", route: "launch" }]);
    expect(isRelaunchRequiredError(told[0]?.error)).toBe(true);
  });

  test("that is refused is answered at once in a test that skips the wait of its clock", async () => {
    const { another, emulator, launchBody } = rig();
    const browser = new TestBrowser(another({ clock: emulator.clock }), OWN);
    const answer = browser.post("/auth/launch", { ...launchBody(), tenantId: "unknown" });
    expect(await emulator.clock.skipSleep()).toBeGreaterThan(2_999);
    expect(await refusalOf(answer)).toBe("401 relaunch_required");
  });

  test("whose exchange breaks off is not sent again, and asks for a relaunch", async () => {
    const server = await recordingServer(() => "reset");
    const backend = createBackend({
      deployments: [{ ...launching(), baseUrl: server.url }],
      ...{ clock: waitless(), onError: () => {} },
    });
    const browser = new TestBrowser(backend, OWN);
    const answer = await browser.post("/auth/launch", body);
    expect([answer.status, await answer.json()]).toEqual([
      401,
      expect.objectContaining({ error: "relaunch_required", reason: "launch_outcome_unknown" }),
    ]);
    expect((await browser.post("/auth/launch", body)).status).toBe(401);
    expect(server.requests).toHaveLength(1);
    expect(new URLSearchParams(server.requests[0]?.body).get("code")).toBe("a-code");
  });

  test("that was held back by a rate limit can be posted again later", async () => {
    const { browser, launchBody, tokenRequests, clock } = rig({
      emulator: { rateLimit: { requests: 1, windowSeconds: 100 } },
      retryDeadlineMs: 0,
    });
    await browser.post("/auth/launch", launchBody());
    // The first 429 spends its code, which was sent.
    expect(await errorOf(await browser.post("/auth/launch", launchBody()))).toBe(
      "relaunch_required",
    );
    const launched = launchBody();
    const closed = await browser.post("/auth/launch", launched);
    expect([closed.status, await errorOf(closed)]).toEqual([503, "rate_limited"]);
    const waitSeconds = Number(closed.headers.get("retry-after"));
    expect(waitSeconds).toBeGreaterThan(0);
    const sent = tokenRequests();
    clock.advance(waitSeconds * 1_000);
    expect((await browser.post("/auth/launch", launched)).status).toBe(200);
    expect(tokenRequests()).toBe(sent + 1);
  });

  test("whose browser went away opens no session, and its token is forgotten", async () => {
    const gone = new AbortController();
    const written: string[] = [];
    const wrapStore = interrupted((operation, key) => {
      if (operation === "set") written.push(key);
    });
    const { browser, emulator, launchBody, store, another } = rig({ wrapStore });
    const launched = launchBody();
    const backend = another({
      fetch: async (url, init) => {
        gone.abort();
        return emulator.fetch(url, init);
      },
    });
    const request = browser.request("POST", "/auth/launch", {
      ...{ signal: gone.signal, body: JSON.stringify(launched) },
      headers: { "content-type": "application/json", origin: OWN },
    });
    expect((await backend(request)).status).toBe(499);
    const grants = written.filter((key) => key.includes("grant"));
    expect(grants).toHaveLength(1);
    expect(await store.get(grants[0] ?? "")).toBeUndefined();
    expect(written.some((key) => key.includes("session"))).toBe(false);
  });
});
