// The option identify: who logged in by Variant B, whose answers with a token do not say it.
import { describe, expect, test, vi } from "vitest";
import type { BackendOptions } from "../../src/backend/index.js";
import { unwrap } from "../../src/index.js";
import { latch } from "../people/person.js";
import { steppedClock } from "../support/clock.js";
import { shown } from "../support/shown.js";
import { settle } from "../support/wait.js";
import { bearer, OWN, type Rig, type RigOptions, rig, SERVICE } from "./rig.js";
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
  const wrapStore: RigOptions["wrapStore"] = (inner) => ({
    ...inner,
    set: (key, value, options) => {
      // An empty grant that has expired deletes one version of the entry.
      if (value === "") held.delete(key);
      else held.add(key);
      return inner.set(key, value, options);
    },
    delete: (key) => {
      held.delete(key);
      return inner.delete(key);
    },
  });
  return {
    wrapStore,
    held: () => [...held].filter((key) => /\["grant"|:session:|:login:/.test(key)),
  };
}

describe("identify", () => {
  test("is called once after a login, and every answer about the session then names the person", async () => {
    const identify = vi.fn<Identify>(async () => grace);
    const parts = rig({ identify });
    const { session, ...shownToPage } = await parts.loggedIn();
    expect(shownToPage).toMatchObject({ variant: "B", operator: grace });
    const request = () => parts.browser.request("GET", "/x", { headers: bearer(session) });
    for (const backend of [parts.backend, parts.another()]) {
      expect(await (await backend(request())).status).toBe(404);
      expect(await backend.session(request())).toMatchObject({ operator: grace });
    }
    const me = await parts.browser.get("/auth/me", bearer(session));
    expect(await me.json()).toMatchObject({ operator: grace });
    // A refresh of the token does not ask again.
    parts.clock.advance(59 * 60_000);
    await parts.backend.session(request());
    parts.clock.advance(2 * 60_000);
    expect((await (await parts.backend.connect(request())).call("listDevices")).ok).toBe(true);
    expect(identify).toHaveBeenCalledTimes(1);
  });

  test("calls the service as the person who logged in, and its bearer goes to no other deployment", async () => {
    const sent: { origin: string; bearer: string | null }[] = [];
    const parts: Rig = rig({
      fetch: (url, init) => {
        sent.push({
          origin: new URL(url).origin,
          bearer: new Headers(init?.headers).get("authorization"),
        });
        return url.startsWith(SERVICE)
          ? parts.emulator.fetch(url, init)
          : Promise.resolve(Response.json({}));
      },
      identify: async (service) => {
        expect([service.variant, service.baseUrl, service.tenantId]).toEqual([
          "B",
          SERVICE,
          "acme",
        ]);
        const [device] = unwrap(await service.call("listDevices")) as { name: string }[];
        const elsewhere = await service
          .fetch("https://other.example/v1/me")
          .catch((error) => error);
        expect(elsewhere).toMatchObject({ code: "option_invalid" });
        return { userId: `owner of ${device?.name}` };
      },
    });
    expect((await parts.loggedIn()).operator?.userId).toMatch(/^owner of ./);
    const calls = sent.filter(({ bearer }) => bearer !== null);
    expect(calls).toEqual([{ origin: SERVICE, bearer: expect.stringMatching(/^Bearer ./) }]);
  });

  test("is not called for a launch, whose token names the operator", async () => {
    const identify = vi.fn<Identify>(async () => grace);
    expect((await rig({ identify }).launch()).operator?.userId).toBe("ada");
    expect(identify).not.toHaveBeenCalled();
  });

  test("may return null for a name that the person does not have", async () => {
    const parts = rig({
      identify: async () => ({ userId: "7", firstname: null, lastname: "Doe" }),
    });
    expect((await parts.loggedIn()).operator).toEqual({ userId: "7", lastname: "Doe" });
  });

  const never = () => new Promise<never>(() => {});
  const returning = (value: unknown) => (async () => value) as unknown as Identify;
  const row = (name: string, identify: Identify, says: RegExp) => ({ name, identify, says });
  const failures: { name: string; identify: Identify; says: RegExp }[] = [
    row("rejects", () => Promise.reject(new Error("no such route")), /no such route/),
    row(
      "throws",
      () => {
        throw new TypeError("not iterable");
      },
      /not iterable/,
    ),
    row("never answers", never, /identify did not answer within 10000 ms/),
    row("returns undefined", returning(undefined), /identify must return/),
    row("returns null", returning(null), /identify must return/),
    row("returns no userId", returning({ firstname: "Ada" }), /userId/),
    row("returns an empty userId", returning({ userId: "" }), /userId/),
    row("returns a number as userId", returning({ userId: 7 }), /String\(id\)/),
    row("returns a huge userId", returning({ userId: "7".repeat(257) }), /userId/),
    row("returns a name that is an object", returning({ ...grace, lastname: {} }), /lastname/),
    row("returns an unknown member", returning({ ...grace, email: "g@x" }), /"email"/),
    row(
      "rejects with the error of a call",
      async (service) => unwrap(await service.call("noSuchOperation" as "listDevices")) as never,
      /noSuchOperation/,
    ),
  ];
  test.each(failures)(
    "that $name refuses the login, and leaves nothing behind",
    async ({ identify, says }) => {
      const { wrapStore, held } = watched();
      const clock = steppedClock();
      const parts = rig({ wrapStore, identify, clock });
      const login = refusedLogin(parts);
      expect(await clock.through(login)).toBe("identify_failed");
      const [told] = parts.told;
      expect([parts.told.length, told]).toMatchObject([
        1,
        {
          ...{ status: 502, code: "identify_failed", route: "callback" },
          error: { variant: "B", baseUrl: SERVICE, tenantId: "acme" },
        },
      ]);
      expect(shown(told?.error)).toMatch(says);
      expect(held()).toEqual([]);
      expect((await parts.browser.post("/auth/session")).status).toBe(204);
    },
  );

  test("that answers too late changes nothing, and its service makes no further call", async () => {
    const { wrapStore, held } = watched();
    const clock = steppedClock();
    const gate = latch();
    const call = vi.fn<(outcome: unknown) => void>();
    const identify: Identify = async (service) => {
      await gate.promise;
      call(await service.call("listDevices").catch((error: unknown) => error));
      return grace;
    };
    const parts = rig({ wrapStore, identify, clock });
    expect(await clock.through(refusedLogin(parts))).toBe("identify_failed");
    gate.release();
    await settle();
    expect(call).toHaveBeenCalledWith(expect.objectContaining({ code: "login_expired" }));
    expect([held(), parts.told.length]).toEqual([[], 1]);
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
    const [first] = comeBacks;
    const before = parts.tokenRequests();
    const again = await first?.browser.get(first.url);
    expect(again?.headers.get("location")).toContain("#login_error=login_refused");
    expect(parts.tokenRequests()).toBe(before);
    expect((await parts.launch()).operator?.userId).toBe("ada");
    gate.release();
    for (const { back } of comeBacks) expect((await back).headers.get("location")).toBe(`${OWN}/`);
    const session = await first?.browser.post("/auth/session");
    expect(await session?.json()).toMatchObject({ operator: grace });
  });
});

