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
  const says = 'the document must be OpenAPI 3.0, 3.1 or 3.2, or Swagger 2.0: found "4.0.0"';
  const place = "document_version_unsupported: variant-b.yaml:1:10#/openapi: ";
  expect(stderr).toBe(`${place}${says}\n`);
  expect(status).toBe(1);
});

describe("check:documents", () => {
  async function brokenFolder(file: string, from: string, to: string): Promise<string> {
    const folder = join(await copyOf("openapi"), "openapi");
    const text = await readFile(join(folder, file), "utf8");
    expect(text).toContain(from);
    await writeFile(join(folder, file), text.replace(from, to));
    return folder;
  }

  const [A, B] = ["variant-a.yaml", "variant-b.yaml"];
  const grant = (type: string) => `grant_type: ${type}\n                  client_id`;
  const audience = (tenant: string) => `aud: https://service.invalid/api/v1/${tenant}/`;
  const inBody = "requestBody/content/application~1x-www-form-urlencoded/examples/servicePlugin";
  const inAnswer = "responses/200/content/application~1json/examples/authorizationCode/value";
  const inSchema = "/components/schemas/ClientAssertionClaims/examples/0";
  const [code, refresh] = [grant("client_credentials"), grant("refresh_token")];
  const [list, request] = ["operationId: listDevices", "operationId: requestToken"];
  test.each([
    ["an example of a request body", A, code, refresh, inBody],
    ["an example of a response", B, "access_token: 2Yotn", "accessToken: 2Yotn", inAnswer],
    ["an example of a schema", A, audience("acme"), audience("{tenantId}"), inSchema],
    ["an example of a parameter", A, "example: acme", 'example: ""', "parameters/TenantId/example"],
    ["a misspelt keyword of a schema", A, "minLength: 1", "minLenght: 1", "minLenght"],
    ["a rule of the linter", B, list, request, "operation-operationId-unique"],
  ] as const)("names the place of the fault: %s", async (_, file, from, to, says) => {
    const problems = await checkFolder(await brokenFolder(file, from, to));
    expect(problems.join("\n")).toContain(says);
    expect(problems.join("\n")).toContain(file);
  });

  test("finds nothing in this repository, and refuses a folder without documents", async () => {
    expect(await checkFolder(join(ROOT, "openapi"))).toEqual([]);
    expect(await checkFolder(await copyOf())).toHaveLength(1);
  });

  test("exits with 1 and prints the place", async () => {
    const folder = await brokenFolder(A, "minLength: 1", "minLenght: 1");
    const { status, stderr } = run("check-documents.ts", folder);
    expect(stderr).toContain("minLenght");
    expect(status).toBe(1);
  });
});
