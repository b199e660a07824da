// No caller from elsewhere and no page of another site may use the page at /_emulator.
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { refuseCall } from "../../src/emulator/admin/admin-access.js";
import { createEmulator } from "../../src/emulator/index.js";
import { AdminBrowser } from "./form-browser.js";

const PUBLIC = "http://emulator.localhost";
const SERVICE = "https://service.example";
const FORM = "application/x-www-form-urlencoded";

interface Row {
  readonly name: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: in this process. */
  readonly from?: string;
  readonly access?: "loopback" | "everywhere";
  readonly publicUrl?: string;
}

function refusalOf(row: Row, method: string): string {
  const { url = `${PUBLIC}/_emulator`, headers = {}, from } = row;
  const { access = "loopback", publicUrl = PUBLIC } = row;
  const request = new Request(url, { method, headers });
  const refusal = refuseCall({ access, request, remoteAddress: from, publicUrl });
  return refusal?.split(":")[0] ?? "allowed";
}

/** A deployment with a name of its own. */
const service = { url: `${SERVICE}/_emulator`, publicUrl: SERVICE };
const everywhere = { access: "everywhere", from: "192.0.2.7" } as const;
const local = { from: "127.0.0.1" };
const claims = { "x-forwarded-for": "127.0.0.1", forwarded: "for=127.0.0.1" };
const proxied = [
  ...["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"],
];

const gets: Readonly<Record<string, readonly Row[]>> = {
  allowed: [
    { name: "in this process" },
    { name: "from 127.0.0.1", ...local, url: "http://127.0.0.1:4000/_emulator" },
    { name: "from ::1", from: "::1", url: "http://[::1]:4000/_emulator" },
    { name: "to the host of publicUrl", ...service },
    { name: "everywhere: through a proxy", ...everywhere, ...service, headers: { via: "1.1 x" } },
    { name: "everywhere: to an address", ...everywhere, url: "http://192.0.2.1:4000/_emulator" },
  ],
  address_not_allowed: [
    { name: "from the network", from: "192.0.2.7" },
    { name: "from a name that starts like loopback", from: "127.0.0.1.evil.example" },
    { name: "with headers that claim loopback", from: "192.0.2.7", headers: claims },
    ...proxied.map((header) => ({ name: `with ${header}`, ...local, headers: { [header]: "x" } })),
  ],
  host_not_allowed: [
    { name: "to a foreign name", url: "http://evil.example/_emulator" },
    { name: "to an address of the network", url: "http://192.0.2.1/_emulator" },
    { name: "with a foreign Host header", headers: { host: "evil.example" } },
    { name: "with a malformed Host header", headers: { host: "evil.example@localhost" } },
    { name: "over the network to a public name", ...service, ...local },
    { name: "everywhere: to a name", ...everywhere, url: "http://evil.example/_emulator" },
  ],
};

const fromPage = (name: string, headers: Record<string, string> = {}): Row => ({
  name,
  headers: { origin: PUBLIC, "content-type": FORM, ...headers },
});
const origins = ["null", "http://evil.example", `${PUBLIC}:8080`, PUBLIC.replace("http", "https")];
const types = ["application/json", "text/plain", "multipart/form-data; boundary=x"];
const posts: Readonly<Record<string, readonly Row[]>> = {
  allowed: [
    fromPage("from the page"),
    fromPage("with Sec-Fetch-Site none", { "sec-fetch-site": "none" }),
    {
      ...fromPage("from the page behind TLS", { origin: SERVICE }),
      url: "http://service.example/_emulator",
      publicUrl: SERVICE,
    },
  ],
  origin_not_allowed: [
    { name: "without Origin", headers: { "content-type": FORM } },
    ...origins.map((origin) => fromPage(`with the Origin ${origin}`, { origin })),
    {
      ...fromPage("from a page at localhost to 127.0.0.1", { origin: "http://localhost:4000" }),
      url: "http://127.0.0.1:4000/_emulator",
    },
  ],
  site_not_allowed: ["cross-site", "same-site"].map((site) =>
    fromPage(`with Sec-Fetch-Site ${site}`, { "sec-fetch-site": site }),
  ),
  media_type_not_allowed: [
    ...types.map((type) => fromPage(`with the media type ${type}`, { "content-type": type })),
    { name: "without a media type", headers: { origin: PUBLIC } },
  ],
};

for (const [method, outcomes] of Object.entries({ GET: gets, POST: posts }))
  for (const [outcome, rows] of Object.entries(outcomes))
    test.each(rows)(`a ${method} is ${outcome}: $name`, (row) => {
      expect(refusalOf(row, method)).toBe(outcome);
    });

