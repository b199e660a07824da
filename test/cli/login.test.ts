// `bivariant login`: the browser, the loopback address and the store, and how later commands use
// the login.
import { once } from "node:events";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer, get, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { freePort } from "../support/recording-server.js";
import { whenDone } from "../support/when-done.js";
import {
  addressOf,
  clientSecret,
  type LoginDeployment,
  leaksOf,
  logIn,
  privateKeyPem,
  startLoginDeployment as start,
} from "./cli-deployment.js";
import { cli, type Ended, type Environment, refused, startCli } from "./command-line.js";

function waitingLogin(env: Environment, ...args: string[]) {
  const running = startCli(["login", ...args], env);
  whenDone(() => running.interrupt());
  return running;
}

/** The state and the challenge in the printed address look like tokens. */
function withoutAddress({ stdout, stderr }: Ended): { stdout: string; stderr: string } {
  return { stdout, stderr: stderr.replace(/^https?:\S+state=\S+$/m, "") };
}

const queryOf = (url: string | URL, name: string) => new URL(url).searchParams.get(name) ?? "";
const call = (env: Environment, ...args: string[]) => cli(["call", "listDevices", ...args], env);

function passTime(ms: number): void {
  const now = Date.now;
  const clock = vi.spyOn(Date, "now").mockImplementation(() => now() + ms);
  onTestFinished(() => clock.mockRestore());
}

