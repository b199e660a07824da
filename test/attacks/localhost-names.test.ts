// A DNS server (of a café's network, or of a company) answers for `service.localhost` and gets the
// client secret in plain http. RFC 6761 section 6.3 says that programs should not ask DNS for such
// names. Browsers do not, but Node does.
import { expect, onTestFinished, test, vi } from "vitest";
import { connect, createAuth, detectVariant } from "../../src/index.js";
import { cli } from "../cli/command-line.js";
import { ACCOUNT_ID, ACCOUNT_SECRET, account, deployment } from "../support/deployment.js";

const target = { tenantId: "acme" };
const names = [
  "http://service.localhost",
  "http://service.LOCALHOST:81",
  "http://service.%6cocalhost",
];
const doors: Record<string, (baseUrl: string) => unknown> = {
  "a token request": (baseUrl) => createAuth({ ...target, baseUrl, credential: account() }),
  "a connection": (baseUrl) => connect({ ...target, baseUrl, credentials: [account()] }),
  "a detection": (baseUrl) => detectVariant({ ...target, baseUrl }),
};

test.each(Object.entries(doors))(
  "%s in plain http to a name under localhost is refused in Node",
  async (_, open) => {
    for (const baseUrl of names)
      await expect(async () => open(baseUrl)).rejects.toMatchObject({ code: "base_url_insecure" });
  },
);

test("the command line refuses such a name, and says what to do", async () => {
  const client = { BIVARIANT_B_CLIENT_ID: ACCOUNT_ID, BIVARIANT_B_CLIENT_SECRET: ACCOUNT_SECRET };
  const settings = {
    BIVARIANT_BASE_URL: "http://service.localhost",
    BIVARIANT_VARIANT: "B",
    ...client,
  };
  const { code, stderr } = await cli(["token"], settings);
  expect(code).toBe(2);
  expect(stderr).toContain("DNS");
});

test("a fetch of the caller resolves the name itself, and allowInsecureHttp allows it", async () => {
  const { fetch } = deployment({ variants: ["B"], publicUrl: "http://service.localhost" });
  const options = { ...target, baseUrl: "http://service.localhost", credential: account() };
  expect((await createAuth({ ...options, fetch }).getAccessToken()).value).toEqual(
    expect.any(String),
  );
  expect(() => createAuth({ ...options, allowInsecureHttp: true })).not.toThrow();
});

test("a fetch that a test tool has put in place of the global one is used", async () => {
  const fetch = vi.fn(async () => Response.json({ access_token: "t" }));
  vi.stubGlobal("fetch", fetch);
  onTestFinished(() => void vi.unstubAllGlobals());
  const auth = createAuth({
    ...target,
    baseUrl: "http://service.localhost",
    credential: account(),
  });
  expect((await auth.getAccessToken()).value).toBe("t");
});
