// A stranger sends a long `Cookie` header. Trimming a value by a pattern and splitting the header
// once for each cookie made 58 kB cost 2.3 s of processor time (CWE-1333, CWE-407: test/growth),
// and as many `Set-Cookie` as there were made-up logins ended the HTTP/2 connection.
import { once } from "node:events";
import { connect, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { toNodeHandler } from "../../src/backend/index.js";
import { CALLBACK, OWN, rig } from "../backend/rig.js";
import { refusalOf } from "../backend/test-browser.js";

const prefix = "__Host-bivariant-login-";
const nameOf = (at: number) => prefix + String(at).padStart(8, "0");
/** Made-up logins of 56 bytes each, `bytes` in all. */
const logins = (bytes: number) =>
  Array.from({ length: bytes / 56 }, (_, at) => `${nameOf(at)}=${"x".repeat(22)}`).join("; ");

const routes = [
  { route: "GET callback", method: "GET", path: "/auth/callback?code=x&state=y" },
  { route: "GET login", method: "GET", path: "/auth/login" },
  { route: "POST session", method: "POST", path: "/auth/session" },
  { route: "GET me", method: "GET", path: "/auth/me" },
];

/**
 * The backend with sessions in cookies, and a function that sends it a request with a `Cookie`
 * header.
 */
function withCookies() {
  const parts = rig({ session: { cookie: true } });
  const send = (method: string, path: string, cookie: string) => {
    const headers = { cookie, origin: OWN, "content-type": "application/json" };
    const body = method === "POST" ? "{}" : null;
    return parts.backend(new Request(OWN + path, { method, headers, body }));
  };
  return { ...parts, send };
}

test.each(routes)(
  "$route with more than 64 KiB of cookies is answered 431",
  async ({ method, path }) => {
    const { send } = withCookies();
    expect(await refusalOf(send(method, path, logins(224_000)))).toBe("431 cookies_too_large");
    expect((await send(method, path, `a=${"x".repeat(65_534)}`)).status).not.toBe(431);
  },
);

test("a launch with too many cookies is refused before its code is spent", async () => {
  const { browser, launchBody, tokenRequests } = withCookies();
  const body = launchBody();
  const answer = browser.post("/auth/launch", body, { cookie: `a=${"x".repeat(70_000)}` });
  expect([await refusalOf(answer), tokenRequests()]).toEqual(["431 cookies_too_large", 0]);
  expect((await browser.post("/auth/launch", body)).status).toBe(200);
});

test("a callback opens at most five sealed logins, however many cookies hold one", async () => {
  const { browser, backend } = rig();
  await browser.get("/auth/login");
  const [[, sealed] = []] = browser.cookies;
  const cookie = Array.from({ length: 50 }, (_, at) => `${nameOf(at)}=${sealed}`).join("; ");
  const decrypt = vi.spyOn(crypto.subtle, "decrypt");
  onTestFinished(() => decrypt.mockRestore());
  const answer = await backend(new Request(`${CALLBACK}?code=x&state=y`, { headers: { cookie } }));
  expect([answer.status, decrypt.mock.calls.length]).toEqual([400, 5]);
});

test("a login whose cookie is sent twice completes nothing, because one may be planted", async () => {
  const { browser, emulator, tokenRequests } = rig();
  const begun = await browser.get("/auth/login");
  const [[name, value] = []] = browser.cookies;
  const { callbackUrl } = emulator.login({
    url: begun.headers.get("location") ?? "",
    userId: "ada",
  });
  for (const planted of [value, "x", ""])
    for (const cookie of [
      `${name}=${planted}; ${name}=${value}`,
      `${name}=${value}; ${name}=${planted}`,
    ]) {
      expect(await refusalOf(browser.get(callbackUrl, { cookie }))).toBe("400 state_mismatch");
      expect(tokenRequests()).toBe(0);
    }
  expect((await browser.get(callbackUrl)).status).toBe(303);
});

test("a login removes ten old cookies at a time until five are left, and completes", async () => {
  const { browser, login } = rig();
  for (let at = 0; at < 30; at++) browser.cookies.set(nameOf(at), "x".repeat(43));
  const left: number[] = [];
  for (let times = 0; times < 4; times++) {
    const answer = await browser.get("/auth/login");
    expect(answer.headers.getSetCookie().length).toBeLessThanOrEqual(11);
    left.push(browser.cookies.size);
  }
  expect(left).toEqual([21, 12, 5, 5]);
  expect((await login()).headers.get("location")).toBe(`${OWN}/page`);
});

test("over HTTP/2 a login with 1,000 made-up cookies is answered, and the connection stays", async () => {
  const server = createServer(toNodeHandler(rig({ publicUrl: OWN }).backend) as never);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => client.destroy());
  const get = async (headers: Record<string, string>) => {
    const stream = client.request({ ":path": "/auth/login", ...headers }).resume();
    const [answer] = (await once(stream, "response")) as [Record<string, unknown>];
    return [answer[":status"], (answer["set-cookie"] as string[]).length];
  };
  expect(await get({ cookie: logins(56_000) })).toEqual([302, 11]);
  expect(await get({})).toEqual([302, 1]);
});
