// Processes of `npm run bench`: one row prints more than fits into a string, and a wrong argument.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runToTheEnd } from "../../scripts/bench/run.js";
import { plant } from "./planted-tree.js";

test("the process of a row is abandoned when it prints errors for ever", async () => {
  const code =
    `import { writeSync } from "node:fs";\nfor (const text = "x".repeat(2 ** 20); ; ` +
    ") writeSync(2, text);";
  const program = join(plant({ "row.mjs": `${code}\n`, "package.json": "{}" }), "row.mjs");
  expect(await runToTheEnd(program, [], 3_000)).toEqual({ failed: "abandoned after 3 s" });
});

test("an unknown row is an error of usage, and nothing is measured", () => {
  const args = ["--import", "tsx", "scripts/bench/main.ts", "--only", "warm-call,nope"];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect(stderr).toMatch(/The benchmark has no row "nope"\.[\s\S]*Usage: npm run bench/);
  expect(status).toBe(2);
});
