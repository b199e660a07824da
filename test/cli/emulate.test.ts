// `bivariant emulate`: what it prints, what it writes, and that nothing of it stays.

import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { leaksOf } from "./cli-deployment.js";
import { cli, type Environment, startCli } from "./run-cli.js";
import { runInProcess } from "./run-in-process.js";

/** Where the process's temporary files go, so that the test sees every one that stays. */
let temporary: string;
beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), "emulate-test-"));
});
afterAll(() => rm(temporary, { recursive: true, force: true }));

/** tsx keeps its cache there too. */
const ours = async () => (await readdir(temporary)).filter((name) => name.startsWith("bivariant-"));

function exported(stdout: string): Environment {
  return Object.fromEntries(
    [...stdout.matchAll(/^export (BIVARIANT_\w+)=(\S+)$/gm)].map(([, ...one]) => one),
  );
}

describe.skipIf(process.platform === "win32")("emulate", () => {
  it("prints an environment that the other commands work with, and each request; SIGTERM leaves nothing", async () => {
    const running = startCli(["emulate"], { TMPDIR: temporary });
    await running.seen(/Ctrl-C ends it/);
    const [text] = await running.seen(/(?:export .*\n)+/);
    const env = exported(text);
    expect(Object.keys(env)).toEqual([
      "BIVARIANT_BASE_URL",
      "BIVARIANT_TENANT",
      "BIVARIANT_A_CLIENT_ID",
      "BIVARIANT_A_PRIVATE_KEY_FILE",
      "BIVARIANT_B_CLIENT_ID",
      "BIVARIANT_B_CLIENT_SECRET_FILE",
      "BIVARIANT_B_LOGIN_CLIENT_ID",
      "BIVARIANT_B_AUTHORIZATION_ENDPOINT",
      "BIVARIANT_STORE_FILE",
      "BIVARIANT_STORE_KEY_FILE",
    ]);
    const files = ["A_PRIVATE_KEY", "B_CLIENT_SECRET", "STORE_KEY"].map(
      (name) => env[`BIVARIANT_${name}_FILE`] ?? "",
    );
    for (const file of files) expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(dirname(files[0] ?? ""))).mode & 0o777).toBe(0o700);
    const contents = await Promise.all(files.map((file) => readFile(file, "utf8")));
    // The numbers of the JWK that make it private, and the other two files as they are.
    const secrets = contents.flatMap((content, index) =>
      index === 0
        ? Object.entries<string>(JSON.parse(content)).flatMap(([name, value]) =>
            "dpq".includes(name[0] ?? "") ? [value] : [],
          )
        : [content],
    );

    const [asPlugin, asAccount, refused] = await Promise.all([
      cli(["call", "listDevices"], env),
      cli(["call", "listDevices", "--variant", "B"], env),
      cli(["token", "--a-client-id", "nobody"], env),
    ]);
    expect([asPlugin.code, asAccount.code, refused.code]).toEqual([0, 0, 3]);
    await running.seen(/ GET \/api\/v1\/acme\/devices 200 {2}A listDevices\n/);
    await running.seen(/ POST \/v1\/auth\/token 200 {2}B requestToken\n/);
    await running.seen(/ {2}plugin\.registered \(section .*\): expected a registered plugin, got "nobody"/);

    running.child.kill("SIGTERM");
    const result = await running.ended;
    expect(result.code).toBe(0);
    expect(await ours()).toEqual([]);
    expect(leaksOf(result, secrets)).toEqual([]);
  });

  it("with --json prints a line of JSON for each thing, and ends on SIGINT", async () => {
    const args = ["emulate", "--json", "--variant", "B", "--tenant", "blue", "--b-client-id", "robot"];
    const running = startCli(args, { TMPDIR: temporary });
    const [line] = await running.seen(/^.*"environment".*\n/);
    const { served, environment } = JSON.parse(line);
    expect(served).toEqual(["B"]);
    expect(Object.keys(environment).some((name) => name.startsWith("BIVARIANT_A_"))).toBe(false);
    expect(environment).toMatchObject({ BIVARIANT_TENANT: "blue", BIVARIANT_B_CLIENT_ID: "robot" });
    expect((await runInProcess(["token"], environment)).code).toBe(0);
    await running.seen(/"request":/);
    running.child.kill("SIGINT");
    const result = await running.ended;
    expect(result.code).toBe(0);
    for (const one of result.stdout.trimEnd().split("\n")) expect(JSON.parse(one)).toBeTypeOf("object");
    expect(JSON.parse(result.stdout.split("\n")[1] ?? "")).toMatchObject({
      request: { method: "POST", path: "/v1/auth/token", status: 200, variant: "B", tenantId: "blue" },
    });
    expect(await ours()).toEqual([]);
    expect(leaksOf(result)).toEqual([]);
  });

  it("ends, and leaves nothing, when nobody reads its output any more", async () => {
    const running = startCli(["emulate"], { TMPDIR: temporary });
    const [text] = await running.seen(/(?:export .*\n)+/);
    running.child.stdout?.destroy();
    await fetch(`${exported(text).BIVARIANT_BASE_URL}/anything`);
    await running.ended;
    expect(await ours()).toEqual([]);
  });

  it("exits 2 when its port is taken, and leaves nothing", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    const result = await cli(["emulate", "--port", String(port)], { TMPDIR: temporary });
    server.close();
    expect(result).toMatchObject({ code: 2, stdout: "" });
    expect(result.stderr).toContain("error listen_failed: ");
    expect(result.stderr).toContain("EADDRINUSE");
    expect(await ours()).toEqual([]);
  });

  it("serves what a seed file registers, and reads it again when it changes", async () => {
    const folder = await mkdtemp(join(tmpdir(), "seed-test-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "tenant.yaml");
    const seed = (scopes: string) => `options: { variants: [A] }
plugins:
  - { clientId: nightly, tenantId: blue, type: service, scopes: [${scopes}] }
`;
    await writeFile(file, seed("devices:read"));
    const running = startCli(["emulate", "--seed-file", file, "--watch", "--random-seed", "5"], {
      TMPDIR: temporary,
    });
    await running.seen(/Ctrl-C ends it/);
    const [text] = await running.seen(/(?:export .*\n)+/);
    const env = exported(text);
    expect(env).toMatchObject({ BIVARIANT_TENANT: "blue", BIVARIANT_A_CLIENT_ID: "nightly" });
    expect(Object.keys(env).some((name) => name.startsWith("BIVARIANT_B_"))).toBe(false);
    expect((await runInProcess(["call", "listDevices"], env)).code).toBe(0);

    await writeFile(file, `${seed("devices")}`);
    await running.seen(/the old state stays:\n.*tenant\.yaml:3: plugins\.0\.scopes\.0: /);
    expect((await runInProcess(["call", "listDevices"], env)).code).toBe(0);
    // As editors do it: another file takes its place.
    await writeFile(join(folder, "new"), seed(""));
    await rename(join(folder, "new"), file);
    await running.seen(/Read .*tenant\.yaml again/);
    // The same key still: the number decides it.
    expect((await runInProcess(["call", "listDevices"], env)).code).toBe(6);
    running.child.kill("SIGTERM");
    expect((await running.ended).code).toBe(0);
    expect(await ours()).toEqual([]);
  });

  it.each([
    {
      name: "a seed file that is not there",
      args: ["--seed-file", "/nowhere/tenant.yaml"],
      says: "seed_invalid",
    },
    {
      name: "a watched seed file behind a name that is too long",
      args: ["--seed-file", `/tmp/${"x".repeat(300)}/tenant.yaml`, "--watch"],
      says: "error seed_invalid",
    },
    { name: "--watch without a file", args: ["--watch"], says: "--watch needs a --seed-file" },
    {
      name: "a tenant beside a seed file",
      args: ["--seed-file", "x.yaml", "--tenant", "t"],
      says: "--tenant says what is registered",
    },
    {
      name: "a random seed that is no number",
      args: ["--random-seed", "one"],
      says: "--random-seed must be a whole number",
    },
    {
      name: "a page that is no address",
      args: ["--page-url", "javascript:alert(1)"],
      says: "plugins.1.pageUrl",
    },
  ])("exits 2 for $name", async ({ args, says }) => {
    const result = await runInProcess(["emulate", ...args]);
    expect(result).toMatchObject({ code: 2, stdout: "" });
    expect(result.stderr).toContain(says);
  });

  it("prints where the page, the host application and the keys of further plugins are; a login outlives a new reading", async () => {
    const folder = await mkdtemp(join(tmpdir(), "seed-test-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "tenants.json");
    const plugins = ["acme", "blue-green"].flatMap((tenantId) => [
      { clientId: "nightly", tenantId, type: "service" },
      { clientId: "page", tenantId, type: "user_interface" },
    ]);
    const apiClients = [{ clientId: "portal", redirectUris: ["http://127.0.0.1/callback"] }];
    const operators = [{ tenantId: "acme", userId: "ada", capabilities: [] }];
    const seed = { plugins, apiClients, operators };
    await writeFile(file, JSON.stringify(seed));
    const running = startCli(["emulate", "--seed-file", file, "--watch"], { TMPDIR: temporary });
    await running.seen(/Ctrl-C ends it/);
    const env = exported((await running.seen(/(?:export .*\n)+/))[0]);
    const [, keyFile = ""] = await running.seen(
      /The key of page \(user_interface, tenant blue-green\): (\S+)/,
    );
    expect(JSON.parse(await readFile(keyFile, "utf8"))).toMatchObject({ kty: "RSA", d: expect.any(String) });
    expect((await stat(keyFile)).mode & 0o777).toBe(0o600);
    await running.seen(new RegExp(`The host application: ${env.BIVARIANT_BASE_URL}/host/acme`));
    const [, page = ""] = await running.seen(/Watch and steer it: (\S+)/);
    expect((await fetch(page)).status).toBe(200);

    const storeKey = () => readFile(env.BIVARIANT_STORE_KEY_FILE ?? "", "utf8");
    const before = await storeKey();
    await writeFile(file, JSON.stringify({ ...seed, operators: [] }));
    await running.seen(/Read .*tenants\.json again/);
    expect(await storeKey()).toBe(before);
    running.child.kill("SIGTERM");
    expect((await running.ended).code).toBe(0);
    expect(await ours()).toEqual([]);
  });

  it("--rules prints the rules that it enforces and its options, and serves nothing", async () => {
    const [people, script] = await Promise.all([
      runInProcess(["emulate", "--rules"]),
      runInProcess(["emulate", "--rules", "--json"]),
    ]);
    expect(people.code).toBe(0);
    expect(people.stdout).toContain("assertion.audience (section ");
    expect(people.stdout).toContain("Off: aud is not checked");
    expect(people.stdout).toContain("narrowingDelayMs (section 2.1) is 0\n");
    const { rules, options } = JSON.parse(script.stdout);
    expect(rules["route.scope"]).toMatchObject({ answer: { status: 403 }, off: expect.any(String) });
    expect(options["refreshTokens.rotation"].default).toBe(true);
  });
});
