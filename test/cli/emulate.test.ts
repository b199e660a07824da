// `bivariant emulate`: the variables on stdout, the requests on stderr, the private files, and the
// watched seed file.
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { leaksOf } from "./cli-deployment.js";
import { cli, type Environment, type Running, refused, startCli } from "./command-line.js";
import { listen } from "./servers.js";

interface Serving extends Running {
  /** The variables that it exports at its start. */
  readonly env: Readonly<Record<string, string>>;
  readonly url: string;
}

async function serving(...args: string[]): Promise<Serving> {
  const running = startCli(["emulate", ...args]);
  onTestFinished(async () => {
    running.interrupt();
    await running.ended;
  });
  await running.seen(/Press Ctrl-C to stop/);
  const [lines] = await running.seen(/(?:export .*\n)+/);
  const exported = [...lines.matchAll(/^export (\w+)=(\S+)$/gm)];
  const env = Object.fromEntries(exported.map(([, name, value]) => [name, value]));
  return { ...running, env, url: env.BIVARIANT_BASE_URL ?? "" };
}

async function seedFile(content: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "seed-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "tenant.yaml");
  await writeFile(file, content);
  return file;
}

const settingsFile = (settings: object) => seedFile(JSON.stringify(settings, undefined, 2));
const call = (env: Environment, ...args: string[]) => cli(["call", "listDevices", ...args], env);
const tokenPathA = "/api/v1/acme/external-plugin/oauth/token";
const postGrant = (url: string, grant_type: string) =>
  fetch(url + tokenPathA, { method: "POST", body: new URLSearchParams({ grant_type }) });
async function refusalAt(url: string) {
  const answer = await fetch(`${url}/v1/devices`);
  return [answer.status, await answer.text()];
}

