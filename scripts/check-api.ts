// Compares the public names of each entry, as the built declarations have them, with the report in
// test/api/, which a review sees change. `--write` renews the reports.
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import {
  Extractor,
  ExtractorConfig,
  ExtractorLogLevel,
  type IConfigFile,
} from "@microsoft/api-extractor";
import { readManifest } from "./build.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({ options: { write: { type: "boolean", default: false } } });
const reports = join(root, "test/api");
const scratch = mkdtempSync(join(tmpdir(), "api-"));
const silent = { logLevel: ExtractorLogLevel.None, addToApiReportFile: false } as const;
const compilerOptions = {
  target: "es2022",
  module: "nodenext",
  moduleResolution: "nodenext",
  strict: true,
  skipLibCheck: true,
  lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
  types: ["node"],
};

/** `./stores/file` -> `stores-file`, and `.` -> `index`. */
const nameOf = (entry: string) => entry.replace(/^\.\/?/, "").replaceAll("/", "-") || "index";

function configOf(entry: string, types: string): ExtractorConfig {
  const configObject: IConfigFile = {
    projectFolder: root,
    mainEntryPointFilePath: join(root, types),
    compiler: {
      overrideTsconfig: { compilerOptions, files: [join(root, types)] },
      skipLibCheck: true,
    },
    apiReport: {
      enabled: true,
      reportFolder: reports,
      reportTempFolder: scratch,
      reportFileName: `${nameOf(entry)}.api.md`,
      includeForgottenExports: false,
    },
    docModel: { enabled: false },
    dtsRollup: { enabled: false },
    tsdocMetadata: { enabled: false },
    newlineKind: "lf",
    messages: {
      compilerMessageReporting: { default: silent },
      extractorMessageReporting: { default: silent },
      tsdocMessageReporting: { default: silent },
    },
  } as IConfigFile;
  const packageJsonFullPath = join(root, "package.json");
  return ExtractorConfig.prepare({
    configObject,
    configObjectFullPath: undefined,
    packageJsonFullPath,
  });
}

mkdirSync(reports, { recursive: true });
const entries = Object.entries(readManifest(root).exports).flatMap(([entry, target]) =>
  typeof target === "string" || target.types === undefined ? [] : [[entry, target.types] as const],
);
const changed: string[] = [];
for (const [entry, types] of entries) {
  if (!existsSync(join(root, types)))
    throw new Error(`${types} is missing. Run npm run build first.`);
  const config = configOf(entry, types);
  const { apiReportChanged } = Extractor.invoke(config, {
    localBuild: values.write,
    messageCallback: (message) => {
      message.handled = true;
    },
  });
  if (apiReportChanged) changed.push(`${nameOf(entry)}.api.md`);
}
rmSync(scratch, { recursive: true });
if (changed.length > 0 && !values.write) {
  console.error(
    `The public names of ${changed.join(", ")} in test/api changed. See what a user of the package`,
  );
  console.error("will notice, write it into CHANGELOG.md, and run npm run check:api -- --write.");
  process.exitCode = 1;
} else console.log(`api: ${entries.length} entries have the names of their reports`);
