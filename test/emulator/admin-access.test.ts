// Who may use the page at /_emulator: nobody from elsewhere, and no page of another site.
import { request as httpRequest } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { type AdminCall, refuseCall } from "../../src/emulator/admin/admin-access.js";
import { createEmulator, type EmulatorOptions } from "../../src/emulator/index.js";
import { AdminBrowser } from "./admin-browser.js";

const PUBLIC = "http://emulator.localhost";
const FORM = "application/x-www-form-urlencoded";

interface Row {
  readonly name: string;
  readonly url?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly remoteAddress?: string;
  readonly access?: "loopback" | "everywhere";
  readonly publicUrl?: string;
  /** Undefined: it may. */
  readonly code?: string;
}

const post = { method: "POST", headers: { origin: PUBLIC, "content-type": FORM } } as const;
const posted = (changed: Record<string, string | undefined>): Pick<Row, "method" | "headers"> => {
  const headers = Object.entries({ ...post.headers, ...changed }).filter(([, value]) => value !== undefined);
  return { method: "POST", headers: Object.fromEntries(headers) as Record<string, string> };
};

const rows: readonly Row[] = [
  { name: "a GET in this process" },
  { name: "a GET from 127.0.0.1", remoteAddress: "127.0.0.1" },
  { name: "a GET from another loopback address", remoteAddress: "127.8.9.10" },
  { name: "a GET from ::1", remoteAddress: "::1", url: "http://[::1]:4000/_emulator" },
  { name: "a GET from an IPv4 address mapped to IPv6", remoteAddress: "::ffff:127.0.0.1" },
  { name: "a GET from the network", remoteAddress: "192.0.2.7", code: "address_not_allowed" },
  {
    name: "a GET from a mapped address of the network",
    remoteAddress: "::ffff:192.0.2.7",
    code: "address_not_allowed",
  },
  { name: "a GET of a connection that is gone", remoteAddress: "", code: "address_not_allowed" },
  {
    name: "an address that begins like loopback",
    remoteAddress: "127.0.0.1.evil.example",
    code: "address_not_allowed",
  },
  {
    name: "a GET from the network that says it was forwarded for loopback",
    remoteAddress: "192.0.2.7",
    headers: { "x-forwarded-for": "127.0.0.1", forwarded: "for=127.0.0.1", "x-real-ip": "127.0.0.1" },
    code: "address_not_allowed",
  },
  { name: "a GET to localhost", url: "http://localhost:4000/_emulator" },
  { name: "a GET to a name under localhost", url: "http://a.b.localhost/_emulator" },
  { name: "a GET to 127.0.0.1", url: "http://127.0.0.1:4000/_emulator" },
  {
    name: "a GET to a name of somebody else's",
    url: "http://evil.example/_emulator",
    code: "host_not_allowed",
  },
  {
    name: "a GET to a name that ends like localhost",
    url: "http://evillocalhost/_emulator",
    code: "host_not_allowed",
  },
  {
    name: "a GET to a name that begins like loopback",
    url: "http://127.0.0.1.evil.example/_emulator",
    code: "host_not_allowed",
  },
  { name: "a GET to an address of the network", url: "http://192.0.2.1/_emulator", code: "host_not_allowed" },
  {
    name: "a GET to the unspecified address",
    url: "http://0.0.0.0:4000/_emulator",
    code: "host_not_allowed",
  },
  {
    name: "a GET to the host of publicUrl",
    url: "https://service.example/_emulator",
    publicUrl: "https://service.example",
  },
  { name: "a Host header of somebody else's", headers: { host: "evil.example" }, code: "host_not_allowed" },
  {
    name: "a Host header that is none",
    headers: { host: "evil.example@localhost" },
    code: "host_not_allowed",
  },
  {
    name: "a Host header with a port that is none",
    headers: { host: "localhost:99999" },
    code: "host_not_allowed",
  },
  {
    name: "an absolute request target of somebody else's",
    url: "http://evil.example/_emulator",
    headers: { host: "localhost" },
    code: "host_not_allowed",
  },
  {
    name: "a forwarded host that is allowed",
    url: "http://evil.example/_emulator",
    headers: { "x-forwarded-host": "localhost" },
    code: "address_not_allowed",
  },
  ...["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"].map(
    (header) => ({
      name: `a call that a proxy on this machine passed on, which ${header} tells`,
      remoteAddress: "127.0.0.1",
      headers: { [header]: "x" },
      code: "address_not_allowed",
    }),
  ),
  {
    name: "a call that came over the network to a public name",
    url: "https://service.example/_emulator",
    publicUrl: "https://service.example",
    remoteAddress: "127.0.0.1",
    code: "host_not_allowed",
  },
  {
    name: "everywhere: a call that a proxy passed on to the host of publicUrl",
    access: "everywhere",
    url: "https://service.example/_emulator",
    publicUrl: "https://service.example",
    remoteAddress: "127.0.0.1",
    headers: { via: "1.1 proxy", "x-forwarded-for": "192.0.2.7" },
  },
  {
    name: "everywhere: a GET from the network to its address",
    access: "everywhere",
    remoteAddress: "192.0.2.7",
    url: "http://192.0.2.1:4000/_emulator",
  },
  {
    name: "everywhere: a GET to an IPv6 address",
    access: "everywhere",
    remoteAddress: "2001:db8::7",
    url: "http://[2001:db8::1]:4000/_emulator",
  },
  {
    name: "everywhere: a GET to a name, for it may be a rebound one",
    access: "everywhere",
    remoteAddress: "192.0.2.7",
    url: "http://evil.example/_emulator",
    code: "host_not_allowed",
  },
  { name: "a POST of the page", ...post },
  { name: "a POST without Origin", ...posted({ origin: undefined }), code: "origin_not_allowed" },
  { name: "a POST of the null origin", ...posted({ origin: "null" }), code: "origin_not_allowed" },
  {
    name: "a POST of another site",
    ...posted({ origin: "http://evil.example" }),
    code: "origin_not_allowed",
  },
  { name: "a POST of another port", ...posted({ origin: `${PUBLIC}:8080` }), code: "origin_not_allowed" },
  {
    name: "a POST of another scheme",
    ...posted({ origin: PUBLIC.replace("http", "https") }),
    code: "origin_not_allowed",
  },
  {
    name: "a POST of a page of localhost to 127.0.0.1",
    url: "http://127.0.0.1:4000/_emulator/reset",
    ...posted({ origin: "http://localhost:4000" }),
    code: "origin_not_allowed",
  },
  {
    name: "a POST of the page at localhost",
    url: "http://localhost:4000/_emulator/reset",
    ...posted({ origin: "http://localhost:4000" }),
  },
  {
    name: "a POST of the page behind TLS",
    url: "http://service.example/_emulator/reset",
    publicUrl: "https://service.example",
    ...posted({ origin: "https://service.example" }),
  },
  {
    name: "a POST that the browser says is another site's",
    ...posted({ "sec-fetch-site": "cross-site" }),
    code: "site_not_allowed",
  },
  {
    name: "a POST that the browser says is a sibling's",
    ...posted({ "sec-fetch-site": "same-site" }),
    code: "site_not_allowed",
  },
  { name: "a POST that the browser says is the page's", ...posted({ "sec-fetch-site": "same-origin" }) },
  { name: "a POST that the browser says is the person's", ...posted({ "sec-fetch-site": "none" }) },
  {
    name: "a POST of JSON",
    ...posted({ "content-type": "application/json" }),
    code: "media_type_not_allowed",
  },
  {
    name: "a POST of plain text",
    ...posted({ "content-type": "text/plain" }),
    code: "media_type_not_allowed",
  },
  { name: "a POST of no type", ...posted({ "content-type": undefined }), code: "media_type_not_allowed" },
  {
    name: "a POST of a multipart form where none is uploaded",
    ...posted({ "content-type": "multipart/form-data; boundary=x" }),
    code: "media_type_not_allowed",
  },
];

