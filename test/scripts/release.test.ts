// What keeps a release back: the version, its tag, its notes, the repository and the working tree.
import { expect, test } from "vitest";
import { notesOf, obstacles } from "../../scripts/release.js";

const changelog =
  "# Changelog\n\n## 1.2.0 (2026-11-26)\n\n- New.\n\n### Breaking\n\n- Old.\n\n## " +
  "1.1.0\n\n- Before.\n";
const sound = { version: "1.2.0", repository: {}, changelog, tag: "v1.2.0", status: "" };

test("nothing keeps a sound release back, and its notes are its chapter alone", () => {
  expect(obstacles(sound)).toEqual([]);
  expect(notesOf(changelog, "1.2.0")).toBe("- New.\n\n### Breaking\n\n- Old.");
  expect(notesOf(changelog, "1.1.0")).toBe("- Before.");
});

test.each([
  { name: "no repository", change: { repository: undefined }, says: "has no repository" },
  { name: "no chapter of it", change: { version: "1.3.0", tag: "v1.3.0" }, says: '"## 1.3.0"' },
  { name: "another tag", change: { tag: "v1.1.0" }, says: "v1.1.0 is not that of the version" },
  { name: "a changed working tree", change: { status: " M a.ts" }, says: "Commit them first" },
])("$name keeps it back", ({ change, says }) => {
  expect(obstacles({ ...sound, ...change })).toEqual([expect.stringContaining(says)]);
});
