// `bivariant generate` and its --check, and `bivariant unknowns`.
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, test } from "vitest";
import { unknowns } from "../../generated/unknowns.js";
import { FileWatcher } from "../../src/cli/file-watcher.js";
import { cli, refused, startCli } from "./command-line.js";

const folder = mkdtempSync(join(tmpdir(), "bivariant-generate-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
for (const name of ["variant-a.yaml", "variant-b.yaml"])
  copyFileSync(new URL(`../../openapi/${name}`, import.meta.url), join(folder, name));

const info = 'info: { title: A, version: "1" }\n';
const out = join(folder, "generated");
const documents = [
  ...["--variant-a", join(folder, "variant-a.yaml")],
  ...["--variant-b", join(folder, "variant-b.yaml"), "--out", out],
];

describe("bivariant generate", () => {
  it("writes and lists the files; --check finds a file that is changed, missing or new", async () => {
    const written = await cli(["generate", ...documents, "--json"]);
    expect(written.code).toBe(0);
    expect(JSON.parse(written.stdout)).toEqual({
      out,
      files: readdirSync(out).sort(),
      notices: [],
    });
    expect((await cli(["generate", ...documents, "--check"])).code).toBe(0);

    writeFileSync(join(out, "operations.ts"), "changed");
    writeFileSync(join(out, "stray.ts"), "new");
    rmSync(join(out, "lock.json"));
    const drifted = await cli(["generate", ...documents, "--check", "--json"]);
    expect(drifted.code).toBe(1);
    const drift = {
      ...{ missing: ["lock.json"], different: ["operations.ts"], extra: ["stray.ts"], notices: [] },
    };
    expect(JSON.parse(drifted.stdout)).toEqual(drift);
    const args = documents.with(-1, join(folder, "not yet"));
    const { stdout } = await cli(["generate", ...args, "--check"], {}, { columns: 40 });
    expect(stdout).toContain(
      `\nRun: bivariant generate ${args.slice(0, -1).join(" ")} '${args.at(-1)}'\n`,
    );
  });

  it("shows no control character that an overlay puts into a message", async () => {
    const overlay = join(folder, "escape.yaml");
    const action = '{ target: "$.info\\e[2J", update: { x-a: 1 } }';
    writeFileSync(
      overlay,
      `overlay: 1.1.0\ninfo: { title: t, version: "1" }\nactions: [${action}]\n`,
    );
    const { code, stderr } = await cli([
      "generate",
      "--overlay",
      overlay,
      "--out",
      join(folder, "none"),
    ]);
    expect(code).toBe(2);
    expect(stderr).toContain("escape.yaml");
    expect(stderr).not.toContain("\u001b");
  });

  it("generates from one document, and takes the other variant from the package", async () => {
    const one = [
      "generate",
      "--variant-a",
      join(folder, "variant-a.yaml"),
      "--out",
      join(folder, "one"),
    ];
    expect((await cli(one)).code).toBe(0);
    const [both, alone] = [out, join(folder, "one")].map((path) =>
      readFileSync(join(path, "schemas.ts"), "utf8"),
    );
    expect(alone).toBe(both);
    await refused(["generate", "--out", out], {}, "--variant-a or --variant-b is needed");
  });

  it("applies overlays, and with --watch generates again after each change until Ctrl-C", async () => {
    const overlay = join(folder, "mine.yaml");
    const write = (title: string, target = "$.info") =>
      writeFileSync(
        overlay,
        JSON.stringify({
          ...{ overlay: "1.1.0", info: { title: "Mine", version: "1" } },
          actions: [{ target, update: { title }, "x-variant": "A" }],
        }),
      );
    write("One");
    const args = ["generate", "--overlay", overlay, "--out", join(folder, "watched")];
    const lock = () => readFileSync(join(folder, "watched", "lock.json"), "utf8");
    const running = startCli([...args, "--watch", "--json"]);
    await running.seen(/"files".*\n/);
    const first = lock();
    expect(JSON.parse(first).overlays).toMatchObject([{ file: "mine.yaml" }]);
    write("One", "$.none");
    await running.seen(/"overlay_unmatched"/);
    expect(lock()).toBe(first);
    write("Two");
    await running.seen(/"files"[\s\S]*"error"[\s\S]*"files"/);
    expect(lock()).not.toBe(first);
    running.interrupt();
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => Object.keys(JSON.parse(line))),
    ).toEqual([["out", "files", "notices"], ["error"], ["out", "files", "notices"]]);
    write("Two", "$.none");
    await refused(args, {}, "overlay_unmatched", "mine.yaml:1:");
    await refused([...args, "--watch", "--check"], {}, "--watch");
  });

  it("shows warnings and notes on stderr and in --json, and --strict makes errors of the warnings", async () => {
    const path = join(folder, "old.yaml");
    writeFileSync(
      path,
      `openapi: 3.0.3\nservers: [{ url: https://one.example }]\npaths: { /a: { get: ` +
        `{} } }\n${info}`,
    );
    const args = ["generate", "--variant-a", path, "--out", join(folder, "old")];
    const { code, stderr, stdout } = await cli(args);
    expect(code).toBe(0);
    const lines = [
      "old.yaml: OpenAPI 3.0.3 is read as OpenAPI 3.1",
      "old.yaml: operations without an operationId are called by method and path: getA (GET /a)",
      expect.stringMatching(
        /^warning: old\.yaml:2:11#\/servers\/0: the server https:\/\/one\.example is ignored/,
      ),
    ];
    expect(stderr.trim().split("\n")).toEqual(lines);
    expect(stdout).not.toContain("warning");
    for (const more of [[], ["--check"]]) {
      const { notices } = JSON.parse((await cli([...args, ...more, "--json"])).stdout);
      expect(notices).toMatchObject([
        { level: "note", code: "document_upgraded", document: "old.yaml" },
        { level: "note", code: "operation_named", document: "old.yaml" },
        { level: "warning", code: "part_ignored", document: "old.yaml", pointer: "/servers/0" },
      ]);
    }
    await refused([...args, "--strict"], {}, "part_ignored", "old.yaml:2:11#/servers/0");
  });

  it("lists every mistake of a run, in --json each with its code and place", async () => {
    const path = join(folder, "mistakes.yaml");
    writeFileSync(path, `openapi: 3.1.0\npaths:\n  a: {}\n  /b: { gte: {} }\n${info}`);
    const args = ["generate", "--variant-a", path, "--out", join(folder, "none")];
    await refused(args, {}, "mistakes.yaml:3:3#/paths/a", "mistakes.yaml:4:9#/paths/~1b/gte");
    const { error } = JSON.parse((await cli([...args, "--json"])).stdout);
    expect(error.errors).toMatchObject([
      { code: "document_invalid", document: "mistakes.yaml", pointer: "/paths/a" },
      { code: "document_invalid", document: "mistakes.yaml", pointer: "/paths/~1b/gte" },
    ]);
  });

  it("follows references to files in the folder of the document, or in that of --refs", async () => {
    mkdirSync(join(folder, "api"));
    const path = join(folder, "api", "openapi.yaml");
    const write = (reference: string) =>
      writeFileSync(
        path,
        `openapi: 3.1.0\npaths: { /a: { $ref: ${JSON.stringify(reference)} } }\n${info}`,
      );
    const item = (id: string) =>
      `get: { operationId: ${id}, responses: { "200": { description: Done. } } }\n`;
    writeFileSync(join(folder, "outside.yaml"), item("outside"));
    write("../outside.yaml");
    const args = ["generate", "--variant-a", path, "--out", join(folder, "refs")];
    await refused(args, {}, "reference_external", "--refs <folder>");
    expect((await cli([...args, "--refs", folder])).code).toBe(0);
    expect(readFileSync(join(folder, "refs", "operations.ts"), "utf8")).toContain("outside: {");
    await refused(
      [...args, "--refs", join(folder, "nowhere")],
      {},
      "option_invalid",
      "existing folder",
    );
    write("https://one.example/a.yaml");
    await refused(
      args,
      {},
      "reference_external",
      `npx @redocly/cli bundle ${path} --output bundled.yaml`,
    );
  });

  it("with --watch sees changes of the files that a document refers to, even of one that was missing", async () => {
    const path = join(folder, "parts.yaml");
    const [one, two] = [join(folder, "one.yaml"), join(folder, "two.yaml")];
    writeFileSync(path, `openapi: 3.1.0\npaths: { /a: { $ref: one.yaml } }\n${info}`);
    const item = (id: string) =>
      `get: { operationId: ${id}, responses: { "200": { description: Done. } } }\n`;
    const args = [
      "generate",
      "--variant-a",
      path,
      "--out",
      join(folder, "parts"),
      "--watch",
      "--json",
    ];
    const running = startCli(args);
    await running.seen(/"reference_missing"/);
    writeFileSync(one, item("first"));
    await running.seen(/"files"/);
    writeFileSync(one, "$ref: two.yaml\n");
    await running.seen(/"reference_missing"[\s\S]*"reference_missing"/);
    writeFileSync(two, item("second"));
    await running.seen(/"files"[\s\S]*"files"/);
    expect(readFileSync(join(folder, "parts", "operations.ts"), "utf8")).toContain("second: {");
    running.interrupt();
    expect((await running.ended).code).toBe(0);
  });

  it("exits 2 for an invalid document, with the code and the document", async () => {
    const path = join(folder, "broken.yaml");
    writeFileSync(path, "openapi: 4.0.0\n");
    const args = ["generate", "--variant-a", path, "--variant-b", path, "--out", out, "--json"];
    const { code, stdout } = await cli(args);
    expect(code).toBe(2);
    const error = { code: "document_version_unsupported", document: "broken.yaml" };
    expect(JSON.parse(stdout).error).toMatchObject(error);
    await refused(
      ["generate", ...documents.with(-1, path)],
      {},
      "out_unwritable",
      "broken.yaml",
      "EEXIST",
    );
  });
});

