// POST launch makes a session from the code of a launch, and refuses everything else.
import { describe, expect, test } from "vitest";
import type { BackendDeployment } from "../../src/backend/index.js";
import { isRelaunchRequiredError, unwrap, userInterfacePlugin } from "../../src/index.js";
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
import { refusalOf } from "./test-browser.js";

const relaunch = "401 relaunch_required";
const body = { code: "a-code", codeVerifier: "v".repeat(43), tenantId: "acme", hostOrigin: HOST };

describe("a launch", () => {
  test("opens a session for the operator who launched, and makes calls as that operator", async () => {
    const { backend, browser, launch, clock } = rig();
    const { session, ...answer } = await launch();
    expect(session).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const expiresAt = clock.now() + 3_600_000;
    expect(answer).toEqual({ variant: "A", tenantId: "acme", operator: adaShown, expiresAt });
    const request = browser.request("GET", "/devices", { headers: bearer(session) });
    const service = await backend.connect(request);
    expect(service.variant).toBe("A");
    expect(unwrap(await service.call("listDevices"))).toHaveLength(3);
    const roles = [{ name: "planner", group: "people" }];
    expect(await (await browser.me(session)).json()).toEqual({ ...answer, roles });
  });

  test("ends when its token expires, and every process then asks for a relaunch", async () => {
    const { browser, launch, clock, elsewhere } = rig();
    const { session } = await launch();
    for (let minutes = 0; minutes < 60; minutes += 12) {
      expect((await browser.me(session)).status).toBe(200);
      clock.advance(12 * 60_000);
    }
    for (const at of [browser, elsewhere()]) {
      const answer = await at.me(session);
      expect(await refusalOf(answer)).toBe(relaunch);
      expect(await answer.json()).toMatchObject({ reason: "launch_expired" });
    }
  });

  test("of an unknown host or tenant is answered like a refused code, and nothing is sent", async () => {
    const { browser, tokenRequests, launchBody, reports } = rig();
    const launched = launchBody();
    const others = [
      { hostOrigin: "https://evil.example" },
      { hostOrigin: `${HOST}/` },
      { hostOrigin: `${HOST}:444` },
      { hostOrigin: "null" },
      { hostOrigin: HOST.toUpperCase() },
      { tenantId: "umbrella" },
      { tenantId: "../acme" },
    ];
    for (const other of others) {
      const answer = browser.post("/auth/launch", { ...launched, ...other });
      expect(await refusalOf(answer), JSON.stringify(other)).toBe(relaunch);
    }
    expect(String(reports[0]?.error)).toContain("https://evil.example");
    expect([reports.length, tokenRequests()]).toEqual([others.length, 0]);
    expect((await browser.post("/auth/launch", launched)).status).toBe(200);
  });

  test("goes to the deployment that is configured for its host and tenant", async () => {
    const seen: string[] = [];
    const of = (name: string, tenantId: string) => ({
      tenantId,
      baseUrl: `https://${name}.example`,
      launch: launchCredential(),
      hostOrigin: `https://host.${name}.example`,
    });
    const { browser } = rig({
      deployments: [of("one", "acme"), of("two", "acme"), of("two", "umbrella")],
      fetch: async (url) => {
        seen.push(url);
        return Response.json({ error: "invalid_grant" }, { status: 400 });
      },
    });
    const [one, two] = ["https://host.one.example", "https://host.two.example"];
    for (const to of [
      { hostOrigin: two, tenantId: "acme" },
      { hostOrigin: one, tenantId: "acme", baseUrl: SERVICE },
      { hostOrigin: two, tenantId: "umbrella" },
      { hostOrigin: one, tenantId: "umbrella" },
    ])
      expect((await browser.post("/auth/launch", { ...body, ...to })).status).toBe(401);
    expect(seen).toEqual([
      "https://two.example/api/v1/acme/external-plugin/oauth/token",
      "https://one.example/api/v1/acme/external-plugin/oauth/token",
      "https://two.example/api/v1/umbrella/external-plugin/oauth/token",
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
      expect(await refusalOf(browser.post("/auth/launch", launchBody()))).toBe(relaunch);
      expect(tokenRequests()).toBe(0);
    }
  });

  test("asks a lookup only for a tenant and a host that are well formed", async () => {
    const queries: unknown[] = [];
    const { launch, browser, launchBody } = rig({
      deployments(query) {
        queries.push(query);
        return launching();
      },
    });
    await launch();
    expect(queries[0]).toEqual({ purpose: "launch", tenantId: "acme", hostOrigin: HOST });
    const asked = queries.length;
    for (const wrong of [
      { hostOrigin: "__proto__" },
      { hostOrigin: `${HOST}/x` },
      { tenantId: ".." },
    ])
      expect(await refusalOf(browser.post("/auth/launch", { ...launchBody(), ...wrong }))).toBe(
        relaunch,
      );
    expect(queries).toHaveLength(asked);
  });
});

describe("a code", () => {
  test("whose lookup of a deployment hangs is over after the time limit", async () => {
    const { browser, reports } = rig({ deployments: () => new Promise(() => {}), timeoutMs: 20 });
    const answer = browser.post("/auth/launch", body);
    expect(await refusalOf(answer)).toBe("503 service_unreachable");
    expect(String(reports[0]?.error)).toContain("deployments did not answer within 20 ms");
  });

  test("that is posted several times is sent once, and otherwise asks for a relaunch", async () => {
    const { browser, launchBody, tokenRequests } = rig();
    const launched = launchBody();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => browser.post("/auth/launch", launched)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)]);
    expect(await refusalOf(browser.post("/auth/launch", launched))).toBe(relaunch);
    expect(tokenRequests()).toBe(1);
  });

  test("that the service refuses asks for a relaunch, and onError receives the reason", async () => {
    const { browser, launchBody, reports } = rig();
    const answer = await browser.post("/auth/launch", { ...launchBody(), code: "no-such-code" });
    const message = "Open the plugin again from the host application.";
    const shown = { error: "relaunch_required", reason: "launch_refused", message };
    expect([answer.status, await answer.json()]).toEqual([401, shown]);
    expect(reports).toMatchObject([{ status: 401, code: "relaunch_required", route: "launch" }]);
    expect(isRelaunchRequiredError(reports[0]?.error)).toBe(true);
  });

  test("that is refused is answered at once in a test that skips the wait of its clock", async () => {
    const { elsewhere, emulator, launchBody } = rig();
    const browser = elsewhere({ clock: emulator.clock });
    const answer = browser.post("/auth/launch", { ...launchBody(), tenantId: "unknown" });
    expect(await emulator.clock.skipSleep()).toBeGreaterThan(2_999);
    expect(await refusalOf(answer)).toBe(relaunch);
  });

  test("that was held back by a rate limit can be posted again later", async () => {
    const { browser, launchBody, tokenRequests, clock } = rig({
      emulator: { rateLimit: { requests: 1, windowSeconds: 100 } },
      retryDeadlineMs: 0,
    });
    await browser.post("/auth/launch", launchBody());
    // The first 429 spends its code, which was sent.
    expect(await refusalOf(browser.post("/auth/launch", launchBody()))).toBe(relaunch);
    const launched = launchBody();
    const closed = await browser.post("/auth/launch", launched);
    expect(await refusalOf(closed)).toBe("503 rate_limited");
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
    const backend = another({
      fetch: async (url, init) => {
        gone.abort();
        return emulator.fetch(url, init);
      },
    });
    const request = browser.request("POST", "/auth/launch", {
      signal: gone.signal,
      body: JSON.stringify(launchBody()),
      headers: { "content-type": "application/json", origin: OWN },
    });
    expect((await backend(request)).status).toBe(499);
    const grants = written.filter((key) => key.includes("grant"));
    expect(grants).toHaveLength(1);
    expect(await store.get(grants[0] ?? "")).toBeUndefined();
    expect(written.some((key) => key.includes("session"))).toBe(false);
  });
});
