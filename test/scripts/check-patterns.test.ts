// Plants patterns of known cost in a small tree, and expects the check to find the slow ones.
import { expect, test } from "vitest";
import { checkPatterns } from "../../scripts/check-patterns.js";
import { plant } from "./planted-tree.js";

const file = "src/parse.ts";
const planted = (...patterns: string[]) =>
  plant({ [file]: patterns.map((text) => `export const p = (s: string) => ${text};\n`).join("") });

const slow = [
  { pattern: "/^(a+)+$/", says: "exponential" },
  { pattern: "/[ \\t]+$/", says: "2nd degree polynomial" },
  { pattern: "/^a*.*a*b/s", says: "3rd degree polynomial" },
  { pattern: "/<[^>]*>/g", says: "2nd degree" },
  { pattern: 'new RegExp("x+$", "i")', says: "2nd degree" },
  { pattern: "RegExp(`x+$`)", says: "2nd degree" },
  { pattern: 's.match("x+$")', says: "2nd degree" },
  { pattern: "/^a+(?=b)/", says: "cannot be judged (look-ahead" },
  { pattern: "/^(a+)\\1/", says: "cannot be judged" },
  { pattern: "new RegExp(s)", says: "List it" },
  { pattern: `"".search(\`\${1}\`)`, says: "List it" },
];

test("slow patterns, and those that cannot be judged, are findings at their lines", async () => {
  const found = await checkPatterns(planted(...slow.map(({ pattern }) => pattern)), []);
  const expected = slow.map(({ says }, index) => ({
    file,
    line: index + 1,
    text: expect.any(String),
    ok: false,
    verdict: expect.stringContaining(says),
  }));
  expect(found).toEqual(expected);
});

test("patterns that take linear time are no findings", async () => {
  const endsOrGoesOn = '/"(?:[^"\\\\]|\\\\.)*/';
  const linear = ["/^[ \\t]+$/", endsOrGoesOn, "/^[\\w-]{43}$/", "/^(.*[^/])?\\/+$/"];
  const verdicts = await checkPatterns(planted(...linear, "new RegExp('b', 'u')"), []);
  expect(verdicts.filter(({ ok }) => !ok)).toEqual([]);
});

test("a pattern that is built at run time may be listed with a reason, as long as it is there", async () => {
  const listed = { file, text: "new RegExp(s)", reason: "never run" };
  const gone = { file, text: "new RegExp(t)", reason: "never run" };
  const verdicts = await checkPatterns(planted("new RegExp(s)"), [listed, gone]);
  expect(verdicts.map(({ text, ok }) => [text, ok])).toEqual([
    ["new RegExp(s)", true],
    ["new RegExp(t)", false],
  ]);
});
