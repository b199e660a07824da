// Prepares a release: `npm run release -- --dry-run` does all but publish, which the workflow
// `release` does on a tag. It checks the version, the tag, CHANGELOG.md and the working tree, runs
// every check, and builds the package twice.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

export interface Release {
  readonly version: string;
  readonly repository?: unknown;
  readonly changelog: string;
  /** The tag that is released, if one was named. */
  readonly tag: string | undefined;
  /** What `git status --porcelain` prints. */
  readonly status: string;
}

/** The part of CHANGELOG.md that is about a version, without its title. */
export function notesOf(changelog: string, version: string): string | undefined {
  const [, ...chapters] = changelog.split(/^## /m);
  const chapter = chapters.find((one) => one.split(/[\s(]/, 1)[0] === version);
  return chapter?.slice(chapter.indexOf("\n") + 1).trim() || undefined;
}

/** Why this cannot be released, each with what to do. */
export function obstacles({
  version,
  repository,
  changelog,
  tag,
  status,
}: Release): readonly string[] {
  return [
    repository === undefined &&
      "package.json has no repository, which the provenance of a release names. Set it to the public address.",
    notesOf(changelog, version) === undefined &&
      `CHANGELOG.md has no chapter "## ${version}". Give the chapter Unreleased this title.`,
    tag !== undefined &&
      tag !== `v${version}` &&
      `The tag ${tag} is not that of the version ${version} in package.json. Set one of them.`,
    status !== "" && "The working tree has changes. Commit them first.",
  ].filter((one) => one !== false);
}

function run(root: string, command: string, ...args: readonly string[]): string {
  const { status, stdout } = spawnSync(command, args, {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}`);
  return stdout;
}

/** Builds and packs the package. Returns the SHA-512 of the tarball. */
function packedHash(root: string): string {
  const folder = mkdtempSync(join(tmpdir(), "release-"));
  run(root, "npm", "run", "--silent", "build");
  const packed = run(
    root,
    "npm",
    "pack",
    "--json",
    "--ignore-scripts",
    "--pack-destination",
    folder,
  );
  const bytes = readFileSync(join(folder, JSON.parse(packed)[0].filename));
  rmSync(folder, { recursive: true });
  return createHash("sha512").update(bytes).digest("base64");
}

function main(root: string): void {
  const options = {
    "dry-run": { type: "boolean" },
    tag: { type: "string" },
    notes: { type: "string" },
    "build-only": { type: "boolean" },
  } as const;
  const { values } = parseArgs({ options });
  if (!values["dry-run"] && !values["build-only"])
    throw new Error(
      "Pass --dry-run: only the workflow publishes, so that a release has its provenance.",
    );
  if (values["dry-run"]) {
    const { version, repository } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
    const status = run(root, "git", "status", "--porcelain").trim();
    const found = obstacles({ version, repository, changelog, tag: values.tag, status });
    if (found.length > 0) throw new Error(found.join("\n"));
    if (values.notes) writeFileSync(values.notes, `${notesOf(changelog, version)}\n`);
    console.error("Running every check...");
    run(root, "npm", "run", "check");
  }
  console.error("Building twice...");
  const [first, second] = [packedHash(root), packedHash(root)];
  if (first !== second) throw new Error(`Two builds of one commit differ: ${first} and ${second}.`);
  console.log(`sha512-${first}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    main(fileURLToPath(new URL("..", import.meta.url)));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
