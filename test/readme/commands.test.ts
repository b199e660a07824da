// The commands that the pages show: they exist, with their flags, and each command of the command
// line is shown.
import { describe, expect, test } from "vitest";
import { cli } from "../cli/command-line.js";
import { blocks } from "./pages.js";

describe("the commands of the pages", () => {
  const texts = blocks
    .filter(({ language }) => language === "sh")
    .map(({ page, code }) => ({ page, code }));
  const commands = texts.flatMap(({ page, code }) =>
    [...code.replaceAll("\\\n", " ").matchAll(/npx bivariant ([^#|\n]*)/g)].map(
      ([, line = ""]) => ({ page, line }),
    ),
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
      unknown.push(
        ...flags.filter((flag) => !known.includes(flag)).map((flag) => `${page}: ${key} ${flag}`),
      );
    }
    expect(unknown).toEqual([]);
  });

  test("on the page of the command line are all that there are", async () => {
    const listed = [...(await help([])).matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name);
    expect(listed.length).toBeGreaterThan(10);
    const shown = new Set(
      commands
        .filter(({ page }) => page.startsWith("src/cli/"))
        .map(({ line }) => line.match(/^\w+/)?.[0]),
    );
    expect(listed.filter((name) => !shown.has(name))).toEqual([]);
  });
});
