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
const commandLine = (proxy: object) => async (baseUrl: string) => {
  const client = { BIVARIANT_B_CLIENT_ID: ACCOUNT_ID, BIVARIANT_B_CLIENT_SECRET: ACCOUNT_SECRET };
  const settings = { BIVARIANT_BASE_URL: baseUrl, BIVARIANT_VARIANT: "B", ...client, ...proxy };
  throw JSON.parse((await cli(["token", "--json"], settings)).stdout).error;
};
const doors: Record<string, (baseUrl: string) => Promise<unknown>> = {
  connect: (baseUrl) => connect({ ...target, baseUrl, variant: "B", credentials: [account()] }),
  createAuth: async (baseUrl) => createAuth({ ...target, baseUrl, credential: account() }).getAccessToken(),
  detectVariant: (baseUrl) => detectVariant({ ...target, baseUrl }),
  beginLogin: (baseUrl) => beginLogin({ baseUrl, credential: apiClient(client) }),
  createBackend: async (baseUrl) =>
    createBackend({ deployments: [{ ...target, baseUrl, login: apiClient(client) }] }),
  "the command line": commandLine({}),
  "the command line with a proxy": commandLine({ HTTP_PROXY: "http://127.0.0.1:9" }),
};

test.each(Object.entries(doors))(
  "%s refuses http to a name under localhost, and sends nothing",
  async (_, open) => {
    const { requests, asked, baseUrl } = await stranger();
    expect(await rejectionOf(open(baseUrl))).toMatchObject({
      code: "base_url_insecure",
      message: expect.stringMatching(/Node asks DNS.*Use http:\/\/127\.0\.0\.1/),
    });
    expect([requests, asked]).toEqual([[], []]);
  },
);

test("an honest deployment is reached on loopback, at localhost, and by an emulator's fetch", async () => {
  const emulator = deployment({ variants: ["B"] });
  const { url, close } = await emulator.listen();
  onTestFinished(close);
  for (const { baseUrl, fetch } of [
    { baseUrl: url, fetch: undefined },
    { baseUrl: url.replace("127.0.0.1", "localhost"), fetch: undefined },
    { baseUrl: "http://emulator.localhost", fetch: emulator.fetch },
  ]) {
    const auth = createAuth({ ...target, baseUrl, fetch, credential: account() });
    expect(await auth.getAccessToken()).toHaveProperty("value");
  }
});
