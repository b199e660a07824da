// The pages of the package and their blocks of code, for tests to compile and to run against the
// sources.
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { onTestFinished } from "vitest";
import { entriesFromSources } from "../../scripts/build.js";
import { makeCacheFolder } from "../../scripts/examples.js";

export { compile, makeCacheFolder } from "../../scripts/examples.js";

export const root: string = fileURLToPath(new URL("../..", import.meta.url));

export const read = (path: string): string => readFileSync(join(root, path), "utf8");

const FOLDERS_WITH_PAGES = ["openapi", "src", "test"];

/** Paths from the root, with "/". The pages of examples are not in the package. */
export const pages: readonly string[] = [
  ...readdirSync(root).filter((name) => name.endsWith(".md")),
  ...FOLDERS_WITH_PAGES.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md") && !/^(?:examples|api)\b/.test(name))
      .map((name) => `${folder}/${name.replaceAll("\\", "/")}`),
  ),
];

/** The words of a page as `wc -w` counts them, with its code and tables. */
export const wordsOf = (page: string): number => read(page).split(/\s+/).filter(Boolean).length;

export interface Block {
  readonly page: string;
  readonly language: string;
  readonly code: string;
}

export const blocks: readonly Block[] = pages.flatMap((page) =>
  [...read(page).matchAll(/^ *```(\w*)[^\n]*\n([\s\S]*?)^ *```$/gm)].map(
    ([, language = "", code = ""]) => ({ page, language, code }),
  ),
);

/** The one block that holds the text. */
export function blockWith(language: string, text: string): string {
  const found = blocks.filter((block) => block.language === language && block.code.includes(text));
  if (found.length !== 1 || found[0] === undefined)
    throw new Error(`${found.length} blocks hold ${text}`);
  return found[0].code;
}

/** Makes a folder below node_modules that is removed after the test. */
export function cacheFolder(): string {
  const folder = makeCacheFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Bundles a program that imports the package by its name; resolves with the path of a module that
 * Node runs.
 */
export async function bundleProgram(
  code: string,
  folder: string,
  name: string,
  resolveDir: string = root,
): Promise<string> {
  const outfile = join(folder, name);
  await build({
    stdin: { contents: code, resolveDir, loader: "ts" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    outfile,
    plugins: [entriesFromSources(root)],
  });
  return outfile;
}

/** Runs a TypeScript block of a page, the one that holds the text, as a module. */
export async function importBlock<Module>(text: string): Promise<Module> {
  const file = await bundleProgram(blockWith("ts", text), cacheFolder(), "block.mjs");
  return import(pathToFileURL(file).href);
}

/** The headings of a page, as links name them. */
export function anchors(page: string): readonly string[] {
  const text = read(page).replace(/^```[\s\S]*?^```/gm, "");
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

export interface Link {
  readonly page: string;
  /** Path from the root. */
  readonly file: string;
  readonly anchor: string;
}

/** The links of all pages to files of this repository. */
export const links: readonly Link[] = pages.flatMap((page) => {
  const text = read(page)
    .replace(/^ *```[\s\S]*?^ *```/gm, "")
    .replace(/`[^`\n]*`/g, "");
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = ""]) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [path = "", anchor = ""] = target.split("#");
    const file = path === "" ? page : join(dirname(page), path).replaceAll("\\", "/");
    return [{ page, file, anchor }];
  });
});

/** The pages to which no chain of links leads from the first page. */
export function unreachable(
  first: string,
  all: readonly string[],
  between: readonly Pick<Link, "page" | "file">[],
): string[] {
  const found = new Set([first]);
  // A set that grows while it is read is read to its end.
  for (const page of found)
    for (const link of between) if (link.page === page) found.add(link.file);
  return all.filter((page) => !found.has(page));
}

export const exists = (file: string): boolean => existsSync(join(root, file));