describe.concurrent("a login", () => {
  it("ends with a page and exit code 0; call and token use it, and no secret is printed or stored in plain", async () => {
    const deployment = await start();
    const { ended, page, text, callbackUrl } = await logIn(deployment);
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("Logged in") });
    expect(page.status).toBe(200);
    expect(text).toContain("You are logged in");
    expect(page.headers.get("cache-control")).toBe("no-store");
    expect(page.headers.get("referrer-policy")).toBe("no-referrer");
    expect(await call(deployment.env)).toMatchObject({ code: 0 });
    const token = await cli(["token"], deployment.env);
    expect(token).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[\w-]{43}\n$/) });
    const code = queryOf(callbackUrl, "code");
    expect(code).not.toBe("");
    expect(leaksOf(withoutAddress(ended), [code])).toEqual([]);
    expect(text).not.toContain(code);
    const stored = await deployment.stored();
    const members = ["refresh_token", "refreshToken", "access_token"];
    for (const secret of [code, token.stdout.trim(), ...members])
      expect(stored).not.toContain(secret);
    expect((await stat(deployment.file)).mode & 0o777).toBe(0o700);
    expect((await stat(`${deployment.file}.key`)).mode & 0o777).toBe(0o600);
  });

  it("with --json prints where it is stored and until when, and no secret; a logout deletes it", async () => {
    const deployment = await start();
    const { env, file } = deployment;
    const { ended } = await logIn(deployment, {}, "--json");
    const { expires_at, ...rest } = JSON.parse(ended.stdout);
    const base_url = env.BIVARIANT_BASE_URL;
    expect(rest).toEqual({ variant: "B", base_url, tenant: "acme", store_file: file });
    expect(Math.abs(expires_at - Date.now() - 3_600_000)).toBeLessThan(60_000);
    const out = await cli(["login", "--logout", "--json"], env);
    expect(out.code).toBe(0);
    expect(JSON.parse(out.stdout)).toEqual({ forgotten: true, store_file: file });
    await refused(["token"], env, "bivariant login");
    expect((await cli(["token", "--login"], env)).code).toBe(3);
  });

  it("uses PKCE with S256, the given scopes, and an IP literal with the given port", async () => {
    const deployment = await start();
    const port = await freePort();
    const running = waitingLogin(deployment.env, "--port", String(port), "--scope", "devices:read");
    const address = await addressOf(running);
    const redirect_uri = `http://127.0.0.1:${port}/callback`;
    const asked = { response_type: "code", client_id: "portal", scope: "devices:read" };
    const query = { ...asked, redirect_uri, code_challenge_method: "S256" };
    expect(Object.fromEntries(address.searchParams)).toMatchObject(query);
    running.interrupt();
    expect((await running.ended).code).toBe(130);
  });

  it("ignores forged callbacks and answers no other request", async () => {
    const deployment = await start();
    const running = waitingLogin(deployment.env);
    const address = await addressOf(running);
    const redirect = queryOf(address, "redirect_uri");
    const state = queryOf(address, "state");
    const forged = [
      { name: "no state", path: "?code=forged" },
      { name: "a refusal with another state", path: "?error=access_denied&state=x" },
      { name: "the state twice", path: `?code=forged&state=${state}&state=${state}` },
      { name: "another path", path: `/more?code=forged&state=${state}` },
      { name: "POST", path: `?code=forged&state=${state}`, init: { method: "POST" } },
    ];
    for (const { name, path, init } of forged)
      expect([name, (await fetch(redirect + path, init)).status]).toEqual([name, 404]);
    // fetch cannot send the name of another host, which a browser sends after DNS rebinding.
    const headers = { host: "x.example" };
    const rebound = get(`${redirect}?code=forged&state=${state}`, { headers });
    const [answer] = (await once(rebound, "response")) as [IncomingMessage];
    expect(answer.resume().statusCode).toBe(404);
    const { callbackUrl } = deployment.emulator.login({ url: address.href, userId: "ada" });
    expect((await fetch(callbackUrl)).status).toBe(200);
    expect((await running.ended).code).toBe(0);
    // The port is free again.
    await expect(fetch(callbackUrl)).rejects.toThrow();
  });

  it("with --issuer accepts only a callback of that issuer, and sends no code of another", async () => {
    const deployment = await start({ issuerInCallback: true });
    const own = deployment.env.BIVARIANT_BASE_URL ?? "";
    const requests = () => deployment.emulator.journal.tokenRequests();
    const mixedUp = await logIn(deployment, { BIVARIANT_B_ISSUER: "https://another.example" });
    expect([mixedUp.ended.code, mixedUp.page.status, requests()]).toEqual([3, 400, []]);
    expect((await logIn(deployment, {}, "--issuer", own)).ended.code).toBe(0);
    expect(requests()).toHaveLength(1);
  });

  it("that the person denies exits 3 and shows a page", async () => {
    const deployment = await start();
    const running = waitingLogin(deployment.env, "--json");
    const url = (await addressOf(running)).href;
    const { callbackUrl } = deployment.emulator.login({ url, userId: "ada", decision: "deny" });
    const page = await fetch(callbackUrl);
    expect(page.status).toBe(400);
    expect(await page.text()).toContain("The login was denied");
    const { code, stdout } = await running.ended;
    expect(code).toBe(3);
    expect(JSON.parse(stdout).error).toMatchObject({ code: "login_denied", exitCode: 3 });
  });

  it("whose code is refused exits 3 without showing the code", async () => {
    const deployment = await start();
    const running = waitingLogin(deployment.env);
    const address = await addressOf(running);
    const query = `code=planted-code&state=${queryOf(address, "state")}`;
    expect((await fetch(`${queryOf(address, "redirect_uri")}?${query}`)).status).toBe(400);
    const ended = await running.ended;
    expect(ended.code).toBe(3);
    expect(ended.stderr).toContain("Run bivariant login.");
    expect(leaksOf(withoutAddress(ended), ["planted-code"])).toEqual([]);
  });

  it("is stored in the home folder if XDG_STATE_HOME is relative", async () => {
    const { env, folder } = await start();
    const given = { ...env, XDG_STATE_HOME: "relative", HOME: folder };
    const { stdout } = await cli(["login", "--logout", "--json"], given);
    expect(JSON.parse(stdout).store_file).toBe(join(folder, ".local/state/bivariant/grants"));
  });

  // The command line has the machine's time, and a second is the shortest that it waits.
  it("that does not happen in time exits 3", async () => {
    const { env } = await start();
    const { code, stderr } = await cli(["login", "--wait-seconds", "1"], env);
    expect(code).toBe(3);
    expect(stderr).toMatch(/login_expired.*within 1 seconds/);
  });
});

describe("a login whose token has expired", () => {
  it.each([
    { inFile: "/v1/auth/refresh", args: [] },
    { inFile: "/v1/auth/elsewhere", args: ["--refresh-path", "/v1/auth/refresh"] },
  ])("is renewed at the refreshPath of a settings file, $inFile, unless $args", async (row) => {
    const deployment = await start({ refreshPath: "/v1/auth/refresh" });
    const settings = join(deployment.folder, "settings.json");
    await writeFile(settings, JSON.stringify({ refreshPath: row.inFile }));
    const env = { ...deployment.env, BIVARIANT_SETTINGS: settings };
    await logIn(deployment, env);
    passTime(2 * 3_600_000);
    expect(await cli(["token", ...row.args], env)).toMatchObject({ code: 0 });
    const renewal = { path: "/v1/auth/refresh", status: 200 };
    expect(deployment.emulator.journal.last()).toMatchObject(renewal);
  });
});

