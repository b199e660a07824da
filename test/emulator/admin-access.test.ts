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
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: in this process. */
  readonly from?: string;
  readonly access?: "loopback" | "everywhere";
  readonly publicUrl?: string;
}
type Row = readonly [name: string, call: Call];

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

/** A deployment with a name of its own. */
const service = { url: `${SERVICE}/_emulator`, publicUrl: SERVICE };
const everywhere = { access: "everywhere", from: "192.0.2.7" } as const;

const allowed: Row[] = [
  ["in this process", {}],
  ["from 127.0.0.1", { from: "127.0.0.1" }],
  ["from ::1", { from: "::1", url: "http://[::1]:4000/_emulator" }],
  ["to 127.0.0.1", { url: "http://127.0.0.1:4000/_emulator" }],
  ["to the host of publicUrl", service],
  [
    "everywhere: through a proxy to the host of publicUrl",
    {
      ...{ ...service, ...everywhere, from: "127.0.0.1" },
      headers: { via: "1.1 proxy", "x-forwarded-for": "192.0.2.7" },
    },
  ],
  [
    "everywhere: from the network to an address",
    { ...everywhere, url: "http://192.0.2.1:4000/_emulator" },
  ],
];
test.each(allowed)("a GET is allowed %s", (_, call) => {
  expect(refusalOf(call, "GET")).toBeUndefined();
});

const proxied = [
  ...["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"],
];
const claims = {
  "x-forwarded-for": "127.0.0.1",
  forwarded: "for=127.0.0.1",
  "x-real-ip": "127.0.0.1",
};
const ofAddress: Row[] = [
  ["from the network", { from: "192.0.2.7" }],
  ["from an address that starts like loopback", { from: "127.0.0.1.evil.example" }],
  ["from the network with headers that claim loopback", { from: "192.0.2.7", headers: claims }],
  ...proxied.map(
    (header): Row => [
      `through a proxy on this machine, which ${header} reveals`,
      { from: "127.0.0.1", headers: { [header]: "x" } },
    ],
  ),
];
test.each(ofAddress)("a GET is refused with address_not_allowed %s", (_, call) => {
  expect(refusalOf(call, "GET")).toBe("address_not_allowed");
});

const ofHost: Row[] = [
  ["to a foreign name", { url: "http://evil.example/_emulator" }],
  ["to an address of the network", { url: "http://192.0.2.1/_emulator" }],
  ["with a foreign Host header", { headers: { host: "evil.example" } }],
  ["with a malformed Host header", { headers: { host: "evil.example@localhost" } }],
  ["over the network to a public name", { ...service, from: "127.0.0.1" }],
  [
    "everywhere: to a name, which may be rebound",
    { ...everywhere, url: "http://evil.example/_emulator" },
  ],
];
test.each(ofHost)("a GET is refused with host_not_allowed %s", (_, call) => {
  expect(refusalOf(call, "GET")).toBe("host_not_allowed");
});

const page = { origin: PUBLIC, "content-type": FORM };
const from = (name: string, headers: Record<string, string>): Row => [
  name,
  { headers: { ...page, ...headers } },
];
const origins = ["null", "http://evil.example", `${PUBLIC}:8080`, PUBLIC.replace("http", "https")];
const types = ["application/json", "text/plain", "multipart/form-data; boundary=x"];
const posts: Readonly<Record<string, readonly Row[]>> = {
  allowed: [
    from("from the page", {}),
    [
      "from the page behind TLS",
      {
        ...{ ...service, url: "http://service.example/_emulator" },
        headers: { ...page, origin: SERVICE },
      },
    ],
    from("with Sec-Fetch-Site none", { "sec-fetch-site": "none" }),
  ],
  origin_not_allowed: [
    ["without Origin", { headers: { "content-type": FORM } }],
    ...origins.map((origin) => from(`with the Origin ${origin}`, { origin })),
    [
      "from a page at localhost to 127.0.0.1",
      {
        url: "http://127.0.0.1:4000/_emulator",
        headers: { ...page, origin: "http://localhost:4000" },
      },
    ],
  ],
  site_not_allowed: ["cross-site", "same-site"].map((site) =>
    from(`with Sec-Fetch-Site ${site}`, { "sec-fetch-site": site }),
  ),
  media_type_not_allowed: [
    ...types.map((type) => from(`with the media type ${type}`, { "content-type": type })),
    ["without a media type", { headers: { origin: PUBLIC } }],
  ],
};
for (const [outcome, rows] of Object.entries(posts)) {
  test.each(rows)(`a POST is ${outcome}: %s`, (_, call) => {
    expect(refusalOf(call, "POST") ?? "allowed").toBe(outcome);
  });
}

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
  const methods: [method: string, path: string, status: number, allow: string | null][] = [
    ["GET", "/clock", 405, "POST"],
    ["PUT", "/log", 405, "GET, HEAD"],
    ["DELETE", "/faults", 405, "GET, HEAD, POST"],
    ["GET", "/nowhere", 404, null],
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
