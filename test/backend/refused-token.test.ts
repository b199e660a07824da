// A person's token that the service takes no longer: the browser is told to ask the person, and the session is over.
import { describe, expect, test } from "vitest";
import type { Fetch } from "../../src/index.js";
import { rejectionOf } from "../support/wait.js";
import { OWN, type Rig, type RigOptions, rig, type SessionAnswer } from "./rig.js";

const young = 30_000;
const old = young + 1;

interface Refusing extends Rig {
  /** The service answers every call 401 from now on. */
  refuse(): void;
  /** A refresh token is dead too. */
  refuseRefresh(): void;
}

function refusing(options: RigOptions = {}): Refusing {
  let [isRefused, isRefreshRefused] = [false, false];
  const parts = rig({
    ...options,
    fetch: async (url, init) => {
      if (isRefused && !url.includes("token")) return new Response(null, { status: 401 });
      if (isRefreshRefused && url.includes("token"))
        return Response.json({ error: "invalid_grant" }, { status: 400 });
      return ((options.fetch as Fetch | undefined) ?? parts.emulator.fetch)(url, init);
    },
  });
  return {
    ...parts,
    refuse: () => {
      isRefused = true;
    },
    refuseRefresh: () => {
      isRefreshRefused = true;
    },
  };
}

/** A launch, and how its browser asks. */
async function launched(parts: Rig): Promise<Request> {
  const { session } = await parts.launch();
  return new Request(`${OWN}/devices`, { headers: { authorization: `Bearer ${session}` } });
}

async function loggedIn(parts: Rig): Promise<Request> {
  await parts.login();
  const { session } = (await (await parts.browser.post("/auth/session")).json()) as SessionAnswer;
  return parts.browser.request(
    "GET",
    "/devices",
    session === undefined ? {} : { headers: { authorization: `Bearer ${session}` } },
  );
}

async function answered({ backend }: Rig, request: Request): Promise<[number, Record<string, string>]> {
  try {
    const { ok, error } = await (await backend.connect(request)).call("listDevices");
    if (ok) return [200, {}];
    const answer = backend.answer(error);
    return [answer.status, await answer.json()];
  } catch (error) {
    const answer = backend.answer(error);
    return [answer.status, await answer.json()];
  }
}

describe("a launch whose token the service does not know any more", () => {
  test("asks for a relaunch at the first call, and its session is over in every process", async () => {
    const parts = refusing();
    const request = await launched(parts);
    expect((await answered(parts, request))[0]).toBe(200);
    parts.refuse();
    parts.clock.advance(old);
    expect(await answered(parts, request)).toEqual([
      401,
      { error: "relaunch_required", reason: "launch_expired", message: expect.any(String) },
    ]);
    for (const backend of [parts.backend, parts.another()]) {
      const error = await rejectionOf(backend.connect(request).then((one) => one.call("listDevices")));
      expect(backend.answer(error).status).toBe(401);
    }
    expect(await rejectionOf(parts.another().session(request))).toMatchObject({ code: "session_unknown" });
  });

  test("is not over for a 401 on a token of 30 s or less: a route that takes no such token answers so too", async () => {
    const parts = refusing();
    const request = await launched(parts);
    parts.refuse();
    parts.clock.advance(young);
    expect(await answered(parts, request)).toMatchObject([502, { error: "api_unauthorized" }]);
    expect(await parts.backend.session(request)).toMatchObject({ variant: "A" });
  });

  test("is not over for a 401 that the browser is not told of", async () => {
    const parts = refusing();
    const request = await launched(parts);
    parts.refuse();
    parts.clock.advance(old);
    const { error } = await (await parts.backend.connect(request)).call("listDevices");
    expect(error).toMatchObject({ code: "api_unauthorized", cause: { code: "launch_expired" } });
    expect(await parts.another().session(request)).toMatchObject({ variant: "A" });
  });

  test("is not over for a 403", async () => {
    const parts = rig();
    const request = await launched(parts);
    parts.emulator.updatePlugin({ tenantId: "acme", clientId: "planner", scopes: [] });
    parts.clock.advance(old);
    expect(await answered(parts, request)).toMatchObject([403, { error: "api_forbidden" }]);
    expect(await parts.another().session(request)).toMatchObject({ variant: "A" });
  });
});

