// `bivariant survey`: its outputs and exit codes, what it refuses before the first request, and
// Ctrl-C. What it finds out, and what it reads and writes, is tested in test/survey.
import { existsSync, mkdirSync, openSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createEmulator, type Emulator } from "../../src/emulator/index.js";
import type { SurveyResult } from "../../src/survey/index.js";
import { whenDone } from "../support/when-done.js";
import { clientSecret, leaksOf, privateKeyPem, signingKey } from "./cli-deployment.js";
import { cli, refused, startCli, startProcess } from "./command-line.js";
import { listen } from "./servers.js";

let folder: string;
let emulators: { readonly a: Emulator; readonly b: Emulator };
let urls: { readonly a: string; readonly b: string };
let hanging: string;

beforeAll(async () => {
  emulators = { a: createEmulator({ variants: ["A"] }), b: createEmulator({ variants: ["B"] }) };
  const plugin = { clientId: "reporter", type: "service" } as const;
  const jwks = { keys: [signingKey.publicJwk] };
  for (const tenantId of ["one", "two", "narrow"]) {
    const scopes = tenantId === "narrow" ? [] : ["devices:read"];
    emulators.a.registerPlugin({ ...plugin, tenantId, jwks, scopes });
  }
  emulators.b.registerServiceAccount({ clientId: "account", clientSecret, tenantId: "three" });
  const [a, b] = [await emulators.a.listen(), await emulators.b.listen()];
  urls = { a: a.url, b: b.url };
  hanging = (await listen(() => {})).url;
  whenDone(() => Promise.all([a.close(), b.close()]));
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "cli-survey-"));
  await writeFile(join(folder, "key.pem"), privateKeyPem);
  return () => rm(folder, { recursive: true });
});

const path = (name: string) => join(folder, name);
const header =
  "baseUrl,tenantId,aClientId,aPrivateKeyFile,aKeyId,bClientId,bClientSecretVariable,region";
const pluginOf = (tenant: string, region = "") =>
  `${urls.a},${tenant},reporter,key.pem,${signingKey.kid},,,${region}`;
const account = () => `${urls.b},three,,,,account,SECRET,`;
const env = { SECRET: clientSecret };
const sound = () => [header, pluginOf("one"), pluginOf("two"), account()].join("\n");
const broken = () => [sound(), pluginOf("narrow", "=cmd()"), `${urls.b},,,,,,,`].join("\n");

async function customers(text: string): Promise<string> {
  await writeFile(path("customers.csv"), text);
  return path("customers.csv");
}
const linesOf = (stdout: string): SurveyResult[] =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
const requests = () =>
  [emulators.a, emulators.b].reduce((sum, { journal }) => sum + journal.entries().length, 0);

