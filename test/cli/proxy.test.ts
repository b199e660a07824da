// HTTP_PROXY, HTTPS_PROXY and NO_PROXY: which requests go through a proxy, and the errors of a
// proxy.
import { describe, expect, it } from "vitest";
import { proxyFetch } from "../../src/cli/proxy-fetch.js";
import { leaksOf, startDeployment } from "./cli-deployment.js";
import { cli, type Environment } from "./command-line.js";
import { closedUrl, startProxy, startSecureFront } from "./servers.js";

const publicUrl = "http://customer.example";
const https = "https://customer.example";

/** A deployment under a name that only the proxy finds, because it is not in the DNS. */
async function startBehindProxy(status?: number) {
  const { emulator, env: own } = await startDeployment({ publicUrl });
  const proxy = await startProxy(own.BIVARIANT_BASE_URL ?? "", status);
  const env: Environment = { ...own, BIVARIANT_BASE_URL: publicUrl };
  return { emulator, proxy, env };
}

const insecure = "--allow-insecure-http";
const commands = ["detect", "token", "call listDevices", "doctor"];

describe("plain http", () => {
  it.each(commands)("is forwarded by the proxy: %s", async (command) => {
    const { proxy, env, emulator } = await startBehindProxy();
    const args = [...command.split(" "), insecure];
    expect((await cli(args, { ...env, HTTP_PROXY: proxy.url })).code).toBe(0);
    expect(proxy.requests).toHaveLength(emulator.journal.entries().length);
    for (const request of proxy.requests)
      expect(request).toMatch(/^(?:HEAD|GET|POST) http:\/\/customer\.example\//);
  });

  const elsewhere = "http://127.0.0.1:9";
  const others = "127.0.0.1, .other.example";
  it.each<{ name: string; set: (url: string) => Environment }>([
    { name: "in lower case", set: (url) => ({ http_proxy: url, HTTP_PROXY: elsewhere }) },
    { name: "without a scheme", set: (url) => ({ HTTP_PROXY: url.replace("http://", "") }) },
    { name: "in capitals if that is empty", set: (url) => ({ http_proxy: "", HTTP_PROXY: url }) },
    { name: "with NO_PROXY for others", set: (url) => ({ HTTP_PROXY: url, NO_PROXY: others }) },
  ])("uses the variable $name", async ({ set }) => {
    const { proxy, env } = await startBehindProxy();
    expect((await cli(["detect", insecure], { ...env, ...set(proxy.url) })).code).toBe(0);
    expect(proxy.requests).toHaveLength(3);
  });

  it.each(["NO_PROXY", "no_proxy"])("does not use the proxy for a host in %s", async (name) => {
    const { env } = await startDeployment();
    const { proxy } = await startBehindProxy(500);
    const { code } = await cli(["detect"], { ...env, HTTP_PROXY: proxy.url, [name]: "127.0.0.1" });
    expect(code).toBe(0);
    expect(proxy.requests).toEqual([]);
  });

  it("to a deployment on this machine does not go through a proxy elsewhere", async () => {
    const { env } = await startDeployment();
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
  it.each(["HTTPS_PROXY", "https_proxy", "HTTP_PROXY"])("is tunnelled by %s", async (name) => {
    const { env } = await startBehindProxy();
    const proxy = await startProxy((await startSecureFront()).url);
    const args = ["detect", "--json", "--base-url", https];
    const { code, stdout } = await cli(args, { ...env, [name]: proxy.url });
    expect(code).toBe(5);
    const message = expect.stringContaining("SELF_SIGNED");
    expect(JSON.parse(stdout).error).toMatchObject({ code: "tls_failed", message });
    expect(proxy.requests[0]).toBe("CONNECT customer.example:443");
  });

  it("fails with a hint when an http proxy is configured with an https URL", async () => {
    const { env, proxy } = await startBehindProxy();
    const wrong = { ...env, HTTPS_PROXY: proxy.url.replace("http:", "https:") };
    const { code, stdout } = await cli(["detect", "--json", "--base-url", https], wrong);
    expect(code).toBe(5);
    expect(JSON.parse(stdout).error.message).toContain("HTTPS_PROXY");
  });
});

describe("a proxy that fails", () => {
  const secrets = ["planted-user", "planted-password"];
  const withSecret = (url: string) => url.replace("//", `//${secrets.join(":")}@`);

  it("exits 5 with its variable when it is down, and is a finding of doctor", async () => {
    const given = await startBehindProxy();
    const env = { ...given.env, HTTP_PROXY: withSecret(closedUrl) };
    const args = ["token", "--variant", "B", "--retry-deadline-ms", "0", insecure, "--json"];
    const result = await cli(args, env);
    expect(result.code).toBe(5);
    const message = expect.stringMatching(/ECONNREFUSED.*HTTP_PROXY.*NO_PROXY/);
    expect(JSON.parse(result.stdout).error).toMatchObject({ code: "network_failed", message });
    const doctor = await cli(["doctor", insecure], env);
    expect(doctor.code).toBe(1);
    const finding = /^fail {4}reachability {2}.*HTTP_PROXY.*\n {22}-> Check the address/m;
    expect(doctor.stdout).toMatch(finding);
    expect([...leaksOf(result, secrets), ...leaksOf(doctor, secrets)]).toEqual([]);
  });

  it.each([
    { status: 407, url: publicUrl, says: /HTTP_PROXY.*user name and a password/ },
    { status: 407, url: https, says: /HTTPS_PROXY.*user name and a password/ },
    { status: 502, url: https, says: /HTTPS_PROXY.*does not reach.*502/ },
  ])("exits 5 when it answers $status for $url", async ({ status, says, url }) => {
    const { env, proxy } = await startBehindProxy(status);
    const both = { HTTP_PROXY: withSecret(proxy.url), HTTPS_PROXY: withSecret(proxy.url) };
    const args = ["token", "--variant", "B", "--json", insecure, "--base-url", url];
    const limit = status === 502 ? ["--retry-deadline-ms", "0"] : [];
    const result = await cli([...args, ...limit], { ...env, ...both });
    expect(result.code).toBe(5);
    expect(JSON.parse(result.stdout).error.message).toMatch(says);
    expect(proxy.requests).toHaveLength(1);
    expect(leaksOf(result, secrets)).toEqual([]);
  });

  it.each([
    { name: "is not a URL", variable: "HTTP_PROXY", value: "http://planted secret" },
    { name: "has a scheme only", variable: "https_proxy", value: "http://" },
    { name: "has another protocol", variable: "HTTPS_PROXY", value: "socks5://planted@p.example" },
    { name: "is undecodable", variable: "HTTP_PROXY", value: "http://a:planted%@p.example" },
  ])("exits 2 before anything is sent when its variable $name", async ({ variable, value }) => {
    const { env } = await startBehindProxy();
    for (const command of value === "http://" ? commands : ["detect"]) {
      const result = await cli([...command.split(" "), "--json"], { ...env, [variable]: value });
      expect(result.code).toBe(2);
      const message = expect.stringContaining(variable);
      expect(JSON.parse(result.stdout).error).toMatchObject({ code: "option_invalid", message });
      expect(leaksOf(result, ["planted"])).toEqual([]);
    }
  });

  it("is not used, and undici is not loaded, when no variable is set", () => {
    expect(proxyFetch({ HTTP_PROXY: "", NO_PROXY: "*" })).toBeUndefined();
  });

  it("does not hide that the caller aborted", async () => {
    const { proxy } = await startBehindProxy();
    const fetch = proxyFetch({ HTTP_PROXY: proxy.url });
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(fetch?.(publicUrl, { signal })).rejects.toThrow("enough");
  });
});
