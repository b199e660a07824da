// The first programs of the emulator's pages, run as they are printed, and the commands that the pages show.
import { rmSync } from "node:fs";
import { format } from "node:util";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { cli } from "../cli/command-line.js";
import { blocks, blockWith, bundleProgram, cacheFolder, makeCacheFolder, pages } from "./pages.js";

afterEach(() => void vi.restoreAllMocks());

/** Where the first program needs code that `generate` wrote, or is a test. */
const others = ["README.md", "documents.md", "time.md"];
const programs = pages
  .filter((page) => page.startsWith("src/emulator/") && !others.some((name) => page.endsWith(`/${name}`)))
  .map((page) => ({ page, code: blocks.find((block) => block.page === page)?.code ?? "" }));

test.each(programs)("the first program of $page prints what its comments say", async ({ code }) => {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  await import(await bundleProgram(code, cacheFolder(), "program.mjs"));
  const printed = log.mock.calls.map((values) => format(...values));
  const expected = [...code.matchAll(/console\.log\(.* \/\/ prints (.*)$/gm)].map(([, text]) => text);
  expect(expected.length).toBeGreaterThan(0);
  expect(printed).toEqual(expect.arrayContaining(expected));
});

describe("the first program of the emulator", async () => {
  const folder = makeCacheFolder();
  afterAll(() => rmSync(folder, { recursive: true }));
  // The block defines its test when it is loaded. It is part of this file.
  await import(
    await bundleProgram(blockWith("ts", "an hour later the token is renewed"), folder, "first.mjs")
  );
});

describe("the commands of the pages", () => {
  const texts = blocks.filter(({ language }) => language === "sh").map(({ page, code }) => ({ page, code }));
  const commands = texts.flatMap(({ page, code }) =>
    [...code.replaceAll("\\\n", " ").matchAll(/npx bivariant ([^#|\n]*)/g)].map(([, line = ""]) => ({
      page,
      line,
    })),
  );
  const help = async (words: readonly string[]) => (await cli([...words, "--help"])).stdout;

  test("exist, with the flags that they are shown with", async () => {
    expect(commands.length).toBeGreaterThan(50);
    const helps = new Map<string, string>();
    const unknown: string[] = [];
    for (const { page, line } of commands) {
      const words = line.match(/^keys \w+|^\w+/)?.[0].split(" ") ?? [];
      const key = words.join(" ");
      if (!helps.has(key)) helps.set(key, await help(words));
      const known: readonly string[] = helps.get(key)?.match(/--[a-z][a-z-]*/g) ?? [];
      const flags = line.match(/(?<= )--[a-z][a-z-]*/g) ?? [];
      if (known.length === 0) unknown.push(`${page}: ${key}`);
      unknown.push(...flags.filter((flag) => !known.includes(flag)).map((flag) => `${page}: ${key} ${flag}`));
    }
    expect(unknown).toEqual([]);
  });

  test("on the page of the command line are all that there are", async () => {
    const listed = [...(await help([])).matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name);
    expect(listed.length).toBeGreaterThan(10);
    const shown = new Set(
      commands.filter(({ page }) => page.startsWith("src/cli/")).map(({ line }) => line.match(/^\w+/)?.[0]),
    );
    expect(listed.filter((name) => !shown.has(name))).toEqual([]);
  });
});