describe("survey", () => {
  test("exits 0 when all customers work, with a table", async () => {
    const result = await cli(["survey", await customers(sound())], env);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    expect(leaksOf(result)).toEqual([]);
    expect(result.stdout.split("\n").slice(0, 3).sort()).toEqual([
      `works  A  one                    ${urls.a}`,
      `works  A  two                    ${urls.a}`,
      `works  B  three                  ${urls.b}`,
    ]);
    expect(result.stdout).toMatch(/^works +2 +1 +0$/m);
  });

  test("exits 1 when one does not work, and says what to do", async () => {
    const result = await cli(["survey", await customers(broken())], env);
    expect(result).toMatchObject({ code: 1, stderr: "" });
    const remedy = /^fails {2}A {2}narrow.*\n {10}-> api_forbidden: Ask the customer to check/m;
    expect(result.stdout).toMatch(remedy);
    expect(result.stdout).toMatch(/^served B {2}- /m);
  });

  test("cuts a long tenant and address in the table only", async () => {
    const long = `${urls.a}/${"prefix".repeat(20)}`;
    const text = `baseUrl,tenantId\n${long},${"t".repeat(60)}\n`;
    const { stdout } = await cli(["survey", await customers(text)], {});
    expect(stdout.split("\n")[0]).toMatch(/^fails {2}- {2}t{21}… http.{39}…$/);
    const json = await cli(["survey", "--json", await customers(text)]);
    expect(linesOf(json.stdout)[0]).toMatchObject({ baseUrl: long, tenantId: "t".repeat(60) });
  });

  test("--json prints one line for each customer, and nothing else", async () => {
    const result = await cli(["survey", "--json", await customers(broken())], env);
    expect(result).toMatchObject({ code: 1, stderr: "" });
    expect(leaksOf(result)).toEqual([]);
    const lines = linesOf(result.stdout);
    const summary = lines.map(({ tenantId, variant, works, code }) =>
      [tenantId, variant, works, code].join(" "),
    );
    const sound = [" B true ", "one A true ", "three B true ", "two A true "];
    expect(summary.sort()).toEqual(["narrow A false api_forbidden", ...sound].sort());
    const remedy = expect.stringContaining("devices:read");
    expect(lines.find(({ works }) => !works)).toMatchObject({ remedy, line: 5 });
  });

  test("reads stdin for -, with paths of secrets from the working directory", async () => {
    const { child, ended } = await startProcess(["survey", "-", "--json"], env, "pipe", "pipe");
    const row = { baseUrl: urls.b, bClientId: "account", bClientSecretVariable: "SECRET" };
    child.stdin?.end(JSON.stringify(row));
    const { code, stdout } = await ended;
    expect([code, linesOf(stdout).map(({ works }) => works)]).toEqual([0, [true]]);
  });

  test("--csv and --html write files, in the order of the input, and the page has no secret", async () => {
    const reports = ["--csv", path("out.csv"), "--html", path("out.html")];
    const result = await cli(["survey", await customers(broken()), ...reports], env);
    expect(result.code).toBe(1);
    const [, ...rows]: string[][] = parse(await readFile(path("out.csv"), "utf8"));
    expect(rows.map(([tenantId]) => tenantId)).toEqual(["one", "two", "three", "narrow", ""]);
    expect(rows[3]?.at(-1)).toBe("'=cmd()");
    const page = await readFile(path("out.html"), "utf8");
    expect(page).toContain("<title>Survey of 5 customers</title>");
    expect(leaksOf({ stdout: page + rows.flat().join(), stderr: "" })).toEqual([]);
    const names = ["customers.csv", "key.pem", "out.csv", "out.html"];
    expect((await readdir(folder)).sort()).toEqual(names);
  });

  test("--html writes the file behind a link, and keeps its mode", async () => {
    await writeFile(path("page.html"), "old", { mode: 0o600 });
    await symlink("page.html", path("link.html"));
    const args = ["survey", await customers(sound()), "--html", path("link.html")];
    expect(await cli(args, env)).toMatchObject({ code: 0 });
    expect(await readFile(path("page.html"), "utf8")).toContain("<title>");
    expect((await stat(path("page.html"))).mode & 0o777).toBe(0o600);
  });

  test("refuses a report that has become a folder, and leaves no other file", async () => {
    const { url } = await listen((_, response) => {
      mkdirSync(path("page.html"), { recursive: true });
      response.writeHead(404).end();
    });
    const args = ["survey", await customers(`baseUrl\n${url}`), "--html", path("page.html")];
    const { code, stderr } = await cli(args, env);
    expect(code).toBe(2);
    expect(stderr).toContain("--html names a file that cannot be written (EISDIR)");
    expect((await readdir(folder)).sort()).toEqual(["customers.csv", "key.pem", "page.html"]);
  });

  test("--csv - prints the CSV in place of the table", async () => {
    const { stdout } = await cli(["survey", await customers(sound()), "--csv", "-"], env);
    expect(parse(stdout)).toHaveLength(4);
  });

  test("--since counts the customers that moved, broke, recovered and are gone", async () => {
    const file = await customers(broken());
    const { stdout } = await cli(["survey", file, "--json"], env);
    const changed: Record<string, Partial<SurveyResult>> = {
      one: { variant: "B" },
      two: { works: false },
      narrow: { works: true },
      null: { tenantId: "left" },
    };
    const before = linesOf(stdout).map((one) => ({ ...one, ...changed[String(one.tenantId)] }));
    await writeFile(path("before.json"), before.map((one) => JSON.stringify(one)).join("\n"));
    const now = await cli(["survey", file, "--since", path("before.json")], env);
    const counts = "1 moved to another variant, 1 broke, 1 recovered, 1 new, 1 gone.";
    expect(now.stdout).toContain(`Since then: ${counts}`);
    expect(now.stdout).toMatch(/ one +\S+\n +moved to another variant\n/);
    const json = await cli(["survey", file, "--json", "--since", path("before.json")], env);
    const changes = linesOf(json.stdout).map(({ tenantId, changes = [] }) =>
      [tenantId, ...changes].join(" "),
    );
    expect(changes.sort()).toEqual([" new", "narrow broke", "one moved", "three", "two recovered"]);
  });

  test("--dry-run says how many requests each customer gets, and sends none", async () => {
    const file = await customers(broken());
    const before = requests();
    const result = await cli(["survey", file, "--dry-run"], env);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    const each = result.stdout.match(/^ \d requests/gm)?.map((text) => Number(text.split(" ")[1]));
    expect(each).toEqual([6, 6, 6, 6, 3]);
    expect(result.stdout).toContain("At most 27 requests to 5 customers");
    const { stdout } = await cli(["survey", file, "--dry-run", "--json"], env);
    expect(JSON.parse(stdout.split("\n")[0] ?? "")).toEqual({
      tenantId: "one",
      baseUrl: urls.a,
      line: 2,
      requests: { detection: 3, token: 1, call: 1, doctor: 1, total: 6 },
    });
    expect(requests()).toBe(before);
  });
});