describe.skipIf(process.platform === "win32")("emulate", () => {
  it("exports an environment for the other commands, with private files that it deletes at the end", async () => {
    const { env, ended, interrupt } = await serving();
    const names =
      "BASE_URL TENANT A_CLIENT_ID A_PRIVATE_KEY_FILE B_CLIENT_ID B_CLIENT_SECRET_FILE " +
      "B_LOGIN_CLIENT_ID B_AUTHORIZATION_ENDPOINT STORE_FILE STORE_KEY_FILE";
    expect(Object.keys(env)).toEqual(names.split(" ").map((name) => `BIVARIANT_${name}`));
    const files = ["A_PRIVATE_KEY", "B_CLIENT_SECRET", "STORE_KEY"].map(
      (one) => env[`BIVARIANT_${one}_FILE`] ?? "",
    );
    for (const file of files) expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(dirname(files[0] ?? ""))).mode & 0o777).toBe(0o700);
    const [key = "", ...secrets] = await Promise.all(files.map((file) => readFile(file, "utf8")));
    const { d, p, q, dp, dq, qi } = JSON.parse(key);

    const stranger = await cli(["token", "--a-client-id", "stranger"], env);
    const ends = [await call(env), await call(env, "--variant", "B"), stranger];
    expect(ends.map(({ code }) => code)).toEqual([0, 0, 3]);
    interrupt();
    const result = await ended;
    expect(result.code).toBe(0);
    expect(leaksOf(result, [...secrets, d, p, q, dp, dq, qi])).toEqual([]);
    expect(files.some(existsSync)).toBe(false);
  });

  it("prints each request and the reason of each refusal once on stderr; stdout holds the variables only", async () => {
    const { url, seen, ended, interrupt } = await serving();
    expect((await postGrant(url, "password")).status).toBe(400);
    await seen(/ {2}token-request\.grant-type \(section /);
    await fetch(`${url}/v1/devices`);
    await seen(/ GET \/v1\/devices 401/);
    // The requests that were printed are still on the page.
    const page = async (name: string) => (await fetch(`${url}/_emulator/live/${name}`)).text();
    expect(await page("log")).toContain("token-request.grant-type");
    expect(await page("journal")).toContain(tokenPathA);
    interrupt();
    const { stdout, stderr } = await ended;
    expect(stdout).toMatch(/^(?:export BIVARIANT_\w+=\S+\n)+$/);
    const once = [/ POST \/api\/\S+ 400/g, /request\.grant-type/g, / GET \/v1\/devices 401/g];
    for (const pattern of once) expect(stderr.match(pattern)).toHaveLength(1);
  });

  it("says that a request is a detection probe, so that it does not look like a misconfigured client", async () => {
    const { url, seen, ended, interrupt } = await serving();
    await cli(["detect", "--base-url", url, "--tenant", "acme"]);
    await seen(/\/external-plugin\/oauth\/token 400 {2}A requestToken {2}detection probe\n/);
    await seen(/\/v1\/auth\/bivariant-detect 404 {2}detection probe\n/);
    interrupt();
    const { stderr } = await ended;
    expect(stderr.match(/Nothing to correct: this is a detection probe/g)).toHaveLength(2);
  });

  it("with --json prints one JSON object on each line of stdout", async () => {
    const args = "emulate --json --variant B --tenant blue --b-client-id robot";
    const running = startCli(args.split(" "));
    const [line] = await running.seen(/^.*"environment".*\n/);
    const { served, environment } = JSON.parse(line);
    expect(served).toEqual(["B"]);
    expect(Object.keys(environment).some((name) => name.startsWith("BIVARIANT_A_"))).toBe(false);
    expect(environment).toMatchObject({ BIVARIANT_TENANT: "blue", BIVARIANT_B_CLIENT_ID: "robot" });
    expect((await cli(["token"], environment)).code).toBe(0);
    await running.seen(/"request":/);
    running.interrupt();
    const result = await running.ended;
    expect(result.code).toBe(0);
    const [, second = ""] = result.stdout.split("\n");
    const request = { method: "POST", path: "/v1/auth/token", status: 200, variant: "B" };
    expect(JSON.parse(second)).toMatchObject({ request: { ...request, tenantId: "blue" } });
    expect(leaksOf(result)).toEqual([]);
  });

  it("becomes the deployment of a settings file, which the exported variables name to the other commands", async () => {
    const bearer = { bearerStatus: 403, bearerBody: "no", unauthorizedStatuses: [403] };
    const file = await settingsFile({ ...bearer, successStatus: 201, variants: ["A"] });
    const { env, url } = await serving("--settings", file, "--variant", "B");
    expect(await refusalAt(url)).toEqual([403, '"no"']);
    expect(env.BIVARIANT_SETTINGS).toBe(file);
    expect((await call(env)).code).toBe(0);
    expect((await postGrant(url, "password")).status).toBe(404);
  });

  it("switches rules off by a settings file, a seed file and --without-rule, each switch by itself", async () => {
    const rules = { "assertion.id": false, "assertion.issuer": false };
    const settings = await settingsFile({ rules });
    const file = await seedFile(
      "options: { rules: { assertion.subject: false, assertion.issuer: true } }",
    );
    const flags = ["--without-rule", "code.plugin", "--without-rule", "code.tenant"];
    const { url } = await serving("--settings", settings, "--seed-file", file, ...flags);
    const page = await (await fetch(`${url}/_emulator/rules`)).text();
    const off = [...page.matchAll(/<a href="#([\w.-]+)"><code>/g)].map(([, rule]) => rule);
    expect(off.sort()).toEqual(["assertion.id", "assertion.subject", "code.plugin", "code.tenant"]);
  });

  it("exits 2 for a value in the settings file that only the emulator refuses, with its line", async () => {
    const file = await settingsFile({ bearerStatus: 403, refreshPath: "/host/planted" });
    const says = `${file}:3: refreshPath: must not be a path of the emulator's pages`;
    const { stderr } = await refused(["emulate", "--settings", file], {}, says);
    expect(stderr).not.toContain("planted");
  });

  const info = 'info: { title: Alarms, version: "1" }\n';
  const item = `get:
      operationId: getAlarm
      security: [{ token: [alarms:read] }]
      responses: { "200": { description: One., content: { application/json: { example: { level: 3 } } } } }
      parameters: [{ name: alarmId, in: path, required: true, schema: { type: string } }]
`;
  const path = "/api/v1/{tenantId}/alarms/{alarmId}";
  const documentOf = (item: string) => `openapi: 3.1.0\npaths:\n  ${path}:\n    ${item}${info}`;

  it("serves the operations of a document and of files in --refs, and grants their scopes", async () => {
    const folder = dirname(await seedFile(item.replace(/^ {4}/gm, "")));
    await mkdir(join(folder, "api"));
    const main = join(folder, "api", "openapi.yaml");
    await writeFile(main, documentOf("$ref: ../tenant.yaml\n"));
    await refused(["emulate", "--variant-a", main], {}, "reference_external", "--refs <folder>");
    const { env, url, seen } = await serving("--variant-a", main, "--refs", folder);
    const operation =
      /A {2}getAlarm {2}GET \/api\/v1\/\{tenantId\}\/alarms\/\{alarmId\} {2}alarms:r/;
    await seen(operation);
    const { stdout } = await cli(["token", "--variant", "A"], env);
    const headers = { authorization: `Bearer ${stdout.trim()}` };
    const answer = await fetch(`${url}/api/v1/acme/alarms/7`, { headers });
    expect(await answer.json()).toEqual({ level: 3 });
  });

  it("exits 2 for a mistake in a document, with its line and column", async () => {
    const file = await seedFile(documentOf(item.replace('"200"', "20")));
    await refused(["emulate", "--variant-a", file], {}, "status_invalid", "tenant.yaml:7:24");
  });

  it("exits 2 when its port is taken", async () => {
    const { port } = new URL((await listen(() => {})).url);
    await refused(["emulate", "--port", port], {}, "error listen_failed: ", "EADDRINUSE");
  });

  const long = `/tmp/${"x".repeat(300)}/tenant.yaml`;
  const unreadable = "--seed-file names a file that cannot be read (ENAMETOOLONG)";
  it.each([
    ["--without-rule assertion.ids", '"assertion.ids" is not a rule; use assertion.id'],
    ["--without-rule code.known", "code.known has no switch"],
    ["--seed-file /nowhere/tenant.yaml", "error option_invalid"],
    [`--seed-file ${long} --watch`, unreadable],
    ["--watch", "--watch needs the file to watch"],
    ["--refs .", "--refs needs a document"],
    ["--seed-file x --tenant t", "cannot be used with"],
    ["--random-seed one", "It must be a whole number"],
    ["--page-url javascript:alert(1)", "--page-url must be an http"],
    ["--variant-b /nowhere.yaml", "document_unreadable"],
  ])("exits 2 for %s", async (args, says) => {
    await refused(["emulate", ...args.split(" ")], {}, says);
  });

  it("prints where its page, the host application and the keys of further plugins are", async () => {
    const plugins = ["acme", "blue-green"].flatMap((tenantId) => [
      { clientId: "nightly", tenantId, type: "service" },
      { clientId: "page", tenantId, type: "user_interface" },
    ]);
    const operators = [{ tenantId: "acme", userId: "ada", capabilities: [] }];
    const file = await seedFile(JSON.stringify({ plugins, operators }));
    const { seen, url } = await serving("--seed-file", file);
    const ofPage = /The key of page \(user_interface, tenant blue-green\): (\S+)/;
    const [, keyFile = ""] = await seen(ofPage);
    const key = JSON.parse(await readFile(keyFile, "utf8"));
    expect(key).toMatchObject({ kty: "RSA", d: expect.any(String) });
    expect((await stat(keyFile)).mode & 0o777).toBe(0o600);
    await seen(new RegExp(`The host application: ${url}/host/acme`));
    const [, page = ""] = await seen(/The page to watch and control it: (\S+)/);
    expect((await fetch(page)).status).toBe(200);
  });

  it("with --rules prints the rules and the options, and serves nothing", async () => {
    const people = await cli(["emulate", "--rules"]);
    const script = await cli(["emulate", "--rules", "--json"]);
    expect(people.code).toBe(0);
    const ruleAndOption =
      /assertion\.audience answers 400 .*[\s\S]*Off: [\s\S]*narrowingDelayMs\n.*\n {2}Default: 0\n/;
    expect(people.stdout).toMatch(ruleAndOption);
    const { rules, options } = JSON.parse(script.stdout);
    expect(rules["route.scope"]).toMatchObject({ answer: { status: 403 } });
    expect(options["refreshTokens.rotation"].default).toBe(true);
  });
});

