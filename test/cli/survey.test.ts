// `bivariant survey`: its outputs and exit codes, what it refuses before the first request, and
// Ctrl-C.
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createEmulator, type Emulator } from "../../src/emulator/index.js";
import type { SurveyResult } from "../../src/survey/index.js";
import { whenDone } from "../support/when-done.js";
import { clientSecret, leaksOf, privateKeyPem, signingKey } from "./cli-deployment.js";
import { cli, refused, startCli, startProcess } from "./command-line.js";
import { closedUrl } from "./servers.js";

let folder: string;
let emulators: { readonly a: Emulator; readonly b: Emulator };
let urls: { readonly a: string; readonly b: string };
let hanging: string;

beforeAll(async () => {
  emulators = { a: createEmulator({ variants: ["A"] }), b: createEmulator({ variants: ["B"] }) };
  const jwks = { keys: [signingKey.publicJwk] };
  for (const name of ["one", "two", "narrow"])
    emulators.a.registerPlugin({
      ...{ clientId: "reporter", tenantId: name, type: "service", jwks },
      scopes: name === "narrow" ? [] : ["devices:read"],
    });
  emulators.b.registerServiceAccount({ clientId: "account", clientSecret, tenantId: "three" });
  const [a, b] = [await emulators.a.listen(), await emulators.b.listen()];
  urls = { a: a.url, b: b.url };
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  hanging = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  whenDone(async () => {
    await Promise.all([a.close(), b.close()]);
    server.closeAllConnections();
    server.close();
  });
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

describe("survey", () => {
  test("exits 0 when all customers work, with a table", async () => {
    const result = await cli(["survey", await customers(sound())], env);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    expect(leaksOf(result)).toEqual([]);
    const lines = result.stdout.split("\n");
    expect(lines.slice(0, 3).sort()).toEqual([
      `works  A  one                    ${urls.a}`,
      `works  A  two                    ${urls.a}`,
      `works  B  three                  ${urls.b}`,
    ]);
    expect(result.stdout).toMatch(/^works +2 +1 +0$/m);
  });

  test("exits 1 when one does not work, and says what to do", async () => {
    const result = await cli(["survey", await customers(broken())], env);
    expect(result).toMatchObject({ code: 1, stderr: "" });
    expect(result.stdout).toMatch(
      /^fails {2}A {2}narrow.*\n {10}-> api_forbidden: Ask the customer to check/m,
    );
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
    const summary = lines.map(({ tenantId, baseUrl, variant, works, code }) => [
      tenantId,
      baseUrl,
      variant,
      works,
      code,
    ]);
    expect(summary.sort()).toEqual(
      [
        ["one", urls.a, "A", true, undefined],
        ["two", urls.a, "A", true, undefined],
        ["three", urls.b, "B", true, undefined],
        ["narrow", urls.a, "A", false, "api_forbidden"],
        [null, urls.b, "B", true, undefined],
      ].sort(),
    );
    expect(lines.find(({ works }) => !works)).toMatchObject({
      remedy: expect.stringContaining("devices:read"),
      line: 5,
    });
  });

  test("reads stdin for -, with paths of secrets from the working directory", async () => {
    const { child, ended } = await startProcess(["survey", "-", "--json"], env, "pipe", "pipe");
    child.stdin?.end(
      JSON.stringify({ baseUrl: urls.b, bClientId: "account", bClientSecretVariable: "SECRET" }),
    );
    const { code, stdout } = await ended;
    expect([code, linesOf(stdout).map(({ works }) => works)]).toEqual([0, [true]]);
  });

  test("--csv and --html write files, in the order of the input, and the page has no secret", async () => {
    const args = [
      "survey",
      await customers(broken()),
      "--csv",
      path("out.csv"),
      "--html",
      path("out.html"),
    ];
    const result = await cli(args, env);
    expect(result.code).toBe(1);
    const rows: string[][] = parse(await readFile(path("out.csv"), "utf8"));
    expect(rows.slice(1).map(([tenantId]) => tenantId)).toEqual([
      "one",
      "two",
      "three",
      "narrow",
      "",
    ]);
    expect(rows[4]?.at(-1)).toBe("'=cmd()");
    const page = await readFile(path("out.html"), "utf8");
    expect(page).toContain("<title>Survey of 5 customers</title>");
    expect(leaksOf({ stdout: page + rows.flat().join(), stderr: "" })).toEqual([]);
    expect((await readdir(folder)).sort()).toEqual([
      "customers.csv",
      "key.pem",
      "out.csv",
      "out.html",
    ]);
  });

  test("--csv - prints the CSV in place of the table", async () => {
    const { stdout } = await cli(["survey", await customers(sound()), "--csv", "-"], env);
    expect(parse(stdout)).toHaveLength(4);
  });

  test("--since says who moved, broke, recovered and is gone, from JSON lines and from CSV", async () => {
    const file = await customers(broken());
    await cli(["survey", file, "--csv", path("before.csv")], env);
    const { stdout } = await cli(["survey", file, "--json"], env);
    const before = linesOf(stdout).map((one) =>
      one.tenantId === "one"
        ? { ...one, variant: "B" }
        : one.tenantId === "two"
          ? { ...one, works: false }
          : one.tenantId === "narrow"
            ? { ...one, works: true }
            : one.tenantId === null
              ? { ...one, tenantId: "left" }
              : one,
    );
    await writeFile(path("before.json"), before.map((one) => JSON.stringify(one)).join("\n"));
    const now = await cli(["survey", file, "--since", path("before.json")], env);
    expect(now.stdout).toContain(
      "Since then: 1 moved to another variant, 1 broke, 1 recovered, 1 new, 1 gone.",
    );
    expect(now.stdout).toMatch(/ one +\S+\n +moved to another variant\n/);
    const same = await cli(["survey", file, "--since", path("before.csv")], env);
    expect(same.stdout).toContain(
      "0 moved to another variant, 0 broke, 0 recovered, 0 new, 0 gone.",
    );
    const json = await cli(["survey", file, "--json", "--since", path("before.json")], env);
    const changes = linesOf(json.stdout).map(({ tenantId, changes }) =>
      [tenantId, ...(changes ?? [])].join(" "),
    );
    expect(changes.sort()).toEqual([" new", "narrow broke", "one moved", "three", "two recovered"]);
  });

  test("--dry-run says how many requests each customer gets, and sends none", async () => {
    const file = await customers(broken());
    const before = [emulators.a.journal.entries().length, emulators.b.journal.entries().length];
    const result = await cli(["survey", file, "--dry-run"], env);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    expect(result.stdout.match(/^ \d requests/gm)).toEqual([
      ...Array(4).fill(" 6 requests"),
      " 3 requests",
    ]);
    expect(result.stdout).toContain("At most 27 requests to 5 customers");
    const { stdout } = await cli(["survey", file, "--dry-run", "--json"], env);
    expect(JSON.parse(stdout.split("\n")[0] ?? "")).toEqual({
      ...{ tenantId: "one", baseUrl: urls.a, line: 2 },
      requests: { detection: 3, token: 1, call: 1, doctor: 1, total: 6 },
    });
    expect([emulators.a.journal.entries().length, emulators.b.journal.entries().length]).toEqual(
      before,
    );
  });
});

describe("before the first request, survey", () => {
  test("exits 2 for wrong and double rows, each with its line, unless --skip-wrong-rows leaves them out", async () => {
    const file = await customers(
      [sound(), "nowhere,x", pluginOf("one"), `${urls.a},four,reporter,missing.pem`].join("\n"),
    );
    const before = emulators.a.journal.entries().length;
    await refused(
      ["survey", file],
      env,
      "3 rows are wrong. Nothing was sent. Correct them, or pass --skip-wrong-rows.",
      "Line 5 is wrong: baseUrl must be an absolute URL",
      "Line 6 is the same customer as that of line 2.",
      "Line 7 has a file in aPrivateKeyFile that cannot be read.",
    );
    expect(emulators.a.journal.entries().length).toBe(before);
    const json = await cli(["survey", file, "--json"], env);
    expect(JSON.parse(json.stdout).error).toMatchObject({ code: "customers_invalid", exitCode: 2 });
    const result = await cli(["survey", file, "--skip-wrong-rows", "--json"], env);
    expect([result.code, linesOf(result.stdout).length]).toEqual([0, 3]);
    expect(result.stderr).toContain("Skipped: line 6 is the same customer as that of line 2.");
  });

  test.each([
    ["a missing file", ["missing.csv"], "cannot be read (ENOENT)"],
    ["a folder", ["."], "cannot be read (EISDIR)"],
    ["no file", [], "issing required argument"],
    ["a concurrency of 0", ["customers.csv", "--concurrency", "0"], "--concurrency is not valid"],
    ["the input as an output", ["customers.csv", "--csv", "customers.csv"], "overwrite"],
    ["the input as the state", ["customers.csv", "--state", "customers.csv"], "read too"],
    ["an output in no folder", ["customers.csv", "--html", "none/x.html"], "cannot be written"],
    ["a state in no folder", ["customers.csv", "--state", "none/x"], "The state file cannot be"],
    [
      "a state file of something else",
      ["customers.csv", "--state", "key.pem"],
      "not one of a survey",
    ],
    ["an earlier result of something else", ["customers.csv", "--since", "key.pem"], "neither"],
    ["JSON and CSV on stdout", ["customers.csv", "--json", "--csv", "-"], "cannot be -"],
  ])("refuses %s", async (_, args, says) => {
    await customers(sound());
    const inFolder = args.map((word) => (/[.]|none/.test(word) ? path(word) : word));
    const result = await cli(["survey", ...inFolder], env);
    expect(result.code).toBe(2);
    expect(result.stdout + result.stderr).toContain(says);
    expect(leaksOf(result)).toEqual([]);
  });

  test("refuses a file without an end", async () => {
    await refused(["survey", "/dev/zero"], env, "more than 64000000 bytes");
  });

  test("refuses a file without customers", async () => {
    await refused(["survey", await customers("baseUrl\n")], env, "There is no customer to ask.");
  });
});

describe("an interrupted survey", () => {
  const file = () => customers([sound(), `${hanging},four,,,,,,`].join("\n"));

  test("goes on from its state file, which only the owner can read, and deletes it at the end", async () => {
    const state = path("state");
    const running = startCli(["survey", await file(), "--state", state], env);
    await running.seen(/(works[\s\S]*){3}/);
    running.interrupt();
    const first = await running.ended;
    expect(first.code).toBe(130);
    expect(first.stderr).toContain(
      "3 of 4 customers are done. Run the same command again to go on from here.",
    );
    expect((await stat(state)).mode & 0o777).toBe(0o600);
    expect(leaksOf({ stdout: await readFile(state, "utf8"), stderr: "" })).toEqual([]);
    const before = [emulators.a.journal.entries().length, emulators.b.journal.entries().length];
    const planned = await cli(["survey", await file(), "--state", state, "--dry-run"], env);
    expect(planned.stdout).toContain("At most 4 requests to 1 customers");
    const second = await cli(
      ["survey", await file(), "--state", state, "--timeout-ms", "200", "--json"],
      env,
    );
    expect(
      linesOf(second.stdout)
        .map(({ tenantId, works }) => [tenantId, works])
        .sort(),
    ).toEqual([
      ["four", false],
      ["one", true],
      ["three", true],
      ["two", true],
    ]);
    expect([emulators.a.journal.entries().length, emulators.b.journal.entries().length]).toEqual(
      before,
    );
    expect(await readdir(folder)).not.toContain("state");
  });

  test("without a state file says that there is one, and with --json ends with one line", async () => {
    const running = startCli(["survey", await file(), "--json"], env);
    await running.seen(/("works"[\s\S]*){3}/);
    running.interrupt();
    const { code, stdout, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toContain("With --state the next run would go on from here.");
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.at(-1)).toMatchObject({ error: { code: "interrupted" } });
    expect(lines).toHaveLength(4);
  });

  test("shows its progress on a terminal, with rate and remaining time, and removes it", async () => {
    const running = startCli(["survey", await file()], env, { isTTY: true, columns: 80 });
    await running.seen(/3 of 4 \(75 %\), [\d.]+\/s, about \d+ min left, 0 fail/);
    running.interrupt();
    const { stderr } = await running.ended;
    const last = stderr.split("\r\u001b[2K").at(-1);
    expect(last).not.toContain("of 4 (");
  });
});

test("a customer that does not answer is told apart from one that refuses", async () => {
  const text = `baseUrl,tenantId\n${closedUrl},down\n${hanging},slow\n`;
  const { stdout } = await cli(["survey", await customers(text), "--timeout-ms", "200", "--json"]);
  const codes = linesOf(stdout).map(({ tenantId, code }) => [tenantId, code]);
  expect(codes.sort()).toEqual([
    ["down", "network_failed"],
    ["slow", "timed_out"],
  ]);
});

test("credentials in the environment are not used, and a note says where those of a customer are", async () => {
  const exported = { ...env, BIVARIANT_A_CLIENT_ID: "reporter", BIVARIANT_B_CLIENT_ID: "account" };
  const without = await customers(`baseUrl,tenantId\n${urls.a},one\n`);
  const { stderr } = await startCli(["survey", without], exported).ended;
  expect(stderr).toContain("BIVARIANT_A_CLIENT_ID and BIVARIANT_B_CLIENT_ID are not used: ");
  expect((await startCli(["survey", without], env).ended).stderr).not.toContain("not used");
  expect(
    (await startCli(["survey", await customers(sound())], exported).ended).stderr,
  ).not.toContain("not used");
});
