// No caller from elsewhere and no page of another site may use the page at /_emulator.
import { request as httpRequest } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { refuseCall } from "../../src/emulator/admin/admin-access.js";
import { createEmulator, type EmulatorOptions } from "../../src/emulator/index.js";
import { AdminBrowser } from "./form-browser.js";

const PUBLIC = "http://emulator.localhost";
const SERVICE = "https://service.example";
const FORM = "application/x-www-form-urlencoded";

interface Call {
  readonly name: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: in this process. */
  readonly from?: string;
  readonly access?: "loopback" | "everywhere";
  readonly publicUrl?: string;
}

function refusalOf(call: Call, method: "GET" | "POST"): string | undefined {
  const {
    url = `${PUBLIC}/_emulator`,
    headers = {},
    from,
    access = "loopback",
    publicUrl = PUBLIC,
  } = call;
  const request = new Request(url, { method, headers });
  return refuseCall({ access, request, remoteAddress: from, publicUrl })?.split(":")[0];
}

describe("a GET is allowed", () => {
  const allowed: Call[] = [
    { name: "in this process" },
    { name: "from 127.0.0.1", from: "127.0.0.1" },
    { name: "from ::1", from: "::1", url: "http://[::1]:4000/_emulator" },
    { name: "to 127.0.0.1", url: "http://127.0.0.1:4000/_emulator" },
    { name: "to the host of publicUrl", url: `${SERVICE}/_emulator`, publicUrl: SERVICE },
    {
      name: "everywhere: through a proxy to the host of publicUrl",
      ...{
        access: "everywhere",
        url: `${SERVICE}/_emulator`,
        publicUrl: SERVICE,
        from: "127.0.0.1",
      },
      headers: { via: "1.1 proxy", "x-forwarded-for": "192.0.2.7" },
    },
    {
      name: "everywhere: from the network to an address",
      ...{ access: "everywhere", from: "192.0.2.7", url: "http://192.0.2.1:4000/_emulator" },
    },
  ];
  test.each(allowed)("$name", (call) => {
    expect(refusalOf(call, "GET")).toBeUndefined();
  });
});

describe("a GET is refused with address_not_allowed", () => {
  const names = [
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
    "via",
  ];
  const refused: Call[] = [
    { name: "from the network", from: "192.0.2.7" },
    { name: "from an address that starts like loopback", from: "127.0.0.1.evil.example" },
    {
      name: "from the network with headers that claim loopback",
      from: "192.0.2.7",
      headers: {
        "x-forwarded-for": "127.0.0.1",
        forwarded: "for=127.0.0.1",
        "x-real-ip": "127.0.0.1",
      },
    },
    ...names.map((header) => ({
      name: `through a proxy on this machine, which ${header} reveals`,
      from: "127.0.0.1",
      headers: { [header]: "x" },
    })),
  ];
  test.each(refused)("$name", (call) => {
    expect(refusalOf(call, "GET")).toBe("address_not_allowed");
  });
});

describe("a GET is refused with host_not_allowed", () => {
  const refused: Call[] = [
    { name: "to a foreign name", url: "http://evil.example/_emulator" },
    { name: "to an address of the network", url: "http://192.0.2.1/_emulator" },
    { name: "with a foreign Host header", headers: { host: "evil.example" } },
    { name: "with a malformed Host header", headers: { host: "evil.example@localhost" } },
    {
      name: "over the network to a public name",
      ...{ url: `${SERVICE}/_emulator`, publicUrl: SERVICE, from: "127.0.0.1" },
    },
    {
      name: "everywhere: to a name, which may be rebound",
      ...{ access: "everywhere", from: "192.0.2.7", url: "http://evil.example/_emulator" },
    },
  ];
  test.each(refused)("$name", (call) => {
    expect(refusalOf(call, "GET")).toBe("host_not_allowed");
  });
});

describe("a POST", () => {
  const page = { origin: PUBLIC, "content-type": FORM };
  const rows: (Call & { code?: string })[] = [
    { name: "from the page is allowed", headers: page },
    {
      name: "from the page behind TLS is allowed",
      ...{
        url: "http://service.example/_emulator",
        publicUrl: SERVICE,
        headers: { ...page, origin: SERVICE },
      },
    },
    { name: "with Sec-Fetch-Site none is allowed", headers: { ...page, "sec-fetch-site": "none" } },
    {
      name: "without Origin is refused",
      headers: { "content-type": FORM },
      code: "origin_not_allowed",
    },
    ...["null", "http://evil.example", `${PUBLIC}:8080`, PUBLIC.replace("http", "https")].map(
      (origin) => ({
        name: `with the Origin ${origin} is refused`,
        headers: { ...page, origin },
        code: "origin_not_allowed",
      }),
    ),
    {
      name: "from a page at localhost to 127.0.0.1 is refused",
      ...{
        url: "http://127.0.0.1:4000/_emulator",
        headers: { ...page, origin: "http://localhost:4000" },
      },
      code: "origin_not_allowed",
    },
    ...["cross-site", "same-site"].map((site) => ({
      name: `with Sec-Fetch-Site ${site} is refused`,
      headers: { ...page, "sec-fetch-site": site },
      code: "site_not_allowed",
    })),
    ...["application/json", "text/plain", "multipart/form-data; boundary=x"].map((type) => ({
      name: `with the media type ${type} is refused`,
      headers: { ...page, "content-type": type },
      code: "media_type_not_allowed",
    })),
    {
      name: "without a media type is refused",
      headers: { origin: PUBLIC },
      code: "media_type_not_allowed",
    },
  ];
  test.each(rows)("$name", ({ code, ...call }) => {
    expect(refusalOf(call, "POST")).toBe(code);
  });
});

