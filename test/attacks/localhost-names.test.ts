// A DNS server (of a café's network, or of a company) answers for `service.localhost` and gets the client secret in plain
// http. RFC 6761 section 6.3 says that programs should not ask DNS for such names. Browsers do not, but Node does.
import dns from "node:dns";
import { expect, onTestFinished, test, vi } from "vitest";
import { createBackend } from "../../src/backend/index.js";
import { apiClient, beginLogin, connect, createAuth, detectVariant } from "../../src/index.js";
import { cli } from "../cli/command-line.js";
import { client } from "../people/person.js";
import { ACCOUNT_ID, ACCOUNT_SECRET, account, deployment } from "../support/deployment.js";
import { recordingServer } from "../support/recording-server.js";
import { rejectionOf } from "../support/wait.js";

/** A stranger's machine, to which every name under localhost leads. */
async function stranger() {
  const { requests, url } = await recordingServer(() => ({ status: 404 }));
  const lookup = dns.lookup;
  const asked: string[] = [];
  const spy = vi.spyOn(dns, "lookup").mockImplementation(((name: string, ...rest: never[]) => {
    asked.push(name);
    return Reflect.apply(lookup, dns, ["127.0.0.1", ...rest]);
  }) as never);
  onTestFinished(() => spy.mockRestore());
  return { requests, asked, baseUrl: url.replace("127.0.0.1", "service.localhost") };
}

const target = { tenantId: "acme" };
const doors: Record<string, (baseUrl: string) => Promise<unknown>> = {
  connect: (baseUrl) => connect({ ...target, baseUrl, variant: "B", credentials: [account()] }),
  createAuth: async (baseUrl) => createAuth({ ...target, baseUrl, credential: account() }).getAccessToken(),
  detectVariant: (baseUrl) => detectVariant({ ...target, baseUrl }),
  beginLogin: (baseUrl) => beginLogin({ baseUrl, credential: apiClient(client) }),
  createBackend: async (baseUrl) =>
    createBackend({ deployments: [{ ...target, baseUrl, login: apiClient(client) }] }),
};

test.each(Object.entries(doors))(
  "%s refuses plain http to a name under localhost, and sends nothing",
  async (_, open) => {
    const { requests, asked, baseUrl } = await stranger();
    expect(await rejectionOf(open(baseUrl))).toMatchObject({
      code: "base_url_insecure",
      message: expect.stringMatching(/Node asks DNS.*Use http:\/\/127\.0\.0\.1/),
    });
    expect([requests, asked]).toEqual([[], []]);
  },
);

test.each([{}, { HTTP_PROXY: "http://127.0.0.1:9" }])(
  "the command line refuses it too, with %j",
  async (proxy) => {
    const { requests, asked, baseUrl } = await stranger();
    const settings = {
      BIVARIANT_BASE_URL: baseUrl,
      BIVARIANT_TENANT: "acme",
      BIVARIANT_VARIANT: "B",
      ...proxy,
    };
    const secret = { BIVARIANT_B_CLIENT_ID: ACCOUNT_ID, BIVARIANT_B_CLIENT_SECRET: ACCOUNT_SECRET };
    const { code, stderr } = await cli(["token"], { ...settings, ...secret });
    expect([code, stderr]).toEqual([2, expect.stringContaining("base_url_insecure")]);
    expect([requests, asked]).toEqual([[], []]);
  },
);

test("an honest deployment on this machine is reached at its addresses, at localhost, and by an emulator's fetch", async () => {
  const emulator = deployment({ variants: ["B"] });
  const { url, close } = await emulator.listen();
  for (const baseUrl of [url, url.replace("127.0.0.1", "localhost")])
    expect(
      (await createAuth({ ...target, baseUrl, credential: account() }).getAccessToken()).value,
    ).toBeTruthy();
  await close();
  const { fetch } = emulator;
  const auth = createAuth({ ...target, baseUrl: "http://emulator.localhost", credential: account(), fetch });
  expect((await auth.getAccessToken()).value).toBeTruthy();
});