test.each(rows)("$name: $code", (row) => {
  const { url = `${PUBLIC}/_emulator`, method = "GET", headers = {}, access = "loopback", code } = row;
  const request = new Request(url, { method, headers });
  const { remoteAddress, publicUrl = PUBLIC } = row;
  const call: AdminCall = { access, request, remoteAddress, publicUrl, mediaType: FORM };
  expect(refuseCall(call)?.code).toBe(code);
});

describe("a refusal", () => {
  const pages = [
    "",
    "/log",
    "/plugins",
    "/live/log",
    "/live/activity",
    "/admin.js",
    "/admin.css",
    "/snapshot.json",
    "/nowhere",
  ];
  test.each(pages)("of a GET at /_emulator%s is a 403 with a code, no redirect and no page", async (page) => {
    const emulator = createEmulator();
    const response = await emulator.fetch(`http://evil.example/_emulator${page}`, { redirect: "manual" });
    expect(response.status).toBe(403);
    expect(response.headers.get("location")).toBeNull();
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(await response.text()).toMatch(/^host_not_allowed: .{20,100}\n$/);
  });

  test("leaves everything as it is, and no trace in the journal or the log", async () => {
    const emulator = createEmulator();
    emulator.clock.freeze(0);
    const body = new URLSearchParams({ do: "resume" });
    const init = { method: "POST", body, headers: { origin: "http://evil.example" } };
    expect((await emulator.fetch("/_emulator/clock", init)).status).toBe(403);
    expect(emulator.clock.frozen).toBe(true);
    expect([emulator.journal.entries(), emulator.customerLog.entries()]).toEqual([[], []]);
  });

  const tokens = ["", "x", undefined];
  test.each(tokens)("is what a form with the token %j gets", async (formToken) => {
    const browser = await new AdminBrowser(createEmulator()).open("/_emulator/state");
    await browser.submit("reset", { form_token: formToken });
    expect([browser.response.status, browser.html.split(":")[0]]).toEqual([403, "form_token_invalid"]);
  });

  test("is what a form of another emulator's page gets", async () => {
    const other = await new AdminBrowser(createEmulator()).open("/_emulator/state");
    const [, token] = other.fields("reset").find(([name]) => name === "form_token") ?? [];
    const browser = await new AdminBrowser(createEmulator()).open("/_emulator/state");
    await browser.submit("reset", { form_token: token });
    expect(browser.response.status).toBe(403);
  });
});

