// CHANGELOG.md: what breaks comes first in a chapter, and what its table calls new exists.
import { expect, test } from "vitest";
import { read } from "./pages.js";

const [, ...chapters] = read("CHANGELOG.md").split(/^## /m);

/** What is wrong with the order of a chapter. */
function misplaced(chapter: string): readonly string[] {
  const [, ...sections] = chapter.split(/^### /m);
  const titles = sections.map((section) => section.slice(0, section.indexOf("\n")));
  return [
    ...titles.filter((title, index) => /breaking/i.test(title) !== (index === 0)),
    ...sections.slice(1).flatMap((section) => section.match(/^.*\*\*Breaking.*$/gm) ?? []),
  ];
}

test("a chapter begins with what breaks, and mentions no breaking change elsewhere", () => {
  expect(chapters.length).toBeGreaterThan(0);
  expect(chapters.flatMap(misplaced)).toEqual([]);
  const wrong =
    "1.0.0\n### Changes\n- **Breaking:** a name.\n### Breaking: names\n- **Breaking:** another.\n";
  expect(misplaced(wrong)).toEqual(["Changes", "Breaking: names", "- **Breaking:** another."]);
});

test("the entries that the table of old and new names calls new exist", () => {
  const { name, exports } = JSON.parse(read("package.json"));
  const rows = read("CHANGELOG.md").match(/^\|.*\|$/gm) ?? [];
  const entries = rows.flatMap((row) => row.split(" | ")[1]?.match(/bivariant\/[\w/-]+/g) ?? []);
  expect(entries.length).toBeGreaterThan(3);
  expect(entries.filter((entry) => exports[entry.replace(name, ".")] === undefined)).toEqual([]);
});
