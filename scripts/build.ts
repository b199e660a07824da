// Compiles src/ and generated/ into a clean dist/: what npm packs. Declarations for each source, code for each entry.
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, rmSync } from "node:fs";
import { bundleEntries } from "./bundle-entries.js";

const BIN = "dist/src/cli/main.js";

rmSync("dist", { recursive: true, force: true });
const compiler = ["node_modules/typescript-7/bin/tsc", "--project", "tsconfig.build.json"];
const { status } = spawnSync(process.execPath, compiler, { stdio: "inherit" });
if (status === 0) await bundleEntries(process.cwd(), "dist");
if (status !== 0) {
  process.exitCode = 1;
} else if (!existsSync(BIN) || !readFileSync(BIN, "utf8").startsWith("#!/usr/bin/env node\n")) {
  console.error(`${BIN} is not there or does not start with "#!/usr/bin/env node": no command to install`);
  process.exitCode = 1;
} else {
  chmodSync(BIN, 0o755);
}