describe("with identify", () => {
  const everywhere = (parts: Rig, session: string | undefined) =>
    parts.browser.post("/auth/logout", { everywhere: true }, bearer(session));
  const isOpen = async ({ browser, backend }: Rig, session: string | undefined) =>
    (await backend(browser.request("GET", "/auth/me", { headers: bearer(session) }))).ok;

  test("logout everywhere ends the logins of this person on all replicas, and no other session", async () => {
    let person = grace;
    const identify: Identify = async () => person;
    const parts = rig({ identify });
    const other = rig({
      identify,
      store: parts.store,
      fetch: (url, init) => parts.emulator.fetch(url, init),
    });
    const [first, second] = [await parts.loggedIn(), await parts.loggedIn()];
    person = { ...grace, userId: "ada" };
    const [ada, launched] = [await parts.loggedIn(), await parts.launch()];
    expect(await isOpen(other, second.session)).toBe(true);
    expect((await everywhere(parts, first.session)).status).toBe(204);
    const open = [first, second, ada, launched].map(({ session }) => isOpen(other, session));
    expect(await Promise.all(open)).toEqual([false, false, true, true]);
    // The operator of a launch is another person, even with the same id: identify chose that of the
    // login.
    expect((await everywhere(parts, launched.session)).status).toBe(204);
    expect(await isOpen(other, ada.session)).toBe(true);
  });

  test("logout everywhere ends a login that was completed before, and whose page comes after", async () => {
    const parts = rig({ identify: async () => grace });
    const late = new TestBrowser(parts.backend, OWN);
    const fetched = async () => (await (await late.post("/auth/session")).json()).session;
    const first = await parts.loggedIn();
    await parts.login(late);
    expect((await everywhere(parts, first.session)).status).toBe(204);
    expect(await isOpen(parts, await fetched())).toBe(false);
    await parts.login(late);
    expect(await isOpen(parts, await fetched())).toBe(true);
  });

  test("a person who logs in has another stateKey than the operator of a launch with that id", async () => {
    const parts = rig({ identify: async () => ({ userId: "ada" }) });
    const keys: string[] = [];
    for (const { session } of [
      await parts.loggedIn(),
      await parts.loggedIn(),
      await parts.launch(),
    ]) {
      const request = parts.browser.request("GET", "/x", { headers: bearer(session) });
      keys.push((await parts.backend.session(request)).stateKey);
    }
    expect(keys[0]).toBe(keys[1]);
    expect(keys[0]).not.toBe(keys[2]);
  });

  test("sessions and completed logins from before it go on without a person", async () => {
    const identify = vi.fn<Identify>(async () => grace);
    const parts = rig();
    const { session } = await parts.loggedIn();
    await parts.login();
    const newer = rig({
      identify,
      store: parts.store,
      fetch: (url, init) => parts.emulator.fetch(url, init),
    });
    for (const [name, value] of parts.browser.cookies) newer.browser.cookies.set(name, value);
    const fetched = (await (await newer.browser.post("/auth/session")).json()) as {
      session: string;
    };
    for (const one of [session, fetched.session]) {
      const me = await newer.browser.get("/auth/me", bearer(one));
      expect([me.status, await me.json()]).toEqual([
        200,
        expect.not.objectContaining({ operator: grace }),
      ]);
      expect(await refusalOf(everywhere(newer, one))).toBe("409 person_unknown");
    }
    expect(identify).not.toHaveBeenCalled();
  });
});