describe("what nothing is served for", () => {
  const methods = [
    { name: "a GET of what only takes forms", method: "GET", path: "/clock", status: 405, allow: "POST" },
    { name: "a PUT of a page", method: "PUT", path: "/log", status: 405, allow: "GET, HEAD" },
    {
      name: "a DELETE of what is a page and takes forms",
      method: "DELETE",
      path: "/plugins",
      status: 405,
      allow: "GET, HEAD, POST",
    },
    { name: "a path that is none", method: "GET", path: "/nowhere", status: 404, allow: null },
    {
      name: "a name that every object has",
      method: "GET",
      path: "/live/constructor",
      status: 404,
      allow: null,
    },
  ];
  test.each(methods)("$name is answered $status", async ({ method, path, status, allow }) => {
    const response = await createEmulator().fetch(`/_emulator${path}`, { method });
    expect([response.status, response.headers.get("allow")]).toEqual([status, allow]);
  });

  test("a form that is too large is refused as one", async () => {
    const browser = await new AdminBrowser(createEmulator()).open("/_emulator");
    await browser.submit("set", { instant: "x".repeat(100_000) });
    expect([browser.response.status, browser.html.split(":")[0]]).toEqual([400, "form_unreadable"]);
  });

  const nobody: { name: string; options: EmulatorOptions }[] = [
    { name: "admin: false", options: { admin: false } },
    { name: "no variant at all", options: { variants: [] } },
  ];
  test.each(nobody)(
    "with $name there is no such page, and asking for it is a request like others",
    async ({ options }) => {
      const emulator = createEmulator(options);
      const response = await emulator.fetch("/_emulator");
      expect([response.status, await response.json()]).toEqual([404, { error: "not_found" }]);
      expect(emulator.journal.count()).toBe(1);
    },
  );

  test("a reset may take the page away and bring it back", async () => {
    const emulator = createEmulator();
    const status = async () => (await emulator.fetch("/_emulator")).status;
    emulator.reset({ admin: false });
    expect(await status()).toBe(404);
    emulator.reset({ admin: "loopback" });
    expect(await status()).toBe(200);
  });

  test("an option that is none is refused", () => {
    const admin = "localhost" as "loopback";
    expect(() => createEmulator({ admin })).toThrow(/admin/);
  });
});

test("under a base URL with a path the page is there, and only there", async () => {
  const emulator = createEmulator({ publicUrl: "http://emulator.localhost/base" });
  expect((await emulator.fetch("/_emulator")).status).toBe(404);
  const browser = await new AdminBrowser(emulator).open("/base/_emulator");
  expect(browser.html).toContain('href="/base/_emulator/admin.css"');
  await browser.submit("run", { do: "freeze" });
  expect(browser.response.status).toBe(200);
  expect(emulator.clock.frozen).toBe(true);
});

describe("over HTTP", () => {
  async function listening(options: EmulatorOptions, host: string): Promise<number> {
    const { url, close } = await createEmulator(options).listen({ host });
    onTestFinished(close);
    return Number(new URL(url).port);
  }

  /** `name` is resolved to `address`, as a name server of somebody else's would have it. */
  function ask(port: number, name: string, address: string, headers = {}): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const lookup = (_: string, __: unknown, found: (error: null, list: object[]) => void) =>
        found(null, [{ address, family: address.includes(":") ? 6 : 4 }]);
      const options = {
        host: name,
        port,
        path: "/_emulator",
        headers,
        agent: false,
        lookup: lookup as never,
      };
      const asked = httpRequest(options, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      asked.on("error", reject).end();
    });
  }

  const asked = [
    { name: "localhost", status: 200 },
    { name: "a.localhost", status: 200 },
    { name: "rebound.example", status: 403 },
  ];
  test.each(asked)("a name that resolves to 127.0.0.1, $name: $status", async ({ name, status }) => {
    expect(await ask(await listening({}, "127.0.0.1"), name, "127.0.0.1")).toBe(status);
  });

  test("everywhere, on every interface: by an address, not by a name", async () => {
    const port = await listening({ admin: "everywhere" }, "0.0.0.0");
    expect(await ask(port, "127.0.0.1", "127.0.0.1", { host: `192.0.2.1:${port}` })).toBe(200);
    expect(await ask(port, "rebound.example", "127.0.0.1")).toBe(403);
  });

  test("an emulator that listens on IPv6 too knows loopback when it is mapped", async () => {
    const port = await listening({}, "::");
    expect(await ask(port, "localhost", "127.0.0.1")).toBe(200);
    expect(await ask(port, "localhost", "::1")).toBe(200);
  });
});
