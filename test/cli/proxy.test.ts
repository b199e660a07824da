// HTTP_PROXY, HTTPS_PROXY and NO_PROXY: every command that sends something goes the way they name, and says so.
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { makeFetch } from "../../src/cli/make-fetch.js";
import { readProxies } from "../../src/cli/proxy-environment.js";
import { createEmulator } from "../../src/emulator/index.js";
import { clientSecret, leaksOf, signingKey, startDeployment } from "./cli-deployment.js";
import { cli, type Environment } from "./command-line.js";
import { startProxy } from "./loopback-proxy.js";
import { startSecureFront } from "./secure-front.js";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const publicUrl = "http://customer.example";

/** A deployment that only a proxy leads to: its name is in no DNS. */
async function startBehindProxy(options: { status?: number } = {}) {
  const emulator = createEmulator({ publicUrl });
  const { url, close } = await emulator.listen();
  closing.push(close);
  // For the files of its credentials.
  const deployment = await startDeployment();
  closing.push(deployment.close);
  register(emulator);
  const proxy = await startProxy(url, options);
  closing.push(proxy.close);
  const env = { ...deployment.env, BIVARIANT_BASE_URL: publicUrl };
  return { emulator, proxy, env, folder: deployment.folder };
}

function register(emulator: ReturnType<typeof createEmulator>): void {
  emulator.registerPlugin({
    ...{ clientId: "reporter", tenantId: "acme", type: "service" },
    ...{ jwks: { keys: [signingKey.publicJwk] }, scopes: ["devices:read"] },
  });
  emulator.registerServiceAccount({ clientId: "account", clientSecret, tenantId: "acme" });
}

const commands = [
  { name: "detect", args: ["detect"] },
  { name: "token", args: ["token"] },
  { name: "call", args: ["call", "listDevices"] },
  { name: "doctor", args: ["doctor"] },
];
const insecure = "--allow-insecure-http";