describe("a login whose token the service does not know any more", () => {
  test("with a refresh token that is dead asks for a login at the first call", async () => {
    const parts = refusing();
    const request = await loggedIn(parts);
    parts.refuse();
    parts.refuseRefresh();
    parts.clock.advance(old);
    for (const reason of ["login_refused", "login_refused"])
      expect(await answered(parts, request)).toMatchObject([401, { error: "login_required", reason }]);
  });

  test("with a refresh token that lives is renewed; a second 401 is the route's, and ends nothing", async () => {
    const parts = refusing();
    const request = await loggedIn(parts);
    parts.refuse();
    parts.clock.advance(old);
    expect(await answered(parts, request)).toMatchObject([502, { error: "api_unauthorized" }]);
    expect(await parts.another().session(request)).toMatchObject({ variant: "B" });
  });

  test("without a refresh token asks for a login, and its session is over", async () => {
    const parts = refusing({
      fetch: async (url) =>
        url.includes("token") ? Response.json({ access_token: "t" }) : Response.json([]),
    });
    const request = await loggedIn(parts);
    expect((await answered(parts, request))[0]).toBe(200);
    parts.refuse();
    parts.clock.advance(old);
    expect(await answered(parts, request)).toMatchObject([
      401,
      { error: "login_required", reason: "login_expired" },
    ]);
    expect(await rejectionOf(parts.another().connect(request))).toMatchObject({ code: "login_expired" });
  });
});

describe("with sessions in cookies a page that comes back is not given a session that is over:", () => {
  const cookie = { session: { cookie: true } };

  test("a launch that was refused", async () => {
    const parts = refusing(cookie);
    await parts.launch();
    expect((await parts.browser.post("/auth/session")).status).toBe(200);
    parts.refuse();
    parts.clock.advance(old);
    expect((await answered(parts, parts.browser.request("GET", "/devices")))[0]).toBe(401);
    expect((await parts.browser.post("/auth/session")).status).toBe(401);
  });

  test("a login whose refresh token is dead, or whose refresh was lost", async () => {
    for (const isLost of [false, true]) {
      let [isOver, refreshes] = [false, 0];
      const parts: Rig = rig({
        ...cookie,
        fetch: async (url, init) => {
          if (!isOver) return parts.emulator.fetch(url, init);
          refreshes++;
          return isLost
            ? new Response("a page", { status: 200 })
            : Response.json({ error: "invalid_grant" }, { status: 400 });
        },
      });
      await loggedIn(parts);
      parts.clock.advance(59 * 60_000);
      expect((await parts.browser.post("/auth/session")).status).toBe(200);
      isOver = true;
      parts.clock.advance(60_000);
      for (let again = 0; again < 2; again++) {
        const answer = await parts.browser.post("/auth/session");
        expect([answer.status, await answer.json()]).toMatchObject([401, { error: "login_required" }]);
      }
      expect(refreshes).toBe(1);
    }
  });

  test("but it is, where the token endpoint merely fails", async () => {
    let isDown = false;
    const parts: Rig = rig({
      ...cookie,
      fetch: async (url, init) =>
        isDown ? new Response("", { status: 503 }) : parts.emulator.fetch(url, init),
    });
    await loggedIn(parts);
    parts.clock.advance(59 * 60_000);
    expect((await parts.browser.post("/auth/session")).status).toBe(200);
    isDown = true;
    parts.clock.advance(60_000);
    expect((await parts.browser.post("/auth/session")).status).toBe(200);
  });
});
