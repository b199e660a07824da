// A pending login is in a sealed cookie (RFC 9700 section 4.7.1: used once, and bound to the user
// agent). These attacks copy it, change it, or use it late or twice.
import { expect, test } from "vitest";
import { StoreError, type TokenStore } from "../../src/index.js";
import { CALLBACK, interrupted, OWN, rig } from "../backend/rig.js";
import { TestBrowser } from "../backend/test-browser.js";

/** A browser with one pending login, and every key that was written to the store since. */
async function pending() {
  const written: string[] = [];
  const wrapStore = interrupted((operation, key) => {
    if (operation !== "get") written.push(key);
  });
  const parts = rig({ wrapStore });
  const { headers } = await parts.browser.get("/auth/login?return_to=/page");
  written.length = 0;
  const url = headers.get("location") ?? "";
  const [[name = "", value = ""] = []] = parts.browser.cookies;
  /** Returns the callback with another code each time. */
  const newCallback = () => new URL(parts.emulator.login({ url, userId: "ada" }).callbackUrl);
  return { ...parts, written, callbackUrl: newCallback(), name, value, newCallback };
}

const otherTag = (value: string) =>
  value.replace(/[^.]+$/, (tag) => (tag.startsWith("A") ? "B" : "A") + tag.slice(1));

test.each<{ name: string; plant: (name: string, value: string) => [string, string] }>([
  {
    name: "under the name of another login",
    plant: (name, value) => [`${name.slice(0, -8)}AAAAAAAA`, value],
  },
  { name: "with a changed tag", plant: (name, value) => [name, otherTag(value)] },
  {
    name: "with another header",
    plant: (name, value) => [name, value.replace(/^[^.]+/, btoa('{"alg":"none"}'))],
  },
  { name: "that is made up", plant: (name) => [name, "a.b.c.d.e"] },
])("a sealed login $name completes nothing, and writes nothing", async ({ plant }) => {
  const { browser, backend, callbackUrl, name, value, written, tokenRequests } = await pending();
  const thief = new TestBrowser(backend, OWN);
  thief.cookies.set(...plant(name, value));
  expect((await thief.get(callbackUrl.href)).status).toBe(400);
  expect([written, tokenRequests()]).toEqual([[], 0]);
  expect((await browser.get(callbackUrl.href)).headers.get("location")).toBe(`${OWN}/page`);
});

test("the sealed cookie reveals neither state nor verifier nor address", async () => {
  const { value, callbackUrl } = await pending();
  const parts = value.split(".").map((part) => Buffer.from(part, "base64url").toString("latin1"));
  for (const secret of [callbackUrl.searchParams.get("state"), "codeVerifier", "planner.example"])
    expect([value, ...parts].join("\n")).not.toContain(secret);
});

test("a sealed login is over after 20 minutes, and the same login before that works in another process", async () => {
  const parts = await pending();
  const other = new TestBrowser(parts.another(), OWN);
  other.cookies.set(parts.name, parts.value);
  parts.clock.advance(100_000);
  expect((await other.get(parts.callbackUrl.href)).headers.get("location")).toBe(`${OWN}/page`);
  parts.clock.advance(1_100_000);
  expect((await parts.browser.get(parts.callbackUrl.href)).status).toBe(400);
});

test("a copy of a sealed login completes nothing more: not with its code, and not with a second code", async () => {
  const { browser, backend, callbackUrl, name, value, newCallback } = await pending();
  const second = newCallback();
  expect((await browser.get(callbackUrl.href)).headers.get("location")).toBe(`${OWN}/page`);
  for (const { href } of [callbackUrl, second]) {
    const thief = new TestBrowser(backend, OWN);
    thief.cookies.set(name, value);
    expect((await thief.get(href)).headers.get("location")).toMatch(
      /#login_error=(?:login_refused|state_mismatch)$/,
    );
    expect((await thief.post("/auth/session")).status).toBe(204);
  }
  expect((await browser.post("/auth/session")).status).toBe(200);
});

test("of two callbacks at once with one sealed login and two codes, one completes", async () => {
  const { browser, callbackUrl, newCallback } = await pending();
  const answers = await Promise.all(
    [callbackUrl, newCallback()].map(({ href }) => browser.get(href)),
  );
  expect(answers.filter(({ headers }) => headers.get("location") === `${OWN}/page`)).toHaveLength(
    1,
  );
  expect((await browser.post("/auth/session")).status).toBe(200);
});

test("after the key was deleted from the store, a pending login must start again, and the next one works", async () => {
  const { browser, store, clock, callbackUrl, loggedIn } = await pending();
  await store.delete("bivariant:backend:login-key");
  clock.advance(60_000);
  expect((await browser.get(callbackUrl.href)).status).toBe(400);
  expect((await loggedIn()).variant).toBe("B");
});

test("processes that start at once make one key, so that each completes the logins of the others", async () => {
  const parts = rig();
  const browsers = Array.from({ length: 4 }, () => new TestBrowser(parts.another(), OWN));
  const begun = await Promise.all(browsers.map((one) => one.get("/auth/login")));
  const finisher = new TestBrowser(parts.another(), OWN);
  for (const [at, { headers }] of begun.entries()) {
    for (const cookie of browsers[at]?.cookies ?? []) finisher.cookies.set(...cookie);
    const { callbackUrl } = parts.emulator.login({
      url: headers.get("location") ?? "",
      userId: "ada",
    });
    expect((await finisher.get(callbackUrl)).headers.get("location")).toBe(`${OWN}/`);
  }
});

test("login cookies stay below what servers accept as a request header, and the newest login works", async () => {
  const { browser, login } = rig();
  const longest = encodeURIComponent(`/?q=${"x".repeat(2_000)}`);
  for (let tab = 0; tab < 8; tab++) {
    await browser.get(`/auth/login?return_to=${longest}`);
    const header = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    expect(header.length).toBeLessThan(7_000);
  }
  expect((await login()).headers.get("location")).toBe(`${OWN}/page`);
});

test("an anonymous callback writes nothing", async () => {
  const { written, backend } = await pending();
  for (let at = 0; at < 20; at++) {
    const stranger = new TestBrowser(backend, OWN);
    expect(
      (await stranger.get(`${CALLBACK}?code=made-up-${at}&state=${"s".repeat(43)}`)).status,
    ).toBe(400);
  }
  expect(written).toEqual([]);
});

test.each([
  { name: "was written under another key of the store", corrupt: true },
  { name: "holds something else", corrupt: false },
])("an entry of the key that $name is replaced, and logins work", async ({ corrupt }) => {
  const keyName = "bivariant:backend:login-key";
  const wrapStore = (inner: TokenStore): TokenStore => ({
    ...inner,
    get: async (key) => {
      const found = await inner.get(key);
      if (corrupt && found?.value === "of another key")
        throw new StoreError("store_corrupt", "The entry is of another key.");
      return found;
    },
  });
  const parts = rig({ wrapStore });
  await parts.store.set(keyName, "of another key");
  expect(await parts.loggedIn()).toMatchObject({ variant: "B" });
});