describe("a login that is over", () => {
  it.each([
    { args: ["call", "listDevices"], laterMs: 60_000, first: "api_unauthorized" },
    { args: ["token"], laterMs: 2 * 3_600_000, first: "login_refused" },
  ])("makes $args exit 3 with a remedy, first as $first", async ({ args, laterMs, first }) => {
    const deployment = await start();
    const { env } = deployment;
    await logIn(deployment);
    await deployment.closeServer();
    // Another deployment at the same address, which knows no token.
    const other = createServer(({ url }, response) => {
      const headers = { "content-type": "application/json" };
      response.writeHead(url?.includes("token") ? 400 : 401, headers);
      response.end('{"error":"invalid_grant"}');
    });
    const { port } = new URL(env.BIVARIANT_BASE_URL ?? "");
    await new Promise<void>((resolve) => other.listen(Number(port), "127.0.0.1", resolve));
    onTestFinished(() => void other.close());
    passTime(laterMs);
    for (const code of [first, "login_expired"]) {
      const ended = await cli(args, env);
      expect(ended).toMatchObject({ code: 3, stdout: "" });
      expect(ended.stderr).toContain(code);
      expect(ended.stderr).toContain("Run bivariant login.");
    }
  });
});

describe("a login's browser", () => {
  it("is opened on a terminal without a shell, and does not receive secrets", async () => {
    const deployment = await start();
    const [bin, seen] = [join(deployment.folder, "bin"), join(deployment.folder, "seen")];
    await mkdir(bin);
    const script = `#!/bin/sh\nprintf '%s\\n' "$#" "$1" > ${seen}\nenv >> ${seen}\n`;
    await writeFile(join(bin, "xdg-open"), script, { mode: 0o755 });
    const PATH = `${bin}:${process.env.PATH}`;
    const env = { ...deployment.env, PATH, BIVARIANT_B_CLIENT_SECRET: "planted-secret" };
    const args = ["login", "--wait-seconds", "1"];
    const { code, stderr } = await cli(args, env, { isTTY: true });
    expect(code).toBe(3);
    const received = await vi.waitFor(() => readFile(seen, "utf8"));
    const [count, address] = received.split("\n");
    expect(count).toBe("1");
    expect(stderr).toContain(address);
    expect(received).not.toContain("planted-secret");
    await writeFile(seen, "");
    await Promise.all([cli([...args, "--no-browser"], env, { isTTY: true }), cli(args, env)]);
    expect(await readFile(seen, "utf8")).toBe("");
  });
});

describe("the identity that is used", () => {
  const plugin = { BIVARIANT_A_CLIENT_ID: "reporter", BIVARIANT_A_PRIVATE_KEY: privateKeyPem };
  it("is the login beside a plugin if only Variant B is served, and else the plugin", async () => {
    const deployment = await start({ variants: ["B"] });
    await logIn(deployment);
    const env = { ...deployment.env, ...plugin };
    expect((await cli(["token"], env)).code).toBe(0);
    // The deployment was asked which variant it serves, without a credential.
    const clients = deployment.emulator.journal.tokenRequests().map(({ clientId }) => clientId);
    expect(new Set(clients)).toEqual(new Set(["portal", undefined]));
    deployment.emulator.reset({ variants: ["A", "B"] });
    const both = await cli(["token"], env);
    expect(both).toMatchObject({ code: 3, stderr: expect.stringContaining("token_refused") });
  });
});

const loginSecret = "planted-login-secret-9876543210";
const id = "BIVARIANT_B_LOGIN_CLIENT_ID";
const secret = "BIVARIANT_B_LOGIN_CLIENT_SECRET";

describe("a login with wrong settings", () => {
  const endpoint = "BIVARIANT_B_AUTHORIZATION_ENDPOINT";
  const ofLogin = { BIVARIANT_B_CLIENT_ID: "", [secret]: loginSecret };
  const twice = { ...ofLogin, [id]: "portal", [`${secret}_FILE`]: "/dev/null" };
  it.each([
    ["no base URL", { BIVARIANT_BASE_URL: "" }, "BIVARIANT_BASE_URL"],
    ["no client id", { BIVARIANT_B_CLIENT_ID: "" }, "BIVARIANT_B_CLIENT_ID"],
    ["a secret without a client id", ofLogin, id],
    ["a secret given twice", twice, "is set twice"],
    ["no authorization endpoint", { [endpoint]: "" }, endpoint],
    ["an invalid endpoint", { [endpoint]: "planted" }, "--authorization-endpoint"],
    ["an endpoint without TLS", { [endpoint]: "http://planted.example/" }, "must use https"],
    ["an invalid key of the store", { BIVARIANT_STORE_KEY: "planted" }, "32 bytes"],
  ])("exits 2 before it listens or sends anything, for %s", async (_, changes, says) => {
    const deployment = await start();
    const { stderr } = await refused(["login"], { ...deployment.env, ...changes }, says);
    expect(stderr).not.toMatch(/planted|state=/);
  });

  it("is refused if other users can read its key file", async () => {
    const deployment = await start();
    await logIn(deployment);
    await chmod(`${deployment.file}.key`, 0o644);
    await refused(["token"], deployment.env, "can be read by other users");
  });
});