describe("bivariant unknowns", () => {
  it("lists every unknown, as text and as JSON", async () => {
    const forPeople = await cli(["unknowns"]);
    const forMachines = await cli(["unknowns", "--json"]);
    expect(forPeople.code).toBe(0);
    for (const { says } of unknowns) expect(forPeople.stdout).toContain(`${says}\n`);
    expect(JSON.parse(forMachines.stdout)).toEqual(unknowns);
  });
});

describe("bivariant diff", () => {
  const old = join(folder, "variant-b.yaml");
  const revised = join(folder, "later.yaml");
  const later = readFileSync(old, "utf8")
    .replace("required: [access_token]", "required: []")
    .replace("summary: Exchange an", "summary: Exchange `a|b` an");
  writeFileSync(revised, later);

  it("prints each change with its level, operation, part and line, and exits 1 by --fail-on", async () => {
    const changed = await cli(["diff", old, revised]);
    expect(changed.code).toBe(1);
    expect(changed.stdout).toContain("breaking  Variant B, POST /v1/auth/token, response 200\n");
    expect(changed.stdout).toMatch(/no longer required: `access_token`\.\n +\S+later\.yaml:\d+\n/);
    expect(changed.stdout).toMatch(/\n1 breaking, 0 additive, 1 neutral\n$/);
    const { code, stdout } = await cli(["diff", old, revised, "--fail-on", "never", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      level: "breaking",
      summary: { breaking: 1, neutral: 1 },
    });
  });

  it("prints a table for a pull request, in which nothing from a document becomes markup", async () => {
    const { code, stdout } = await cli([
      "diff",
      old,
      revised,
      "--markdown",
      "--fail-on",
      "neutral",
    ]);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^### 1 breaking, 0 additive, 1 neutral\n\n\| Level \| Where \| Change \| File \|\n/,
    );
    expect(stdout).toContain("Exchange 'a\\|b' an");
    expect((await cli(["diff", old, old, "--markdown"])).stdout).toBe(
      "### No changes.\n\nNothing differs.\n",
    );
  });

  it("keeps the table below the limit of GitHub for a comment", async () => {
    const [none, many] = [join(folder, "none.json"), join(folder, "many.json")];
    const info = { openapi: "3.1.0", info: { title: "Many", version: "1" } };
    const operations = Array.from({ length: 900 }, (_, index) => [
      `/things/${"x".repeat(60)}/${index}`,
      { get: { operationId: `get${index}`, responses: { 200: { description: "A thing." } } } },
    ]);
    writeFileSync(none, JSON.stringify({ ...info, paths: {} }));
    writeFileSync(many, JSON.stringify({ ...info, paths: Object.fromEntries(operations) }));
    const { code, stdout } = await cli(["diff", none, many, "--markdown"]);
    expect(code).toBe(0);
    expect(stdout.length).toBeLessThan(65_536);
    expect(stdout).toMatch(/\n\n\d+ more lines do not fit\.\n$/);
  });

  it("compares the two variants of an operation", async () => {
    const { code, stdout } = await cli(["diff", "--variants", "listDevices"]);
    expect(code).toBe(0);
    const operation =
      "  operation\n    A  GET /api/v1/{tenantId}/devices\n    B  GET /v1/devices\n";
    expect(stdout).toContain(`listDevices\n${operation}`);
    expect(stdout).toContain("  response 403\n    A  no body\n    B  not described\n");
    const table = await cli(["diff", "--variants", "--variant-b", old, "--markdown"]);
    expect(table.stdout).toContain("| `path parameter tenantId` | `required` |  |\n");
    const found = JSON.parse((await cli(["diff", "--variants", "--json"])).stdout);
    expect(found).toMatchObject([{ operationId: "requestToken" }, { operationId: "listDevices" }]);
  });

  it.each([
    ["without documents", [], "pass two documents or folders, or --variants"],
    [
      "with --variant-a alone",
      ["--variant-a", old],
      "pass two documents or folders, or --variants",
    ],
    ["with one document", [old], "<new> is missing: pass the later state too"],
    [
      "with documents and --variants",
      [old, old, "--variants"],
      "<old> and <new> exclude --variants",
    ],
    ["with --variants and a level", ["--variants", "--fail-on", "never"], "--fail-on"],
    ["with an unknown level", [old, old, "--fail-on", "x"], "breaking, additive, neutral, never"],
    ["with an unknown operation", ["--variants", "x"], "requestToken, listDevices"],
    ["with the variants swapped", [join(folder, "variant-a.yaml"), old], "Variant A"],
  ])("exits 2 %s", async (_, args, says) => {
    await refused(["diff", ...args], {}, says);
  });
});

test("a watcher notices a change right after the file was added, once, and when it is over", () => {
  const watcher = new FileWatcher();
  const file = join(folder, "watched.yaml");
  watcher.add(file);
  const looks = () => [watcher.hasChanged(), watcher.hasChanged(), watcher.hasChanged()];
  for (const text of ["new", "other text"]) {
    writeFileSync(file, text);
    expect(looks()).toEqual([false, true, false]);
  }
  rmSync(file);
  expect(watcher.hasChanged()).toBe(false);
  writeFileSync(file, "new");
  expect(looks()).toEqual([false, true, false]);
});
