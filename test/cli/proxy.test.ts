// HTTP_PROXY, HTTPS_PROXY and NO_PROXY: which requests go through a proxy, and the errors of a proxy.
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { proxyFetch } from "../../src/cli/proxy-fetch.js";
import { createEmulator } from "../../src/emulator/index.js";
import { leaksOf, registerBoth, startDeployment } from "./cli-deployment.js";
import { cli, type Environment } from "./command-line.js";
import { startProxy } from "./loopback-proxy.js";
import { startSecureFront } from "./secure-front.js";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const publicUrl = "http://customer.example";

/** A deployment that only the proxy can reach, because its name is not in the DNS. */
async function startBehindProxy(options: { status?: number } = {}) {
  const emulator = createEmulator({ publicUrl });
  const { url, close } = await emulator.listen();
  // For the files of its credentials.
  const deployment = await startDeployment();
  registerBoth(emulator);
  const proxy = await startProxy(url, options);
  closing.push(close, deployment.close, proxy.close);
  const env: Environment = { ...deployment.env, BIVARIANT_BASE_URL: publicUrl };
  return { emulator, proxy, env, folder: deployment.folder };
}

const insecure = "--allow-insecure-http";
const commands = ["detect", "token", "call listDevices", "doctor"];

describe("plain http", () => {
  it.each(commands)("is forwarded by the proxy: %s", async (command) => {
    const { proxy, env, emulator } = await startBehindProxy();
    const { code } = await cli([...command.split(" "), insecure], { ...env, HTTP_PROXY: proxy.url });
    expect(code).toBe(0);
    expect(proxy.requests).toHaveLength(emulator.journal.entries().length);
    for (const request of proxy.requests)
      expect(request).toMatch(/^(?:HEAD|GET|POST) http:\/\/customer\.example\//);
  });

  const variables: { name: string; set: (url: string) => Environment }[] = [
    { name: "in lower case", set: (url) => ({ http_proxy: url }) },
    { name: "without a scheme", set: (url) => ({ HTTP_PROXY: url.replace("http://", "") }) },
    {
      name: "in lower case before upper case",
      set: (url) => ({ http_proxy: url, HTTP_PROXY: "http://127.0.0.1:9" }),
    },
    { name: "in upper case beside an empty one", set: (url) => ({ http_proxy: "", HTTP_PROXY: url }) },
    {
      name: "with NO_PROXY for other hosts",
      set: (url) => ({ HTTP_PROXY: url, NO_PROXY: "127.0.0.1, .other.example" }),
    },
  ];
  it.each(variables)("uses the variable $name", async ({ set }) => {
    const { proxy, env } = await startBehindProxy();
    const { code } = await cli(["detect", insecure], { ...env, ...set(proxy.url) });
    expect(code).toBe(0);
    expect(proxy.requests).toHaveLength(3);
  });

  it.each(["NO_PROXY", "no_proxy"])("does not use the proxy for a host in %s", async (name) => {
    const { env, close } = await startDeployment();
    closing.push(close);
    const { proxy } = await startBehindProxy({ status: 500 });
    for (const command of commands) {
      const { code } = await cli(command.split(" "), { ...env, HTTP_PROXY: proxy.url, [name]: "127.0.0.1" });
      expect([command, code]).toEqual([command, 0]);
    }
    expect(proxy.requests).toEqual([]);
  });

  it("does not leave this machine for a deployment on this machine", async () => {
    const { env, close } = await startDeployment();
    closing.push(close);
    const { code } = await cli(["detect"], { ...env, HTTP_PROXY: "http://proxy.invalid:3128" });
    expect(code).toBe(0);
  });

  it("sends the proxy its credentials and shows them nowhere", async () => {
    const { proxy, env } = await startBehindProxy();
    const url = proxy.url.replace("//", "//planted-user:planted%2Fpassword@");
    const result = await cli(["call", "listDevices", insecure], { ...env, HTTP_PROXY: url });
    expect(result.code).toBe(0);
    const basic = `Basic ${Buffer.from("planted-user:planted/password").toString("base64")}`;
    expect(new Set(proxy.authorizations)).toEqual(new Set([basic]));
    expect(leaksOf(result, ["planted-user", "planted/password", "planted%2Fpassword"])).toEqual([]);
  });
});

describe("https", () => {
  const baseUrl = "https://customer.example";

  it.each(["HTTPS_PROXY", "https_proxy", "HTTP_PROXY"])("is tunnelled by the proxy in %s", async (name) => {
    const { env, folder } = await startBehindProxy();
    const front = await startSecureFront(async () => new Response(), join(folder, "certificate.pem"));
    const proxy = await startProxy(front.url);
    closing.push(front.close, proxy.close);
    const { code, stdout } = await cli(["detect", "--json", "--base-url", baseUrl], {
      ...env,
      [name]: proxy.url,
    });
    expect(code).toBe(5);
    expect(JSON.parse(stdout).error).toMatchObject({
      ...{ code: "tls_failed", message: expect.stringContaining("SELF_SIGNED") },
    });
    expect(proxy.requests[0]).toBe("CONNECT customer.example:443");
  });

  it("fails with a hint when an http proxy is configured with an https URL", async () => {
    const { env, proxy } = await startBehindProxy();
    const wrong = { ...env, HTTPS_PROXY: proxy.url.replace("http:", "https:") };
    const { code, stdout } = await cli(["detect", "--json", "--base-url", baseUrl], wrong);
    expect(code).toBe(5);
    expect(JSON.parse(stdout).error.message).toContain("HTTPS_PROXY");
  });
});

describe("a proxy that fails", () => {
  const secrets = ["planted-user", "planted-password"];
  const withSecret = (url: string) => url.replace("//", `//${secrets.join(":")}@`);

  it.each(["detect", "token", "call listDevices"])(
    "exits 5 with its variable when it is down: %s",
    async (command) => {
      const { env, proxy } = await startBehindProxy();
      proxy.close();
      const limits = command === "detect" ? [] : ["--rate-limit-deadline-ms", "0"];
      const args = [...command.split(" "), ...limits, insecure, "--json"];
      const result = await cli(args, { ...env, HTTP_PROXY: withSecret(proxy.url) });
      expect(result.code).toBe(5);
      const { code, message } = JSON.parse(result.stdout).error;
      expect(code).toBe("network_failed");
      expect(message).toMatch(/ECONNREFUSED.*HTTP_PROXY.*NO_PROXY/);
      expect(leaksOf(result, secrets)).toEqual([]);
    },
  );

  it("is a finding of doctor", async () => {
    const { env, proxy } = await startBehindProxy();
    proxy.close();
    const result = await cli(["doctor", insecure], { ...env, HTTP_PROXY: withSecret(proxy.url) });
    expect(result.code).toBe(1);
    expect(result.stdout).toMatch(/^fail {4}reachability .*HTTP_PROXY/m);
    expect(leaksOf(result, secrets)).toEqual([]);
  });

  it.each([
    {
      status: 407,
      says: /HTTPS?_PROXY.*user name and a password/,
      urls: [publicUrl, "https://customer.example"],
    },
    { status: 403, says: /HTTPS_PROXY.*403/, urls: ["https://customer.example"] },
    { status: 502, says: /HTTPS_PROXY.*does not reach/, urls: ["https://customer.example"] },
  ])("exits 5 with its variable when it answers $status", async ({ status, says, urls }) => {
    const { env, proxy } = await startBehindProxy({ status });
    const both = { HTTP_PROXY: withSecret(proxy.url), HTTPS_PROXY: withSecret(proxy.url) };
    for (const url of urls) {
      const result = await cli(["detect", "--json", insecure, "--base-url", url], { ...env, ...both });
      expect(result.code).toBe(5);
      expect(JSON.parse(result.stdout).error.message).toMatch(says);
      expect(leaksOf(result, secrets)).toEqual([]);
    }
  });

  it.each([
    { name: "is not a URL", variable: "HTTP_PROXY", value: "http://planted secret" },
    { name: "has a scheme only", variable: "https_proxy", value: "http://" },
    { name: "has another protocol", variable: "HTTPS_PROXY", value: "socks5://planted-user@proxy.example" },
    {
      name: "has credentials that cannot be decoded",
      variable: "HTTP_PROXY",
      value: "http://a:planted%@p.example",
    },
  ])("exits 2 before anything is sent when its variable $name", async ({ variable, value }) => {
    const { env } = await startBehindProxy();
    for (const command of commands) {
      const result = await cli([...command.split(" "), "--json"], { ...env, [variable]: value });
      expect(result.code).toBe(2);
      const { error } = JSON.parse(result.stdout);
      expect(error).toMatchObject({ code: "option_invalid", message: expect.stringContaining(variable) });
      expect(leaksOf(result, ["planted"])).toEqual([]);
    }
  });

  it("is not asked, nor undici loaded, when no variable is set", () => {
    expect(proxyFetch({})).toBeUndefined();
    expect(proxyFetch({ HTTP_PROXY: "", NO_PROXY: "*" })).toBeUndefined();
  });

  it("does not hide that the caller aborted", async () => {
    const { proxy } = await startBehindProxy();
    const fetch = proxyFetch({ HTTP_PROXY: proxy.url });
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(fetch?.(publicUrl, { signal })).rejects.toThrow("enough");
  });
});
