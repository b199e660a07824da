// The option identify names the person of a login by Variant B, whose token answers do not.
import { describe, expect, test, vi } from "vitest";
import type { BackendOptions } from "../../src/backend/index.js";
import { unwrap } from "../../src/index.js";
import { latch } from "../people/person.js";
import { steppedClock } from "../support/clock.js";
import { shown } from "../support/shown.js";
import { rejectionOf, settle } from "../support/wait.js";
import { bearer, interrupted, OWN, type Rig, rig, SERVICE, type SessionAnswer } from "./rig.js";
import { refusalOf, TestBrowser } from "./test-browser.js";

type Identify = NonNullable<BackendOptions["identify"]>;

const grace = { userId: "grace", firstname: "Grace", lastname: "Hopper" };

/** Logs in, and returns the `login_error` with which the browser comes back to its page. */
async function refusedLogin(parts: Rig): Promise<string | undefined> {
  const back = await parts.login();
  expect(back.status).toBe(303);
  return /#login_error=(.*)$/.exec(back.headers.get("location") ?? "")?.[1];
}

/** The keys of what the store holds for people: sessions, completed logins and tokens. */
function watched() {
  const held = new Set<string>();
  const wrapStore = interrupted((operation, key) => {
    if (operation === "set") held.add(key);
    if (operation === "delete") held.delete(key);
  });
  const ofPeople = () => [...held].filter((key) => /\["grant"|:session:|:login:/.test(key));
  return { wrapStore, held: ofPeople };
}

describe("identify", () => {
  test("is called once after a login and never for a launch, and every answer about the session names the person", async () => {
    const identify = vi.fn<Identify>(async () => grace);
    const parts = rig({ identify });
    const { session, ...shownToPage } = await parts.loggedIn();
    expect(shownToPage).toMatchObject({ variant: "B", operator: grace });
    const request = () => parts.browser.request("GET", "/x", { headers: bearer(session) });
    for (const backend of [parts.backend, parts.another()])
      expect(await backend.session(request())).toMatchObject({ operator: grace });
    const me = await parts.browser.me(session);
    expect(await me.json()).toMatchObject({ operator: grace });
    // A refresh of the token does not ask again.
    parts.clock.advance(59 * 60_000);
    await parts.backend.session(request());
    parts.clock.advance(2 * 60_000);
    expect((await (await parts.backend.connect(request())).call("listDevices")).ok).toBe(true);
    expect((await parts.launch()).operator?.userId).toBe("ada");
    expect(identify).toHaveBeenCalledTimes(1);
  });

  test("calls the service as the person who logged in, and no other deployment", async () => {
    const parts = rig({
      identify: async (service) => {
        const { variant, baseUrl, tenantId } = service;
        expect([variant, baseUrl, tenantId]).toEqual(["B", SERVICE, "acme"]);
        const elsewhere = await rejectionOf(service.fetch("https://other.example/v1/me"));
        expect(elsewhere).toMatchObject({ code: "option_invalid" });
        const [device] = unwrap(await service.call("listDevices")) as { name: string }[];
        return { userId: `owner of ${device?.name}` };
      },
    });
    expect((await parts.loggedIn()).operator?.userId).toMatch(/^owner of ./);
  });

  test("may return null for a name that the person does not have", async () => {
    const parts = rig({
      identify: async () => ({ userId: "7", firstname: null, lastname: "Doe" }),
    });
    expect((await parts.loggedIn()).operator).toEqual({ userId: "7", lastname: "Doe" });
  });

  const returning = (value: unknown) => async () => value as never;
  const failing = (error: Error) => () => {
    throw error;
  };
  test.each<{ name: string; identify: Identify; says: RegExp }>([
    { name: "throws", identify: failing(new TypeError("not iterable")), says: /not iterable/ },
    {
      name: "never answers",
      identify: () => new Promise<never>(() => {}),
      says: /identify did not answer within 10000 ms/,
    },
    { name: "returns undefined", identify: returning(undefined), says: /must return/ },
    { name: "returns an empty userId", identify: returning({ userId: "" }), says: /userId/ },
    { name: "returns a number", identify: returning({ userId: 7 }), says: /String\(id\)/ },
    { name: "returns too much", identify: returning({ userId: "7".repeat(257) }), says: /userId/ },
    {
      name: "returns an object",
      identify: returning({ ...grace, lastname: {} }),
      says: /lastname/,
    },
    { name: "returns an email", identify: returning({ ...grace, email: "g@x" }), says: /"email"/ },
    {
      name: "rejects with the error of a call",
      identify: async (service) => unwrap(await service.call("noSuch" as "listDevices")) as never,
      says: /noSuch/,
    },
  ])("that $name refuses the login, and leaves nothing behind", async ({ identify, says }) => {
    const { wrapStore, held } = watched();
    const clock = steppedClock();
    const parts = rig({ wrapStore, identify, clock });
    const login = refusedLogin(parts);
    expect(await clock.through(login)).toBe("identify_failed");
    const [report] = parts.reports;
    expect([parts.reports.length, report]).toMatchObject([
      1,
      {
        status: 502,
        code: "identify_failed",
        route: "callback",
        error: { variant: "B", baseUrl: SERVICE, tenantId: "acme" },
      },
    ]);
    expect(shown(report?.error)).toMatch(says);
    expect(held()).toEqual([]);
    expect((await parts.browser.post("/auth/session")).status).toBe(204);
  });

  test("that answers too late changes nothing, and its service makes no further call", async () => {
    const { wrapStore, held } = watched();
    const clock = steppedClock();
    const gate = latch();
    let called: unknown;
    const identify: Identify = async (service) => {
      await gate.promise;
      called = await rejectionOf(service.call("listDevices"));
      return grace;
    };
    const parts = rig({ wrapStore, identify, clock });
    expect(await clock.through(refusedLogin(parts))).toBe("identify_failed");
    gate.release();
    await settle();
    expect(called).toMatchObject({ code: "login_expired" });
    expect([held(), parts.reports.length]).toEqual([[], 1]);
  });

  test("that hangs holds no place of the exchanges, and a repeated callback sends nothing", async () => {
    const gate = latch();
    let hanging = 0;
    const identify: Identify = async () => {
      hanging++;
      await gate.promise;
      return grace;
    };
    const parts = rig({ identify, clock: steppedClock(), clientKey: () => "one office" });
    const comeBacks: { browser: TestBrowser; url: string; back: Promise<Response> }[] = [];
    // 65 would be more than may exchange a code at a time.
    while (comeBacks.length < 65) {
      const browser = new TestBrowser(parts.backend, OWN);
      const begun = await browser.get("/auth/login");
      const login = { url: begun.headers.get("location") ?? "", userId: "ada" };
      const url = parts.emulator.login(login).callbackUrl;
      comeBacks.push({ browser, url, back: browser.get(url) });
      while (hanging < comeBacks.length) await settle();
    }
    const [{ browser = parts.browser, url = "" } = {}] = comeBacks;
    const before = parts.tokenRequests();
    const again = await browser.get(url);
    expect(again.headers.get("location")).toContain("#login_error=login_refused");
    expect(parts.tokenRequests()).toBe(before);
    expect((await parts.launch()).operator?.userId).toBe("ada");
    gate.release();
    for (const { back } of comeBacks) expect((await back).headers.get("location")).toBe(`${OWN}/`);
    expect(await (await browser.post("/auth/session")).json()).toMatchObject({ operator: grace });
  });
});

describe("with identify", () => {
  const everywhere = (parts: Rig, session: string | undefined) =>
    parts.browser.logOut(session, { everywhere: true });

  test("logout everywhere ends the logins of this person on all replicas, and no other session", async () => {
    let person = grace;
    const parts = rig({ identify: async () => person });
    const other = parts.elsewhere();
    const isOpen = async ({ session }: SessionAnswer) => (await other.me(session)).ok;
    const [first, second] = [await parts.loggedIn(), await parts.loggedIn()];
    person = { ...grace, userId: "ada" };
    const [ada, launched] = [await parts.loggedIn(), await parts.launch()];
    expect(await isOpen(second)).toBe(true);
    expect((await everywhere(parts, first.session)).status).toBe(204);
    const open = [first, second, ada, launched].map(isOpen);
    expect(await Promise.all(open)).toEqual([false, false, true, true]);
    // The operator of a launch is another person, even with the same id: identify chose that of the
    // login.
    expect((await everywhere(parts, launched.session)).status).toBe(204);
    expect(await isOpen(ada)).toBe(true);
  });

  test("logout everywhere ends a login that was completed before, and whose page comes after", async () => {
    const parts = rig({ identify: async () => grace });
    const late = parts.elsewhere();
    const statusOfFetched = async () => {
      const { session } = await (await late.post("/auth/session")).json();
      return (await late.me(session)).status;
    };
    const first = await parts.loggedIn();
    await parts.login(late);
    expect((await everywhere(parts, first.session)).status).toBe(204);
    expect(await statusOfFetched()).toBe(401);
    await parts.login(late);
    expect(await statusOfFetched()).toBe(200);
  });

  test("a person who logs in has another stateKey than the operator of a launch with that id", async () => {
    const { browser, backend, loggedIn, launch } = rig({
      identify: async () => ({ userId: "ada" }),
    });
    const keyOf = async ({ session }: SessionAnswer) => {
      const request = browser.request("GET", "/x", { headers: bearer(session) });
      return (await backend.session(request)).stateKey;
    };
    const key = await keyOf(await loggedIn());
    expect(await keyOf(await loggedIn())).toBe(key);
    expect(await keyOf(await launch())).not.toBe(key);
  });

  test("sessions and completed logins from before it go on without a person", async () => {
    const identify = vi.fn<Identify>(async () => grace);
    const parts = rig();
    const { session } = await parts.loggedIn();
    await parts.login();
    const newer = parts.elsewhere({ identify }, parts.browser.cookies);
    const fetched = (await (await newer.post("/auth/session")).json()) as SessionAnswer;
    for (const one of [session, fetched.session]) {
      const me = await newer.me(one);
      const { tenantId, operator } = (await me.json()) as SessionAnswer;
      expect([me.status, tenantId, operator]).toEqual([200, "acme", undefined]);
      const answer = newer.logOut(one, { everywhere: true });
      expect(await refusalOf(answer)).toBe("409 person_unknown");
    }
    expect(identify).not.toHaveBeenCalled();
  });
});
