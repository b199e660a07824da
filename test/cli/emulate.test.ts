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
  const env = exported((await running.seen(/(?:export .*\n)+/))[0]);
  return { ...running, env, url: env.BIVARIANT_BASE_URL ?? "" };
}

function exported(lines: string): Record<string, string> {
  return Object.fromEntries(
    [...lines.matchAll(/^export (\w+)=(\S+)$/gm)].map(([, name, value]) => [name, value]),
  );
}

async function seedFile(content: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "seed-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "tenant.yaml");
  await writeFile(file, content);
  return file;
}

const call = (env: Environment, ...args: string[]) => cli(["call", "listDevices", ...args], env);
const tokenPathA = "/api/v1/acme/external-plugin/oauth/token";
const postGrant = (url: string, grant_type: string) =>
  fetch(url + tokenPathA, { method: "POST", body: new URLSearchParams({ grant_type }) });

describe.skipIf(process.platform === "win32")("emulate", () => {
  it("exports an environment for the other commands, with private files that it deletes at the end", async () => {
    const { env, ended, interrupt } = await serving();
    expect(Object.keys(env)).toEqual([
      ...["BIVARIANT_BASE_URL", "BIVARIANT_TENANT"],
      ...["BIVARIANT_A_CLIENT_ID", "BIVARIANT_A_PRIVATE_KEY_FILE"],
      ...["BIVARIANT_B_CLIENT_ID", "BIVARIANT_B_CLIENT_SECRET_FILE", "BIVARIANT_B_LOGIN_CLIENT_ID"],
      ...["BIVARIANT_B_AUTHORIZATION_ENDPOINT", "BIVARIANT_STORE_FILE", "BIVARIANT_STORE_KEY_FILE"],
    ]);
    const files = ["A_PRIVATE_KEY", "B_CLIENT_SECRET", "STORE_KEY"].map(
      (one) => env[`BIVARIANT_${one}_FILE`] ?? "",
    );
    for (const file of files) expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(dirname(files[0] ?? ""))).mode & 0o777).toBe(0o700);
    const [key = "", ...secrets] = await Promise.all(files.map((file) => readFile(file, "utf8")));
    const { d, p, q, dp, dq, qi } = JSON.parse(key);

    const refused = await cli(["token", "--a-client-id", "stranger"], env);
    const codes = [await call(env), await call(env, "--variant", "B"), refused].map(
      ({ code }) => code,
    );
    expect(codes).toEqual([0, 0, 3]);
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
    for (const line of stdout.trimEnd().split("\n"))
      expect(line).toMatch(/^export BIVARIANT_\w+=\S+$/);
    for (const pattern of [
      / POST \/api\/\S+ 400/g,
      /request\.grant-type/g,
      / GET \/v1\/devices 401/g,
    ])
      expect(stderr.match(pattern)).toHaveLength(1);
  });

  it("says that a request is a detection probe, so that it does not look like a misconfigured client", async () => {
    const { url, seen, ended, interrupt } = await serving();
    await cli(["detect", "--base-url", url, "--tenant", "acme"]);
    await seen(/\/external-plugin\/oauth\/token 400 {2}A requestToken {2}detection probe\n/);
    await seen(/\/v1\/auth\/bivariant-detect 404 {2}detection probe\n/);
    interrupt();
    expect(
      (await ended).stderr.match(/Nothing to correct: this is a detection probe/g),
    ).toHaveLength(2);
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
    const request = {
      method: "POST",
      path: "/v1/auth/token",
      status: 200,
      variant: "B",
      tenantId: "blue",
    };
    expect(JSON.parse(second)).toMatchObject({ request });
    expect(leaksOf(result)).toEqual([]);
  });

  const settingsFile = async (settings: object) => seedFile(JSON.stringify(settings, undefined, 2));

  it("becomes the deployment of a settings file, which the exported variables name to the other commands", async () => {
    const settings = {
      bearerStatus: 403,
      bearerBody: "no",
      unauthorizedStatuses: [403],
      successStatus: 201,
    };
    const file = await settingsFile({ ...settings, variants: ["A"] });
    const { env, url } = await serving("--settings", file, "--variant", "B");
    const refused = await fetch(`${url}/v1/devices`);
    expect([refused.status, await refused.text()]).toEqual([403, '"no"']);
    expect(env.BIVARIANT_SETTINGS).toBe(file);
    expect((await call(env)).code).toBe(0);
    expect((await postGrant(url, "password")).status).toBe(404);
  });

  it("lets the options of a seed file win over the settings file, also when it is read again", async () => {
    const settings = await settingsFile({ bearerStatus: 403, bearerBody: "no" });
    const file = await seedFile("options: { bearerStatus: 404 }\n");
    const { url, seen } = await serving("--settings", settings, "--seed-file", file, "--watch");
    const refused = async () => {
      const answer = await fetch(`${url}/v1/devices`);
      return [answer.status, await answer.text()];
    };
    expect(await refused()).toEqual([404, '"no"']);
    await writeFile(file, "options: {}\n");
    await seen(/Read the seed file again/);
    expect(await refused()).toEqual([403, '"no"']);
  });

  it("switches rules off by a settings file, a seed file and --without-rule, each switch by itself", async () => {
    const settings = await settingsFile({
      rules: { "assertion.id": false, "assertion.issuer": false },
    });
    const file = await seedFile(
      "options: { rules: { assertion.subject: false, assertion.issuer: true } }",
    );
    const flags = ["--without-rule", "code.plugin", "--without-rule", "code.tenant"];
    const { url } = await serving("--settings", settings, "--seed-file", file, ...flags);
    const page = await (await fetch(`${url}/_emulator/rules`)).text();
    const off = [...page.matchAll(/<a href="#([\w.-]+)"><code>/g)].map(([, rule]) => rule);
    expect(off.sort()).toEqual(["assertion.id", "assertion.subject", "code.plugin", "code.tenant"]);
  });

  it("exits 2 for --without-rule with a name that is not a rule, or a rule without a switch", async () => {
    const meant = '"assertion.ids" is not a rule; use assertion.id';
    await refused(["emulate", "--without-rule", "assertion.ids"], {}, meant);
    await refused(["emulate", "--without-rule", "code.known"], {}, "code.known has no switch");
  });

  it("exits 2 for a value in the settings file that only the emulator refuses, with its line", async () => {
    const file = await settingsFile({ bearerStatus: 403, refreshPath: "/host/planted" });
    const says = `${file}:3: refreshPath: must not be a path of the emulator's pages`;
    const { stderr } = await refused(
      ["emulate", "--settings", file],
      {},
      "--settings names a file",
      says,
    );
    expect(stderr).not.toContain("planted");
    await refused(
      ["emulate", "--settings", await settingsFile({ seed: {} })],
      {},
      'unknown key: "seed"',
    );
  });

  const info = 'info: { title: Alarms, version: "1" }\n';
  const document = `openapi: 3.1.0
paths:
  /api/v1/{tenantId}/alarms/{alarmId}:
    get:
      operationId: getAlarm
      security: [{ token: [alarms:read] }]
      responses: { "200": { description: One., content: { application/json: { example: { level: 3 } } } } }
      parameters: [{ name: alarmId, in: path, required: true, schema: { type: string } }]
${info}`;

  it("serves the operations of a document, prints them, and grants their scopes", async () => {
    const { env, url, seen } = await serving("--variant-a", await seedFile(document));
    await seen(
      / {2}A {2}getAlarm {2}GET \/api\/v1\/\{tenantId\}\/alarms\/\{alarmId\} {2}alarms:read/,
    );
    const { stdout } = await cli(["token", "--variant", "A"], env);
    const headers = { authorization: `Bearer ${stdout.trim()}` };
    const answer = await fetch(`${url}/api/v1/acme/alarms/7`, { headers });
    expect(await answer.json()).toEqual({ level: 3 });
  });

  it("follows references to other files in the folder of the document, or in that of --refs", async () => {
    const item = document.slice(document.indexOf("    get:"), document.indexOf(info));
    const file = await seedFile(item.replace(/^ {4}/gm, ""));
    const folder = dirname(file);
    await mkdir(join(folder, "api"));
    const main = join(folder, "api", "openapi.yaml");
    const path = "/api/v1/{tenantId}/alarms/{alarmId}";
    await writeFile(
      main,
      `openapi: 3.1.0\npaths: { "${path}": { $ref: ../tenant.yaml } }\n${info}`,
    );
    await refused(["emulate", "--variant-a", main], {}, "reference_external", "--refs <folder>");
    const { seen } = await serving("--variant-a", main, "--refs", folder);
    await seen(
      / {2}A {2}getAlarm {2}GET \/api\/v1\/\{tenantId\}\/alarms\/\{alarmId\} {2}alarms:read/,
    );
  });

  it("exits 2 for a mistake in a document, with its line and column", async () => {
    const file = await seedFile(document.replace('"200"', "20"));
    await refused(["emulate", "--variant-a", file], {}, "status_invalid", "tenant.yaml:7:24");
    const swapped = await seedFile(
      document
        .replace("alarms/{alarmId}", "external-plugin/oauth/token")
        .replace(/ +parameters.*\n/, ""),
    );
    await refused(
      ["emulate", "--variant-b", swapped],
      {},
      "document_swapped",
      "tenant.yaml:4:5",
      "documents swapped?",
    );
    await refused(["emulate", "--variant-b", "/nowhere.yaml"], {}, "document_unreadable", "ENOENT");
  });

  const long = `/tmp/${"x".repeat(300)}/tenant.yaml`;
  it("exits 2 when its port is taken", async () => {
    const { url } = await listen(() => {});
    await refused(
      ["emulate", "--port", new URL(url).port],
      {},
      "error listen_failed: ",
      "EADDRINUSE",
    );
  });

  it.each([
    ["a missing seed file", "--seed-file /nowhere/tenant.yaml", "error option_invalid"],
    [
      "a watched file with too long a name",
      `--seed-file ${long} --watch`,
      "--seed-file names a file that cannot be read (ENAMETOOLONG)",
    ],
    ["--watch without a seed file", "--watch", "--watch needs the file to watch"],
    ["a tenant beside a seed file", "--seed-file x --tenant t", "cannot be used with"],
    ["a random seed of letters", "--random-seed one", "It must be a whole number"],
    ["a page without http", "--page-url javascript:alert(1)", "plugins.1.pageUrl"],
  ])("exits 2 for %s", async (_, args, says) => {
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
    const [, keyFile = ""] = await seen(
      /The key of page \(user_interface, tenant blue-green\): (\S+)/,
    );
    expect(JSON.parse(await readFile(keyFile, "utf8"))).toMatchObject({
      kty: "RSA",
      d: expect.any(String),
    });
    expect((await stat(keyFile)).mode & 0o777).toBe(0o600);
    await seen(new RegExp(`The host application: ${url}/host/acme`));
    const [, page = ""] = await seen(/The page to watch and control it: (\S+)/);
    expect((await fetch(page)).status).toBe(200);
  });

  it("with --rules prints the rules and the options, and serves nothing", async () => {
    const people = await cli(["emulate", "--rules"]);
    const script = await cli(["emulate", "--rules", "--json"]);
    expect(people.code).toBe(0);
    expect(people.stdout).toMatch(
      /assertion\.audience answers 400 .*[\s\S]*Off: [\s\S]*narrowingDelayMs\n.*\n {2}Default: 0\n/,
    );
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
    expect((await call(env)).code).toBe(0);
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

  it("resets options that the file no longer names, and keeps the key of the stored logins", async () => {
    const apiClients =
      "apiClients: [{ clientId: portal, redirectUris: [http://127.0.0.1/callback] }]\n";
    const seed =
      `${account("robot")}${apiClients}plugins: [{ clientId: nightly, tenantId: ` +
      `acme, type: service }]\n`;
    const file = await seedFile(`${seed}options: { variants: [B] }\n`);
    const { url, env, seen } = await serving("--seed-file", file, "--watch");
    const storeKey = () => readFile(env.BIVARIANT_STORE_KEY_FILE ?? "", "utf8");
    const before = await storeKey();
    expect((await postGrant(url, "password")).status).toBe(404);
    await writeFile(file, seed);
    await seen(/^export BIVARIANT_A_CLIENT_ID=nightly$/m);
    expect((await postGrant(url, "password")).status).toBe(400);
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
