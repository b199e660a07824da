/** Lints one document with Redocly's command line, offline. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

// Without these it asks the network for updates and reports how it is used.
const OFFLINE = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };

interface Problem {
  readonly ruleId: string;
  readonly message: string;
  readonly location: readonly { readonly source: { readonly ref: string }; readonly pointer?: string }[];
}

/** One line for each problem. `redocly.yaml` in the folder, where there is one, sets the rules. */
export async function lintDocument(folder: string, file: string): Promise<string[]> {
  const manifestPath = createRequire(import.meta.url).resolve("@redocly/cli/package.json");
  const manifest = createRequire(import.meta.url)(manifestPath) as { bin: Record<string, string> };
  const command = join(dirname(manifestPath), manifest.bin.redocly ?? "");
  const config = existsSync(join(folder, "redocly.yaml")) ? ["--config", "redocly.yaml"] : [];
  const output = await run(command, ["lint", "--format", "json", ...config, file], folder);
  return problemsIn(output).map(
    ({ ruleId, message, location: [place] }) =>
      `${place?.source.ref ?? folder}${place?.pointer ?? ""}: ${message} (${ruleId})`,
  );
}

function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  const options = { cwd, env: { ...process.env, ...OFFLINE }, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [command, ...args], options, (error, stdout, stderr) => {
      // Problems give exit code 1 and a report; a failure to run gives no report.
      if (stdout.includes('"problems"')) resolve(stdout);
      else reject(new Error(`Redocly gave no report: ${stderr || String(error)}`));
    });
  });
}

function problemsIn(output: string): readonly Problem[] {
  const report = JSON.parse(output.slice(output.indexOf("{"), output.lastIndexOf("}") + 1)) as {
    problems: readonly Problem[];
  };
  return report.problems;
}
