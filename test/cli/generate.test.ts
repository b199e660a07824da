// `bivariant generate` and its --check, and `bivariant unknowns`.
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { unknowns } from "../../generated/unknowns.js";
import { cli, refused, startCli } from "./command-line.js";

const folder = mkdtempSync(join(tmpdir(), "bivariant-generate-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
for (const name of ["variant-a.yaml", "variant-b.yaml"])
  copyFileSync(new URL(`../../openapi/${name}`, import.meta.url), join(folder, name));

const out = join(folder, "generated");
const documents = [
  ...["--variant-a", join(folder, "variant-a.yaml")],
  ...["--variant-b", join(folder, "variant-b.yaml"), "--out", out],
];

describe("bivariant generate", () => {
  it("writes and lists the files; --check finds a file that is changed, missing or new", async () => {
    const written = await cli(["generate", ...documents, "--json"]);
    expect(written.code).toBe(0);
    expect(JSON.parse(written.stdout)).toEqual({ out, files: readdirSync(out).sort() });
    expect((await cli(["generate", ...documents, "--check"])).code).toBe(0);

    writeFileSync(join(out, "operations.ts"), "changed");
    writeFileSync(join(out, "stray.ts"), "new");
    rmSync(join(out, "lock.json"));
    const drifted = await cli(["generate", ...documents, "--check", "--json"]);
    expect(drifted.code).toBe(1);
    const drift = { missing: ["lock.json"], different: ["operations.ts"], extra: ["stray.ts"] };
    expect(JSON.parse(drifted.stdout)).toEqual(drift);
  });

  it("generates from one document, and takes the other variant from the package", async () => {
    const one = ["generate", "--variant-a", join(folder, "variant-a.yaml"), "--out", join(folder, "one")];
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
    ).toEqual([["out", "files"], ["error"], ["out", "files"]]);
    write("Two", "$.none");
    await refused(args, {}, "overlay_unmatched", "mine.yaml:1:");
    await refused([...args, "--watch", "--check"], {}, "--watch");
  });

  it("exits 2 for an invalid document, with the code and the document", async () => {
    const path = join(folder, "broken.yaml");
    writeFileSync(path, "openapi: 3.0.0\n");
    const args = ["generate", "--variant-a", path, "--variant-b", path, "--out", out, "--json"];
    const { code, stdout } = await cli(args);
    expect(code).toBe(2);
    const error = { code: "document_version_unsupported", document: "broken.yaml" };
    expect(JSON.parse(stdout).error).toMatchObject(error);
    await refused(["generate", ...documents.with(-1, path)], {}, "out_unwritable", "broken.yaml", "EEXIST");
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
