/** `npm run check:generated` exits with 1 and names each file that is missing, differs or does not belong. */
import { spawnSync } from "node:child_process";
import { appendFile, cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

async function copyOfTheRepository(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "repository-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const name of ["openapi", "generated"])
    await cp(join(ROOT, name), join(folder, name), { recursive: true });
  return folder;
}

function run(...args: string[]) {
  const script = join(ROOT, "scripts", "generate.ts");
  return spawnSync(process.execPath, ["--import", "tsx", script, ...args], { cwd: ROOT, encoding: "utf8" });
}

test("a copy that was changed turns the check red, and generating repairs it", async () => {
  const folder = await copyOfTheRepository();
  await rm(join(folder, "generated", "lock.json"));
  await appendFile(join(folder, "generated", "operations.ts"), "// edited\n");
  await writeFile(join(folder, "generated", "extra.ts"), "");

  const red = run("--check", folder);
  expect(red.stderr).toContain("missing: generated/lock.json");
  expect(red.stderr).toContain("different: generated/operations.ts");
  expect(red.stderr).toContain("extra: generated/extra.ts");
  expect(red.status).toBe(1);

  await rm(join(folder, "generated", "extra.ts"));
  expect(run(folder).status).toBe(0);
  expect(run("--check", folder).status).toBe(0);
});

test("a document that is refused is told by code and place, without a stack", async () => {
  const folder = await copyOfTheRepository();
  await writeFile(join(folder, "openapi", "variant-b.yaml"), "openapi: 3.0.3\n");
  const { status, stderr } = run("--check", folder);
  expect(stderr).toBe(
    'document_version_unsupported: variant-b.yaml#/openapi: OpenAPI 3.1 is needed, this is "3.0.3"\n',
  );
  expect(status).toBe(1);
});
