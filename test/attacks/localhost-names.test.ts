// A DNS server (of a café's network, or of a company) answers for `service.localhost` and gets the client secret in plain
// http. RFC 6761 section 6.3 says that programs should not ask DNS for such names. Browsers do not, but Node does.
import dns from "node:dns";
import { expect, onTestFinished, test, vi } from "vitest";
import { createAuth, createService, detectVariant } from "../../src/index.js";
import { cli } from "../cli/command-line.js";
import { ACCOUNT_ID, ACCOUNT_SECRET, account, deployment } from "../support/deployment.js";
import { recordingServer } from "../support/recording-server.js";

/** The names that Node asks DNS for. The answer is always a machine of a stranger. */
function hostileDns(): readonly string[] {
  const asked: string[] = [];
  const spy = vi.spyOn(dns, "lookup").mockImplementation(((name: string) => {
    asked.push(name);
    throw new Error(`DNS was asked for ${name}`);
  }) as never);
  onTestFinished(() => spy.mockRestore());
  return asked;
}

/** An emulator on loopback, at a name under localhost. */
async function atALocalhostName(): Promise<string> {
  const emulator = deployment({ variants: ["B"], publicUrl: "http://service.localhost" });
  const { url, close } = await emulator.listen();
  onTestFinished(close);
  return url.replace("127.0.0.1", "service.localhost");
}

const target = { tenantId: "acme" };
const doors: Record<string, (baseUrl: string) => Promise<unknown>> = {
  "a token request": (baseUrl) => createAuth({ ...target, baseUrl, credential: account() }).getAccessToken(),
  "a call": async (baseUrl) => {
    const auth = createAuth({ ...target, baseUrl, credential: account() });
    const { ok } = await createService(auth).call("listDevices");
    if (!ok) throw new Error("the call was refused");
  },
  "a detection": (baseUrl) => detectVariant({ ...target, baseUrl }),
  "the command line": (baseUrl) => viaCommandLine(baseUrl, {}),
  "the command line with a proxy": (baseUrl) =>
    viaCommandLine(baseUrl, { HTTP_PROXY: "http://proxy.example:9" }),
};
async function viaCommandLine(baseUrl: string, proxy: object): Promise<void> {
  const client = { BIVARIANT_B_CLIENT_ID: ACCOUNT_ID, BIVARIANT_B_CLIENT_SECRET: ACCOUNT_SECRET };
  const settings = { BIVARIANT_BASE_URL: baseUrl, BIVARIANT_VARIANT: "B", ...client, ...proxy };
  expect(await cli(["token"], settings)).toMatchObject({ code: 0 });
}

test.each(Object.entries(doors))(
  "%s reaches a name under localhost on loopback, without DNS",
  async (_, open) => {
    const baseUrl = await atALocalhostName();
    const asked = hostileDns();
    await open(baseUrl);
    expect(asked).toEqual([]);
  },
);

test.each([
  { name: "in capitals", host: "service.LOCALHOST" },
  { name: "percent-encoded", host: "service.%6cocalhost" },
  { name: "in wide letters", host: "service.\uff4cocalhost" },
])(
  "a name under localhost that the app's own Auth writes $name is reached on loopback too",
  async ({ host }) => {
    const baseUrl = (await atALocalhostName()).replace("service.localhost", host);
    const auth = createAuth({ ...target, baseUrl, credential: account() });
    const asked = hostileDns();
    const getAccessToken = () => auth.getAccessToken();
    const own = { variant: "B", baseUrl, tenantId: "acme", getAccessToken, invalidate() {} } as const;
    expect(await createService(own).call("listDevices")).toMatchObject({ ok: true });
    expect(asked).toEqual([]);
  },
);

test("a name that only ends like localhost is another machine", () => {
  const insecure = expect.objectContaining({ code: "base_url_insecure" });
  for (const baseUrl of [
    "http://evil-localhost",
    "http://localhost.evil.example",
    "http://127.0.0.1.evil.example",
  ])
    expect(() => createAuth({ ...target, baseUrl, credential: account() })).toThrow(insecure);
});

test("a redirect to a name under localhost is not resolved by DNS either", async () => {
  const other = await recordingServer(() => ({ status: 200, body: "[]" }));
  const redirecting = await recordingServer(({ path }) => {
    if (path.endsWith("/token")) return { status: 200, body: JSON.stringify({ access_token: "t" }) };
    return { status: 302, headers: { location: other.url.replace("127.0.0.1", "other.localhost") } };
  });
  const asked = hostileDns();
  const auth = createAuth({ ...target, baseUrl: redirecting.url, credential: account() });
  await createService(auth).call("listDevices");
  expect([asked, other.requests.length]).toEqual([[], 1]);
});

test("a fetch that a test tool has put in place of the global one is used", async () => {
  const fetch = vi.fn(async () => Response.json({ access_token: "t" }));
  vi.stubGlobal("fetch", fetch);
  onTestFinished(() => void vi.unstubAllGlobals());
  const auth = createAuth({ ...target, baseUrl: "http://service.localhost", credential: account() });
  expect((await auth.getAccessToken()).value).toBe("t");
});

test("a form arrives at a name under localhost as it does elsewhere", async () => {
  const { requests, url } = await recordingServer(() => ({ status: 200, body: "[]" }));
  const baseUrl = url.replace("127.0.0.1", "service.localhost");
  const auth = { ...target, variant: "B", baseUrl, invalidate: () => {} } as const;
  const getAccessToken = async () => ({ value: "t", expiresAt: Date.now() + 60_000 });
  const body = new FormData();
  body.set("name", "value");
  await createService({ ...auth, getAccessToken }).fetch("v1/upload", { method: "POST", body });
  expect(requests[0]?.headers["content-type"]).toMatch(/^multipart\/form-data; boundary=/);
  expect(requests[0]?.body).toContain('name="name"\r\n\r\nvalue');
});
