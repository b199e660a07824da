// A process of `npm run bench`: one row prints more than fits into a string.
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