describe("before the first request, survey", () => {
  test("exits 2 for wrong and double rows, each with its line, unless --skip-wrong-rows leaves them out", async () => {
    const rows = [sound(), "nowhere,x", pluginOf("one"), `${urls.a},four,reporter,missing.pem`];
    const file = await customers(rows.join("\n"));
    const before = requests();
    await refused(
      ["survey", file],
      env,
      "3 rows are wrong. Nothing was sent. Correct them, or pass --skip-wrong-rows.",
      "Line 5 is wrong: baseUrl must be an absolute URL",
      "Line 6 is the same customer as that of line 2.",
      "Line 7 has a file in aPrivateKeyFile that cannot be read.",
    );
    expect(requests()).toBe(before);
    const json = await cli(["survey", file, "--json"], env);
    expect(JSON.parse(json.stdout).error).toMatchObject({ code: "customers_invalid", exitCode: 2 });
    const result = await cli(["survey", file, "--skip-wrong-rows", "--json"], env);
    expect([result.code, linesOf(result.stdout).length]).toEqual([0, 3]);
    expect(result.stderr).toContain("Skipped: line 6 is the same customer as that of line 2.");
  });

  test.each([
    ["a missing file", "FOLDER/missing.csv", "cannot be read (ENOENT)"],
    ["an endless file", "/dev/zero", "more than 64000000 bytes"],
    ["a concurrency of 0", "INPUT --concurrency 0", "--concurrency is not valid"],
    ["the input as an output", "INPUT --csv INPUT", "overwrite"],
    ["the input as the state", "INPUT --state INPUT", "read too"],
    ["an output in no folder", "INPUT --html FOLDER/none/x.html", "cannot be written"],
    ["a state in no folder", "INPUT --state FOLDER/none/x", "The state file cannot be"],
    ["a state file of something else", "INPUT --state FOLDER/key.pem", "not one of a survey"],
    ["a result of something else", "INPUT --since FOLDER/key.pem", "neither"],
    ["JSON and CSV on stdout", "INPUT --json --csv -", "cannot be -"],
  ])("refuses %s", async (_, args, says) => {
    const file = await customers(sound());
    const words = args.replaceAll("INPUT", file).replace("FOLDER", folder).split(" ");
    const result = await cli(["survey", ...words], env);
    expect(result.code).toBe(2);
    expect(result.stdout + result.stderr).toContain(says);
    expect(leaksOf(result)).toEqual([]);
  });

  test("refuses a file without customers", async () => {
    await refused(["survey", await customers("baseUrl\n")], env, "There is no customer to ask.");
  });
});

