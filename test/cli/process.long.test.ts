// Tests that need a real process: signals, broken pipes, a full disk, NODE_EXTRA_CA_CERTS.
// A process has the machine's time: each is awaited by what it prints, or by its end.
import { execFile } from "node:child_process";
import { existsSync, openSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { createEmulator } from "../../src/emulator/index.js";
import { privateKeyPem, registerBoth, startDeployment } from "./cli-deployment.js";
import { builtProgram, type Ended, type Environment, startProcess } from "./command-line.js";
import { certificateFile, listen, startProxy, startSecureFront } from "./servers.js";

const cli = async (args: readonly string[], env?: Environment): Promise<Ended> =>
  (await startProcess(args, env)).ended;

/** The processes put their temporary files here. */
let temporary: string;
beforeAll(async () => {
  temporary = (await startDeployment()).folder;
});

const posix = test.skipIf(process.platform === "win32");

describe.concurrent("the process", () => {
  test("prints the version of the package, and loads no package but commander for that", async () => {
    const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
    const { code, stdout, stderr } = await cli(["--version"], { NODE_DEBUG: "esm" });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${JSON.parse(manifest).version}\n` });
    expect(loadedIn(stderr)).toEqual(new Set(["commander"]));
  });

  const loadedIn = (debug: string) =>
    new Set([...debug.matchAll(/node_modules\/([a-z@][\w-]*)\//g)].map(([, name]) => name));

  test.each([
    { command: "emulate --help", packages: [] },
    { command: "generate --help", packages: [] },
    { command: "token --variant B", packages: [] },
    { command: "call listDevices --variant A", packages: ["jose", "oauth4webapi"] },
  ])(
    "$command loads only the packages that it uses, because each costs start-up time",
    async (row) => {
      const { env } = await startDeployment();
      const { code, stderr } = await cli(row.command.split(" "), { ...env, NODE_DEBUG: "esm" });
      expect(code).toBe(0);
      expect(loadedIn(stderr)).toEqual(new Set(["commander", ...row.packages]));
    },
  );

  test.skipIf(!existsSync("/dev/full"))("reports a full disk on stderr and exits 70", async () => {
    const { ended } = await startProcess(["--help"], {}, openSync("/dev/full", "w"));
    const stderr = "The output could not be written (ENOSPC).\n";
    expect(await ended).toMatchObject({ code: 70, stderr });
  });

  posix("exits 141 without a message when its reader has gone", async () => {
    const { child, ended } = await startProcess(["demo"]);
    child.stdout?.destroy();
    expect(await ended).toEqual({ code: 141, stdout: "", stderr: "" });
  });

  test("reads stdin for `-`, and refuses a second option that names it", async () => {
    const { env } = await startDeployment();
    const withInput = async (args: string, input: string) => {
      const { child, ended } = await startProcess(args.split(" "), env, "pipe", "pipe");
      child.stdin?.on("error", () => {}).end(input);
      return ended;
    };
    const key = "token --variant A --a-private-key-file -";
    expect(await withInput(key, privateKeyPem)).toMatchObject({ code: 0 });
    const twice = await withInput("contract --target - --baseline -", '{ "results": [] }');
    expect(twice).toMatchObject({ code: 2, stdout: "" });
    const says = "cannot read stdin, which another option reads. Name a file here.";
    expect(twice.stderr).toContain(says);
  });

  posix("generates from the pipe of a process substitution", async () => {
    const folder = fileURLToPath(new URL("../../openapi/", import.meta.url));
    const documents = '--variant-a <(cat "$2variant-a.yaml") --variant-b "$2variant-b.yaml"';
    const script = `exec "$0" "$1" generate ${documents} --out "$3"`;
    const out = join(await mkdtemp(join(temporary, "piped-")), "out");
    const args = ["-c", script, process.execPath, builtProgram(), folder, out];
    const { stdout } = await promisify(execFile)("bash", args);
    expect(stdout).toContain(`${out}/operations.ts`);
  });

  interface Interrupted {
    readonly command: string;
    readonly signal: NodeJS.Signals;
    /** Default: that of the signal. */
    readonly code?: number;
    /** What it prints when it has begun. Default: its first request has come, without an answer. */
    readonly seen?: RegExp;
    /** The files that are to stay. */
    readonly leaves?: readonly string[];
  }
  /** One command with files for each signal, since `main.ts` treats all of them alike. */
  const interrupted: readonly Interrupted[] = [
    {
      command: "contract --junit OUT/junit.xml --html OUT/page.html --learn OUT/learnt.yaml",
      signal: "SIGTERM",
      leaves: ["junit.xml", "learnt.settings.json", "learnt.yaml", "page.html"],
    },
    {
      command: "survey CUSTOMERS --state OUT/state --csv OUT/csv --html OUT/html",
      signal: "SIGHUP",
      leaves: ["state"],
    },
    {
      command: "login --authorization-endpoint /authorize --store-file OUT/grants --no-browser",
      signal: "SIGQUIT",
      seen: /code_challenge/,
      leaves: ["grants.key"],
    },
    { command: "emulate --watch --seed-file SEED", signal: "SIGTERM", code: 0, seen: /Ctrl-C/ },
    { command: "emulate", signal: "SIGINT", code: 0, seen: /Ctrl-C/ },
    {
      command: "generate --variant-a LARGE --variant-b LARGE --out OUT/generated",
      signal: "SIGTERM",
      seen: /Still generating/,
    },
  ];

  const content = { "application/json": { schema: { type: "object" } } };
  const operation = { responses: { 200: { description: "One.", content } } };
  const large = () => ({
    openapi: "3.1.0",
    info: { title: "Large", version: "1" },
    paths: Object.fromEntries(
      Array.from({ length: 10_000 }, (_, at) => [
        `/things${at}`,
        { get: { operationId: `get${at}`, ...operation } },
      ]),
    ),
  });

  posix.each(interrupted)(
    "$command exits on $signal, and leaves no temporary file",
    async ({ command, signal, seen, leaves = [], code = 128 + constants.signals[signal] }) => {
      const { env, folder: files } = await startDeployment();
      const folder = await mkdtemp(join(temporary, "signal-"));
      const [temporaries, kept] = [join(folder, "tmp"), join(folder, "kept")];
      await Promise.all([mkdir(temporaries), mkdir(kept)]);
      let asked = () => {};
      const isAsked = new Promise<void>((resolve) => {
        asked = resolve;
      });
      const { url } = await listen(() => asked());
      await writeFile(join(files, "CUSTOMERS"), `baseUrl,tenantId\n${url},acme\n`);
      await writeFile(join(files, "SEED"), "{}\n");
      if (command.includes("LARGE")) await writeFile(join(files, "LARGE"), JSON.stringify(large()));
      const args = command
        .replaceAll("OUT", kept)
        .replaceAll(/\b(?:CUSTOMERS|SEED|LARGE)\b/g, (name) => join(files, name))
        .split(" ");
      const given = { ...env, BIVARIANT_BASE_URL: url, TMPDIR: temporaries };
      const running = await startProcess(args, given);
      await (seen ? running.seen(seen) : isAsked);
      running.child.kill(signal);
      const result = await running.ended;
      expect(result).toMatchObject({ code });
      if (code !== 0) expect(result.stderr).toMatch(/Interrupted\.\n$/);
      expect(await readdir(temporaries)).toEqual([]);
      expect((await readdir(kept)).sort()).toEqual(leaves);
      for (const name of await readdir(kept, { recursive: true }))
        expect(name).not.toMatch(/\.tmp$|lock|generating/);
    },
  );

  posix("emulate ends and deletes its files when its reader has gone", async () => {
    const folder = await mkdtemp(join(temporary, "reader-"));
    const running = await startProcess(["emulate", "--json"], { TMPDIR: folder });
    const [line] = await running.seen(/^.*"environment".*\n/);
    running.child.stdout?.destroy();
    await fetch(`${JSON.parse(line).environment.BIVARIANT_BASE_URL}/anything`);
    expect((await running.ended).code).toBe(141);
    expect(await readdir(folder)).toEqual([]);
  });
});

describe("https with NODE_EXTRA_CA_CERTS", () => {
  async function startSecure(publicUrl?: string) {
    const { env } = await startDeployment();
    let answer = async (_: Request) => new Response(null, { status: 500 });
    const front = await startSecureFront((request) => answer(request));
    const baseUrl = publicUrl ?? front.url;
    const emulator = createEmulator({ publicUrl: baseUrl });
    registerBoth(emulator);
    answer = (request) => emulator.fetch(request);
    const trusting = { ...env, BIVARIANT_BASE_URL: baseUrl, NODE_EXTRA_CA_CERTS: certificateFile };
    return { env: trusting, front, emulator };
  }

  test("goes through a proxy by CONNECT", async () => {
    const { env, front, emulator } = await startSecure("https://customer.example");
    const proxy = await startProxy(front.url);
    const args = ["call", "listDevices", "--variant", "B"];
    expect((await cli(args, { ...env, HTTPS_PROXY: proxy.url })).code).toBe(0);
    expect(emulator.journal.entries({ operation: "listDevices" })).toHaveLength(1);
    expect(new Set(proxy.requests)).toEqual(new Set(["CONNECT customer.example:443"]));
  });

  const unchecked = { NODE_TLS_REJECT_UNAUTHORIZED: "0" };
  test.each([
    { name: "passes with a trusted certificate", verdict: "pass", says: /accepted/ },
    { name: "fails for another name", host: "localhost", verdict: "fail", says: /a name that the/ },
    { name: "fails if not checked", env: unchecked, verdict: "fail", says: /TLS_REJECT/ },
  ])("doctor's check tls $name", async ({ env: changes, host = "127.0.0.1", verdict, says }) => {
    const { env } = await startSecure();
    const url = env.BIVARIANT_BASE_URL.replace("127.0.0.1", host);
    const { stdout } = await cli(["doctor", "--json", "--base-url", url], { ...env, ...changes });
    const { findings } = JSON.parse(stdout) as { findings: { check: string; verdict: string }[] };
    const tls = findings.find(({ check }) => check === "tls");
    expect(tls?.verdict).toBe(verdict);
    expect(JSON.stringify(tls)).toMatch(says);
    const call = findings.find(({ check }) => check === "api_call");
    expect(call?.verdict).toBe(host === "localhost" ? "unknown" : "pass");
  });
});
