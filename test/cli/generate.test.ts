// `bivariant generate` and its --check, and `bivariant unknowns`.
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { unknowns } from "../../generated/unknowns.js";
import { cli, refused } from "./command-line.js";

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

  it("exits 2 for an invalid document, with the code and the document", async () => {
    const path = join(folder, "broken.yaml");
    writeFileSync(path, "openapi: 3.0.0\n");
    const args = ["generate", "--variant-a", path, "--variant-b", path, "--out", out, "--json"];
    const { code, stdout } = await cli(args);
    expect(code).toBe(2);
    const error = { code: "document_version_unsupported", document: "broken.yaml" };
    expect(JSON.parse(stdout).error).toMatchObject(error);
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