describe("a refusal", () => {
  const pages = ["", "/live/log", "/admin.js", "/nowhere"];
  test.each(pages)(
    "of a GET at /_emulator%s is a 403 with a code, no redirect and no page",
    async (path) => {
      const response = await createEmulator().fetch(`http://evil.example/_emulator${path}`, {
        redirect: "manual",
      });
      expect([response.status, response.headers.get("location")]).toEqual([403, null]);
      expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
      expect(await response.text()).toMatch(/^host_not_allowed: .{20,100}\n$/);
    },
  );

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
    for (const formToken of ["", "x", undefined, other.value("reset", "form_token")]) {
      const browser = await new AdminBrowser(createEmulator()).open("/_emulator");
      await browser.send("reset", { form_token: formToken });
      expect([browser.response.status, browser.html.split(":")[0]]).toEqual([
        403,
        "form_token_invalid",
      ]);
    }
  });
});

describe("the page's server", () => {
  const methods = [
    {
      name: "a GET of a path for forms only",
      method: "GET",
      path: "/clock",
      status: 405,
      allow: "POST",
    },
    { name: "a PUT of a page", method: "PUT", path: "/log", status: 405, allow: "GET, HEAD" },
    {
      name: "a DELETE of a page with forms",
      method: "DELETE",
      path: "/faults",
      status: 405,
      allow: "GET, HEAD, POST",
    },
    { name: "an unknown path", method: "GET", path: "/nowhere", status: 404, allow: null },
    {
      name: "a name that every object has",
      method: "GET",
      path: "/constructor",
      status: 404,
      allow: null,
    },
  ];
  test.each(methods)("answers $name with $status", async ({ method, path, status, allow }) => {
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
  const absent: { name: string; options: EmulatorOptions; stylesheet: number }[] = [
    { name: "admin is false", options: { admin: false }, stylesheet: 200 },
    { name: "no variant is served", options: { variants: [] }, stylesheet: 404 },
  ];
  test.each(absent)(
    "if $name, a request to the page is answered and journaled like others",
    async ({ options, stylesheet }) => {
      const emulator = createEmulator(options);
      expect((await emulator.fetch("/_emulator/style.css")).status).toBe(stylesheet);
      emulator.journal.clear();
      const response = await emulator.fetch("/_emulator");
      expect([response.status, await response.json()]).toEqual([404, { error: "not_found" }]);
      expect(emulator.journal.count()).toBe(1);
    },
  );

  test("can change with a reset", async () => {
    const emulator = createEmulator();
    const status = async () => (await emulator.fetch("/_emulator")).status;
    emulator.reset({ admin: false });
    expect(await status()).toBe(404);
    emulator.reset({ admin: "loopback" });
    expect(await status()).toBe(200);
  });

  test.each([
    { admin: "everywhere", status: 200 },
    { admin: "loopback", status: 403 },
  ] as const)(
    "$admin answers a request through a proxy with $status",
    async ({ admin, status }) => {
      const emulator = createEmulator({ admin });
      expect((await emulator.fetch("/_emulator", { headers: { via: "1.1 proxy" } })).status).toBe(
        status,
      );
    },
  );

  test("refuses an unknown value", () => {
    const admin = "localhost" as "loopback";
    expect(() => createEmulator({ admin })).toThrow(/admin/);
  });
});

describe("over HTTP", () => {
  /** Asks for `name` at this machine, as a browser does if a foreign name server says so. */
  function ask(port: number, name: string): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const lookup = (_: string, __: unknown, found: (error: null, list: object[]) => void) =>
        found(null, [{ address: "127.0.0.1", family: 4 }]);
      const options = {
        host: name,
        port,
        path: "/_emulator",
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

  test("a foreign name that resolves to 127.0.0.1 is refused", async () => {
    const { url, close } = await createEmulator().listen();
    onTestFinished(close);
    const port = Number(new URL(url).port);
    const names = ["localhost", "a.localhost", "rebound.example"];
    const statuses = await Promise.all(names.map((name) => ask(port, name)));
    expect(statuses).toEqual([200, 200, 403]);
  });
});
