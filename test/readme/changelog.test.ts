// CHANGELOG.md: what breaks comes first in a chapter, and what its table calls new exists.
import { expect, test } from "vitest";
import { read } from "./pages.js";

const [, ...chapters] = read("CHANGELOG.md").split(/^## /m);

/** The sections about what breaks that others precede, and such changes in other sections. */
function misplaced(chapter: string): readonly string[] {
  const [, ...sections] = chapter.split(/^### /m);
  return sections.flatMap((section, index) => {
    const isBreaking = section.startsWith("Breaking");
    if (isBreaking) return index === 0 ? [] : [section.slice(0, section.indexOf("\n"))];
    return section.match(/^.*\*\*Breaking.*$/gm) ?? [];
  });
}

test("what breaks is the first section of a chapter, and in no other", () => {
  expect(chapters.length).toBeGreaterThan(0);
  expect(chapters.flatMap(misplaced)).toEqual([]);
  const wrong = "1.0.0\n### Changes\n- **Breaking:** a name.\n### Breaking: names\n- Another.\n";
  expect(misplaced(wrong)).toEqual(["- **Breaking:** a name.", "Breaking: names"]);
});

test("the entries that the table of old and new names calls new exist", () => {
  const { name, exports } = JSON.parse(read("package.json"));
  const rows = read("CHANGELOG.md").match(/^\|.*\|$/gm) ?? [];
  const entries = rows.flatMap((row) => row.split(" | ")[1]?.match(/bivariant\/[\w/-]+/g) ?? []);
  expect(entries.length).toBeGreaterThan(3);
  expect(entries.filter((entry) => exports[entry.replace(name, ".")] === undefined)).toEqual([]);
});