describe("a refusal", () => {
  test("is a 403 with a code, no redirect and no page, at every path", async () => {
    for (const path of ["", "/live/log", "/admin.js", "/nowhere"]) {
      const { fetch } = createEmulator();
      const response = await fetch(`http://evil.example/_emulator${path}`, { redirect: "manual" });
      expect([response.status, response.headers.get("location")]).toEqual([403, null]);
      expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
      expect(await response.text()).toMatch(/^host_not_allowed: .{20,100}\n$/);
    }
  });

  test("changes nothing, and leaves no trace in the journal or the log", async () => {
    const emulator = createEmulator();
    emulator.clock.freeze(0);
    const body = new URLSearchParams({ do: "resume" });
    const init = { method: "POST", body, headers: { origin: "http://evil.example" } };
    expect((await emulator.fetch("/_emulator/clock", init)).status).toBe(403);
    expect(emulator.clock.frozen).toBe(true);
    expect([emulator.journal.entries(), emulator.customerLog.entries()]).toEqual([[], []]);
  });

  test("answers a form without the token, with another token, or with the token of another emulator", async () => {
    const other = await new AdminBrowser(createEmulator()).open("/_emulator");
    for (const formToken of ["x", undefined, other.value("reset", "form_token")]) {
      const browser = await new AdminBrowser(createEmulator()).open("/_emulator");
      await browser.send("reset", { form_token: formToken });
      expect(browser.response.status).toBe(403);
      expect(browser.html).toMatch(/^form_token_invalid:/);
    }
  });

  test("answers a foreign name that resolves to this machine, over HTTP", async () => {
    const { url, close } = await createEmulator().listen();
    onTestFinished(close);
    const statuses = ["localhost", "a.localhost", "rebound.example"].map(async (host) => {
      const asked = httpRequest(`${url}/_emulator`, { headers: { host }, agent: false }).end();
      const [response] = await once(asked, "response");
      response.resume();
      return response.statusCode;
    });
    expect(await Promise.all(statuses)).toEqual([200, 200, 403]);
  });
});

describe("the page's server", () => {
  const methods: [method: string, path: string, status: number, allow: string | null][] = [
    ["GET", "/clock", 405, "POST"],
    ["DELETE", "/faults", 405, "GET, HEAD, POST"],
    ["GET", "/constructor", 404, null],
  ];
  test.each(methods)("answers %s %s with %d", async (method, path, status, allow) => {
    const response = await createEmulator().fetch(`/_emulator${path}`, { method });
    expect([response.status, response.headers.get("allow")]).toEqual([status, allow]);
  });

  test("refuses a form that is too large", async () => {
    const browser = await new AdminBrowser(createEmulator()).open("/_emulator");
    await browser.send("steer", { clock: "x".repeat(100_000) });
    expect([browser.response.status, browser.html.split(":")[0]]).toEqual([400, "form_unreadable"]);
  });

  test("serves under the path of the base URL, and only there", async () => {
    const emulator = createEmulator({ publicUrl: `${PUBLIC}/base` });
    expect((await emulator.fetch("/_emulator")).status).toBe(404);
    const browser = await new AdminBrowser(emulator).open("/base/_emulator");
    expect(browser.html).toContain('href="/base/_emulator/style.css"');
    await browser.send("steer", { do: "freeze" });
    expect(emulator.clock.frozen).toBe(true);
  });
});

describe("the option admin", () => {
  test.each([
    { options: { admin: false }, stylesheet: 200 },
    { options: { variants: [] }, stylesheet: 404 },
  ] as const)(
    "with $options a request to the page is answered and journaled like others",
    async ({ options, stylesheet }) => {
      const emulator = createEmulator(options);
      // The pages of the host application and of the login have it too.
      expect((await emulator.fetch("/_emulator/style.css")).status).toBe(stylesheet);
      emulator.journal.clear();
      const response = await emulator.fetch("/_emulator");
      expect([response.status, await response.json()]).toEqual([404, { error: "not_found" }]);
      expect(emulator.journal.count()).toBe(1);
    },
  );

  test("everywhere lets proxies in, and can change with a reset", async () => {
    const emulator = createEmulator({ admin: "everywhere" });
    const headers = { via: "1.1 proxy" };
    expect((await emulator.fetch("/_emulator", { headers })).status).toBe(200);
    emulator.reset({ admin: "loopback" });
    expect((await emulator.fetch("/_emulator", { headers })).status).toBe(403);
  });
});