describe("plain http through a proxy", () => {
  it.each(commands)("is forwarded: $name", async ({ args }) => {
    const { proxy, env, emulator } = await startBehindProxy();
    const { code } = await cli([...args, insecure], { ...env, HTTP_PROXY: proxy.url });
    expect(code).toBe(0);
    expect(proxy.requests).toHaveLength(emulator.journal.entries().length);
    for (const request of proxy.requests)
      expect(request).toMatch(/^(?:HEAD|GET|POST) http:\/\/customer\.example\//);
  });

  const variables = [
    { name: "in lower case", set: (url: string) => ({ http_proxy: url }) },
    { name: "without a scheme", set: (url: string) => ({ HTTP_PROXY: url.replace("http://", "") }) },
    {
      name: "in lower case, which wins",
      set: (url: string) => ({ http_proxy: url, HTTP_PROXY: "http://127.0.0.1:9" }),
    },
    { name: "beside an empty one", set: (url: string) => ({ http_proxy: "", HTTP_PROXY: url }) },
    {
      name: "beside a NO_PROXY that names others",
      set: (url: string) => ({
        HTTP_PROXY: url,
        NO_PROXY: "127.0.0.1, .other.example,customer.example:8080",
      }),
    },
  ];
  it.each(variables)("takes the variable $name", async ({ set }) => {
    const { proxy, env } = await startBehindProxy();
    const { code } = await cli(["detect", insecure], { ...env, ...set(proxy.url) });
    expect(code).toBe(0);
    expect(proxy.requests).toHaveLength(3);
  });

  it.each(commands)("does not come about for a host that NO_PROXY names: $name", async ({ args }) => {
    const { env, close } = await startDeployment();
    closing.push(close);
    const { proxy } = await startBehindProxy({ status: 500 });
    for (const name of ["NO_PROXY", "no_proxy"]) {
      const { code } = await cli(args, { ...env, HTTP_PROXY: proxy.url, [name]: "127.0.0.1" });
      expect(code).toBe(0);
    }
    expect(proxy.requests).toEqual([]);
  });

  it("gives the proxy its credentials, and shows them nowhere", async () => {
    const { proxy, env } = await startBehindProxy();
    const url = proxy.url.replace("//", "//planted-user:planted%2Fpassword@");
    const result = await cli(["call", "listDevices", insecure], { ...env, HTTP_PROXY: url });
    expect(result.code).toBe(0);
    const basic = `Basic ${Buffer.from("planted-user:planted/password").toString("base64")}`;
    expect(new Set(proxy.authorizations)).toEqual(new Set([basic]));
    expect(leaksOf(result, ["planted-user", "planted/password", "planted%2Fpassword"])).toEqual([]);
  });
});

describe("https through a proxy", () => {
  it.each(commands)("is tunnelled by CONNECT: $name", async ({ args }) => {
    const { env, folder } = await startBehindProxy();
    const emulator = createEmulator({ publicUrl: "https://customer.example" });
    register(emulator);
    const certificate = join(folder, "certificate.pem");
    const front = await startSecureFront((request) => emulator.fetch(request), certificate);
    const proxy = await startProxy(front.url);
    closing.push(front.close, proxy.close);
    const { code } = await cli(args, {
      ...env,
      BIVARIANT_BASE_URL: "https://customer.example",
      HTTPS_PROXY: proxy.url,
      NODE_EXTRA_CA_CERTS: certificate,
    });
    expect(code).toBe(0);
    expect(emulator.journal.entries().length).toBeGreaterThanOrEqual(2);
    expect(new Set(proxy.requests)).toEqual(new Set(["CONNECT customer.example:443"]));
  });

  it("fails as tls where the deployment's certificate is not trusted", async () => {
    const { env, folder } = await startBehindProxy();
    const front = await startSecureFront(async () => new Response(), join(folder, "certificate.pem"));
    const proxy = await startProxy(front.url);
    closing.push(front.close, proxy.close);
    const args = ["detect", "--json", "--base-url", "https://customer.example"];
    const { code, stdout } = await cli(args, { ...env, HTTPS_PROXY: proxy.url });
    expect(code).toBe(5);
    expect(JSON.parse(stdout).error).toMatchObject({
      code: "tls_failed",
      message: expect.stringContaining("SELF_SIGNED"),
    });
  });

  it("says so where the proxy itself is named by https and speaks http", async () => {
    const { env, proxy } = await startBehindProxy();
    const args = ["detect", "--json", "--base-url", "https://customer.example"];
    const wrong = { ...env, HTTPS_PROXY: proxy.url.replace("http:", "https:") };
    const { code, stdout } = await cli(args, wrong);
    expect(code).toBe(5);
    expect(JSON.parse(stdout).error.message).toContain("HTTPS_PROXY");
  });
});

describe("a proxy that does not do its work exits 5, and the variable is named:", () => {
  const secret = "planted-password";
  const withSecret = (url: string) => url.replace("//", `//planted-user:${secret}@`);

  it.each(commands.filter(({ name }) => name !== "doctor"))("it is down: $name", async ({ args }) => {
    const { env, proxy } = await startBehindProxy();
    proxy.close();
    const limits = args[0] === "detect" ? [] : ["--rate-limit-deadline-ms", "0"];
    const result = await cli([...args, ...limits, insecure, "--json"], {
      ...env,
      HTTP_PROXY: withSecret(proxy.url),
    });
    expect(result.code).toBe(5);
    const { code, message } = JSON.parse(result.stdout).error;
    expect(code).toBe("network_failed");
    expect(message).toMatch(/ECONNREFUSED.*HTTP_PROXY.*NO_PROXY/);
    expect(leaksOf(result, [secret, "planted-user"])).toEqual([]);
  });

  it("it is down: doctor, for whom it is a finding", async () => {
    const { env, proxy } = await startBehindProxy();
    proxy.close();
    const result = await cli(["doctor", insecure], { ...env, HTTP_PROXY: withSecret(proxy.url) });
    expect(result.code).toBe(1);
    expect(result.stdout).toMatch(/^fail {4}reachability .*HTTP_PROXY/m);
    expect(leaksOf(result, [secret, "planted-user"])).toEqual([]);
  });

  const refusals = [
    { status: 407, says: /HTTPS?_PROXY.*user name and a password/ },
    { status: 403, says: /HTTPS_PROXY.*403/, tunnel: true },
    { status: 502, says: /HTTPS_PROXY.*does not reach/, tunnel: true },
  ];
  it.each(refusals)("it answers $status", async ({ status, says, tunnel }) => {
    const { env, proxy } = await startBehindProxy({ status });
    const both = { HTTP_PROXY: withSecret(proxy.url), HTTPS_PROXY: withSecret(proxy.url) };
    for (const url of tunnel ? ["https://customer.example"] : [publicUrl, "https://customer.example"]) {
      const args = ["detect", "--json", insecure, "--base-url", url];
      const result = await cli(args, { ...env, ...both });
      expect(result.code).toBe(5);
      expect(JSON.parse(result.stdout).error.message).toMatch(says);
      expect(leaksOf(result, [secret, "planted-user"])).toEqual([]);
    }
  });
});

describe("a variable that names no proxy exits 2, before anything is sent:", () => {
  const rows = [
    { name: "no URL", variable: "HTTP_PROXY", value: "http://planted secret" },
    { name: "a scheme alone", variable: "https_proxy", value: "http://" },
    { name: "another protocol", variable: "HTTPS_PROXY", value: "socks5://planted-user@proxy.example" },
    {
      name: "credentials that cannot be decoded",
      variable: "HTTP_PROXY",
      value: "http://a:planted%@p.example",
    },
  ];
  it.each(rows)("$name", async ({ variable, value }) => {
    const { env } = await startBehindProxy();
    for (const { args } of commands) {
      const result = await cli([...args, "--json"], { ...env, [variable]: value });
      expect(result.code).toBe(2);
      const { error } = JSON.parse(result.stdout);
      expect(error).toMatchObject({ code: "option_invalid", message: expect.stringContaining(variable) });
      expect(leaksOf(result, ["planted"])).toEqual([]);
    }
  });
});

describe("the way of a request", () => {
  const proxy = "http://proxy.example:3128";
  const wayOf = (url: string, env: Environment) => readProxies(env)?.(new URL(url))?.variable;

  it("needs no undici where no proxy is set", () => {
    expect(makeFetch({})).toBeUndefined();
    expect(makeFetch({ HTTP_PROXY: "", NO_PROXY: "*" })).toBeUndefined();
  });

  it("is by the protocol of the URL: HTTP_PROXY is not for https", () => {
    expect(wayOf("https://customer.example", { HTTP_PROXY: proxy })).toBeUndefined();
    expect(wayOf("http://customer.example", { HTTPS_PROXY: proxy })).toBeUndefined();
    expect(wayOf("https://customer.example", { https_proxy: proxy })).toBe("https_proxy");
  });

  const exempt = [
    { noProxy: "*", url: "https://customer.example", is: true },
    { noProxy: "customer.example", url: "https://customer.example", is: true },
    { noProxy: "CUSTOMER.example", url: "https://customer.EXAMPLE/a", is: true },
    { noProxy: "customer.example", url: "https://a.customer.example", is: true },
    { noProxy: "customer.example", url: "https://acustomer.example", is: false },
    { noProxy: ".example", url: "https://customer.example", is: true },
    { noProxy: "*.example", url: "https://customer.example", is: true },
    { noProxy: "other.test customer.example", url: "https://customer.example", is: true },
    { noProxy: "other.test,,", url: "https://customer.example", is: false },
    { noProxy: "customer.example:443", url: "https://customer.example", is: true },
    { noProxy: "customer.example:8443", url: "https://customer.example", is: false },
    { noProxy: "customer.example:8443", url: "https://customer.example:8443", is: true },
    { noProxy: "10.0.0.7", url: "https://10.0.0.7", is: true },
    { noProxy: "::1", url: "https://[::1]:8443", is: true },
    { noProxy: "[fd00::1]:8443", url: "https://[fd00::1]:8443", is: true },
    { noProxy: "[fd00::1]:8444", url: "https://[fd00::1]:8443", is: false },
  ];
  it.each(exempt)("NO_PROXY=$noProxy exempts $url: $is", ({ noProxy, url, is }) => {
    for (const name of ["NO_PROXY", "no_proxy"])
      expect(wayOf(url, { HTTPS_PROXY: proxy, [name]: noProxy })).toBe(is ? undefined : "HTTPS_PROXY");
  });

  it.each(["http://127.0.0.1:8080", "http://localhost:8080", "http://a.localhost", "http://[::1]:8080"])(
    "to this machine (%s) is direct, unless the proxy is on this machine too",
    (url) => {
      expect(wayOf(url, { HTTP_PROXY: proxy })).toBeUndefined();
      expect(wayOf(url, { HTTP_PROXY: "http://127.0.0.1:3128" })).toBe("HTTP_PROXY");
    },
  );

  it("ends at once when the caller aborts", async () => {
    const { proxy: way } = await startBehindProxy();
    const fetch = makeFetch({ HTTP_PROXY: way.url });
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(fetch?.(publicUrl, { signal })).rejects.toThrow("enough");
  });
});