describe("an interrupted survey", () => {
  const file = () => customers([sound(), `${hanging},four,,,,,,`].join("\n"));

  test("goes on from its state file, and deletes it at the end", async () => {
    const state = path("state");
    const args = ["survey", await file(), "--state", state];
    const running = startCli(args, env);
    await running.seen(/(works[\s\S]*){3}/);
    running.interrupt();
    const first = await running.ended;
    expect(first.code).toBe(130);
    const says = "3 of 4 customers are done. Run the same command again to go on from here.";
    expect(first.stderr).toContain(says);
    const before = requests();
    const planned = await cli([...args, "--dry-run"], env);
    expect(planned.stdout).toContain("At most 4 requests to 1 customers");
    const second = await cli([...args, "--timeout-ms", "200", "--json"], env);
    const works = linesOf(second.stdout).map(({ tenantId, works }) => `${tenantId} ${works}`);
    expect(works.sort()).toEqual(["four false", "one true", "three true", "two true"]);
    expect(requests()).toBe(before);
    expect(await readdir(folder)).not.toContain("state");
  });

  test.skipIf(!existsSync("/dev/full"))("whose output is lost keeps its state file", async () => {
    const args = ["survey", await customers(sound()), "--state", path("state"), "--csv", "-"];
    const { ended } = await startProcess(args, env, openSync("/dev/full", "w"));
    expect(await ended).toMatchObject({ code: 70 });
    const again = await cli([...args, "--dry-run"], env);
    expect(again.stdout).toContain("At most 0 requests to 0 customers");
  });

  test("without a state file says that there is one, and with --json ends with one line", async () => {
    const running = startCli(["survey", await file(), "--json"], env);
    await running.seen(/("works"[\s\S]*){3}/);
    running.interrupt();
    const { code, stdout, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toContain("With --state the next run would go on from here.");
    const lines: unknown[] = linesOf(stdout);
    expect(lines.at(-1)).toMatchObject({ error: { code: "interrupted" } });
    expect(lines).toHaveLength(4);
  });

  test("shows its progress on a terminal, with rate and remaining time, and removes it", async () => {
    const running = startCli(["survey", await file()], env, { isTTY: true, columns: 80 });
    await running.seen(/3 of 4 \(75 %\), [\d.]+\/s, about \d+ min left, 0 fail/);
    running.interrupt();
    const last = (await running.ended).stderr.split("\r\u001b[2K").at(-1);
    expect(last).not.toContain("of 4 (");
  });
});

test("credentials in the environment are not used, and a note says where those of a customer are", async () => {
  const exported = { ...env, BIVARIANT_A_CLIENT_ID: "reporter", BIVARIANT_B_CLIENT_ID: "account" };
  const noteOf = async (text: string, environment: Record<string, string>) =>
    (await startCli(["survey", await customers(text)], environment).ended).stderr;
  const without = `baseUrl,tenantId\n${urls.a},one\n`;
  const note = "BIVARIANT_A_CLIENT_ID and BIVARIANT_B_CLIENT_ID are not used: ";
  expect(await noteOf(without, exported)).toContain(note);
  expect(await noteOf(without, env)).not.toContain("not used");
  expect(await noteOf(sound(), exported)).not.toContain("not used");
});