describe.skipIf(process.platform === "win32")("emulate --watch", () => {
  const account = (clientId: string) =>
    `serviceAccounts: [{ clientId: ${clientId}, clientSecret: not-a-secret, tenantId: acme }]\n`;

  it("reads the seed file again when it changes, and keeps the old state after a mistake in it", async () => {
    const seed = (scopes: string) =>
      `options: { variants: [A] }\nplugins:\n  - { clientId: nightly, tenantId: blue, type: ` +
      `service, scopes: [${scopes}] }\n`;
    const file = await seedFile(seed("devices:read"));
    const { env, seen } = await serving("--seed-file", file, "--watch", "--random-seed", "5");
    expect(env).toMatchObject({ BIVARIANT_TENANT: "blue", BIVARIANT_A_CLIENT_ID: "nightly" });
    expect(Object.keys(env).some((name) => name.startsWith("BIVARIANT_B_"))).toBe(false);
    await writeFile(file, seed("devices"));
    await seen(/the old state stays:\n.*tenant\.yaml:3: plugins\.0\.scopes\.0: /);
    expect((await call(env)).code).toBe(0);
    // Editors replace the file.
    await writeFile(`${file}.new`, seed(""));
    await rename(`${file}.new`, file);
    await seen(/Read the seed file again/);
    // --random-seed keeps the key.
    expect((await call(env)).code).toBe(6);
  });

  it("resets options that the file no longer names to those of the settings file, and keeps the key of the stored logins", async () => {
    const seed =
      `${account("robot")}plugins: [{ clientId: nightly, tenantId: acme, type: service }]\n` +
      "apiClients: [{ clientId: portal, redirectUris: [http://127.0.0.1/callback] }]\n";
    const file = await seedFile(`${seed}options: { variants: [B], bearerStatus: 404 }\n`);
    const settings = await settingsFile({ bearerStatus: 403, bearerBody: "no" });
    const args = ["--settings", settings, "--seed-file", file, "--watch"];
    const { url, env, seen } = await serving(...args);
    const storeKey = () => readFile(env.BIVARIANT_STORE_KEY_FILE ?? "", "utf8");
    const before = await storeKey();
    expect(await refusalAt(url)).toEqual([404, '"no"']);
    await writeFile(file, seed);
    await seen(/^export BIVARIANT_A_CLIENT_ID=nightly$/m);
    expect(await refusalAt(url)).toEqual([403, '"no"']);
    expect(await storeKey()).toBe(before);
  });

  it("continues to serve when its private files are gone, and reports that and what needs a restart", async () => {
    const file = await seedFile(account("first"));
    const { url, env, seen } = await serving("--seed-file", file, "--watch");
    await rm(dirname(env.BIVARIANT_B_CLIENT_SECRET_FILE ?? ""), { recursive: true });
    await writeFile(file, `${account("second")}options: { publicUrl: "https://other.example" }\n`);
    await seen(/Its files cannot be written:\n.*ENOENT/);
    await seen(/These change only with a restart: publicUrl\./);
    expect((await fetch(`${url}/v1/devices`)).status).toBe(401);
  });

  it("sees changes behind a link and in a folder that replaces another", async () => {
    const file = await seedFile("");
    const folder = dirname(file);
    const write = async (name: string, clientId: string) => {
      await mkdir(join(folder, name), { recursive: true });
      await writeFile(join(folder, name, "tenant.yaml"), account(clientId));
    };
    await write("one", "first");
    await write("two", "third");
    await rm(file);
    await symlink("one", join(folder, "current"));
    await symlink(join("current", "tenant.yaml"), file);
    const { seen } = await serving("--seed-file", file, "--watch");
    const served = (clientId: string) =>
      seen(new RegExp(`^export BIVARIANT_B_CLIENT_ID=${clientId}$`, "m"));
    await write("one", "second");
    await served("second");
    await symlink("two", join(folder, "next"));
    await rename(join(folder, "next"), join(folder, "current"));
    await served("third");
    await rename(join(folder, "two"), join(folder, "old"));
    await write("two", "fourth");
    await served("fourth");
  });
});
