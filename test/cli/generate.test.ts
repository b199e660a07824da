// `bivariant generate` and its --check, `bivariant unknowns` and `bivariant diff`: what is written,
// printed and watched. The code and the differences themselves are tested in test/generate.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, test } from "vitest";
import { unknowns } from "../../generated/unknowns.js";
import { FileWatcher } from "../../src/cli/file-watcher.js";
import { cli, refused, startCli } from "./command-line.js";

const folder = mkdtempSync(join(tmpdir(), "bivariant-generate-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Writes a file of the folder, and returns its path. */
function file(name: string, content: string): string {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}
const original = (name: string) =>
  readFileSync(new URL(`../../openapi/${name}`, import.meta.url), "utf8");
const [variantA, variantB] = ["variant-a.yaml", "variant-b.yaml"].map((name) =>
  file(name, original(name)),
) as [string, string];

const info = 'info: { title: A, version: "1" }\n';
const document = (paths: string) => `openapi: 3.1.0\npaths: ${paths}\n${info}`;
const item = (id: string) =>
  `get: { operationId: ${id}, responses: { "200": { description: Done. } } }\n`;
const out = (name: string) => join(folder, name);
const argsFor = (path: string, name: string) => [
  "generate",
  "--variant-a",
  path,
  "--out",
  out(name),
];

describe("bivariant generate", () => {
  it("writes and lists the files; --check finds a file that is changed, missing or new", async () => {
    const args = [...argsFor(variantA, "generated"), "--variant-b", variantB];
    const written = await cli([...args, "--json"]);
    expect(written.code).toBe(0);
    const files = readdirSync(out("generated")).sort();
    expect(JSON.parse(written.stdout)).toEqual({ out: out("generated"), files, notices: [] });
    expect((await cli([...args, "--check"])).code).toBe(0);

    file("generated/operations.ts", "changed");
    file("generated/stray.ts", "new");
    rmSync(join(out("generated"), "lock.json"));
    const drifted = await cli([...args, "--check", "--json"]);
    expect(drifted.code).toBe(1);
    const drift = { missing: ["lock.json"], different: ["operations.ts"], extra: ["stray.ts"] };
    expect(JSON.parse(drifted.stdout)).toEqual({ ...drift, notices: [] });
  });

  it("--check of a folder that is not there prints the command that writes it", async () => {
    const args = argsFor(variantA, "not yet");
    const { stdout } = await cli([...args, "--check"], {}, { columns: 40 });
    const command = [...args.slice(0, -1), `'${args.at(-1)}'`].join(" ");
    expect(stdout).toContain(`\nRun: bivariant ${command}\n`);
  });

  it("shows no control character that an overlay puts into a message", async () => {
    const action = '{ target: "$.info\\e[2J", update: { x-a: 1 } }';
    const text = `overlay: 1.1.0\n${info}actions: [${action}]\n`;
    const args = ["generate", "--overlay", file("escape.yaml", text), "--out", out("none")];
    const { stderr } = await refused(args, {}, "escape.yaml");
    expect(stderr).not.toContain("\u001b");
  });

  it("applies overlays, and with --watch generates again after each change until Ctrl-C", async () => {
    const overlay = out("mine.yaml");
    const write = (title: string, target = "$.info") => {
      const actions = [{ target, update: { title }, "x-variant": "A" }];
      const head = { overlay: "1.1.0", info: { title: "Mine", version: "1" } };
      file("mine.yaml", JSON.stringify({ ...head, actions }));
    };
    write("One");
    const args = ["generate", "--overlay", overlay, "--out", out("watched")];
    const lock = () => readFileSync(join(out("watched"), "lock.json"), "utf8");
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
    const lines = stdout.trim().split("\n");
    const done = ["out", "files", "notices"];
    const members = lines.map((line) => Object.keys(JSON.parse(line)));
    expect(members).toEqual([done, ["error"], done]);
    await refused([...args, "--watch", "--check"], {}, "--watch");
  });

  it("shows warnings and notes on stderr and in --json, and --strict makes errors of the warnings", async () => {
    const paths = "servers: [{ url: https://one.example }]\npaths: { /a: { get: {} } }";
    const args = argsFor(file("old.yaml", `openapi: 3.0.3\n${paths}\n${info}`), "old");
    const { code, stderr, stdout } = await cli(args);
    expect(code).toBe(0);
    const ignored =
      /^warning: old\.yaml:2:11#\/servers\/0: the server https:\/\/one\.example is ignored/;
    expect(stderr.trim().split("\n")).toEqual([
      "old.yaml: OpenAPI 3.0.3 is read as OpenAPI 3.1",
      "old.yaml: operations without an operationId are called by method and path: getA (GET /a)",
      expect.stringMatching(ignored),
    ]);
    expect(stdout).not.toContain("warning");
    const { notices } = JSON.parse((await cli([...args, "--check", "--json"])).stdout);
    expect(notices).toMatchObject([
      { level: "note", code: "document_upgraded", document: "old.yaml" },
      { level: "note", code: "operation_named", document: "old.yaml" },
      { level: "warning", code: "part_ignored", document: "old.yaml", pointer: "/servers/0" },
    ]);
    await refused([...args, "--strict"], {}, "part_ignored", "old.yaml:2:11#/servers/0");
  });

  it("lists every mistake of a run, in --json each with its code and place", async () => {
    const path = file("mistakes.yaml", document("\n  a: {}\n  /b: { gte: {} }"));
    const args = argsFor(path, "none");
    await refused(args, {}, "mistakes.yaml:3:3#/paths/a", "mistakes.yaml:4:9#/paths/~1b/gte");
    const { error } = JSON.parse((await cli([...args, "--json"])).stdout);
    expect(error.errors).toMatchObject([
      { code: "document_invalid", document: "mistakes.yaml", pointer: "/paths/a" },
      { code: "document_invalid", document: "mistakes.yaml", pointer: "/paths/~1b/gte" },
    ]);
  });

  it("follows references to files in the folder of the document, or in that of --refs", async () => {
    mkdirSync(join(folder, "api"));
    file("outside.yaml", item("outside"));
    const path = file("api/openapi.yaml", document("{ /a: { $ref: ../outside.yaml } }"));
    const args = argsFor(path, "refs");
    await refused(args, {}, "reference_external", "--refs <folder>");
    expect((await cli([...args, "--refs", folder])).code).toBe(0);
    expect(readFileSync(join(out("refs"), "operations.ts"), "utf8")).toContain("outside: {");
    await refused([...args, "--refs", out("nowhere")], {}, "option_invalid", "existing folder");
    file("api/openapi.yaml", document("{ /a: { $ref: https://one.example/a.yaml } }"));
    await refused(args, {}, `npx @redocly/cli bundle ${path} --output bundled.yaml`);
  });

  it("with --watch sees changes of the document and of files that it refers to, even of one that was missing", async () => {
    const path = file("parts.yaml", document("{ /a: { $ref: one.yaml } }"));
    const running = startCli([...argsFor(path, "parts"), "--watch", "--json"]);
    await running.seen(/"reference_missing"/);
    file("one.yaml", item("first"));
    await running.seen(/"files"/);
    file("parts.yaml", document("{ /a: { $ref: two.yaml } }"));
    await running.seen(/"reference_missing"[\s\S]*"reference_missing"/);
    file("two.yaml", item("second"));
    await running.seen(/"files"[\s\S]*"files"/);
    expect(readFileSync(join(out("parts"), "operations.ts"), "utf8")).toContain("second: {");
    running.interrupt();
    expect((await running.ended).code).toBe(0);
  });

  it("exits 2 without a document, and where it cannot write", async () => {
    await refused(["generate", "--out", out("x")], {}, "--variant-a or --variant-b is needed");
    await refused(argsFor(variantA, "variant-b.yaml"), {}, "out_unwritable", "EEXIST");
  });
});

test("bivariant unknowns lists every unknown, as text and as JSON", async () => {
  const { code, stdout } = await cli(["unknowns"]);
  expect(code).toBe(0);
  for (const { says } of unknowns) expect(stdout).toContain(`${says}\n`);
  expect(JSON.parse((await cli(["unknowns", "--json"])).stdout)).toEqual(unknowns);
});

describe("bivariant diff", () => {
  const changed = original("variant-b.yaml")
    .replace("required: [access_token]", "required: []")
    .replace("summary: Exchange an", "summary: Exchange `a|b` an");
  const revised = file("later.yaml", changed);

  it("prints each change with its level, operation, part and line, and exits 1 by --fail-on", async () => {
    const people = await cli(["diff", variantB, revised]);
    expect(people.code).toBe(1);
    expect(people.stdout).toContain("breaking  Variant B, POST /v1/auth/token, response 200\n");
    expect(people.stdout).toMatch(/no longer required: `access_token`\.\n +\S+later\.yaml:\d+\n/);
    expect(people.stdout).toMatch(/\n1 breaking, 0 additive, 1 neutral\n$/);
    const args = ["diff", variantB, revised, "--fail-on", "never", "--json"];
    const { code, stdout } = await cli(args);
    expect(code).toBe(0);
    const summary = { breaking: 1, neutral: 1 };
    expect(JSON.parse(stdout)).toMatchObject({ level: "breaking", summary });
  });

  it("prints a table for a pull request, in which nothing from a document becomes markup", async () => {
    const args = ["diff", variantB, revised, "--markdown", "--fail-on", "neutral"];
    const { code, stdout } = await cli(args);
    expect(code).toBe(1);
    const head = "### 1 breaking, 0 additive, 1 neutral\n\n| Level | Where | Change | File |\n";
    expect(stdout.startsWith(head)).toBe(true);
    expect(stdout).toContain("Exchange 'a\\|b' an");
    const same = await cli(["diff", variantB, variantB, "--markdown"]);
    expect(same.stdout).toBe("### No changes.\n\nNothing differs.\n");
  });

  it("keeps the table below the limit of GitHub for a comment", async () => {
    const paths = Array.from({ length: 900 }, (_, index) => {
      return `  /things/${"x".repeat(60)}/${index}:\n    ${item(`get${index}`)}`;
    });
    const none = file("none.yaml", document("{}"));
    const many = file("many.yaml", document(`\n${paths.join("")}`));
    const { code, stdout } = await cli(["diff", none, many, "--markdown"]);
    expect(code).toBe(0);
    expect(stdout.length).toBeLessThan(65_536);
    expect(stdout).toMatch(/\n\n\d+ more lines do not fit\.\n$/);
  });

  it("compares the two variants of an operation", async () => {
    const { code, stdout } = await cli(["diff", "--variants", "listDevices"]);
    expect(code).toBe(0);
    const operation = "    A  GET /api/v1/{tenantId}/devices\n    B  GET /v1/devices\n";
    expect(stdout).toContain(`listDevices\n  operation\n${operation}`);
    expect(stdout).toContain("  response 403\n    A  no body\n    B  not described\n");
    const table = await cli(["diff", "--variants", "--variant-b", variantB, "--markdown"]);
    expect(table.stdout).toContain("| `path parameter tenantId` | `required` |  |\n");
    const found = JSON.parse((await cli(["diff", "--variants", "--json"])).stdout);
    expect(found).toMatchObject([{ operationId: "requestToken" }, { operationId: "listDevices" }]);
  });

  const [old, variants] = [variantB, "--variants"];
  it.each([
    ["without documents", [], "pass two documents or folders, or --variants"],
    ["with one document", [old], "<new> is missing: pass the later state too"],
    ["with documents and --variants", [old, old, variants], "<old> and <new> exclude --variants"],
    [
      "with documents and one of a variant",
      [old, old, "--variant-b", old],
      "exclude --variants, --variant-a",
    ],
    ["with --variants and a level", [variants, "--fail-on", "never"], "--fail-on"],
    ["with an unknown level", [old, old, "--fail-on", "x"], "breaking, additive, neutral, never"],
    ["with an unknown operation", [variants, "x"], "requestToken, listDevices"],
  ])("exits 2 %s", async (_, args, says) => {
    await refused(["diff", ...args], {}, says);
  });
});

test("a watcher notices a change right after the file was added, once, and when it is over", () => {
  const watcher = new FileWatcher();
  watcher.add(out("watched.yaml"));
  const looks = () => [watcher.hasChanged(), watcher.hasChanged(), watcher.hasChanged()];
  for (const text of ["new", "other text"]) {
    file("watched.yaml", text);
    expect(looks()).toEqual([false, true, false]);
  }
  rmSync(out("watched.yaml"));
  expect(watcher.hasChanged()).toBe(false);
  file("watched.yaml", "new");
  expect(looks()).toEqual([false, true, false]);
});