/** Registers a service account and a confidential API client in addition to the public one. */
async function startWithClients(): Promise<LoginDeployment> {
  const deployment = await start({ variants: ["B"] });
  const { emulator } = deployment;
  emulator.registerServiceAccount({ clientId: "account", clientSecret, tenantId: "acme" });
  const redirectUris = ["http://127.0.0.1/callback"];
  emulator.registerApiClient({ clientId: "confidential", clientSecret: loginSecret, redirectUris });
  return deployment;
}

const account = { BIVARIANT_B_CLIENT_ID: "account", BIVARIANT_B_CLIENT_SECRET: clientSecret };

describe("a login in addition to a service account", () => {
  it.each([
    { name: "public", ofLogin: { [id]: "portal" } },
    { name: "confidential", ofLogin: { [id]: "confidential", [secret]: loginSecret } },
  ])("uses a $name client with its own secret only, and call can use either", async (row) => {
    const deployment = await startWithClients();
    const env = { ...deployment.env, ...account, ...row.ofLogin };
    const { ended } = await logIn(deployment, env);
    expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining("--login") });
    const clients = () =>
      deployment.emulator.journal.tokenRequests().map(({ clientId }) => clientId);
    expect(clients()).toEqual([row.ofLogin[id]]);
    expect(await call(env)).toMatchObject({ code: 0 });
    expect(clients().at(-1)).toBe("account");
    expect(await call(env, "--login")).toMatchObject({ code: 0 });
    expect(clients()).toHaveLength(2);
  });

  it("does not send the secret in the environment for a client that a flag names", async () => {
    const deployment = await startWithClients();
    const env = { ...deployment.env, ...account };
    const { ended } = await logIn(deployment, env, "--b-client-id", "portal");
    expect(ended.code).toBe(0);
    expect(await call(env, "--b-client-id", "portal")).toMatchObject({ code: 0 });
    expect(await call(env)).toMatchObject({ code: 0 });
  });

  it("with a confidential client in the settings of the account says to use --login, or its own", async () => {
    const deployment = await startWithClients();
    const shared = {
      BIVARIANT_B_CLIENT_ID: "confidential",
      BIVARIANT_B_CLIENT_SECRET: loginSecret,
    };
    const env = { ...deployment.env, ...shared };
    const { ended } = await logIn(deployment, env);
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stderr).toMatch(/--login[\s\S]*BIVARIANT_B_LOGIN_CLIENT_ID/);
    const machine = await call(env);
    expect(machine).toMatchObject({ code: 3, stdout: "" });
    expect(leaksOf(machine, [loginSecret])).toEqual([]);
    expect(await call(env, "--login")).toMatchObject({ code: 0 });
  });
});

it("an API client without a service account is used by call, which exits 3 without a login", async () => {
  const deployment = await startWithClients();
  const env = { ...deployment.env, BIVARIANT_B_CLIENT_ID: "", [id]: "portal" };
  const before = await call(env);
  expect(before).toMatchObject({ code: 3 });
  expect(before.stderr).toContain("Run bivariant login.");
  await logIn(deployment, env);
  expect(await call(env)).toMatchObject({ code: 0 });
});

describe("a login for another tenant", () => {
  it.each([
    ["no tenant", "", ["--tenant", "acme"], "There is one without a tenant"],
    ["a tenant", "acme", [], "There is one for the tenant acme"],
  ])("is mentioned but not used if it was stored for %s", async (_, at, later, says) => {
    const deployment = await startWithClients();
    const env = { ...deployment.env, BIVARIANT_VARIANT: "B", BIVARIANT_TENANT: "" };
    await logIn(deployment, { ...env, BIVARIANT_TENANT: at });
    await refused(["call", "listDevices", ...later], env, says, "BIVARIANT_TENANT");
    const named = await call(env, "--login", ...later);
    expect(named).toMatchObject({ code: 3 });
    expect(named.stderr).toContain(says);
    // Logins of other clients are not mentioned.
    const other = await call(env, "--login", "--b-login-client-id", "confidential");
    expect(other.stderr).not.toContain("There is one");
    await cli(["login", "--logout"], { ...env, BIVARIANT_TENANT: at });
    expect((await call(env, "--login", ...later)).stderr).not.toContain("There is one");
  });
});
