// The workflow that a consumer copies: what it may do, and each of its commands, run by a shell in
// a copy of the example.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { clientSecret, leaksOf, privateKeyPem, startDeployment } from "../../cli/cli-deployment.js";
import * as api from "./generated/operations.js";

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const root = fileURLToPath(new URL("../../..", import.meta.url));
const example = fileURLToPath(new URL(".", import.meta.url));
const { permissions, jobs } = parse(await readFile(join(example, "workflow.yaml"), "utf8"));
const steps = Object.values<{ readonly steps: readonly Step[] }>(jobs).flatMap((job) => job.steps);

/** They need a registry, and the suite that this test is part of. */
const notHere = ["npm ci", "npm test"];

let folder: string;
/** What the environment "test-tenant" holds. */
let settings: Readonly<Record<string, string | undefined>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "workflow-"));
  await cp(example, folder, { recursive: true });
  await cp(join(example, "generated"), join(folder, "base/generated"), { recursive: true });
  const loader = join(root, "node_modules/tsx/dist/loader.mjs");
  const cli = `"${process.execPath}" --import "${loader}" "${join(root, "src/cli/main.ts")}"`;
  await mkdir(join(folder, "bin"));
  await writeFile(join(folder, "bin/npx"), `#!/bin/sh\nshift\nexec ${cli} "$@"\n`, { mode: 0o755 });
  const { env } = await startDeployment({ api });
  settings = {
    ...env,
    BIVARIANT_A_PRIVATE_KEY: privateKeyPem,
    BIVARIANT_B_CLIENT_SECRET: clientSecret,
  };
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs the one step whose command starts so, as a runner does. */
async function runStep(command: string, changes: typeof settings = {}) {
  const found = steps.filter(({ run }) => run?.startsWith(command));
  expect(found).toHaveLength(1);
  const { run = "", env = {} } = found[0] ?? {};
  // A variable that is not set there is an empty text here.
  const lookUp = (expression: string) => {
    const [, name = ""] = /^\$\{\{ (?:vars|secrets)\.(\w+) \}\}$/.exec(expression) ?? [];
    return { ...settings, ...changes }[name] ?? "";
  };
  const child = spawn("bash", ["-e", "-c", run], {
    cwd: folder,
    env: {
      PATH: `${join(folder, "bin")}:${process.env.PATH}`,
      GITHUB_STEP_SUMMARY: join(folder, "summary.md"),
      ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, lookUp(value)])),
    },
  });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  const [code] = await once(child, "close");
  return { code, ...output };
}

const written = (name: string) => readFile(join(folder, name), "utf8");

test("the workflow may only read the repository, and pins each action to a major version", () => {
  expect(permissions).toEqual({ contents: "read" });
  for (const { uses } of steps) expect(uses ?? "none@v1").toMatch(/^[\w/-]+@v\d+$/);
});

test("each command of the workflow is tried below", () => {
  const commands = steps.flatMap(({ run }) => run ?? []).filter((run) => !notHere.includes(run));
  const tried = ["generate", "diff", "contract"].map((name) => `npx bivariant ${name} `);
  expect(commands.map((run) => tried.find((start) => run.startsWith(start)))).toEqual(tried);
});

test("generated code that fits the overlay passes, and code that does not is named", async () => {
  const fits = await runStep("npx bivariant generate");
  expect(fits).toMatchObject({ code: 0, stdout: "generated matches the documents.\n" });
  const overlay = await written("consumer.overlay.yaml");
  await writeFile(join(folder, "consumer.overlay.yaml"), overlay.replace("note:", "remark:"));
  const drifted = await runStep("npx bivariant generate");
  await writeFile(join(folder, "consumer.overlay.yaml"), overlay);
  expect(drifted.code).toBe(1);
  expect(drifted.stdout).toContain("different generated/variant-a.ts\n");
});

test("what changes for the app is a table in the summary, and does not fail the job", async () => {
  const before = join(folder, "base/generated/variant-b.json");
  await writeFile(
    before,
    (await written("generated/variant-b.json")).replace('"note"', '"remark"'),
  );
  expect(await runStep("npx bivariant diff")).toMatchObject({ code: 0, stdout: "" });
  const summary = await written("summary.md");
  expect(summary).toContain("### 1 breaking, 1 additive, 0 neutral\n");
  expect(summary).toContain(
    "| `breaking` | `Variant B, POST /v1/schedules/{scheduleId}/executions, request",
  );
});

test.each([
  { name: "both variants", changes: {} },
  { name: "Variant B alone", changes: { BIVARIANT_A_CLIENT_ID: "", BIVARIANT_A_PRIVATE_KEY: "" } },
])(
  "the contract is tried with credentials of $name, and the reports hold no secret",
  async ({ changes }) => {
    const { code, ...output } = await runStep("npx bivariant contract", changes);
    expect({ code, output }).toMatchObject({
      code: 0,
      output: { stdout: expect.stringContaining("0 break") },
    });
    const reports = `${await written("contract.html")}${await written("contract.xml")}`;
    expect(reports).toContain("<testsuite");
    expect(leaksOf({ stdout: output.stdout + reports, stderr: output.stderr })).toEqual([]);
  },
);
