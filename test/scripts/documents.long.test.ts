// The scripts that check openapi/ and generated/, on copies of this repository with one fault each.
import { spawnSync } from "node:child_process";
import { appendFile, cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkFolder } from "../../scripts/check-documents.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Copies folders of this repository into a folder that is removed after the test. */
async function copyOf(...names: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "repository-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const name of names) await cp(join(ROOT, name), join(folder, name), { recursive: true });
  return folder;
}

function run(script: string, ...args: string[]) {
  const command = ["--import", "tsx", join(ROOT, "scripts", script), ...args];
  return spawnSync(process.execPath, command, { cwd: ROOT, encoding: "utf8" });
}

test("check:generated names each file that drifted, and generate repairs them", async () => {
  const folder = await copyOf("openapi", "generated");
  await rm(join(folder, "generated", "lock.json"));
  await appendFile(join(folder, "generated", "operations.ts"), "// edited\n");
  await writeFile(join(folder, "generated", "extra.ts"), "");

  const red = run("generate.ts", "--check", folder);
  expect(red.stderr).toContain("missing: generated/lock.json");
  expect(red.stderr).toContain("different: generated/operations.ts");
  expect(red.stderr).toContain("extra: generated/extra.ts");
  expect(red.status).toBe(1);

  await rm(join(folder, "generated", "extra.ts"));
  expect(run("generate.ts", folder).status).toBe(0);
  expect(run("generate.ts", "--check", folder).status).toBe(0);
});

test("check:generated prints the code and place of a refused document, without a stack", async () => {
  const folder = await copyOf("openapi", "generated");
  await writeFile(join(folder, "openapi", "variant-b.yaml"), "openapi: 4.0.0\n");
  const { status, stderr } = run("generate.ts", "--check", folder);
  expect(stderr).toBe(
    "document_version_unsupported: variant-b.yaml:1:10#/openapi: " +
      'the document must be OpenAPI 3.0, 3.1 or 3.2, or Swagger 2.0: found "4.0.0"\n',
  );
  expect(status).toBe(1);
});

const breaks = [
  {
    name: "an example of a request body",
    file: "variant-a.yaml",
    from: "grant_type: client_credentials\n                  client_id",
    to: "grant_type: refresh_token\n                  client_id",
    says: "requestBody/content/application~1x-www-form-urlencoded/examples/servicePlugin/value",
  },
  {
    name: "an example of a response",
    file: "variant-b.yaml",
    from: "access_token: 2Yotn",
    to: "accessToken: 2Yotn",
    says: "responses/200/content/application~1json/examples/authorizationCode/value",
  },
  {
    name: "an example of a component schema",
    file: "variant-a.yaml",
    from: "aud: https://service.invalid/api/v1/acme/",
    to: "aud: https://service.invalid/api/v1/{tenantId}/",
    says: "/components/schemas/ClientAssertionClaims/examples/0",
  },
  {
    name: "an example of a parameter",
    file: "variant-a.yaml",
    from: "example: acme",
    to: 'example: ""',
    says: "/components/parameters/TenantId/example",
  },
  {
    name: "a misspelt keyword of a schema",
    file: "variant-a.yaml",
    from: "minLength: 1",
    to: "minLenght: 1",
    says: "minLenght",
  },
  {
    name: "a rule of the linter",
    file: "variant-b.yaml",
    from: "operationId: listDevices",
    to: "operationId: requestToken",
    says: "operation-operationId-unique",
  },
];

async function brokenFolder({
  file,
  from,
  to,
}: {
  file: string;
  from: string;
  to: string;
}): Promise<string> {
  const folder = join(await copyOf("openapi"), "openapi");
  const text = await readFile(join(folder, file), "utf8");
  expect(text).toContain(from);
  await writeFile(join(folder, file), text.replace(from, to));
  return folder;
}

describe("check:documents", () => {
  test("finds nothing in this repository", async () => {
    expect(await checkFolder(join(ROOT, "openapi"))).toEqual([]);
  });

  test.each(breaks)("names the place of the fault: $name", async (row) => {
    const problems = await checkFolder(await brokenFolder(row));
    expect(problems.join("\n")).toContain(row.says);
    expect(problems.join("\n")).toContain(row.file);
  });

  test("exits with 1 and prints the place", async () => {
    const [row] = breaks;
    if (row === undefined) throw new Error("no row");
    const { status, stderr } = run("check-documents.ts", await brokenFolder(row));
    expect(stderr).toContain(row.says);
    expect(status).toBe(1);
  });

  test("refuses a folder without documents", async () => {
    expect(await checkFolder(await copyOf())).toHaveLength(1);
  });
});
